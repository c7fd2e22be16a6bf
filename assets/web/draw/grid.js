// The token grid: one button per position, updated in place. Tokens of a lane with a board stand there, and what follows
// them in a line below.

import { Board } from './board.js';
import { badge, h, lettered, measuring, put, setText, twoShort, zigzag } from './dom.js';
import { EVENTS } from '../data/events.js';
import { judged, label } from './label.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Tag } from '../data/types.js' */

const REST = 120; // milliseconds
const LONG = 2; // letters of a word that is still large in a cell
/** @type {Record<string, number>} */
const WIDEST = { huge: 320, tall: 200, large: 200, mid: 170, compact: 92, line: 120 };
/** @type {Record<string, { font: number, pad: number, fixedPad: number, least: number, leastFixed: number }>} */
const SIZES = {
  huge: { font: 26, pad: 26, fixedPad: 15, least: 164, leastFixed: 24 },
  tall: { font: 18, pad: 18, fixedPad: 9, least: 74, leastFixed: 18 },
  large: { font: 14, pad: 16, fixedPad: 11, least: 74, leastFixed: 24 },
  mid: { font: 12, pad: 14, fixedPad: 9, least: 62, leastFixed: 20 },
  compact: { font: 11, pad: 9, fixedPad: 9, least: 18, leastFixed: 12 },
  line: { font: 11.5, pad: 29, fixedPad: 9, least: 66, leastFixed: 14 },
};

const MARKS = EVENTS.filter((event) => event.icon); // their bits are the first of Frame.marks
const CLASSES = [
  'dv-sel',
  'dv-hover',
  'dv-seen',
  'dv-tail',
  'dv-differs',
  'dv-ghost',
  'dv-scarred',
  'dv-unmeasured',
  ...MARKS.map(({ letter }) => `dv-has-${letter}`),
];
const MARKED = (1 << MARKS.length) - 1;
/** @type {Map<number, string>} */
const WRITTEN = new Map(); // sets of classes that were needed before

/** @param {number} classes */
function written(classes) {
  const known = WRITTEN.get(classes) ?? CLASSES.map((name, bit) => (classes & (1 << bit) ? ` ${name}` : '')).join('');
  WRITTEN.set(classes, known);
  return known;
}

/**
 * Chips by length of the region; side by side they are one line high. The grid of the short view is given its size.
 * @param {Lane} lane @param {number} lanes
 */
function gridSize({ length, board }, lanes) {
  if (board) return lanes > 1 ? 'tiny' : 'board';
  return length > 64 ? 'compact' : lanes > 1 ? 'line' : length > 14 ? 'mid' : 'large';
}

const measure = measuring();

/**
 * A token on the page. `drawn` remembers what is there, so that a step touches only what it changes and never makes nodes
 * that it has made before.
 * @typedef {{
 *   button: HTMLButtonElement, kind: string, size: string, cell: boolean, text: Text, number: Text, marks: HTMLElement, scar: Text,
 *   badge: HTMLElement,
 *   events: Record<string, Node>, width: number, content?: number, zigzag?: Node, second?: HTMLElement, bar?: HTMLElement,
 *   sign?: HTMLElement, swap?: HTMLElement,
 *   drawn: {
 *     token: number | 'soft' | null, soft?: number[], tag?: Tag, swap: string, kind: number, confidence: number, fill: number,
 *     marks: number, revoked: number, classes: number,
 *   },
 * }} Chip
 */

export class Grid {
  /** @type {Lane} */ lane;
  /** @type {string} */ mono;
  /** @type {Map<number, number>} */ widths;
  /** @type {Chip[]} */ chips;
  /** @type {Board | undefined} */ board;
  /** @type {Frame} */ frame;
  /** @type {Frame['look'] | undefined} */ looked;
  /** @type {Set<number>} */ unnamed;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ naming;

