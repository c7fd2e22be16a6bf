// The panel of the mask: the heatmap with its switches, its pointer and its keys, and the sentence about a cell.

import { choice, h, pointOn, press, put, sentenceOf, setText, whole } from '../draw/dom.js';
import { drawStack } from '../draw/cells.js';
import { Mask } from '../draw/mask.js';
import { describe, whyNone } from '../draw/maskwords.js';
import { GLOSSARY, symbol } from '../draw/symbols.js';
import { inflate } from '../data/packed.js';
import { showSide, sideTabs } from './side.js';
import { listen, pressed } from './zooming.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { State, Viewer } from './types.js' */
/** @import { Sheet } from '../draw/types.js' */
/** @import { Cell } from '../draw/mask.js' */

/** @type {[number, string, string][]} */
const SIX = [
  [1, 'M in x', 'everything in x'],
  [4, 'M in s', 'unmasked only'],
  [2, 'C in x', 'unmasked + surer C'],
  [5, 'C in s', 'the same, not itself'],
  [3, 'U in x', 'unmasked only'],
  [6, 'U in s', 'the same, not itself'],
];
const HANDS = 'Click it, then zoom by the wheel or + and −; drag to move; double click or 0 shows all.';
const PATIENCE = 250; // ms on one step before its attention is asked for

export class MaskPanel {
  /** @type {Viewer} */ viewer;
  /** @type {number} */ width;
  /** @type {number | undefined} the position that was selected when it was drawn */ shown;
  /** @type {Frame | null} */ refused;
  /** @type {string} */ refusal;
  /** @type {string} */ legendFor;
  /** @type {ReturnType<typeof setTimeout>} */ waiting;
  /** @type {(y: number) => number} */ layerAt;

  static id = 'mask';

  static title = 'Mask';

  static state = { order: 'state', reach: 0, attention: -1 };

  /**
   * Reach 0 is what is visible directly; attention is a layer from 1 on, 0 the mean of all, -1 another view.
   * @param {State} state @param {Lane} lane
   */
  static settle(state, lane) {
    state.order = state.order === 'position' ? 'position' : 'state';
    state.attention = whole(state.attention, -1, lane.head.layers);
    state.reach = state.attention >= 0 ? 0 : whole(state.reach, 0, lane.head.layers);
  }

