// One step of a lane, and what is known of one position at it. What takes a while to unpack or to find out is made when it is
// looked at.

import { inOrder, strideOf } from './masks.js';
import { contaminations, reachDepth } from './reach.js';
import { sentence } from './texts.js';

/** @import { Graph, Look, Step, Top } from './schema.js' */
/** @import { Hidden, Right, StepPayload, Tag } from './types.js' */
/** @import { Lane } from './unpack.js' */

const MASK_BLOCK = 512; // positions of a block whose mask is still drawn; see MAX_MASK_BLOCK in visual/payload.py
const MASKS_KEPT = 96 << 20; // bytes of all masks of a lane

/**
 * The likeliest tokens at a position, [id, ten-thousandths, …].
 * @param {Top} table @param {number} position @param {(p: number) => boolean} [wanted]
 */
export function guesses({ positions, k, ids, p }, position, wanted = () => true) {
  const at = positions.indexOf(position) * k;
  return ids.slice(at, at + k).flatMap((id, n) => (wanted(p[at + n]) ? [id, p[at + n]] : []));
}

/** One step, as panels draw it. */
export class Frame {
  /** @type {Lane} */ lane;
  /** @type {Frame | undefined} */ before;
  /** @type {StepPayload} */ step;
  /** @type {number} */ index;
  /** @type {[number, number]} */ block;
  /** @type {Int32Array} */ tokens;
  /** @type {Uint8Array} */ states;
  /** @type {(number | null)[]} */ confidence;
  /** @type {Record<string, (number | null)[]>} */ columns;
  /** @type {Record<string, number[]>} */ events;
  /** @type {Uint8Array} how often, up to this step */ revoked;
  /** @type {Uint8Array} */ replaced;
  /** @type {Int32Array} the token that was last taken away, or -1 */ ghost;
  /** @type {Uint8Array} bits of events.js */ marks;
  /** @type {Tag[]} */ tags;
  /** @type {Record<number, number[]>} */ soft;
  /** @type {Graph | null} */ graph;
  /** @type {Uint8Array | undefined} */ cells;
  /** @type {Slice[]} by position, where one is known */ slices;
  /** @type {string} */ say;
  /** @type {Record<string, string>} */ notes;
  /** @type {[forward: number, other: number, megabytes: number | null] | undefined} */ took;
  /** @type {Hidden | null} what this pass was kept from seeing */ hidden;
  /** @type {boolean} */ revokes;
  /** @type {Right} */ right;
  /** @type {Look | null} */ look;
  /** @type {boolean} */ finished;
  /** @type {Uint8Array | undefined} */ unpacked;
  /** @type {Uint8Array | undefined} */ reached;
  /** @type {Map<number, { layers: number, candidates: number[] }> | undefined} */ hearing;
  /** Whether the cells of its graph are on their way. */
  asking = false;

  /** @param {Partial<Frame>} values */
  constructor(values) {
    Object.assign(this, values);
    const { rows } = this.step;
    if (rows) this.lane.kept += rows.bytes.length;
    this.drawn = rows && this.block[1] - this.block[0] <= MASK_BLOCK && this.lane.kept <= MASKS_KEPT ? rows : null;
  }

  /** Whether the mask is of the block alone, without a shadow. */
  get plain() {
    return this.step.rows?.size === this.block[1] - this.block[0];
  }

  /** The mask's rows of packed bits, in the order of positions, and perhaps one more for what the outside sees. */
  get bits() {
    const { drawn, before } = this;
    if (!drawn || !before) return null;
    this.unpacked ??= drawn.inOrder ? drawn.bytes : inOrder(drawn, this.block, before);
    return this.unpacked;
  }

  get mask() {
    const { bits, drawn } = this;
    return bits && drawn && bits.subarray(0, drawn.size * strideOf(drawn.size));
  }

  /** Bytes [2B × 2B]: 0 where the mask is open or nothing arrives; null without a shadow. */
  get depth() {
    const { bits, drawn, plain } = this;
    if (!bits || !drawn || plain) return null;
    this.reached ??= reachDepth(bits, drawn.size, drawn.height, this.lane.head.layers);
    return this.reached;
  }

  /** The verifications that hidden candidates reach; see reach.js. */
  get heard() {
    const { depth, before } = this;
    this.hearing ??= depth && before ? contaminations(depth, this.block, before, this.lane.fixed) : new Map();
    return this.hearing;
  }

  /** The same as the fewest layers by position. */
  get contaminated() {
    return Object.fromEntries([...this.heard].map(([position, { layers }]) => [position, layers]));
  }
}

/** What the inspector shows of one position at a step. */
export class Slice {
  /**
   * @param {Frame} frame @param {number} position
   * @param {Omit<Partial<Step>, 'cells'> & { cells?: ArrayLike<number> }} step what is known of the position, or of all
   */
  constructor(frame, position, { why, paths, annotation, cells }) {
    this.frame = frame;
    this.position = position;
    this.told = why?.[position] ?? annotation?.why?.[position];
    this.tables = paths ?? {};
    this.row = Array.isArray(cells) ? cells : null;
  }

  /** What happened to it. */
  get sentence() {
    const { frame, position: i, told } = this;
    if (told != null) return sentence(told);
    const [was, is] = [frame.before ?? frame, frame].map(({ states }) => frame.lane.stateName(states[i]));
    return was === is && frame.tokens[i] === frame.before?.tokens[i]
      ? `Nothing changed here in this step: ${is}.`
      : `From ${was} to ${is}; the file has no sentence about it.`;
  }

  /** The likeliest tokens there by path, as [id, ten-thousandths, …]. */
  get paths() {
    const there = Object.entries(this.tables).filter(([, { positions, k }]) => k && positions.includes(this.position));
    return there.length
      ? Object.fromEntries(there.map(([name, table]) => [sentence(name), guesses(table, this.position)]))
      : undefined;
  }

  /** The path that decided. */
  get decider() {
    const { paths } = this;
    return (
      paths &&
      (this.frame.lane.about.paths
        .map((path) => path.name)
        .filter((name) => Object.hasOwn(paths, name))
        .at(-1) ??
        Object.keys(paths).at(-1))
    );
  }

  /** The cells of its row of the graph that the rule looked at, as [position, byte, …]. */
  get looked() {
    const { graph, cells } = this.frame;
    const at = graph?.positions.indexOf(this.position) ?? -1;
    if (!graph || at < 0) return undefined;
    const row = this.row ?? (cells?.length ? cells.subarray(at * graph.positions.length) : null);
    if (!row) return undefined;
    const before = graph.positions
      .slice(0, at)
      .map((i, k) => [i, row[k]])
      .filter(([i]) => !Object.hasOwn(graph.blocked, i));
    return before.length ? before.sort((a, b) => b[1] - a[1]).flat() : undefined;
  }

  /** Candidates that were hidden from its verification and can reach it all the same. */
  get warning() {
    const {
      frame: { lane, before, heard },
      position,
    } = this;
    const found = heard.get(position);
    if (!found || !before) return undefined;
    const { layers, candidates } = found;
    const names = candidates
      .slice(0, 2)
      .filter((j) => j !== position)
      .map((j) => `'${lane.word(before.tokens[j])}'`)
      .join(', ');
    const what = [candidates.includes(position) && 'its own token', names].filter(Boolean).join(' and ');
    const more = candidates.length > 3 ? ` and ${candidates.length - 3} more` : '';
    return `Contaminated: ${what}${more}, hidden from this verification, can reach it through ${layers} layer${layers === 1 ? '' : 's'}.`;
  }
}
