// The attention mask of a step's forward pass: rows are queries, columns keys, x before s. It draws the bits it is given.

import { LEFT, UPPER, drawCells, drawLooks, drawNumbers, drawPixels, drawRuns } from './cells.js';
import { sized } from './dom.js';
import { segment } from './shapes.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

const ZOOMS = [1, 2, 4, 8, 16, 32];
const MANY = 64; // positions of a block from which on it is zoomed into to be read
const NAMED = 12; // pixels of a cell, from which its row has a number of its own

/** @typedef {[number, number]} Cell row and column, in drawn order */

export class Mask {
  /** @type {Lane} */ lane;
  /** @type {Frame} */ frame;
  /** @type {Frame} that the forward pass started from */ before;
  /** @type {boolean} */ byState;
  /** @type {Theme} */ theme;
  /** @type {number} positions of the block */ size;
  /** @type {number} rows and columns */ count;
  /** @type {number[]} where the paths begin */ halves;
  /** @type {number[][] | null} */ groups;
  /** @type {number[]} */ order;
  /** @type {number[]} of each position of the block, in drawn order */ place;
  /** @type {number} pixels of a cell */ each;
  /** @type {number} */ side;
  /** @type {number} rows and columns that are in view */ view;
  /** @type {Uint8Array | null} */ depth;
  /** @type {number} */ layers;
  /** @type {ArrayLike<number> | null} */ weights;
  /** @type {ImageData | null} */ image;
  /** @type {Cell | null} under the pointer or the keyboard's focus */ cell;
  /** @type {Cell} */ origin;

  constructor() {
    this.small = document.createElement('canvas');
    this.zoom = 1;
    this.origin = [0, 0];
    this.cell = null;
  }

  /**
   * Takes a frame to draw; `before` is the frame its forward pass started from.
   * @param {Lane} lane @param {Frame} frame @param {Frame} before @param {boolean} byState
   */
  show(lane, frame, before, byState) {
    const [start, end] = frame.block;
    const size = end - start;
    const changed = this.lane !== lane || this.frame !== frame || this.byState !== byState;
    Object.assign(this, {
      lane,
      frame,
      before,
      byState,
      size,
      halves: frame.plain ? [0] : [0, size],
      count: (frame.plain ? 1 : 2) * size,
    });
    if (!changed) return;
    const all = Array.from({ length: size }, (_, k) => k);
    /** @param {number} k */
    const state = (k) => before.states[start + k];
    this.groups = byState ? [0, 1, 2].map((code) => all.filter((k) => state(k) === code)) : null;
    const confidence = (/** @type {number} */ k) => before.confidence[start + k] ?? 0;
    this.groups?.[1].sort((a, b) => confidence(b) - confidence(a) || a - b);
    this.order = this.groups?.flat() ?? all;
    this.place = new Array(size);
    this.order.forEach((k, at) => (this.place[k] = at));
    if (this.zoom > 1) this.origin = this.clamp(this.origin);
  }

  /**
   * Row or column of the drawing -> row or column of the mask.
   * @param {number} k
   */
  source(k) {
    return k < this.size ? this.order[k] : this.size + this.order[k - this.size];
  }

  /** The mask of the frame in view, rows of whole bytes. */
  get bits() {
    return /** @type {Uint8Array} */ (this.frame.mask);
  }

  /** @param {number} row @param {number} column */
  open(row, column) {
    const c = this.source(column);
    return !!(this.bits[this.source(row) * Lane.stride(this.frame) + (c >> 3)] & (128 >> (c & 7)));
  }

  /** @param {number} row @param {number} column */
  depthAt(row, column) {
    return this.depth ? this.depth[this.source(row) * this.count + this.source(column)] : 0;
  }

  /** @param {Cell} cell @returns {Cell} */
  clamp([row, column]) {
    const most = this.count - this.count / this.zoom;
    return [Math.max(0, Math.min(most, row)), Math.max(0, Math.min(most, column))];
  }

  /**
   * One zoom level in or out, keeping a cell in view. Returns whether there was one.
   * @param {number} direction @param {Cell | null | undefined} cell
   */
  zoomBy(direction, cell) {
    const at = ZOOMS.indexOf(this.zoom) + direction;
    if (at < 0 || at >= ZOOMS.length || (direction > 0 && this.count / ZOOMS[at] < 8)) return false;
    this.zoom = ZOOMS[at];
    const view = this.count / this.zoom;
    const [row, column] = cell || this.cell || [this.origin[0] + view / 2, this.origin[1] + view / 2];
    this.origin = this.clamp([Math.round(row - view / 2), Math.round(column - view / 2)]);
    return true;
  }

  /** @param {number} rows @param {number} columns */
  pan(rows, columns) {
    this.origin = this.clamp([this.origin[0] + rows, this.origin[1] + columns]);
  }

