// The attention mask of a step's forward pass: rows are queries, columns keys, x before s. It draws the bits it is given.

import { h, pixel, segment, sized, two } from './dom.js';
import { rich } from './symbols.js';
import { LETTER, Lane } from './unpack.js';

const LEFT = 44;
const UPPER = 34;
const ZOOMS = [1, 2, 4, 8];

export class Mask {
  constructor() {
    this.small = document.createElement('canvas');
    this.zoom = 1;
    this.origin = [0, 0];
    this.cell = null; // [row, column] under the pointer or the keyboard's focus, in drawn order
  }

  /** Takes a frame to draw; `before` is the frame its forward pass started from. */
  show(lane, frame, before, byState) {
    const [start, end] = frame.block;
    const size = end - start;
    const changed = this.lane !== lane || this.frame !== frame || this.byState !== byState;
    Object.assign(this, { lane, frame, before, byState, size, halves: frame.plain ? [0] : [0, size], count: (frame.plain ? 1 : 2) * size });
    if (!changed) return;
    const all = Array.from({ length: size }, (_, k) => k);
    const state = (k) => before.states[start + k];
    this.groups = byState ? [0, 1, 2].map((code) => all.filter((k) => state(k) === code)) : null;
    this.groups?.[1].sort((a, b) => before.confidence[start + b] - before.confidence[start + a] || a - b);
    this.order = byState ? this.groups.flat() : all;
    this.place = new Array(size);
    this.order.forEach((k, at) => (this.place[k] = at));
    if (this.zoom > 1) this.origin = this.clamp(this.origin);
  }

  /** Row or column of the drawing -> row or column of the mask. */
  source(k) {
    return k < this.size ? this.order[k] : this.size + this.order[k - this.size];
  }

  open(row, column) {
    const c = this.source(column);
    return !!(this.frame.mask[this.source(row) * Lane.stride(this.frame) + (c >> 3)] & (128 >> (c & 7)));
  }

  depthAt(row, column) {
    return this.depth ? this.depth[this.source(row) * this.count + this.source(column)] : 0;
  }

  clamp([row, column]) {
    const most = this.count - this.count / this.zoom;
    return [Math.max(0, Math.min(most, row)), Math.max(0, Math.min(most, column))];
  }

  /** One zoom level in or out, keeping a cell in view. Returns whether there was one. */
  zoomBy(direction, cell) {
    const at = ZOOMS.indexOf(this.zoom) + direction;
    if (at < 0 || at >= ZOOMS.length || (direction > 0 && this.count / ZOOMS[at] < 8)) return false;
    this.zoom = ZOOMS[at];
    const view = this.count / this.zoom;
    const [row, column] = cell || this.cell || [this.origin[0] + view / 2, this.origin[1] + view / 2];
    this.origin = this.clamp([Math.round(row - view / 2), Math.round(column - view / 2)]);
    return true;
  }

  pan(rows, columns) {
    this.origin = this.clamp([this.origin[0] + rows, this.origin[1] + columns]);
  }

  /** Draws. `layers` is 0 for the mask itself, or how many layers deep the reach goes; `weights` are those of attention, in
   *  ten-thousandths, to be drawn in place of what is visible. */
  draw(canvas, { width, block, selected, layers, weights, theme }) {
    const fit = (count) => {
      const each = (width - LEFT - 6) / count;
      return count * (each >= 2 ? Math.floor(each) : each);
    };
    const area = fit(2 * block); // the same for all blocks, whatever their length
    const g = sized(canvas, width, UPPER + area + 4);
    g.textBaseline = 'middle';
    if (!this.frame.mask) {
      g.fillStyle = theme.sunk;
      g.fillRect(LEFT, UPPER, area, area);
      this.each = 0;
      return;
    }
    this.depth = layers ? this.lane.depth(this.frame) : null;
    this.layers = layers;
    this.weights = weights;
    const view = this.count / this.zoom;
    let each = area / view;
    if (each >= 2 && this.zoom === 1) each = Math.floor(each);
    const side = each * view;
    Object.assign(this, { each, side, view, theme });
    g.fillStyle = theme.sunk;
    g.fillRect(LEFT, UPPER, side, side);
    g.save();
    g.beginPath();
    g.rect(LEFT - 1, UPPER - 1, side + 2, side + 2);
    g.clip();
    if (weights) this.looks(g);
    else if (each >= 4) this.cells(g);
    else if (g.vector) this.runs(g);
    else this.pixels(g);
    this.lines(g, selected);
    g.restore();
    this.labels(g);
    this.contaminated(g);
  }

