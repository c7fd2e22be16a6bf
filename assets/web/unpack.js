// Payload -> lanes of frames. A lane is one trace, a frame one step of it. The format is described in visual/payload.py.

import { EVENTS } from './dom.js';

const CODE = { M: 0, C: 1, U: 2 };
export const LETTER = 'MCU';

export async function inflate(text, format) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** What was packed on its way here. */
export async function unpack(text) {
  return JSON.parse(new TextDecoder().decode(await inflate(text, 'gzip')));
}

/** Undoes "each row ^ the row above". */
function undown(bytes, stride) {
  for (let k = stride; k < bytes.length; k++) bytes[k] ^= bytes[k - stride];
  return bytes;
}

/** The order in which a mask's rows and columns travel; see visual/payload.py. */
function packingOrder(frame, before) {
  const [start, end] = frame.block;
  const size = end - start;
  const { states, confidence } = before;
  const order = Array.from({ length: size }, (_, k) => k)
    .sort((a, b) => states[start + a] - states[start + b] || confidence[start + b] - confidence[start + a] || a - b);
  return frame.plain ? order : [...order, ...order.map((k) => k + size)];
}

/** Rows and columns of packed bits back in the order of positions. A row equal to the one above is copied. */
function unorder(bits, order, stride) {
  const out = new Uint8Array(bits.length);
  order.forEach((row, r) => {
    const from = r * stride;
    const to = row * stride;
    let same = r > 0;
    for (let b = 0; same && b < stride; b++) same = bits[from + b] === bits[from - stride + b];
    if (same) {
      out.copyWithin(to, order[r - 1] * stride, order[r - 1] * stride + stride);
      return;
    }
    order.forEach((column, c) => {
      if (bits[from + (c >> 3)] & (128 >> (c & 7))) out[to + (column >> 3)] |= 128 >> (column & 7);
    });
  });
  return out;
}

function unorderBytes(bytes, order) {
  const out = new Uint8Array(bytes.length);
  const size = order.length;
  order.forEach((row, r) => order.forEach((column, c) => (out[row * size + column] = bytes[r * size + c])));
  return out;
}

/** A token's text without the space that some vocabularies count to it. */
const bare = (text) => text.replace(/^[␣▁Ġ]+|␣+$/gu, '');

/** The sentence about the moment before the first step. */
function startOf(states, given) {
  const masked = [...states].filter((state) => state === 'M').length;
  return `Start. ${masked} position${masked === 1 ? ' is' : 's are'} masked${given ? `, ${given} ${given === 1 ? 'is' : 'are'} given by the template` : ''}.`;
}

/** One trace as the viewer holds it. */
export class Lane {
  static async open(payload) {
    const lane = new Lane(payload);
    await lane.append(payload.steps || []);
    return lane;
  }

  constructor(payload) {
    this.head = payload;
    this.about = payload.about;
    this.board = payload.board ?? null; // how its first tokens stand in rows
    this.length = payload.length;
    this.words = new Map();
    this.learn(payload.words);
    this.fixed = new Uint8Array(this.length);
    for (const i of payload.fixed) this.fixed[i] = 1;
    this.free = [...this.fixed.keys()].filter((i) => !this.fixed[i]);
    const start = payload.start;
    this.frames = [{
      index: 0,
      block: [0, Math.min(payload.block - payload.lead, this.length)],
      tokens: Int32Array.from(start.tokens),
      states: Uint8Array.from(start.states, (letter) => CODE[letter]),
      confidence: start.confidence,
      columns: {},
      events: { edited: start.edited },
      revoked: new Uint8Array(this.length),
      replaced: new Uint8Array(this.length),
      tags: [],
      soft: {},
      graph: null,
      ghost: new Int32Array(this.length).fill(-1),
      marks: new Uint8Array(this.length),
      life: [],
      say: startOf(start.states, payload.fixed.length),
      notes: {},
      mask: null,
      revokes: false,
      right: null,
      look: start.board ?? null,
      finished: payload.finished && !(payload.steps || []).length,
    }];
    this.mark(this.frames[0]);
    this.asked = new Map();
    this.looks = new Map(); // where the queries of a step looked, by step; see maskpanel.js
    this.causes = new Map((payload.causes ?? []).map((verdict) => [`${verdict.step}/${verdict.position}`, verdict]));
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
    for (const [id, text] of Object.entries(words || {})) this.words.set(+id, text);
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
    const masks = await Promise.all(steps.map((step) => (step.mask ? inflate(step.mask, 'deflate') : null)));
    steps.forEach((step, k) => {
      if (step.i !== this.frames.length) throw new Error(`Step ${step.i} came after step ${this.last}; decode the prompt again.`);
      this.learn(step.words);
      this.learn(step.life?.words);
      this.frames.push(this.frame(step, masks[k]));
    });
  }

