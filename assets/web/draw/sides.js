// The lanes beside the score, on its rows: confidence, and the trace's own columns.

import { TOP } from './axis.js';
import { written } from './dom.js';
import { segment, triangle } from './shapes.js';
import { GLOSSARY } from './symbols.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Column } from '../data/schema.js' */
/** @import { Frame } from '../data/frame.js' */
/** @import { Score } from './score.js' */
/** @import { Pen } from './types.js' */

const SYMBOL = 13; // room for the name of a threshold

/** @typedef {(i: number, x: number, width: number) => void} Bar of a row */

export class Sides {
  /**
   * Those of a score that is laid out: it says how wide they are and where its rows stand.
   * @param {Score} score
   */
  constructor(score) {
    this.score = score;
  }

  /** @param {Pen} g @param {Frame} frame */
  draw(g, frame) {
    const { theme, row, label, area, gap, sizes, lane, big } = this.score;
    const depth = row * lane.length;
    let left = label + area + gap + 2;
    /** @param {number} size @param {string} title */
    const next = (size, title) => {
      const x = left;
      left += size + gap;
      g.font = `11px ${theme.sans}`;
      g.textAlign = 'left';
      g.fillStyle = theme.ink2;
      g.fillText(title, x, 9.5);
      g.strokeStyle = theme.line;
      g.lineWidth = 1;
      g.strokeRect(x + 0.5, TOP - 0.5, size - 1, depth + 1);
      return x;
    };
    const thick = row >= 10 ? Math.min(10, row - 6) : row;
    /** @param {number} i @param {number} x @param {number} w */
    const bar = (i, x, w) => {
      if (big) g.fillRect(x, this.score.y(i), w, Math.max(1, this.score.y(i + 1) - this.score.y(i)));
      else g.fillRect(x, TOP + i * row + (row - thick) / 2, w, Math.max(1, thick));
    };
    this.confidence(g, frame, next(sizes[0], sizes[0] < 56 ? 'c' : 'confidence'), sizes[0], depth, bar);
    this.score.sides.forEach((column, k) => {
      const size = sizes[k + 1];
      if (column.mirror) this.pull(g, frame, column, next(size, ''), size, depth, bar);
      else this.dots(g, frame, column, next(size, column.symbol || column.name), size);
    });
  }

  /**
   * @param {Pen} g @param {Frame} frame @param {number} x @param {number} size @param {number} depth @param {Bar} bar
   */
  confidence(g, frame, x, size, depth, bar) {
    const { theme, lane } = this.score;
    const lines = lane.about.thresholds.map((threshold) => Math.round(x + threshold.at * size) + 0.5);
    /** @param {number} n @param {number} other */
    const apart = (n, other) => Math.max(0, SYMBOL - Math.abs(lines[other] - lines[n])) / 2 || 0; // their names may not collide
    lane.about.thresholds.forEach((threshold, n) => {
      const at = lines[n];
      g.strokeStyle = theme.ink3;
      g.lineWidth = 1;
      g.setLineDash([2, 2]);
      g.beginPath();
      g.moveTo(at, TOP);
      g.lineTo(at, TOP + depth);
      g.stroke();
      g.setLineDash([]);
      g.font = `11px ${theme.sans}`;
      g.textAlign = 'center';
      g.fillStyle = theme.ink2;
      g.fillText(threshold.symbol.replace('_', ''), at - apart(n, n + 1) + apart(n, n - 1), TOP - 7);
    });
    for (const i of lane.free) {
      if (!frame.confidence[i]) continue;
      const state = frame.states[i];
      const w = (frame.confidence[i] ?? 0) * size;
      g.fillStyle = theme[LETTER[state]];
      g.globalAlpha = state ? 1 : 0.5;
      bar(i, x, w);
      g.globalAlpha = 1;
    }
  }

