// The predictions of a position in a step: five tokens, and a column of bars for each path that has some.

import { h, put, setText, twoShort } from '../draw/dom.js';
import { rich, symbol } from '../draw/symbols.js';
import { LETTER } from '../data/unpack.js';

/** @import { Frame, Slice } from '../data/frame.js' */
/** @import { Described } from '../data/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Path } from '../data/schema.js' */
/** @import { WhatIf } from './whatif.js' */

const ROWS = 5;

/** @typedef {ReturnType<typeof column>} Column */

export class Predictions {
  /** @type {WhatIf | undefined} */ whatIf;
  /** @type {number[]} ids of the tokens that are listed */ guesses;
  /** @type {Column[]} one per path of the trace in view */ columns;
  /** @type {string[]} what the labels say */ drawn;

  /**
   * With `whatIf`, a token that is chosen becomes the one to try.
   * @param {WhatIf | undefined} whatIf
   */
  constructor(whatIf) {
    this.whatIf = whatIf;
    this.guesses = [];
    this.columns = [];
    this.drawn = [];
    this.decides = h('span', { class: 'dv-r' });
    this.labels = Array.from({ length: ROWS }, (_, row) =>
      whatIf
        ? h(
            'button',
            {
              class: 'dv-guess',
              type: 'button',
              onclick: () => this.guesses[row] != null && whatIf.choose(this.guesses[row]),
            },
            h('bdi', {}),
          )
        : h('span', { class: 'dv-guess' }, h('bdi', {})),
    );
    this.box = h('div', { class: 'dv-preds' });
  }

  /**
   * The columns are those of another trace.
   * @param {Described} about
   */
  rebuild(about) {
    this.columns = about.paths.map((path) => column(path));
    this.box.style.setProperty('--paths', String(Math.max(1, this.columns.length)));
    put(
      this.box,
      h('div', { class: 'dv-labels' }, this.labels),
      this.columns.map((each) => each.box),
    );
  }

  /** @param {Lane} lane @param {Frame} frame @param {number} position @param {Slice | undefined} slice */
  draw(lane, frame, position, slice) {
    const fixed = !!lane.fixed[position];
    const deciding = slice?.decider;
    const source = slice?.paths?.[deciding ?? ''];
    this.guesses = source ? source.filter((_, k) => k % 2 === 0) : [];
    const path = lane.about.paths.find((each) => each.name === deciding);
    setText(
      this.decides,
      fixed
        ? 'none: given'
        : !frame.index
          ? ''
          : !slice
            ? 'loading'
            : deciding
              ? path?.decides || ''
              : lane.about.unmeasured
                ? 'not measured'
                : 'not looked at in this step',
    );
    const held = frame.states[position] || frame.drafted[position] ? frame.tokens[position] : -1;
    this.labels.forEach((label, row) => {
      const id = this.guesses[row];
      label.classList.toggle('dv-held', id != null && id === held);
      const word = id == null ? '' : lane.word(id);
      const key = `${fixed} ${id} ${word}`;
      if (this.drawn[row] === key) return;
      this.drawn[row] = key;
      if (label.firstChild) setText(label.firstChild, word);
      if (label instanceof HTMLButtonElement) label.disabled = id == null || fixed;
      label.title = id != null && this.whatIf && !fixed ? `try ${word} in “What if”` : word;
    });
    for (const column of this.columns) this.fill(column, lane, frame, slice, held, LETTER[frame.states[position]]);
  }

  /**
   * @param {Column} column @param {Lane} lane @param {Frame} frame @param {Slice | undefined} slice
   * @param {number} held @param {string} state
   */
  fill(column, lane, frame, slice, held, state) {
    const deciding = slice?.decider;
    const values = slice?.paths?.[column.key];
    const decides = column.key === deciding;
    column.box.classList.toggle('dv-decides', decides);
    column.none.hidden = !!values || !frame.index;
    setText(column.none, lane.about.unmeasured ? 'not measured' : 'not used');
    const key = values ? lane.about.thresholds : null;
    if (column.ticksFor !== key) {
      column.ticksFor = key;
      put(
        column.ticks,
        (key || [])
          .filter((t) => !t.on || t.on === column.key)
          .map((t) =>
            h('span', { class: 'dv-tick', style: { left: `${100 * t.at}%` } }, h('span', {}, rich(t.symbol))),
          ),
      );
    }
    const fifth = values ? values[values.length - 1] / 10000 : 0;
    column.rows.forEach(({ bar, value, row }, r) => {
      const id = this.guesses[r];
      const at = values && id != null ? values.findIndex((v, k) => k % 2 === 0 && v === id) : -1;
      const p = values && at >= 0 ? values[at + 1] / 10000 : null;
      const first = decides && id === held;
      const key = !values || id == null ? '' : `${p ?? `<${fifth}`}/${decides}/${first && state}`;
      if (column.drawn[r] === key) return;
      column.drawn[r] = key;
      row.hidden = !key;
      if (row.hidden) return;
      bar.style.width = `${100 * (p || 0)}%`;
      bar.dataset.s = first ? state : '';
      setText(value, (p ?? fifth) < 0.005 ? '<.01' : p == null ? `≤${twoShort(fifth)}` : twoShort(p, lane.limits));
      value.className = p == null ? 'dv-faint' : p > 0.6 ? 'dv-inside' : '';
      value.dataset.s = first && (p ?? 0) > 0.6 ? state : '';
      value.style.setProperty('--p', `${100 * (p || 0)}%`);
      value.style.fontWeight = decides && r === 0 ? '650' : '';
    });
  }
}

/** @param {Required<Path>} path */
function column({ name: key, title: name, help }) {
  const title = h('span', { class: 'dv-ptitle', title: help }, symbol(name || key));
  const ticks = h('span', { class: 'dv-pticks' });
  const rows = Array.from({ length: ROWS }, () => {
    const bar = h('i', {});
    const value = h('span', {});
    return { bar, value, row: h('div', { class: 'dv-prow' }, bar, value) };
  });
  const none = h('span', { class: 'dv-pnone' });
  const body = h(
    'div',
    { class: 'dv-pbody' },
    ticks,
    rows.map((r) => r.row),
    none,
  );
  return {
    key,
    ticks,
    rows,
    none,
    body,
    drawn: /** @type {string[]} */ ([]),
    ticksFor: /** @type {unknown} */ (null),
    box: h('div', { class: 'dv-pcol' }, title, body),
  };
}
