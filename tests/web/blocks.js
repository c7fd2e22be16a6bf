// What the browser reads from masks and says of painted blocks, for tests/web/test_blocks.py: payloads in, rows and verdicts out.

import { readFileSync } from 'node:fs';
import { sight } from '../../assets/web/draw/sight.js';
import { inBlocks, wrongIn } from '../../assets/web/draw/blocks.js';
import { Lane } from '../../assets/web/data/unpack.js';

const found = [];
for (const { payload, paintings } of JSON.parse(readFileSync(0, 'utf8'))) {
  const lane = await Lane.open(payload);
  for (const frame of lane.frames.slice(1)) {
    const [start, end] = frame.block;
    const rows = { x: [], s: [] };
    if (frame.mask)
      for (const path of ['x', 's'])
        for (let i = start; i < end; i++)
          rows[path].push(sight(frame, path, i).map(({ word, blank }) => [word, blank]));
    const words = new Set(paintings[frame.index - 1]);
    const wrong = frame.mask ? rows.s.map((_, n) => wrongIn(frame, 's', start + n, words)) : [];
    found.push({ rows, wrong, order: inBlocks(frame), painted: [...words] });
  }
}
console.log(JSON.stringify(found));
