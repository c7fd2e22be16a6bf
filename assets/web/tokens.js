// The panel of tokens: one grid, or one lane per decode with a small map of its own.

import { EVENTS, STATES, badge, h, mark, put, setText } from './dom.js';
import { Grid } from './grid.js';
import { LaneMap, drawAxis } from './score.js';
import { GLOSSARY, rich } from './symbols.js';

export class Tokens {
  constructor(viewer, exports) {
    this.viewer = viewer;
    this.hovered = -1;
    this.grids = [];
    this.maps = [];
    this.title = h('h2', {}, 'Tokens');
    this.sub = h('span', { class: 'dv-sub' });
    this.legend = h('div', { class: 'dv-legend' });
    this.lanes = h('div', { class: 'dv-lanes' });
    this.box = h('section', { class: 'dv-panel dv-p-tokens', 'aria-label': 'tokens' },
      h('div', { class: 'dv-ph' }, this.title, this.sub, this.legend, exports), this.lanes);
  }

  /** New lanes: new grids. */
  rebuild() {
    const { viewer } = this;
    const { lanes } = viewer;
    const many = lanes.length > 1;
    this.grids = lanes.map((lane, n) => new Grid(lane, lanes.length, {
      mono: viewer.theme.mono,
      onSelect: (position) => viewer.select(position, n),
      onHover: (position) => many && this.hover(position),
    }));
    this.align();
    this.maps = [];
    this.passes = [];
    this.rows = [];
    put(this.lanes, many ? [this.laneHead(), lanes.map((lane, n) => this.laneRow(lane, n))] : this.grids[0].box);
    this.lanes.classList.toggle('dv-many', many);
    setText(this.title, many ? `${lanes.length} decodes, one scrubber` : 'Tokens');
    const states = [...new Set(lanes.flatMap((lane) => [...lane.head.states]))];
    const events = EVENTS.filter((event) => (states.includes('C') ? 'pdwra' : 'd').includes(event.letter));
    put(this.legend,
      states.map((state) => h('span', { title: GLOSSARY[state] }, badge(state, true), STATES[state])),
      events.map((event) => h('span', { title: GLOSSARY[event.name] }, mark(event, 9), event.name)),
      h('span', { title: GLOSSARY['revoked before'] }, h('span', { class: 'dv-scar dv-static' }, '×1'), 'revoked before'),
      many && h('span', {}, h('i', { class: 'dv-differskey' }), `differs from ${lanes[0].head.name}`));
  }

  laneHead() {
    const { viewer } = this;
    this.axis = h('canvas', { class: 'dv-axis', 'aria-hidden': 'true' });
    this.pass = h('span', {});
    this.diverge = h('button', { type: 'button', class: 'dv-link', onclick: () => viewer.setStep(viewer.divergence) });
    return h('div', { class: 'dv-lane dv-lanehead' },
      h('span', {}, 'decoder'), h('span', {}, this.pass, this.diverge), h('div', { class: 'dv-mapbox' }, this.axis));
  }

