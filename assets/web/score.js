// The score: position × step, which is also the scrubber, with lanes for confidence and the trace's own columns on the same rows.
// What does not depend on the current step is drawn once on two layers (past and to come) and copied from there.

import { segment, sized, twoShort } from './dom.js';
import { GLOSSARY } from './symbols.js';
import { LETTER, Lane } from './unpack.js';

const TOP = 28;
const SYMBOL = 13; // room for the name of a threshold
const ANSWER = 30; // height of the row that says what the answer is worth
const SIDES_AT_MOST = 3;
const FADED = [0.34, 0.34, 0.52];

/** Columns are made in advance, so that a live run does not move them at every step. */
export function capacity(steps, finished) {
  if (finished) return Math.max(1, steps);
  let room = 6;
  while (room < steps) room = room < 16 ? room + 5 : Math.ceil(room * 1.5);
  return room;
}

/** The columns of a run of `steps` steps on `width` pixels; the start column may be narrower. */
export function columns(width, steps, first) {
  const each = width / (steps + first);
  return {
    each,
    x: (k) => (k <= 0 ? 0 : (k - 1 + first) * each),
    width: (k) => (k ? each : each * first),
    step: (x) => Math.max(0, Math.min(steps, Math.floor(x / each + 1 - first))),
  };
}

export class Score {
  constructor() {
    this.past = document.createElement('canvas');
    this.future = document.createElement('canvas');
  }

  /** Lays out and draws the layers. `weights` draws the mapped column instead of the states. */
  prepare(lane, { width, narrow, tall, theme, weights, steps, roomy = false, bare = false }) {
    const length = lane.length;
    const big = length > 40;
    const available = big ? (narrow ? 256 : tall) : 368;
    const row = big ? Math.max(1, available / length) : Math.min(roomy ? 40 : 24, Math.max(8, Math.floor(available / length)));
    const label = big ? 30 : lane.board ? (length > lane.board.given.length ? 66 : 44) : narrow ? 90 : 96;
    const sides = lane.sides.filter((column) => !bare && (!narrow || column.mirror)).slice(0, SIDES_AT_MOST);
    const sizes = [bare ? 62 : narrow ? 40 : 56, ...sides.map((column) => (narrow ? 54 : column.mirror ? 72 : 48))];
    const gap = narrow ? 7 : 9;
    const lanes = sizes.reduce((sum, size) => sum + size + gap, 0);
    const area = Math.max(40, width - label - lanes - 2);
    Object.assign(this, { lane, width, narrow, theme, weights, big, roomy, row, label, sides, sizes, gap, steps, area });
    this.answer = roomy && lane.frames.some((frame) => frame.right !== null) ? ANSWER : 0;
    this.height = TOP + row * length + this.answer + 4;
    this.columns = columns(area, steps, big ? 1 : 0.5);
    this.layer(sized(this.past, area, this.height), false);
    this.layer(sized(this.future, area, this.height), true);
    this.events = [];
    if (row >= 10 && this.columns.each >= 10) {
      lane.frames.forEach((frame, k) => frame.marks.forEach((bits, i) => k && bits & 127 && this.events.push([k, i, bits])));
    }
  }

  y(i) {
    return this.big ? Math.round(TOP + i * this.row) : TOP + i * this.row;
  }

