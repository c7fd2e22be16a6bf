// What a map of a long score promises, whatever the sizes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pretend } from './canvas.js';

pretend();
const { pixel } = await import('../../assets/web/draw/dom.js');
const { drawBitmap } = await import('../../assets/web/draw/bitmap.js');
const { columns } = await import('../../assets/web/draw/axis.js');
const { Lens } = await import('../../assets/web/draw/lens.js');
const { part } = await import('../../assets/web/data/part.js');

let seed = 7;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const theme = {
  panel: '#FFFFFF',
  ink: '#000000',
  line2: '#CCCCCC',
  scar: '#CC5500',
  M: '#EEEEEE',
  C: '#E69F00',
  U: '#0072B2',
};

/** A decode that decides and takes back at random; what it took back by step and position. */
function decode(length, steps, block) {
  const kinds = ['blank', 'tentative', 'decided'].map((role, n) => ({ role, letter: 'MCU'[n] }));
  const revoked = new Uint8Array(length);
  const events = [];
  let states = new Uint8Array(length);
  const frames = Array.from({ length: steps + 1 }, (_, index) => {
    const next = Uint8Array.from(states, (state) => (random(9) ? state : random(3)));
    const demoted = [...next.keys()].filter((i) => index && states[i] && !next[i]);
    for (const i of demoted) revoked[i] += 1;
    events.push(...demoted.map((i) => [i, index]));
    states = next;
    const row = new Uint8Array(length);
    return { index, states, kinds: states, revoked: revoked.slice(), drafted: row, events: { demoted }, columns: {} };
  });
  const lane = { length, frames, kinds, strength: [1, 1, 1], fixed: new Uint8Array(length), head: { block } };
  lane.begins = (i) => i % block === 0;
  lane.look = (letter) => letter;
  return [lane, events];
}

test('every revocation has a pixel of its colour on the map, however small', () => {
  for (let round = 0; round < 60; round++) {
    const [length, steps] = [1 + random(round % 3 ? 40 : 700), 1 + random(round % 5 ? 40 : 300)];
    const [lane, events] = decode(length, steps, 1 + random(64));
    const [width, height, ratio] = [1 + random(300), 1 + random(300), [1, 1.25, 2][random(3)]];
    const cols = columns(width, steps, random(2) ? 1 : 0.5);
    for (const faded of [false, true]) {
      let image = null;
      const g = {
        createImageData: (w, h) => ({ width: w, data: new Uint8ClampedArray(4 * w * h) }),
        putImageData: (given) => (image = given),
      };
      drawBitmap(g, lane, { width, height, x: cols.x, ratio, theme, faded });
      const pixels = new Int32Array(image.data.buffer);
      const [across, down] = [image.width, pixels.length / image.width];
      const scar = pixel(theme.scar, faded ? 0.5 : 1, theme.panel);
      for (const [i, k] of events) {
        const [left, right] = [k, k + 1].map((each) => cols.x(each) * ratio);
        const [top, bottom] = [i, i + 1].map((each) => (each * down) / length);
        let seen = false;
        for (let y = Math.floor(top) - 1; y <= Math.ceil(bottom); y++)
          for (let x = Math.floor(left) - 1; x <= Math.ceil(right); x++)
            seen ||= x >= 0 && x < across && y >= 0 && y < down && pixels[y * across + x] === scar;
        assert.ok(seen, `${length} × ${steps} on ${across} × ${down}: position ${i}, step ${k}`);
      }
    }
  }
});

test('a lens shows where one is, keeps still while it may, and stays inside', () => {
  const lens = new Lens();
  Object.assign(lens, { lane: { length: 300, last: 90 }, rows: 23, columns: 7 });
  let [position, step] = [0, 0];
  for (let n = 0; n < 3000; n++) {
    const before = [lens.first, lens.from];
    if (random(4))
      [position, step] = [
        Math.max(0, Math.min(299, position + random(3) - 1)),
        Math.max(0, Math.min(90, step + random(3) - 1)),
      ];
    else [position, step] = [random(300), random(91)];
    lens.look(position, step);
    const { first, from } = lens;
    assert.ok(first >= 0 && first + 23 <= 300 && position >= first && position < first + 23);
    assert.ok(from >= 0 && from + 7 <= 91 && step >= from && step < from + 7);
    if (position >= before[0] + 2 && position < before[0] + 21) assert.equal(first, before[0]);
    if (step >= before[1] && step < before[1] + 7) assert.equal(from, before[1]);
  }
});

test('a part of a lane says of its positions and steps what the whole says', () => {
  const [lane] = decode(50, 20, 8);
  for (const frame of lane.frames)
    Object.assign(frame, {
      tokens: frame.states,
      confidence: [...frame.states],
      ghost: [],
      marks: frame.states,
      tags: [],
      soft: {},
    });
  Object.assign(lane, { last: 20, blockOf: (i) => Math.floor(i / 8), largest: () => 1 });
  const places = [3, 9, 30, 31, 32];
  const small = part(lane, places, [5, 12]);
  assert.equal(small.frames.length, 8);
  small.frames.forEach((frame, k) => {
    assert.deepEqual(
      frame.states,
      places.map((i) => lane.frames[5 + k].states[i]),
    );
    const demoted = places.filter((i) => lane.frames[5 + k].events.demoted.includes(i));
    assert.deepEqual(
      (frame.events.demoted ?? []).map((n) => places[n]),
      demoted,
    );
  });
  assert.deepEqual(
    [1, 2, 3, 4].map((n) => small.begins(n)),
    [true, true, false, true],
  );
});
