// The tokens of a long text, set as text: words joined as their vocabulary's spaces say, lines and indentation as they are
// written, states by background, and the letter of a state where a run of it begins. Blocks in which nothing is decided, and
// those after the end, are one line each until somebody opens them. It has a height of its own and scrolls inside it.

import { h, setText } from './dom.js';
import { EVENTS } from '../data/events.js';
import { LETTER, Lane } from '../data/unpack.js';
import { label } from './label.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Answer } from '../data/schema.js' */

const REST = 120; // milliseconds until names for screen readers follow
const WHOLE = 256; // positions, at most, of a block that is open while it is decoded
const CHUNK = 64; // positions of a stretch where there are no such blocks
const EDGE = 26; // pixels that stay between what is followed and the edge
const MARKS = EVENTS.filter((event) => event.icon);
const MARKED = (1 << MARKS.length) - 1;
const CLASSES = [
  'dv-sel',
  'dv-hover',
  'dv-seen',
  'dv-tail',
  'dv-differs',
  'dv-ghost',
  'dv-scarred',
  'dv-soft',
  'dv-fresh',
  'dv-head',
  'dv-answers',
  ...MARKS.map(({ letter }) => `dv-has-${letter}`),
];
/** @type {Map<number, string>} */
const WRITTEN = new Map(); // sets of classes that were needed before

/** @param {number} classes */
function written(classes) {
  const known = WRITTEN.get(classes) ?? CLASSES.map((name, bit) => (classes & (1 << bit) ? ` ${name}` : '')).join('');
  WRITTEN.set(classes, known);
  return known;
}

/**
 * How the words of a lane are joined: by spaces of their own, or, where none has any, by one before each that is no piece of
 * the word before it. Digits that stand alone stay on one line.
 * @param {Lane} lane
 */
export function joins({ words }) {
  for (const word of words.values()) if (/^[␣▁Ġ][^␣]/u.test(word)) return bySpaces;
  return byWords;
}

/** @param {string} word */
const bySpaces = (word) => word.replace(/^[▁Ġ]/u, ' ').replaceAll('␣', ' ').replace('∅', '');
/** @param {string} word */
const byWords = (word) => (word.startsWith('##') ? word.slice(2) : `${/^\d$/.test(word) ? '\u00a0' : ' '}${word}`);

/** As it is broken into lines: a line's end is seen, and ends it. @param {string} text */
const broken = (text) => text.replaceAll('↵', '↵\n').replaceAll('⇥', '\t');

/** What holds the place of a word that is not there. @param {string} text */
const dots = (text) => broken(text).replace(/[^\s]/gu, '·');

/**
 * A token on the page, and what is there.
 * @typedef {{
 *   button: HTMLElement, text: Text, kind: string, marks: number,
 *   drawn: { token: number | number[], kind: number, classes: number },
 * }} Word
 */

/**
 * Some positions that fold together, with the line that stands for them.
 * @typedef {{ from: number, to: number, box: HTMLElement, fold: HTMLElement, folded: boolean, headed: boolean }} Stretch
 */

export class Prose {
  /** @type {Lane} */ lane;
  /** @type {Word[]} */ chips = [];
  /** @type {Stretch[]} */ stretches = [];
  /** @type {Frame} */ frame;
  /** @type {undefined} */ board;
  /** Whether another lane's text takes this one along. */
  led = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ naming;
  /** @type {Set<number>} */ unnamed = new Set();
  /** @type {Set<number>} stretches that were opened by hand */ opened = new Set();
  /** @type {(number | null)[]} the token that holds a position's place until it is there */ shapes = [];
  /** @type {Answer | null} */ found = null;
  /** @type {Set<number>} where the answer stands */ marked = new Set();
  /** @type {((word: string) => string) | undefined} */ join;