  /**
   * Where the trace holds dependencies, they stand in this place; so may causes.
   * @param {Lane} lane @param {Viewer} viewer
   */
  static fits({ about }, viewer) {
    return !about.graph && (viewer.state.side === 'mask' || (viewer.state.side === 'causes' && viewer.room));
  }

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.canvas = h('canvas', {
      class: 'dv-mask',
      tabindex: 0,
      role: 'application',
      'aria-label': 'attention mask',
      'aria-roledescription': 'heatmap',
    });
    this.mask = new Mask();
    this.message = h('p', { class: 'dv-maskmessage', hidden: true });
    this.zoomButtons = h(
      'span',
      { class: 'dv-seg dv-zoom', role: 'group', 'aria-label': 'zoom of the mask' },
      h('button', { type: 'button', 'aria-label': 'zoom out', onclick: () => this.zoom(-1) }, '−'),
      h('button', { type: 'button', 'aria-label': 'zoom in', onclick: () => this.zoom(1) }, '+'),
    );
    this.area = h('div', { class: 'dv-maskbox' }, this.canvas, this.zoomButtons, this.message);
    this.sub = h('span', { class: 'dv-sub' });
    this.note = h('div', { class: 'dv-note dv-masknote', 'aria-live': 'polite' });
    this.legend = h('div', { class: 'dv-legend dv-masklegend' });
    this.order = choice(
      'order of the mask',
      [
        ['state', 'by state'],
        ['position', 'by position'],
      ],
      (order) => viewer.set({ order }),
    );
    this.depth = choice(
      'direct, reach or attention',
      [
        ['direct', 'direct', GLOSSARY.direct],
        ['reach', 'reach', GLOSSARY.reach],
        ['attention', 'attention', GLOSSARY.attention],
      ],
      (value) =>
        viewer.set({
          reach: value === 'reach' ? viewer.lane.head.layers : 0,
          attention: value === 'attention' ? viewer.lane.head.layers : -1,
        }),
    );
    /** @type {HTMLInputElement} */
    const layers = h('input', {
      type: 'range',
      class: 'dv-range',
      min: 1,
      'aria-label': 'layers',
      oninput: () => viewer.set({ [viewer.state.attention < 0 ? 'reach' : 'attention']: +layers.value }),
    });
    this.layers = layers;
    this.stack = h('canvas', { class: 'dv-stack', role: 'img', hidden: true });
    this.stack.addEventListener('pointerdown', (event) => {
      const n = this.layerAt?.(pointOn(this.stack, event)[1]);
      if (n != null) viewer.set({ attention: n < viewer.lane.head.layers ? n + 1 : 0 });
    });
    this.layerText = h('span', { class: 'dv-layertext' });
    this.dirty = h('span', { class: 'dv-dirty' });
    this.layerRow = h('label', { class: 'dv-layers' }, this.layers, this.layerText);
    this.six = h(
      'div',
      { class: 'dv-six' },
      SIX.map(([n, who, what]) =>
        h('span', {}, h('i', {}, String(n)), h('b', {}, symbol(who[0]), ' in ', symbol(who[who.length - 1])), what),
      ),
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-mask', 'aria-label': 'mask' },
      h(
        'div',
        { class: 'dv-ph' },
        (this.tabs = sideTabs(viewer)),
        this.sub,
        h('span', { class: 'dv-grow' }),
        this.order,
      ),
      h('div', { class: 'dv-views' }, this.depth, this.layerRow),
      this.area,
      h('div', { class: 'dv-maskline' }, this.legend, this.dirty),
      this.six,
      this.stack,
      this.note,
    );
    listen(this);
  }

  /**
   * A key pressed on the heatmap; true if it meant something here.
   * @param {KeyboardEvent} event
   */
  key({ key, target }) {
    const { lane, state } = this.viewer;
    return target === this.canvas && !!lane.at(state.step).mask && pressed(this, key);
  }

  /**
   * In or out, around a cell or else the selected token's shadow.
   * @param {number} direction @param {Cell | null} [cell]
   */
  zoom(direction, cell) {
    const { mask } = this;
    const place = mask.place?.[this.viewer.state.position - mask.frame.block[0]];
    if (mask.zoomBy(direction, cell || (place != null ? [mask.halves[mask.halves.length - 1] + place, place] : null)))
      this.redraw();
  }

  /** All of it. */
  whole() {
    Object.assign(this.mask, { zoom: 1, origin: [0, 0] });
    this.redraw();
  }

  load() {
    Object.assign(this.mask, { lane: null, cell: null, zoom: 1, origin: [0, 0] });
  }

  /** Whether the cells of a whole block are too small to be read. */
  get fine() {
    return this.viewer.lane.head.block > 64;
  }

  prepare() {
    const { head, about, tentative } = this.viewer.lane;
    this.width = this.area.clientWidth;
    this.box.classList.toggle('dv-noshadow', !about.shadow);
    this.zoomButtons.hidden = head.block < 20 || !about.shadow;
    this.area.classList.toggle('dv-fine', this.fine);
    this.canvas.title = this.fine ? HANDS : '';
    this.order.hidden = !about.shadow;
    this.layers.max = String(head.layers);
    this.six.hidden = !tentative || head.mask === null;
  }

  /** @type {Record<string, (viewer: Viewer) => void>} */
  static shortcuts = {
    '[': (viewer) => viewer.state.attention >= 0 && viewer.set({ attention: Math.max(0, viewer.state.attention - 1) }),
    ']': (viewer) => viewer.state.attention >= 0 && viewer.set({ attention: viewer.state.attention + 1 }),
  };

  /** Where the queries of this step looked, if it is known and wanted: the weights of every layer, then their mean. */
  get looks() {
    const { lane, state } = this.viewer;
    return (state.attention >= 0 && lane.looks.get(lane.at(state.step).index)) || null;
  }

  /** The weights in view, of a layer or the mean. */
  get weights() {
    const { attention } = this.viewer.state;
    return this.looks?.[attention ? attention - 1 : this.looks.length - 1] ?? null;
  }

  need() {
    const { lane, state, host } = this.viewer;
    const frame = lane.at(state.step);
    clearTimeout(this.waiting);
    if (state.attention < 0 || !frame.mask || lane.looks.has(frame.index) || this.refused === frame) return;
    if (host.ask) this.waiting = setTimeout(() => this.obtain(lane, frame), PATIENCE);
    else this.refuse(frame, 'This run is a recording, and there is no model to ask for its attention.');
  }

  /** @param {Lane} lane @param {Frame} frame */
  async obtain(lane, frame) {
    const { viewer } = this;
    try {
      /** @type {{ layers: number, weights: string }} */
      const { layers, weights } = await viewer.ask('attention', { step: frame.index });
      const all = new Uint16Array((await inflate(weights, 'deflate')).buffer);
      const size = all.length / layers;
      const found = Array.from({ length: layers }, (_, n) => all.subarray(n * size, (n + 1) * size));
      const mean = Float32Array.from(
        { length: size },
        (_, k) => found.reduce((sum, layer) => sum + layer[k], 0) / layers,
      );
      lane.looks.set(frame.index, [...found, mean]);
      if (viewer.lane === lane) viewer.redraw();
    } catch (error) {
      this.refuse(frame, sentenceOf(error));
    }
  }

  /** @param {Frame} frame @param {string} text */
  refuse(frame, text) {
    this.refused = frame;
    this.refusal = text;
    if (this.viewer.drawnWidth) this.draw();
  }

  redraw() {
    if (!this.viewer.drawnWidth) return;
    this.paint();
    this.draw();
  }

  paint() {
    const { viewer, mask } = this;
    const { lane, state } = viewer;
    const frame = lane.at(state.step);
    if (frame.mask) {
      mask.show(lane, frame, lane.frames[frame.index - 1], state.order === 'state');
      if (state.position !== this.shown) mask.reveal(state.position);
      this.shown = state.position;
    } else mask.frame = frame;
    this.on(this.canvas);
    this.paintStack();
  }

  /** @param {Sheet} canvas */
  on(canvas) {
    const { lane, state, theme } = this.viewer;
    this.mask.draw(canvas, {
      width: this.width,
      block: Math.min(lane.head.block, lane.length),
      selected: state.position,
      layers: state.reach,
      weights: this.weights,
      theme,
    });
  }

  /** The selected shadow's row through all layers. */
  paintStack() {
    const { mask, looks } = this;
    const { state, theme } = this.viewer;
    const place = looks && mask.place?.[state.position - mask.frame.block[0]];
    const on = place != null && mask.frame.mask && !this.viewer.still;
    this.stack.hidden = !on;
    if (!on || !looks) return;
    this.layerAt = drawStack(this.stack, mask, mask.size + place, looks, state.attention, theme);
    mask.weights = this.weights;
    this.stack.setAttribute('aria-label', `where the shadow of position ${state.position} looks, layer by layer`);
  }

  /** @param {Sheet} canvas */
  svg(canvas) {
    const { lane, state } = this.viewer;
    const frame = lane.at(state.step);
    if (!frame.mask) throw new Error(whyNone(lane, frame));
    this.on(canvas);
  }

  text() {
    const { lane, state } = this.viewer;
    const frame = lane.at(state.step);
    if (!frame.mask) return whyNone(lane, frame);
    if (state.attention >= 0)
      return `Where the queries of step ${frame.index} looked, ${this.layerText.textContent}. ${this.note.textContent}`;
    const seen = state.reach ? `what reaches it through ${state.reach} layers` : 'what it sees';
    return `The attention mask of step ${frame.index}, positions ${frame.block[0]} to ${frame.block[1] - 1}${frame.plain ? '' : ', x before s'}: for every query, ${seen}. ${this.note.textContent}`;
  }

  draw() {
    const { mask } = this;
    const { lane, state } = this.viewer;
    const frame = lane.at(state.step);
    this.message.hidden = !!frame.mask;
    if (!frame.mask) setText(this.message, whyNone(lane, frame));
    const cell = frame.mask && (mask.cell || mask.standard(state.position));
    const loading = frame.mask && state.attention >= 0 && !this.weights;
    if (loading) setText(this.note, this.refused === frame ? this.refusal : 'Asking the model where it looked …');
    else if (cell) put(this.note, describe(mask, cell).parts, this.weights && this.pointer());
    else setText(this.note, '');
    const block = lane.head.block < lane.length ? ` · ${frame.block[0]}–${frame.block[1] - 1}` : '';
    const later = lane.head.sees ? ` · blocks of ${lane.head.sees}, none sees a later one` : '';
    setText(this.sub, (frame.index ? `step ${frame.index}${block}` : 'start') + later);
    this.sub.title = this.sub.textContent;
    showSide(this.tabs, 'mask', lane);
    press(this.order, state.order);
    press(this.depth, state.attention >= 0 ? 'attention' : state.reach ? 'reach' : 'direct');
    this.drawLegend(lane, state.attention >= 0 ? 'attention' : state.reach > 0 ? 'reach' : 'direct', frame.plain);
    this.six.hidden = !this.stack.hidden || !lane.tentative || lane.head.mask === null;
    this.depth.hidden = this.layers.hidden = !!frame.plain || !lane.about.shadow;
    this.drawLayers(frame, state);
  }

  /** From where it looked to what that did. */
  pointer() {
    const { viewer } = this;
    return [
      ' ',
      h('button', { type: 'button', class: 'dv-link', onclick: () => viewer.set({ side: 'causes' }) }, 'Causes'),
    ];
  }

  /** @param {Frame} frame @param {State} state */
  drawLayers(frame, { reach, attention }) {
    const value = attention >= 0 ? attention : reach;
    const least = attention >= 0 ? 0 : 1;
    this.layerRow.classList.toggle('dv-off', !reach && attention < 0);
    if (+this.layers.min !== least) this.layers.min = String(least);
    if (+this.layers.value !== value) this.layers.value = String(value);
    this.dirty.hidden = !reach;
    this.layers.setAttribute('aria-label', attention >= 0 ? 'layer of attention' : 'layers of reach');
    if (attention >= 0) {
      const { layers } = this.viewer.lane.head;
      setText(this.layerText, attention ? `layer ${attention} of ${layers}` : `mean of ${layers} layers`);
      return;
    }
    const dirty = Object.values(frame.contaminated || {}).filter((depth) => depth <= reach).length;
    setText(this.layerText, `${reach} layer${reach > 1 ? 's' : ''}`);
    setText(this.dirty, dirty ? `${dirty} contaminated ◂` : 'none contaminated');
    this.dirty.classList.toggle('dv-warn', dirty > 0);
  }

  /** @param {Lane} lane @param {string} view @param {boolean} [plain] */
  drawLegend(lane, view, plain) {
    const deep = view === 'reach';
    const key = `${view}${plain}${lane.tentative}`;
    if (this.legendFor === key) return;
    this.legendFor = key;
    /** @param {string} kind @param {string} name */
    const entry = (kind, name) => {
      const [path, ...rest] = name.split(' ');
      return h(
        'span',
        {},
        h('i', { class: `dv-key dv-key-${kind}` }),
        rest.length ? [symbol(path), ` ${rest.join(' ')}`] : name,
      );
    };
    if (view === 'attention')
      put(
        this.legend,
        h('span', {}, 'weight 0 ', h('i', { class: 'dv-ramp' }), ' 1, strength: its root'),
        entry('B', 'blocked'),
      );
    else
      put(
        this.legend,
        entry('U', 'x unmasked'),
        lane.tentative && entry('C', 'x candidate'),
        entry('M', 'x mask'),
        !plain && entry('S', 's mask'),
        deep ? entry('R', 'reached') : entry('B', 'blocked'),
      );
  }
}