  /**
   * @param {Lane} lane @param {number} lanes
   * @param {{ onSelect: (position: number) => void, onHover: (position: number) => void, mono: string, size?: string }} options
   */
  constructor(lane, lanes, { onSelect, onHover, mono, size = gridSize(lane, lanes) }) {
    this.lane = lane;
    const given = (size === 'board' || size === 'tiny') && lane.board ? lane.board.given : [];
    this.mono = mono;
    this.widths = new Map();
    const naming = { role: 'group', 'aria-label': `tokens of ${lane.head.name}` };
    const line = h('div', { class: `dv-toks dv-${given.length ? 'compact' : size}`, ...(!given.length && naming) });
    this.chips = [];
    for (let i = 0; i < lane.length; i++) {
      const text = document.createTextNode('');
      const number = document.createTextNode(lane.fixed[i] ? String(i) : '');
      const marks = h('span', { class: 'dv-mk' });
      const scar = document.createTextNode('');
      const cell = i < given.length;
      const look = cell || !given.length ? size : 'compact';
      const letter = badge('', true);
      const button = h(
        'button',
        { type: 'button', 'data-position': i, 'data-state': 'M', 'aria-pressed': 'false', tabindex: -1 },
        h('bdi', { class: 'dv-t' }, text),
        look === 'compact' ? marks : h('span', { class: 'dv-b' }, letter, h('span', { class: 'dv-n' }, number), marks),
        h('span', { class: 'dv-scar' }, scar),
        cell && given[i] != null && h('i', { class: 'dv-given' }),
      );
      const kind = `dv-tok${lane.fixed[i] ? ' dv-fixed' : ''}${i && !given.length && lane.begins(i) ? ' dv-newblock' : ''}`;
      const drawn = {
        token: null,
        swap: '',
        kind: -1,
        confidence: -2,
        fill: -1,
        marks: 0,
        revoked: 0,
        classes: 0,
      };
      this.chips.push({
        ...{ button, kind, size: look, cell, text, number, marks, scar, badge: letter, events: {}, width: 0, drawn },
      });
      button.className = kind;
      if (!cell) line.append(button);
    }
    if (given.length)
      this.board = new Board(
        lane,
        size === 'tiny' ? size : 'board',
        this.chips.filter((chip) => chip.cell).map((chip) => chip.button),
      );
    this.box = this.board ? h('div', naming, this.board.box, lane.length > given.length && line) : line;
    this.box.addEventListener('click', (event) => this.hit(event, onSelect));
    this.box.addEventListener('focusin', (event) => this.hit(event, onSelect));
    this.box.addEventListener('pointerover', (event) => this.hit(event, onHover));
    this.box.addEventListener('pointerleave', () => onHover(-1));
    this.seen = 0;
    this.unnamed = new Set();
    this.named = false;
    this.grow();
  }

  /** @param {Event} event @param {(position: number) => void} then */
  hit(event, then) {
    const chip = /** @type {HTMLElement} */ (event.target).closest?.('[data-position]');
    if (chip) then(Number(chip.getAttribute('data-position')));
  }

  /**
   * Chip widths fit the longest token a position ever holds; with new steps they only grow.
   * @param {Grid[]} [others]
   */
  grow(others = []) {
    const { size } = this.chips[this.chips.length - 1]; // a cell keeps its own
    if (!SIZES[size]) return;
    const { font, pad, fixedPad, leastFixed } = SIZES[size];
    const least = this.lane.about.graph && size === 'mid' ? 46 : SIZES[size].least; // more of them in a row, for the arcs
    const widest = WIDEST[size];
    measure.font = `${font}px ${this.mono}`;
    /** @param {number} id */
    const needs = (id) => {
      const width = this.widths.get(id) ?? Math.min(widest, measure.measureText(this.lane.word(id)).width);
      this.widths.set(id, width);
      return width;
    };
    const { frames, fixed } = this.lane;
    this.chips.forEach((chip, i) => {
      if (chip.cell) return;
      let width = chip.content ?? 0;
      for (let t = this.seen; t < frames.length; t++) {
        const made = frames[t].soft[i];
        if (frames[t].states[i] || frames[t].drafted[i]) width = Math.max(width, needs(frames[t].tokens[i]));
        if (made?.length && size !== 'compact')
          width = Math.max(width, Math.min(widest, needs(made[0]) + (made.length > 2 ? 6 + 0.85 * needs(made[2]) : 0)));
      }
      // Side by side, a position is as wide in every grid.
      for (const other of others)
        if (other.chips.length === this.chips.length) width = Math.max(width, other.chips[i].content ?? 0);
      chip.content = width;
      const whole = Math.ceil(Math.max(fixed[i] ? leastFixed : least, width + (fixed[i] ? fixedPad : pad)));
      if (whole !== chip.width) {
        chip.width = whole;
        chip.button.style.width = `${whole}px`;
      }
    });
    this.seen = frames.length;
  }

