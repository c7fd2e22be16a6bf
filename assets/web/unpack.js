// Payload -> lanes of frames. A lane is one trace, a frame one step of it. The format is described in visual/payload.py.

import { EVENTS } from './dom.js';

export const NO_WEIGHT = 65535;
const CODE = { M: 0, C: 1, U: 2 };
export const LETTER = 'MCU';

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const inflateJson = async (text) => JSON.parse(new TextDecoder().decode(await inflate(text)));

/** Undoes "each row ^ the row above". */
function undown(bytes, stride) {
  for (let k = stride; k < bytes.length; k++) bytes[k] ^= bytes[k - stride];
  return bytes;
}

/** Undoes "each entry minus the one before"; typed arrays wrap around by themselves. */
function summed(values) {
  for (let k = 1; k < values.length; k++) values[k] += values[k - 1];
  return values;
}

/** A share in whole thousandths that still rounds to the same two decimals; halves go to the even neighbour. */
function thousandths(share) {
  const even = (value) => (value % 1 === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));
  const hundredths = even(100 * share);
  return Math.min(Math.max(even(1000 * share), 10 * hundredths - 4), 10 * hundredths + 4, 1000);
}

/** The order in which a mask's rows and columns travel; see visual/payload.py. */
function packingOrder(frame, before) {
  const [start, end] = frame.block;
  const size = end - start;
  const { states, confidence } = before;
  const order = Array.from({ length: size }, (_, k) => k)
    .sort((a, b) => states[start + a] - states[start + b] || confidence[start + b] - confidence[start + a] || a - b);
  return [...order, ...order.map((k) => k + size)];
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

/** One trace as the viewer holds it. */
export class Lane {
  static async open(payload) {
    const lane = new Lane(payload);
    await lane.append(payload.steps || []);
    return lane;
  }

  constructor(payload) {
    this.head = payload;
    this.length = payload.length;
    this.words = new Map();
    this.learn(payload.words);
    this.fixed = new Uint8Array(this.length);
    for (const i of payload.fixed) this.fixed[i] = 1;
    this.free = [...this.fixed.keys()].filter((i) => !this.fixed[i]);
    const start = payload.start;
    this.frames = [{
      index: 0,
      block: [0, Math.min(payload.block, this.length)],
      tokens: Int32Array.from(start.tokens),
      states: Uint8Array.from(start.states, (letter) => CODE[letter]),
      confidence: Uint16Array.from(start.confidence),
      revoked: new Uint8Array(this.length),
      ghost: new Int32Array(this.length).fill(-1),
      marks: new Uint8Array(this.length),
      life: [],
      say: start.say,
      note: 'start',
      mask: null,
      revokes: false,
      finished: payload.finished && !(payload.steps || []).length,
    }];
    for (const i of start.edited) this.frames[0].marks[i] |= 32;
    this.asked = new Map();
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

  async append(steps) {
    const inflated = await Promise.all(steps.map((step) => (step.z ? inflate(step.z) : null)));
    const lives = await Promise.all(steps.map((step) => (step.life ? inflateJson(step.life) : null)));
    steps.forEach((step, k) => {
      if (step.i !== this.frames.length) return; // sent twice
      this.learn(step.words);
      this.frames.push(this.frame(step, inflated[k]));
      if (lives[k]) {
        this.learn(lives[k].words);
        const frame = this.frames[this.last];
        for (const [i, slice] of Object.entries(lives[k].at)) frame.life[+i] = slice;
      }
    });
  }

  frame(step, bytes) {
    const before = this.frames[this.last];
    const frame = {
      index: step.i,
      block: step.b,
      tokens: before.tokens.slice(),
      states: before.states.slice(),
      confidence: before.confidence.slice(),
      revoked: before.revoked.slice(),
      ghost: before.ghost.slice(),
      marks: new Uint8Array(this.length),
      life: [],
      say: step.say,
      note: step.wn,
      ended: step.e,
      took: step.t,
      finished: !!step.f,
      reach: step.r || null,
      mask: null,
      revokes: !!step.ev?.d,
      promoted: step.ev?.p || [],
      demoted: step.ev?.d || [],
    };
    for (const [letter, positions] of Object.entries(step.s || {})) {
      for (const i of positions) {
        frame.states[i] = CODE[letter];
        if (letter === 'M') frame.tokens[i] = this.head.mask;
      }
    }
    for (let k = 0; k < (step.d || []).length; k += 2) frame.tokens[step.d[k]] = step.d[k + 1];
    for (const event of EVENTS) for (const i of step.ev?.[event.letter] || []) frame.marks[i] |= event.bit;
    for (const i of step.ev?.d || []) {
      frame.revoked[i] = Math.min(255, frame.revoked[i] + 1);
      frame.ghost[i] = before.tokens[i];
    }
    if (step.w === 0) frame.weights = this.ruled(step, before);
    if (bytes) this.read(step, frame, before, bytes);
    return frame;
  }

  /** The binary sections of a step, in their order. */
  read(step, frame, before, bytes) {
    let at = 0;
    const take = (count) => bytes.subarray(at, (at += count));
    const wide = (count) => {
      const low = take(count);
      const high = take(count);
      return Uint16Array.from(low, (value, k) => value | (high[k] << 8));
    };
    const size = step.b[1] - step.b[0];
    if (step.n) frame.confidence.set(wide(step.n[1]), step.n[0]);
    if (step.w) frame.weights = { w: summed(wide(size)), P: summed(take(size).slice()), D: summed(take(size).slice()) };
    if (step.k) frame.contaminated = take(size);
    if (step.m) {
      const stride = (2 * size + 7) >> 3;
      frame.mask = unorder(undown(take(2 * size * stride).slice(), stride), packingOrder(frame, before), stride);
    }
  }

  /** The weights that promotions and demotions make: each pulls by λ to the power of its distance. */
  ruled(step, before) {
    const { lambda, p0 } = this.head.weights;
    const [start, end] = step.b;
    const kernel = Float64Array.from({ length: end - start }, (_, distance) => lambda ** distance);
    const promoted = step.ev?.p || [];
    const demoted = (step.ev?.d || []).filter((j) => before.states[j] === CODE.C);
    const pull = (i, from) => from.reduce((sum, j) => sum + kernel[Math.abs(i - j)], 0);
    const w = new Uint16Array(end - start).fill(NO_WEIGHT);
    const [P, D] = [new Float64Array(end - start), new Float64Array(end - start)];
    for (let i = start; i < end; i++) {
      if (before.states[i] !== CODE.M) continue;
      const k = i - start;
      P[k] = pull(i, promoted);
      D[k] = pull(i, demoted);
      w[k] = thousandths(Math.round(1e6 * (P[k] + p0) / (P[k] + D[k] + p0)) / 1e6);
    }
    const scale = 255 / Math.max(1, ...P, ...D);
    return { w, P: Uint8Array.from(P, (p) => Math.round(p * scale)), D: Uint8Array.from(D, (d) => Math.round(d * scale)) };
  }

  /** Bytes per row of a frame's mask. */
  static stride(frame) {
    return (2 * (frame.block[1] - frame.block[0]) + 7) >> 3;
  }

  /** Whether the query at a position, in path 'x' or 's', sees the token at another position. */
  static sees(frame, path, i, j) {
    const [start, end] = frame.block;
    if (!frame.mask || i < start || i >= end || j < start || j >= end) return true;
    const row = i - start + (path === 's' ? end - start : 0);
    const column = j - start;
    return !!(frame.mask[row * Lane.stride(frame) + (column >> 3)] & (128 >> (column & 7)));
  }

  /** The depth matrix of a frame, bytes [2B × 2B]: 0 where the mask is open or nothing arrives. Unpacked on demand. */
  depth(frame) {
    if (!frame.reach) return null;
    frame.depth ??= inflate(frame.reach).then((bytes) => {
      const order = packingOrder(frame, this.frames[frame.index - 1]);
      frame.depthReady = unorderBytes(undown(bytes, order.length), order);
    });
    return frame.depthReady || null;
  }

  /** Sees to it that every frame has this position's slice; resolves to true if something new arrived. */
  async fetchLife(position, fetch) {
    const missing = this.frames.findIndex((frame, t) => t && !frame.life[position]);
    if (missing < 0) return false;
    if (this.asked.get(position) === this.last) return false;
    this.asked.set(position, this.last);
    const packed = this.head.lives?.[position];
    const life = packed ? await inflateJson(packed) : await fetch?.(position);
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