  layer(g, faded) {
    const { lane, theme, row, big } = this;
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

  stateRow(g, i, y, height, middle, faded) {
    const { lane, theme, row, columns: cols } = this;
    const frames = lane.frames;
    const pad = row >= 10 ? 2 : 0;
    for (let k = 0; k <= lane.last;) {
      const frame = frames[k];
      const state = frame.states[i];
      const token = frame.tokens[i];
      let end = k;
      const goesOn = (next) => next.states[i] === state && next.tokens[i] === token && next.revoked[i] === frame.revoked[i];
      while (end < lane.last && goesOn(frames[end + 1])) end++;
      const a = cols.x(k) + 1;
      const b = cols.x(end + 1) - 1;
      g.globalAlpha = faded ? FADED[state] : 1;
      if (state === 0) {
        if (frame.revoked[i]) this.hatch(g, a, b, y, pad, height, faded);
        else if (row >= 6) {
          g.strokeStyle = theme.line2;
          g.setLineDash([2, 3]);
          g.beginPath();
          g.moveTo(a + 2, Math.round(middle) - 0.5);
          g.lineTo(b - 2, Math.round(middle) - 0.5);
          g.stroke();
          g.setLineDash([]);
        }
        if (row >= 13 && cols.each >= 24) for (let t = k; t <= end; t++) if (frames[t].soft[i]) this.soft(g, frames[t], i, cols.x(t), y);
      } else {
        g.fillStyle = theme[LETTER[state]];
        if (row >= 10) {
          g.beginPath();
          g.roundRect(a, y + pad, Math.max(1, b - a), row - 2 * pad, 2.5);
          g.fill();
        } else g.fillRect(a, y, Math.max(1, b - a), height);
        if (row >= 13 && cols.each >= 24) this.name(g, i, k, a, b, y, middle, faded ? theme.ink : theme[`${LETTER[state]}-on`]);
      }
      g.globalAlpha = 1;
      k = end + 1;
    }
  }

  /** What a mask is made of: the leading word, and a thin bar as long as the share of all words; or the sign of why it is of none. */
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
    g.font = `10px ${theme.sans}`;
    if (!made.length) g.fillText(tag.number == null ? tag.mark : `${tag.mark} ${twoShort(tag.number)}`, x + 4, y + row / 2);
    else g.fillText(lane.word(made[0]), x + 4, y + row / 2 - 1.5);
    g.fillRect(x + 4, y + row - 4, (cols.each - 8) * share, 2);
    g.restore();
  }

  /** Masked again: never to be taken for "never decided". */
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

  /** A bar is labelled where its token begins; a change of state does not repeat it. */
  name(g, i, k, a, b, y, middle, colour) {
    const { lane, row, columns: cols, theme } = this;
    let first = k;
    while (first > 0 && lane.frames[first - 1].tokens[i] === lane.frames[k].tokens[i]) first--;
    g.globalAlpha = 1;
    g.fillStyle = colour;
    g.font = this.roomy ? `600 14px ${theme.mono}` : `${row < 15 ? 10 : 11}px ${theme.sans}`;
    g.save();
    g.beginPath();
    g.rect(a, y, b - a - 2, row);
    g.clip();
    g.fillText(lane.word(lane.frames[k].tokens[i]), cols.x(first) + 6, middle + 0.5);
    g.restore();
  }

