// The score: position × step, which is also the scrubber, with lanes for confidence and the trace's own columns on the same rows.
// What does not depend on the current step is drawn once on two layers (past and to come) and copied from there.

import { FADED, TOP, columns, numbers } from './axis.js';
import { drawBitmap } from './bitmap.js';
import { judgement, sized, twoShort, written } from './dom.js';
import { drawMarks } from './marks.js';
import { triangle } from './shapes.js';
import { Sides } from './sides.js';
import { LETTER, Lane } from '../data/unpack.js';
import { SLOT, Winnable } from './winnable.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Column } from '../data/schema.js' */
/** @import { Columns } from './axis.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

const ANSWER = 30; // height of the row that says what the answer is worth
const SIDES_AT_MOST = 3;

/**
 * @typedef {{ width: number, narrow: boolean, tall: number, theme: Theme, weights: boolean, steps: number, roomy?: boolean,
 *   bare?: boolean, slot?: boolean, map?: boolean, from?: number, fixed?: number }} Look
 */

export class Score {
  /** @type {Lane} */ lane;
  /** @type {Theme} */ theme;
  /** @type {Columns} */ columns;
  /** @type {Required<Column>[]} */ sides;
  /** @type {number[]} */ sizes;
  /** @type {[number, number, number][]} step, position, bits */ events;
  /** @type {number} */ width;
  /** @type {number} */ height;
  /** @type {number} width of the steps */ area;
  /** @type {number} width of the names */ label;
  /** @type {number} */ row;
  /** @type {number} */ gap;
  /** @type {number} */ answer;
  /** @type {number} */ steps;
  /** @type {number} */ slot;
  /** @type {boolean} */ narrow;
  /** @type {boolean} */ map;
  /** @type {boolean} */ big;
  /** @type {number} */ from;
  /** @type {boolean} */ roomy;
  /** @type {boolean} */ weights;

  constructor() {
    this.past = document.createElement('canvas');
    this.future = document.createElement('canvas');
    this.beside = new Sides(this);
    this.won = new Winnable(this);
  }

  /**
   * Lays out and draws the layers. `weights` draws the mapped column instead of the states; a `map` is as high as it is told,
   * however many rows it has; the first column is that of step `from`, and a row `fixed` pixels high.
   * @param {Lane} lane @param {Look} look
   */
  prepare(lane, look) {
    const { width, narrow, tall, theme, weights, steps, roomy = false, bare = false, slot = false } = look;
    const { map = false, from = 0, fixed } = look;
    const length = lane.length;
    const big = map || length > 40;
    const available = big ? (narrow ? 256 : tall) : 368;
    const usual = big
      ? Math.max(1, available / length)
      : Math.min(roomy ? 40 : 24, Math.max(8, Math.floor(available / length)));
    const row = fixed ?? (map ? tall / length : usual);
    const label = big ? 30 : lane.board ? (length > lane.board.given.length ? 66 : 44) : narrow ? 90 : 96;
    const sides = map ? [] : lane.sides.filter((column) => !bare && (!narrow || column.mirror)).slice(0, SIDES_AT_MOST);
    const confidence = map ? (slot ? 48 : 0) : bare ? 62 : narrow ? 40 : 56; // of a map only what the marks are called
    const sizes = [confidence, ...sides.map((column) => (narrow ? 54 : column.mirror ? 72 : 48))];
    const gap = narrow ? 7 : 9;
    const lanes = sizes.reduce((sum, size) => sum + size + gap, 0);
    const area = Math.max(40, width - label - lanes - 2);
    Object.assign(this, { lane, width, narrow, theme, weights, map, big, roomy, row, label, sides, sizes, gap, steps });
    Object.assign(this, { area, from });
    this.answer = roomy && lane.frames.some((frame) => frame.right !== null) ? ANSWER : 0;
    this.slot = slot ? SLOT : 0; // for the marks of a diagnosis
    this.height = TOP + row * length + this.answer + 4 + this.slot;
    this.columns = columns(area, steps, big || from ? 1 : 0.5);
    this.layer(sized(this.past, area, this.height), false);
    this.layer(sized(this.future, area, this.height), true);
    this.events = [];
    if (row >= 10 && this.columns.each >= 10) {
      lane.frames.forEach((frame, k) =>
        frame.marks.forEach((bits, i) => frame.index && bits & 127 && this.events.push([k, i, bits])),
      );
    }
  }

