// What the viewer makes of traces, without a browser: `node drawn.js PAYLOADS.json` prints, by name of trace, digests of the
// frames that are read from it and of all that the panels draw on canvases of them.

import { readFileSync } from 'node:fs';
import { Canvas, digest, plain, pretend } from './canvas.js';

pretend();
const { Lane } = await import('../../assets/web/data/unpack.js');
const { Mask } = await import('../../assets/web/draw/mask.js');
const { LifeLine } = await import('../../assets/web/draw/lifeline.js');
const { drawStrips } = await import('../../assets/web/draw/strips.js');
const { LaneMap } = await import('../../assets/web/draw/lanemap.js');
const { Score } = await import('../../assets/web/draw/score.js');

const READ = [
  'index',
  'block',
  'tokens',
  'states',
  'confidence',
  'revoked',
  'replaced',
  'ghost',
  'marks',
  'say',
  'right',
  'finished',
  'plain',
  'mask',
];
const theme = new Proxy(
  { dark: false, sans: 'sans', mono: 'mono', panel: '#FFFFFF' },
  { get: (own, name) => own[name] ?? `#${digest(name).slice(0, 6)}` },
);

function frames(lane) {
  return lane.frames.map((frame) => [
    READ.map((name) => plain(frame[name] ?? null)),
    Object.entries(frame.columns).map(([name, row]) => [name, plain(row)]),
    Array.from(frame.tokens, (id) => lane.word(id)),
  ]);
}

function score(lane, weights) {
  const canvas = new Canvas();
  const drawn = new Score();
  drawn.prepare(lane, { width: 760, narrow: false, tall: 358, theme, weights, steps: lane.last });
  for (let step = 0; step <= lane.last; step++) drawn.draw(canvas, step, lane.free[0], step % 2 === 1);
  return [drawn.past.calls, drawn.future.calls, canvas.calls];
}

function map(lane) {
  const canvas = new Canvas();
  const drawn = new LaneMap(canvas);
  drawn.prepare(lane, { width: 180, height: 60, steps: lane.last, theme });
  for (let step = 0; step <= lane.last; step++) drawn.draw(step, false, 2);
  return [drawn.past.calls, drawn.future.calls, canvas.calls];
}

async function mask(lane, byState, width) {
  const canvas = new Canvas();
  const drawn = new Mask();
  const told = [];
  for (const frame of lane.frames.filter((each) => each.mask)) {
    drawn.show(lane, frame, lane.frames[frame.index - 1], byState);
    const block = Math.min(lane.head.block, lane.length);
    for (const layers of [0, 2])
      drawn.draw(canvas, { width, block, selected: lane.free.at(-1), layers, weights: null, theme });
    told.push(drawn.standard(frame.block[0]));
  }
  return [canvas.calls, told];
}

function position(lane) {
  const canvas = new Canvas();
  const place = lane.free[1] ?? lane.free[0];
  lane.frames.forEach((frame, step) => {
    const before = lane.frames[Math.max(0, step - 1)];
    drawStrips(canvas, { lane, frame, before, position: place, width: 330, looks: null, theme });
    new LifeLine().draw(canvas, {
      lane,
      position: place,
      width: 330,
      height: 126,
      step,
      hideLater: step % 2 === 1,
      last: lane.last,
      theme,
    });
  });
  return canvas.calls;
}

const drawn = {};
for (const [name, payload] of Object.entries(JSON.parse(readFileSync(process.argv[2], 'utf8')))) {
  const lane = await Lane.open(payload);
  drawn[name] = {
    frames: digest(frames(lane)),
    score: digest([score(lane, false), lane.mapped && score(lane, true)]),
    map: digest(map(lane)),
    position: digest(position(lane)),
    mask: digest([await mask(lane, true, 338), await mask(lane, false, 90)]),
  };
}
process.stdout.write(JSON.stringify(drawn));
