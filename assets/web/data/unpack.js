// Trace -> lanes of frames. A lane is one trace, a frame one step of it. What arrives is what a trace file holds, from wherever
// it comes: a server, a page that replays it, a file that trace.js has checked. The format is described in dard/trace/trace.py,
// and what a server adds or leaves for later in visual/payload.py. All texts are made fit to be shown here.

import { STATES } from './events.js';
import { CODE, Frame, Slice, startOf } from './frame.js';
import { inflated, receive } from './masks.js';
import { part } from './part.js';
import { bare, clean, rounded, sentence, shown } from './texts.js';

/** @import { Answer, Column, Diagnosis, Layers, Layout, StateKind, Step, Verdict as Judged } from './schema.js' */
/** @import { Cause, Described, Diagnosed, Head, LayersSaid, Payload, StepPayload, Verdict } from './types.js' */
/** @typedef {Required<Column>} FullColumn */

export const LETTER = 'MCU'; // what the style sheet calls the roles of states
const PALE = 0.45; // of a colour: a state after which another of the same role is declared
const SLICES_AT_ONCE = 64; // region length up to which what is known of every position is at hand without being asked for

/**
 * Whether a verdict would have been another: another state, or another token.
 * @param {Verdict} verdict @param {Cause} cause
 */
export const turned = (verdict, [, , , state, , other]) => state !== verdict.state || other !== null;

