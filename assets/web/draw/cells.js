// The cells of a mask: each for itself, as areas for a drawing, or as pixels where there are many; and how much was looked at.

import { pixel, sized } from './dom.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Mask } from './mask.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

export const LEFT = 44; // room for what is written beside the cells
export const UPPER = 34; // and above them

/**
 * Beside large cells in the order of states: every row's state and position, and the columns' positions as far as they have room.
 * @param {Pen} g @param {Mask} mask
 */
export function drawNumbers(g, mask) {
  const { theme, each, size, side, before, frame } = mask;
  const every = each >= 22 ? 1 : 2;
  const position = (/** @type {number} */ k) => frame.block[0] + mask.order[k % size];
  g.font = `11px ${theme.sans}`;
  g.fillStyle = theme.ink2;
  const [[top, left], [bottom, right]] = mask.window();
  g.textAlign = 'right';
  for (let r = top; r < bottom; r++) {
    const y = mask.y(r) + each / 2;
    const text = `${LETTER[before.states[position(r)]]} ${position(r)}`;
    if (y >= UPPER && y <= UPPER + side) g.fillText(text, LEFT - 9, y);
  }
  g.textAlign = 'center';
  for (let c = left; c < right; c++) {
    const x = mask.x(c) + each / 2;
    if (c % every === 0 && x >= LEFT && x <= LEFT + side) g.fillText(String(position(c)), x, UPPER - 13);
  }
}

/**
 * One by one: filled for x, hollow for shadows.
 * @param {Pen} g @param {Mask} mask
 */
export function drawCells(g, mask) {
  const { theme, each, size } = mask;
  const [[top, left], [bottom, right]] = mask.window();
  const inner = each - 1;
  const paints = mask.paints();
  /** @type {[number, number][]} */
  const hidden = [];
  for (let c = left; c < right; c++) {
    const [colour, alpha] = paints[mask.kind(c)];
    const hollow = c >= size;
    g.globalAlpha = hollow ? 0.75 : alpha;
    g.fillStyle = g.strokeStyle = colour;
    g.lineWidth = 1;
    g.beginPath();
    for (let r = top; r < bottom; r++) {
      if (mask.open(r, c)) {
        if (hollow) g.rect(mask.x(c) + 1.5, mask.y(r) + 1.5, Math.max(1, inner - 3), Math.max(1, inner - 3));
        else g.rect(mask.x(c), mask.y(r), inner, inner);
      } else if (mask.depth) {
        const depth = mask.depthAt(r, c);
        if (depth && depth <= mask.layers) hidden.push([r, c]);
      }
    }
    if (hollow) g.stroke();
    else g.fill();
  }
  g.globalAlpha = 1;
  g.fillStyle = theme.demoted;
  const dot = Math.max(2, inner * 0.38);
  for (const [r, c] of hidden) g.fillRect(mask.x(c) + (inner - dot) / 2, mask.y(r) + (inner - dot) / 2, dot, dot);
}

/**
 * Attention: the strength of the ink is the root of the weight; what is blocked stays empty.
 * @param {Pen} g @param {Mask} mask
 */
export function drawLooks(g, mask) {
  const { theme, each } = mask;
  const [[top, left], [bottom, right]] = mask.window();
  const inner = each >= 4 ? each - 1 : each;
  for (let r = top; r < bottom; r++) {
    for (let c = left; c < right; c++) {
      if (!mask.open(r, c)) continue;
      g.globalAlpha = 1;
      if (each >= 4) {
        g.fillStyle = theme.panel;
        g.fillRect(mask.x(c), mask.y(r), inner, inner);
      }
      g.fillStyle = theme.ink;
      g.globalAlpha = Math.sqrt(mask.look(r, c));
      if (g.globalAlpha > 0.01) g.fillRect(mask.x(c), mask.y(r), inner, inner);
    }
  }
  g.globalAlpha = 1;
}

/**
 * One query's row in every layer, under the same columns; the last is the mean.
 * @param {Sheet} canvas @param {Mask} mask @param {number} row @param {ArrayLike<number>[]} stack
 * @param {number} chosen @param {Theme} theme @returns {(y: number) => number}
 */
export function drawStack(canvas, mask, row, stack, chosen, theme) {
  const height = 11;
  const g = sized(canvas, LEFT + mask.side + 6, 4 + stack.length * height);
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  stack.forEach((weights, n) => {
    const y = 2 + n * height;
    const layer = n + 1 < stack.length ? n + 1 : 0;
    mask.weights = weights;
    g.font = `${layer === chosen ? 700 : 400} 11px ${theme.sans}`;
    g.fillStyle = layer === chosen ? theme.ink : theme.ink2;
    g.fillText(layer ? (layer === chosen ? `▸${layer}` : String(layer)) : 'mean', LEFT - 5, y + height / 2);
    g.fillStyle = theme.sunk;
    g.fillRect(LEFT, y, mask.side, height - 2);
    const [[, left], [, right]] = mask.window();
    for (let c = left; c < right; c++) {
      if (!mask.open(row, c)) continue;
      g.fillStyle = theme.ink;
      g.globalAlpha = Math.sqrt(mask.look(row, c));
      g.fillRect(mask.x(c), y, Math.max(1, mask.each - 1), height - 2);
      g.globalAlpha = 1;
    }
    if (layer === chosen) {
      Object.assign(g, { strokeStyle: theme.ink, lineWidth: 1.5 });
      g.strokeRect(LEFT - 1, y - 1, mask.side + 2, height);
    }
  });
  return (y) => Math.max(0, Math.min(stack.length - 1, Math.floor((y - 2) / height)));
}