  /** w over the steps: dark where the x path is trusted, light where it is not. */
  weightRow(g, i, y, height, faded) {
    const { lane, theme, columns: cols, row } = this;
    const pad = row >= 10 ? 2 : 0;
    lane.frames.forEach((frame, k) => {
      const w = lane.share(frame, lane.mapped, i);
      if (w == null) return;
      g.fillStyle = theme.ink;
      g.globalAlpha = (0.1 + 0.8 * w) * (faded ? 0.35 : 1);
      const gap = cols.each > 4 ? 1 : 0;
      g.fillRect(cols.x(k) + gap, y + pad, cols.width(k) - 2 * gap, Math.max(1, (row >= 10 ? row : height) - 2 * pad));
      if (row >= 14 && cols.each >= 22) {
        g.globalAlpha = 1;
        g.fillStyle = w > 0.55 && !faded ? theme.panel : theme.ink;
        g.font = `10px ${theme.sans}`;
        g.textAlign = 'center';
        g.fillText(written(Lane.value(frame, lane.mapped.name, i)), cols.x(k) + cols.width(k) / 2, y + row / 2 + 0.5);
        g.textAlign = 'left';
      }
    });
    g.globalAlpha = 1;
  }

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
    if (!this.weights) for (const [k, i, bits] of this.events) if (!hideLater || k <= now) this.event(g, k, i, bits, k > now);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    g.beginPath();
    g.roundRect(label + cols.x(now) - 0.5, TOP - 1.5, cols.width(now) + 1, row * lane.length + this.answer + 3, 3);
    g.stroke();
    if (this.answer) this.answers(g, hideLater ? now : lane.last);
    this.lanes(g, frame);
  }

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
    g.drawImage(layer, from * ratio, 0, (to - from) * ratio, layer.height, this.label + from, 0, to - from, this.height);
  }

  axis(g, now, hideLater) {
    const { theme, columns: cols, label, lane, steps } = this;
    numbers(g, cols, label, steps, now, theme, (k) => (k > lane.last ? theme.line2 : theme.ink2));
    g.fillStyle = theme.scar;
    for (let k = 1; k <= (hideLater ? now : lane.last); k++) {
      if (!lane.at(k).revokes) continue;
      triangle(g, label + cols.x(k) + cols.width(k) / 2, 22.7, 3.5, 2.8, 1);
      g.fill();
    }
    g.textAlign = 'left';
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.ink2;
    g.fillText('step', 0, 9.5);
  }

  rows(g, frame, selected) {
    const { lane, theme, row, label, narrow, big } = this;
    if (big) {
      g.font = `10px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      g.textAlign = 'right';
      const every = lane.length > 512 ? 256 : 32;
      for (let i = 0; i < lane.length; i += every) g.fillText(i, 26, this.y(i) + row / 2 + 4);
      g.textAlign = 'left';
      return;
    }
    for (let i = 0; i < lane.length; i++) {
      const y = this.y(i);
      const middle = y + row / 2;
      const decided = frame.states[i] > 0;
      const ghost = !decided && frame.revoked[i] ? frame.ghost[i] : -1;
      g.font = `10px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      g.textAlign = 'right';
      g.fillText(lane.positions?.[i] ?? i, 16, middle + 0.5);
      g.textAlign = 'left';
      g.font = `${i === selected ? '600 ' : ''}${row < 14 || narrow ? 11 : 12}px ${theme.mono}`;
      g.fillStyle = lane.fixed[i] ? theme.ink2 : decided ? theme.ink : theme.ink3;
      const text = decided ? lane.word(frame.tokens[i]) : ghost >= 0 ? lane.word(ghost) : lane.board ? '·' : '· · ·';
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

  /** Under the rows: how many blanks each pass left, or whether what it wrote is right. */
  answers(g, last) {
    const { lane, theme, row, label, columns: cols } = this;
    const y = TOP + row * lane.length + ANSWER / 2 + 2;
    const say = (x, text, colour, weight, room = label) => {
      g.fillStyle = colour;
      g.font = `${weight} 12px ${theme.sans}`;
      g.fillText(text, x, y, room);
    };
    say(0, 'answer', theme.ink2, 400);
    for (let k = 1; k <= Math.min(last, lane.last); k++) {
      const { right, states } = lane.frames[k];
      const blanks = states.filter((state) => !state).length;
      const text = right === true ? '✓ right' : right === false ? '✗ wrong' : blanks ? `${blanks} blank${blanks > 1 ? 's' : ''}` : '';
      say(label + cols.x(k) + 8, text, right === null ? theme.ink2 : right ? theme['promoted-t'] : theme['demoted-t'], right === null ? 400 : 600, cols.each - 10);
    }
  }

  event(g, k, i, bits, later) {
    const { theme, row, label, columns: cols } = this;
    const x = label + cols.x(k);
    const middle = TOP + i * row + row / 2;
    const edge = row >= 18 ? row / 2 - 6 : 0;
    g.globalAlpha = later ? 0.4 : 1;
    g.strokeStyle = theme.panel;
    g.lineWidth = 2;
    const both = (colour) => {
      g.fillStyle = colour;
      g.stroke();
      g.fill();
    };
    if (bits & 1) {
      triangle(g, x, middle - edge, 4.5, 4.2, -1);
      both(theme.promoted);
    }
    if (bits & 2) {
      triangle(g, x, middle + edge, 4.5, 4.2, 1);
      both(theme.demoted);
    }
    if (bits & 8) {
      g.beginPath();
      g.moveTo(x, middle - 4.5);
      g.lineTo(x + 4.5, middle);
      g.lineTo(x, middle + 4.5);
      g.lineTo(x - 4.5, middle);
      g.closePath();
      both(theme.replaced);
    }
    const stroke = (colour, points) => {
      for (const [style, width] of [[theme.panel, 4.5], [colour, 2]]) {
        g.strokeStyle = style;
        g.lineWidth = width;
        g.beginPath();
        points.forEach(([dx, dy], n) => (n ? g.lineTo(x + dx, dy) : g.moveTo(x + dx, dy)));
        g.stroke();
      }
    };
    if (bits & 4) stroke(theme.demoted, [[-4, middle + edge - 2], [0, middle + edge + 2], [4, middle + edge - 2]]);
    if (bits & 16) stroke(theme.ink2, [[-4, middle], [-1, middle + 3], [4, middle - 3]]);
    if (bits & 32) {
      g.beginPath();
      g.rect(x - 3.5, middle - 3.5, 7, 7);
      both(theme.ink);
    }
    g.globalAlpha = 1;
  }

  lanes(g, frame) {
    const { theme, row, label, area, gap, sizes, lane, big } = this;
    const depth = row * lane.length;
    let left = label + area + gap + 2;
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
    const bar = (i, x, w) => {
      if (big) g.fillRect(x, this.y(i), w, Math.max(1, this.y(i + 1) - this.y(i)));
      else g.fillRect(x, TOP + i * row + (row - thick) / 2, w, Math.max(1, thick));
    };
    this.confidence(g, frame, next(sizes[0], sizes[0] < 56 ? 'c' : 'confidence'), sizes[0], depth, bar, thick);
    this.sides.forEach((column, k) => {
      const size = sizes[k + 1];
      if (column.mirror) this.pull(g, frame, column, next(size, ''), size, depth, bar);
      else this.dots(g, frame, column, next(size, column.symbol || column.name), size);
    });
  }

  confidence(g, frame, x, size, depth, bar, thick) {
    const { theme, lane } = this;
    const lines = lane.about.thresholds.map((threshold) => Math.round(x + threshold.at * size) + 0.5);
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
      g.font = `10px ${theme.sans}`;
      g.textAlign = 'center';
      g.fillStyle = theme.ink2;
      g.fillText(threshold.symbol.replace('_', ''), at - apart(n, n + 1) + apart(n, n - 1), TOP - 7);
    });
    for (const i of lane.free) {
      if (!frame.confidence[i]) continue;
      const state = frame.states[i];
      const w = frame.confidence[i] * size;
      g.fillStyle = theme[LETTER[state]];
      g.globalAlpha = state ? 1 : 0.5;
      bar(i, x, w);
      g.globalAlpha = 1;
    }
  }

  /** A column as a dot per row, between the ends of its range. */
  dots(g, frame, column, x, size) {
    const { theme, lane, row } = this;
    const [low, high] = column.range || [0, 1];
    const zero = x + 3 + Math.max(0, Math.min(1, -low / (high - low))) * (size - 6);
    for (const i of lane.free) {
      const w = lane.share(frame, column, i);
      if (w == null) continue;
      const middle = TOP + i * row + row / 2;
      const at = x + 3 + w * (size - 6);
      if (row < 10) {
        const y = this.y(i);
        const height = Math.max(1, this.y(i + 1) - y);
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
        g.fillText(written(Lane.value(frame, column.name, i)), w > 0.5 ? x + 3 : x + size - 3, middle - 6.2);
      }
    }
  }

  /** Two columns on the two sides of one axis, with the promotions and demotions that made them. */
  pull(g, frame, column, x, size, depth, bar) {
    const { theme, lane, row } = this;
    const other = lane.about.columns.find((each) => each.name === column.mirror);
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
      const largest = Math.max(1, ...frame.columns[column.name], ...(frame.columns[other.name] || []));
      const scale = (size / 2 - 5) / largest;
      for (const i of lane.free) {
        const d = scale * Lane.value(frame, other.name, i);
        g.fillStyle = theme.demoted;
        if (d) bar(i, middle - d, d);
        g.fillStyle = theme.promoted;
        const p = scale * Lane.value(frame, column.name, i);
        if (p) bar(i, middle, p);
      }
      if (row >= 8) {
        for (const [positions, colour, direction] of [[frame.events.promoted || [], theme.promoted, -1], [frame.events.demoted || [], theme.demoted, 1]]) {
          g.fillStyle = colour;
          for (const i of positions) {
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

  /** The column that a heading at this point stands for; none elsewhere. */
  headingAt(x, y) {
    if (y > TOP) return null;
    let left = this.label + this.area;
    for (const [k, size] of this.sizes.entries()) {
      left += this.gap;
      if (x >= left && x <= left + size) {
        if (!k) return { symbol: 'c', help: GLOSSARY.c };
        const column = this.sides[k - 1];
        return column.mirror && x < left + size / 2 ? this.lane.about.columns.find((each) => each.name === column.mirror) : column;
      }
      left += size;
    }
    return null;
  }

  /** What is under a point of the canvas: the step of its column, the position of its row; null where there is none. */
  hit(x, y) {
    const inside = x >= this.label && x <= this.label + this.area;
    const i = Math.floor((y - TOP) / this.row);
    return {
      step: inside ? this.columns.step(x - this.label) : null,
      position: i >= 0 && i < this.lane.length ? i : null,
    };
  }
}

/** A number in few characters: .52, 1.0, 3.4, -.21 */
const written = (value) => (Math.abs(value) > 1 ? value.toFixed(1) : `${value < 0 ? '-' : ''}${twoShort(Math.abs(value))}`);

function triangle(g, x, y, half, height, direction) {
  g.beginPath();
  g.moveTo(x - half, y - direction * height);
  g.lineTo(x + half, y - direction * height);
  g.lineTo(x, y + direction * height);
  g.closePath();
}

/** The numbers above the small maps. */
export function drawAxis(canvas, { width, steps, step, theme }) {
  const g = sized(canvas, width, 18);
  numbers(g, columns(width - 4, steps, 1), 0, steps, step, theme, () => theme.ink2);
}

function numbers(g, cols, left, steps, now, theme, colour) {
  g.textBaseline = 'middle';
  g.textAlign = 'center';
  const every = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024].find((n) => n * cols.each >= 22) || 4096;
  for (let k = 0; k <= steps; k++) {
    const x = left + cols.x(k) + cols.width(k) / 2;
    if (k === now) {
      const half = (k || cols.width(0) > 20 ? Math.max(20, Math.min(cols.each - 4, 26)) : 16) / 2;
      g.fillStyle = theme.ink;
      g.beginPath();
      g.roundRect(x - half, 1, 2 * half, 16, 4);
      g.fill();
      g.fillStyle = theme.panel;
      g.font = `600 11px ${theme.sans}`;
      g.fillText(k, x, 9.5);
    } else if (k % every === 0 && Math.abs(k - now) * cols.each > 16) {
      g.font = `11px ${theme.sans}`;
      g.fillStyle = colour(k);
      g.fillText(k, x, 9.5);
    }
  }
}

/** The small map of a lane beside others: the same picture without names and lanes, on the same two layers. */
export class LaneMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.past = document.createElement('canvas');
    this.future = document.createElement('canvas');
  }

  prepare(lane, { width, height, steps, theme }) {
    Object.assign(this, { lane, width, height, theme, columns: columns(width - 4, steps, 1), row: height / lane.length });
    this.layer(this.past, false);
    this.layer(this.future, true);
  }

  layer(canvas, faded) {
    const { lane, theme, columns: cols, row } = this;
    const g = sized(canvas, this.width, this.height);
    const gap = cols.each > 5 ? 0.7 : 0;
    for (let i = 0; i < lane.length; i++) {
      const y = Math.round(i * row);
      const tall = Math.max(1, Math.round((i + 1) * row) - y - (row > 4 ? 1 : 0));
      if (lane.fixed[i]) {
        g.globalAlpha = 0.5;
        g.fillStyle = theme.line2;
        g.fillRect(0, y + (tall >> 1), cols.x(lane.last + 1), 1);
        continue;
      }
      lane.frames.forEach((frame, k) => {
        const state = frame.states[i];
        if (!state && !frame.revoked[i]) return;
        g.globalAlpha = state ? (faded ? FADED[state] : 1) : faded ? 0.15 : 0.35;
        g.fillStyle = state ? theme[LETTER[state]] : theme.scar;
        g.fillRect(cols.x(k), y, cols.each - gap, tall);
      });
    }
    const half = Math.min(row > 3 ? 4.5 : 3, cols.each / 2);
    g.globalAlpha = faded ? 0.45 : 1;
    g.fillStyle = theme.demoted;
    g.strokeStyle = theme.panel;
    g.lineWidth = 1.5;
    lane.frames.forEach((frame, k) => {
      for (const i of frame.events.demoted || []) {
        triangle(g, cols.x(k) + half, (i + 0.5) * row, half, half * 0.9, 1);
        g.stroke();
        g.fill();
      }
    });
  }

  draw(step, hideLater, divergence) {
    const { lane, theme, columns: cols, width, height } = this;
    const g = sized(this.canvas, width, height);
    const split = Math.min(width, cols.x(step + 1));
    const copy = (layer, from, to) => {
      const ratio = layer.width / width;
      if (to > from) g.drawImage(layer, from * ratio, 0, (to - from) * ratio, layer.height, from, 0, to - from, height);
    };
    copy(this.past, 0, split);
    if (!hideLater) copy(this.future, split, width);
    if (divergence > 0 && !(hideLater && divergence > step)) {
      g.strokeStyle = theme.demoted;
      g.lineWidth = 1.5;
      g.setLineDash([4, 3]);
      segment(g, cols.x(divergence), 0, cols.x(divergence), height);
      g.setLineDash([]);
    }
    g.fillStyle = theme.ink;
    if (lane.finished && !(hideLater && lane.last > step)) g.fillRect(cols.x(lane.last + 1) - 1, 0, 2, height);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    g.strokeRect(cols.x(step) + 0.75, 0.75, Math.max(2, cols.width(step) - 1.5), height - 1.5);
  }
}
