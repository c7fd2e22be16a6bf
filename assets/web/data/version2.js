// Trace files of version 2, which 0.2 wrote: all masks were one packed text, and so were the cells of all graphs; see
// dard/trace/version2.py.

import { STATES } from './events.js';
import { broken, inflated, strideOf } from './masks.js';

/** @import { StateKind } from './schema.js' */
/** @import { StepPayload } from './types.js' */
/** @typedef {{ masks: number, graphs: number, graph: number }} Limits */

/**
 * Of the states of masked decoding such a file had the letters.
 * @param {{ states?: unknown }} about
 */
export function declareStates(about) {
  const letters = about.states ?? 'MU';
  if (typeof letters !== 'string' || !/^M?C?U?$/.test(letters) || letters.endsWith('\n'))
    throw broken('about.states', 'it is none of the letters M, C and U');
  about.states = /** @type {StateKind[]} */ (STATES.filter(({ letter }) => letter !== 'C' || letters.includes('C')));
}

/**
 * Gives the steps what is packed in such a file.
 * @param {StepPayload[]} steps @param {string} masks @param {string | undefined} graphs @param {Limits} limits
 */
export async function fromVersion2(steps, masks, graphs, limits) {
  if (steps.some((step) => 'mask' in step || 'cells' in (step.graph ?? {})))
    throw broken('', 'it has fields that are not known');
  await giveMasks(steps, masks, limits);
  if (graphs !== undefined) await giveCells(steps, graphs, limits);
}

/** @param {number} size */
const bytesOf = (size) => [(size * size + 7) >> 3, strideOf(size)];

/** @param {StepPayload[]} steps @param {string} masks @param {Limits} limits */
async function giveMasks(steps, masks, limits) {
  const counts = steps.map(({ block: [start, end] }) => end - start);
  const most = counts.reduce((sum, count) => bytesOf(2 * count).reduce((a, b) => a + b, sum + 1), 0);
  const data = await inflated(masks, 'masks', Math.min(most, limits.masks));
  let at = 0;
  let previous = new Uint8Array();
  steps.forEach((step, k) => {
    const flags = data[at] ?? 255;
    const size = (flags === 5 ? 1 : 2) * counts[k];
    const [inside, outside] = bytesOf(size);
    const middle = at + 1 + inside * (flags & 1);
    const end = middle + outside * ((flags >> 1) & 1);
    if (![0, 1, 2, 3, 5].includes(flags) || end > data.length) throw broken('masks', 'it ends before the last step');
    if (flags & 1) {
      const bits = data.subarray(at + 1, middle);
      if (bits.length === previous.length) for (let b = 0; b < inside; b++) bits[b] ^= previous[b];
      previous = bits;
      step.rows = {
        bytes: withRow(bits, data.subarray(middle, end), size),
        size,
        height: size + (end > middle ? 1 : 0),
        inOrder: true,
      };
    }
    at = end;
  });
  if (at !== data.length) throw broken('masks', 'it goes on after the last step');
}

/**
 * A mask's bits as rows of whole bytes, and one more row.
 * @param {Uint8Array} bits @param {Uint8Array} last @param {number} size
 */
function withRow(bits, last, size) {
  const stride = strideOf(size);
  const out = new Uint8Array(size * stride + last.length);
  if (size % 8 === 0) out.set(bits);
  else {
    for (let cell = 0; cell < size * size; cell++) {
      const column = cell % size;
      if (bits[cell >> 3] & (128 >> (cell & 7)))
        out[((cell - column) / size) * stride + (column >> 3)] |= 128 >> (column & 7);
    }
  }
  out.set(last, size * stride);
  return out;
}

/** @param {StepPayload[]} steps @param {string} graphs @param {Limits} limits */
async function giveCells(steps, graphs, limits) {
  const sizes = steps.map((step) => step.graph?.positions.length ?? 0);
  const most = sizes.reduce((sum, size) => sum + (size <= limits.graph ? size * size : 0), 0);
  const data = await inflated(graphs, 'graphs', steps.length + Math.min(most, limits.graphs));
  let at = 0;
  steps.forEach((step, k) => {
    const kept = data[at];
    at += 1;
    if (kept === 1 && step.graph && sizes[k] <= limits.graph && at + sizes[k] ** 2 <= data.length) {
      step.cells = data.subarray(at, at + sizes[k] ** 2);
      at += sizes[k] ** 2;
    } else if (kept !== 0) throw broken('graphs', 'not the packed graphs of these steps');
  });
  if (at !== data.length) throw broken('graphs', 'not the packed graphs of these steps');
}
