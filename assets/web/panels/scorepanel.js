// The panel of the score: the scrubber, its switches, and a sentence about the numbers beside it.

import { buttonsIn, choice, h, pointOn, press, put, setText, two, whole } from '../draw/dom.js';
import { Lens } from '../draw/lens.js';
import { Score } from '../draw/score.js';
import { rich, symbol } from '../draw/symbols.js';
import { Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { State, Viewer } from './types.js' */
/** @import { Sheet } from '../draw/types.js' */

const TALL = 358; // pixels of all rows
const AROUND = 562; // and of what stands above and below them where a page is to be seen without scrolling
const LOW = 150;
const BESIDE = 420; // from which on the lens has room beside the map
const APART = 10;
const MAP = 0.46; // of the width
const HELP = 'Drag, or use ← → Home End; n and p jump to the next and the previous revocation; ↑ ↓ select a token.';

export class ScorePanel {
  /** @type {Viewer} */ viewer;
  /** @type {string} */ noted;
  /** @type {boolean} whether the pointer moves the lens beside the map */ aside = false;

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
    this.lens = new Lens();
    this.near = h('canvas', {
      class: 'dv-lens',
      tabindex: 0,
      role: 'slider',
      'aria-label': 'position',
      'aria-orientation': 'vertical',
      'aria-valuemin': 0,
      hidden: true,
    });
    this.area = h('div', { class: 'dv-scorebox' }, this.canvas, this.near);
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
      this.aside = this.mapped && pointOn(this.canvas, event)[0] < this.score.label;
      this.scrub(event, true);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons) this.scrub(event, this.aside);
      else this.explain(this.canvas, this.score, event);
    });
    this.listen();
  }

  /** In the lens, dragging moves through positions; what is pressed is selected. */
  listen() {
    const { near, lens, viewer } = this;
    /** @type {{ y: number, first: number, position: number, moved: boolean } | null} */
    let drag = null;
    near.addEventListener('pointerdown', (event) => {
      near.setPointerCapture(event.pointerId);
      drag = { y: event.clientY, first: lens.first, position: viewer.state.position, moved: false };
    });
    near.addEventListener('pointermove', (event) => {
      if (!drag) return this.explain(near, lens.score, event);
      const by = Math.round((drag.y - event.clientY) / lens.score.row);
      drag.moved ||= by !== 0;
      if (drag.moved) this.move(drag.first + by, drag.position + by);
    });
    near.addEventListener('pointerup', (event) => {
      const { step, position } = lens.hit(...pointOn(near, event));
      if (drag && !drag.moved) viewer.set({ ...(step !== null && { step }), ...(position !== null && { position }) });
      drag = null;
    });
    near.addEventListener('pointercancel', () => (drag = null));
    near.addEventListener(
      'wheel',
      (event) => {
        if (event.ctrlKey || !event.deltaY) return;
        event.preventDefault();
        const by = Math.sign(event.deltaY) * 3;
        this.move(lens.first + by, viewer.state.position + by);
      },
      { passive: false },
    );
  }

  /** The lens and the selection in it. @param {number} first @param {number} position */
  move(first, position) {
    const { lens, viewer } = this;
    lens.first = first;
    viewer.select(whole(position, 0, viewer.lane.length - 1));
  }

  /** What the heading under the pointer means. @param {HTMLCanvasElement} canvas @param {Score} score @param {PointerEvent} event */
  explain(canvas, score, event) {
    const heading = score.map ? null : score.beside.headingAt(...pointOn(canvas, event));
    canvas.title = heading ? `${heading.symbol || heading.name}: ${heading.help}` : '';
  }

  /**
   * Pressing a row also selects it; dragging on only scrubs. Beside a map, dragging moves the lens.
   * @param {PointerEvent} event @param {boolean} select
   */
  scrub(event, select) {
    const { viewer, lens } = this;
    const { step, position } = this.score.hit(...pointOn(this.canvas, event));
    const chosen = viewer.page && position != null ? this.places[position] : position;
    if (select && chosen != null) lens.centre(chosen);
    viewer.set({
      ...(step != null && !this.aside && { step: Math.min(step, viewer.last) }),
      ...(select && chosen != null && { position: chosen }),
    });
  }

  /**
   * Ten steps at once, while the score has the focus; a lens full of positions, while that has it.
   * @param {KeyboardEvent} event
   */
  key({ key, target }) {
    const by = { PageUp: -1, PageDown: 1 }[key];
    const { state } = this.viewer;
    if (by && target === this.near) {
      const rows = by * (this.lens.rows - 1);
      this.move(this.lens.first + rows, state.position + rows);
    } else if (by && target === this.canvas) this.viewer.setStep(state.step + 10 * by);
    else return false;
    return true;
  }

  /** How high all rows are: under a text only as high as the window has room. */
  tall() {
    const { root, still } = this.viewer;
    return root.classList.contains('dv-reading') && !still ? whole(window.innerHeight - AROUND, LOW, TALL) : TALL;
  }

  /** Whether it is a map with a lens beside it. */
  get mapped() {
    return this.viewer.long && !this.viewer.page;
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
    const room = this.area.clientWidth;
    const { mapped } = this;
    this.near.hidden = !mapped;
    const beside = mapped && room >= BESIDE;
    this.area.classList.toggle('dv-withlens', mapped);
    const width = beside ? Math.round((room - APART) * MAP) : room;
    this.again.hidden = lane.head.mask === null;
    setText(this.title, short ? 'The passes' : 'Score');
    setText(
      this.sub,
      short
        ? 'one look of the model at the sentence each; click or drag'
        : mapped
          ? 'drag the map to scrub, the lens to move'
          : 'drag to scrub',
    );
    const tall = this.tall();
    const look = { tall, theme, weights: state.map === 'weights' && !!lane.mapped };
    this.score.prepare(lane, {
      ...look,
      width,
      narrow: width < 420,
      steps,
      roomy: short,
      bare: root.classList.contains('dv-beside') && state.map === 'states',
      slot: state.side === 'diagnosis' && !short,
      map: mapped,
    });
    if (mapped) {
      const left = beside ? room - APART - width : room;
      this.lens.prepare(lane, { ...look, width: left, narrow: left < 420, tall: beside ? tall : 226 });
    }
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
    if (!this.mapped) return;
    if (canvas === this.canvas) this.lens.draw(this.near, state.step, state.position, state.hideLater);
    this.lens.frame(canvas, this.score);
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
    this.near.setAttribute('aria-valuenow', String(state.position));
    this.near.setAttribute('aria-valuemax', String(lane.length - 1));
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