  x(column) {
    return LEFT + (column - this.origin[1]) * this.each;
  }

  y(row) {
    return UPPER + (row - this.origin[0]) * this.each;
  }

  /** What a column's key is: 0 … 2 by its state, 3 given, 4 a shadow, which is always a mask. */
  kind(column) {
    if (column >= this.size) return 4;
    const j = this.frame.block[0] + this.order[column];
    return this.lane.fixed[j] ? 3 : this.before.states[j];
  }

  /** Colour and strength of each kind of key. */
  paints() {
    const { theme } = this;
    return [[theme.line2, 1], [theme.C, 1], [theme.U, 1], [theme.U, theme.dark ? 0.5 : 0.42], [theme.ink3, theme.dark ? 0.3 : 0.2]];
  }

  window() {
    const from = this.origin.map(Math.floor);
    const to = this.origin.map((o) => Math.min(this.count, Math.ceil(o + this.view)));
    return [from, to];
  }

  cells(g) {
    const { theme, each, size } = this;
    const [[top, left], [bottom, right]] = this.window();
    const inner = each - 1;
    const paints = this.paints();
    const hidden = [];
    for (let c = left; c < right; c++) {
      const [colour, alpha] = paints[this.kind(c)];
      const hollow = c >= size;
      g.globalAlpha = hollow ? 0.75 : alpha;
      g.fillStyle = g.strokeStyle = colour;
      g.lineWidth = 1;
      g.beginPath();
      for (let r = top; r < bottom; r++) {
        if (this.open(r, c)) {
          if (hollow) g.rect(this.x(c) + 1.5, this.y(r) + 1.5, Math.max(1, inner - 3), Math.max(1, inner - 3));
          else g.rect(this.x(c), this.y(r), inner, inner);
        } else if (this.depth) {
          const depth = this.depthAt(r, c);
          if (depth && depth <= this.layers) hidden.push([r, c]);
        }
      }
      if (hollow) g.stroke();
      else g.fill();
    }
    g.globalAlpha = 1;
    g.fillStyle = theme.demoted;
    const dot = Math.max(2, inner * 0.38);
    for (const [r, c] of hidden) g.fillRect(this.x(c) + (inner - dot) / 2, this.y(r) + (inner - dot) / 2, dot, dot);
  }

  /** How much a row looks at a column, 0 to 1. */
  look(row, column) {
    return this.weights[this.source(row) * this.count + this.source(column)] / 10000;
  }

  /** Attention: the strength of the ink is the root of the weight; what is blocked stays empty. */
  looks(g) {
    const { theme, each } = this;
    const [[top, left], [bottom, right]] = this.window();
    const inner = each >= 4 ? each - 1 : each;
    for (let r = top; r < bottom; r++) {
      for (let c = left; c < right; c++) {
        if (!this.open(r, c)) continue;
        g.globalAlpha = 1;
        if (each >= 4) {
          g.fillStyle = theme.panel;
          g.fillRect(this.x(c), this.y(r), inner, inner);
        }
        g.fillStyle = theme.ink;
        g.globalAlpha = Math.sqrt(this.look(r, c));
        if (g.globalAlpha > 0.01) g.fillRect(this.x(c), this.y(r), inner, inner);
      }
    }
    g.globalAlpha = 1;
  }

