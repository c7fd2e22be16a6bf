// Trace -> lanes of frames. A lane is one trace, a frame one step of it. What arrives is what a trace file holds, from wherever
// it comes: a server, a page that replays it, a file that trace.js has checked. The format is described in dard/trace/trace.py,
// and what a server adds or leaves for later in visual/payload.py. All texts are made fit to be shown here.

import { EVENTS, STATES } from './events.js';
import { inOrder, inflated, receive, strideOf } from './masks.js';
import { contaminations, reachDepth } from './reach.js';
import { clean, rounded, sentence, shown } from './texts.js';

const CODE = { M: 0, C: 1, U: 2 };
export const LETTER = 'MCU';
const LIVES_AT_ONCE = 64; // region length up to which what is known of every position is at hand without being asked for
const MASK_BLOCK = 512; // positions of a block whose mask is still drawn; see MAX_MASK_BLOCK in visual/payload.py
const MASKS_KEPT = 96 << 20; // bytes of all masks of a lane
const BARE = { marks: [], say: '', lines: [] };

/** A token's text without the space that some vocabularies count to it. */
const bare = (text) => text.replace(/^[␣▁Ġ]+|␣+$/gu, '');

/** Whether a verdict would have been another: another state, or another token. */
export const turned = (verdict, [, , , state, , other]) => state !== verdict.state || other != null;

/** The sentence about the moment before the first step. */
function startOf(states, given) {
  const masked = [...states].filter((state) => state === 'M').length;
  return `Start. ${masked} position${masked === 1 ? ' is' : 's are'} masked${given ? `, ${given} ${given === 1 ? 'is' : 'are'} given by the template` : ''}.`;
}

/** One trace as the viewer holds it. */
export class Lane {
  static async open(trace) {
    const lane = new Lane(trace);
    await lane.append(trace.steps ?? []);
    for (const verdict of trace.causes ?? []) lane.judge(verdict);
    for (const layers of trace.layers ?? []) lane.hear(layers);
    return lane;
  }

  constructor(trace) {
    const { start, settings, block_size: size, prompt_tokens: prompt } = trace;
    const steps = trace.steps ?? [];
    this.length = start.tokens.length;
    this.about = clean({
      ...trace.about,
      title: trace.about.title || trace.decoder,
      shadow: trace.about.shadow || steps.some((step) => step.mask !== undefined || step.rows),
    });
    const block = size ?? settings.block_length;
    this.head = {
      name: sentence(trace.name || this.about.title, 120),
      decoder: sentence(trace.decoder),
      model: sentence(trace.model, 120),
      layers: trace.num_layers,
      prompt: sentence(trace.prompt, 4000),
      block: Number.isInteger(block) && block > 0 && block < this.length ? block : this.length,
      lead: size ? prompt.length % size : 0,
      sees: size,
      mask: trace.mask_id,
      eos: trace.eos_id,
    };
    this.asks = trace.asks ?? false; // what a long region tells of its positions is asked for
    this.limits = this.about.thresholds.map((threshold) => threshold.at).filter((at) => at != null); // what confidences are compared with
    this.board = clean(trace.annotation?.board) ?? null; // how its first tokens stand in rows
    this.prompt = prompt;
    this.words = new Map();
    this.learn(trace.token_text);
    this.fixed = Uint8Array.from(trace.fixed);
    this.free = [...this.fixed.keys()].filter((i) => !this.fixed[i]);
    this.kept = 0; // bytes of masks
    this.frames = [];
    const given = this.length - this.free.length;
    this.push({ index: 0, block: [0, Math.min(this.head.block - this.head.lead, this.length)], columns: { confidence: start.confidence }, events: { edited: start.edited ?? [] }, ...start }, {
      columns: {}, say: startOf(start.states, given),
    });
    this.asked = new Map();
    this.looks = new Map(); // where the queries of a step looked, by step; see maskpanel.js
    this.causes = new Map();
    this.layers = new Map(); // what was said at a step and a position, as they were asked for
    const { columns } = this.about;
    const mirrored = new Set(columns.map((column) => column.mirror));
    this.sides = columns.filter((column) => !mirrored.has(column.name)); // each a lane beside the score
    this.mapped = this.sides.find((column) => column.range) || null; // what the score can show in place of the states
  }

  /** The number of the block of a position; a prompt may have begun the first one. */
  blockOf(i) {
    return Math.floor((i + this.head.lead) / this.head.block);
  }

  begins(i) {
    return this.blockOf(i) !== this.blockOf(i - 1);
  }

  get last() {
    return this.frames.length - 1;
  }

  get finished() {
    return this.frames[this.last].finished;
  }