  /**
   * A zoomed view goes where a selected position's own row and its column are, if they are out of sight.
   * @param {number} selected
   */
  reveal(selected) {
    const place = this.place?.[selected - this.frame.block[0]];
    if (this.zoom === 1 || place == null) return;
    const view = this.count / this.zoom;
    /** @param {number} from @param {number} at */
    const near = (from, at) => (at >= from && at + 1 <= from + view ? from : Math.round(at - view / 2));
    const [row, column] = this.origin;
    this.origin = this.clamp([near(row, this.halves[this.halves.length - 1] + place), near(column, place)]);
  }

  /**
   * Draws. `layers` is 0 for the mask itself, or how many layers deep the reach goes; `weights` are those of
   * attention, in ten-thousandths, to be drawn in place of what is visible.
   * @param {Sheet} canvas
   * @param {{ width: number, block: number, selected: number, layers: number, weights: ArrayLike<number> | null, theme: Theme }} look
   */
  draw(canvas, { width, block, selected, layers, weights, theme }) {
    /** @param {number} count */
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
    this.depth = layers ? this.frame.depth : null;
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
    if (weights) drawLooks(g, this);
    else if (each >= 4) drawCells(g, this);
    else if (g.vector) drawRuns(g, this);
    else drawPixels(g, this);
    this.lines(g, selected);
    g.restore();
    this.labels(g);
    this.contaminated(g);
  }

  /** @param {number} column */
  x(column) {
    return LEFT + (column - this.origin[1]) * this.each;
  }

  /** @param {number} row */
  y(row) {
    return UPPER + (row - this.origin[0]) * this.each;
  }

  /**
   * What a column's key is: 0 … 2 by its state, 3 given, 4 a shadow, which is always a mask.
   * @param {number} column
   */
  kind(column) {
    if (column >= this.size) return 4;
    const j = this.frame.block[0] + this.order[column];
    return this.lane.fixed[j] ? 3 : this.before.states[j];
  }

  /**
   * Colour and strength of each kind of key.
   * @returns {[string, number][]}
   */
  paints() {
    const { theme } = this;
    return [
      [theme.line2, 1],
      [theme.C, 1],
      [theme.U, 1],
      [theme.U, theme.dark ? 0.5 : 0.42],
      [theme.ink3, theme.dark ? 0.3 : 0.2],
    ];
  }

  /** @returns {[Cell, Cell]} */
  window() {
    const [top, left] = this.origin;
    const end = (/** @type {number} */ from) => Math.min(this.count, Math.ceil(from + this.view));
    return [
      [Math.floor(top), Math.floor(left)],
      [end(top), end(left)],
    ];
  }

  /**
   * How much a row looks at a column, 0 to 1.
   * @param {number} row @param {number} column
   */
  look(row, column) {
    return (this.weights?.[this.source(row) * this.count + this.source(column)] ?? 0) / 10000;
  }

