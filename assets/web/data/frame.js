// One step of a lane, and what is known of one position at it. What takes a while to unpack or to find out is made when it is
// looked at.

import { EVENTS } from './events.js';
import { inOrder, strideOf } from './masks.js';
import { contaminations, reachDepth } from './reach.js';
import { clean, sentence } from './texts.js';

/** @import { Graph, Look, StateKind, Step, Top } from './schema.js' */
/** @import { Hidden, Right, Rows, StepPayload, Tag } from './types.js' */
/** @import { Lane } from './unpack.js' */

const MASK_BLOCK = 512; // positions of a block whose mask is still drawn; see MAX_MASK_BLOCK in visual/payload.py
const MASKS_KEPT = 96 << 20; // bytes of all masks of a lane
/** @type {Record<string, number>} what a frame has in `states` */
export const CODE = { blank: 0, tentative: 1, decided: 2 };
/** @type {Look} */
const BARE = { marks: [], say: '', lines: [] };

/**
 * The likeliest tokens at a position, [id, ten-thousandths, …].
 * @param {Top} table @param {number} position @param {(p: number) => boolean} [wanted]
 */
export function guesses({ positions, k, ids, p }, position, wanted = () => true) {
  const at = positions.indexOf(position) * k;
  return ids.slice(at, at + k).flatMap((id, n) => (wanted(p[at + n]) ? [id, p[at + n]] : []));
}

/**
 * How often it happened to each position.
 * @param {Uint8Array | undefined} before @param {number} length @param {number[]} [positions]
 */
function counted(before, length, positions = []) {
  const counts = before?.slice() ?? new Uint8Array(length);
  for (const i of positions) counts[i] = Math.min(255, counts[i] + 1);
  return counts;
}

/**
 * What happened in a step, where nothing was told beside it: in a file of version 2.
 * @param {Lane} lane @param {StepPayload} step
 */
function told(lane, { index, events }) {
  const parts = Object.entries(events ?? {})
    .filter(([, positions]) => positions.length)
    .map(
      ([name, { length }]) => `${lane.about.events[name]?.title ?? name}: ${length} position${length === 1 ? '' : 's'}`,
    );
  return `Step ${index}. ${parts.join('; ') || 'Nothing changed'}.`;
}

/**
 * The sentence about the moment before the first step.
 * @param {string} states @param {number} given @param {StateKind | undefined} blank
 */
export function startOf(states, given, blank) {
  const masked = [...states].filter((state) => state === blank?.letter).length;
  return `Start. ${masked} position${masked === 1 ? ' is' : 's are'} ${blank?.title}${given ? `, ${given} ${given === 1 ? 'is' : 'are'} given by the template` : ''}.`;
}

/** One step, as panels draw it. */
export class Frame {
  /** @type {Lane} */ lane;
  /** @type {Frame | undefined} */ before;
  /** @type {StepPayload} */ step;
  /** @type {number} */ index;
  /** @type {[number, number]} */ block;
  /** @type {Int32Array} */ tokens;
  /** @type {Uint8Array} 0 blank, 1 tentative, 2 decided */ states;
  /** @type {Uint8Array} which of the lane's kinds */ kinds;
  /** @type {Uint8Array} 1 where a token is not there yet: it would be written there now */ drafted;
  /** @type {(number | null)[]} */ confidence;
  /** @type {Record<string, (number | null)[]>} */ columns;
  /** @type {Record<string, number[]>} */ events;
  /** @type {Uint8Array} how often, up to this step */ revoked;
  /** @type {Uint8Array} */ replaced;
  /** @type {Int32Array} the token that was last taken away, or -1 */ ghost;
  /** @type {Uint8Array} bits of events.js */ marks;
  /** @type {Tag[]} */ tags = [];
  /** @type {Record<number, number[]>} */ soft = {};
  /** @type {Graph | null} */ graph;
  /** @type {Uint8Array | undefined} */ cells;
  /** @type {Slice[]} by position, where one is known */ slices = [];
  /** @type {string} */ say;
  /** @type {string} for a newcomer; empty where the file has none */ plainly;
  /** @type {Record<string, string>} */ notes;
  /** @type {[forward: number, other: number, megabytes: number | null]} */ took;
  /** @type {Hidden | null} what this pass was kept from seeing */ hidden;
  /** @type {boolean} */ revokes;
  /** @type {Right} */ right;
  /** @type {Look | null} */ look;
  /** @type {boolean} */ finished;
  /** @type {Rows | null} */ drawn;
  /** @type {Uint8Array | undefined} */ unpacked;
  /** @type {Uint8Array | undefined} */ reached;
  /** @type {Map<number, { layers: number, candidates: number[] }> | undefined} */ hearing;
  /** Whether the cells of its graph are on their way. */
  asking = false;

