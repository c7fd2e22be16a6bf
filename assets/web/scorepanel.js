// The panel of the score: the scrubber, its switches, and the sentence about the weights.

import { choice, h, press, put, setText, two } from './dom.js';
import { Score, weightAt } from './score.js';
import { GLOSSARY, formula } from './symbols.js';

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
    this.rule = formula('w = (P + p₀) / (P + D + p₀)');
    this.numbers = { at: h('b', {}), above: h('b', { class: 'dv-good' }), below: h('b', { class: 'dv-good' }), D: h('b', { class: 'dv-warn' }), w: h('b', {}) };
    this.map = choice('what the score shows', [['states', 'states'], ['weights', 'weights', GLOSSARY.w]], (map) => viewer.set({ map }));
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
    this.canvas.addEventListener('pointermove', (event) => {
      if (event.buttons) this.scrub(event, false);
      else this.canvas.title = this.score.symbolsAt(event.offsetX, event.offsetY).map((name) => `${name}: ${GLOSSARY[name]}`).join('\n');
    });
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
    const text = words ? `. ${words.notes[frame.note] || ''}` : head.shadow
      ? `${head.title} makes one prediction per position and mixes nothing: there are no weights.` : head.no_shadow;
    if (this.noted === text) return;
    this.noted = text;
    put(this.note, words && this.rule, text);
  }

  formula(position, [P, D, w], words, note) {
    const key = `${position}/${P}/${D}/${w}/${note}`;
    if (this.noted === key) return;
    this.noted = key;
    const { at, above, below, D: pulls, w: weight } = this.numbers;
    const prior = two(words.p0);
    setText(at, ` at ${position} `);
    setText(above, two(P));
    setText(below, two(P));
    setText(pulls, two(D));
    setText(weight, two(w));
    const [, ...rule] = this.rule;
    put(this.note, this.rule[0], at, rule, ' = (', above, ` + ${prior}) / (`, below, ' + ', pulls, ` + ${prior}) = `, weight,
      `. ${note === 'mixed' ? words.kernel : words.notes[note]}`);
  }
}