  /** One query's row in every layer, under the same columns; the last is the mean. */
  drawStack(canvas, row, stack, chosen, theme) {
    const height = 11;
    const g = sized(canvas, LEFT + this.side + 6, 4 + stack.length * height);
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    stack.forEach((weights, n) => {
      const y = 2 + n * height;
      const layer = n + 1 < stack.length ? n + 1 : 0;
      this.weights = weights;
      g.font = `${layer === chosen ? 700 : 400} 10px ${theme.sans}`;
      g.fillStyle = layer === chosen ? theme.ink : theme.ink2;
      g.fillText(layer ? (layer === chosen ? `▸${layer}` : layer) : 'mean', LEFT - 5, y + height / 2);
      g.fillStyle = theme.sunk;
      g.fillRect(LEFT, y, this.side, height - 2);
      const [[, left], [, right]] = this.window();
      for (let c = left; c < right; c++) {
        if (!this.open(row, c)) continue;
        g.fillStyle = theme.ink;
        g.globalAlpha = Math.sqrt(this.look(row, c));
        g.fillRect(this.x(c), y, Math.max(1, this.each - 1), height - 2);
        g.globalAlpha = 1;
      }
      if (layer === chosen) {
        Object.assign(g, { strokeStyle: theme.ink, lineWidth: 1.5 });
        g.strokeRect(LEFT - 1, y - 1, this.side + 2, height);
      }
    });
    return (y) => Math.max(0, Math.min(stack.length - 1, Math.floor((y - 2) / height)));
  }

  /** Many cells without pixels: neighbours that look alike are one area. */
  runs(g) {
    const { theme, depth, layers } = this;
    const [[top, left], [bottom, right]] = this.window();
    const reached = (r, c) => depth && !this.open(r, c) && this.depthAt(r, c) > 0 && this.depthAt(r, c) <= layers;
    const along = (c, inside) => {
      const found = [];
      for (let r = top, from = top; r < bottom; from = ++r) {
        while (r < bottom && inside(r, c)) r++;
        if (r > from) found.push([from, r]);
      }
      return found;
    };
    const fill = ([colour, alpha], c, end, bars) => {
      g.globalAlpha = alpha;
      g.fillStyle = colour;
      g.beginPath();
      for (const [from, to] of bars) g.rect(this.x(c), this.y(from), (end - c) * this.each, (to - from) * this.each);
      g.fill();
    };
    const paints = this.paints();
    const column = (c) => [paints[this.kind(c)], along(c, (r) => this.open(r, c)), along(c, reached)];
    for (let c = left, next = column(left), end; c < right; c = end) {
      const alike = next;
      for (end = c; end < right && JSON.stringify(next) === JSON.stringify(alike);) next = ++end < right ? column(end) : null;
      fill(alike[0], c, end, alike[1]);
      fill([theme.demoted, 0.75], c, end, alike[2]);
    }
    g.globalAlpha = 1;
  }

