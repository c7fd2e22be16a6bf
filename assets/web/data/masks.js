// What is packed in the steps of a trace: masks, and cells of graphs. How they are packed, dard/trace/masks.py says.

import { inflate } from './packed.js';

/** @import { Before, Rows, StepPayload } from './types.js' */
/** @typedef {{ masks: number, graphs: number }} Limits */

/** @param {string} where @param {string} what */
export const broken = (where, what) => new Error(`trace file is broken${where && ` at ${where}`}: ${what}`);

/**
 * What was packed into a part of a file, at most so many bytes.
 * @param {string} text @param {string} where @param {number} most
 */
export async function inflated(text, where, most) {
  const wrong = broken(where, `not the packed ${where} of these steps`);
  try {
    return await inflate(text, 'deflate', most, wrong.message);
  } catch {
    throw wrong;
  }
}

/**
 * Bytes of a row of so many bits.
 * @param {number} size
 */
export const strideOf = (size) => (size + 7) >> 3;

/**
 * Columns and rows that the mask of a block of so many positions can have; the third has a row for what the outside sees.
 * @param {number} count
 */
const shapesOf = (count) => [
  [count, count],
  [2 * count, 2 * count],
  [2 * count, 2 * count + 1],
];

/**
 * Gives every step what is packed in it: `rows` of its mask in the packing order, as { bytes, size, height }, and the `cells`
 * of its graph. A file is read with limits for all of them together.
 * @param {StepPayload[]} steps @param {Limits} [limits]
 */
export async function receive(steps, limits = { masks: Infinity, graphs: Infinity }) {
  let { masks, graphs } = limits;
  for (const step of steps) {
    const {
      block: [start, end],
      mask,
      graph,
    } = step;
    if (mask !== undefined && !step.rows) {
      const shapes = shapesOf(end - start);
      const most = Math.max(...shapes.map(([size, height]) => height * strideOf(size)));
      const bytes = await inflated(mask, 'masks', Math.min(masks, most));
      const [size, height] = shapes.find(([columns, rows]) => rows * strideOf(columns) === bytes.length) ?? [];
      if (!size) throw broken('masks', 'not the packed mask of its step');
      masks -= bytes.length;
      for (let k = strideOf(size); k < bytes.length; k++) bytes[k] ^= bytes[k - strideOf(size)];
      step.rows = { bytes, size, height };
    }
    if (graph?.cells !== undefined && !step.cells) {
      const count = graph.positions.length ** 2;
      step.cells = await inflated(graph.cells, 'graphs', Math.min(graphs, count));
      if (step.cells.length !== count) throw broken('graphs', 'not the packed cells of its graph');
      graphs -= count;
    }
  }
}

/**
 * Which row and column of a mask comes first, second, …, of a block as its pass found it.
 * @param {[number, number]} block @param {Before} before @param {number} size
 */
function packingOrder([start, end], { states, confidence }, size) {
  const count = end - start;
  const order = Array.from({ length: count }, (_, k) => k).sort(
    (a, b) =>
      states[start + a] - states[start + b] || (confidence[start + b] ?? 0) - (confidence[start + a] ?? 0) || a - b,
  );
  return size === count ? order : [...order, ...order.map((k) => k + count)];
}

/**
 * Rows of packed bits in the order of positions. A row equal to the one above is copied.
 * @param {Rows} rows @param {[number, number]} block @param {Before} before
 */
export function inOrder({ bytes, size, height }, block, before) {
  const columns = packingOrder(block, before, size);
  const rows = height > size ? [...columns, size] : columns;
  const stride = strideOf(size);
  const out = new Uint8Array(bytes.length);
  rows.forEach((row, r) => {
    const from = r * stride;
    const to = row * stride;
    let same = r > 0;
    for (let b = 0; same && b < stride; b++) same = bytes[from + b] === bytes[from - stride + b];
    if (same) {
      out.copyWithin(to, rows[r - 1] * stride, rows[r - 1] * stride + stride);
      return;
    }
    columns.forEach((column, c) => {
      if (bytes[from + (c >> 3)] & (128 >> (c & 7))) out[to + (column >> 3)] |= 128 >> (column & 7);
    });
  });
  return out;
}