  /**
   * A column as a dot per row, between the ends of its range.
   * @param {Pen} g @param {Frame} frame @param {Required<Column>} column @param {number} x @param {number} size
   */
  dots(g, frame, column, x, size) {
    const { theme, lane, row } = this.score;
    const [low, high] = column.range || [0, 1];
    const zero = x + 3 + Math.max(0, Math.min(1, -low / (high - low))) * (size - 6);
    for (const i of lane.free) {
      const w = lane.share(frame, column, i);
      if (w == null) continue;
      const middle = TOP + i * row + row / 2;
      const at = x + 3 + w * (size - 6);
      if (row < 10) {
        const y = this.score.y(i);
        const height = Math.max(1, this.score.y(i + 1) - y);
        g.fillStyle = theme.bar;
        g.globalAlpha = 0.55;
        g.fillRect(x, y, w * size, height);
        g.globalAlpha = 1;
        g.fillStyle = theme.ink;
        g.fillRect(x + w * size - 2, y, 2, height);
        continue;
      }
      g.lineWidth = 1;
      g.strokeStyle = theme.line2;
      segment(g, x + 3, middle, x + size - 3, middle);
      g.lineWidth = 2;
      g.strokeStyle = theme.ink;
      segment(g, zero, middle, at, middle);
      g.fillStyle = theme.ink;
      g.beginPath();
      g.arc(at, middle, 3.4, 0, 7);
      g.fill();
      if (row >= 16) {
        g.font = `9.5px ${theme.sans}`;
        g.fillStyle = theme.ink2;
        g.textAlign = w > 0.5 ? 'left' : 'right';
        g.fillText(written(Lane.value(frame, column.name, i) ?? 0), w > 0.5 ? x + 3 : x + size - 3, middle - 6.2);
      }
    }
  }

  /**
   * Two columns on the two sides of one axis, with the promotions and demotions that made them.
   * @param {Pen} g @param {Frame} frame @param {Required<Column>} column @param {number} x @param {number} size
   * @param {number} depth @param {Bar} bar
   */
  pull(g, frame, column, x, size, depth, bar) {
    const { theme, lane, row } = this.score;
    const other = this.score.mirrored(column);
    const middle = x + size / 2;
    g.font = `11px ${theme.sans}`;
    g.textAlign = 'center';
    g.fillStyle = theme['demoted-t'];
    g.fillText(other.symbol || other.name, middle - size * 0.32, 9.5);
    g.fillStyle = theme['promoted-t'];
    g.fillText(column.symbol || column.name, middle + size * 0.32, 9.5);
    g.fillStyle = theme.ink2;
    g.fillText('pull', middle, 9.5);
    if (frame.columns[column.name]) {
      const values = [...frame.columns[column.name], ...(frame.columns[other.name] || [])];
      const largest = Math.max(1, ...values.map((value) => value ?? 0));
      const scale = (size / 2 - 5) / largest;
      for (const i of lane.free) {
        const d = scale * (Lane.value(frame, other.name, i) ?? 0);
        g.fillStyle = theme.demoted;
        if (d) bar(i, middle - d, d);
        g.fillStyle = theme.promoted;
        const p = scale * (Lane.value(frame, column.name, i) ?? 0);
        if (p) bar(i, middle, p);
      }
      if (row >= 8) {
        for (const direction of [-1, 1]) {
          const [positions, colour] =
            direction < 0 ? [frame.events.promoted, theme.promoted] : [frame.events.demoted, theme.demoted];
          g.fillStyle = colour;
          for (const i of positions ?? []) {
            triangle(g, middle, TOP + i * row + row / 2, 5, 4.5, direction);
            g.fill();
          }
        }
      }
    }
    g.strokeStyle = theme.ink3;
    g.lineWidth = 1;
    segment(g, middle, TOP, middle, TOP + depth);
  }

  /**
   * The column that a heading at this point stands for; none elsewhere.
   * @param {number} x @param {number} y @returns {{ symbol: string, name?: string, help: string } | null}
   */
  headingAt(x, y) {
    if (y > TOP) return null;
    let left = this.score.label + this.score.area;
    for (const [k, size] of this.score.sizes.entries()) {
      left += this.score.gap;
      if (x >= left && x <= left + size) {
        if (!k) return { symbol: 'c', help: GLOSSARY.c };
        const column = this.score.sides[k - 1];
        return column.mirror && x < left + size / 2 ? this.score.mirrored(column) : column;
      }
      left += size;
    }
    return null;
  }
}
