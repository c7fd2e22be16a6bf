// A part of a lane as a lane of its own: some of its positions, and some of its steps.

/** @import { Frame } from './frame.js' */
/** @import { Lane } from './unpack.js' */

/**
 * `more` is what shall be different about it besides.
 * @param {Lane} lane @param {number[]} places @param {[first: number, last: number]} [steps] @param {Partial<Lane>} [more]
 * @returns {Lane}
 */
export function part(lane, places, [first, last] = [0, lane.last], more = {}) {
  /** @template T @param {ArrayLike<T> | Record<number, T>} row @returns {T[]} */
  const pick = (row) => places.map((i) => /** @type {ArrayLike<T>} */ (row)[i]);
  /** @param {Frame['columns']} all */
  const columns = (all) => Object.fromEntries(Object.entries(all).map(([name, row]) => [name, pick(row)]));
  const place = new Map(places.map((i, n) => [i, n]));
  /** @param {Frame['events']} all */
  const events = (all) =>
    Object.fromEntries(
      Object.entries(all)
        .map(([name, row]) => /** @type {const} */ ([name, row.flatMap((i) => place.get(i) ?? [])]))
        .filter(([, row]) => row.length),
    );
  const frames = lane.frames.slice(first, last + 1).map((frame) => ({
    ...frame,
    tokens: pick(frame.tokens),
    states: pick(frame.states),
    kinds: pick(frame.kinds),
    drafted: pick(frame.drafted),
    confidence: pick(frame.confidence),
    columns: columns(frame.columns),
    events: events(frame.events),
    revoked: pick(frame.revoked),
    ghost: pick(frame.ghost),
    marks: pick(frame.marks),
    tags: pick(frame.tags),
    soft: pick(frame.soft),
  }));
  return Object.assign(Object.create(lane), {
    positions: places,
    length: places.length,
    fixed: Uint8Array.from(pick(lane.fixed)),
    free: [...places.keys()].filter((n) => !lane.fixed[places[n]]),
    frames,
    begins: (/** @type {number} */ n) => lane.blockOf(places[n]) !== lane.blockOf(places[n - 1]),
    largest: (/** @type {string} */ name) => lane.largest(name),
    ...more,
  });
}
