// The handles on a ruler: one for every number a run is tuned by, dragged with a pointer or moved by arrow keys. A number that
// is no confidence has a line of its own, on its own scale.

import { h, put, setText, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { tuningOf } from './tuning.js';

/** @import { Knob } from './tuning.js' */
/** @import { Viewer } from './types.js' */

/** @type {Record<string, number>} */
const KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/** A number as a handle shows it. @param {Knob} knob @param {number} value */
export const shown = (knob, value) => (knob.step < 1 ? twoShort(value) : String(value));

export class Handles {
  /** @type {Map<string, { knob: Knob, handle: HTMLElement, label: HTMLElement }>} */ made = new Map();

  /** `onMove` draws what stands between the handles. @param {Viewer} viewer @param {() => void} onMove */
  constructor(viewer, onMove) {
    this.viewer = viewer;
    this.tuning = tuningOf(viewer);
    this.box = h('div', { class: 'dv-handles' });
    this.line = h('div', { class: 'dv-hline', hidden: true });
    this.note = h('p', { class: 'dv-hnote', role: 'status' });
    this.tuning.listeners.add(() => {
      if (!this.viewer.lane) return;
      this.place();
      onMove();
    });
  }

  /** Whether this page lets go of its numbers. */
  get free() {
    const { page } = this.viewer;
    return !!page && (!!page.drag || [page.panel].flat().includes('map'));
  }

  /** Handles that are there stay: one of them may be under the pointer. */
  prepare() {
    const knobs = this.free ? this.tuning.knobs : [];
    const key = JSON.stringify(knobs);
    if (this.box.dataset.knobs !== key) {
      this.box.dataset.knobs = key;
      this.made = new Map(knobs.map((knob) => [knob.name, this.make(knob)]));
      const all = [...this.made.values()];
      put(
        this.box,
        all.filter(({ knob }) => knob.scale).map(({ handle }) => handle),
      );
      const own = all.filter(({ knob }) => !knob.scale);
      this.line.hidden = !own.length;
      put(
        this.line,
        own.map(({ knob, handle }) => [
          h('span', { class: 'dv-hend' }, String(knob.low)),
          h('div', { class: 'dv-htrack' }, handle),
          h('span', { class: 'dv-hend' }, String(knob.high)),
        ]),
      );
    }
    this.place();
  }

  /** @param {Knob} knob */
  make(knob) {
    const label = h('span', {});
    const handle = h(
      'div',
      { class: 'dv-handle', role: 'slider', tabindex: 0, 'aria-label': knob.symbol, 'data-name': knob.name },
      h('i', {}),
      label,
    );
    const to = (/** @type {PointerEvent} */ { clientX }) => {
      const { left, width } = /** @type {HTMLElement} */ (handle.parentElement).getBoundingClientRect();
      return knob.low + ((clientX - left) / width) * (knob.high - knob.low);
    };
    const drag = (/** @type {PointerEvent} */ event) => {
      if (handle.hasPointerCapture(event.pointerId))
        this.tuning.move(knob.name, to(event), event.type !== 'pointermove');
    };
    handle.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      handle.focus({ preventScroll: true });
      handle.setPointerCapture(event.pointerId);
    });
    for (const kind of /** @type {const} */ (['pointermove', 'pointerup'])) handle.addEventListener(kind, drag);
    handle.addEventListener('keydown', (event) => {
      const now = this.tuning.values[knob.name];
      /** @type {Record<string, number>} */
      const ends = { Home: knob.low, End: knob.high };
      const next = ends[event.key] ?? (KEYS[event.key] && now + KEYS[event.key] * knob.step);
      if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.tuning.move(knob.name, next, true);
    });
    return { knob, handle, label };
  }

  place() {
    const { values, message } = this.tuning;
    const places = [...this.made.values()].map(({ knob, handle, label }) => {
      const value = values[knob.name];
      const share = (value - knob.low) / (knob.high - knob.low);
      handle.style.left = `${100 * share}%`;
      for (const [name, what] of Object.entries({ min: knob.low, max: knob.high, now: value }))
        handle.setAttribute(`aria-value${name}`, String(what));
      put(label, rich(knob.symbol), ` ${shown(knob, value)}`);
      return share;
    });
    // Where two are close their labels part, not their lines.
    const close = places.length === 2 && places[1] - places[0] < 0.12;
    [...this.made.values()].forEach(({ handle }, n) => {
      handle.dataset.side = close ? ['left', 'right'][n] : '';
    });
    setText(this.note, message || this.outside());
    this.note.hidden = !this.made.size;
  }

  /** What stands outside its zone: the first thing that is asked about it. */
  outside() {
    const { lane, state } = this.viewer;
    const frame = lane.at(state.step);
    const [i] = frame.events.forced ?? [];
    return i === undefined
      ? ''
      : `No word was above the line in this pass, so the surest went in all the same: ${lane.word(frame.tokens[i])}.`;
  }
}