/** One trace as the viewer holds it. */
export class Lane {
  /** @type {Head} */ head;
  /** @type {Described} */ about;
  /** @type {number[]} what confidences are compared with */ limits;
  /** @type {Layout | null} how its first tokens stand in rows */ board;
  /** @type {Answer | null} where the answer stands, as far as somebody has looked */ found;
  /** @type {number[]} */ prompt;
  /** @type {number} */ length;
  /** @type {Map<number, string>} */ words = new Map();
  /** @type {Uint8Array} */ fixed;
  /** @type {number[]} */ free;
  /** @type {number[] | undefined} those of the trace, where only some are shown */ positions;
  /** @type {Frame[]} */ frames = [];
  /** @type {Map<string, Verdict>} */ causes = new Map();
  /** @type {Map<string, LayersSaid>} what was said at a step and a position, as they were asked for */ layers =
    new Map();
  /** @type {Diagnosed | null} */ diagnosis = null;
  /** @type {Required<StateKind>[]} */ kinds;
  /** @type {Map<string, number>} which of them a letter is */ letters;
  /** @type {number[]} of the colour of each of them */ strength;
  /** @type {boolean} whether one of them is taken back easily */ tentative;
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
    lane.diagnose(trace.diagnosis);
    for (const layers of trace.layers ?? []) lane.hear(layers);
    return lane;
  }

  /** @param {Payload} trace */
  constructor(trace) {
    const { start, steps, settings, block_size: size, prompt_tokens: prompt } = trace;
    this.length = start.tokens.length;
    this.settings = settings;
    const about = /** @type {Described} */ (trace.about);
    this.about = clean({
      ...about,
      title: about.title || trace.decoder,
      shadow: about.shadow || steps.some((step) => step.mask !== undefined || step.rows),
    });
    this.kinds = this.about.states?.length ? this.about.states : STATES;
    this.letters = new Map(this.kinds.map((kind, n) => [kind.letter, n]));
    this.strength = this.kinds.map(({ role }, n) =>
      this.kinds.slice(n + 1).some((other) => other.role === role) ? PALE : 1,
    );
    this.tentative = this.kinds.some(({ role }) => role === 'tentative');
    const block = size ?? settings.block_length;
    this.head = {
      name: sentence(trace.name || this.about.title, 120),
      decoder: sentence(trace.decoder),
      model: sentence(trace.model, 120),
      layers: trace.num_layers,
      prompt: sentence(trace.prompt, 4000),
      block:
        typeof block === 'number' && Number.isInteger(block) && block > 0 && block < this.length ? block : this.length,
      promptOverlap: size ? prompt.length % size : 0,
      sees: size ?? null,
      mask: trace.mask_id,
      eos: trace.eos_id,
    };
    this.asks = trace.asks ?? false; // what a long region tells of its positions is asked for
    this.limits = this.about.thresholds.map((threshold) => threshold.at).filter((at) => at != null);
    this.board = clean(trace.annotation?.board) ?? null;
    this.found = clean(trace.annotation?.answer) ?? null;
    this.prompt = prompt;
    this.learn(trace.token_text);
    this.fixed = Uint8Array.from(trace.fixed);
    this.free = [...this.fixed.keys()].filter((i) => !this.fixed[i]);
    const blank = this.kinds.find(({ role }) => role === 'blank');
    const say = startOf(start.states, this.length - this.free.length, blank);
    const begun = this.push({
      index: 0,
      block: [0, Math.min(this.head.block - this.head.promptOverlap, this.length)],
      columns: { confidence: start.confidence },
      events: { edited: start.edited ?? [] },
      ...start,
      annotation: { ...start.annotation, say },
    });
    begun.columns = {};
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
    return Math.floor((i + this.head.promptOverlap) / this.head.block);
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

  /**
   * The state that a letter stands for.
   * @param {string} letter
   */
  kind(letter) {
    return this.kinds[this.letters.get(letter) ?? 0];
  }

  /**
   * As which of M, C and U the state with this letter looks.
   * @param {string} letter
   */
  look(letter) {
    return LETTER[CODE[this.kind(letter).role]];
  }

  /**
   * The state of a position in a frame.
   * @param {Frame} frame @param {number} i
   */
  state(frame, i) {
    return this.kinds[frame.kinds[i]];
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
   * The same trace with some of its positions only.
   * @param {number[]} [places] @returns {Lane}
   */
  only(places = this.free) {
    const { narrowed: known } = this;
    if (known?.frames.length === this.frames.length && String(known.positions) === String(places)) return known;
    this.narrowed = part(this, places, undefined, { sides: [], mapped: null });
    return this.narrowed;
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
   * @param {StepPayload} step
   */
  push(step) {
    const frame = new Frame(this, step, this.frames.at(-1));
    this.frames.push(frame);
    if (frame.before && !this.asks && this.length <= SLICES_AT_ONCE)
      for (let i = 0; i < this.length; i++) frame.slices[i] = new Slice(frame, i, step);
    return frame;
  }

  /**
   * A verdict with its causes; `beside` are the tokens of the same pass, and all of them together.
   * @param {Judged} verdict @param {Record<string, string>} [words] @returns {Verdict}
   */
  judge(verdict, words) {
    const { step, position, token, path, state, actual, left = [], share = null, annotation } = verdict;
    const { causes = [], siblings = [], together } = verdict;
    this.learn(words);
    const [before, after] = [this.frames[step - 1].tokens, this.frames[step]];
    /** @param {NonNullable<Judged['causes']>[number]} each @param {number | null} place @param {string} word @returns {Cause} */
    const cause = (each, place, word) => [
      place,
      word,
      +rounded(each.without, 4),
      each.state ?? '',
      Number(each.shown ?? false),
      each.token == null ? null : this.word(each.token),
    ];
    /** @param {number} place */
    const word = (place) => this.word(place < 0 ? (this.prompt.at(place) ?? -1) : before[place]);
    const others = (after.events.decided?.length ?? 0) - 1;
    /** @type {Verdict} */
    const judged = {
      step,
      position,
      word: this.word(token),
      path: sentence(path),
      actual: +rounded(actual, 4),
      state,
      causes: causes.map((each) => cause(each, each.position, word(each.position))),
      beside: [
        ...(together ? [cause(together, null, `all ${others}`)] : []),
        ...siblings.map((each) => cause(each, each.position, this.word(after.tokens[each.position]))),
      ],
      left: left.length,
      share,
      because: sentence(annotation?.because ?? ''),
      note: sentence(annotation?.say ?? ''),
    };
    this.causes.set(`${step}/${position}`, judged);
    return judged;
  }

  /**
   * Where the answer was lost, as far as it is known; null where nobody has looked.
   * @param {Diagnosis | null} [record]
   */
  diagnose(record) {
    const diagnosed = /** @type {Diagnosed | null} */ (record?.annotation ? record : null);
    this.diagnosis = diagnosed && clean({ ...diagnosed, sentences: diagnosed.sentences ?? [] });
  }

  /**
   * What each layer would have said: of every query its words, how sure they were, and how likely the word in question.
   * @param {Layers} layers @param {Record<string, string>} [words] @returns {LayersSaid}
   */
  hear({ step, position, token, rows, annotation }, words) {
    this.learn(words);
    const said = {
      step,
      position,
      token,
      word: this.word(token),
      note: sentence(annotation?.say ?? ''),
      rows: rows.map(({ tokens, confidence, held, shadow = false }) => ({
        ids: tokens,
        tokens: tokens.map((each) => this.word(each)),
        confidence,
        held,
        shadow,
      })),
    };
    this.layers.set(`${step}/${position}`, said);
    return said;
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