  /**
   * @param {Lane} lane
   * @param {{ onSelect: (position: number) => void, onHover: (position: number) => void }} options
   */
  constructor(lane, { onSelect, onHover }) {
    this.lane = lane;
    this.box = h('div', { class: 'dv-prose', role: 'group', 'aria-label': `tokens of ${lane.head.name}` });
    this.outer = h('div', { class: 'dv-reader' }, this.box);
    const { length, head } = lane;
    this.blocks = head.block < length && head.block <= WHOLE;
    /** @param {number} i */
    const begins = (i) => (this.blocks ? lane.begins(i) : i % CHUNK === 0);
    for (let i = 0; i < length; i++) {
      if (!i || begins(i)) this.stretch(i);
      const stretch = this.stretches[this.stretches.length - 1];
      stretch.to = i + 1;
      const text = document.createTextNode('');
      const button = h(
        'span',
        { role: 'button', 'data-position': i, 'data-state': 'M', 'aria-pressed': 'false', tabindex: -1 },
        h('bdi', { class: 'dv-t' }, text),
      );
      const kind = `dv-w${lane.fixed[i] ? ' dv-fixed' : ''}${i && lane.begins(i) ? ' dv-newblock' : ''}`;
      this.chips.push({ button, text, kind, marks: 0, drawn: { token: -3, kind: -1, classes: -1 } });
      stretch.box.append(button);
    }
    /** @param {Event} event @param {(position: number) => void} then */
    const hit = (event, then) => {
      const chip = /** @type {HTMLElement} */ (event.target).closest?.('[data-position]');
      if (chip) then(Number(chip.getAttribute('data-position')));
    };
    this.box.addEventListener('click', (event) => hit(event, onSelect));
    this.box.addEventListener('focusin', (event) => hit(event, onSelect));
    this.box.addEventListener('pointerover', (event) => hit(event, onHover));
    this.box.addEventListener('pointerleave', () => onHover(-1));
    this.seen = 0;
    this.tall = false; // whether the block that is decoded is higher than the box
    this.named = false;
    this.selected = -1;
    this.followed = -1;
    this.step = -1;
    this.grow();
  }

  /** @param {number} from */
  stretch(from) {
    const number = this.stretches.length;
    const fold = h('button', {
      type: 'button',
      class: 'dv-fold',
      hidden: true,
      onclick: () => this.unfold(number),
    });
    const box = h('span', { class: 'dv-stretch' });
    this.stretches.push({ from, to: from, box, fold, folded: false, headed: false });
    this.box.append(fold, box);
  }

  /** Opens a line, or closes what was opened. @param {number} number */
  unfold(number) {
    const open = !this.opened.has(number);
    for (let n = number; n < this.stretches.length; n++) {
      const { headed } = this.stretches[n];
      if (n > number && (headed || !this.foldable(n))) break;
      if (open) this.opened.add(n);
      else this.opened.delete(n);
    }
    this.fold(this.frame);
  }

  /** With new steps: what was written last holds a position's place while it is masked, so that lines stay as they are. */
  grow() {
    const { frames, length } = this.lane;
    const { chips, shapes } = this;
    const join = joins(this.lane);
    for (let t = this.seen; t < frames.length; t++) {
      const { states, tokens } = frames[t];
      for (let i = 0; i < length; i++) {
        if (!states[i] || shapes[i] === tokens[i]) continue;
        shapes[i] = tokens[i];
        chips[i].drawn.token = -3; // to be written again
      }
    }
    if (this.join !== join) for (const { drawn } of chips) drawn.token = -3;
    this.join = join;
    this.seen = frames.length;
  }

  /** Where the answer stands. @param {Answer | null} found */
  mark(found) {
    if (found === this.found) return;
    this.found = found;
    this.marked = new Set(found?.positions);
  }

