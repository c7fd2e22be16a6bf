// The panel of causes: what the verdict on the selected token would have been without each token that it saw, as bars from
// the probability it had to the one it would have had; the same as a tint under the tokens. Asked for while the panel is
// in view, batch by batch, and kept with the lane.

import { STATES, choice, h, press, put, segment, setText, sized } from './dom.js';
import { rich } from './symbols.js';
import { LETTER } from './unpack.js';

const LEFT = 106; // of the bars: position and token
const RIGHT = 58; // value and state
const UPPER = 50;
const ROW = 19;
const MOST = 12; // rows at first
const PATIENCE = 250; // ms on one verdict before it is asked for: nobody waits for what is scrubbed over
const BUDGET = 2000; // ms, then the rest waits for "go on"
const CLOSE = 0.05; // to a threshold: then the axis can be a close-up
const FULL = 0.5; // the effect that has the full tint
const NO_MODEL = 'This run is a recording, and there is no model to ask. It was saved without the causes of this verdict.';

const three = (p) => (p >= 0.9995 ? '1.0' : p.toFixed(3).slice(1));
const keyOf = (step, position) => `${step}/${position}`;

/** The heading of two panels that stand in one place: which of them is in view. */
export function sideTabs(viewer) {
  const tab = (side, name, key) => h('button', { type: 'button', role: 'tab', 'data-value': side, onclick: () => viewer.set({ side }) }, h('span', {}, name), h('kbd', {}, key));
  return h('h2', { class: 'dv-sides', role: 'tablist', 'aria-label': 'mask or causes' }, tab('mask', 'Mask', 'm'), tab('causes', 'Causes', 'c'));
}

export function showSide(tabs, side, lane) {
  setText(tabs.firstChild.firstChild, lane.about.graph?.title ?? 'Mask');
  for (const tab of tabs.children) tab.setAttribute('aria-selected', String(tab.dataset.value === side));
}

export class Causes {
  static id = 'causes';

  static title = 'Causes';

  static state = { side: 'mask' };

  static settle(state) {
    state.side = state.side === 'causes' ? 'causes' : 'mask';
  }

  static fits(lane, { state }) {
    return state.side === 'causes';
  }

  static shortcuts = {
    c: (viewer) => viewer.set({ side: 'causes' }),
    m: (viewer) => viewer.set({ side: 'mask' }),
  };

