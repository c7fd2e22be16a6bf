// Trace -> lanes of frames. A lane is one trace, a frame one step of it. What arrives is what a trace file holds, from wherever
// it comes: a server, a page that replays it, a file that trace.js has checked. The format is described in dard/trace/trace.py,
// and what a server adds or leaves for later in visual/payload.py. All texts are made fit to be shown here.

import { EVENTS, STATES } from './events.js';
import { Frame, Slice, guesses } from './frame.js';
import { inflated, receive } from './masks.js';
import { bare, clean, rounded, sentence, shown } from './texts.js';

/** @import { Column, Layout, Look, Step, Verdict as Judged } from './schema.js' */
/** @import { Described, Head, Payload, StepPayload, Verdict } from './types.js' */
/** @typedef {Required<Column>} FullColumn */

/** @type {Record<string, number>} */
const CODE = { M: 0, C: 1, U: 2 };
export const LETTER = 'MCU';
const SLICES_AT_ONCE = 64; // region length up to which what is known of every position is at hand without being asked for
/** @type {Look} */
const BARE = { marks: [], say: '', lines: [] };

/**
 * The sentence about the moment before the first step.
 * @param {string} states @param {number} given
 */
function startOf(states, given) {
  const masked = [...states].filter((state) => state === 'M').length;
  return `Start. ${masked} position${masked === 1 ? ' is' : 's are'} masked${given ? `, ${given} ${given === 1 ? 'is' : 'are'} given by the template` : ''}.`;
}

/** One trace as the viewer holds it. */
export class Lane {
  /** @type {Head} */ head;
  /** @type {Described} */ about;
  /** @type {number[]} what confidences are compared with */ limits;
  /** @type {Layout | null} how its first tokens stand in rows */ board;
  /** @type {number[]} */ prompt;
  /** @type {number} */ length;
  /** @type {Map<number, string>} */ words = new Map();
  /** @type {Uint8Array} */ fixed;
  /** @type {number[]} */ free;
  /** @type {number[] | undefined} those of the trace, where only some are shown */ positions;
  /** @type {Frame[]} */ frames = [];
  /** @type {Map<string, Verdict>} */ causes = new Map();
  /** @type {Map<number, ArrayLike<number>[]>} where the queries of a step looked, by step; see maskpanel.js */
  looks = new Map();
  /** @type {Map<string, Promise<unknown>> | undefined} what was asked about it; see causes.js */ answers;
  /** @type {Map<number, number>} */ asked = new Map();
  /** @type {Map<string, [seen: number, peak: number]>} */ peaks = new Map();
  /** @type {Lane | undefined} */ narrowed;
  kept = 0; // bytes of masks

  /** @param {Payload} trace */
  static async open(trace) {
    const lane = new Lane(trace);
    await lane.append(trace.steps);
    for (const verdict of trace.causes ?? []) lane.judge(verdict);
    return lane;
  }

  /** @param {Payload} trace */
  constructor(trace) {
    const { start, steps, settings, block_size: size, prompt_tokens: prompt } = trace;
    this.length = start.tokens.length;
    const about = /** @type {Described} */ (trace.about);
    this.about = clean({
      ...about,
      title: about.title || trace.decoder,
      shadow: about.shadow || steps.some((step) => step.mask !== undefined || step.rows),
    });
    const block = size ?? settings.block_length;
    this.head = {
      name: sentence(trace.name || this.about.title, 120),
      decoder: sentence(trace.decoder),
      model: sentence(trace.model, 120),
      layers: trace.num_layers,
      prompt: sentence(trace.prompt, 4000),
      block:
        typeof block === 'number' && Number.isInteger(block) && block > 0 && block < this.length ? block : this.length,
      lead: size ? prompt.length % size : 0,
      sees: size ?? null,
      mask: trace.mask_id,
      eos: trace.eos_id,
    };
    this.asks = trace.asks ?? false; // what a long region tells of its positions is asked for
    this.limits = this.about.thresholds.map((threshold) => threshold.at).filter((at) => at != null);
    this.board = clean(trace.annotation?.board) ?? null;
    this.prompt = prompt;
    this.learn(trace.token_text);
    this.fixed = Uint8Array.from(trace.fixed);
    this.free = [...this.fixed.keys()].filter((i) => !this.fixed[i]);
    const given = this.length - this.free.length;
    this.push(
      {
        index: 0,
        block: [0, Math.min(this.head.block - this.head.lead, this.length)],
        columns: { confidence: start.confidence },
        events: { edited: start.edited ?? [] },
        ...start,
      },
      { columns: {}, say: startOf(start.states, given) },
    );
    const { columns } = this.about;
    const mirrored = new Set(columns.map((column) => column.mirror));
    this.sides = columns.filter((column) => !mirrored.has(column.name)); // each a lane beside the score
    this.mapped = this.sides.find((column) => column.range) || null; // what the score can show in place of the states
  }