  /** @param {number} i */
  y(i) {
    return this.big ? Math.round(TOP + i * this.row) : TOP + i * this.row;
  }

  /** @param {Pen} g @param {boolean} faded */
  layer(g, faded) {
    const { lane, theme, row, big, columns: cols } = this;
    if (this.map) {
      const ratio = g.vector ? 1 : this.past.width / this.area;
      const look = { theme, faded, weights: this.weights, x: cols.x, ratio };
      return drawBitmap(g, lane, { top: TOP, width: this.area, height: row * lane.length, ...look });
    }
    g.textBaseline = 'middle';
    for (let i = 0; i < lane.length; i++) {
      const y = this.y(i);
      const height = big ? this.y(i + 1) - y : row;
      const middle = y + row / 2;
      if (lane.fixed[i]) {
        g.globalAlpha = big ? 0.7 : 1;
        g.fillStyle = theme.line2;
        if (big) g.fillRect(0, y, this.area, height);
        else g.fillRect(2, Math.round(middle) - 0.5, this.area - 4, 1);
        g.globalAlpha = 1;
        continue;
      }
      if (i && (lane.begins(i) || (lane.board && i % lane.board.width === 0 && i <= lane.board.given.length))) {
        g.fillStyle = theme.line2;
        g.fillRect(0, Math.round(y) - 0.5, this.area, 1);
      }
      if (this.weights) this.weightRow(g, i, y, height, faded);
      else this.stateRow(g, i, y, height, middle, faded);
    }
  }

  /**
   * @param {Pen} g @param {number} i @param {number} y @param {number} height @param {number} middle
   * @param {boolean} faded
   */
  stateRow(g, i, y, height, middle, faded) {
    const { lane, theme, row, columns: cols } = this;
    const frames = lane.frames;
    const pad = row >= 10 ? 2 : 0;
    for (let k = 0; k <= lane.last; ) {
      const frame = frames[k];
      const state = frame.states[i];
      const token = frame.tokens[i];
      let end = k;
      /** @param {Frame} next */
      const goesOn = (next) =>
        next.kinds[i] === frame.kinds[i] && next.tokens[i] === token && next.revoked[i] === frame.revoked[i];
      while (end < lane.last && goesOn(frames[end + 1])) end++;
      const a = cols.x(k) + 1;
      const b = cols.x(end + 1) - 1;
      const strength = lane.strength[frame.kinds[i]];
      g.globalAlpha = (faded ? FADED[state] : 1) * strength;
      if (state === 0) {
        if (frame.drafted[i] && row >= 13 && cols.each >= 24) this.name(g, i, k, a, b, y, middle, theme.ink3);
        else if (frame.revoked[i] && !frame.drafted[i]) this.hatch(g, a, b, y, pad, height, faded);
        else if (row >= 6) {
          g.strokeStyle = theme.line2;
          g.setLineDash([2, 3]);
          g.beginPath();
          g.moveTo(a + 2, Math.round(middle) - 0.5);
          g.lineTo(b - 2, Math.round(middle) - 0.5);
          g.stroke();
          g.setLineDash([]);
        }
        if (row >= 13 && cols.each >= 24)
          for (let t = k; t <= end; t++) if (frames[t].soft[i]) this.soft(g, frames[t], i, cols.x(t), y);
      } else {
        g.fillStyle = theme[LETTER[state]];
        if (row >= 10) {
          g.beginPath();
          g.roundRect(a, y + pad, Math.max(1, b - a), row - 2 * pad, 2.5);
          g.fill();
        } else g.fillRect(a, y, Math.max(1, b - a), height);
        if (row >= 13 && cols.each >= 24)
          this.name(g, i, k, a, b, y, middle, faded || strength < 1 ? theme.ink : theme[`${LETTER[state]}-on`]);
      }
      g.globalAlpha = 1;
      k = end + 1;
    }
  }

