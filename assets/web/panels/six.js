// The mask, block by block: a row for each one that looks, a column for each thing to see, in six blocks by the state of who
// looks. Every row is also the sentence that is seen from there. Then a block is painted by hand and checked. All of it is read
// from the mask of the trace: what each block sees is said from its cells, and a painted one is compared with them.

import { h, put, setText, twoShort } from '../draw/dom.js';
import { BLOCKS, SIGNS, inBlocks, wrongIn } from '../draw/blocks.js';
import { reasonOf } from '../draw/maskwords.js';
import { sentenceSeen } from '../draw/seen.js';
import { sight } from '../draw/sight.js';
import { LETTER } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Viewer } from './types.js' */

const MOST = 32;
const AROUND = 430; // pixels of the window that all else on the page needs
const PAINTED = 4; // the block that is painted: ⑤, or the last one before it that has rows

export class Six {
  static id = 'six';
  static story = 'six';
  static title = 'Six blocks';

  shown = 1; // blocks that are filled
  painting = false;
  /** @type {Map<number, Set<number>>} what was painted, by row */ painted = new Map();

  /** @type {Map<number, number[]> | null} what of it is wrong, once it was checked */ wrong = null;

  /** @type {boolean | null} whether the first check found nothing wrong */ first = null;

  drawn = '';
  /** @type {Frame | null} the pass that is shown */ of = null;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.mask = h('svg', { class: 'dv-sxmask', role: 'img' });
    this.list = h('ol', { class: 'dv-sxlist' });
    this.paintBox = h('div', { class: 'dv-sxpaint', hidden: true });
    this.foot = h('div', { class: 'dv-sxfoot', role: 'group', 'aria-label': 'blocks of the mask' });
    this.message = h('p', { class: 'dv-shmessage', hidden: true });
    this.body = h(
      'div',
      { class: 'dv-sxbody' },
      this.mask,
      h('div', { class: 'dv-sxwords' }, this.list, this.paintBox),
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-six', 'aria-label': 'the six blocks of the mask' },
      this.message,
      this.body,
      this.foot,
    );
  }

  /** @param {Lane} lane */
  static fits(lane) {
    return lane.about.shadow;
  }

  get frame() {
    return this.viewer.lane.at(this.viewer.state.step);
  }

  get lacking() {
    const { frame } = this;
    if (!frame.index) return 'Nobody has looked yet. Step once: every pass begins with looking.';
    if (!frame.mask || frame.plain)
      return 'This pass had no shadow, so it has no six blocks: it only fills what is left.';
    return frame.block[1] - frame.block[0] > MOST
      ? `The block is longer than ${MOST} places: too large to build it up row by row.`
      : '';
  }

  load() {
    this.forget();
    this.shown = 1;
    this.painting = false;
  }

  forget() {
    this.painted = new Map();
    this.wrong = null;
    this.first = null;
    this.drawn = '';
  }

  prepare() {
    this.drawn = '';
  }

  /** The places whose rows make up a block. @param {number} block */
  rowsOf(block) {
    const { before } = this.frame;
    return inBlocks(this.frame).filter((i) => before && LETTER[before.states[i]] === BLOCKS[block][1]);
  }

  /** The block that is painted: that of the candidates' shadows, where there are any. */
  get target() {
    return [PAINTED, 3, 5].find((block) => this.rowsOf(block).length) ?? PAINTED;
  }

  paint() {}

  draw() {
    const { frame, lacking, viewer } = this;
    this.message.hidden = !lacking;
    setText(this.message, lacking);
    this.body.hidden = this.foot.hidden = !!lacking;
    if (lacking) return;
    const key = [frame.index, this.shown, this.painting, viewer.drawnWidth, viewer.page?.answered?.()].join();
    if (this.drawn === key) return;
    if (this.of !== frame) this.forget();
    this.of = frame;
    this.drawn = key;
    this.fill();
    this.tell();
    this.choose();
    this.paintBox.hidden = !this.painting;
    if (this.painting) this.easel();
  }

  /** @param {number} i */
  word(i) {
    const { before, lane } = this.frame;
    return before?.states[i] ? lane.word(before.tokens[i]) : null;
  }

  /** Those up to now, or while one is painted all; that one not before it is known. @param {number} block */
  filled(block) {
    return (this.painting || block < this.shown) && !this.secret(block);
  }

  /** Whether it is still to be painted: neither was that done nor the page's answer told. @param {number} block */
  secret(block) {
    const { page } = this.viewer;
    return block === this.target && this.wrong?.size !== 0 && (this.painting || (!!page?.ask && !page.answered?.()));
  }

  /** The mask as cells; a solid one is a word that is seen, a small square a blank. */
  fill() {
    const { frame, viewer } = this;
    const order = inBlocks(frame);
    const { before } = frame;
    if (!before) return;
    const count = order.length;
    const narrow = viewer.root.dataset.size === 'narrow';
    const label = narrow ? 62 : 92;
    const width = Math.min(540, this.box.clientWidth - 24) - label - 34;
    const tallest = narrow ? 17 : (innerHeight - AROUND) / (2 * count);
    const size = Math.floor(Math.max(8, Math.min(17, tallest, width / (2 * count + 1))));
    const state = (/** @type {number} */ i) => LETTER[before.states[i]];
    const starts = order.map((i, n) => Number(n > 0 && state(order[n - 1]) !== state(i)));
    const steps = starts.map((_, n) => starts.slice(0, n + 1).reduce((sum, one) => sum + one, 0));
    const at = (/** @type {number} */ n, /** @type {string} */ path) =>
      n * size + 4 * steps[n] + (path === 's' ? count * size + 4 * (steps[count - 1] ?? 0) + 12 : 0);
    const left = label + 24;
    const top = 36;
    /** @type {SVGElement[]} */
    const parts = ['x', 's'].map((path) =>
      h(
        'text',
        { x: left + at(0, path), y: 12, class: 'dv-sxhead' },
        path === 'x' ? (narrow ? 'word (x)' : 'sees the word (x)') : narrow ? 'blank (s)' : 'sees its blank (s)',
      ),
    );
    order.forEach((i, n) => {
      if (n > 0 && !starts[n]) return;
      for (const path of ['x', 's'])
        parts.push(h('text', { x: left + at(n, path), y: 29, class: 'dv-sxhead', 'data-s': state(i) }, state(i)));
    });
    for (const [block, [path, letter]] of BLOCKS.entries()) {
      const rows = order.flatMap((i, n) => (state(i) === letter ? [[i, n]] : []));
      if (!rows.length) continue;
      const y = top + at(rows[0][1], path);
      const height = rows.length * size;
      const on = this.painting ? block === this.target : block === this.shown - 1;
      parts.push(
        h('text', { x: 2, y: y + height / 2 + 5, class: 'dv-sxsign', 'data-on': on }, SIGNS[block]),
        ...(on
          ? [
              h('rect', {
                x: left - 3,
                y: y - 3,
                width: at(count - 1, 's') + size + 6,
                height: height + 5,
                rx: 4,
                class: 'dv-sxframe',
              }),
            ]
          : []),
      );
      for (const [i, n] of rows) {
        const row = top + at(n, path);
        const name = `${path === 's' ? '▢ ' : ''}${this.word(i) ?? '▢'}`;
        parts.push(
          h(
            'text',
            { x: left - 8, y: row + size - 4, class: 'dv-sxname' },
            name.length > 11 ? `${name.slice(0, 10)}…` : name,
          ),
        );
        const seen = this.filled(block) ? sight(frame, path, i) : null;
        order.forEach((j, m) => {
          const cell = seen?.[j - frame.block[0]];
          for (const side of ['x', 's']) {
            const open = side === 'x' ? cell?.word : cell?.blank;
            const pale = viewer.lane.fixed[j] ? ' dv-sxpale' : '';
            parts.push(
              h('rect', {
                x: left + at(m, side),
                y: row,
                width: size - 1,
                height: size - 1,
                class: `dv-sxcell${open && side === 'x' ? pale : ''}`,
                'data-s': open && side === 'x' ? state(j) : null,
              }),
            );
            if (open && side === 's')
              parts.push(
                h('rect', {
                  x: left + at(m, side) + size / 2 - 3,
                  y: row + size / 2 - 3,
                  width: 5,
                  height: 5,
                  class: 'dv-sxblank',
                }),
              );
          }
        });
      }
    }
    const [wide, high] = [left + at(count - 1, 's') + size + 8, top + at(count - 1, 's') + size + 4];
    put(this.mask, parts);
    this.mask.setAttribute('width', String(wide));
    this.mask.setAttribute('height', String(high));
    this.mask.setAttribute('viewBox', `0 0 ${wide} ${high}`);
    this.mask.setAttribute('aria-label', this.text());
  }

  /** What the rows of a block see, said from their cells. @param {number} block */
  rule(block) {
    const { frame } = this;
    const { before, lane } = frame;
    const [path, letter] = BLOCKS[block];
    const rows = this.rowsOf(block);
    if (!before || !rows.length) return 'none in this pass';
    const [start] = frame.block;
    const seen = (/** @type {string} */ state) =>
      rows.flatMap((i) =>
        sight(frame, path, i).flatMap(({ word }, j) =>
          start + j !== i && LETTER[before.states[start + j]] === state ? [word] : [],
        ),
      );
    const share = (/** @type {string} */ state) => {
      const found = seen(state);
      return !found.length ? null : found.every(Boolean) ? 'all' : found.some(Boolean) ? 'some' : 'none';
    };
    const [candidates, trusted] = [share('C'), share('U')];
    const own = rows.every((i) => sight(frame, path, i)[i - start].word);
    const ranked = lane.about.cells['*CxC1']?.replace('{k} is ', '');
    const some = letter === 'C' && ranked ? `candidates that are ${ranked}` : 'some candidates';
    const parts = [
      trusted === 'all' ? 'trusted words' : trusted === 'some' ? 'some trusted words' : '',
      candidates === 'all' && letter !== 'C'
        ? 'candidates'
        : candidates === 'some' || (candidates && letter === 'C')
          ? some
          : '',
      letter === 'C' && own ? 'itself' : '',
    ].filter(Boolean);
    const never = path === 's' && letter !== 'M' ? ', never its own word' : '';
    const only = parts.length === 1 && candidates ? ' only' : '';
    return `sees ${parts.join(' and ') || 'no word'}${only}${never}`;
  }

  /** The blocks that are filled, each with one row as a sentence. */
  tell() {
    const { frame } = this;
    const [start] = frame.block;
    put(
      this.list,
      BLOCKS.map(([path, , who], block) => {
        if (!this.painting && block < this.shown && this.secret(block))
          return h('li', {}, h('span', { class: 'dv-sxn' }, SIGNS[block]), `${who}: what may it see? Paint it.`);
        if (!this.filled(block)) return null;
        const [row] = this.rowsOf(block);
        const words =
          row === undefined ? [] : sight(frame, path, row).map(({ word }, j) => (word ? this.word(start + j) : null));
        const own = path === 's' || row === undefined || !this.word(row) ? row - start : -1;
        return h(
          'li',
          { 'data-on': !this.painting && block === this.shown - 1 },
          h('span', { class: 'dv-sxn' }, SIGNS[block]),
          h(
            'div',
            {},
            h('p', {}, h('b', {}, who), ` ${this.rule(block)}`),
            row !== undefined && h('p', { class: 'dv-shsentence' }, sentenceSeen(words, own)),
          ),
        );
      }),
    );
  }

  choose() {
    const to = (/** @type {number} */ block) => {
      this.painting = block === BLOCKS.length;
      if (!this.painting) this.shown = block + 1;
      this.draw();
    };
    const on = this.painting ? BLOCKS.length : this.shown - 1;
    const names = [...SIGNS, '✎'];
    put(
      this.foot,
      h('span', {}, 'block'),
      names.map((name, block) =>
        h(
          'button',
          {
            type: 'button',
            class: 'dv-btn',
            'aria-pressed': String(block === on),
            'aria-label': block < SIGNS.length ? `block ${block + 1}` : `paint block ${this.target + 1}`,
            onclick: () => to(block),
          },
          block < SIGNS.length ? name : `${name} paint ${SIGNS[this.target]}`,
        ),
      ),
    );
  }

  /** The rows to paint, as the words that each could see. */
  easel() {
    const { frame, target } = this;
    const [path, , who] = BLOCKS[target];
    const order = Array.from({ length: frame.block[1] - frame.block[0] }, (_, n) => frame.block[0] + n);
    const result = h('p', { class: 'dv-sxresult', role: 'status' });
    const rows = this.rowsOf(target).map((i) => {
      const words = this.painted.get(i) ?? new Set();
      this.painted.set(i, words);
      const chips = order.map((j) => {
        const word = this.word(j);
        if (word === null) return h('i', { class: 'dv-shempty' }, '▢');
        const chip = h(
          'button',
          {
            type: 'button',
            class: 'dv-sxchip',
            'data-place': j,
            'aria-pressed': String(words.has(j)),
            'data-wrong': String(!!this.wrong?.get(i)?.includes(j)),
            onclick: () => {
              if (!words.delete(j)) words.add(j);
              chip.setAttribute('aria-pressed', String(words.has(j)));
              chip.dataset.wrong = 'false';
            },
          },
          h('bdi', {}, word),
        );
        return chip;
      });
      const { lane, before } = frame;
      return h(
        'div',
        { class: 'dv-sxrow', 'data-row': i },
        h(
          'span',
          {},
          path === 's' && '▢ of ',
          h('b', {}, this.word(i) ?? lane.place(i)),
          before?.states[i] === 1 && ` ${twoShort(before.confidence[i])}`,
        ),
        h('div', {}, chips),
      );
    });
    put(
      this.paintBox,
      h('h3', {}, `Paint ${SIGNS[target]}: what may each ${who.replace(/^An? /, '')} see? Click the words.`),
      rows,
      h(
        'div',
        { class: 'dv-sxcheck' },
        h('button', { type: 'button', class: 'dv-btn dv-primary', onclick: () => this.check() }, 'Check'),
        result,
      ),
    );
    if (this.wrong) put(result, this.verdict());
  }

  /** Compares what was painted with the mask of this pass. */
  check() {
    const { frame, target } = this;
    const [path] = BLOCKS[target];
    this.wrong = new Map();
    for (const i of this.rowsOf(target)) {
      const wrong = wrongIn(frame, path, i, this.painted.get(i) ?? new Set()).filter((j) => this.word(j) !== null);
      if (wrong.length) this.wrong.set(i, wrong);
    }
    this.first ??= this.wrong.size === 0;
    this.drawn = '';
    this.draw();
    /** @type {HTMLElement | null} */ (this.paintBox.querySelector('.dv-primary'))?.focus({ preventScroll: true });
    this.paintBox.querySelector('.dv-sxcheck')?.scrollIntoView({ block: 'nearest' });
    this.viewer.page?.painted?.(this.first);
  }

  /** How many places are right, and why the wrong ones are. @returns {Child} */
  verdict() {
    const { frame, target, wrong } = this;
    const { before, lane } = frame;
    if (!before || !wrong) return null;
    const [path, letter] = BLOCKS[target];
    const rows = this.rowsOf(target);
    const words =
      rows.length *
      Array.from({ length: frame.block[1] - frame.block[0] }).filter((_, j) => this.word(frame.block[0] + j) !== null)
        .length;
    const bad = [...wrong].flatMap(([i, places]) => places.map((j) => [i, j]));
    const right = h(
      'b',
      { class: bad.length ? 'dv-wrong' : 'dv-right' },
      `${bad.length ? '✗' : '✓'} ${words - bad.length} of ${words}. `,
    );
    const because = bad.slice(0, 2).map(([i, j]) => {
      const { word } = sight(frame, path, i)[j - frame.block[0]];
      const quoted = (/** @type {number} */ at) => `'${this.word(at)}'`;
      const reason = reasonOf(lane.about.cells, [path, letter], ['x', LETTER[before.states[j]]], word, i === j);
      const told = reason?.replaceAll('{k}', () => quoted(j)).replaceAll('{q}', () => quoted(i));
      return `The shadow of ${quoted(i)} ${word ? 'sees' : 'may not see'} ${quoted(j)}${told ? `: ${told}` : ''}. `;
    });
    return [
      right,
      because.join(''),
      bad.length > 2 && `And ${bad.length - 2} more.`,
      !bad.length && 'This is the mask that the pass was made with.',
    ];
  }

  text() {
    if (this.lacking) return this.lacking;
    return BLOCKS.map(([, , who], block) => this.filled(block) && `${SIGNS[block]} ${who} ${this.rule(block)}.`)
      .filter(Boolean)
      .join(' ');
  }
}
