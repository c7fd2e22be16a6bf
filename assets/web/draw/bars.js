// Bars of causes, on zones of the states that a probability means.

import { sized, threeShort } from './dom.js';
import { diamond, segment, triangle } from './shapes.js';
import { turned } from '../data/unpack.js';

/** @import { Cause, Limit, Verdict } from '../data/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

export const ROW = 19;
export const UPPER = 50; // above the rows of visible tokens
const LEFT = 106; // of the bars: position and token
const RIGHT = 58; // value and state

/** @typedef {{ lane: Lane, width: number, verdict: Verdict, span: [number, number], thresholds: Limit[], limits: number[], theme: Theme }} View */
/** @typedef {(what: string, x: number, y: number, align: CanvasTextAlign, font: string, colour: string) => void} Write */

/**
 * Bars from the probability that the verdict had to the one it would have had without each token of `rows`, between
 * the ends of `span`; hollow for tokens that were `hidden`.
 * @param {Sheet} canvas @param {Cause[]} rows @param {boolean} hidden @param {View} look
 */
export function drawBars(canvas, rows, hidden, look) {
  const {
    lane,
    width,
    verdict,
    span: [low, high],
    thresholds,
    limits,
    theme,
  } = look;
  const top = hidden ? 2 : UPPER;
  const height = top + rows.length * ROW + 3;
  const room = width - LEFT - RIGHT;
  /** @param {number} p */
  const x = (p) => LEFT + ((Math.max(low, Math.min(high, p)) - low) / (high - low)) * room;
  const g = sized(canvas, width, rows.length || !hidden ? height : 1);
  if (hidden && !rows.length) return;
  g.textBaseline = 'middle';
  /** @type {Write} */
  const text = (what, at, y, align, font, colour) => {
    Object.assign(g, { textAlign: align, font, fillStyle: colour });
    g.fillText(what, at, y);
  };
  const small = `11px ${theme.sans}`;
  const zones = thresholds.filter((each) => each.enters);
  [{ enters: lane.kinds[0].letter, at: low }, ...zones].forEach(({ enters, at }, n) => {
    const to = zones[n]?.at ?? high;
    if (!zones.length || to <= low || at >= high) return;
    g.fillStyle = lane.look(enters) === 'M' ? theme.sunk : theme[`${lane.look(enters)}-rest`];
    g.fillRect(x(at), top - 1, x(to) - x(at), height - top);
    if (!hidden) shape(g, lane, enters, (x(at) + x(to)) / 2, 8, 6, theme, true);
  });
  if (!hidden) {
    text('without', LEFT - 6, top - 9, 'right', small, theme.ink2);
    text('would be', width, top - 9, 'right', small, theme.ink2);
  }
  thresholds.forEach(({ at, symbol }, n) => {
    if (at <= low || at >= high) return;
    g.strokeStyle = theme.ink3;
    g.lineWidth = 1;
    g.setLineDash([2.5, 2.5]);
    segment(g, x(at), top - (hidden ? 1 : 32), x(at), height);
    g.setLineDash([]);
    const first = n === 0 && thresholds.length > 1;
    if (!hidden)
      text(symbol.replace('_', ''), x(at) + (first ? -3 : 3), top - 24, first ? 'right' : 'left', small, theme.ink2);
  });
  rows.forEach((row, k) => drawRow(g, row, top + k * ROW + ROW / 2 - 1, x, text, hidden, look));
  const at = x(verdict.actual);
  g.strokeStyle = theme.ink;
  g.lineWidth = 2;
  segment(g, at, top - (hidden ? 2 : 8), at, height);
  if (hidden) return;
  g.fillStyle = theme.ink;
  triangle(g, at, top - 9, 4, 3, 1);
  g.fill();
  const left = verdict.actual < low + 0.35 * (high - low);
  const words = `actual ${threeShort(verdict.actual, limits)}`;
  g.font = `650 11px ${theme.sans}`;
  const wide = g.measureText(words).width;
  g.fillStyle = theme.panel; // a threshold's line must not cross it
  g.fillRect(left ? at + 6 : at - 10 - wide, top - 16, wide + 4, 11);
  text(words, at + (left ? 8 : -8), top - 10, left ? 'left' : 'right', g.font, theme.ink);
}