  frame(step, mask) {
    const before = this.frames[this.last];
    const frame = {
      index: step.i,
      block: step.block,
      tokens: Int32Array.from(step.tokens),
      states: Uint8Array.from(step.states, (letter) => CODE[letter]),
      confidence: step.columns.confidence,
      columns: step.columns,
      events: step.events,
      revoked: before.revoked.slice(),
      replaced: before.replaced.slice(),
      tags: [],
      soft: step.soft || {},
      graph: step.graph || null,
      ghost: before.ghost.slice(),
      marks: new Uint8Array(this.length),
      life: [],
      say: step.say,
      notes: step.notes,
      ended: step.ended,
      took: step.took,
      finished: step.finished,
      right: step.right ?? null,
      look: step.board ?? null,
      reach: step.reach || null,
      contaminated: step.contaminated || {},
      mask: null,
      plain: !!step.plain, // of the block alone, without a shadow
      revokes: !!step.events.demoted,
    };
    this.mark(frame);
    for (const i of step.events.demoted || []) {
      frame.revoked[i] = Math.min(255, frame.revoked[i] + 1);
      frame.ghost[i] = before.tokens[i];
    }
    for (const i of step.events.replaced || []) frame.replaced[i] = Math.min(255, frame.replaced[i] + 1);
    this.tag(frame);
    for (const [i, slice] of Object.entries(step.life?.at || {})) frame.life[+i] = slice;
    if (mask) {
      const stride = Lane.stride(frame);
      frame.mask = unorder(undown(mask, stride), packingOrder(frame, before), stride);
    } else if (step.bits) frame.mask = step.bits; // from a file that was read here
    if (step.cells) frame.cells = step.cells;
    return frame;
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

  /** Whether the query at a position, in path 'x' or 's', sees the token at another position. */
  static sees(frame, path, i, j) {
    const [start, end] = frame.block;
    if (!frame.mask || i < start || i >= end || j < start || j >= end) return true;
    const row = i - start + (path === 's' && !frame.plain ? end - start : 0);
    const column = j - start;
    return !!(frame.mask[row * Lane.stride(frame) + (column >> 3)] & (128 >> (column & 7)));
  }

  /** The depth matrix of a frame, bytes [2B × 2B]: 0 where the mask is open or nothing arrives. Unpacked on demand. */
  depth(frame) {
    if (!frame.reach) return null;
    frame.depth ??= inflate(frame.reach, 'deflate').then((bytes) => {
      const order = packingOrder(frame, this.frames[frame.index - 1]);
      frame.depthReady = unorderBytes(undown(bytes, order.length), order);
    });
    return frame.depthReady || null;
  }

  /** Sees to it that a frame has the cells of its graph, bytes [n × n]; resolves to true if they have just arrived. */
  async fetchCells(frame, fetch) {
    if (!frame.graph || frame.cells || frame.asking) return false;
    frame.asking = true;
    try {
      const packed = this.head.graphs ? this.head.graphs[frame.index] : (await fetch?.())?.cells;
      frame.cells = packed ? await inflate(packed, 'deflate') : new Uint8Array(0);
    } finally {
      frame.asking = false;
    }
    return true;
  }

  /** Sees to it that every frame has this position's slice; resolves to true if something new arrived. */
  async fetchLife(position, fetch) {
    const missing = this.frames.findIndex((frame, t) => t && !frame.life[position]);
    if (missing < 0) return false;
    if (this.asked.get(position) === this.last) return false;
    this.asked.set(position, this.last);
    const life = this.head.lives?.[position] || this.head.life?.(position) || await fetch?.(position);
    if (!life?.steps) {
      this.asked.delete(position);
      return false;
    }
    this.learn(life.words);
    life.steps.forEach((slice, k) => {
      if (this.frames[k + 1]) this.frames[k + 1].life[position] = slice;
    });
    return true;
  }
}
