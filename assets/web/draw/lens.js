// A part of a score that is large enough to be read: the rows around a position, the columns around a step.

import { part } from '../data/part.js';
import { TOP } from './axis.js';
import { Score } from './score.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

const ROW = 15; // as high as a row with a name is
const COLUMN = 30; // as wide as a column with a name is
const MARGIN = 2; // rows that stay in view beyond the selected one

/** @typedef {{ width: number, tall: number, theme: Theme, weights: boolean, narrow: boolean }} Room */

export class Lens {
  /** @type {Lane} */ lane;
  /** @type {Room} */ room;
  /** @type {string} what is laid out */ laid;
  first = 0; // position
  from = 0; // step
  columns = 1;

  constructor() {
    this.score = new Score();
  }

  /** @type {number} */ rows;

  /** @param {Lane} lane @param {Room} room */
  prepare(lane, room) {
    Object.assign(this, { lane, room, laid: '' });
    this.rows = Math.min(lane.length, Math.floor(room.tall / ROW));
    this.columns = 0; // known when the lanes beside them are
  }

  /** Moves so that a position and a step are in it, and no further. @param {number} position @param {number} step */
  look(position, step) {
    const { lane, rows, columns } = this;
    const margin = Math.min(MARGIN, (rows - 1) >> 1);
    this.first = within(this.first, position - rows + 1 + margin, position - margin, lane.length - rows);
    if (step < this.from || step >= this.from + columns) this.from = step < this.from ? step - columns + 2 : step - 1; // a page, and one step of the one before
    this.from = Math.max(0, Math.min(this.from, step, lane.last + 1 - columns));
  }

  /** Takes a position to the middle. @param {number} position */
  centre(position) {
    this.first = position - (this.rows >> 1);
  }

  lay() {
    const { lane, room, score } = this;
    const key = `${this.first}/${this.from}/${lane.last}`;
    if (key === this.laid) return;
    this.laid = key;
    const places = Array.from({ length: this.rows }, (_, n) => this.first + n);
    const to = Math.min(lane.last, this.from + this.columns - 1);
    const look = { ...room, steps: this.columns - 1, from: this.from, fixed: ROW };
    score.prepare(part(lane, places, [this.from, to]), look);
  }

  /**
   * @param {Sheet} canvas @param {number} step @param {number} selected @param {boolean} hideLater
   */
  draw(canvas, step, selected, hideLater) {
    const at = Math.min(step, this.lane.last);
    if (!this.columns) this.measure();
    this.look(selected, at);
    this.lay();
    this.score.draw(canvas, at - this.from, selected - this.first, hideLater);
  }

  /**
   * Where it is on a map.
   * @param {Sheet} canvas @param {Score} map
   */
  frame(canvas, map) {
    const g = /** @type {Pen} */ (canvas.getContext('2d'));
    const [top, bottom] = [map.y(this.first), map.y(this.first + this.rows)];
    g.fillStyle = map.theme.ink;
    g.fillRect(map.label - 4, top, 3, Math.max(3, bottom - top));
    g.strokeStyle = map.theme.ink;
    g.lineWidth = 1;
    const [left, right] = [this.from, this.from + this.columns].map((k) => map.label + map.columns.x(k));
    g.strokeRect(left - 0.5, top - 0.5, Math.min(right, map.label + map.area) - left + 1, bottom - top + 1);
  }

  /** How many columns there is room for. */
  measure() {
    this.from = 0;
    this.columns = 1;
    this.lay();
    this.columns = Math.max(3, Math.floor(this.score.area / COLUMN));
  }

  /** @param {number} x @param {number} y */
  hit(x, y) {
    const { step, position } = this.score.hit(x, y);
    return { step, position: position === null ? null : this.first + position };
  }

  get height() {
    return TOP + this.rows * ROW;
  }
}

/**
 * @param {number} now @param {number} low @param {number} high @param {number} most
 */
const within = (now, low, high, most) => Math.max(0, Math.min(most, Math.max(low, Math.min(high, now))));