  /** The frame at a step; a trace that has ended stays as it ended. */
  at(step) {
    return this.frames[Math.min(step, this.last)];
  }

  learn(words) {
    for (const [id, text] of Object.entries(words ?? {})) this.words.set(+id, shown(text));
  }

  word(id) {
    return this.words.get(id) ?? `<${id}>`;
  }

  /** Where a position is, in words. */
  place(i) {
    const { board } = this;
    return board && i < board.given.length ? `row ${Math.floor(i / board.width) + 1}, column ${(i % board.width) + 1}` : `position ${i}`;
  }

  /** Whether another lane's frame holds something else at a position: another token, or another text where models differ. */
  differs(frame, i, other, there) {
    if (!frame.states[i] || !there.states[i]) return !frame.states[i] !== !there.states[i];
    if (this.head.model === other.head.model) return frame.tokens[i] !== there.tokens[i];
    return bare(this.word(frame.tokens[i])) !== bare(other.word(there.tokens[i]));
  }

  /** What stands at the free positions of a frame. */
  answer(frame) {
    return this.free.map((i) => (frame.states[i] ? this.word(frame.tokens[i]) : '·')).join(' ');
  }

  /** The same trace with its free positions only. */
  get freeOnly() {
    if (this.narrowed?.frames.length === this.frames.length) return this.narrowed;
    const { free } = this;
    const pick = (row) => free.map((i) => row[i]);
    const columns = (all) => Object.fromEntries(Object.entries(all).map(([name, row]) => [name, pick(row)]));
    const frames = this.frames.map((frame) => ({
      ...frame, tokens: pick(frame.tokens), states: pick(frame.states), confidence: pick(frame.confidence), columns: columns(frame.columns),
      revoked: pick(frame.revoked), ghost: pick(frame.ghost), marks: pick(frame.marks), soft: pick(frame.soft),
    }));
    this.narrowed = Object.assign(Object.create(this), { positions: free, length: free.length, fixed: new Uint8Array(free.length), free: free.map((_, n) => n), frames, sides: [], mapped: null });
    return this.narrowed;
  }

  /** A column's number at a position, or null. */
  static value(frame, column, i) {
    return frame.columns[column]?.[i] ?? null;
  }

  /** The same as a share of what the column can be; of the largest seen where it has no bound. */
  share(frame, column, i) {
    const value = Lane.value(frame, column.name, i);
    if (value === null) return null;
    const [low, high] = column.range || [0, this.largest(column.name)];
    return Math.max(0, Math.min(1, (value - low) / (high - low)));
  }

  largest(name) {
    this.peaks ??= new Map();
    const [seen, peak] = this.peaks.get(name) || [0, 0];
    if (seen === this.frames.length) return peak || 1;
    const found = Math.max(peak, ...this.frames.slice(seen).map((frame) => Math.max(0, ...(frame.columns[name] || []))));
    this.peaks.set(name, [this.frames.length, found]);
    return found || 1;
  }

  async append(steps) {
    await receive(steps);
    for (const step of steps) {
      if (step.index !== this.frames.length) throw new Error(`Step ${step.index} came after step ${this.last}; decode the prompt again.`);
      this.learn(step.words);
      this.push(step);
    }
  }