  laneRow(lane, n) {
    const { viewer } = this;
    const canvas = h('canvas', { class: 'dv-map', 'aria-hidden': 'true' });
    const map = new LaneMap(canvas);
    const pass = h('span', {});
    const scrub = (event) => {
      const step = map.columns.step(event.clientX - canvas.getBoundingClientRect().left);
      viewer.set({ step, lane: n });
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    canvas.addEventListener('pointermove', (event) => event.buttons && scrub(event));
    const thresholds = lane.head.thresholds.map((threshold) => `${threshold.name} ${threshold.at}`).join(' · ');
    const who = h('button', { type: 'button', class: 'dv-who', onclick: () => viewer.set({ lane: n }) },
      h('b', {}, lane.head.name), h('span', {}, lane.head.rule), h('span', {}, rich(thresholds)), pass);
    const row = h('div', { class: 'dv-lane' }, who, this.grids[n].box, h('div', { class: 'dv-mapbox' }, canvas));
    this.maps.push(map);
    this.passes.push(pass);
    this.rows.push(row);
    return row;
  }

  /** After new steps: chips may have grown, and side by side they stay aligned. */
  grow(n) {
    this.grids[n].grow();
    this.align();
  }

  align() {
    if (this.grids.length > 1) for (const grid of this.grids) grid.grow(this.grids);
  }

  hover(position) {
    if (position === this.hovered) return;
    this.hovered = position;
    this.draw();
  }

  prepare(steps) {
    const { lanes, theme } = this.viewer;
    if (!this.maps.length) return;
    this.mapWidth = this.axis.parentNode.clientWidth || this.maps[0].canvas.parentNode.clientWidth;
    this.steps = steps;
    this.maps.forEach((map, n) => {
      const height = Math.max(40, Math.min(84, lanes[n].length * 5));
      map.prepare(lanes[n], { width: this.mapWidth, height, steps, theme });
    });
  }

  paint() {
    if (!this.maps.length) return;
    const { state, theme, divergence } = this.viewer;
    drawAxis(this.axis, { width: this.mapWidth, steps: this.steps, step: state.step, theme });
    for (const map of this.maps) map.draw(state.step, state.hideLater, divergence);
  }

  draw() {
    const { lanes, lane, state } = this.viewer;
    this.grids.forEach((grid, n) => {
      const frame = grid.lane.at(state.step);
      const mine = n === state.lane;
      const wasMasked = frame.index > 0 && grid.lane.frames[frame.index - 1].states[state.position] === 0;
      const path = mine && frame.mask ? (wasMasked ? 'x' : 's') : null;
      const echoed = mine || lanes.length < 2 ? -1 : this.hovered >= 0 ? this.hovered : state.position;
      const first = n > 0 && grid.lane.length === lanes[0].length ? lanes[0].at(state.step) : null;
      grid.draw(frame, mine ? state.position : -1, echoed, path, first);
    });
    setText(this.sub, counts(lane, lane.at(state.step)));
    if (lanes.length > 1) this.describe();
  }

  describe() {
    const { lanes, state, divergence } = this.viewer;
    const { step, hideLater } = state;
    setText(this.pass, `tokens after pass ${step}`);
    this.diverge.hidden = !divergence || (hideLater && divergence > step);
    setText(this.diverge, `first difference: pass ${divergence}`);
    lanes.forEach((lane, n) => {
      const known = lane.finished ? ` of ${hideLater ? '…' : lane.last}` : '';
      const ended = lane.finished && step >= lane.last;
      setText(this.passes[n], ended ? `finished after ${lane.last} passes` : `pass ${Math.min(step, lane.last)}${known}`);
      this.rows[n].classList.toggle('dv-current', n === state.lane);
    });
  }

  focus(n, position) {
    this.grids[n].focus(position);
  }
}

/** What a step took: time, and the most memory in use until then. */
function cost(took) {
  if (!took || !took[0]) return null;
  const time = `${(took[0] + took[1]).toFixed(took[0] < 10 ? 1 : 0)} ms`;
  return took[2] == null ? time : `${time}, at most ${(took[2] / 1000).toFixed(1)} GB`;
}

function counts(lane, frame) {
  const count = [0, 0, 0];
  for (const i of lane.free) count[frame.states[i]]++;
  const { head } = lane;
  const given = lane.length - lane.free.length;
  const blocks = Math.ceil(lane.length / head.block);
  return [
    frame.index ? `after step ${frame.index}` : 'start',
    blocks > 1 && `block ${Math.floor(frame.block[0] / head.block) + 1} of ${blocks}`,
    `${count[0]} masked`,
    head.states.includes('C') && `${count[1]} candidate`,
    `${count[2]} unmasked`,
    given && `${given} given`,
    cost(frame.took),
  ].filter(Boolean).join(' · ');
}