  /**
   * Shows a frame. `selected` and `hovered` are positions or -1; `path` is the selected token's deciding query, if it
   * has a mask; `other` is a lane and its frame to differ from.
   * @param {Frame} frame @param {number} selected @param {number} hovered @param {string | null} path
   * @param {{ lane: Lane, frame: Frame } | null} other
   */
  draw(frame, selected, hovered, path, other) {
    const { lane } = this;
    this.frame = frame;
    const end = lane.head.eos;
    let tail = false;
    for (let i = 0; i < lane.length; i++) {
      const chip = this.chips[i];
      const { button, drawn, size } = chip;
      const state = frame.states[i];
      const token = frame.tokens[i];
      const revoked = frame.revoked[i];
      const fixed = lane.fixed[i];
      const there = state > 0 || frame.drafted[i] > 0; // a token to be read
      const ghost = !there && revoked > 0;
      const shown = there ? token : ghost ? -2 - frame.ghost[i] : -1;
      const unmeasured = frame.confidence[i] == null;
      const confidence = frame.confidence[i];
      const hundredths = judged(frame, i) ? Math.round(100 * (confidence ?? 0)) : -1;
      const near = hundredths >= 0 && lane.limits.some((limit) => Math.abs(limit - (confidence ?? 0)) < 0.01);
      const read = near ? (confidence ?? 0) : hundredths; // there it is written with more digits
      let told = false;
      if (drawn.kind !== frame.kinds[i]) {
        button.dataset.state = LETTER[state];
        lettered(chip.badge, LETTER[state], lane.state(frame, i).letter);
        drawn.kind = frame.kinds[i];
        drawn.classes = -1;
        told = true;
      }
      if (drawn.token !== shown && !(drawn.token === 'soft' && drawn.soft === frame.soft[i])) {
        chip.text.data = there
          ? lane.word(token)
          : ghost
            ? lane.word(frame.ghost[i])
            : chip.cell || size === 'compact'
              ? '·'
              : '· · ·';
        if (chip.cell) button.toggleAttribute('data-long', chip.text.data.length > LONG);
        drawn.token = shown;
        told = true;
      }
      if (drawn.confidence !== read && !fixed) {
        if (size !== 'line' && size !== 'compact' && size !== 'tiny')
          chip.number.data = hundredths < 0 ? '' : twoShort(confidence, lane.limits);
        drawn.confidence = read;
        told = true;
      }
      const fill = unmeasured ? 100 : size === 'compact' ? 4 * Math.round(hundredths / 4) : Math.max(0, hundredths);
      if (state && !fixed && drawn.fill !== fill) {
        button.style.backgroundSize = `${fill}% 100%`; // a custom property would restyle all descendants
        drawn.fill = fill;
      }
      if (drawn.marks !== frame.marks[i]) {
        this.mark(chip, frame.marks[i]);
        drawn.marks = frame.marks[i];
        told = true;
      }
      if (size !== 'compact' && size !== 'tiny') {
        if (frame.soft[i] !== drawn.soft) this.mix(chip, frame, i);
        if (frame.tags[i] !== drawn.tag) this.tag(chip, frame.tags[i]);
        if (frame.replaced[i] || drawn.swap) this.swap(chip, frame, i);
      }
      if (drawn.revoked !== revoked) {
        if (size !== 'compact' && size !== 'tiny') {
          chip.scar.data = `×${revoked}`;
          chip.zigzag ??= button.appendChild(zigzag());
        }
        drawn.revoked = revoked;
        told = true;
      }
      const seen = path && i !== selected && state && !fixed && Lane.sees(frame, path, selected, i);
      const differs = other && i < other.lane.length && lane.differs(frame, i, other.lane, other.frame);
      const classes =
        (i === selected ? 1 : 0) |
        (i === hovered ? 2 : 0) |
        (seen ? 4 : 0) |
        (tail ? 8 : 0) |
        (differs ? 16 : 0) |
        (ghost ? 32 : 0) |
        (revoked ? 64 : 0) |
        (unmeasured ? 128 : 0) |
        ((frame.marks[i] & MARKED) << 8);
      if (drawn.classes !== classes) {
        button.className = chip.kind + written(classes) + (lane.strength[frame.kinds[i]] < 1 ? ' dv-pale' : '');
        if (drawn.classes < 0 || (drawn.classes ^ classes) & 1) {
          button.tabIndex = i === selected ? 0 : -1; // one stop for Tab; the arrow keys go on from there
          button.setAttribute('aria-pressed', String(i === selected));
        }
        drawn.classes = classes;
      }
      if (told || (this.board && frame.look !== this.looked)) this.unnamed.add(i);
      if (state && token === end) tail = true;
    }
    if (frame.look) this.board?.draw(frame.look);
    this.looked = frame.look;
    if (this.named) this.nameSoon();
    else this.name();
    this.named = true;
  }

  /** Names for screen readers follow when the view rests: while scrubbing nobody could hear them, and they cost as much as the rest. */
  nameSoon() {
    clearTimeout(this.naming);
    if (this.unnamed.size) this.naming = setTimeout(() => this.name(), REST);
  }

