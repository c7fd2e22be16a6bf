// The small map of a lane that stands beside others.

import { FADED, columns } from './axis.js';
import { drawBitmap } from './bitmap.js';
import { sized } from './dom.js';
import { segment, triangle } from './shapes.js';
import { LETTER } from '../data/unpack.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Sheet, Theme } from './types.js' */
/** @import { Columns } from './axis.js' */

const CELLS = 81; // rows, at most, that are cells; more are pixels

/** The small map of a lane beside others: the same picture without names and lanes, on the same two layers. */
export class LaneMap {
  /** @type {Sheet} */ canvas;
  /** @type {Lane} */ lane;
  /** @type {number} */ width;
  /** @type {number} */ height;
  /** @type {Theme} */ theme;
  /** @type {Columns} */ columns;
  /** @type {number} */ row;
  /** @type {boolean} */ pixels;

  /** @param {Sheet} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.past = document.createElement('canvas');
    this.future = document.createElement('canvas');
  }

  /** @param {Lane} lane @param {{ width: number, height: number, steps: number, theme: Theme }} look */
  prepare(lane, { width, height, steps, theme }) {
    const row = height / lane.length;
    Object.assign(this, { lane, width, height, theme, row, columns: columns(width - 4, steps, 1) });
    this.pixels = lane.length > CELLS;
    this.layer(this.past, false);
    this.layer(this.future, true);
  }

  /** @param {Sheet} canvas @param {boolean} faded */
  layer(canvas, faded) {
    const { lane, theme, columns: cols, row } = this;
    const g = sized(canvas, this.width, this.height);
    if (this.pixels) {
      const ratio = canvas.width / this.width;
      drawBitmap(g, lane, { width: this.width, height: this.height, x: cols.x, ratio, theme, faded });
      if (cols.each < 6) return; // room for signs, which stand over the pixels
    }
    const gap = cols.each > 5 ? 0.7 : 0;
    for (let i = this.pixels ? lane.length : 0; i < lane.length; i++) {
      const y = Math.round(i * row);
      const tall = Math.max(1, Math.round((i + 1) * row) - y - (row > 4 ? 1 : 0));
      if (lane.fixed[i]) {
        g.globalAlpha = 0.5;
        g.fillStyle = theme.line2;
        g.fillRect(0, y + (tall >> 1), cols.x(lane.last + 1), 1);
        continue;
      }
      lane.frames.forEach((frame, k) => {
        const state = frame.states[i];
        if (!state && (!frame.revoked[i] || frame.drafted[i])) return;
        const strength = lane.strength[frame.kinds[i]];
        g.globalAlpha = state ? (faded ? FADED[state] : 1) * strength : faded ? 0.15 : 0.35;
        g.fillStyle = state ? theme[LETTER[state]] : theme.scar;
        g.fillRect(cols.x(k), y, cols.each - gap, tall);
      });
    }
    const half = Math.min(row > 3 ? 4.5 : 3, cols.each / 2);
    g.globalAlpha = faded ? 0.45 : 1;
    g.fillStyle = theme.demoted;
    g.strokeStyle = theme.panel;
    g.lineWidth = 1.5;
    lane.frames.forEach((frame, k) => {
      for (const i of frame.events.demoted || []) {
        triangle(g, cols.x(k) + half, (i + 0.5) * row, half, half * 0.9, 1);
        g.stroke();
        g.fill();
      }
    });
  }

  /** @param {number} step @param {boolean} hideLater @param {number} divergence */
  draw(step, hideLater, divergence) {
    const { lane, theme, columns: cols, width, height } = this;
    const g = sized(this.canvas, width, height);
    const split = Math.min(width, cols.x(step + 1));
    /** @param {Sheet} layer @param {number} from @param {number} to */
    const copy = (layer, from, to) => {
      const ratio = layer.width / width;
      if (to > from) g.drawImage(layer, from * ratio, 0, (to - from) * ratio, layer.height, from, 0, to - from, height);
    };
    copy(this.past, 0, split);
    if (!hideLater) copy(this.future, split, width);
    if (divergence > 0 && !(hideLater && divergence > step)) {
      g.strokeStyle = theme.demoted;
      g.lineWidth = 1.5;
      g.setLineDash([4, 3]);
      segment(g, cols.x(divergence), 0, cols.x(divergence), height);
      g.setLineDash([]);
    }
    g.fillStyle = theme.ink;
    if (lane.finished && !(hideLater && lane.last > step)) g.fillRect(cols.x(lane.last + 1) - 1, 0, 2, height);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    g.strokeRect(cols.x(step) + 0.75, 0.75, Math.max(2, cols.width(step) - 1.5), height - 1.5);
  }
}
