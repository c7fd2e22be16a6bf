// The panel of causes: what the verdict on the selected token would have been without each token that it saw, as bars from
// the probability it had to the one it would have had; the same as a tint under the tokens. Asked for while the panel is
// in view, batch by batch, and kept with the lane.

import { ROW, UPPER, drawBars } from '../draw/bars.js';
import { choice, h, press, put, sentenceOf, setText, three, threeShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { Tint } from '../draw/tint.js';
import { SIDES, showSide, sideTabs } from './side.js';

/** @import { Cause, Limit, Verdict } from '../data/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { State, Viewer } from './types.js' */
/** @import { Sheet } from '../draw/types.js' */

const MOST = 12; // rows at first
const PATIENCE = 250; // ms on one verdict before it is asked for: nobody waits for what is scrubbed over
const BUDGET = 2000; // ms, then the rest waits for "go on"
const CLOSE = 0.05; // to a threshold: then the axis can be a close-up
const NO_MODEL =
  'This run is a recording, and there is no model to ask. It was saved without the causes of this verdict.';
const NOTHING_HIDDEN = 'Nothing: the mask showed it every token that was decided before this pass.';

/** @param {number} step @param {number} position */
const keyOf = (step, position) => `${step}/${position}`;

/** @typedef {{ canvas: HTMLCanvasElement, rows: HTMLElement, buttons: HTMLButtonElement[], places: (number | null)[], box: HTMLElement }} Chart */

export class Causes {
  /** @type {Viewer} */ viewer;
  /** @type {WeakMap<Lane, Map<string, string>>} of every lane, what could not be had, by verdict */ refused;
  /** @type {boolean} */ wide;
  /** @type {boolean} */ all;
  /** @type {boolean} */ stopped;
  /** @type {string | null} */ busy;
  /** @type {number} */ width;
  /** @type {[number, number]} */ span;
  /** @type {{ seen: Cause[], beside: Cause[], hidden: Cause[], more: Cause[] }} */ rows;
  /** @type {string} */ drawn;
  /** @type {Lane} */ drawnLane;
  /** @type {string} */ hideFrom;
  /** @type {HTMLSelectElement} */ who;
  /** @type {HTMLElement} */ from;
  /** @type {HTMLElement} */ whatIf;
  /** @type {ReturnType<typeof setTimeout>} */ waiting;

  static id = 'causes';

  static title = 'Causes';

  static state = { side: 'mask' };

  /** @param {State} state */
  static settle(state) {
    if (!SIDES.includes(state.side)) state.side = 'mask';
  }

  /** @param {Lane} _lane @param {Viewer} viewer */
  static fits(_lane, { state }) {
    return state.side === 'causes';
  }

  /** @type {Record<string, (viewer: Viewer) => void>} */
  static shortcuts = {
    c: (viewer) => viewer.set({ side: 'causes' }),
    m: (viewer) => viewer.set({ side: 'mask' }),
  };

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.refused = new WeakMap(); // of every lane, what could not be had, by verdict
    this.tint = new Tint();
    this.tabs = sideTabs(viewer);
    this.sub = h('span', { class: 'dv-sub dv-r' });
    this.axis = choice(
      'scale of the bars',
      [
        ['whole', 'full scale', 'bars from 0 to 1'],
        ['close', 'zoomed in', 'only where the bars end, so that small differences can be seen'],
      ],
      (axis) => {
        this.wide = axis === 'whole';
        viewer.redraw();
      },
    );
    this.what = h('p', { class: 'dv-cwhat' });
    this.done = h('i', {});
    this.count = h('span', {});
    this.progress = h(
      'div',
      { class: 'dv-cprogress' },
      h('div', {}, this.done),
      this.count,
      h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.stop() }, 'Stop'),
    );
    this.seen = this.chart('without each visible token');
    this.beside = this.chart('tokens of the same pass');
    this.hidden = this.chart('if it had been seen');
    this.more = h('div', { class: 'dv-csec' });
    this.none = h('p', { class: 'dv-cnone' });
    this.untried = h('div', { class: 'dv-csec' });
    this.note = h('p', { class: 'dv-csum', 'aria-live': 'polite' });
    this.message = h('p', { class: 'dv-cmessage' });
    this.body = h(
      'div',
      { class: 'dv-cbody' },
      this.what,
      this.progress,
      this.seen.box,
      this.more,
      (this.pass = h('div', { class: 'dv-csec' }, h('b', {}, 'Of the same pass'), 'if it had been seen')),
      this.beside.box,
      h('div', { class: 'dv-csec' }, (this.how = h('b', {})), 'if it had been seen'),
      this.hidden.box,
      this.none,
      this.untried,
      viewer.host.requestBranch ? this.form() : null,
      this.note,
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-causes', 'aria-label': 'causes' },
      h('div', { class: 'dv-ph' }, this.tabs, this.sub, this.axis),
      this.message,
      this.body,
    );
  }

  /**
   * Bars on a canvas, and over every row a button.
   * @param {string} label @returns {Chart}
   */
  chart(label) {
    const canvas = h('canvas', { 'aria-hidden': 'true' });
    const rows = h('div', { class: 'dv-crows', role: 'group', 'aria-label': label });
    return { canvas, rows, buttons: [], places: [], box: h('div', { class: 'dv-cchart' }, canvas, rows) };
  }

  /** "What if" by hiding: the step is made again without a token. */
  form() {
    const { viewer } = this;
    this.who = h('select', { class: 'dv-select', 'aria-label': 'token to hide' });
    this.from = choice(
      'hide it from',
      [
        ['all', 'all', 'nobody sees it in this pass'],
        ['check', 'this check', 'only this prediction does not see it'],
      ],
      (from) => press(this.from, (this.hideFrom = from)),
    );
    this.hideFrom = 'all';
    press(this.from, 'all');
    const branch = () => {
      const { step, position, lane } = viewer.state;
      const all = this.hideFrom === 'all';
      viewer.host.requestBranch?.({
        lane,
        step,
        position: +this.who.value,
        hide: this.hideFrom,
        ...(!all && { check: position }),
      });
    };
    this.whatIf = h(
      'div',
      { class: 'dv-whatif' },
      'Hide ',
      this.who,
      ' from ',
      this.from,
      h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: branch }, 'Branch here'),
    );
    return this.whatIf;
  }

  // What there is to show.

  get verdictKey() {
    const { state, lane } = this.viewer;
    return keyOf(lane.at(state.step).index, state.position);
  }

  get verdict() {
    return this.viewer.lane.causes.get(this.verdictKey) ?? null;
  }

  /** Why there is nothing, in a sentence; none where it only has to be asked for. */
  get lacking() {
    const { state, lane, host } = this.viewer;
    if (this.verdict) return null;
    const { index } = lane.at(state.step);
    if (!index) return 'No forward pass has run yet: there is no verdict to explain.';
    if (lane.fixed[state.position]) return 'This token is given by the template: there is no verdict on it.';
    return this.refused.get(lane)?.get(this.verdictKey) ?? (host.ask ? null : NO_MODEL);
  }

  need() {
    clearTimeout(this.waiting);
    if (!this.viewer.host.ask || this.verdict || this.lacking) return;
    this.waiting = setTimeout(() => this.find(), PATIENCE);
  }

  stop() {
    this.stopped = true;
  }

  /** Asks for more of what is in view, until all is known, the time is over, or something else is in view. */
  async find() {
    const { viewer, verdictKey: key } = this;
    const { lane } = viewer;
    const [step, position] = key.split('/').map(Number);
    if (this.busy === key || viewer.transport.timer) return;
    this.busy = key;
    this.stopped = false;
    const end = performance.now() + BUDGET;
    const here = () => viewer.lane === lane && this.verdictKey === key && !this.box.hidden;
    try {
      for (let left = 1; left && here() && !this.stopped && performance.now() < end; ) {
        /** @type {{ verdict: import('../data/schema.js').Verdict, words?: Record<string, string> }} */
        const reply = await viewer.order('causes', { step, position, tried: lane.causes.get(key)?.causes.length ?? 0 });
        const verdict = lane.judge(reply.verdict, reply.words);
        left = verdict.left;
        if (here()) viewer.redraw();
      }
    } catch (error) {
      const refused = this.refused.get(lane) ?? new Map();
      this.refused.set(lane, refused.set(key, sentenceOf(error)));
    }
    if (this.busy === key) this.busy = null;
    if (here()) viewer.redraw();
    else if (!this.box.hidden) this.need(); // the same place of another run was not asked for while this one was
  }

  // Drawing.

  prepare() {
    this.width = this.body.clientWidth || this.message.clientWidth;
  }

  paint() {
    const { verdict, viewer } = this;
    const grid = viewer.panels[0].grids?.[viewer.state.lane];
    const tinted = grid && viewer.state.side === 'causes' && viewer.named('causes') ? verdict : null;
    this.tint.draw(grid, tinted, tinted && viewer.lane.frames[tinted.step].hidden, viewer.drawnWidth);
    this.body.hidden = !verdict;
    if (!verdict) return;
    this.lay(verdict);
    this.on(this.seen.canvas, this.rows.seen, false);
    this.on(this.beside.canvas, this.rows.beside, true);
    this.on(this.hidden.canvas, this.rows.hidden, true);
  }

  /**
   * Which rows, and on which part of the axis.
   * @param {Verdict} verdict
   */
  lay(verdict) {
    const [hidden, seen] = [verdict.causes.filter((each) => each[4]), verdict.causes.filter((each) => !each[4])];
    const effect = (/** @type {Cause} */ each) => (each[0] === null ? Infinity : Math.abs(each[2] - verdict.actual));
    this.rows = {
      beside: verdict.beside.toSorted((a, b) => effect(b) - effect(a)).slice(0, MOST),
      seen: seen.slice(0, this.all ? undefined : MOST),
      hidden: hidden.slice(0, MOST),
      more: seen.slice(MOST),
    };
    this.span = this.wide ? [0, 1] : (this.closeUp(verdict, seen) ?? [0, 1]);
  }

  /**
   * The thresholds that concern this verdict.
   * @param {Verdict} verdict
   */
  thresholds(verdict) {
    return this.viewer.lane.about.thresholds
      .filter((each) => !each.on || each.on === verdict.path)
      .sort((a, b) => a.at - b.at);
  }

  /**
   * The part of the axis where all bars of visible tokens end, if that is near a threshold.
   * @param {Verdict} verdict @param {Cause[]} seen @returns {[number, number] | null}
   */
  closeUp(verdict, seen) {
    const values = [verdict.actual, ...seen.map((each) => each[2])];
    const near = this.thresholds(verdict).filter(({ at }) => values.every((p) => Math.abs(p - at) <= CLOSE));
    if (!near.length || values.length < 2) return null;
    const all = [...values, ...near.map(({ at }) => at)];
    return [Math.max(0, Math.min(...all) - 0.03), Math.min(1, Math.max(...all) + 0.03)];
  }

  /** @param {Sheet} canvas @param {Cause[]} rows @param {boolean} hidden */
  on(canvas, rows, hidden) {
    const { width, verdict, span, viewer } = this;
    if (!verdict) return;
    const thresholds = this.thresholds(verdict);
    drawBars(canvas, rows, hidden, {
      lane: viewer.lane,
      width,
      verdict,
      span,
      thresholds,
      limits: viewer.lane.limits,
      theme: viewer.theme,
    });
  }

  draw() {
    const { viewer, verdict } = this;
    const { lane, state } = viewer;
    showSide(this.tabs, 'causes', lane);
    setText(this.sub, `step ${lane.at(state.step).index} · position ${state.position}`);
    const message = this.lacking ?? (verdict ? '' : this.busy ? 'Hiding one token after the other …' : 'Waiting …');
    this.message.hidden = !message;
    setText(this.message, message);
    this.axis.hidden =
      !verdict ||
      !this.closeUp(
        verdict,
        verdict.causes.filter((each) => !each[4]),
      );
    press(this.axis, this.wide ? 'whole' : 'close');
    if (!verdict) return;
    const drawn = [this.verdictKey, verdict.causes.length, this.all, this.busy, this.width].join();
    if (this.drawn === drawn && this.drawnLane === lane) return;
    this.drawn = drawn;
    this.drawnLane = lane;
    const held = lane.frames[verdict.step - 1].states[verdict.position] > 0;
    put(
      this.what,
      rich(
        `Probability of '${verdict.word}' in its ${held ? 'verification' : 'prediction'}, if one visible token is hidden: its id becomes a mask for everyone, all else stays.`,
      ),
    );
    const total = verdict.causes.length + verdict.left;
    this.progress.hidden = !(verdict.left && this.busy === this.verdictKey);
    this.done.style.width = `${(100 * verdict.causes.length) / Math.max(1, total)}%`;
    setText(this.count, `${verdict.causes.length} of ${total} tokens tried`);
    this.label(this.seen, this.rows.seen, UPPER, 'without');
    this.pass.hidden = !verdict.beside.length;
    this.label(this.beside, this.rows.beside, 2, 'with');
    this.label(this.hidden, this.rows.hidden, 2, 'with');
    this.none.hidden = this.rows.hidden.length > 0;
    const hand = lane.frames[verdict.step].hidden;
    setText(this.how, hand?.check === verdict.position ? 'Hidden by the mask, or by hand' : 'Hidden by the mask');
    put(
      this.none,
      rich(
        hand?.check === null
          ? `Nothing by the mask, which showed it every other token decided before this pass; but ${hand.say}.`
          : NOTHING_HIDDEN,
      ),
    );
    this.more.hidden = !this.rows.more.length;
    if (!this.more.hidden) {
      const largest = Math.max(...this.rows.more.map((each) => Math.abs(each[2] - verdict.actual)));
      put(
        this.more,
        h('b', {}, `${this.rows.more.length} more`),
        `each within ${threeShort(largest)} of the actual value`,
        h(
          'button',
          {
            type: 'button',
            class: 'dv-link dv-r',
            onclick: () => {
              this.all = !this.all;
              viewer.redraw();
            },
          },
          this.all ? 'hide' : 'show',
        ),
      );
    }
    this.untried.hidden = !verdict.left || !this.progress.hidden;
    if (!this.untried.hidden) {
      put(
        this.untried,
        h('b', {}, 'Not tried'),
        `${verdict.left} of ${total} tokens${verdict.share == null ? '' : `, ${Math.round(100 * verdict.share)} % of its attention`}`,
        viewer.host.ask
          ? h('button', { type: 'button', class: 'dv-link dv-r', onclick: () => this.find() }, 'go on')
          : null,
      );
    }
    put(this.note, rich(verdict.note));
    if (this.whatIf) this.refill(verdict);
  }

  /** @param {Chart} chart @param {Cause[]} rows @param {number} top @param {string} how */
  label(chart, rows, top, how) {
    rows.forEach(([position, word, p, state, , other], k) => {
      const select = () => {
        const place = chart.places[k];
        if (place !== null && place >= 0) this.viewer.select(place);
      };
      const button = (chart.buttons[k] ??= chart.rows.appendChild(h('button', { type: 'button', onclick: select })));
      chart.places[k] = position;
      button.style.top = `${top + k * ROW}px`;
      const { limits } = this.viewer.lane;
      const name = position === null ? `${word} of them` : this.named(position, word);
      const then = `${other == null ? '' : `${other} would be `}${this.viewer.lane.kind(state).title}`;
      button.setAttribute('aria-label', `${how} ${name}: ${three(p, limits)}, ${then}`);
      button.title = `${name}${(position ?? -1) < 0 ? '' : ': select it'}`;
    });
    chart.buttons.forEach((button, k) => (button.hidden = k >= rows.length));
  }

  /**
   * A token and where it stands.
   * @param {number} position @param {string} word
   */
  named(position, word) {
    return `${word}, ${position < 0 ? `of the prompt (${-position} from its end)` : this.viewer.lane.place(position)}`;
  }

  /** @param {Verdict} verdict */
  refill(verdict) {
    const found = verdict.causes.filter((each) => !each[4]);
    this.whatIf.hidden = !found.length;
    put(
      this.who,
      found
        .slice(0, 100)
        .map(([position, word]) => h('option', { value: position }, this.named(Number(position), word))),
    );
  }

  /** @param {Sheet} canvas */
  svg(canvas) {
    if (!this.verdict) throw new Error(this.lacking ?? 'The causes of this verdict are not known yet; open Causes.');
    this.width ||= 312;
    this.lay(this.verdict);
    this.on(canvas, this.rows.seen, false);
  }

  text() {
    const { verdict } = this;
    return verdict
      ? `Causes of the verdict on position ${verdict.position} at step ${verdict.step}: ${three(verdict.actual, this.viewer.lane.limits)}. ${verdict.note}`
      : (this.lacking ?? 'Causes, not known yet.');
  }
}