  constructor(viewer) {
    this.viewer = viewer;
    this.refused = new WeakMap(); // of every lane, what could not be had, by verdict
    this.tabs = sideTabs(viewer);
    this.sub = h('span', { class: 'dv-sub dv-r' });
    this.axis = choice('axis', [['whole', '0–1', 'the whole axis'], ['close', 'close', 'where the bars end']], (axis) => {
      this.wide = axis === 'whole';
      viewer.redraw();
    });
    this.what = h('p', { class: 'dv-cwhat' });
    this.done = h('i', {});
    this.count = h('span', {});
    this.progress = h('div', { class: 'dv-cprogress' }, h('div', {}, this.done), this.count,
      h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.stop() }, 'Stop'));
    this.seen = this.chart('without each visible token');
    this.hidden = this.chart('if it had been seen');
    this.more = h('div', { class: 'dv-csec' });
    this.none = h('p', { class: 'dv-cnone' }, 'Nothing: the mask showed it every other decided token.');
    this.untried = h('div', { class: 'dv-csec' });
    this.note = h('p', { class: 'dv-csum', 'aria-live': 'polite' });
    this.message = h('p', { class: 'dv-cmessage' });
    this.body = h('div', { class: 'dv-cbody' }, this.what, this.progress, this.seen.box, this.more,
      h('div', { class: 'dv-csec' }, h('b', {}, 'Hidden by the mask'), 'if it had been seen'), this.hidden.box, this.none,
      this.untried, viewer.host.requestBranch ? this.form() : null, this.note);
    this.box = h('section', { class: 'dv-panel dv-p-causes', 'aria-label': 'causes' },
      h('div', { class: 'dv-ph' }, this.tabs, this.sub, this.axis), this.message, this.body);
  }

  /** Bars on a canvas, and over every row a button. */
  chart(label) {
    const canvas = h('canvas', { 'aria-hidden': 'true' });
    const rows = h('div', { class: 'dv-crows', role: 'group', 'aria-label': label });
    return { canvas, rows, buttons: [], box: h('div', { class: 'dv-cchart' }, canvas, rows) };
  }

  /** "What if" by hiding: the step is made again without a token. */
  form() {
    const { viewer } = this;
    this.who = h('select', { class: 'dv-select', 'aria-label': 'token to hide' });
    this.from = choice('hide it from', [['all', 'all', 'nobody sees it in this pass'], ['check', 'this check', 'only this prediction does not see it']], (from) => press(this.from, (this.hideFrom = from)));
    this.hideFrom = 'all';
    press(this.from, 'all');
    const branch = () => {
      const { step, position, lane } = viewer.state;
      const all = this.hideFrom === 'all';
      viewer.host.requestBranch({ lane, step, position: +this.who.value, hide: this.hideFrom, ...(!all && { check: position }) });
    };
    this.whatIf = h('div', { class: 'dv-whatif' }, 'Hide ', this.who, ' from ', this.from, h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: branch }, 'Branch here'));
    return this.whatIf;
  }

  // What there is to show.

  get key() {
    const { state, lane } = this.viewer;
    return keyOf(lane.at(state.step).index, state.position);
  }

  get verdict() {
    return this.viewer.lane.causes.get(this.key) ?? null;
  }

  /** Why there is nothing, in a sentence; none where it only has to be asked for. */
  get lacking() {
    const { state, lane, host } = this.viewer;
    if (this.verdict) return null;
    const { index } = lane.at(state.step);
    if (!index) return 'No forward pass has run yet: there is no verdict to explain.';
    if (lane.fixed[state.position]) return 'This token is given by the template: there is no verdict on it.';
    return this.refused.get(lane)?.get(this.key) ?? (host.ask ? null : NO_MODEL);
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
    const { viewer, key } = this;
    const { lane } = viewer;
    const [step, position] = key.split('/').map(Number);
    if (this.busy === key || viewer.transport.timer) return;
    this.busy = key;
    this.stopped = false;
    const end = performance.now() + BUDGET;
    const here = () => viewer.lane === lane && this.key === key && !this.box.hidden;
    try {
      for (let left = 1; left && here() && !this.stopped && performance.now() < end;) {
        const reply = await viewer.order('causes', { step, position, tried: lane.causes.get(key)?.causes.length ?? 0 });
        lane.causes.set(key, reply);
        left = reply.left;
        if (here()) viewer.redraw();
      }
    } catch (error) {
      if (!this.refused.has(lane)) this.refused.set(lane, new Map());
      this.refused.get(lane).set(key, String(error?.message || error));
    }
    if (this.busy === key) this.busy = null;
    if (here()) viewer.redraw();
  }

  // Drawing.

  prepare() {
    this.width = this.body.clientWidth || this.message.clientWidth;
  }

  paint() {
    this.tint();
    const { verdict } = this;
    this.body.hidden = !verdict;
    if (!verdict) return;
    this.lay(verdict);
    this.on(this.seen.canvas, this.rows.seen, false);
    this.on(this.hidden.canvas, this.rows.hidden, true);
  }

  /** Which rows, and on which part of the axis. */
  lay(verdict) {
    const [hidden, seen] = [verdict.causes.filter((each) => each[4]), verdict.causes.filter((each) => !each[4])];
    this.rows = { seen: seen.slice(0, this.all ? undefined : MOST), hidden: hidden.slice(0, MOST), more: seen.slice(MOST) };
    this.span = this.wide ? [0, 1] : this.closeUp(verdict, seen) ?? [0, 1];
  }

  /** The thresholds that concern this verdict. */
  thresholds(verdict) {
    return this.viewer.lane.about.thresholds.filter((each) => !each.on || each.on === verdict.path).sort((a, b) => a.at - b.at);
  }

  /** The part of the axis where all bars of visible tokens end, if that is near a threshold. */
  closeUp(verdict, seen) {
    const values = [verdict.actual, ...seen.map((each) => each[2])];
    const near = this.thresholds(verdict).filter(({ at }) => values.every((p) => Math.abs(p - at) <= CLOSE));
    if (!near.length || values.length < 2) return null;
    const all = [...values, ...near.map(({ at }) => at)];
    return [Math.max(0, Math.min(...all) - 0.03), Math.min(1, Math.max(...all) + 0.03)];
  }

  on(canvas, rows, hidden) {
    const { width, verdict, span: [low, high], viewer: { theme } } = this;
    const top = hidden ? 2 : UPPER;
    const height = top + rows.length * ROW + 3;
    const room = width - LEFT - RIGHT;
    const x = (p) => LEFT + ((Math.max(low, Math.min(high, p)) - low) / (high - low)) * room;
    const g = sized(canvas, width, rows.length || !hidden ? height : 1);
    if (hidden && !rows.length) return;
    g.textBaseline = 'middle';
    const text = (what, at, y, align, font, colour) => {
      Object.assign(g, { textAlign: align, font, fillStyle: colour });
      g.fillText(what, at, y);
    };
    const small = `11px ${theme.sans}`;
    const thresholds = this.thresholds(verdict);
    const zones = thresholds.filter((each) => each.enters);
    [{ enters: 'M', at: low }, ...zones].forEach(({ enters, at }, n) => {
      const to = zones[n]?.at ?? high;
      if (!zones.length || to <= low || at >= high) return;
      g.fillStyle = enters === 'M' ? theme.sunk : theme[`${enters}-rest`];
      g.fillRect(x(at), top - 1, x(to) - x(at), height - top);
      if (!hidden) shape(g, enters, (x(at) + x(to)) / 2, 8, 6, theme, true);
    });
    if (!hidden) {
      text('without', LEFT - 6, top - 9, 'right', small, theme.ink2);
      text('would be', width, top - 9, 'right', small, theme.ink2);
    }
    thresholds.forEach(({ at, symbol }, n) => {
      if (at <= low || at >= high) return;
      g.strokeStyle = theme.ink3;
      g.lineWidth = 1;
      g.setLineDash([2.5, 2.5]);
      segment(g, x(at), top - (hidden ? 1 : 32), x(at), height);
      g.setLineDash([]);
      const first = n === 0 && thresholds.length > 1;
      if (!hidden) text(symbol.replace('_', ''), x(at) + (first ? -3 : 3), top - 24, first ? 'right' : 'left', small, theme.ink2);
    });
    rows.forEach((row, k) => this.row(g, row, top + k * ROW + ROW / 2 - 1, x, text, hidden));
    const at = x(verdict.actual);
    g.strokeStyle = theme.ink;
    g.lineWidth = 2;
    segment(g, at, top - (hidden ? 2 : 8), at, height);
    if (hidden) return;
    g.fillStyle = theme.ink;
    triangle(g, at, top - 6, 4);
    const left = verdict.actual < low + 0.35 * (high - low);
    const words = `actual ${three(verdict.actual)}`;
    g.font = `650 11px ${theme.sans}`;
    const wide = g.measureText(words).width;
    g.fillStyle = theme.panel; // a threshold's line must not cross it
    g.fillRect(left ? at + 6 : at - 10 - wide, top - 16, wide + 4, 11);
    text(words, at + (left ? 8 : -8), top - 10, left ? 'left' : 'right', g.font, theme.ink);
  }

  row(g, [position, word, p, state], y, x, text, hidden) {
    const { width, verdict, span: [low, high], viewer: { theme } } = this;
    const changed = state !== verdict.state;
    const [from, to] = [x(verdict.actual), x(p)];
    if (changed) {
      g.fillStyle = theme.sunk;
      g.fillRect(0, y - ROW / 2, LEFT - 2, ROW);
      g.fillRect(width - RIGHT + 4, y - ROW / 2, RIGHT - 4, ROW);
    }
    const name = word.length > 10 ? `${word.slice(0, 9)}…` : word;
    text(position < 0 ? 'prompt' : String(position), position < 0 ? 34 : 18, y, 'right', `9.5px ${theme.sans}`, theme.ink2);
    text(name, LEFT - 6, y, 'right', `${changed ? 700 : 400} 12px ${theme.mono}`, changed ? theme.ink : theme.ink2);
    const far = Math.abs(to - from);
    const thick = changed || hidden ? 7 : 5;
    if (hidden) {
      g.strokeStyle = theme.ink;
      g.lineWidth = 1.4;
      g.setLineDash([3, 2]);
      g.strokeRect(Math.min(from, to), y - 3.5, Math.max(1, far), 7);
      g.setLineDash([]);
    } else {
      g.fillStyle = changed ? theme.ink : theme.dim;
      g.fillRect(Math.min(from, to), y - thick / 2, Math.max(1.5, far), thick);
    }
    if (p < low || p > high) {
      g.fillStyle = theme.ink;
      arrow(g, p < low ? LEFT + 1 : width - RIGHT - 1, y, p < low ? 1 : -1);
    } else if (far > 4 || changed) {
      g.globalAlpha = changed ? 1 : 0.6;
      shape(g, state, Math.max(LEFT + 6, Math.min(width - RIGHT - 6, to)), y, 5, theme);
      g.globalAlpha = 1;
    }
    text(three(p), width - 19, y, 'right', `${changed ? 700 : 400} 11px ${theme.sans}`, changed ? theme.ink : theme.ink2);
    if (changed) shape(g, state, width - 7, y, 6, theme, true);
    else text(state, width - 7, y, 'center', `11px ${theme.sans}`, theme.ink2);
  }

  draw() {
    const { viewer, verdict } = this;
    const { lane, state } = viewer;
    showSide(this.tabs, 'causes', lane);
    setText(this.sub, `step ${lane.at(state.step).index} · position ${state.position}`);
    const message = this.lacking ?? (verdict ? '' : this.busy ? 'Hiding one token after the other …' : 'Waiting …');
    this.message.hidden = !message;
    setText(this.message, message);
    this.axis.hidden = !verdict || !this.closeUp(verdict, verdict.causes.filter((each) => !each[4]));
    press(this.axis, this.wide ? 'whole' : 'close');
    if (!verdict) return;
    const drawn = [this.key, verdict.causes.length, this.all, this.busy, this.width].join();
    if (this.drawn === drawn && this.drawnLane === lane) return;
    this.drawn = drawn;
    this.drawnLane = lane;
    const held = lane.frames[verdict.step - 1].states[verdict.position] > 0;
    put(this.what, rich(`Probability of '${verdict.word}' in its ${held ? 'verification' : 'prediction'}, if one visible token is hidden: its id becomes a mask for everyone, all else stays.`));
    const total = verdict.causes.length + verdict.left;
    this.progress.hidden = !(verdict.left && this.busy === this.key);
    this.done.style.width = `${(100 * verdict.causes.length) / Math.max(1, total)}%`;
    setText(this.count, `${verdict.causes.length} of ${total} tokens tried`);
    this.label(this.seen, this.rows.seen, UPPER, 'without');
    this.label(this.hidden, this.rows.hidden, 2, 'with');
    this.none.hidden = this.rows.hidden.length > 0;
    this.more.hidden = !this.rows.more.length;
    if (!this.more.hidden) {
      const largest = Math.max(...this.rows.more.map((each) => Math.abs(each[2] - verdict.actual)));
      put(this.more, h('b', {}, `${this.rows.more.length} more`), `each within ${three(largest)} of the actual value`,
        h('button', { type: 'button', class: 'dv-link dv-r', onclick: () => { this.all = !this.all; viewer.redraw(); } }, this.all ? 'hide' : 'show'));
    }
    this.untried.hidden = !verdict.left || !this.progress.hidden;
    if (!this.untried.hidden) {
      put(this.untried, h('b', {}, 'Not tried'), `${verdict.left} of ${total} tokens${verdict.share == null ? '' : `, ${Math.round(100 * verdict.share)} % of its attention`}`,
        viewer.host.ask ? h('button', { type: 'button', class: 'dv-link dv-r', onclick: () => this.find() }, 'go on') : null);
    }
    put(this.note, rich(verdict.note));
    if (this.whatIf) this.refill(verdict);
  }

  label(chart, rows, top, how) {
    rows.forEach(([position, word, p, state], k) => {
      const button = (chart.buttons[k] ??= chart.rows.appendChild(h('button', { type: 'button', onclick: () => button.place >= 0 && this.viewer.select(button.place) })));
      button.place = position;
      button.style.top = `${top + k * ROW}px`;
      button.setAttribute('aria-label', `${how} ${word}: ${p.toFixed(3)}, ${STATES[state]}`);
      button.title = position < 0 ? `${word}, in the prompt` : `${word}: select it`;
    });
    chart.buttons.forEach((button, k) => (button.hidden = k >= rows.length));
  }

  refill(verdict) {
    const found = verdict.causes.filter((each) => !each[4]);
    this.whatIf.hidden = !found.length;
    put(this.who, found.slice(0, 100).map(([position, word]) => h('option', { value: position }, word)));
  }

  /** What each token did, under it; where one alone decides, an arrow from it. */
  tint() {
    const { viewer } = this;
    const grid = viewer.panels[0].grids?.[viewer.state.lane];
    const verdict = grid && viewer.state.side === 'causes' && !viewer.short ? this.verdict : null;
    const key = verdict ? `${this.key}/${verdict.causes.length}/${viewer.drawnWidth}` : '';
    if (this.tinted?.key === key && (!key || this.tinted.grid === grid)) return;
    for (const node of this.tinted?.nodes ?? []) node.remove();
    this.tinted = { key, grid, nodes: [] };
    if (!verdict) return;
    const chip = (position) => grid.box.querySelector(`[data-position="${position}"]`);
    for (const [position, , p, , hidden] of verdict.causes) {
      if (position < 0 || position === verdict.position) continue;
      const strength = Math.min(1, Math.abs(p - verdict.actual) / FULL);
      const node = h('span', { class: `dv-tint${hidden ? ' dv-hid' : ''}`, style: { opacity: hidden ? 1 : 0.1 + 0.9 * strength } });
      chip(position)?.append(node);
      this.tinted.nodes.push(node);
    }
    const deciding = verdict.causes.filter((each) => !each[4] && each[3] !== verdict.state);
    if (deciding.length === 1 && deciding[0][0] >= 0) this.tie(grid, chip(deciding[0][0]), chip(verdict.position), deciding[0], verdict);
  }

  tie(grid, from, to, [, word, p], verdict) {
    const zoom = grid.box.currentCSSZoom ?? 1;
    const [outer, a, b] = [grid.box, from, to].map((node) => node.getBoundingClientRect());
    if (Math.abs(a.top - b.top) > 2 || from === to) return; // in another row there is no room for it
    const [xa, xb] = [a, b].map((box) => (box.left + box.width / 2 - outer.left) / zoom);
    const y = (b.bottom - outer.top) / zoom;
    const effect = verdict.actual - p;
    const node = h('svg', { class: 'dv-tie', width: 10, height: 10, 'aria-hidden': 'true' },
      h('path', { d: `M${xa} ${y + 8}v7H${xb}v-6`, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6 }),
      h('path', { d: `M${xb - 4} ${y + 11}l4-6 4 6z`, fill: 'currentColor' }),
      h('text', { x: Math.max(xa, xb) + 10, y: y + 19 }, `${word} ${effect > 0 ? 'raises' : 'lowers'} it by ${Math.abs(effect).toFixed(2).slice(1)}`));
    grid.box.append(node);
    this.tinted.nodes.push(node);
  }

  svg(canvas) {
    if (!this.verdict) throw new Error(this.lacking ?? 'The causes of this verdict are not known yet; open Causes.');
    this.width ||= 312;
    this.lay(this.verdict);
    this.on(canvas, this.rows.seen, false);
  }

  text() {
    const { verdict } = this;
    return verdict ? `Causes of the verdict on position ${verdict.position} at step ${verdict.step}: ${three(verdict.actual)}. ${verdict.note}` : this.lacking ?? 'Causes, not known yet.';
  }
}