  /**
   * What a mask is made of: the leading word, and a thin bar as long as the share of all words; or the sign of why it
   * is of none.
   * @param {Pen} g @param {Frame} frame @param {number} i @param {number} x @param {number} y
   */
  soft(g, frame, i, x, y) {
    const made = frame.soft[i];
    const tag = frame.tags[i];
    if (!made.length && !tag) return;
    const { theme, row, columns: cols, lane } = this;
    const share = made.reduce((sum, p, k) => sum + (k % 2 ? p / 10000 : 0), 0);
    g.save();
    g.beginPath();
    g.rect(x, y, cols.each - 2, row);
    g.clip();
    g.fillStyle = theme.panel;
    g.fillRect(x + 1, y, cols.each - 2, row);
    g.fillStyle = theme.ink2;
    g.font = `11px ${theme.sans}`;
    if (!made.length)
      g.fillText(tag.number == null ? tag.mark : `${tag.mark} ${twoShort(tag.number)}`, x + 4, y + row / 2);
    else g.fillText(lane.word(made[0]), x + 4, y + row / 2 - 1.5);
    g.fillRect(x + 4, y + row - 4, (cols.each - 8) * share, 2);
    g.restore();
  }

  /**
   * Masked again: never to be taken for "never decided".
   * @param {Pen} g @param {number} a @param {number} b @param {number} y @param {number} pad @param {number} height
   * @param {boolean} faded
   */
  hatch(g, a, b, y, pad, height, faded) {
    const { theme, row } = this;
    g.strokeStyle = g.fillStyle = theme.scar;
    g.lineWidth = 1;
    if (row < 6) {
      g.globalAlpha = faded ? 0.12 : 0.3;
      g.fillRect(a, y, b - a, height);
      g.globalAlpha = faded ? 0.4 : 1;
      g.fillRect(a - 1, y - 1, 3, 3);
      return;
    }
    g.save();
    g.beginPath();
    g.rect(a, y + pad, b - a, row - 2 * pad);
    g.clip();
    g.beginPath();
    for (let x = a - row; x < b; x += 5) {
      g.moveTo(x, y + row);
      g.lineTo(x + row, y);
    }
    g.stroke();
    g.restore();
    g.strokeRect(a + 0.5, y + pad + 0.5, Math.max(0, b - a - 1), row - 2 * pad - 1);
  }

  /**
   * A bar is labelled where its token begins; a change of state does not repeat it.
   * @param {Pen} g @param {number} i @param {number} k @param {number} a @param {number} b @param {number} y
   * @param {number} middle @param {string} colour
   */
  name(g, i, k, a, b, y, middle, colour) {
    const { lane, row, columns: cols, theme } = this;
    let first = k;
    while (first > 0 && lane.frames[first - 1].tokens[i] === lane.frames[k].tokens[i]) first--;
    g.globalAlpha = 1;
    g.fillStyle = colour;
    g.font = this.roomy ? `600 14px ${theme.mono}` : `11px ${theme.sans}`;
    g.save();
    g.beginPath();
    g.rect(a, y, b - a - 2, row);
    g.clip();
    g.fillText(lane.word(lane.frames[k].tokens[i]), cols.x(first) + 6, middle + 0.5);
    g.restore();
  }

