// The steps of a run, one column each: how wide they are, and their numbers above.

import { sized } from './dom.js';

/** @import { Pen, Sheet, Theme } from './types.js' */

export const TOP = 28; // height of the numbers above the score
export const FADED = [0.34, 0.34, 0.52]; // how much of a state is left of it in a step to come

/**
 * Columns are made in advance, so that a live run does not move them at every step.
 * @param {number} steps @param {boolean} finished
 */
export function capacity(steps, finished) {
  if (finished) return Math.max(1, steps);
  let room = 6;
  while (room < steps) room = room < 16 ? room + 5 : Math.ceil(room * 1.5);
  return room;
}

/**
 * Where the columns are.
 * @typedef {ReturnType<typeof columns>} Columns
 */

/**
 * The columns of a run of `steps` steps on `width` pixels; the start column may be narrower.
 * @param {number} width @param {number} steps @param {number} first
 */
export function columns(width, steps, first) {
  const each = width / (steps + first);
  return {
    each,
    /** @param {number} k */
    x: (k) => (k <= 0 ? 0 : (k - 1 + first) * each),
    /** @param {number} k */
    width: (k) => (k ? each : each * first),
    /** @param {number} x */
    step: (x) => Math.max(0, Math.min(steps, Math.floor(x / each + 1 - first))),
  };
}

/**
 * The numbers above the small maps.
 * @param {Sheet} canvas
 * @param {{ width: number, steps: number, step: number, theme: Theme }} look
 */
export function drawAxis(canvas, { width, steps, step, theme }) {
  const g = sized(canvas, width, 18);
  numbers(g, columns(width - 4, steps, 1), 0, steps, step, theme, () => theme.ink2);
}

/**
 * Their numbers, from `from` on; `colour` says in which colour.
 * @param {Pen} g @param {Columns} cols @param {number} left @param {number} steps @param {number} now
 * @param {Theme} theme @param {(step: number) => string} colour
 */
export function numbers(g, cols, left, steps, now, theme, colour, from = 0) {
  g.textBaseline = 'middle';
  g.textAlign = 'center';
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024].find((n) => n * cols.each >= 22) || 4096;
  for (let k = 0; k <= steps; k++) {
    const x = left + cols.x(k) + cols.width(k) / 2;
    if (k === now) {
      const half = (k || cols.width(0) > 20 ? Math.max(20, Math.min(cols.each - 4, 26)) : 16) / 2;
      g.fillStyle = theme.ink;
      g.beginPath();
      g.roundRect(x - half, 1, 2 * half, 16, 4);
      g.fill();
      g.fillStyle = theme.panel;
      g.font = `600 11px ${theme.sans}`;
      g.fillText(String(from + k), x, 9.5);
    } else if ((from + k) % every === 0 && Math.abs(k - now) * cols.each > (from + k > 99 ? 27 : 16)) {
      g.font = `11px ${theme.sans}`;
      g.fillStyle = colour(k);
      g.fillText(String(from + k), x, 9.5);
    }
  }
}