  /** Many cells: one pixel each, scaled. */
  pixels(g) {
    const { theme, frame, depth, layers, count, size } = this;
    const [[top, left], [bottom, right]] = this.window();
    const columns = right - left;
    const rows = bottom - top;
    const empty = pixel(theme.sunk);
    const reached = pixel(theme.demoted, 0.75, theme.sunk);
    const paints = this.paints().map(([name, alpha]) => pixel(name, alpha, theme.sunk));
    const colour = new Int32Array(columns);
    const at = new Int32Array(columns);
    for (let c = 0; c < columns; c++) {
      colour[c] = paints[this.kind(left + c)];
      at[c] = this.source(left + c);
    }
    if (this.small.width !== columns || this.small.height !== rows) {
      this.small.width = columns;
      this.small.height = rows;
      this.image = null;
    }
    const context = this.small.getContext('2d');
    this.image ??= context.createImageData(columns, rows);
    const out = new Int32Array(this.image.data.buffer);
    const stride = Lane.stride(frame);
    const mask = frame.mask;
    const shown = new Int32Array(count).fill(-1);
    at.forEach((k, c) => (shown[k] = c));
    const paint = (row, line, k, c) => {
      if (mask[row * stride + (k >> 3)] & (128 >> (k & 7))) out[line + c] = colour[c];
      else out[line + c] = depth && depth[row * count + k] && depth[row * count + k] <= layers ? reached : empty;
    };
    let above = -1;
    for (let r = 0; r < rows; r++) {
      const row = this.source(top + r);
      const line = r * columns;
      if (above < 0 || depth) for (let c = 0; c < columns; c++) paint(row, line, at[c], c);
      else {
        // Neighbouring rows see nearly the same: copy the row above, then repaint the bytes in which they differ.
        out.copyWithin(line, line - columns, line);
        for (let byte = 0; byte < stride; byte++) {
          if (mask[row * stride + byte] === mask[above * stride + byte]) continue;
          for (let k = 8 * byte; k < Math.min(count, 8 * byte + 8); k++) if (shown[k] >= 0) paint(row, line, k, shown[k]);
        }
      }
      above = row;
    }
    context.putImageData(this.image, 0, 0);
    g.imageSmoothingEnabled = this.each < 1;
    g.imageSmoothingQuality = 'high';
    g.drawImage(this.small, this.x(left), this.y(top), columns * this.each, rows * this.each);
  }

  lines(g, selected) {
    const { theme, each, size, count, frame } = this;
    if (this.groups) {
      let offset = 0;
      g.strokeStyle = theme.panel;
      g.lineWidth = 2;
      for (const group of this.groups) {
        if (offset && group.length && offset < size) {
          for (const half of this.halves) {
            segment(g, this.x(half + offset) - 0.5, this.y(0), this.x(half + offset) - 0.5, this.y(count));
            segment(g, this.x(0), this.y(half + offset) - 0.5, this.x(count), this.y(half + offset) - 0.5);
          }
        }
        offset += group.length;
      }
    }
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.2;
    if (!frame.plain) {
      segment(g, this.x(size) - 0.5, this.y(0) - 4, this.x(size) - 0.5, this.y(count));
      segment(g, this.x(0) - 4, this.y(size) - 0.5, this.x(count), this.y(size) - 0.5);
    }
    const place = this.place[selected - frame.block[0]];
    if (place != null) {
      g.lineWidth = 1.5;
      for (const half of this.halves) g.strokeRect(this.x(0) - 1, this.y(half + place) - 1, each * count + 1, Math.max(3, each + 1));
    }
    const cell = this.cell || this.standard(selected);
    if (cell && each >= 2) {
      g.strokeStyle = theme.demoted;
      g.lineWidth = 2;
      g.strokeRect(this.x(cell[1]) - 1.5, this.y(cell[0]) - 1.5, each + 2, each + 2);
    }
  }