  /**
   * w over the steps: dark where the x path is trusted, light where it is not.
   * @param {Pen} g @param {number} i @param {number} y @param {number} height @param {boolean} faded
   */
  weightRow(g, i, y, height, faded) {
    const { lane, theme, columns: cols, row } = this;
    const pad = row >= 10 ? 2 : 0;
    const { mapped } = lane;
    if (!mapped) return;
    lane.frames.forEach((frame, k) => {
      const w = lane.share(frame, mapped, i);
      if (w == null) return;
      g.fillStyle = theme.ink;
      g.globalAlpha = (0.1 + 0.8 * w) * (faded ? 0.35 : 1);
      const gap = cols.each > 4 ? 1 : 0;
      g.fillRect(cols.x(k) + gap, y + pad, cols.width(k) - 2 * gap, Math.max(1, (row >= 10 ? row : height) - 2 * pad));
      if (row >= 14 && cols.each >= 22) {
        g.globalAlpha = 1;
        g.fillStyle = w > 0.55 && !faded ? theme.panel : theme.ink;
        g.font = `11px ${theme.sans}`;
        g.textAlign = 'center';
        g.fillText(written(Lane.value(frame, mapped.name, i) ?? 0), cols.x(k) + cols.width(k) / 2, y + row / 2 + 0.5);
        g.textAlign = 'left';
      }
    });
    g.globalAlpha = 1;
  }

  /** @param {Sheet} canvas @param {number} step @param {number} selected @param {boolean} hideLater */
  draw(canvas, step, selected, hideLater) {
    const { lane, width, height, theme, row, label, columns: cols, big, area } = this;
    const g = sized(canvas, width, height);
    const frame = lane.at(step);
    const now = Math.min(step, this.steps);
    g.textBaseline = 'middle';
    g.fillStyle = theme.sunk;
    g.fillRect(0, big ? this.y(selected) - 1 : this.y(selected), width, Math.max(row, 4));
    const split = Math.min(area, cols.x(now + 1));
    this.copy(g, false, 0, split);
    if (!hideLater) this.copy(g, true, split, area);
    this.axis(g, now, hideLater);
    this.rows(g, frame, selected);
    if (!this.weights)
      for (const [k, i, bits] of this.events) if (!hideLater || k <= now) this.event(g, k, i, bits, k > now);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    g.beginPath();
    g.roundRect(label + cols.x(now) - 0.5, TOP - 1.5, cols.width(now) + 1, row * lane.length + this.answer + 3, 3);
    g.stroke();
    if (this.answer) this.answers(g, hideLater ? now : lane.last);
    if (!this.map) this.beside.draw(g, frame);
    if (this.slot) this.won.draw(g, hideLater ? now : lane.last);
  }

  /** @param {Pen} g @param {boolean} faded @param {number} from @param {number} to */
  copy(g, faded, from, to) {
    if (to <= from) return;
    const layer = faded ? this.future : this.past;
    if (g.vector) {
      g.save();
      g.translate(this.label, 0);
      g.beginPath();
      g.rect(from, 0, to - from, this.height);
      g.clip();
      this.layer(g, faded);
      g.restore();
      return;
    }
    const ratio = layer.width / this.area;
    g.drawImage(
      layer,
      from * ratio,
      0,
      (to - from) * ratio,
      layer.height,
      this.label + from,
      0,
      to - from,
      this.height,
    );
  }

  /** @param {Pen} g @param {number} now @param {boolean} hideLater */
  axis(g, now, hideLater) {
    const { theme, columns: cols, label, lane, steps } = this;
    numbers(g, cols, label, steps, now, theme, (k) => (k > lane.last ? theme.line2 : theme.ink2), this.from);
    g.fillStyle = theme.scar;
    for (let k = this.from ? 0 : 1; k <= (hideLater ? now : lane.last); k++) {
      if (!lane.at(k).revokes) continue;
      triangle(g, label + cols.x(k) + cols.width(k) / 2, 22.7, 3.5, 2.8, 1);
      g.fill();
    }
    g.textAlign = 'left';
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.ink2;
    g.fillText('step', 0, 9.5);
  }

