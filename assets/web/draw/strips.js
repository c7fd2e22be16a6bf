// The tokens that the two queries of a position saw, and where those queries looked.

import { sized, twoShort } from './dom.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Sheet, Theme, Weight } from './types.js' */

const LABEL = 74;

/**
 * Filled: the token, dashed: only its mask. `looks(path, i, j)` is how much the query at i looked at the token at j,
 * if that is known.
 * @param {Sheet} canvas
 * @param {{ lane: Lane, frame: Frame, before: Frame, position: number, width: number, looks: Weight | null, theme: Theme }} look
 */
export function drawStrips(canvas, { lane, frame, before, position, width, looks, theme }) {
  const high = looks ? 30 : 22;
  const g = sized(canvas, width, (lane.about.shadow ? 44 : 22) + (looks ? 18 : 0));
  const cell = (width - LABEL) / lane.length;
  const inner = cell > 5 ? cell - 2 : cell;
  const run = frame.index > 0;
  g.textBaseline = 'middle';
  (frame.mask && !frame.plain ? ['x', 's'] : ['x']).forEach((path, r) => {
    const y = r * high + 2;
    if (!run || (lane.about.unmeasured && !frame.mask)) return;
    const state = before.states[position];
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.ink2;
    g.textAlign = 'right';
    const numbered = lane.tentative && frame.mask;
    g.fillText(`${path} query`, LABEL - (numbered ? 18 : 6), y + 9);
    if (numbered) {
      g.strokeStyle = theme.ink2;
      g.lineWidth = 1;
      g.beginPath();
      g.arc(LABEL - 9, y + 9, 6, 0, 7);
      g.stroke();
      g.textAlign = 'center';
      g.font = `9px ${theme.sans}`;
      g.fillText(String(state + 1 + (path === 's' ? 3 : 0)), LABEL - 9, y + 9.5);
    }
    const end = lane.about.later ? lane.length : frame.block[1];
    for (let j = 0; j < end; j++) {
      const x = LABEL + j * cell;
      const other = before.states[j];
      if (Lane.sees(frame, path, position, j)) {
        g.fillStyle = lane.fixed[j] ? theme.ink3 : other ? theme[LETTER[other]] : theme.line2;
        g.globalAlpha = lane.fixed[j] ? 0.55 : 1;
        g.fillRect(x, y, inner, looks ? 4 : 18);
        g.globalAlpha = 1;
        if (looks) {
          const weight = looks(path, position, j);
          g.fillStyle = theme.ink;
          g.globalAlpha = Math.sqrt(weight);
          g.fillRect(x, y + 4, inner, 14);
          g.globalAlpha = 1;
          g.font = `600 9px ${theme.sans}`;
          g.textAlign = 'center';
          if (weight >= 0.05 && cell > 12) g.fillText(twoShort(weight), x + inner / 2, y + 23.5);
        } else if (cell > 12 && !lane.fixed[j]) {
          g.fillStyle = other ? theme[`${LETTER[other]}-on`] : theme.ink;
          g.font = `600 9px ${theme.sans}`;
          g.textAlign = 'center';
          g.fillText(lane.state(before, j).letter, x + inner / 2, y + 9.5);
        }
      } else if (cell > 5) {
        g.strokeStyle = theme.line2;
        g.lineWidth = 1;
        g.setLineDash([2, 2]);
        g.strokeRect(x + 0.5, y + 0.5, inner - 1, 17);
        g.setLineDash([]);
      }
      if (j === position) {
        g.strokeStyle = theme.ink;
        g.lineWidth = 1.5;
        g.strokeRect(x - 0.5, y - 0.5, Math.max(3, inner + 1), 19);
      }
    }
  });
}
