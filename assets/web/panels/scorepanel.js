// The panel of the score: the scrubber, its switches, and a sentence about the numbers beside it.

import { buttonsIn, choice, h, pointOn, press, put, setText, two } from '../draw/dom.js';
import { Score } from '../draw/score.js';
import { rich, symbol } from '../draw/symbols.js';
import { Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { State, Viewer } from './types.js' */
/** @import { Sheet } from '../draw/types.js' */

const HELP = 'Drag, or use ← → Home End; n and p jump to the next and the previous revocation; ↑ ↓ select a token.';

export class ScorePanel {
  /** @type {Viewer} */ viewer;
  /** @type {string} */ noted;

  static id = 'score';

  static title = 'Score';

  static state = { map: 'states', hideLater: false };

  /** @param {State} state @param {Lane} lane */
  static settle(state, lane) {
    state.map = state.map === 'weights' && lane.mapped ? 'weights' : 'states';
    state.hideLater = String(state.hideLater) === 'true';
  }

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.canvas = h('canvas', {
      class: 'dv-score',
      tabindex: 0,
      role: 'slider',
      'aria-label': 'step',
      'aria-orientation': 'horizontal',
      'aria-valuemin': 0,
    });
    this.score = new Score();
    this.area = h('div', { class: 'dv-scorebox' }, this.canvas);
    this.note = h('div', { class: 'dv-note dv-wnote' });
    this.map = choice(
      'what the score shows',
      [
        ['states', 'states'],
        ['weights', 'weights'],
      ],
      (map) => viewer.set({ map }),
    );
    /** @type {HTMLInputElement} */
    const later = h('input', {
      type: 'checkbox',
      class: 'dv-check',
      'aria-label': 'hide what comes later',
      onchange: () => viewer.set({ hideLater: later.checked }),
    });
    this.later = later;
    this.title = h('h2', {});
    this.sub = h('span', { class: 'dv-sub', title: HELP });
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-score', 'aria-label': 'score' },
      h(
        'div',
        { class: 'dv-ph' },
        this.title,
        this.sub,
        h(
          'div',
          { class: 'dv-legend' },
          h('span', {}, h('i', { class: 'dv-never' }), 'never decided'),
          (this.again = h('span', {}, h('i', { class: 'dv-again' }), 'masked again')),
        ),
        this.map,
        h('label', { class: 'dv-later', title: 'hide what comes later' }, this.later, h('span', {}, 'hide later')),
      ),
      this.area,
      this.note,
    );
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.scrub(event, true);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons) this.scrub(event, false);
      else {
        const heading = this.score.beside.headingAt(...pointOn(this.canvas, event));
        this.canvas.title = heading ? `${heading.symbol || heading.name}: ${heading.help}` : '';
      }
    });
  }

  /**
   * Pressing a row also selects it; dragging on only scrubs.
   * @param {PointerEvent} event @param {boolean} select
   */
  scrub(event, select) {
    const { viewer } = this;
    const { step, position } = this.score.hit(...pointOn(this.canvas, event));
    const chosen = viewer.page && position != null ? this.places[position] : position;
    viewer.set({
      ...(step != null && { step: Math.min(step, viewer.last) }),
      ...(select && chosen != null && { position: chosen }),
    });
  }

  /**
   * Ten steps at once, while the score has the focus.
   * @param {KeyboardEvent} event
   */
  key({ key, target }) {
    const by = { PageUp: -10, PageDown: 10 }[key];
    if (!by || target !== this.canvas) return false;
    this.viewer.setStep(this.viewer.state.step + by);
    return true;
  }

  /** The rows of a story: what it is about, or all that was free. */
  get places() {
    const { page, lane } = this.viewer;
    return page?.focus?.length ? page.focus : lane.free;
  }

  prepare() {
    const { theme, state, steps, page, root } = this.viewer;
    const short = !!page;
    const lane = short ? this.viewer.lane.only(this.places) : this.viewer.lane;
    const width = this.area.clientWidth;
    this.again.hidden = lane.head.mask === null;
    setText(this.title, short ? 'The passes' : 'Score');
    setText(this.sub, short ? 'one look of the model at the sentence each; click or drag' : 'drag to scrub');
    this.score.prepare(lane, {
      width,
      narrow: width < 420,
      tall: 358,
      theme,
      weights: state.map === 'weights' && !!lane.mapped,
      steps,
      roomy: short,
      bare: root.classList.contains('dv-beside') && state.map === 'states',
      slot: state.side === 'diagnosis' && !short,
    });
    this.map.hidden = !lane.mapped;
    const { name, symbol: sign, help } = lane.mapped || { name: '' };
    const weights = buttonsIn(this.map)[1];
    setText(weights, sign || name);
    weights.title = help || '';
    press(this.map, state.map);
  }

  paint() {
    const { state } = this.viewer;
    if (!this.viewer.page && this.score.weights !== (state.map === 'weights')) this.prepare();
    this.svg(this.canvas);
  }

  /** @param {Sheet} canvas */
  svg(canvas) {
    const { state, page } = this.viewer;
    this.score.draw(
      canvas,
      state.step,
      page ? this.places.indexOf(state.position) : state.position,
      !!page || state.hideLater,
    );
  }

  text() {
    const { lane, last, state } = this.viewer;
    const shown = state.map === 'weights' ? 'Weights' : 'States';
    const row = state.side === 'diagnosis' && !state.hideLater && lane.diagnosis?.annotation.row;
    return `${shown} of ${lane.length} positions over ${state.hideLater ? state.step : last} steps of ${lane.head.name}. ${lane.at(state.step).say}${row ? ` ${row}.` : ''}`;
  }

  draw() {
    const { lane, last, state } = this.viewer;
    const frame = lane.at(state.step);
    this.canvas.setAttribute('aria-valuenow', String(state.step));
    this.canvas.setAttribute('aria-valuemax', String(last));
    this.canvas.setAttribute('aria-valuetext', frame.index ? frame.say : 'start');
    if (this.later.checked !== state.hideLater) this.later.checked = state.hideLater;
    this.drawNote(lane, frame, state.position);
  }

  /**
   * The first of the numbers beside the score, for the selected row and written out where its formula is known, and
   * what the step says of it.
   * @param {Lane} lane @param {Frame} frame @param {number} position
   */
  drawNote(lane, frame, position) {
    const [column] = lane.sides;
    const value = column ? Lane.value(frame, column.name, position) : null;
    const said = !column
      ? `${lane.about.title} records no number beside the confidence.`
      : !frame.index
        ? 'No forward pass has run yet.'
        : frame.notes[column.name] || `${column.help.slice(0, 1).toUpperCase()}${column.help.slice(1)}.`;
    const key = `${position}/${frame.index}/${value}/${said}`;
    if (this.noted === key) return;
    this.noted = key;
    if (value === null) return put(this.note, rich(said));
    const parts = column.formula
      .split(/\{([^}]*)\}/u)
      .map((part, k) => (k % 2 ? h('b', { title: part }, two(Lane.value(frame, part, position))) : part));
    const more = lane.about.columns.find(
      (each) => each.mirror && Lane.value(frame, each.name, position) != null && value !== 1,
    );
    put(
      this.note,
      symbol(column.symbol || column.name),
      h('b', {}, ` at ${position} `),
      column.formula && [' = ', parts],
      ' = ',
      h('b', {}, two(value)),
      '. ',
      rich(said),
      more && [' ', more.help],
    );
  }
}
