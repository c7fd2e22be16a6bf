// Tokens that stand in rows: where each cell is, the lines of the boxes, and the brackets of cells that clash. What clashes
// is told by the trace; brackets run in the gutters, so that none crosses a word.

import { h, put } from './dom.js';

/** @import { Look } from '../data/schema.js' */
/** @import { Lane } from '../data/unpack.js' */

const SHAPES = {
  board: { cell: 52, most: 96, gutter: 9, between: 14, label: 12, off: 4 },
  tiny: { cell: 20, most: 20, gutter: 5, between: 7, label: 0, off: 3 },
};
const NEXT = 3; // pixels from one bracket to the next in the same gutter …
const ASIDE = 5; // … and from one foot to the next on the same cell

/** @typedef {{ i: number, row: number, column: number }} Place */

export class Board {
  /** @type {number} */ columns;
  /** @type {number} */ rows;
  /** @type {number} */ each;
  /** @type {typeof SHAPES.board} */ shape;
  /** @type {keyof typeof SHAPES} */ size;
  /** @type {HTMLButtonElement[]} */ cells;
  /** @type {number} */ cell;
  /** @type {string | null} */ drawn;

  /** @param {Lane} lane @param {keyof typeof SHAPES} size @param {HTMLButtonElement[]} cells */
  constructor(lane, size, cells) {
    const { width, box, given } = /** @type {import('../data/schema.js').Layout} */ (lane.board);
    Object.assign(this, {
      columns: width,
      rows: given.length / width,
      each: box || width,
      shape: SHAPES[size],
      size,
      cells,
    });
    this.frame = h('rect', {
      class: 'dv-boxline',
      x: this.shape.label + 0.75,
      y: this.shape.label + 0.75,
      rx: size === 'tiny' ? 4 : 6,
    });
    this.lines = h('path', { class: 'dv-boxline' });
    this.numbers =
      size === 'tiny'
        ? []
        : ['row', 'column'].flatMap((kind) =>
            Array.from({ length: kind === 'row' ? this.rows : width }, (_, n) => ({
              kind,
              n,
              text: h('text', { class: 'dv-number', 'text-anchor': kind === 'row' ? 'end' : 'middle' }, String(n + 1)),
            })),
          );
    this.under = h(
      'svg',
      { 'aria-hidden': 'true' },
      this.frame,
      this.lines,
      this.numbers.map(({ text }) => text),
    );
    this.over = h('svg', { class: 'dv-brackets', 'aria-hidden': 'true' });
    this.box = h('div', { class: `dv-board dv-${size}` }, this.under, cells, this.over);
  }

  /**
   * Cells of their usual size, as far as they fit; on a phone as large as they can be.
   * @param {number} room @param {boolean} grow @param {number} [most] pixels
   */
  lay(room, grow, most = this.shape.most) {
    const { shape, columns, rows, each } = this;
    const { gutter, between, label } = shape;
    /** @param {number} count */
    const around = (count) => label + gutter * (count + 1) + (between - gutter) * (Math.ceil(count / each) - 1) + 1;
    const cell = Math.max(
      16,
      Math.min(grow ? Math.min(most, shape.most) : shape.cell, Math.floor((room - around(columns)) / columns)),
    );
    if (cell === this.cell) return;
    this.cell = cell;
    const [width, height] = [around(columns) + columns * cell, around(rows) + rows * cell];
    for (const [name, value] of Object.entries({ width, height })) {
      this.box.style.setProperty(name, `${value}px`);
      for (const svg of [this.under, this.over]) svg.setAttribute(name, String(value));
    }
    this.cells.forEach((button, i) =>
      Object.assign(button.style, {
        left: `${this.at(i % columns)}px`,
        top: `${this.at(Math.floor(i / columns))}px`,
        width: `${cell}px`,
        height: `${cell}px`,
      }),
    );
    /** @param {number} n */
    const middle = (n) => this.at(n) + cell / 2;
    for (const { kind, n, text } of this.numbers) {
      text.setAttribute('x', String(kind === 'row' ? label - 5 : middle(n)));
      text.setAttribute('y', String(kind === 'row' ? middle(n) + 4 : label - 4));
    }
    /** @param {number} count */
    const cuts = (count) =>
      Array.from({ length: Math.ceil(count / each) - 1 }, (_, k) => this.at((k + 1) * each) - between / 2);
    this.frame.setAttribute('width', String(width - label - 2.5));
    this.frame.setAttribute('height', String(height - label - 2.5));
    this.lines.setAttribute(
      'd',
      [
        ...cuts(columns).map((x) => `M${x} ${label}V${height - 1}`),
        ...cuts(rows).map((y) => `M${label} ${y}H${width - 1}`),
      ].join(''),
    );
    this.drawn = null;
  }