function triangle(g, x, y, r) {
  g.beginPath();
  g.moveTo(x - r, y - 6);
  g.lineTo(x + r, y - 6);
  g.lineTo(x, y);
  g.closePath();
  g.fill();
}

/** At an edge of the axis, pointing outwards. */
function arrow(g, x, y, inwards) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x + 8 * inwards, y - 5);
  g.lineTo(x + 8 * inwards, y + 5);
  g.closePath();
  g.fill();
}

/** A state's shape, with its letter if there is room for one. */
function shape(g, state, x, y, r, theme, letter) {
  g.beginPath();
  if (state === 'U') g.arc(x, y, r, 0, 7);
  else if (state === 'C') [[0, -1], [1, 0], [0, 1], [-1, 0]].forEach(([dx, dy], k) => g[k ? 'lineTo' : 'moveTo'](x + (r + 1) * dx, y + (r + 1) * dy));
  else g.rect(x - r + 0.5, y - r + 0.5, 2 * r - 1, 2 * r - 1);
  g.closePath();
  g.fillStyle = state === 'M' ? theme.panel : theme[state];
  g.fill();
  if (state === 'M') {
    Object.assign(g, { strokeStyle: theme.M, lineWidth: 1 });
    g.setLineDash([2, 2]);
    g.stroke();
    g.setLineDash([]);
  }
  if (!letter || !LETTER.includes(state)) return;
  Object.assign(g, { fillStyle: state === 'M' ? theme.ink2 : theme[`${state}-on`], font: `600 9px ${theme.sans}`, textAlign: 'center' });
  g.fillText(state, x, y + 0.5);
}
