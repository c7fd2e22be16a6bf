// The chart of an experiment, drawn by a library that is fetched when the first one is to be drawn.

import { h } from '../draw/dom.js';
import { tagged } from '../draw/symbols.js';

/** @import { Bridge } from '../data/messages.js' */
/** @import { Figure } from './types.js' */

/**
 * What is used of the chart library.
 * @typedef {object} Library
 * @property {{ resize(box: HTMLElement): void }} Plots
 * @property {(box: HTMLElement, data: object, layout: object, options: object) => Promise<unknown>} react
 * @property {(box: HTMLElement) => void} purge
 *
 * @typedef {{ points: { customdata?: unknown, data?: { meta?: { only?: string } } }[] }} Press
 * @typedef {HTMLElement & { on?(event: string, then: (press: Press) => void): void }} Box
 */

const HIGHEST = 2000; // pixels of a chart that asks for its own height

/** @returns {Library | undefined} */
const library = () => /** @type {{ Plotly?: Library }} */ (/** @type {unknown} */ (window)).Plotly;

export class Chart {
  /** @type {Figure | null} */ figure;

  /**
   * `onVariant(variant, only)` is called when a point is pressed; `only` tells which of its runs a part of a bar is.
   * @param {Bridge} bridge @param {(variant: string, only?: string) => void} onVariant
   */
  constructor(bridge, onVariant) {
    this.bridge = bridge;
    this.onVariant = onVariant;
    this.figure = null;
    /** @type {Box} */
    this.box = h('div', { class: 'dx-chart', role: 'img', 'aria-label': 'Chart' });
    // The list of runs takes room from it.
    new ResizeObserver(() => this.figure && library()?.Plots.resize(this.box)).observe(this.box);
  }

  /** Throws an Error with a sentence where the library did not arrive. @param {Figure} figure */
  async draw(figure) {
    this.figure = figure;
    const { box } = this;
    const Plotly = await plotly(this.bridge).catch(() => {
      throw new Error('The chart library did not arrive; the tables below hold the same numbers.');
    });
    if (this.figure !== figure || !box.isConnected) return;
    const ink = getComputedStyle(box).getPropertyValue('--dv-ink').trim();
    const small = box.clientWidth < 600;
    const height = Math.max(small ? 480 : 420, Math.min(HIGHEST, figure.layout.height ?? 0));
    const narrow = small && {
      legend: { orientation: 'h', y: -100 / (height - 80) },
      margin: { l: 45, r: 8, t: 40, b: 40 },
    };
    const font = { ...figure.layout.font, color: ink, size: narrow ? 10 : 12 };
    const title = { ...figure.layout.title, font: { size: 13 } };
    const layout = { ...figure.layout, ...narrow, autosize: true, height, font, title };
    await Plotly.react(box, withSubscripts(figure.data), withSubscripts(layout), { displaylogo: false });
    if (box.dataset.listening) return;
    box.dataset.listening = 'yes';
    box.on?.('plotly_click', ({ points }) => {
      const variant = [points[0]?.customdata].flat()[0];
      if (typeof variant === 'string') this.onVariant(variant, points[0].data?.meta?.only);
    });
  }

  clear() {
    this.figure = null;
    library()?.purge(this.box);
    delete this.box.dataset.listening;
  }
}

/**
 * A figure's texts with τ_c written as it should be; the names its points are known by stay as they are.
 * @param {any} part @returns {any}
 */
function withSubscripts(part) {
  if (typeof part === 'string') return tagged(part);
  if (Array.isArray(part)) return part.map(withSubscripts);
  if (part === null || typeof part !== 'object') return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, key === 'customdata' ? value : withSubscripts(value)]),
  );
}

/** @type {Promise<Library> | null} */
let loading = null;

/** The chart library, fetched from this server when the first chart is to be drawn. @param {Bridge} bridge */
function plotly(bridge) {
  loading ??= bridge.call('plotly', {}).then((reply) => {
    if (reply.kind !== 'script') throw new Error('no script');
    document.head.append(h('script', {}, reply.text));
    return /** @type {Library} */ (library());
  });
  loading.catch(() => {
    loading = null;
  });
  return loading;
}