  labels(g) {
    const { theme, size, side, each, count } = this;
    const inside = (at, from) => at >= from - 1 && at <= from + side + 1;
    g.font = `11px ${theme.sans}`;
    g.textAlign = 'center';
    g.fillStyle = theme.ink;
    const middle = (a, b, axis) => {
      const lo = Math.max(a, this.origin[axis]);
      const hi = Math.min(b, this.origin[axis] + this.view);
      return hi - lo > 0.1 * this.view ? (lo + hi) / 2 : null;
    };
    for (const [name, from, to] of [['x', 0, size], ['s', size, count]]) {
      const column = middle(from, to, 1);
      const row = middle(from, to, 0);
      if (column != null) g.fillText(`${name} keys`, this.x(column), 7);
      if (row != null) {
        g.save();
        g.translate(5, this.y(row));
        g.rotate(-Math.PI / 2);
        g.fillText(`${name} queries`, 0, 0);
        g.restore();
      }
    }
    if (!this.groups) {
      g.font = `10px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((n) => n * each >= 22) || 512;
      for (let k = 0; k < count; k++) {
        if ((k % size) % every) continue;
        const name = this.frame.block[0] + (k % size);
        g.textAlign = 'center';
        if (inside(this.x(k) + each / 2, LEFT)) g.fillText(name, this.x(k) + each / 2, UPPER - 9);
        g.textAlign = 'right';
        if (inside(this.y(k) + each / 2, UPPER)) g.fillText(name, LEFT - 5, this.y(k) + each / 2);
      }
      return;
    }
    const numbered = this.lane.about.states.includes('C');
    const names = [];
    let offset = 0;
    this.groups.forEach((group, code) => {
      if (!group.length) return;
      const letter = LETTER[code];
      for (const half of this.halves) {
        const from = half + offset;
        const to = from + group.length;
        const [x1, x2] = [Math.max(LEFT, this.x(from)), Math.min(LEFT + side, this.x(to))];
        const [y1, y2] = [Math.max(UPPER, this.y(from)), Math.min(UPPER + side, this.y(to))];
        g.strokeStyle = theme[letter];
        g.lineWidth = 3;
        g.font = `600 10px ${theme.sans}`;
        g.textAlign = 'center';
        if (x2 - x1 > 2) {
          segment(g, x1 + 1, UPPER - 5, x2 - 2, UPPER - 5);
          g.fillStyle = theme.ink2;
          if (x2 - x1 >= 7) g.fillText(letter, (x1 + x2) / 2, UPPER - 13);
        }
        if (y2 - y1 > 2) {
          segment(g, LEFT - 5, y1 + 1, LEFT - 5, y2 - 2);
          names.push({ y: (y1 + y2) / 2, letter, number: code + 1 + (half ? 3 : 0) });
        }
      }
      offset += group.length;
    });
    // Groups of a row or two would print their names over each other: push them apart, down and then back up.
    names.sort((a, b) => a.y - b.y);
    names.forEach((name, n) => n && (name.y = Math.max(name.y, names[n - 1].y + 14)));
    for (let n = names.length - 1, lowest = UPPER + side; n >= 0; n--) lowest = (names[n].y = Math.min(names[n].y, lowest)) - 14;
    g.font = `600 10px ${theme.sans}`;
    g.lineWidth = 1;
    g.strokeStyle = theme.ink;
    for (const { y, letter, number } of names) {
      g.fillStyle = theme.ink2;
      g.fillText(letter, LEFT - 13, y + 0.5);
      if (!numbered) continue;
      g.beginPath();
      g.arc(LEFT - 25, y, 6.5, 0, 7);
      g.stroke();
      g.fillStyle = theme.ink;
      g.fillText(number, LEFT - 25, y + 0.5);
    }
  }

  /** A small flag at the right of every verification that a hidden candidate reaches. */
  contaminated(g) {
    const { layers, frame, theme, size, side, each } = this;
    if (!layers) return;
    g.fillStyle = theme.demoted;
    for (const [position, depth] of Object.entries(frame.contaminated || {})) {
      const y = this.y(size + this.place[position - frame.block[0]]) + each / 2;
      if (depth > layers || y < UPPER || y > UPPER + side) continue;
      g.beginPath();
      g.moveTo(LEFT + side + 1, y);
      g.lineTo(LEFT + side + 7, y - Math.min(4, Math.max(1.5, each / 2)));
      g.lineTo(LEFT + side + 7, y + Math.min(4, Math.max(1.5, each / 2)));
      g.fill();
    }
  }

  /** The cell that is spoken of while none is pointed at: the selected token's shadow and the surest other candidate. */
  standard(selected) {
    const { frame, before, size } = this;
    const start = frame.block[0];
    if (!frame.mask || selected < start || selected >= frame.block[1]) return null;
    let best = -1;
    for (let j = start; j < frame.block[1]; j++) {
      if (j !== selected && before.states[j] === 1 && (best < 0 || before.confidence[j] > before.confidence[best])) best = j;
    }
    const own = size + this.place[selected - start];
    if (this.weights) { // what it looks at most
      let most = 0;
      for (let c = 0; c < this.count; c++) if (this.open(own, c) && this.look(own, c) > this.look(own, most)) most = c;
      return [own, most];
    }
    if (best < 0) best = selected > start ? selected - 1 : Math.min(start + 1, frame.block[1] - 1);
    return [this.halves.at(-1) + this.place[selected - start], this.place[best - start]];
  }

  at(x, y) {
    if (!this.each) return null;
    const column = Math.floor((x - LEFT) / this.each + this.origin[1]);
    const row = Math.floor((y - UPPER) / this.each + this.origin[0]);
    const inside = x >= LEFT && y >= UPPER && x < LEFT + this.side && y < UPPER + this.side;
    return inside && row >= 0 && column >= 0 && row < this.count && column < this.count ? [row, column] : null;
  }

  /** Moves the keyboard's cell, scrolling a zoomed view along. */
  move(rows, columns, selected) {
    const [row, column] = this.cell || this.standard(selected) || [0, 0];
    this.cell = [Math.max(0, Math.min(this.count - 1, row + rows)), Math.max(0, Math.min(this.count - 1, column + columns))];
    for (const axis of [0, 1]) {
      const at = this.cell[axis];
      if (at < this.origin[axis]) this.origin[axis] = at;
      if (at + 1 > this.origin[axis] + this.view) this.origin[axis] = at + 1 - this.view;
    }
    this.origin = this.clamp(this.origin);
  }

  /** A cell in words, as nodes. The reason comes from the header; which one applies is a matter of looking it up. */
  describe(cell) {
    const { lane, frame, before, size } = this;
    const [row, column] = cell;
    const q = frame.block[0] + this.order[row % size];
    const k = frame.block[0] + this.order[column % size];
    const [qp, kp] = [row < size ? 'x' : 's', column < size ? 'x' : 's'];
    const [qs, ks] = [LETTER[before.states[q]], LETTER[before.states[k]]];
    const open = this.open(row, column);
    const word = (i) => (before.states[i] ? `'${lane.word(before.tokens[i])}'` : `the mask at ${i}`);
    const about = (i, state) => `${word(i)} (${lane.fixed[i] ? 'given' : state === 'M' ? 'M' : `${state} ${two(before.confidence[i])}`})`;
    const reasons = lane.about.cells;
    let reason = qp === 's' && q === k ? reasons[kp === 'x' ? 'self' : 'own'] : null;
    for (const a of [qp, '*']) for (const b of [qs, '*']) for (const c of [ks, '*']) reason ??= reasons[`${a}${b}${kp}${c}${open ? 1 : 0}`];
    const side = (path, name) => (path === 's' ? `the shadow of ${name}` : name);
    const because = reason ? `: ${reason.replaceAll('{k}', () => word(k)).replaceAll('{q}', () => word(q))}` : '';
    const text = `${side(qp, about(q, qs))} ${open ? 'sees' : 'may not see'} ${side(kp, about(k, ks))}${because}.`;
    if (this.weights && open) {
      const weight = `.${this.look(row, column).toFixed(2).slice(2)}`;
      const said = `${side(qp, word(q))} gives ${side(kp, word(k))} ${weight} of its attention here. Where it looked is not yet why.`;
      return { parts: [h('b', {}, qp, h('sub', {}, String(q)), ' → ', kp, h('sub', {}, String(k)), ` ${weight} `), ...rich(`${said[0].toUpperCase()}${said.slice(1)}`)], position: q, key: k };
    }
    const depth = open ? 0 : this.depthAt(row, column);
    const parts = [
      h('b', {}, qp, h('sub', {}, String(q)), ' → ', kp, h('sub', {}, String(k)), open ? ' visible. ' : ' blocked. '),
      ...rich(`${text[0].toUpperCase()}${text.slice(1)}`),
    ];
    if (depth && depth <= this.layers) parts.push(h('b', { class: 'dv-warn' }, ` But it arrives through ${depth} layers.`));
    return { parts, position: q };
  }
}
