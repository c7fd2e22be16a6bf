// How sure the model is, from 0 to 1: each word at its confidence among the zones of the states, and what the states mean.
// Where the page lets go of them, the thresholds are handles; see handles.js.

import { badge, h, put, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { LETTER } from '../data/unpack.js';
import { Handles } from './handles.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

/** @type {Record<string, string>} */
const MEANING = {
  M: 'nothing is decided here: a blank',
  C: 'written, still on trial',
  U: 'trusted, unless a later check says otherwise',
};
const PINS_AT_MOST = 4;
const NEAR = 0.14; // pins closer than this have their words on both sides

export class Ruler {
  static id = 'ruler';

  static story = 'ruler';

  static title = 'Ruler';

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.pins = h('div', { class: 'df-pins', 'aria-hidden': 'true' });
    this.zones = h('div', { class: 'df-zones', role: 'img' });
    this.ticks = h('div', { class: 'df-ticks', 'aria-hidden': 'true' });
    this.legend = h('div', { class: 'df-legend' });
    this.handles = new Handles(viewer, () => !this.box.hidden && this.zone());
    this.box = h(
      'section',
      { class: 'dv-panel df-ruler', 'aria-label': 'how sure the model is' },
      h('h2', { class: 'df-what' }, 'How sure the model is'),
      this.pins,
      h('div', { class: 'dv-hscale' }, this.zones, this.handles.box),
      this.ticks,
      this.handles.line,
      this.handles.note,
      this.legend,
    );
  }

  prepare() {
    const { lane } = this.viewer;
    put(
      this.legend,
      lane.kinds.map(({ letter, title, help }) =>
        h(
          'span',
          { class: 'df-mean' },
          badge(lane.look(letter), false, letter),
          h('b', {}, title),
          h('span', {}, help || MEANING[letter]),
        ),
      ),
    );
    this.handles.prepare();
    this.zone();
  }

  /** The zones of the states between the thresholds, or between the handles while these are elsewhere. */
  zone() {
    const { lane } = this.viewer;
    const { thresholds } = lane.about;
    const { values } = this.handles.tuning;
    const free = this.handles.free;
    const cuts = [0, ...thresholds.map(({ name, at }) => (free ? values[name] : undefined) ?? at), 1];
    const zones = cuts.length === lane.kinds.length + 1 ? lane.kinds : [];
    this.zones.setAttribute(
      'aria-label',
      `How sure the model is, from 0 to 1${zones.map(({ title }, n) => `${n ? ', ' : ': '}up to ${cuts[n + 1]} ${title}`).join('')}.`,
    );
    put(
      this.zones,
      (zones.length ? zones : [{ letter: 'M' }]).map(({ letter }, n) =>
        h('i', {
          'data-s': lane.look(letter),
          style: {
            left: `${100 * cuts[n]}%`,
            width: `${100 * ((zones.length ? cuts[n + 1] : 1) - cuts[n])}%`,
          },
        }),
      ),
    );
    put(
      this.ticks,
      cuts.map((at, n) =>
        h(
          'span',
          { style: { left: `${100 * at}%` } },
          n === 0
            ? '0, impossible'
            : n === cuts.length - 1
              ? '1, certain'
              : !free && [rich(thresholds[n - 1].symbol), ` ${twoShort(at)}`],
        ),
      ),
    );
  }

  paint() {}

  /** The words that are spoken of: those of the page, or the first. @param {Lane} lane @param {Frame} frame */
  shown(lane, frame) {
    const { page } = this.viewer;
    const wanted = page?.focus?.length ? page.focus : lane.free;
    return frame.index
      ? wanted.filter((i) => frame.confidence[i] != null && (frame.states[i] || frame.marks[i])).slice(0, PINS_AT_MOST)
      : [];
  }

  /** Each word at its confidence; what was revoked falls there from where it was. */
  draw() {
    const { lane, state } = this.viewer;
    this.handles.place();
    const frame = lane.at(state.step);
    const before = lane.frames[frame.index - 1];
    const sure = (/** @type {number} */ i) => frame.confidence[i] ?? 0;
    const was = (/** @type {number} */ i) => before?.confidence[i] ?? 0;
    const order = this.shown(lane, frame).sort((a, b) => sure(a) - sure(b));
    put(
      this.pins,
      order.map((i, n) => {
        const at = sure(i);
        const word = lane.word(frame.states[i] ? frame.tokens[i] : frame.ghost[i]);
        const crowded = n + 1 < order.length && sure(order[n + 1]) - at < NEAR;
        const side = at > 0.8 || (crowded && at > NEAR) ? 'left' : 'right';
        const fell = frame.events.demoted?.includes(i) && was(i) > at;
        return [
          fell &&
            h('i', {
              class: 'df-fall',
              style: { left: `${100 * at}%`, width: `${100 * (was(i) - at)}%` },
            }),
          h(
            'span',
            { class: 'df-pin', 'data-s': LETTER[frame.states[i]], 'data-side': side, style: { left: `${100 * at}%` } },
            h('i', {}),
            h('bdi', {}, `${word} ${twoShort(at, lane.limits)}`),
          ),
        ];
      }),
    );
  }

  text() {
    const { lane, state } = this.viewer;
    const frame = lane.at(state.step);
    const told = this.shown(lane, frame).map(
      (i) => `${lane.word(frame.states[i] ? frame.tokens[i] : frame.ghost[i])} ${twoShort(frame.confidence[i])}`,
    );
    return `${told.join(', ') || 'no word yet'}.`;
  }
}
