// The map under the ruler: what the same prompt comes to under every pair of thresholds, each cell a decode of its own. A
// column stands right below the handle that it is a place of, a row is a place of the other one; pairs that cannot be are left
// out. A decoder that is tuned by one number has one row. A click on a cell goes there.

import { h, icon, judgement, passesOf, put, setText } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { shown } from './handles.js';
import { NO_MODEL, same, tuningOf } from './tuning.js';

/** @import { Knob } from './tuning.js' */
/** @import { Outcome, Viewer } from './types.js' */
/** @typedef {Record<string, number>} Numbers */

const ROWS = 9;
const COLUMNS = 18;
const TOGETHER = 120; // tries of one question

/** @param {number} low @param {number} high @param {number} count @param {number} step @returns {number[]} */
function places(low, high, count, step) {
  const every = Math.max(step, (high - low) / (count + 1));
  const first = low > 0 || step === 1 ? low : low + every;
  const found = [];
  for (let at = first; at <= high + 1e-9 - (step < 1 ? every : 0) && found.length < count; at += every)
    found.push(step === 1 ? Math.round(at) : Number(at.toFixed(4)));
  return [...new Set(found)];
}

/** Which numbers a map has, as far as two may stand beside each other. @param {Knob[]} knobs @returns {Numbers[][]} */
export function cellsOf(knobs) {
  const across = knobs.at(-1);
  if (!across) return [];
  const columns = places(across.low, across.high, knobs.length > 1 ? COLUMNS + 1 : COLUMNS, across.step);
  const [down] = knobs.length > 1 ? knobs : [];
  if (!down) return [columns.map((at) => ({ [across.name]: at }))];
  return places(down.low, down.high, ROWS, down.step).map((row) =>
    columns
      .filter((at) => down.below !== across.name || at >= row - 1e-9)
      .map((at) => ({ [down.name]: row, [across.name]: at })),
  );
}

export class ThresholdMap {
  static id = 'map';

  static story = 'map';

  static title = 'Map of settings';

  /** @type {Map<string, Map<string, Outcome>>} what came of the tries, by what else was asked */ known = new Map();

  /** @type {{ values: Numbers, button: HTMLButtonElement }[]} */ cells = [];