  /** A step, or the moment before the first one, as a frame. */
  push(step, more) {
    const before = this.frames.at(-1);
    const { events = {}, annotation = {} } = step;
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
      life: [],
      say: sentence(annotation.say ?? this.told(step)),
      notes: clean(step.notes ?? {}),
      ended: step.ended_by && sentence(step.ended_by),
      took: [1000 * (step.forward_seconds ?? 0), 1000 * (step.other_seconds ?? 0), step.peak_bytes == null ? null : Math.round(step.peak_bytes / 1e6)],
      finished: /^U+$/.test(step.states) && !step.goes_on,
      right: annotation.right ?? null,
      look: this.board && (clean(annotation.look) ?? BARE),
      hidden: step.hidden ? { position: step.hidden[0], check: step.hidden[1], say: sentence(annotation.hidden ?? 'a token was hidden by hand') } : null, // what this pass was kept from seeing
      revokes: !!events.demoted,
      ...more,
    });
    for (const i of step.soft?.positions ?? []) frame.soft[i] = guesses(step.soft, i, (p) => p > 0);
    for (const i of events.demoted ?? []) frame.ghost[i] = before.tokens[i];
    this.mark(frame);
    this.tag(frame);
    this.frames.push(frame);
    if (before && !this.asks && this.length <= LIVES_AT_ONCE) for (let i = 0; i < this.length; i++) frame.life[i] = new Slice(frame, i, step);
  }

  /** What happened in a step, where nothing was told beside it: in a file of version 2. */
  told({ index, events }) {
    const parts = Object.entries(events ?? {}).filter(([, positions]) => positions.length)
      .map(([name, { length }]) => `${this.about.events[name]?.title ?? name}: ${length} position${length === 1 ? '' : 's'}`);
    return `Step ${index}. ${parts.join('; ') || 'Nothing changed'}.`;
  }

  /** A verdict and its causes, as unpack.d.ts says; `beside` are the tokens of the same pass, and all of them together. */
  judge({ step, position, token, path, state, actual, causes = [], siblings = [], together, left = [], share = null, annotation = {} }, words) {
    this.learn(words);
    const [before, after] = [this.frames[step - 1].tokens, this.frames[step].tokens];
    const other = (each) => (each.token == null ? null : this.word(each.token));
    const cause = (each, word) => [each.position, word, +rounded(each.without, 4), each.state, Number(each.shown ?? false), other(each)];
    const word = (place) => this.word(place < 0 ? this.prompt.at(place) : before[place]);
    const decided = this.frames[step].events.decided?.length ?? 0;
    const all = together ? [[null, `all ${decided - 1}`, ...cause(together, '').slice(2)]] : [];
    const verdict = {
      step, position, word: this.word(token), path: sentence(path), actual: +rounded(actual, 4), state,
      causes: causes.map((each) => cause(each, word(each.position))),
      beside: [...all, ...siblings.map((each) => cause(each, this.word(after[each.position])))],
      left: left.length, share, because: sentence(annotation.because ?? ''), note: sentence(annotation.say ?? ''),
    };
    this.causes.set(`${step}/${position}`, verdict);
    return verdict;
  }

  /** What each layer would have said: of every query its words, how sure they were, and how likely the word in question. */
  hear({ step, position, token, rows, annotation = {} }, words) {
    this.learn(words);
    const said = {
      step, position, token, word: this.word(token), note: sentence(annotation.say ?? ''),
      rows: rows.map(({ tokens, confidence, held, shadow = false }) => ({ ids: tokens, tokens: tokens.map((each) => this.word(each)), confidence, held, shadow })),
    };
    this.layers.set(`${step}/${position}`, said);
    return said;
  }

  mark(frame) {
    for (const event of EVENTS) for (const i of frame.events[event.key] || []) frame.marks[i] |= event.bit;
  }

  /** The decoder's own events that have a sign, and the number that belongs to it. */
  tag(frame) {
    for (const [name, event] of Object.entries(this.about.events)) {
      if (!event.mark) continue;
      const symbol = this.about.columns.find((column) => column.name === event.value)?.symbol;
      for (const i of frame.events[name] || []) frame.tags[i] = { ...event, symbol, number: Lane.value(frame, event.value, i) };
    }
  }

  /** Bytes per row of a frame's mask. */
  static stride(frame) {
    return ((frame.plain ? 1 : 2) * (frame.block[1] - frame.block[0]) + 7) >> 3;
  }

  /** Whether a token was hidden by hand from what was predicted at a position. */
  static hides({ hidden }, place, position) {
    return !!hidden && hidden.position === place && (hidden.check ?? position) === position;
  }

  /** Whether the query at a position, in path 'x' or 's', sees the token at another position. */
  static sees(frame, path, i, j) {
    const [start, end] = frame.block;
    if (!frame.mask || i < start || i >= end || j < start || j >= end) return !Lane.hides(frame, j, i);
    const row = i - start + (path === 's' && !frame.plain ? end - start : 0);
    const column = j - start;
    return !!(frame.mask[row * Lane.stride(frame) + (column >> 3)] & (128 >> (column & 7)));
  }

  /** The depth matrix of a frame, bytes [2B × 2B]: 0 where the mask is open or nothing arrives; null without a shadow. */
  depth(frame) {
    return frame.depth;
  }

  /** Sees to it that a frame has the cells of its graph, bytes [n × n]; resolves to true if they have just arrived. */
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

  /** Sees to it that every frame has this position's slice; resolves to true if something new arrived. */
  async fetchLife(position, fetch) {
    if (!this.frames.some((frame, t) => t && !frame.life[position])) return false;
    if (this.asks) {
      if (this.asked.get(position) === this.last) return false;
      this.asked.set(position, this.last);
    }
    const life = this.asks ? await fetch?.(position) : { steps: this.frames.slice(1).map((frame) => frame.step) };
    if (!life?.steps) {
      this.asked.delete(position);
      return false;
    }
    this.learn(life.words);
    life.steps.forEach((step, k) => {
      const frame = this.frames[k + 1];
      if (frame) frame.life[position] = new Slice(frame, position, step);
    });
    return true;
  }
}

