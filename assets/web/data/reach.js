// What reaches what through several layers although the mask of a single one hides it: the closure that dard/analysis/reach.py
// has for Python. A layer lets a query look at its visible keys and keep what it had.

import { strideOf } from './masks.js';

/** @import { Before } from './types.js' */

/**
 * The smallest number of layers after which a key reaches a query, bytes [size × size]; 0 where the mask is open, or so many
 * layers do not suffice. `bits` are the mask's rows, perhaps with one for everything outside: a node that every query sees.
 * @param {Uint8Array} bits @param {number} size @param {number} height @param {number} layers
 */
export function reachDepth(bits, size, height, layers) {
  const stride = strideOf(size);
  const words = (height + 31) >> 5;
  /** @param {number} row @param {number} column */
  const open = (row, column) => bits[row * stride + (column >> 3)] & (128 >> (column & 7));
  const seen = Array.from({ length: height }, (_, row) => {
    const keys = [];
    for (let column = 0; column < size; column++) if (column === row || open(row, column)) keys.push(column);
    if (height > size) keys.push(size);
    return keys;
  });
  const depth = new Uint8Array(size * size);
  for (let row = 0; row < size; row++) if (!open(row, row)) depth[row * size + row] = 1;
  let reached = seen.map((keys) =>
    keys.reduce((set, key) => {
      set[key >> 5] |= 1 << (key & 31);
      return set;
    }, new Uint32Array(words)),
  );
  for (let layer = 2, more = true; more && layer <= layers; layer++) {
    more = false;
    reached = seen.map((keys, row) => {
      const set = new Uint32Array(words);
      for (const key of keys) for (let w = 0; w < words; w++) set[w] |= reached[key][w];
      for (let w = 0; w < words; w++) {
        for (let fresh = set[w] & ~reached[row][w]; fresh; fresh &= fresh - 1) {
          const column = 32 * w + 31 - Math.clz32(fresh & -fresh);
          if (row < size && column < size) depth[row * size + column] = layer;
          more = true;
        }
      }
      return set;
    });
  }
  return depth;
}

/**
 * The verifications of a step that hidden candidates reach, by position: the fewest layers, and the candidates, the nearest
 * first. A verification is read from the shadow of a position that held a token and was not given.
 * @param {Uint8Array} depth @param {[number, number]} block @param {Before} before @param {Uint8Array} fixed
 */
export function contaminations(depth, [start, end], { states }, fixed) {
  const count = end - start;
  const found = new Map();
  for (let i = 0; i < count; i++) {
    if (!states[start + i] || fixed[start + i]) continue;
    /** @param {number} j */
    const layers = (j) => (states[start + j] === 1 ? depth[(count + i) * 2 * count + j] : 0);
    const heard = Array.from({ length: count }, (_, j) => j)
      .filter(layers)
      .sort((a, b) => layers(a) - layers(b) || a - b);
    if (heard.length) found.set(start + i, { layers: layers(heard[0]), candidates: heard.map((j) => start + j) });
  }
  return found;
}