  /** @param {Lane} lane @param {StepPayload} step @param {Frame} [before] */
  constructor(lane, step, before) {
    const { index, block, columns, events = {}, drafts = {}, graph = null, cells, soft, hidden, rows } = step;
    const { length } = lane;
    const annotation = step.annotation ?? {};
    Object.assign(this, { lane, before, step, index, block, columns, events, graph, cells });
    this.kinds = Uint8Array.from(step.states, (letter) => lane.letters.get(letter) ?? 0);
    this.states = this.kinds.map((kind) => CODE[lane.kinds[kind].role]);
    this.drafted = this.states.map((_, i) => Number(Object.hasOwn(drafts, i)));
    const nothing = lane.head.mask ?? -1; // noise is never read
    this.tokens = Int32Array.from(step.tokens, (token, i) =>
      this.drafted[i] ? drafts[i] : this.states[i] ? token : nothing,
    );
    this.confidence = columns.confidence;
    this.revoked = counted(before?.revoked, length, events.demoted);
    this.replaced = counted(before?.replaced, length, events.replaced);
    this.ghost = before?.ghost.slice() ?? new Int32Array(length).fill(-1);
    if (before) for (const i of events.demoted ?? []) this.ghost[i] = before.tokens[i];
    this.marks = new Uint8Array(length);
    for (const { key, bit } of EVENTS) for (const i of events[key] ?? []) this.marks[i] |= bit;
    if (soft) for (const i of soft.positions) this.soft[i] = guesses(soft, i, (p) => p > 0);
    this.say = sentence(annotation.say ?? told(lane, step));
    this.plainly = sentence(annotation.plainly ?? '');
    this.notes = clean(step.notes ?? {});
    const megabytes = step.peak_bytes == null ? null : Math.round(step.peak_bytes / 1e6);
    this.took = [1000 * (step.forward_seconds ?? 0), 1000 * (step.other_seconds ?? 0), megabytes];
    this.finished = this.states.every((state) => state === CODE.decided) && !step.goes_on;
    this.right = annotation.right ?? null;
    this.look = lane.board && (clean(annotation.look) ?? BARE);
    const kept = sentence(annotation.hidden ?? 'a token was hidden by hand');
    this.hidden = hidden ? { position: hidden[0], check: hidden[1], say: kept } : null;
    this.revokes = !!events.demoted;
    if (rows) lane.kept += rows.bytes.length;
    this.drawn = rows && block[1] - block[0] <= MASK_BLOCK && lane.kept <= MASKS_KEPT ? rows : null;
    this.tag();
  }

  /** The decoder's own events that have a sign, and the number that belongs to it. */
  tag() {
    const { about } = this.lane;
    for (const [name, event] of Object.entries(about.events)) {
      if (!event.mark) continue;
      const symbol = about.columns.find((column) => column.name === event.value)?.symbol;
      for (const i of this.events[name] ?? [])
        this.tags[i] = { ...event, symbol, number: this.columns[event.value]?.[i] ?? null };
    }
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
    const [was, is] = [frame.before ?? frame, frame].map((moment) => frame.lane.state(moment, i).title);
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
    return `Traces of ${what}${more}, hidden from this check, can still arrive through another word, after ${layers} layer${layers === 1 ? '' : 's'} (contaminated).`;
  }
}