  /**
   * Where row or column n begins.
   * @param {number} n
   */
  at(n) {
    const { gutter, between, label } = this.shape;
    return label + gutter + n * (this.cell + gutter) + Math.floor(n / this.each) * (between - gutter);
  }

  /** @param {Look} look */
  draw({ marks }) {
    const key = JSON.stringify(marks.map(({ places, units }) => [places, units.length]));
    if (key === this.drawn) return;
    this.drawn = key;
    const { columns } = this;
    /** @type {Map<string, Set<number>[]>} */
    const groups = new Map(); // by row or column: sets of cells that clash there, each one bracket
    /** @type {[string, number[][]][]} */
    const figures = [];
    for (const { places, units } of marks) {
      const [a, b] = places.map((i) => ({ i, row: Math.floor(i / columns), column: i % columns }));
      if (!units.length) figures.push(...places.filter((i) => i < this.cells.length).map((i) => this.corner(i)));
      else if (a.row !== b.row && a.column !== b.column) figures.push(this.slant(a, b));
      else {
        const line = a.row === b.row ? `row ${a.row}` : `column ${a.column}`;
        const there = groups.get(line) ?? [];
        groups.set(line, there);
        const group = there.find((each) => each.has(a.i) || each.has(b.i)) ?? there[there.push(new Set()) - 1];
        group.add(a.i).add(b.i);
      }
    }
    for (const [line, there] of groups)
      there.forEach((group, n) =>
        figures.push(
          this.bracket(
            line,
            [...group].sort((a, b) => a - b),
            n,
          ),
        ),
      );
    for (const { kind, n, text } of this.numbers) text.classList.toggle('dv-on', groups.has(`${kind} ${n}`));
    put(
      this.over,
      figures.map(([d, dots]) => [
        h('path', { class: 'dv-halo', d }),
        h('path', { class: 'dv-clash', d }),
        h('path', { class: 'dv-dots', d: dots.map(([x, y]) => `M${x} ${y}h0`).join('') }),
      ]),
    );
  }

  /**
   * Above a row or left of a column, with a foot at every cell of the group; the nth one of its gutter.
   * @param {string} line @param {number[]} group @param {number} n @returns {[string, number[][]]}
   */
  bracket(line, group, n) {
    const { columns, cell } = this;
    const [kind, number] = line.split(' ');
    const edge = this.at(+number);
    const far = edge - this.shape.off - NEXT * n;
    const along = group.map(
      (i) => this.at(kind === 'row' ? i % columns : Math.floor(i / columns)) + cell / 2 - ASIDE * n,
    );
    /** @param {number} on @param {number} off */
    const point = (on, off) => (kind === 'row' ? [on, off] : [off, on]);
    /** @param {number[][]} points */
    const to = (points) => `M${points.map((pair) => pair.join(' ')).join('L')}`;
    const feet = along.map((on) => point(on, edge + 1));
    const beam = [feet[0], point(along[0], far), point(along[along.length - 1], far), feet[feet.length - 1]];
    return [[to(beam), ...along.slice(1, -1).map((on, k) => to([point(on, far), feet[k + 1]]))].join(''), feet];
  }

  /**
   * Between two cells of a box that share neither row nor column.
   * @param {Place} a @param {Place} b @returns {[string, number[][]]}
   */
  slant(a, b) {
    const inset = this.size === 'tiny' ? 1 : 3;
    const toRight = b.column > a.column;
    /** @param {Place} cell @param {boolean} right */
    const x = (cell, right) => this.at(cell.column) + (right ? this.cell - inset : inset);
    const ends = [
      [x(a, toRight), this.at(a.row) + this.cell - inset],
      [x(b, !toRight), this.at(b.row) + inset],
    ];
    return [`M${ends.map((pair) => pair.join(' ')).join('L')}`, ends];
  }

  /**
   * Around the corner of a cell that is wrong by itself.
   * @param {number} i @returns {[string, number[][]]}
   */
  corner(i) {
    const [x, y] = [this.at(i % this.columns), this.at(Math.floor(i / this.columns))];
    const [off, arm] = [this.shape.off - 1, this.cell / 3];
    return [`M${x - off} ${y + arm}V${y - off}H${x + arm}`, []];
  }
}
