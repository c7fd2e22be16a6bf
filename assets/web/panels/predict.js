// What a page asks before it shows, answered by doing: click what will be revoked, drag a number, put words in order, choose one of
// several. A guess can be changed until the step is made; then it is judged by the trace, and the score of every page is kept
// in this browser. A page whose answer was shown without a guess does not count.
//
// What `ask` may hold, beside `question`, `answer` and `then` (the view the answer is seen in):
//
//   kind: 'click'    the positions of an event of the step: `of`, its name; without it 'demoted', what is revoked
//   kind: 'drag'     a number of the step at a position: `of`, a column or 'confidence'; `places: [position]`
//   kind: 'order'    `places`, from the most to the least: by `of`, a column or 'confidence'
//   kind: 'choose'   one of `options`, texts; `right`, the number of the right one
//   kind: 'do'       what is done in the panel of the page, which says how it went by viewer.page.painted(right): the
//                    blocks that are painted, the weight that is dragged
//
// The step is `then.step`, or the next one.

import { h, keep, put, recall, setText, twoShort } from '../draw/dom.js';
import { LETTER, Lane } from '../data/unpack.js';
import { NEAR } from './weight.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Ask, Page, Viewer } from './types.js' */

const SCORES = 'dard-scores';

/** @returns {Record<string, boolean | null>} */
function scores() {
  try {
    return JSON.parse(recall(SCORES) ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/**
 * How these pages were answered: how many right, of how many that count.
 * @param {string[]} names @returns {[right: number, counted: number]}
 */
export function scoreOf(names) {
  const kept = scores();
  const counted = names.filter((name) => typeof kept[name] === 'boolean');
  return [counted.filter((name) => kept[name]).length, counted.length];
}

/** Keeps how a page was answered at first; null: it was shown without a guess. @param {string} name @param {boolean | null} right */
export function score(name, right) {
  const kept = scores();
  if (!Object.hasOwn(kept, name)) keep(SCORES, JSON.stringify({ ...kept, [name]: right }));
}

/** Forgets the answers of these pages. @param {string[]} names */
export function clearScores(names) {
  keep(SCORES, JSON.stringify(Object.fromEntries(Object.entries(scores()).filter(([name]) => !names.includes(name)))));
}

export class Predict {
  /** @type {Page | null} */ page = null;

  /** @type {Set<number>} positions that were clicked, in that order, or the option chosen */ chosen = new Set();

  number = 0.5;

  touched = false;

  /** @type {boolean | null | undefined} how it went; null: shown without a guess, undefined: not yet */ result;

  /** @param {Viewer} viewer @param {() => void} onChange a guess was made, changed or judged */
  constructor(viewer, onChange) {
    this.viewer = viewer;
    this.onChange = onChange;
    this.widget = h('div', { class: 'dv-ask' });
    this.said = h('p', { class: 'dv-asksaid', role: 'status' });
    viewer.root.addEventListener('click', ({ target }) => {
      const chip = /** @type {Element} */ (target).closest('.dv-p-tokens [data-position]');
      if (chip && this.ask?.kind === 'click' && this.result === undefined)
        this.toggle(Number(/** @type {HTMLElement} */ (chip).dataset.position));
    });
  }

  /** @returns {Ask | null} what is asked by doing */
  get ask() {
    const ask = this.viewer.page?.ask;
    return ask?.kind ? ask : null;
  }

  /** The step that the page opens with, and the one that is foretold. */
  get from() {
    return this.page?.show?.step ?? this.opened;
  }

  get step() {
    return this.ask?.then?.step ?? this.from + 1;
  }

  opened = 0;

  /** @type {Frame | null} the moment that its words are of */ built = null;

  /** Whether there is a guess that could be judged. */
  get guessed() {
    const { ask } = this;
    if (!ask) return false;
    if (ask.kind === 'drag') return this.touched;
    return ask.kind === 'order' ? this.chosen.size === (ask.places ?? []).length : this.touched;
  }

  /** Another page, or the same with another run. */
  prepare() {
    const { page } = this.viewer;
    if (!page || page === this.page) return;
    const same = page.name === this.page?.name;
    this.page = page;
    page.answered = () => this.result !== undefined;
    if (this.ask?.kind === 'do') page.painted = (right) => this.settle(right);
    if (same) return;
    Object.assign(this, { page, chosen: new Set(), number: 0.5, touched: false, result: undefined });
    this.opened = this.viewer.state.step;
    this.build();
  }

  /** Another run is in view: what was chosen of its words is of no use. */
  load() {
    if (this.result === undefined && this.ask?.kind !== 'choose') this.page = null;
    this.built = null;
  }

  /** Steps that were made otherwise tell the answer, too. */
  follow() {
    const { state, lane } = this.viewer;
    if (this.page !== this.viewer.page) this.prepare();
    else if (this.ask && this.result === undefined && this.byStep && state.step >= this.step && lane.last >= this.step)
      this.judge();
    else if (!this.touched && this.result === undefined && lane.at(this.from) !== this.built) this.build();
  }

  /** Whether a step answers it. */
  get byStep() {
    return ['click', 'drag', 'order'].includes(this.ask?.kind ?? '') && this.step > this.from;
  }

  build() {
    const { ask, viewer } = this;
    put(this.widget);
    put(this.said);
    if (!ask || !viewer.lane) return;
    const frame = viewer.lane.at(this.from);
    this.built = frame;
    if (ask.kind === 'choose')
      put(
        this.widget,
        (ask.options ?? []).map((text, n) => this.chip(n, text)),
      );
    if (ask.kind === 'click' || ask.kind === 'order') {
      const { lane } = viewer;
      const places = ask.places ?? lane.free.filter((i) => frame.states[i]);
      put(
        this.widget,
        places.map((i) =>
          this.chip(i, lane.word(frame.tokens[i]), lane.board ? lane.place(i) : '', LETTER[frame.states[i]]),
        ),
      );
    }
    if (ask.kind === 'drag') {
      const label = h('b', {}, '?');
      const input = h('input', {
        type: 'range',
        class: 'dv-askdrag',
        min: 0,
        max: 1,
        step: 0.01,
        value: this.number,
        'aria-label': ask.question,
        oninput: () => {
          Object.assign(this, { number: Number(input.value), touched: true });
          setText(label, twoShort(this.number));
          this.onChange();
        },
      });
      put(this.widget, h('span', {}, '0'), input, h('span', {}, '1'), label);
    }
  }

  /** @param {number} value @param {string} text @param {string} [where] @param {string} [state] */
  chip(value, text, where = '', state = undefined) {
    return h(
      'button',
      {
        type: 'button',
        class: 'dv-askchip',
        'data-value': value,
        'data-s': state,
        'aria-pressed': 'false',
        onclick: () => this.toggle(value),
      },
      h('bdi', {}, text),
      where && h('small', {}, where),
    );
  }

  /** @param {number} value */
  toggle(value) {
    const { ask, chosen } = this;
    if (!ask || this.result !== undefined) return;
    if (ask.kind === 'choose') chosen.clear();
    else if (!this.widget.querySelector(`[data-value="${value}"]`)) return;
    if (!chosen.delete(value)) chosen.add(value);
    this.touched = true;
    for (const chip of this.widget.querySelectorAll('button')) {
      const at = [...chosen].indexOf(Number(chip.dataset.value));
      chip.setAttribute('aria-pressed', String(at >= 0));
      chip.dataset.nth = ask.kind === 'order' && at >= 0 ? String(at + 1) : '';
    }
    this.onChange();
  }

  /** What the trace says, against the guess. */
  judge() {
    const { ask } = this;
    if (!ask || this.result !== undefined) return;
    if (!this.guessed) return this.settle(null);
    if (ask.kind === 'choose') return this.settle(this.chosen.has(ask.right ?? 0));
    const { lane } = this.viewer;
    const frame = lane.at(this.step);
    const number = (/** @type {number} */ i) => Lane.value(frame, ask.of ?? 'confidence', i) ?? 0;
    if (ask.kind === 'drag') {
      const real = number(ask.places?.[0] ?? this.viewer.state.position);
      this.settle(Math.abs(real - this.number) <= NEAR, `You said ${twoShort(this.number)}, it is ${twoShort(real)}. `);
    } else if (ask.kind === 'order') {
      const order = [...(ask.places ?? [])].sort((a, b) => number(b) - number(a));
      const told = order.map((i) => `${lane.word(lane.at(this.from).tokens[i])} ${twoShort(number(i))}`).join(', ');
      this.settle(
        order.every((i, n) => [...this.chosen][n] === i),
        `It is ${told}. `,
      );
    } else {
      const real = frame.events[ask.of ?? 'demoted'] ?? [];
      const name = lane.about.events[ask.of ?? 'demoted']?.title ?? ask.of;
      const words = real.map((i) =>
        lane.board
          ? `${lane.word(lane.at(this.from).tokens[i])} at ${lane.place(i)}`
          : lane.word(lane.at(this.from).tokens[i]),
      );
      for (const chip of this.widget.querySelectorAll('button'))
        chip.dataset.real = String(real.includes(Number(chip.dataset.value)));
      const right = real.length === this.chosen.size && real.every((i) => this.chosen.has(i));
      this.settle(right, `${words.join(', ') || 'Nothing'} was ${name}. `);
    }
  }

  /** @param {boolean | null} right @param {string} [told] */
  settle(right, told = '') {
    if (this.result !== undefined || !this.page) return;
    this.result = right;
    score(this.page.name, right);
    for (const part of /** @type {NodeListOf<HTMLButtonElement | HTMLInputElement>} */ (
      this.widget.querySelectorAll('button, input')
    ))
      part.disabled = true;
    put(
      this.said,
      right === null
        ? 'Shown without a guess, so it does not count. '
        : h('b', { class: right ? 'dv-right' : 'dv-wrong' }, right ? '✓ As you said. ' : '✗ Not so. '),
      told,
    );
    this.onChange();
  }
}