  /**
   * Shows a frame; the arguments are those of Grid.draw.
   * @param {Frame} frame @param {number} selected @param {number} hovered @param {string | null} path
   * @param {{ lane: Lane, frame: Frame } | null} other
   */
  draw(frame, selected, hovered, path, other) {
    const { lane, marked } = this;
    this.frame = frame;
    const end = lane.head.eos;
    const fresh = new Set(frame.events.decided);
    let tail = false;
    for (let i = 0; i < lane.length; i++) {
      const chip = this.chips[i];
      const { button, drawn } = chip;
      const state = frame.states[i];
      const token = frame.tokens[i];
      const revoked = frame.revoked[i];
      const there = state > 0 || frame.drafted[i] > 0;
      const made = there ? undefined : frame.soft[i];
      const ghost = !there && !made?.length && revoked > 0;
      const shown = made?.length ? made : there ? token : ghost ? -2 - frame.ghost[i] : -1;
      const kind = frame.kinds[i];
      let told = false;
      if (drawn.token !== shown) {
        this.write(chip, i, frame);
        drawn.token = shown;
        told = true;
      }
      if (drawn.kind !== kind) {
        button.dataset.state = LETTER[state];
        button.dataset.letter = lane.state(frame, i).letter;
        drawn.kind = kind;
        drawn.classes = -1;
        told = true;
      }
      const heads = !i || kind !== frame.kinds[i - 1] || lane.fixed[i] !== lane.fixed[i - 1];
      const differs = other && i < other.lane.length && lane.differs(frame, i, other.lane, other.frame);
      const classes =
        (i === selected ? 1 : 0) |
        (i === hovered ? 2 : 0) |
        (path && i !== selected && state && !lane.fixed[i] && Lane.sees(frame, path, selected, i) ? 4 : 0) |
        (tail ? 8 : 0) |
        (differs ? 16 : 0) |
        (ghost ? 32 : 0) |
        (revoked ? 64 : 0) |
        (made?.length ? 128 : 0) |
        (fresh.has(i) ? 256 : 0) |
        (heads ? 512 : 0) |
        (marked.has(i) ? 1024 : 0) |
        ((frame.marks[i] & MARKED) << 11);
      if (drawn.classes !== classes) {
        button.className = chip.kind + written(classes) + (lane.strength[kind] < 1 ? ' dv-pale' : '');
        if (drawn.classes < 0 || (drawn.classes ^ classes) & 1) {
          button.tabIndex = i === selected ? 0 : -1; // one stop for Tab; the arrow keys go on from there
          button.setAttribute('aria-pressed', String(i === selected));
        }
        for (const { bit, letter } of MARKS) {
          if (!(frame.marks[i] & bit & ~chip.marks)) continue;
          button.append(h('i', { class: `dv-m dv-m-${letter}` }));
          chip.marks |= bit;
        }
        if (!(drawn.classes >= 0) || (drawn.classes ^ classes) >> 11 || (drawn.classes ^ classes) & 64) told = true;
        drawn.classes = classes;
      }
      if (told) this.unnamed.add(i);
      if (state && token === end) tail = true;
    }
    const chosen = selected >= 0 && selected !== this.selected;
    this.selected = selected;
    this.fold(frame);
    if (!this.led && (frame.index !== this.step || chosen)) this.follow(frame, chosen);
    this.step = frame.index;
    if (this.named) this.nameSoon();
    else this.name();
    this.named = true;
  }

  /**
   * A position's text: what stands there, what it is made of, what was taken away, or what holds its place.
   * @param {Word} chip @param {number} i @param {Frame} frame
   */
  write({ text }, i, frame) {
    const { lane, shapes } = this;
    const { join = bySpaces } = this;
    const word = (/** @type {number} */ token) => join(lane.word(token));
    const there = frame.states[i] > 0 || frame.drafted[i] > 0;
    const made = frame.soft[i];
    const shape = shapes[i] ?? null;
    if (there) text.data = broken(word(frame.tokens[i]));
    else if (made?.length) text.data = broken(word(made[0]));
    else if (frame.revoked[i] && frame.ghost[i] >= 0) text.data = broken(word(frame.ghost[i]));
    else text.data = dots(shape === null ? ' ··' : word(shape) || '·');
  }

  // What is folded.

  /** Whether nothing is to be seen in a stretch: all masked and never taken back, or all of it after the end. @param {number} n */
  foldable(n) {
    const { from, to } = this.stretches[n];
    return this.empty(from, to) || this.after(from, to);
  }

  /** @param {number} from @param {number} to */
  empty(from, to) {
    const { states, drafted, revoked } = this.frame;
    for (let i = from; i < to; i++) if (states[i] || drafted[i] || revoked[i]) return false;
    return true;
  }

  /** @param {number} from @param {number} to */
  after(from, to) {
    const { states, tokens, revoked } = this.frame;
    const { eos } = this.lane.head;
    for (let i = Math.max(0, from - 1); i < to; i++) if (!states[i] || revoked[i] || tokens[i] !== eos) return false;
    return from > 0;
  }