/** The likeliest tokens at a position, [id, ten-thousandths, …]. */
function guesses({ positions, k, ids, p }, position, wanted = () => true) {
  const at = positions.indexOf(position) * k;
  return ids.slice(at, at + k).flatMap((id, n) => (wanted(p[at + n]) ? [id, p[at + n]] : []));
}

/** One step, as panels draw it. What takes a while to unpack or to find out is made when it is looked at. */
class Frame {
  constructor(values) {
    Object.assign(this, values);
    const { rows } = this.step;
    if (rows) this.lane.kept += rows.bytes.length;
    this.drawn = !!rows && this.block[1] - this.block[0] <= MASK_BLOCK && this.lane.kept <= MASKS_KEPT;
  }

  /** Whether the mask is of the block alone, without a shadow. */
  get plain() {
    return this.step.rows?.size === this.block[1] - this.block[0];
  }

  /** The mask's rows of packed bits, in the order of positions, and perhaps one more for what the outside sees. */
  get bits() {
    if (!this.drawn) return null;
    const { rows } = this.step;
    this.unpacked ??= rows.inOrder ? rows.bytes : inOrder(rows, this.block, this.before);
    return this.unpacked;
  }

  get mask() {
    const { bits } = this;
    return bits && bits.subarray(0, this.step.rows.size * strideOf(this.step.rows.size));
  }

  get depth() {
    if (!this.drawn || this.plain) return null;
    const { size, height } = this.step.rows;
    this.reached ??= reachDepth(this.bits, size, height, this.lane.head.layers);
    return this.reached;
  }

  /** The verifications that hidden candidates reach; see reach.js. */
  get heard() {
    this.hearing ??= this.depth ? contaminations(this.depth, this.block, this.before, this.lane.fixed) : new Map();
    return this.hearing;
  }

  /** The same as the fewest layers by position. */
  get contaminated() {
    return Object.fromEntries([...this.heard].map(([position, { layers }]) => [position, layers]));
  }
}

/** What the inspector shows of one position at a step: y sentence, paths and d the one that decided, g the cells of its row of
 *  the graph that the rule looked at, as [position, byte, …], k a sentence about a contaminated verification. */
class Slice {
  constructor(frame, position, { why, paths, annotation, cells }) {
    Object.assign(this, { frame, position, told: why?.[position] ?? annotation?.why?.[position], tables: paths ?? {}, row: Array.isArray(cells) ? cells : null });
  }

  get y() {
    const { frame: { before, states, tokens }, position: i, told } = this;
    if (told != null) return sentence(told);
    const state = (moment) => STATES[LETTER[moment[i]]];
    return tokens[i] === before.tokens[i] && states[i] === before.states[i] ? `Nothing changed here in this step: ${state(states)}.`
      : `From ${state(before.states)} to ${state(states)}; the file has no sentence about it.`;
  }

  get paths() {
    const there = Object.entries(this.tables).filter(([, { positions, k }]) => k && positions.includes(this.position));
    return there.length ? Object.fromEntries(there.map(([name, table]) => [sentence(name), guesses(table, this.position)])) : undefined;
  }

  get d() {
    const { paths } = this;
    return paths && (this.frame.lane.about.paths.map((path) => path.name).filter((name) => Object.hasOwn(paths, name)).at(-1) ?? Object.keys(paths).at(-1));
  }

  get g() {
    const { graph, cells } = this.frame;
    const at = graph?.positions.indexOf(this.position) ?? -1;
    const row = this.row ?? (cells?.length && at >= 0 ? cells.subarray(at * graph.positions.length) : null);
    if (!row || at < 0) return undefined;
    const before = graph.positions.slice(0, at).map((i, k) => [i, row[k]]).filter(([i]) => !Object.hasOwn(graph.blocked, i));
    return before.length ? before.sort((a, b) => b[1] - a[1]).flat() : undefined;
  }

  get k() {
    const { frame: { lane, before, heard }, position } = this;
    const found = heard.get(position);
    if (!found) return undefined;
    const { layers, candidates } = found;
    const names = candidates.slice(0, 2).filter((j) => j !== position).map((j) => `'${lane.word(before.tokens[j])}'`).join(', ');
    const what = [candidates.includes(position) && 'its own token', names].filter(Boolean).join(' and ');
    const more = candidates.length > 3 ? ` and ${candidates.length - 3} more` : '';
    return `Contaminated: ${what}${more}, hidden from this verification, can reach it through ${layers} layer${layers === 1 ? '' : 's'}.`;
  }
}
