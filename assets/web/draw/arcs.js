// Arcs over the tokens: from each one that had to wait to the one it waits for, where all tokens stand in one row. With many
// waiting only the selected one's is drawn.

import { h, put, setText, twoShort } from './dom.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Grid } from './grid.js' */
/** @import { Prose } from './prose.js' */

const HIGH = 44;
const ALL_UP_TO = 24; // waiting positions

export class Arcs {
  /** @type {number[]} where the tokens stand; none where nothing is drawn */ places = [];

  constructor() {
    this.svg = h('svg', { class: 'dv-arcs', height: HIGH, width: '100%', 'aria-hidden': 'true' });
    this.label = h('span', { class: 'dv-arclabel', hidden: true });
    this.box = h('div', { class: 'dv-arcbox', hidden: true }, this.svg, this.label);
  }

  /**
   * Where the tokens stand. Nothing is drawn where they wrap, or where nobody ever waits.
   * @param {Lane} lane @param {Grid | Prose} grid @param {boolean} alone
   */
  prepare(lane, grid, alone) {
    const wanted = alone && !!lane.about.graph && lane.frames.some((frame) => frame.graph);
    this.box.hidden = false;
    const chips = wanted
      ? grid.chips.map(({ button }) => [button.offsetLeft + button.offsetWidth / 2, button.offsetTop])
      : [];
    const left = this.box.offsetLeft;
    this.places = chips.length && chips.every(([, top]) => top === chips[0][1]) ? chips.map(([x]) => x - left) : [];
    this.box.hidden = !this.places.length;
  }

  /** @param {Lane} lane @param {Frame} frame @param {number} selected */
  draw(lane, frame, selected) {
    if (!this.places.length) return;
    const blocked = frame.graph?.blocked || {};
    const waiting = Object.keys(blocked)
      .map(Number)
      .filter((i) => !frame.states[i]);
    const shown = waiting
      .filter((i) => i === selected || waiting.length <= ALL_UP_TO)
      .sort((a, b) => Number(a === selected) - Number(b === selected));
    const holders = new Set(shown.map((i) => blocked[i][0]));
    put(
      this.svg,
      shown.map((i) => this.arc(i, blocked[i][0], i === selected)),
      shown.map((i) => h('rect', { x: this.places[i] - 2.5, y: HIGH - 6, width: 5, height: 5, class: 'dv-arcwait' })),
      [...holders].map((i) => h('circle', { cx: this.places[i], cy: HIGH - 3.5, r: 3, class: 'dv-archold' })),
    );
    this.label.hidden = !shown.includes(selected);
    if (this.label.hidden) return;
    const [by, value] = blocked[selected];
    setText(this.label, `${lane.about.graph?.symbol} ${twoShort(value)}`);
    this.label.style.left = `${(this.places[selected] + this.places[by]) / 2}px`;
    this.label.style.top = `${Math.max(0, HIGH - 4 - this.height(selected, by) - 7)}px`;
  }

  /** @param {number} i @param {number} by */
  height(i, by) {
    return Math.min(HIGH - 10, 8 + Math.abs(this.places[i] - this.places[by]) / 9);
  }

  /** @param {number} i @param {number} by @param {boolean} on */
  arc(i, by, on) {
    const [a, b] = [this.places[i], this.places[by]];
    const top = HIGH - 4 - (4 / 3) * this.height(i, by);
    return h('path', {
      d: `M${a} ${HIGH - 4}C${a} ${top} ${b} ${top} ${b} ${HIGH - 4}`,
      class: on ? 'dv-arc dv-on' : 'dv-arc',
    });
  }
}
