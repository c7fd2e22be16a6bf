// What one query of a pass sees of its block, read from the mask of the trace, and the ways that arcs take to it.

import { Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */

/**
 * What the query of a path at a position sees of each place of its block: the word that stands there, and its blank.
 * @param {Frame} frame @param {string} path @param {number} position @returns {{ word: boolean, blank: boolean }[]}
 */
export function sight(frame, path, position) {
  const [start, end] = frame.block;
  const { mask } = frame;
  const count = end - start;
  if (!mask || frame.plain) return [];
  const row = (position - start + (path === 's' ? count : 0)) * Lane.stride(frame);
  const open = (/** @type {number} */ column) => !!(mask[row + (column >> 3)] & (128 >> (column & 7)));
  return Array.from({ length: count }, (_, j) => ({ word: open(j), blank: open(j + count) }));
}

/** @typedef {[x: number, y: number]} Point */
/** @typedef {[Point, Point, Point, Point]} Curve */

/**
 * A curve from one place to another; between places of one row it bows away from that row.
 * @param {Point} from @param {Point} to @param {boolean} upright rows stand side by side @param {number} [bow] @returns {Curve}
 */
export function curve(from, to, upright, bow = 0) {
  const [axis, along] = upright ? [0, 1] : [1, 0];
  const bend = (/** @type {Point} */ point, /** @type {number} */ by) =>
    /** @type {Point} */ (point.map((at, n) => (n === axis ? at + by : at)));
  const gap = to[axis] - from[axis];
  if (bow) {
    const deep = bow * Math.min(1, 0.35 + Math.abs(to[along] - from[along]) / 900);
    return [from, bend(from, deep), bend(to, deep), to];
  }
  return [from, bend(from, gap * 0.55), bend(to, -gap * 0.55), to];
}

/** The part of a curve up to a share of it, and the rest. @param {Curve} curve @param {number} share @returns {[Curve, Curve]} */
export function split([a, b, c, d], share) {
  const mid = (/** @type {Point} */ p, /** @type {Point} */ q) =>
    /** @type {Point} */ ([p[0] + (q[0] - p[0]) * share, p[1] + (q[1] - p[1]) * share]);
  const [ab, bc, cd] = [mid(a, b), mid(b, c), mid(c, d)];
  const [abc, bcd] = [mid(ab, bc), mid(bc, cd)];
  const at = mid(abc, bcd);
  return [
    [a, ab, abc, at],
    [at, bcd, cd, d],
  ];
}

/** @param {Curve} curve */
export const drawn = ([a, b, c, d]) =>
  `M${a.map(tenth)}C${[b, c, d].map((point) => point.map(tenth).join(' ')).join(' ')}`;

const tenth = (/** @type {number} */ x) => Math.round(10 * x) / 10;