  /** @param {Pen} g @param {number} selected */
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
      for (const half of this.halves)
        g.strokeRect(this.x(0) - 1, this.y(half + place) - 1, each * count + 1, Math.max(3, each + 1));
    }
    const cell = this.cell || this.standard(selected);
    if (cell && each >= 2) {
      g.strokeStyle = theme.demoted;
      g.lineWidth = 2;
      g.strokeRect(this.x(cell[1]) - 1.5, this.y(cell[0]) - 1.5, each + 2, each + 2);
    }
  }

  /** @param {Pen} g */
  labels(g) {
    const { theme, size, side, each, count } = this;
    /** @param {number} at @param {number} from */
    const inside = (at, from) => at >= from - 1 && at <= from + side + 1;
    g.font = `11px ${theme.sans}`;
    g.textAlign = 'center';
    g.fillStyle = theme.ink;
    /** @param {number} a @param {number} b @param {0 | 1} axis */
    const middle = (a, b, axis) => {
      const lo = Math.max(a, this.origin[axis]);
      const hi = Math.min(b, this.origin[axis] + this.view);
      return hi - lo > 0.1 * this.view ? (lo + hi) / 2 : null;
    };
    for (const name of ['x', 's']) {
      const [from, to] = name === 'x' ? [0, size] : [size, count];
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
      g.font = `11px ${theme.sans}`;
      g.fillStyle = theme.ink3;
      const every = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((n) => n * each >= 22) || 512;
      for (let k = 0; k < count; k++) {
        if ((k % size) % every) continue;
        const name = this.frame.block[0] + (k % size);
        g.textAlign = 'center';
        if (inside(this.x(k) + each / 2, LEFT)) g.fillText(String(name), this.x(k) + each / 2, UPPER - 9);
        g.textAlign = 'right';
        if (inside(this.y(k) + each / 2, UPPER)) g.fillText(String(name), LEFT - 5, this.y(k) + each / 2);
      }
      return;
    }
    const numbered = this.lane.tentative;
    const named = size > MANY && each >= NAMED;
    /** @type {{ y: number, letter: string, number: number }[]} */
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
        g.font = `600 11px ${theme.sans}`;
        g.textAlign = 'center';
        if (x2 - x1 > 2) {
          segment(g, x1 + 1, UPPER - 5, x2 - 2, UPPER - 5);
          g.fillStyle = theme.ink2;
          if (x2 - x1 >= 7 && !named) g.fillText(letter, (x1 + x2) / 2, UPPER - 13);
        }
        if (y2 - y1 > 2) {
          segment(g, LEFT - 5, y1 + 1, LEFT - 5, y2 - 2);
          names.push({ y: (y1 + y2) / 2, letter, number: code + 1 + (half ? 3 : 0) });
        }
      }
      offset += group.length;
    });
    if (named) return drawNumbers(g, this);
    // Groups of a row or two would print their names over each other: push them apart, down and then back up.
    names.sort((a, b) => a.y - b.y);
    names.forEach((name, n) => n && (name.y = Math.max(name.y, names[n - 1].y + 14)));
    for (let n = names.length - 1, lowest = UPPER + side; n >= 0; n--)
      lowest = (names[n].y = Math.min(names[n].y, lowest)) - 14;
    g.font = `600 11px ${theme.sans}`;
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
      g.fillText(String(number), LEFT - 25, y + 0.5);
    }
  }

  /**
   * A small flag at the right of every verification that a hidden candidate reaches.
   * @param {Pen} g
   */
  contaminated(g) {
    const { layers, frame, theme, size, side, each } = this;
    if (!layers) return;
    g.fillStyle = theme.demoted;
    for (const [position, depth] of Object.entries(frame.contaminated || {})) {
      const y = this.y(size + this.place[Number(position) - frame.block[0]]) + each / 2;
      if (depth > layers || y < UPPER || y > UPPER + side) continue;
      g.beginPath();
      g.moveTo(LEFT + side + 1, y);
      g.lineTo(LEFT + side + 7, y - Math.min(4, Math.max(1.5, each / 2)));
      g.lineTo(LEFT + side + 7, y + Math.min(4, Math.max(1.5, each / 2)));
      g.fill();
    }
  }

  /**
   * The cell that is spoken of while none is pointed at: the selected token's shadow and the surest other candidate.
   * @param {number} selected @returns {Cell | null}
   */
  standard(selected) {
    const { frame, before, size } = this;
    const start = frame.block[0];
    if (!frame.mask || selected < start || selected >= frame.block[1]) return null;
    let best = -1;
    for (let j = start; j < frame.block[1]; j++) {
      if (
        j !== selected &&
        before.states[j] === 1 &&
        (best < 0 || (before.confidence[j] ?? 0) > (before.confidence[best] ?? 0))
      )
        best = j;
    }
    const own = size + this.place[selected - start];
    if (this.weights) {
      // what it looks at most
      let most = 0;
      for (let c = 0; c < this.count; c++) if (this.open(own, c) && this.look(own, c) > this.look(own, most)) most = c;
      return [own, most];
    }
    if (best < 0) best = selected > start ? selected - 1 : Math.min(start + 1, frame.block[1] - 1);
    return [this.halves[this.halves.length - 1] + this.place[selected - start], this.place[best - start]];
  }

  /** @param {number} x @param {number} y @returns {Cell | null} */
  at(x, y) {
    if (!this.each) return null;
    const column = Math.floor((x - LEFT) / this.each + this.origin[1]);
    const row = Math.floor((y - UPPER) / this.each + this.origin[0]);
    const inside = x >= LEFT && y >= UPPER && x < LEFT + this.side && y < UPPER + this.side;
    return inside && row >= 0 && column >= 0 && row < this.count && column < this.count ? [row, column] : null;
  }

  /**
   * Moves the keyboard's cell, scrolling a zoomed view along.
   * @param {number} rows @param {number} columns @param {number} selected
   */
  move(rows, columns, selected) {
    const [row, column] = this.cell || this.standard(selected) || [0, 0];
    this.cell = [
      Math.max(0, Math.min(this.count - 1, row + rows)),
      Math.max(0, Math.min(this.count - 1, column + columns)),
    ];
    for (const axis of /** @type {const} */ ([0, 1])) {
      const at = this.cell[axis];
      if (at < this.origin[axis]) this.origin[axis] = at;
      if (at + 1 > this.origin[axis] + this.view) this.origin[axis] = at + 1 - this.view;
    }
    this.origin = this.clamp(this.origin);
  }
}