  /**
   * The number of the block of a position; a prompt may have begun the first one.
   * @param {number} i
   */
  blockOf(i) {
    return Math.floor((i + this.head.lead) / this.head.block);
  }

  /** @param {number} i */
  begins(i) {
    return this.blockOf(i) !== this.blockOf(i - 1);
  }

  get last() {
    return this.frames.length - 1;
  }

  get finished() {
    return this.frames[this.last].finished;
  }

  /**
   * The frame at a step; a trace that has ended stays as it ended.
   * @param {number} step
   */
  at(step) {
    return this.frames[Math.min(step, this.last)];
  }

  /** @param {Record<string, string>} [words] */
  learn(words) {
    for (const [id, text] of Object.entries(words ?? {})) this.words.set(+id, shown(text));
  }

  /** @param {number} code */
  stateName(code) {
    return STATES[LETTER[code]];
  }

  /** @param {number} id */
  word(id) {
    return this.words.get(id) ?? `<${id}>`;
  }

  /**
   * Where a position is, in words.
   * @param {number} i
   */
  place(i) {
    const { board } = this;
    return board && i < board.given.length
      ? `row ${Math.floor(i / board.width) + 1}, column ${(i % board.width) + 1}`
      : `position ${i}`;
  }

  /**
   * Whether another lane's frame holds something else at a position: another token, or another text where models differ.
   * @param {Frame} frame @param {number} i @param {Lane} other @param {Frame} there
   */
  differs(frame, i, other, there) {
    if (!frame.states[i] || !there.states[i]) return !frame.states[i] !== !there.states[i];
    if (this.head.model === other.head.model) return frame.tokens[i] !== there.tokens[i];
    return bare(this.word(frame.tokens[i])) !== bare(other.word(there.tokens[i]));
  }

  /**
   * What stands at the free positions of a frame.
   * @param {Frame} frame
   */
  answer(frame) {
    return this.free.map((i) => (frame.states[i] ? this.word(frame.tokens[i]) : '·')).join(' ');
  }

  /**
   * The same trace with its free positions only.
   * @returns {Lane}
   */
  get freeOnly() {
    if (this.narrowed?.frames.length === this.frames.length) return this.narrowed;
    const { free } = this;
    /** @template T @param {ArrayLike<T> | Record<number, T>} row @returns {T[]} */
    const pick = (row) => free.map((i) => /** @type {ArrayLike<T>} */ (row)[i]);
    /** @param {Frame['columns']} all */
    const columns = (all) => Object.fromEntries(Object.entries(all).map(([name, row]) => [name, pick(row)]));
    const frames = this.frames.map((frame) => ({
      ...frame,
      tokens: pick(frame.tokens),
      states: pick(frame.states),
      confidence: pick(frame.confidence),
      columns: columns(frame.columns),
      revoked: pick(frame.revoked),
      ghost: pick(frame.ghost),
      marks: pick(frame.marks),
      soft: pick(frame.soft),
    }));
    const narrowed = Object.assign(Object.create(this), {
      positions: free,
      length: free.length,
      fixed: new Uint8Array(free.length),
      free: free.map((_, n) => n),
      frames,
      sides: [],
      mapped: null,
    });
    this.narrowed = narrowed;
    return narrowed;
  }

  /**
   * A column's number at a position, or null.
   * @param {Frame} frame @param {string} column @param {number} i
   */
  static value(frame, column, i) {
    return frame.columns[column]?.[i] ?? null;
  }

