// The panel of the score: the scrubber, its switches, and the sentence about the weights.

import { choice, h, press, put, setText, two } from './dom.js';
import { Score, weightAt } from './score.js';

const HELP = 'Drag, or use ← → Home End; n and p jump to the next and the previous revocation; ↑ ↓ select a token.';

export class ScorePanel {
  constructor(viewer) {
    this.viewer = viewer;
    this.canvas = h('canvas', {
      class: 'dv-score', tabindex: 0, role: 'slider', 'aria-label': 'step', 'aria-orientation': 'horizontal', 'aria-valuemin': 0,
    });
    this.score = new Score(this.canvas);
    this.area = h('div', { class: 'dv-scorebox' }, this.canvas);
    this.note = h('div', { class: 'dv-note dv-wnote' });
    this.map = choice('what the score shows', [['states', 'states'], ['weights', 'weights']], (map) => viewer.set({ map }));
    this.later = h('input', {
      type: 'checkbox', class: 'dv-check', 'aria-label': 'hide what comes later', onchange: () => viewer.set({ hideLater: this.later.checked }),
    });
    this.box = h('section', { class: 'dv-panel dv-p-score', 'aria-label': 'score' },
      h('div', { class: 'dv-ph' }, h('h2', {}, 'Score'), h('span', { class: 'dv-sub', title: HELP }, 'drag to scrub'),
        h('div', { class: 'dv-legend' },
          h('span', {}, h('i', { class: 'dv-never' }), 'never decided'), h('span', {}, h('i', { class: 'dv-again' }), 'masked again')),
        this.map, h('label', { class: 'dv-later', title: 'hide what comes later' }, this.later, h('span', {}, 'hide later'))),
      this.area, this.note);
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.scrub(event, true);
    });
    this.canvas.addEventListener('pointermove', (event) => event.buttons && this.scrub(event, false));
  }

  /** Pressing a row also selects it; dragging on only scrubs. */
  scrub(event, select) {
    const { viewer } = this;
    const box = this.canvas.getBoundingClientRect();
    const { step, position } = this.score.hit(event.clientX - box.left, event.clientY - box.top);
    viewer.set({ ...(step != null && { step: Math.min(step, viewer.last) }), ...(select && position != null && { position }) });
  }

  prepare(steps) {
    const { lane, theme, state } = this.viewer;
    const width = this.area.clientWidth;
    this.score.prepare(lane, { width, narrow: width < 420, tall: 358, theme, weights: state.map === 'weights', steps });
    this.map.hidden = !lane.head.weights;
    press(this.map, state.map);
  }

  paint() {
    const { state } = this.viewer;
    this.score.draw(state.step, state.position, state.hideLater);
  }

  draw() {
    const { lane, last, state } = this.viewer;
    const frame = lane.at(state.step);
    this.canvas.setAttribute('aria-valuenow', state.step);
    this.canvas.setAttribute('aria-valuemax', last);
    this.canvas.setAttribute('aria-valuetext', frame.index ? frame.say : 'start');
    if (this.later.checked !== state.hideLater) this.later.checked = state.hideLater;
    this.drawNote(lane, frame, state.position);
  }

  /** w of the selected row, written out with its own numbers; otherwise the step's sentence about the weights. */
  drawNote(lane, frame, position) {
    const { head } = lane;
    const words = head.weights;
    const numbers = frame.life[position]?.w;
    if (words && words.fixed == null && numbers && weightAt(frame, position) != null) {
      this.formula(position, numbers, words, frame.note);
      return;
    }
    this.noted = null;
    if (words) setText(this.note, `w = (P + p₀) / (P + D + p₀). ${words.notes[frame.note] || ''}`);
    else if (!head.shadow) setText(this.note, head.no_shadow);
    else setText(this.note, `${head.title} makes one prediction per position and mixes nothing: there are no weights.`);
  }

  formula(position, [P, D, w], words, note) {
    const key = `${position}/${P}/${D}/${w}/${note}`;
    if (this.noted === key) return;
    this.noted = key;
    const prior = two(words.p0);
    const promoted = () => h('b', { class: 'dv-good' }, two(P));
    put(this.note, h('b', {}, `w at ${position} `), '= (P + p₀) / (P + D + p₀) = (', promoted(), ` + ${prior}) / (`, promoted(), ' + ',
      h('b', { class: 'dv-warn' }, two(D)), ` + ${prior}) = `, h('b', {}, two(w)), `. ${note === 'mixed' ? words.kernel : words.notes[note]}`);
  }
}