  /** @param {Pen} g @param {Frame} frame @param {number} selected */
  rows(g, frame, selected) {
    const { lane, theme, row, label, narrow, big } = this;
    if (big) {
      g.font = `11px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      g.textAlign = 'right';
      const every = [32, 64, 128, 256].find((n) => n * row >= 22) ?? 512;
      for (let i = 0; i < lane.length; i += every) g.fillText(String(i), 26, this.y(i) + row / 2 + 4);
      g.textAlign = 'left';
      return;
    }
    for (let i = 0; i < lane.length; i++) {
      const y = this.y(i);
      const middle = y + row / 2;
      const decided = frame.states[i] > 0;
      const there = decided || frame.drafted[i] > 0;
      const ghost = !there && frame.revoked[i] ? frame.ghost[i] : -1;
      g.font = `11px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      g.textAlign = 'right';
      g.fillText(String(lane.positions?.[i] ?? i), 16, middle + 0.5);
      g.textAlign = 'left';
      g.font = `${i === selected ? '600 ' : ''}${row < 14 || narrow ? 11 : 12}px ${theme.mono}`;
      g.fillStyle = lane.fixed[i] ? theme.ink2 : decided ? theme.ink : theme.ink3;
      const text = there ? lane.word(frame.tokens[i]) : ghost >= 0 ? lane.word(ghost) : lane.board ? '·' : '· · ·';
      g.save();
      g.beginPath();
      g.rect(20, y, label - 22, row);
      g.clip();
      g.fillText(text, 22, middle + 0.5);
      if (ghost >= 0) {
        g.strokeStyle = theme.scar;
        g.lineWidth = 1.2;
        g.beginPath();
        g.moveTo(22, middle);
        g.lineTo(22 + g.measureText(text).width, middle);
        g.stroke();
      }
      g.restore();
    }
  }

  /**
   * Under the rows: how many blanks each pass left, or whether what it wrote is right.
   * @param {Pen} g @param {number} last
   */
  answers(g, last) {
    const { lane, theme, row, label, columns: cols } = this;
    const y = TOP + row * lane.length + ANSWER / 2 + 2;
    /** @param {number} x @param {string} text @param {string} colour @param {number} weight @param {number} [room] */
    const say = (x, text, colour, weight, room = label) => {
      g.fillStyle = colour;
      g.font = `${weight} 12px ${theme.sans}`;
      g.fillText(text, x, y, room);
    };
    say(0, 'answer', theme.ink2, 400);
    for (let k = 1; k <= Math.min(last, lane.last); k++) {
      const { right, states } = lane.frames[k];
      const blanks = states.filter((state) => !state).length;
      const [word, sign, , colour] = judgement(right);
      const text = word ? `${sign} ${word}` : blanks ? `${blanks} blank${blanks > 1 ? 's' : ''}` : '';
      say(label + cols.x(k) + 8, text, theme[colour], word ? 600 : 400, cols.each - 10);
    }
  }

  /** @param {Pen} g @param {number} k @param {number} i @param {number} bits @param {boolean} later */
  event(g, k, i, bits, later) {
    const edge = this.row >= 18 ? this.row / 2 - 6 : 0;
    g.globalAlpha = later ? 0.4 : 1;
    drawMarks(g, bits, this.label + this.columns.x(k), TOP + i * this.row + this.row / 2, edge, this.theme);
    g.globalAlpha = 1;
  }

  /**
   * The column on the other side of an axis.
   * @param {Required<Column>} column
   */
  mirrored(column) {
    return this.lane.about.columns.find((each) => each.name === column.mirror) ?? column;
  }

  /**
   * What is under a point of the canvas: the step of its column, the position of its row; null where there is none.
   * @param {number} x @param {number} y
   */
  hit(x, y) {
    const inside = x >= this.label && x <= this.label + this.area;
    const i = Math.floor((y - TOP) / this.row);
    return {
      step: inside ? this.from + this.columns.step(x - this.label) : null,
      position: i >= 0 && i < this.lane.length ? i : null,
    };
  }
}
