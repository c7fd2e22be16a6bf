// The shadow as a picture: the words, below them the blanks at the same places, and arcs from the one who looks to what it
// sees. A solid arc leads to a word, a dashed one to a blank; where the mask hides a word its arc is cut. What an arc says is
// read from the mask of the trace; what a verdict would have been without a word is measured, as in Causes.
// detour.js is the same picture with a way of two arcs.

import { badge, h, put, sentenceOf, setText, threeShort } from '../draw/dom.js';
import { sentenceSeen } from '../draw/seen.js';
import { curve, drawn, sight, split } from '../draw/sight.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Curve, Point } from '../draw/sight.js' */
/** @import { Viewer } from './types.js' */
/** @typedef {{ x: HTMLElement, s: HTMLElement, hide: HTMLButtonElement }} Place */

const IN_A_ROW = 16;
const LETTER_WIDE = 10.3; // pixels
const MOST = 64;
const GAP = 150; // pixels between the two rows
const [WORD, BLANK] = ['x', 's'];
const NOT_MEASURED = 'This run is a recording, and it was saved without what each word does to this verdict.';

export class Shadow {
  static id = 'shadow';

  static story = 'shadow';

  static title = 'Shadow';

  path = BLANK;

  /** @type {number | null} the word that is hidden */ without = null;

  /** @type {Map<number, Place>} */ places = new Map();

  /** @type {Frame | null} */ laid = null;

  measuring = '';

