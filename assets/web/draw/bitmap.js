// Positions × steps as pixels, however many of them share one: what is rarer stands over what is common, and nothing over a
// revocation, so that none is lost.

import { FADED } from './axis.js';
import { pixel } from './dom.js';
import { LETTER } from '../data/unpack.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Pen, Theme } from './types.js' */

export const REVOKED = 255;
const AGAIN = 254; // masked since it was revoked
const FIXED = 1;
const LINE = 2; // between blocks
const STATES = 3; // the code of the first kind of state
const APART = 6; // pixels from one line between blocks to the next
const SHADES = 200; // of a weight, from code 1 on

/**
 * Where the rows or columns of a picture begin, in whole pixels; each has at least one.
 * @param {number} count @param {number} size @param {(k: number) => number} at
 */
function cuts(count, size, at) {
  const begins = Int32Array.from({ length: count + 1 }, (_, k) => Math.min(size, Math.max(0, Math.round(at(k)))));
  return Array.from({ length: count }, (_, k) => {
    const from = Math.min(begins[k], size - 1);
    return [from, Math.max(from + 1, begins[k + 1])];
  });
}

/**
 * A code per pixel, row by row: 0 where nothing is, or what stands there. `x` says in pixels where the column of a step begins.
 * @param {Lane} lane @param {number} width @param {number} height @param {(step: number) => number} x
 */
export function shrink(lane, width, height, x) {
  const codes = new Uint8Array(width * height);
  const ranks = new Uint8Array(256).fill(1, FIXED);
  lane.kinds.forEach(({ role }, n) => (ranks[STATES + n] = role === 'tentative' ? 3 : 2));
  ranks[AGAIN] = 4;
  ranks[REVOKED] = 5;
  const rows = cuts(lane.length, height, (i) => (i * height) / lane.length);
  const columns = cuts(lane.frames.length, width, x);
  lane.frames.forEach((frame, k) => {
    const [left, right] = columns[k];
    /** @param {number} i @param {number} code */
    const put = (i, code) => {
      const [top, bottom] = rows[i];
      for (let y = top; y < bottom; y++)
        for (let at = y * width + left; at < y * width + right; at++)
          if (ranks[code] > ranks[codes[at]]) codes[at] = code;
    };
    for (let i = 0; i < lane.length; i++) {
      if (lane.fixed[i]) put(i, FIXED);
      else if (frame.states[i]) put(i, STATES + frame.kinds[i]);
      else if (frame.revoked[i] && !frame.drafted[i]) put(i, AGAIN);
    }
    for (const i of frame.events.demoted ?? []) put(i, REVOKED);
  });
  return codes;
}

/**
 * The same of the mapped column: how large its numbers under a pixel are on average.
 * @param {Lane} lane @param {number} width @param {number} height @param {(step: number) => number} x
 */
export function shades(lane, width, height, x) {
  const { mapped } = lane;
  const [sums, counts] = [new Float32Array(width * height), new Uint16Array(width * height)];
  const rows = cuts(lane.length, height, (i) => (i * height) / lane.length);
  const columns = cuts(lane.frames.length, width, x);
  lane.frames.forEach((frame, k) => {
    for (let i = 0; mapped && frame.columns[mapped.name] && i < lane.length; i++) {
      const share = lane.share(frame, mapped, i);
      if (share === null) continue;
      for (let y = rows[i][0]; y < rows[i][1]; y++)
        for (let at = y * width + columns[k][0]; at < y * width + columns[k][1]; at++) {
          sums[at] += share;
          counts[at] += 1;
        }
    }
  });
  return Uint8Array.from(sums, (sum, at) => (counts[at] ? 1 + Math.round((SHADES * sum) / counts[at]) : 0));
}

/**
 * Colour and strength by code; `faded` for what is to come.
 * @param {Lane} lane @param {Theme} theme @param {boolean} faded @param {boolean} weights @returns {[string, number][]}
 */
function paints(lane, theme, faded, weights) {
  if (weights)
    return Array.from({ length: SHADES + 2 }, (_, n) => [
      theme.ink,
      n && (0.1 + (0.8 * (n - 1)) / SHADES) * (faded ? 0.35 : 1),
    ]);
  /** @type {[string, number][]} */
  const found = Array.from({ length: 256 }, () => [theme.panel, 0]);
  found[FIXED] = [theme.line2, 0.7];
  found[LINE] = [theme.line2, 1];
  lane.kinds.forEach(({ letter }, n) => {
    const look = lane.look(letter);
    found[STATES + n] = [theme[look], (faded ? FADED[LETTER.indexOf(look)] : 1) * lane.strength[n]];
  });
  found[AGAIN] = [theme.scar, faded ? 0.12 : 0.3];
  found[REVOKED] = [theme.scar, faded ? 0.5 : 1];
  return found;
}

/**
 * Revocations grow to marks of some pixels, up and to the left, as far as there are fewer of them than room.
 * @param {Uint8Array} codes @param {number} width @param {number} size
 */
function grow(codes, width, size) {
  const marks = [...codes.keys()].filter((at) => codes[at] === REVOKED);
  if (marks.length * size * size > codes.length / 8) return;
  for (const at of marks)
    for (let dy = 0; dy < size; dy++)
      for (let dx = 0; dx < size; dx++)
        if (at % width >= dx && at - dy * width - dx >= 0) codes[at - dy * width - dx] = REVOKED;
}

/**
 * Lines between blocks that are high enough for them, over everything but what was revoked.
 * @param {Uint8Array} codes @param {Lane} lane @param {number} width @param {number} height
 */
function divide(codes, lane, width, height) {
  if ((lane.head.block * height) / lane.length < APART) return;
  for (let i = 1; i < lane.length; i++) {
    const from = lane.begins(i) ? Math.round((i * height) / lane.length) * width : codes.length;
    for (let at = from; at < from + width && at < codes.length; at++) if (codes[at] < AGAIN) codes[at] = LINE;
  }
}

/**
 * Draws them from a canvas's left edge and `top` on: pixel by pixel, or as areas where lines are kept. `x` says where a column
 * begins, `ratio` how many pixels a length of 1 has.
 * @param {Pen} g @param {Lane} lane
 * @param {{ top?: number, width: number, height: number, x: (step: number) => number, ratio: number, theme: Theme, faded: boolean,
 *   weights?: boolean }} look
 */
export function drawBitmap(g, lane, { top = 0, width, height, x, ratio, theme, faded, weights = false }) {
  const [columns, rows] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  const codes = (weights ? shades : shrink)(lane, columns, rows, (k) => x(k) * ratio);
  if (!weights) grow(codes, columns, Math.round(2 * ratio));
  if (!weights) divide(codes, lane, columns, rows);
  const palette = paints(lane, theme, faded, weights);
  if (!g.vector) {
    const colours = palette.map(([colour, strength]) => strength && pixel(colour, strength, theme.panel));
    const image = g.createImageData(columns, rows);
    const out = new Int32Array(image.data.buffer);
    codes.forEach((code, at) => (out[at] = colours[code]));
    g.putImageData(image, 0, Math.round(top * ratio));
    return;
  }
  for (let y = 0; y < rows; y++)
    for (let from = 0, end = 0; from < columns; from = end) {
      const code = codes[y * columns + from];
      for (end = from + 1; end < columns && codes[y * columns + end] === code; ) end++;
      const [colour, strength] = palette[code];
      if (!strength) continue;
      g.globalAlpha = strength;
      g.fillStyle = colour;
      g.fillRect(from / ratio, top + y / ratio, (end - from) / ratio, 1 / ratio);
    }
  g.globalAlpha = 1;
}
