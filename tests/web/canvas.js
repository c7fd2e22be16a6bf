// A canvas that draws nothing and keeps what it was told, for modules that draw without a browser. Every letter is as wide as
// any other, so that what is kept does not depend on the fonts of a machine.

import { createHash } from 'node:crypto';

const LETTER_WIDTH = 6.5;

/** What stands for something, short enough to be compared by eye: numbers in hundredths, bytes as their digest. */
export function plain(value) {
  if (typeof value === 'number') return Math.round(value * 100) / 100;
  if (ArrayBuffer.isView(value)) return digest([...value]);
  if (Array.isArray(value)) return value.map(plain);
  if (value?.data) return plain(value.data);
  return typeof value === 'object' && value !== null ? 'canvas' : value;
}

export const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

class Context {
  constructor(calls) {
    const own = {
      measureText: (text) => ({ width: LETTER_WIDTH * text.length }),
      createImageData: (width, height) => ({ data: new Uint8ClampedArray(4 * width * height) }),
    };
    // biome-ignore lint/correctness/noConstructorReturn: what stands for a context answers to every name of one
    return new Proxy(own, {
      get: (_, name) =>
        own[name] ??
        ((...values) => calls.push([name, ...values.map((value) => plain(name === 'fillText' ? `${value}` : value))])),
      set(_, name, value) {
        if (typeof value !== 'function') own[name] = value;
        calls.push([name, plain(value)]);
        return true;
      },
    });
  }
}

export class Canvas {
  constructor() {
    this.calls = [];
    this.context = new Context(this.calls);
    this.style = {};
  }

  getContext() {
    return this.context;
  }
}

/** What modules that draw on canvases take from a browser. */
export function pretend() {
  globalThis.window = { devicePixelRatio: 1 };
  globalThis.document = { createElement: () => new Canvas() };
}