  refused = '';

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.rows = h('div', { class: 'dv-shrows' });
    this.arcs = h('svg', { class: 'dv-sharcs', 'aria-hidden': 'true' });
    this.picture = h('div', { class: 'dv-shpicture' }, this.rows, this.arcs);
    this.sees = h('p', { class: 'dv-shsees' });
    this.verdict = h('p', { class: 'dv-shverdict', role: 'status' });
    this.legend = h('p', { class: 'dv-shkey' });
    this.message = h('p', { class: 'dv-shmessage', hidden: true });
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-shadow', 'aria-label': 'the shadow' },
      this.message,
      this.picture,
      this.sees,
      this.verdict,
      this.legend,
    );
  }

  /** @param {Lane} lane */
  static fits(lane) {
    return lane.about.shadow;
  }

  get frame() {
    return this.viewer.lane.at(this.viewer.state.step);
  }

  /** Who looks: the position selected, or the first free one of the block. */
  get position() {
    const [start, end] = this.frame.block;
    const { position } = this.viewer.state;
    return position >= start && position < end ? position : (this.viewer.lane.free.find((i) => i >= start) ?? start);
  }

  /** Why there is nothing to draw. */
  get lacking() {
    const { frame } = this;
    if (!frame.index) return 'Nobody has looked yet. Step once: every pass begins with looking.';
    if (!frame.mask || frame.plain) return 'This pass had no shadow: it only fills what is left.';
    return frame.block[1] - frame.block[0] > MOST
      ? `The block is longer than ${MOST} places: too long to draw its arcs.`
      : '';
  }

  /** The word that stood at a place when the pass began, or a blank. @param {number} i */
  word(i) {
    const { before } = this.frame;
    return before?.states[i] ? this.viewer.lane.word(before.tokens[i]) : null;
  }

  load() {
    this.without = null;
    this.laid = null;
  }

  prepare() {
    const { frame, lacking } = this;
    this.message.hidden = !lacking;
    setText(this.message, lacking);
    for (const part of [this.picture, this.sees, this.verdict, this.legend]) part.hidden = !!lacking;
    this.laid = null;
    if (!lacking) this.lay(frame);
  }

  get upright() {
    return this.viewer.root.dataset.size === 'narrow';
  }

  /** Rows x and s with the same columns; long ones in several pairs, on a phone side by side. @param {Frame} frame */
  lay(frame) {
    this.laid = frame;
    const [start, end] = frame.block;
    const all = Array.from({ length: end - start }, (_, n) => start + n);
    const wide = all.reduce((sum, i) => sum + Math.max(46, LETTER_WIDE * (this.word(i)?.length ?? 1) + 24) + 8, 0);
    const room = Math.max(200, this.box.clientWidth - 140);
    const pairs = Math.max(Math.ceil(all.length / IN_A_ROW), Math.ceil(wide / room));
    const each = this.upright ? all.length : Math.ceil(all.length / pairs);
    this.places = new Map(all.map((i) => [i, this.place(i)]));
    const groups = Array.from({ length: Math.ceil(all.length / each) }, (_, n) => all.slice(n * each, (n + 1) * each));
    this.rows.dataset.upright = String(this.upright);
    put(
      this.rows,
      groups.map((group, n) => {
        const own = group.map((i) => /** @type {Place} */ (this.places.get(i)));
        const name = (/** @type {string} */ letter, /** @type {string} */ says) =>
          h('span', { class: 'dv-shname' }, h('b', {}, letter), n === 0 && ` ${says}`);
        const gap = h('i', {
          class: 'dv-shgap',
          style: this.upright ? {} : { height: `${GAP / Math.min(2, pairs)}px` },
        });
        const cells = [
          h('i', {}),
          own.map(({ hide }) => hide),
          name('x', 'what is written'),
          own.map(({ x }) => x),
          gap,
          own.map(() => h('i', {})),
          name('s', 'all blanks, same places'),
          own.map(({ s }) => s),
        ];
        return h('div', { class: 'dv-shpair', style: { '--n': group.length + 1 } }, cells);
      }),
    );
  }

  /** A place in both rows. @param {number} i @returns {Place} */
  place(i) {
    const { lane } = this.viewer;
    const { before } = this.frame;
    const word = this.word(i);
    const letter = before && LETTER[before.states[i]];
    const chip = (/** @type {string} */ path, /** @type {Child} */ shows, /** @type {string} */ says) =>
      h(
        'button',
        {
          type: 'button',
          class: 'dv-shchip',
          'data-path': path,
          'data-s': path === WORD && !lane.fixed[i] ? letter : null,
          'data-place': i,
          'aria-label': says,
          onclick: () => this.choose(path, i),
        },
        shows,
      );
    return {
      x: chip(
        WORD,
        [h('bdi', {}, word ?? '▢'), !lane.fixed[i] && letter && badge(letter, true)],
        word ? `word ${word}` : `blank at ${lane.place(i)}`,
      ),
      s: chip(BLANK, h('bdi', {}, '▢'), `blank below ${word ?? lane.place(i)}`),
      hide: h(
        'button',
        {
          type: 'button',
          class: 'dv-shhide',
          'aria-label': `hide ${word}`,
          hidden: !word,
          onclick: () => this.hide(i),
        },
        'hide',
      ),
    };
  }

  /** @param {string} path @param {number} i */
  choose(path, i) {
    this.path = path;
    this.without = null;
    if (i === this.viewer.state.position) this.draw();
    else this.viewer.select(i);
  }

  /** @param {number} i */
  hide(i) {
    this.without = this.without === i ? null : i;
    this.draw();
    this.measure();
  }

  /** What was measured of a word's part in the verdict. @param {number} i */
  cause(i) {
    const { frame, position, viewer } = this;
    return viewer.lane.causes.get(`${frame.index}/${position}`)?.causes.find(([place]) => place === i);
  }

  /** Asks until it is known what the verdict would have been without the hidden word. */
  async measure() {
    const { viewer, frame, position } = this;
    const { lane } = viewer;
    const key = `${frame.index}/${position}`;
    this.refused = '';
    if (this.measuring === key || this.without === null || !viewer.host.ask) return;
    this.measuring = key;
    try {
      for (let left = 1; left && this.without !== null && !this.cause(this.without) && this.position === position; ) {
        /** @type {{ verdict: import('../data/schema.js').Verdict, words?: Record<string, string> }} */
        const reply = await viewer.order('causes', {
          step: frame.index,
          position,
          tried: lane.causes.get(key)?.causes.length ?? 0,
        });
        if (viewer.lane !== lane) break;
        left = lane.judge(reply.verdict, reply.words).left;
      }
    } catch (error) {
      this.refused = sentenceOf(error);
    }
    this.measuring = '';
    if (!this.box.hidden && viewer.lane === lane) this.draw();
  }

  paint() {}

  draw() {
    const { frame, lacking } = this;
    if (this.laid !== frame || !!lacking !== this.picture.hidden) this.prepare();
    if (lacking) return;
    const { position, path } = this;
    const seen = sight(frame, path, position);
    const [start] = frame.block;
    for (const [i, { x, s, hide }] of this.places) {
      const { word, blank } = seen[i - start];
      x.dataset.open = String(word && i !== this.without);
      s.dataset.open = String(blank);
      x.setAttribute('aria-pressed', String(path === WORD && i === position));
      s.setAttribute('aria-pressed', String(path === BLANK && i === position));
      hide.hidden = !this.word(i) || !word || !this.hides;
      hide.setAttribute('aria-pressed', String(i === this.without));
    }
    this.link(seen);
    this.tell(seen);
  }

  /** Whether words can be hidden from who looks: what it says becomes a verdict. */
  get hides() {
    const { frame, position, path, viewer } = this;
    return !viewer.lane.fixed[position] && (path === BLANK || !frame.before?.states[position]);
  }

  /** Where an arc ends at a chip: on the side of the gap. @param {HTMLElement} chip @param {string} path @returns {Point} */
  end(chip, path) {
    const zoom = this.viewer.root.currentCSSZoom ?? 1;
    const [at, all] = [chip, this.picture].map((node) => node.getBoundingClientRect());
    const [left, top] = [(at.left - all.left) / zoom, (at.top - all.top) / zoom];
    const [width, height] = [at.width / zoom, at.height / zoom];
    if (this.upright) return [path === WORD ? left + width : left, top + height / 2];
    return [left + width / 2, path === WORD ? top + height : top];
  }

  /** From a chip to another. @param {string} path @param {number} i @param {string} to @param {number} j @returns {Curve} */
  way(path, i, to, j) {
    const chip = (/** @type {string} */ row, /** @type {number} */ at) =>
      this.end(/** @type {Place} */ (this.places.get(at))[row === WORD ? 'x' : 's'], row);
    const [from, there] = [chip(path, i), chip(to, j)];
    const bow = path === to ? (path === WORD ? 1 : -1) * GAP * (this.upright ? 0.35 : 0.6) : 0;
    return curve(from, there, this.upright, bow);
  }

  /** @param {{ word: boolean, blank: boolean }[]} seen */
  link(seen) {
    const { position, path, frame } = this;
    const [start] = frame.block;
    put(
      this.arcs,
      [...this.places.keys()].flatMap((i) => {
        const { word, blank } = seen[i - start];
        const free = !this.viewer.lane.fixed[i];
        const own = (/** @type {string} */ row) => row === path && i === position;
        const cut = this.word(i) && (!word || i === this.without) && !own(WORD);
        return [
          blank && !own(BLANK) && this.arc(this.way(path, position, BLANK, i), 'dv-sharc dv-shblank'),
          word &&
            i !== this.without &&
            !own(WORD) &&
            this.arc(this.way(path, position, WORD, i), `dv-sharc${free && this.word(i) ? ' dv-shthick' : ''}`),
          cut && this.cut(this.way(path, position, WORD, i)),
        ];
      }),
    );
  }

  /** @param {Curve} way @param {string} kind */
  arc(way, kind) {
    return h('path', { d: drawn(way), class: kind });
  }

  /** An arc that does not arrive. @param {Curve} way */
  cut(way) {
    const [stub, rest] = split(way, 0.45);
    const [x, y] = stub[3];
    return [
      this.arc(stub, 'dv-sharc dv-shthick'),
      this.arc(rest, 'dv-sharc dv-shgone'),
      h('circle', { cx: x, cy: y, r: 8, class: 'dv-shno' }),
      h('path', { d: `M${x - 3.5} ${y - 3.5}l7 7m0-7l-7 7`, class: 'dv-sharc dv-shthick' }),
    ];
  }

  /** The sentence that is seen from there, and what came of it. @param {{ word: boolean, blank: boolean }[]} seen */
  tell(seen) {
    const { frame, position, path } = this;
    const [start] = frame.block;
    const name = this.word(position);
    const { board } = this.viewer.lane;
    const last = name || board || !position ? null : this.word(position - 1);
    const who = [
      path === BLANK ? 'the blank below ' : '',
      last ? 'the blank after ' : '',
      h('bdi', { class: 'dv-word' }, name ?? last ?? (board ? this.viewer.lane.place(position) : 'a blank')),
    ];
    put(
      this.sees,
      h('span', { class: 'dv-shlabel' }, 'seen by ', who),
      h(
        'span',
        { class: 'dv-shsentence' },
        sentenceSeen(
          seen.map(({ word }, j) => (word && start + j !== this.without ? this.word(start + j) : null)),
          path === BLANK || !name ? position - start : -1,
        ),
      ),
    );
    put(this.verdict, h('span', { class: 'dv-shlabel' }, `pass ${frame.index}`), h('span', {}, this.said()));
    put(
      this.legend,
      [
        ['solid', 'sees the word'],
        ['dashed', 'sees its blank instead'],
        ['⊗', 'cut: may not see it'],
      ].map(([sign, means]) => h('span', {}, h('b', { 'data-key': sign }, sign === '⊗' ? sign : ''), means)),
      h('span', {}, 'Click any word in either row to look from there.'),
    );
  }

  /** What came of looking, and what would have come without the hidden word. @returns {Child} */
  said() {
    const { frame, position, viewer } = this;
    const { lane } = viewer;
    const name = this.word(position);
    if (!this.hides)
      return lane.fixed[position]
        ? 'This word is given: nobody judges it.'
        : 'A word that is written is judged from its blank below, not from here.';
    const p = frame.confidence[position];
    const limits = lane.limits;
    const state = (/** @type {string} */ letter) => [
      badge(lane.look(letter), true, letter),
      ' ',
      h('b', {}, lane.kind(letter).title),
    ];
    const stands = lane.state(frame, position);
    const now = [
      name ? h('bdi', { class: 'dv-word' }, name) : 'the best guess',
      ' gets ',
      h('b', {}, p == null ? '–' : threeShort(p, limits)),
      ': ',
      frame.events.demoted?.includes(position) ? h('b', {}, 'revoked') : state(stands.letter),
    ];
    if (this.without === null) return [now, '.'];
    const hidden = h('bdi', { class: 'dv-word' }, this.word(this.without));
    const cause = this.cause(this.without);
    if (cause)
      return [
        now,
        '. Without ',
        hidden,
        ' it would be ',
        h('b', {}, threeShort(cause[2], limits)),
        cause[3] ? [': ', state(cause[3])] : '',
        '.',
      ];
    if (!viewer.host.ask) return NOT_MEASURED;
    return this.refused || [now, '. Without ', hidden, ': being measured …'];
  }

  text() {
    if (this.lacking) return this.lacking;
    const { position, path } = this;
    const words = sight(this.frame, path, position).flatMap(({ word }, j) =>
      word ? (this.word(this.frame.block[0] + j) ?? []) : [],
    );
    return `From ${path === BLANK ? 'the blank below ' : ''}${this.word(position) ?? this.viewer.lane.place(position)} can be seen: ${words.join(' ')}. ${this.verdict.textContent}`;
  }
}
