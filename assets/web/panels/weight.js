// Two guesses for one blank, and the share of the first one in the mix. One guesses the share first, on the same bar; then it is
// drawn below, with how it came about. Which share that is, and what pulled it, the trace says of its columns and paths.

import { h, put, setText, twoShort } from '../draw/dom.js';
import { BLOCKS, SIGNS } from '../draw/blocks.js';
import { GLOSSARY, rich } from '../draw/symbols.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Viewer } from './types.js' */

export const NEAR = 0.1; // a guess this far away still counts

export class Weight {
  static id = 'weight';

  static story = 'weight';

  static title = 'Weight';

  guess = 0.5;

  checked = false;

  at = -1; // the position that was guessed for

  tried = false; // by a guess, not by the answer of the page

  drawn = '';

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.title = h('h2', {}, '');
    this.guesses = h('div', { class: 'dv-wguesses' });
    this.input = h('input', {
      type: 'range',
      class: 'dv-wdrag',
      min: 0,
      max: 1,
      step: 0.01,
      oninput: () => {
        this.guess = Number(this.input.value);
        this.bars();
      },
    });
    this.mine = h('div', { class: 'dv-wbar dv-wmine' }, h('i', {}), h('b', {}));
    this.real = h('div', { class: 'dv-wbar' }, h('i', {}), h('b', {}));
    this.ends = h('div', { class: 'dv-wends' });
    this.button = h('button', { type: 'button', class: 'dv-btn dv-primary', onclick: () => this.check() }, 'Check');
    this.result = h('p', { class: 'dv-wsaid', role: 'status' });
    this.message = h('p', { class: 'dv-shmessage', hidden: true });
    this.body = h(
      'div',
      {},
      this.title,
      this.guesses,
      this.ends,
      h('div', { class: 'dv-wrow' }, this.mine, this.input),
      this.real,
      h('div', { class: 'dv-wfoot' }, this.button, this.result),
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-weight', 'aria-label': 'two guesses and their weight' },
      this.message,
      this.body,
    );
  }

  /** @param {Lane} lane */
  static fits(lane) {
    return !!lane.mapped && lane.about.paths.length > 1;
  }

  get frame() {
    return this.viewer.lane.at(this.viewer.state.step);
  }

  /** The share at the selected position; null where none was needed. */
  get share() {
    const { lane, state } = this.viewer;
    return lane.mapped ? Lane.value(this.frame, lane.mapped.name, state.position) : null;
  }

  get lacking() {
    const { lane, state } = this.viewer;
    const { frame } = this;
    if (!frame.index) return 'Nothing was guessed yet. Step once.';
    if (frame.before && LETTER[frame.before.states[state.position]] !== 'M')
      return 'This place was not blank before this pass: there were no two guesses for it. Select one that was.';
    return this.share === null ? `No ${lane.mapped?.symbol ?? 'weight'} was needed here in this pass.` : '';
  }

  prepare() {
    this.drawn = '';
  }

  paint() {}

  draw() {
    const { lacking, frame, viewer } = this;
    this.message.hidden = !lacking;
    setText(this.message, lacking);
    this.body.hidden = !!lacking;
    const { page, state } = viewer;
    const told = !!page?.answered?.() && page.ask?.then?.position === state.position;
    const key = `${viewer.lane.head.prompt} ${told} ${frame.index} ${state.position}`;
    if (lacking || this.drawn === key) return;
    if (this.at !== state.position) this.tried = this.checked = false;
    this.at = state.position;
    this.checked ||= told;
    this.drawn = key;
    const { paths, columns } = viewer.lane.about;
    const [first, second] = paths;
    const slice = frame.slices[viewer.state.position];
    const symbol = viewer.lane.mapped?.symbol ?? '';
    const guessed = (/** @type {typeof first} */ path) => {
      const [id, p] = slice?.paths?.[path.name] ?? [];
      return h(
        'div',
        {},
        h('span', {}, this.signed(path), h('small', {}, path.help)),
        id === undefined
          ? h('b', {}, '–')
          : h('b', {}, h('bdi', {}, viewer.lane.word(id)), h('small', {}, `${twoShort(p / 10_000)} sure`)),
      );
    };
    setText(this.title, `How much should the ${this.signed(first)} count?`);
    put(this.guesses, guessed(first), guessed(second));
    put(
      this.ends,
      h('span', {}, `${symbol} = 0: only the ${this.signed(second)}`),
      h('span', {}, `${symbol} = 1: only the ${this.signed(first)}`),
    );
    this.input.value = String(this.guess);
    this.input.setAttribute('aria-label', `your guess for ${symbol}: ${columns[0]?.help ?? ''}`);
    this.bars();
  }

  /** A path with the block of the mask that guesses for blanks on it. @param {{ name: string, title: string }} path */
  signed({ name, title }) {
    const block = BLOCKS.findIndex(([path, state]) => path === name && state === 'M');
    return this.viewer.lane.about.shadow && block >= 0 ? `${SIGNS[block]} ${title}` : title;
  }

  check() {
    this.checked = this.tried = true;
    this.bars();
    this.viewer.page?.painted?.(Math.abs(this.guess - (this.share ?? 0)) <= NEAR);
  }

  bars() {
    const { share, checked, viewer, frame } = this;
    const { lane, state } = viewer;
    const symbol = lane.mapped?.symbol ?? '';
    const bar = (/** @type {HTMLElement} */ node, /** @type {number} */ value, /** @type {string} */ text) => {
      /** @type {HTMLElement} */ (node.firstChild).style.width = `${100 * value}%`;
      node.dataset.high = String(value > 0.75); // there is no room beside it
      setText(/** @type {Node} */ (node.lastChild), text);
    };
    bar(this.mine, this.guess, `your guess ${twoShort(this.guess)}`);
    this.real.dataset.open = String(checked);
    bar(this.real, checked ? (share ?? 0) : 0, checked ? `${symbol} = ${twoShort(share)}` : `${symbol} = ?`);
    this.button.hidden = checked;
    if (!checked || share === null) return void put(this.result);
    const off = this.guess - share;
    const near = Math.abs(off) <= NEAR;
    const value = (/** @type {string} */ name) => twoShort(Lane.value(frame, name, state.position));
    const formula = lane.mapped?.formula?.replace(/\{(\w+)\}/g, (_, name) => value(name));
    const used = [...new Set([...(lane.mapped?.formula ?? '').matchAll(/\{(\w+)\}/g)].map(([, name]) => name))];
    const meanings = used.map((name) => `${name} ${value(name)}: ${GLOSSARY[name] ?? ''} `);
    if (lane.settings.p0 != null) meanings.push(`p₀ ${twoShort(Number(lane.settings.p0))}: ${GLOSSARY['p₀']}`);
    const [last] = lane.about.paths.slice(-1);
    const [id] = frame.slices[state.position]?.paths?.[last.name] ?? [];
    put(
      this.result,
      this.tried &&
        h(
          'b',
          { class: near ? 'dv-right' : 'dv-wrong' },
          near ? '✓ Close. ' : off > 0 ? '✗ Less than that. ' : '✗ More than that. ',
        ),
      rich(formula ? `${symbol} = ${formula} = ${twoShort(share)}. ` : `${symbol} = ${twoShort(share)}. `),
      id !== undefined && ['The mix says ', h('bdi', { class: 'dv-word' }, lane.word(id)), '. '],
      formula && h('small', {}, meanings),
    );
  }

  text() {
    return this.lacking || `${this.guesses.textContent} ${this.result.textContent}`;
  }
}
