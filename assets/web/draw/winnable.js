// Under the score, a mark for every state: could the answer still be had from there. Beside it how many solutions are left,
// the step at which it was lost, and in the score the letters of the tokens that are blamed. All of it is ink.

import { TOP } from './axis.js';

/** @import { Score } from './score.js' */
/** @import { Pen } from './types.js' */

export const SLOT = 66; // height of the marks, the numbers and the flag, whether they are known yet or not
const LETTERED = { row: 13, column: 30 }; // a cell in which a letter has room
const TICK = [-0.5, 0, -0.1, 0.4, 0.5, -0.4];

/** @param {number} n */
export const letterOf = (n) => String.fromCharCode(97 + n);

export class Winnable {
  /** @type {number[]} where letters stand beside the rows */ tags = [];

  /**
   * That of a score that is laid out.
   * @param {Score} score
   */
  constructor(score) {
    this.score = score;
  }

  /**
   * As far as step `last`: what comes later may be hidden.
   * @param {Pen} g @param {number} last
   */
  draw(g, last) {
    const { lane, theme, columns, label, row, area, answer, gap, sizes } = this.score;
    const { diagnosis } = lane;
    const top = TOP + row * lane.length + answer + 6;
    const y = top + 11;
    const { lost, winnable = [], solutions = [], annotation } = diagnosis ?? {};
    const lostHere = lost != null && lost <= last ? lost : null;
    if (lostHere !== null) this.flag(g, lostHere, annotation?.flag ?? '', top);
    const radius = Math.max(1.5, Math.min(8, columns.each / 2 - 1));
    const first = label + columns.x(1) - radius - 1; // the start column may be too narrow for it
    for (let k = 0; k <= last; k++)
      this.mark(g, k ? this.middle(k) : Math.min(first, this.middle(0)), y, radius, winnable[k] ?? null);
    if (solutions.length) this.numbers(g, solutions, last, lostHere, top + 29);
    this.tags = [];
    if (lostHere !== null || !lost) annotation?.marked.forEach((each, n) => this.letter(g, each, letterOf(n), last));
    g.textAlign = 'left';
    g.fillStyle = theme.ink2;
    g.font = `11px ${theme.sans}`;
    const x = label + area + gap + 2;
    g.fillText('still', x, top + 5, sizes[0]);
    g.fillText('winnable', x, top + 17, sizes[0]);
    if (solutions.length) g.fillText('solutions', x, top + 31, sizes[0]);
  }

  /** @param {number} k */
  middle(k) {
    const { label, columns } = this.score;
    return label + columns.x(k) + columns.width(k) / 2;
  }

  /**
   * An open disc with a tick, a full one with a cross, or a dot where nobody has looked; small ones have no sign.
   * @param {Pen} g @param {number} x @param {number} y @param {number} radius @param {boolean | null} mark
   */
  mark(g, x, y, radius, mark) {
    const { theme } = this.score;
    g.beginPath();
    g.arc(x, y, mark === null ? Math.min(1.8, radius) : radius, 0, 2 * Math.PI);
    g.fillStyle = mark === null ? theme.line2 : mark ? theme.panel : theme.ink;
    g.fill();
    if (mark === null) return;
    g.strokeStyle = theme.ink;
    g.lineWidth = radius < 4 ? 1 : 1.6;
    g.stroke();
    if (radius < 5) return;
    const s = radius * 0.75;
    g.strokeStyle = mark ? theme.ink : theme.panel;
    g.beginPath();
    if (mark) TICK.forEach((_, n) => n % 2 || g[n ? 'lineTo' : 'moveTo'](x + s * TICK[n], y + s * TICK[n + 1]));
    else
      for (const side of [-1, 1]) {
        g.moveTo(x - 0.45 * s, y - 0.45 * s * side);
        g.lineTo(x + 0.45 * s, y + 0.45 * s * side);
      }
    g.stroke();
  }

  /**
   * A line through score and marks before the lost step, with its name.
   * @param {Pen} g @param {number} lost @param {string} text @param {number} top
   */
  flag(g, lost, text, top) {
    const { theme, label, columns, area, width } = this.score;
    const x = Math.round(label + columns.x(lost));
    g.fillStyle = theme.ink;
    g.fillRect(x - 1, TOP - 4, 2, top + SLOT - 8 - TOP + 4);
    g.font = `600 11px ${theme.sans}`;
    const size = g.measureText(text).width + 14;
    const left = Math.max(0, Math.min(x - 1, Math.max(label + area, width - 60) - size));
    g.beginPath();
    g.roundRect(left, top + 40, size, 16, 3);
    g.fill();
    g.fillStyle = theme.panel;
    g.textAlign = 'left';
    g.fillText(text, left + 7, top + 48.5);
  }

  /**
   * How many solutions are left, where there is room for all; otherwise before and after the lost step.
   * @param {Pen} g @param {(number | null)[]} solutions @param {number} last @param {number | null} lost @param {number} y
   */
  numbers(g, solutions, last, lost, y) {
    const { theme, columns } = this.score;
    g.font = `11px ${theme.sans}`;
    g.textAlign = 'center';
    const wide = Math.max(...solutions.map((count) => String(count ?? '').length)) * 6 + 3;
    const first = Math.min(columns.width(0), columns.each) >= wide;
    solutions.forEach((count, k) => {
      const named = columns.each >= wide ? k > 0 || first : lost !== null && (k === lost || k === lost - 1);
      if (count === null || k > last || !named) return;
      g.fillStyle = count ? theme.ink2 : theme.ink;
      g.fillText(String(count), this.middle(k), y);
    });
  }

  /**
   * How many letters stand beside a row already, or so near that this one would cover them.
   * @param {number} y
   */
  beside(y) {
    this.tags.push(y);
    return this.tags.filter((other) => Math.abs(other - y) < 11).length - 1;
  }

  /**
   * A ring around the cell in which a token was written, and its letter; without room for it, beside the row.
   * @param {Pen} g @param {{ position: number, since: number }} marked @param {string} letter @param {number} last
   */
  letter(g, { position, since }, letter, last) {
    const { theme, label, columns, row, big } = this.score;
    if (since > last || this.score.weights) return;
    const roomy = !big && row >= LETTERED.row && columns.width(since) >= LETTERED.column;
    const [x, y] = [label + columns.x(since), this.score.y(position)];
    const high = Math.max(row, 4);
    g.strokeStyle = theme.ink;
    g.lineWidth = roomy ? 2.5 : 1.5;
    g.beginPath();
    g.roundRect(x + 0.5, y + (roomy ? 0.5 : -0.5), Math.max(4, columns.width(since) - 1), high, 3);
    g.stroke();
    const size = roomy ? 13 : 10;
    const [left, top] = roomy
      ? [x + columns.width(since) - size - 4, y + (row - size) / 2]
      : [label - (size + 1) * (1 + this.beside(y)), y + row / 2 - size / 2];
    g.fillStyle = theme.ink;
    g.beginPath();
    g.roundRect(left, top, size, size, 3);
    g.fill();
    g.fillStyle = theme.panel;
    g.font = `700 ${size - 2}px ${theme.sans}`;
    g.textAlign = 'center';
    g.fillText(letter, left + size / 2, top + size / 2);
    g.textAlign = 'left';
  }
}