  busy = false;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.tuning = tuningOf(viewer);
    this.grid = h('div', { class: 'dv-map', role: 'group', 'aria-label': 'map of settings' });
    this.here = h('p', { class: 'dv-maphere', role: 'status' });
    this.legend = h('p', { class: 'dv-maplegend' });
    this.fill = h(
      'button',
      { type: 'button', class: 'dv-btn dv-mini', hidden: true, onclick: () => this.find() },
      'Decode them all',
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-map', 'aria-label': 'map of settings' },
      this.grid,
      h('div', { class: 'dv-mapfoot' }, this.here, this.legend, this.fill),
    );
    this.tuning.listeners.add(() => !this.box.hidden && this.viewer.lane && this.draw());
  }

  /** @param {import('../data/unpack.js').Lane} _lane @param {Viewer} viewer */
  static fits(_lane, viewer) {
    return tuningOf(viewer).knobs.length > 0;
  }

  /** What is known of this prompt with these other settings. */
  get outcomes() {
    const { lane } = this.viewer;
    const { prompt, model, decoder } = lane.head;
    const own = this.tuning.knobs.map(({ name }) => name);
    const others = Object.entries(lane.settings).filter(([name]) => !own.includes(name));
    const key = JSON.stringify([prompt, model, decoder, others]);
    const found = this.known.get(key) ?? new Map();
    this.known.set(key, found);
    return found;
  }

  /** How runs end comes later than what is looked at, where that shall be hidden. */
  get hides() {
    const { state, lane } = this.viewer;
    return state.hideLater && !(lane.finished && state.step >= lane.last);
  }

  prepare() {
    const { knobs } = this.tuning;
    const key = JSON.stringify(knobs);
    if (this.grid.dataset.knobs === key) return;
    this.grid.dataset.knobs = key;
    const rows = cellsOf(knobs);
    const across = /** @type {Knob} */ (knobs.at(-1));
    const all = rows.flat().map((each) => each[across.name]);
    const columns = [...new Set(all)].sort((a, b) => a - b);
    const width = columns.length > 1 ? (columns[1] - columns[0]) / (across.high - across.low) : 0.05;
    this.cells = [];
    put(
      this.grid,
      [
        h(
          'div',
          { class: 'dv-maprow dv-maphead', 'aria-hidden': 'true' },
          h(
            'span',
            {
              style: {
                right: `${100 - 100 * Math.max(0, (columns[0] - across.low) / (across.high - across.low) - width / 2)}%`,
              },
            },
            rich(across.symbol),
          ),
          columns
            .filter((_, n) => n % 2)
            .map((at) =>
              h(
                'i',
                { style: { left: `${(100 * (at - across.low)) / (across.high - across.low)}%` } },
                shown(across, at),
              ),
            ),
        ),
      ],
      rows.map((row) => {
        const cells = row.map((values) => {
          const at = (values[across.name] - across.low) / (across.high - across.low);
          const button = h('button', {
            type: 'button',
            class: 'dv-mapcell',
            style: { left: `${100 * Math.max(0, at - width / 2)}%`, width: `${100 * width}%` },
            onclick: () => this.tuning.set(values, true),
          });
          this.cells.push({ values, button });
          return button;
        });
        const first = Math.max(0, (row[0][across.name] - across.low) / (across.high - across.low) - width / 2);
        const [down] = knobs.length > 1 ? knobs : [];
        return h(
          'div',
          { class: 'dv-maprow' },
          down &&
            h(
              'span',
              { style: { right: `${100 * (1 - first)}%` } },
              rich(down.symbol),
              ` ${shown(down, row[0][down.name])}`,
            ),
          cells,
        );
      }),
    );
  }

  paint() {}

  draw() {
    const { knobs, values, wanted } = this.tuning;
    const { hides, outcomes } = this;
    for (const { values: at, button } of this.cells) {
      const outcome = hides ? undefined : outcomes.get(JSON.stringify(at));
      const [word, sign, ,] = judgement(outcome?.right);
      const text = outcome ? `${sign}${sign && ' '}${outcome.passes}${outcome.finished ? '' : '+'}` : '';
      setText(button, text);
      button.dataset.right = outcome ? String(outcome.right) : '';
      const here = same(at, values);
      button.setAttribute('aria-pressed', String(here));
      const name = knobs.map((knob) => `${knob.symbol} ${shown(knob, at[knob.name])}`).join(', ');
      button.setAttribute(
        'aria-label',
        `${name}: ${outcome ? `${word || 'ended'}, ${outcome.text}, ${passesOf(outcome.passes)}` : hides ? 'hidden' : 'not decoded yet'}`,
      );
      button.tabIndex =
        here || (button === this.cells[0].button && !this.cells.some((each) => same(each.values, values))) ? 0 : -1;
    }
    this.say(hides, !!wanted);
    const left = this.missing.length;
    this.fill.hidden = !left || this.busy || hides || !this.viewer.host.tries;
    setText(this.fill, `Decode ${left === this.cells.length ? `all ${left}` : `the other ${left}`}`);
  }

  /** @param {boolean} hides @param {boolean} waiting */
  say(hides, waiting) {
    const { lane, host } = this.viewer;
    const frame = lane.at(lane.last);
    const [word, , sign] = judgement(frame.right);
    if (hides) put(this.here, 'How the decodes end is hidden with all that comes later.');
    else
      put(
        this.here,
        'Here ',
        h(
          'span',
          { class: word === 'wrong' ? 'dv-wrong' : word ? 'dv-right' : null },
          sign && icon(sign, 11),
          ' ',
          h('b', {}, h('bdi', {}, lane.answer(frame))),
        ),
        ` after ${passesOf(lane.last)}`,
        waiting ? ' · decoding …' : '',
      );
    const { knobs } = this.tuning;
    const [down, across] = knobs.length > 1 ? knobs : [null, knobs[0]];
    put(
      this.legend,
      host.tries || this.outcomes.size ? 'Each cell is a decode. Column: ' : `${NO_MODEL} Column: `,
      rich(across?.symbol ?? ''),
      down && [', row: ', rich(down.symbol)],
      '. ✓ right, ✗ wrong; the number counts passes.',
    );
  }

  get missing() {
    const { outcomes } = this;
    return this.cells.filter(({ values }) => !outcomes.has(JSON.stringify(values)));
  }

  need() {
    if (!this.tuning.slow && !this.hides) this.find();
  }

  /** Asks for all that is not known yet, some at a time, as long as it is looked at. */
  async find() {
    const { viewer } = this;
    if (this.busy || !viewer.host.tries || this.tuning.asked) return;
    this.busy = true;
    try {
      for (let left = this.missing; left.length && !this.box.hidden; left = this.missing) {
        const { outcomes } = this;
        const tried = left.slice(0, TOGETHER);
        const found = await viewer.host.tries(tried.map(({ values }) => values));
        found.forEach((each, n) => outcomes.set(JSON.stringify(tried[n].values), each));
        if (!this.box.hidden) this.draw();
      }
    } catch (error) {
      setText(this.legend, /** @type {Error} */ (error).message);
    } finally {
      this.busy = false;
    }
  }

  /** To the next cell in a direction. @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, [number, number]>} */
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    const at = this.cells.findIndex(({ button }) => button === event.target);
    if (!move || at < 0) return false;
    const { button } = this.cells[at];
    const beside = /** @type {HTMLButtonElement | null} */ (
      move[0] ? this.cells[at + move[0]]?.button : this.above(button, move[1])
    );
    beside?.focus();
    return true;
  }

  /** @param {HTMLElement} button @param {number} by */
  above(button, by) {
    const rows = [...this.grid.children];
    const row = rows[rows.indexOf(/** @type {Element} */ (button.parentElement)) + by];
    return /** @type {HTMLButtonElement | null} */ (
      [...(row?.querySelectorAll('button') ?? [])].find((each) => each.style.left === button.style.left) ?? null
    );
  }

  text() {
    const count = (/** @type {boolean} */ right) =>
      [...this.outcomes.values()].filter((each) => each.right === right).length;
    return this.hides ? 'hidden' : `${this.cells.length} settings: ${count(true)} right, ${count(false)} wrong.`;
  }
}