  /**
   * The same as a share of what the column can be; of the largest seen where it has no bound.
   * @param {Frame} frame @param {FullColumn} column @param {number} i
   */
  share(frame, column, i) {
    const value = Lane.value(frame, column.name, i);
    if (value === null) return null;
    const [low, high] = column.range || [0, this.largest(column.name)];
    return Math.max(0, Math.min(1, (value - low) / (high - low)));
  }

  /** @param {string} name */
  largest(name) {
    const [seen, peak] = this.peaks.get(name) || [0, 0];
    if (seen === this.frames.length) return peak || 1;
    const found = Math.max(
      peak,
      ...this.frames.slice(seen).flatMap((frame) => (frame.columns[name] ?? []).map((value) => value ?? 0)),
    );
    this.peaks.set(name, [this.frames.length, found]);
    return found || 1;
  }

  /** @param {StepPayload[]} steps */
  async append(steps) {
    await receive(steps);
    for (const step of steps) {
      if (step.index !== this.frames.length)
        throw new Error(`Step ${step.index} came after step ${this.last}; decode the prompt again.`);
      this.learn(step.words);
      this.push(step);
    }
  }

  /**
   * A step, or the moment before the first one, as a frame.
   * @param {StepPayload} step @param {Partial<Frame>} [more]
   */
  push(step, more) {
    const before = this.frames.at(-1);
    const { events = {} } = step;
    const annotation = step.annotation ?? {};
    /** @param {Uint8Array} counts @param {number[]} [positions] */
    const marked = (counts, positions = []) => {
      for (const i of positions) counts[i] = Math.min(255, counts[i] + 1);
      return counts;
    };
    const frame = new Frame({
      lane: this,
      before,
      step,
      index: step.index,
      block: step.block,
      tokens: Int32Array.from(step.tokens),
      states: Uint8Array.from(step.states, (letter) => CODE[letter]),
      confidence: step.columns.confidence,
      columns: step.columns,
      events,
      revoked: marked(before?.revoked.slice() ?? new Uint8Array(this.length), events.demoted),
      replaced: marked(before?.replaced.slice() ?? new Uint8Array(this.length), events.replaced),
      ghost: before?.ghost.slice() ?? new Int32Array(this.length).fill(-1),
      tags: [],
      soft: {},
      graph: step.graph ?? null,
      cells: step.cells,
      marks: new Uint8Array(this.length),
      slices: [],
      say: sentence(annotation.say ?? this.told(step)),
      notes: clean(step.notes ?? {}),
      took: [
        1000 * (step.forward_seconds ?? 0),
        1000 * (step.other_seconds ?? 0),
        step.peak_bytes == null ? null : Math.round(step.peak_bytes / 1e6),
      ],
      finished: /^U+$/.test(step.states) && !step.goes_on,
      right: annotation.right ?? null,
      look: this.board && (clean(annotation.look) ?? BARE),
      hidden: step.hidden
        ? {
            position: step.hidden[0],
            check: step.hidden[1],
            say: sentence(annotation.hidden ?? 'a token was hidden by hand'),
          }
        : null, // what this pass was kept from seeing
      revokes: !!events.demoted,
      ...more,
    });
    const { soft } = step;
    if (soft) for (const i of soft.positions) frame.soft[i] = guesses(soft, i, (p) => p > 0);
    if (before) for (const i of events.demoted ?? []) frame.ghost[i] = before.tokens[i];
    for (const { key, bit } of EVENTS) for (const i of events[key] ?? []) frame.marks[i] |= bit;
    this.tag(frame);
    this.frames.push(frame);
    if (before && !this.asks && this.length <= SLICES_AT_ONCE)
      for (let i = 0; i < this.length; i++) frame.slices[i] = new Slice(frame, i, step);
  }

  /**
   * What happened in a step, where nothing was told beside it: in a file of version 2.
   * @param {StepPayload} step
   */
  told({ index, events }) {
    const parts = Object.entries(events ?? {})
      .filter(([, positions]) => positions.length)
      .map(
        ([name, { length }]) =>
          `${this.about.events[name]?.title ?? name}: ${length} position${length === 1 ? '' : 's'}`,
      );
    return `Step ${index}. ${parts.join('; ') || 'Nothing changed'}.`;
  }