/**
 * @param {Pen} g @param {Cause} cause @param {number} y @param {(p: number) => number} x @param {Write} text
 * @param {boolean} hidden @param {View} look
 */
function drawRow(g, cause, y, x, text, hidden, look) {
  const [position, word, p, state] = cause;
  const {
    lane,
    width,
    verdict,
    span: [low, high],
    limits,
    theme,
  } = look;
  const changed = turned(verdict, cause);
  const [from, to] = [x(verdict.actual), x(p)];
  if (changed) {
    g.fillStyle = theme.sunk;
    g.fillRect(0, y - ROW / 2, LEFT - 2, ROW);
    g.fillRect(width - RIGHT + 4, y - ROW / 2, RIGHT - 4, ROW);
  }
  const name = word.length > 10 ? `${word.slice(0, 9)}…` : word;
  const prompt = (position ?? 0) < 0;
  text(prompt ? 'prompt' : String(position ?? ''), prompt ? 34 : 18, y, 'right', `9.5px ${theme.sans}`, theme.ink2);
  text(name, LEFT - 6, y, 'right', `${changed ? 700 : 400} 12px ${theme.mono}`, changed ? theme.ink : theme.ink2);
  const far = Math.abs(to - from);
  const thick = changed || hidden ? 7 : 5;
  if (hidden) {
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.4;
    g.setLineDash([3, 2]);
    g.strokeRect(Math.min(from, to), y - 3.5, Math.max(1, far), 7);
    g.setLineDash([]);
  } else {
    g.fillStyle = changed ? theme.ink : theme.dim;
    g.fillRect(Math.min(from, to), y - thick / 2, Math.max(1.5, far), thick);
  }
  if (p < low || p > high) {
    g.fillStyle = theme.ink;
    arrow(g, p < low ? LEFT + 1 : width - RIGHT - 1, y, p < low ? 1 : -1);
  } else if (far > 4 || changed) {
    g.globalAlpha = changed ? 1 : 0.6;
    shape(g, lane, state, Math.max(LEFT + 6, Math.min(width - RIGHT - 6, to)), y, 5, theme);
    g.globalAlpha = 1;
  }
  const value = threeShort(p, limits);
  text(value, width - 19, y, 'right', `${changed ? 700 : 400} 11px ${theme.sans}`, changed ? theme.ink : theme.ink2);
  if (changed) shape(g, lane, state, width - 7, y, 6, theme, true);
  else text(state, width - 7, y, 'center', `11px ${theme.sans}`, theme.ink2);
}

/**
 * At an edge of the axis, pointing outwards.
 * @param {Pen} g @param {number} x @param {number} y @param {number} inwards
 */
function arrow(g, x, y, inwards) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x + 8 * inwards, y - 5);
  g.lineTo(x + 8 * inwards, y + 5);
  g.closePath();
  g.fill();
}

/**
 * A state's shape, with its letter if there is room for one.
 * @param {Pen} g @param {Lane} lane @param {string} state @param {number} x @param {number} y @param {number} r
 * @param {Theme} theme @param {boolean} [letter]
 */
function shape(g, lane, state, x, y, r, theme, letter) {
  const look = lane.look(state);
  g.beginPath();
  if (look === 'U') g.arc(x, y, r, 0, 7);
  else if (look === 'C') diamond(g, x, y, r + 1);
  else g.rect(x - r + 0.5, y - r + 0.5, 2 * r - 1, 2 * r - 1);
  g.closePath();
  g.fillStyle = look === 'M' ? theme.panel : theme[look];
  g.fill();
  if (look === 'M') {
    Object.assign(g, { strokeStyle: theme.M, lineWidth: 1 });
    g.setLineDash([2, 2]);
    g.stroke();
    g.setLineDash([]);
  }
  if (!letter || !state) return;
  Object.assign(g, {
    fillStyle: look === 'M' ? theme.ink2 : theme[`${look}-on`],
    font: `600 9px ${theme.sans}`,
    textAlign: 'center',
  });
  g.fillText(state, x, y + 0.5);
}
