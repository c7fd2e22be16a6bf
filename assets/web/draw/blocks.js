// The six blocks of a mask, by the state of who looks, and what of a painted one is wrong.

import { sight } from './sight.js';

/** @import { Frame } from '../data/frame.js' */

export const SIGNS = ['①', '②', '③', '④', '⑤', '⑥'];
/** @type {[path: string, state: string, who: string][]} */
export const BLOCKS = [
  ['x', 'M', 'A blank in x'],
  ['x', 'C', 'A candidate in x'],
  ['x', 'U', 'A trusted word in x'],
  ['s', 'M', 'A blank’s shadow'],
  ['s', 'C', 'A candidate’s shadow'],
  ['s', 'U', 'A trusted word’s shadow'],
];

/**
 * The places of a pass in the order of its blocks: blanks, candidates by falling confidence, trusted words.
 * @param {Frame} frame
 */
export function inBlocks({ block: [start, end], before }) {
  if (!before) return [];
  const { states, confidence } = before;
  return Array.from({ length: end - start }, (_, n) => start + n).sort(
    (a, b) => states[a] - states[b] || (states[a] === 1 ? (confidence[b] ?? 0) - (confidence[a] ?? 0) : 0) || a - b,
  );
}

/**
 * Which cells of a painted row differ from the mask of the trace.
 * @param {Frame} frame @param {string} path @param {number} position @param {ReadonlySet<number>} words those painted as seen
 */
export function wrongIn(frame, path, position, words) {
  const [start] = frame.block;
  return sight(frame, path, position).flatMap(({ word }, j) => (word !== words.has(start + j) ? [start + j] : []));
}