  /**
   * A verdict and its causes, each [position, word, probability, state, whether the mask hid it].
   * @param {Judged} verdict @param {Record<string, string>} [words] @returns {Verdict}
   */
  judge({ step, position, token, path, state, actual, causes = [], left = [], share = null, annotation }, words) {
    this.learn(words);
    const { tokens } = this.frames[step - 1];
    /** @param {number} place */
    const word = (place) => this.word(place < 0 ? (this.prompt.at(place) ?? -1) : tokens[place]);
    /** @type {Verdict} */
    const verdict = {
      step,
      position,
      word: this.word(token),
      path: sentence(path),
      actual: +rounded(actual, 4),
      state,
      causes: causes.map((each) => [
        each.position,
        word(each.position),
        +rounded(each.without, 4),
        each.state ?? '',
        Number(each.shown ?? false),
      ]),
      left: left.length,
      share,
      because: sentence(annotation?.because ?? ''),
      note: sentence(annotation?.say ?? ''),
    };
    this.causes.set(`${step}/${position}`, verdict);
    return verdict;
  }

  /**
   * The decoder's own events that have a sign, and the number that belongs to it.
   * @param {Frame} frame
   */
  tag(frame) {
    for (const [name, event] of Object.entries(this.about.events)) {
      if (!event.mark) continue;
      const symbol = this.about.columns.find((column) => column.name === event.value)?.symbol;
      for (const i of frame.events[name] || [])
        frame.tags[i] = { ...event, symbol, number: Lane.value(frame, event.value, i) };
    }
  }

  /**
   * Bytes per row of a frame's mask.
   * @param {Frame} frame
   */
  static stride(frame) {
    return ((frame.plain ? 1 : 2) * (frame.block[1] - frame.block[0]) + 7) >> 3;
  }

  /**
   * Whether a token was hidden by hand from what was predicted at a position.
   * @param {Frame} frame @param {number} place @param {number} position
   */
  static hides({ hidden }, place, position) {
    return !!hidden && hidden.position === place && (hidden.check ?? position) === position;
  }

  /**
   * Whether the query at a position, in path 'x' or 's', sees the token at another position.
   * @param {Frame} frame @param {string} path @param {number} i @param {number} j
   */
  static sees(frame, path, i, j) {
    const [start, end] = frame.block;
    if (!frame.mask || i < start || i >= end || j < start || j >= end) return !Lane.hides(frame, j, i);
    const row = i - start + (path === 's' && !frame.plain ? end - start : 0);
    const column = j - start;
    return !!(frame.mask[row * Lane.stride(frame) + (column >> 3)] & (128 >> (column & 7)));
  }

  /**
   * Sees to it that a frame has the cells of its graph, bytes [n × n]; resolves to true if they have just arrived.
   * @param {Frame} frame @param {() => Promise<{ cells: string }>} [fetch]
   */
  async fetchCells(frame, fetch) {
    if (!frame.graph || frame.cells || frame.asking) return false;
    frame.asking = true;
    try {
      const packed = this.asks && (await fetch?.())?.cells;
      frame.cells = packed ? await inflated(packed, 'graphs', frame.graph.positions.length ** 2) : new Uint8Array(0);
    } finally {
      frame.asking = false;
    }
    return true;
  }

  /**
   * Sees to it that every frame has this position's slice; resolves to true if something new arrived.
   * @param {number} position
   * @param {(position: number) => Promise<{ steps: Partial<Step>[], words: Record<string, string> }>} [fetch]
   */
  async fetchHistory(position, fetch) {
    if (!this.frames.some((frame, t) => t && !frame.slices[position])) return false;
    if (this.asks) {
      if (this.asked.get(position) === this.last) return false;
      this.asked.set(position, this.last);
    }
    const history = this.asks
      ? await fetch?.(position)
      : { steps: this.frames.slice(1).map((frame) => frame.step), words: undefined };
    if (!history?.steps) {
      this.asked.delete(position);
      return false;
    }
    this.learn(history.words);
    history.steps.forEach((step, k) => {
      const frame = this.frames[k + 1];
      if (frame) frame.slices[position] = new Slice(frame, position, step);
    });
    return true;
  }
}