  /** Folds what can be, but for the block that is decoded, the selection, and what was opened by hand. @param {Frame} frame */
  fold({ block: [start, stop] }) {
    const { stretches, opened, selected } = this;
    const kinds = stretches.map(({ from, to }, n) => {
      const now = this.blocks && from < stop && to > start && !this.after(from, to);
      if (now || (selected >= from && selected < to && !opened.has(n))) return '';
      return this.empty(from, to) ? 'empty' : this.after(from, to) ? 'after' : '';
    });
    stretches.forEach((each, n) => {
      const kind = kinds[n];
      const folded = !!kind && !opened.has(n);
      const headed = !!kind && (kind !== kinds[n - 1] || opened.has(n) !== opened.has(n - 1));
      if (each.folded !== folded) each.box.hidden = folded;
      if (each.headed !== headed) each.fold.hidden = !headed;
      Object.assign(each, { folded, headed });
      if (!headed) return;
      let last = n;
      while (kinds[last + 1] === kind && opened.has(last + 1) === opened.has(n)) last++;
      setText(each.fold, this.line(n, last, kind));
      each.fold.setAttribute('aria-expanded', String(!folded));
    });
  }

  /** What is said of stretches that are folded. @param {number} first @param {number} last @param {string} kind */
  line(first, last, kind) {
    const { stretches, lane, blocks } = this;
    const [from, to] = [stretches[first].from, stretches[last].to];
    const [one, other] = blocks ? [lane.blockOf(from) + 1, lane.blockOf(to - 1) + 1] : [from, to - 1];
    const name = blocks ? 'block' : 'position';
    const where = one === other ? `${name} ${one}` : `${name}s ${one}–${other}`;
    const blank = lane.kinds.find(({ role }) => role === 'blank')?.title;
    return `${where}: ${(to - from).toLocaleString('en')} ${kind === 'empty' ? blank : 'after the end'}`;
  }

  // What stays in view.

  /** The block that is decoded, or what was selected. @param {Frame} frame @param {boolean} chosen */
  follow({ block: [start, stop], events }, chosen) {
    const at = chosen ? -1 : this.stretches.findIndex(({ from, to }) => from < stop && to > start);
    if (chosen) this.reveal(this.chips[this.selected].button);
    else if (this.blocks && at >= 0 && at !== this.followed) this.reveal(this.stretches[at].box);
    else if (events.decided?.length && (!this.blocks || this.tall)) this.reveal(this.chips[events.decided[0]].button);
    if (!chosen) this.followed = at;
  }

  /** Scrolls no further than it must. @param {HTMLElement} node */
  reveal(node) {
    const { outer } = this;
    const high = outer.clientHeight;
    if (!high || !node.isConnected) return;
    const zoom = outer.currentCSSZoom ?? 1;
    const frame = outer.getBoundingClientRect();
    const box = node.getBoundingClientRect();
    const [top, bottom] = [(box.top - frame.top) / zoom, (box.bottom - frame.top) / zoom];
    if (this.chips[0].button !== node && node.className.startsWith('dv-stretch')) this.tall = bottom - top > high;
    if (top < EDGE) outer.scrollTop += top - EDGE;
    else if (bottom > high - EDGE) outer.scrollTop += Math.min(top - EDGE, bottom - high + EDGE);
  }

  /** Names for screen readers follow when the view rests. */
  nameSoon() {
    clearTimeout(this.naming);
    if (this.unnamed.size) this.naming = setTimeout(() => this.name(), REST);
  }

  name() {
    for (const i of this.unnamed) this.chips[i].button.setAttribute('aria-label', label(this.lane, this.frame, i));
    this.unnamed.clear();
  }

  // Where the arrow keys lead to.

  /** @param {number} i @param {string} key */
  beside(i, key) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[key];
    return by ? Math.max(0, Math.min(this.lane.length - 1, i + by)) : null;
  }

  /** @param {number} i */
  focus(i) {
    this.chips[i].button.focus({ preventScroll: true }); // drawing has brought it into view
  }
}
