// The panel of dependencies: how strongly the positions that a rule went through depend on one another, in its order, and
// who kept whom waiting. It stands in the place of the mask. The cells of a step are asked for when the step is in view.

import { choice, h, pixel, pointOn, press, put, setText, sized, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { LETTER, Lane } from '../data/unpack.js';
import { showSide, sideTabs } from './side.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Graph, Relation } from '../data/schema.js' */
/** @import { State, Viewer } from './types.js' */
/** @import { Pen, Sheet, Theme } from '../draw/types.js' */

const HEAD = 46;
const ROW = 11; // from this height on a row has room for its words

export class Dependencies {
  /** @type {Viewer} */ viewer;
  /** @type {[number, number] | null} under the pointer: row and column of the graph */ cell;
  /** @type {Frame} */ frame;
  /** @type {number[]} ranks in the order in view */ shown;
  /** @type {number} */ width;
  /** @type {number} */ left;
  /** @type {number} */ each;
  /** @type {string} */ toldBefore;
  /** @type {WeakMap<Frame, { theme: Theme, order: string, canvas: HTMLCanvasElement }>} */ pictures;

  static id = 'dependencies';

  static title = 'Dependencies';

  static state = { graph: 'order' };

  /** @param {State} state */
  static settle(state) {
    state.graph = state.graph === 'position' ? 'position' : 'order';
  }

  /**
   * Causes may stand in its place.
   * @param {import('../data/unpack.js').Lane} lane @param {Viewer} viewer
   */
  static fits({ about }, viewer) {
    return !!about.graph && (viewer.state.side === 'mask' || (viewer.state.side === 'causes' && viewer.room));
  }

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.pictures = new WeakMap();
    this.cell = null; // under the pointer: [row, column] of the graph
    this.canvas = h('canvas', { class: 'dv-graph', role: 'img', 'aria-label': 'dependencies' });
    this.tabs = sideTabs(viewer);
    this.order = choice(
      'order of the dependencies',
      [
        ['order', 'order'],
        ['position', 'position'],
      ],
      (graph) => viewer.set({ graph }),
    );
    this.limit = h('b', {});
    this.pin = h('i', {});
    this.count = h('span', {});
    this.message = h('p', { class: 'dv-graphmessage', hidden: true });
    this.area = h('div', { class: 'dv-maskbox' }, this.canvas, this.message);
    this.help = h('p', { class: 'dv-graphhelp' });
    this.note = h('div', { class: 'dv-note dv-masknote dv-graphnote', 'aria-live': 'polite' });
    /** @param {string} kind @param {string} text */
    const key = (kind, text) => h('span', {}, h('i', { class: `dv-key dv-key-${kind}` }), text);
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-mask dv-p-graph', 'aria-label': 'dependencies' },
      h('div', { class: 'dv-ph' }, this.tabs, h('span', { class: 'dv-grow' }), this.order),
      h('div', { class: 'dv-gauge' }, this.limit, h('span', { class: 'dv-gaugeline' }, this.pin), this.count),
      this.area,
      h(
        'div',
        { class: 'dv-legend dv-masklegend' },
        key('blocks', 'keeps waiting'),
        key('looked', 'looked at, free'),
        key('B', 'not looked at'),
      ),
      this.help,
      this.note,
    );
    this.canvas.addEventListener('pointermove', (event) => this.point(this.at(event)));
    this.canvas.addEventListener('pointerleave', () => this.point(null));
    this.canvas.addEventListener('click', (event) => {
      const cell = this.at(event);
      if (cell) viewer.select(this.graph.positions[cell[0]]);
    });
  }

  load() {
    this.cell = null;
  }

  /** The graph of the step in view, where it has one. */
  get graph() {
    return /** @type {Graph} */ (this.frame.graph);
  }

  prepare() {
    const { graph } = this.viewer.lane.about;
    this.width = this.area.clientWidth;
    setText(this.help, graph?.help ?? '');
  }

  /** The cells of the step in view, once. */
  need() {
    const { viewer } = this;
    const { lane } = viewer;
    const frame = lane.at(viewer.state.step);
    return lane.fetchCells(frame, viewer.host.ask && (() => viewer.ask('graph', { step: frame.index })));
  }

  /** @param {MouseEvent} event @returns {[number, number] | null} */
  at(event) {
    const [x, y] = pointOn(this.canvas, event);
    const [row, column] = [Math.floor((y - HEAD) / this.each), Math.floor((x - this.left) / this.each)];
    const inside = this.frame.graph && row >= 0 && row < this.shown.length && x < this.width;
    return inside ? [this.shown[row], column >= 0 && column < this.shown.length ? this.shown[column] : -1] : null;
  }

  /** @param {[number, number] | null} cell */
  point(cell) {
    if (String(cell) === String(this.cell)) return;
    this.cell = cell;
    this.draw();
  }

  paint() {
    const { lane, state } = this.viewer;
    if (this.frame !== lane.at(state.step)) this.cell = null;
    this.frame = lane.at(state.step);
    const positions = this.frame.graph?.positions || [];
    this.shown = [...positions.keys()];
    if (state.graph === 'position') this.shown.sort((a, b) => positions[a] - positions[b]);
    this.on(this.canvas);
  }

  /** @param {Sheet} canvas */
  on(canvas) {
    const { viewer, frame, shown, width } = this;
    const { theme, state } = viewer;
    /** @param {number} left */
    const fit = (left) => Math.min(17, (width - left - 1) / Math.max(1, shown.length));
    const named = fit(104) >= ROW;
    this.left = named ? 104 : 34;
    this.each = fit(this.left);
    const g = sized(canvas, width, HEAD + Math.min(width - 34, 340)); // whatever the step, the box stays
    if (!frame.graph) return;
    const { positions, blocked } = frame.graph;
    g.textBaseline = 'middle';
    this.bars(g, positions, blocked);
    const small = this.each < ROW - 2 && !g.vector;
    if (small) this.copy(g);
    shown.forEach((rank, n) => {
      const i = positions[rank];
      const y = HEAD + n * this.each;
      const middle = y + this.each / 2;
      if (i === state.position) {
        g.fillStyle = theme.sunk;
        g.fillRect(0, y, this.left - 2, Math.max(2, this.each));
      }
      if (named) this.label(g, rank, i, middle, theme);
      else if (this.each >= ROW - 2) this.number(g, i, middle, theme);
      for (let column = 0; column < shown.length && !small; column++)
        this.drawCell(g, rank, shown[column], this.left + column * this.each, y);
    });
    const row = shown.findIndex((rank) => positions[rank] === state.position);
    if (row >= 0) {
      g.strokeStyle = theme.ink;
      g.lineWidth = 1.5;
      g.strokeRect(this.left - 1, HEAD + row * this.each - 0.5, shown.length * this.each + 1, this.each + 1);
    }
  }

  /**
   * Above the columns what led the order, and below that who is accepted in this pass.
   * @param {Pen} g @param {number[]} positions @param {Graph['blocked']} blocked
   */
  bars(g, positions, blocked) {
    const { viewer, frame, shown, each } = this;
    const { theme, lane } = viewer;
    const column = lane.about.graph?.column ?? '';
    const values = shown.map((rank) => Lane.value(frame, column, positions[rank]) ?? 0);
    const largest = Math.max(...values, 1e-9);
    g.font = `10.5px ${theme.sans}`;
    g.fillStyle = theme.ink2;
    g.textAlign = 'right';
    if (this.left > 60) g.fillText(column, this.left - 6, 18);
    shown.forEach((rank, n) => {
      const i = positions[rank];
      const x = this.left + n * each;
      const high = 14 * (values[n] / largest);
      g.fillStyle = theme.bar;
      g.fillRect(x, 26 - high, Math.max(1, each - 1), high);
      g.textAlign = 'center';
      if (values[n] === largest) {
        g.fillStyle = theme.ink;
        g.font = `600 11px ${theme.sans}`;
        g.fillText('hub', Math.max(x + each / 2, this.left + 9), 6);
      }
      if (each >= 12) {
        g.fillStyle = theme.ink2;
        g.font = `11px ${theme.sans}`;
        g.fillText(String(i), x + each / 2, 34);
      }
      g.fillStyle = Object.hasOwn(blocked, i) ? theme.line2 : theme.U;
      g.fillRect(x + 0.5, 41, Math.max(1, each - 1.5), 3);
    });
    g.textAlign = 'left';
  }

  /** @param {Pen} g @param {number} rank @param {number} i @param {number} middle @param {Theme} theme */
  label(g, rank, i, middle, theme) {
    const { frame } = this;
    const state = frame.states[i];
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.ink3;
    g.textAlign = 'right';
    g.fillText(String(rank + 1), 14, middle);
    g.textAlign = 'left';
    if (state) {
      g.fillStyle = theme[LETTER[state]];
      g.beginPath();
      g.arc(23, middle, 4.5, 0, 7);
      g.fill();
    } else {
      g.strokeStyle = theme.M;
      g.lineWidth = 1;
      g.setLineDash([2, 1.5]);
      g.strokeRect(19, middle - 4, 8, 8);
      g.setLineDash([]);
    }
    g.fillStyle = theme.ink2;
    g.fillText(String(i), 32, middle);
    g.fillStyle = state ? theme.ink : theme.ink2;
    g.font = `${state ? '600 ' : ''}11px ${theme.mono}`;
    g.save();
    g.beginPath();
    g.rect(50, middle - 8, this.left - 54, 16);
    g.clip();
    g.fillText(`${this.word(i)}${frame.tags[i] && state ? ` ${frame.tags[i].mark}` : ''}`, 50, middle);
    g.restore();
  }

  /** @param {Pen} g @param {number} i @param {number} middle @param {Theme} theme */
  number(g, i, middle, theme) {
    g.font = `9.5px ${theme.sans}`;
    g.fillStyle = theme.ink2;
    g.textAlign = 'right';
    g.fillText(String(i), this.left - 5, middle);
    g.textAlign = 'left';
  }

  /**
   * What stands at a position after the step, or was guessed there.
   * @param {number} i
   */
  word(i) {
    const { frame, viewer } = this;
    if (frame.states[i]) return viewer.lane.word(frame.tokens[i]);
    const slice = frame.slices[i];
    const guess = slice?.paths?.[slice.decider ?? '']?.[0];
    return guess == null ? '· · ·' : viewer.lane.word(guess);
  }

  /**
   * 'blocks', 'looked' at and free, 'B' not looked at, or null for itself.
   * @param {number} row @param {number} column @returns {'blocks' | 'looked' | 'B' | null}
   */
  kind(row, column) {
    const { positions, blocked, limit } = this.graph;
    if (row === column) return null;
    if (column > row || Object.hasOwn(blocked, positions[column])) return 'B';
    return this.value(row, column) > 255 * limit ? 'blocks' : 'looked';
  }

  /** @param {number} row @param {number} column */
  value(row, column) {
    return this.frame.cells?.[row * this.graph.positions.length + column] ?? 0;
  }

  /** @param {Pen} g @param {number} row @param {number} column @param {number} x @param {number} y */
  drawCell(g, row, column, x, y) {
    const { each, viewer, frame } = this;
    const { theme } = viewer;
    const kind = this.kind(row, column);
    const size = each > 4 ? each - 1 : each;
    if (!kind) {
      g.strokeStyle = theme.line2;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(x + 1, y + 1);
      g.lineTo(x + size - 1, y + size - 1);
      g.stroke();
      return;
    }
    if (!frame.cells?.length) return;
    const share = this.value(row, column) / 255;
    if (kind === 'looked' && each >= 9) {
      g.strokeStyle = theme.ink;
      g.lineWidth = 1.2;
      g.beginPath();
      g.arc(x + size / 2, y + size / 2, 2.6, 0, 7);
      g.stroke();
      return;
    }
    g.fillStyle = kind === 'blocks' ? theme.ink : kind === 'looked' ? theme.ink3 : theme.line2;
    g.globalAlpha = kind === 'blocks' ? 0.45 + 0.55 * share : kind === 'looked' ? 0.35 : 0.2 + 0.8 * share;
    g.fillRect(x, y, size, size);
    g.globalAlpha = 1;
  }

  /**
   * Cells of a few pixels, as a picture that is made once for a step.
   * @param {Pen} g
   */
  copy(g) {
    const { frame, shown, each, viewer } = this;
    const { theme, state } = viewer;
    const size = shown.length;
    if (!frame.cells?.length) return;
    let picture = this.pictures.get(frame);
    if (picture?.theme !== theme || picture.order !== state.graph) {
      const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size });
      const image = new ImageData(size, size);
      const pixels = new Uint32Array(image.data.buffer);
      /** @param {string} colour @param {number} low */
      const shades = (colour, low) =>
        Array.from({ length: 256 }, (_, v) => pixel(colour, low + ((1 - low) * v) / 255, theme.panel));
      const paint = {
        blocks: shades(theme.ink, 0.45),
        looked: Array(256).fill(pixel(theme.ink3, 0.35, theme.panel)),
        B: shades(theme.line2, 0.2),
      };
      shown.forEach((row, y) =>
        shown.forEach((column, x) => {
          const kind = this.kind(row, column);
          pixels[y * size + x] = kind ? paint[kind][this.value(row, column)] : pixel(theme.line2);
        }),
      );
      canvas.getContext('2d')?.putImageData(image, 0, 0);
      picture = { theme, order: state.graph, canvas };
      this.pictures.set(frame, picture);
    }
    g.imageSmoothingEnabled = false;
    g.drawImage(picture.canvas, this.left, HEAD, size * each, size * each);
  }

  /** @param {Sheet} canvas */
  svg(canvas) {
    if (!this.frame.graph) throw new Error(this.none());
    this.on(canvas);
  }

  none() {
    return this.frame?.index
      ? 'This step holds no dependencies.'
      : 'No forward pass has run yet; the first one will tell what depends on what.';
  }

  text() {
    const graph = this.frame?.graph; // a panel that is not in view is asked too
    if (!graph) return this.none();
    const waits = Object.keys(graph.blocked).length;
    return `The ${graph.positions.length} positions of step ${this.frame.index} in the rule's order; ${waits} of them depend too much on one accepted before. ${this.note.textContent}`;
  }

  draw() {
    const { viewer, frame } = this;
    const { about } = viewer.lane;
    const { graph } = frame;
    showSide(this.tabs, 'mask', viewer.lane);
    press(this.order, viewer.state.graph);
    this.message.hidden = !!graph && frame.cells?.length !== 0;
    setText(this.message, graph ? 'The cells of this step were too many to keep.' : this.none());
    this.pin.style.left = `${100 * (graph?.limit ?? 0)}%`;
    this.pin.parentElement?.classList.toggle('dv-off', !graph);
    setText(this.limit, graph ? `${about.graph?.limit} ${graph.limit.toFixed(3).slice(graph.limit < 1 ? 1 : 0)}` : '');
    setText(
      this.count,
      !graph
        ? ''
        : `step ${frame.index}: ${graph.positions.length - Object.keys(graph.blocked).length} of ${graph.positions.length} free to go`,
    );
    const told = graph && about.graph ? this.told(about.graph, graph) : '';
    if (this.toldBefore !== told) put(this.note, rich(told));
    this.toldBefore = told;
  }

  /**
   * One sentence: about the cell under the pointer, or why the selected position waits.
   * @param {Required<Relation>} about @param {Graph} graph
   */
  told(about, { positions, blocked, limit }) {
    /** @param {number} i */
    const name = (i) => `'${this.word(i)}' at position ${i}`;
    const [row, column] = this.cell || [positions.indexOf(this.viewer.state.position), -1];
    if (row < 0) return '';
    const i = positions[row];
    const verdicts = { blocks: 'above', looked: 'not above', B: '' };
    if (column >= 0 && column !== row && this.frame.cells?.length) {
      const kind = this.kind(row, column);
      const share = this.value(row, column) / 255;
      const compared =
        kind === 'B'
          ? 'the rule did not look at it'
          : `${kind && verdicts[kind]} ${about.limit} = ${twoShort(limit, [share])}`;
      return `${name(i)} depends on ${name(positions[column])} by ${about.symbol} = ${twoShort(share, [limit])}: ${compared}.`;
    }
    if (!Object.hasOwn(blocked, i))
      return `${name(i)} is free to go: it depends on nothing accepted before it by more than ${about.limit} = ${twoShort(limit)}.`;
    const [by, value] = blocked[i];
    const much = `${about.symbol} = ${twoShort(value, [limit])}, above ${about.limit} = ${twoShort(limit, [value])}`;
    if (this.frame.states[i]) return `${name(i)} would have to wait for ${name(by)}: ${much}. It was let through.`;
    return `Why not now? ${name(i)} depends on ${name(by)}, accepted before it: ${much}.`;
  }
}