  name() {
    for (const i of this.unnamed) this.chips[i].button.setAttribute('aria-label', label(this.lane, this.frame, i));
    this.unnamed.clear();
  }

  /**
   * A mark is made the first time its event happens to a chip; after that a class of the chip shows or hides it.
   * @param {Chip} chip @param {number} bits
   */
  mark(chip, bits) {
    for (const { bit, letter } of MARKS) {
      if (bits & bit) chip.events[letter] ??= chip.marks.appendChild(h('i', { class: `dv-m dv-m-${letter}` }));
    }
  }

  /**
   * What a masked position is made of in the next pass: its leading words, and a bar of their shares; the rest is
   * mask. Words of a mix that was rejected are struck through.
   * @param {Chip} chip @param {Frame} frame @param {number} i
   */
  mix(chip, frame, i) {
    const { lane } = this;
    const { drawn } = chip;
    const made = frame.soft[i];
    drawn.soft = made;
    const second = (chip.second ??= /** @type {Element} */ (chip.text.parentNode).appendChild(h('small', {})));
    const bar = (chip.bar ??= h('span', { class: 'dv-mix' }));
    if (!bar.parentNode) chip.number.parentElement?.after(bar);
    const gone = (made && !made.length && lane.frames[frame.index - 1].soft[i]) || [];
    const words = made?.length ? made : gone;
    chip.kind =
      chip.kind.replace(/ dv-soft| dv-gone/g, '') + (made ? ' dv-soft' : '') + (gone.length ? ' dv-gone' : '');
    drawn.classes = -1;
    if (words.length) {
      drawn.token = 'soft'; // whatever comes next is written again
      chip.text.data = lane.word(words[0]);
    }
    setText(second, words.length > 2 ? lane.word(words[2]) : '');
    const shares = (made || []).filter((_, k) => k % 2).map((p) => p / 100);
    put(
      bar,
      shares.map((percent) => h('i', { style: { width: `${percent}%` } })),
    );
    bar.hidden = !made;
  }

  /**
   * The sign of an event of the decoder's own; with its number on the shoulder.
   * @param {Chip} chip @param {Tag | undefined} tag
   */
  tag(chip, tag) {
    chip.drawn.tag = tag;
    chip.sign ??= h('span', {});
    if (tag?.value) chip.button.append(chip.sign);
    else chip.marks.append(chip.sign);
    chip.sign.className = tag?.value ? 'dv-tag' : 'dv-sign';
    chip.sign.hidden = !tag;
    setText(
      chip.sign,
      !tag ? '' : tag.number == null ? tag.mark : `${tag.mark} ${tag.symbol || ''} ${twoShort(tag.number)}`,
    );
  }

  /**
   * The token that has just been replaced, struck through on the shoulder; afterwards how often that happened.
   * @param {Chip} chip @param {Frame} frame @param {number} i
   */
  swap(chip, frame, i) {
    const now = frame.marks[i] & 8;
    const old = now ? this.lane.word(this.lane.frames[frame.index - 1].tokens[i]) : '';
    const key = now ? `→${old}` : frame.replaced[i] ? `⇄${frame.replaced[i]}` : '';
    if (chip.drawn.swap === key) return;
    chip.drawn.swap = key;
    chip.swap ??= chip.button.appendChild(h('span', {}));
    chip.swap.hidden = !key;
    chip.swap.className = now ? 'dv-was' : 'dv-swap';
    put(chip.swap, now ? [h('s', {}, h('bdi', {}, old)), ' →'] : key);
  }

  /**
   * The position that an arrow key leads to from another: by cell on a board, one by one in a line.
   * @param {number} i @param {string} key
   */
  beside(i, key) {
    const board = this.board && this.lane.board;
    const width = board?.width ?? this.lane.length;
    const given = board?.given ?? [];
    const cell = i < given.length;
    const across = this.board ? 1 : 0;
    /** @type {Record<string, number>} */
    const moves = {
      ArrowUp: cell ? -width : -1,
      ArrowDown: cell ? width : 1,
      ArrowLeft: -across,
      ArrowRight: across,
    };
    const by = moves[key];
    const sideways = key === 'ArrowLeft' || key === 'ArrowRight';
    if (!by) return null;
    const to = i + by;
    const outside =
      to < 0 || to >= this.lane.length || (cell && sideways && Math.floor(to / width) !== Math.floor(i / width));
    return outside ? i : to;
  }

  /** @param {number} i */
  focus(i) {
    this.chips[i].button.focus({ preventScroll: false });
  }
}