/**
 * Many cells without pixels: neighbours that look alike are one area.
 * @param {Pen} g @param {Mask} mask
 */
export function drawRuns(g, mask) {
  const { theme, depth, layers } = mask;
  const [[top, left], [bottom, right]] = mask.window();
  /** @param {number} r @param {number} c */
  const reached = (r, c) => depth && !mask.open(r, c) && mask.depthAt(r, c) > 0 && mask.depthAt(r, c) <= layers;
  /** @param {number} c @param {(row: number, column: number) => unknown} inside @returns {[number, number][]} */
  const along = (c, inside) => {
    /** @type {[number, number][]} */
    const found = [];
    for (let r = top, from = top; r < bottom; from = ++r) {
      while (r < bottom && inside(r, c)) r++;
      if (r > from) found.push([from, r]);
    }
    return found;
  };
  /** @param {[string, number]} paint @param {number} c @param {number} end @param {[number, number][]} bars */
  const fill = ([colour, alpha], c, end, bars) => {
    g.globalAlpha = alpha;
    g.fillStyle = colour;
    g.beginPath();
    for (const [from, to] of bars) g.rect(mask.x(c), mask.y(from), (end - c) * mask.each, (to - from) * mask.each);
    g.fill();
  };
  const paints = mask.paints();
  /** @param {number} c @returns {[[string, number], [number, number][], [number, number][]]} */
  const column = (c) => [paints[mask.kind(c)], along(c, (r) => mask.open(r, c)), along(c, reached)];
  for (let c = left, end = c; c < right; c = end) {
    const [paint, visible, deep] = column(c);
    const key = JSON.stringify([paint, visible, deep]);
    for (end = c + 1; end < right && JSON.stringify(column(end)) === key; ) end++;
    fill(paint, c, end, visible);
    fill([theme.demoted, 0.75], c, end, deep);
  }
  g.globalAlpha = 1;
}

/**
 * Many cells: one pixel each, scaled.
 * @param {Pen} g @param {Mask} mask
 */
export function drawPixels(g, mask) {
  const { theme, frame, depth, layers, count } = mask;
  const [[top, left], [bottom, right]] = mask.window();
  const columns = right - left;
  const rows = bottom - top;
  const empty = pixel(theme.sunk);
  const reached = pixel(theme.demoted, 0.75, theme.sunk);
  const paints = mask.paints().map(([name, alpha]) => pixel(name, alpha, theme.sunk));
  const colour = new Int32Array(columns);
  const at = new Int32Array(columns);
  for (let c = 0; c < columns; c++) {
    colour[c] = paints[mask.kind(left + c)];
    at[c] = mask.source(left + c);
  }
  if (mask.small.width !== columns || mask.small.height !== rows) {
    mask.small.width = columns;
    mask.small.height = rows;
    mask.image = null;
  }
  const context = /** @type {Pen} */ (mask.small.getContext('2d'));
  mask.image ??= context.createImageData(columns, rows);
  const out = new Int32Array(mask.image.data.buffer);
  const stride = Lane.stride(frame);
  const bits = mask.bits;
  const shown = new Int32Array(count).fill(-1);
  at.forEach((k, c) => (shown[k] = c));
  /** @param {number} row @param {number} line @param {number} k @param {number} c */
  const paint = (row, line, k, c) => {
    if (bits[row * stride + (k >> 3)] & (128 >> (k & 7))) out[line + c] = colour[c];
    else out[line + c] = depth?.[row * count + k] && depth[row * count + k] <= layers ? reached : empty;
  };
  let above = -1;
  for (let r = 0; r < rows; r++) {
    const row = mask.source(top + r);
    const line = r * columns;
    if (above < 0 || depth) for (let c = 0; c < columns; c++) paint(row, line, at[c], c);
    else {
      // Neighbouring rows see nearly the same: copy the row above, then repaint the bytes in which they differ.
      out.copyWithin(line, line - columns, line);
      for (let byte = 0; byte < stride; byte++) {
        if (bits[row * stride + byte] === bits[above * stride + byte]) continue;
        for (let k = 8 * byte; k < Math.min(count, 8 * byte + 8); k++) if (shown[k] >= 0) paint(row, line, k, shown[k]);
      }
    }
    above = row;
  }
  context.putImageData(mask.image, 0, 0);
  g.imageSmoothingEnabled = mask.each < 1;
  g.imageSmoothingQuality = 'high';
  g.drawImage(mask.small, mask.x(left), mask.y(top), columns * mask.each, rows * mask.each);
}
