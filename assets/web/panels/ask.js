// What a page asks before it shows: one answers by doing, or thinks, and then the answer is told and its view shown. What `ask`
// may hold is told in predict.js.

import { h, put, setText } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { Predict, scoreOf } from './predict.js';

/** @import { Page, Viewer } from './types.js' */

export class Question {
  static id = 'ask';

  static story = 'ask';

  /** @type {Page | null} */ page = null;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.predict = new Predict(viewer, () => this.tell());
    this.question = h('p', { class: 'dq-question' });
    this.show = h('button', { class: 'dv-btn dv-primary', type: 'button', onclick: () => this.reveal() });
    this.score = h('span', { class: 'dv-askscore' });
    this.answer = h('p', { class: 'dq-answer', role: 'status', hidden: true });
    this.box = h(
      'section',
      { class: 'dv-panel dq', 'aria-label': 'question' },
      h('div', { class: 'dq-row' }, this.question, this.predict.widget, this.score, this.show),
      this.predict.said,
      this.answer,
    );
  }

  prepare() {
    const { page } = this.viewer;
    this.predict.prepare();
    if (page === this.page || !page?.ask) return;
    this.page = page;
    put(this.question, rich(page.ask.question));
    put(this.answer, rich(page.ask.answer));
    this.tell();
  }

  /** Whether the answer is told; what the button does until it is. */
  tell() {
    const { ask, guessed, byStep, result } = this.predict;
    const told = result !== undefined;
    this.answer.hidden = !told;
    this.show.hidden = told || (ask?.kind === 'do' && !ask.answer);
    const [right, counted] = scoreOf(this.viewer.page?.pages ?? []);
    setText(this.score, counted ? `predicted ${right} of ${counted}` : '');
    setText(this.show, !guessed || ask?.kind === 'do' ? 'Show the answer' : byStep ? 'Step' : 'Check');
    if (!told) return;
    this.viewer.page?.told?.(this.viewer.page.ask?.then ?? {});
    requestAnimationFrame(() => {
      this.viewer.redraw(); // other panels show what is no secret any more
      this.answer.scrollIntoView({ block: 'nearest' });
    });
  }

  /** What is asked by doing is judged; what is only thought about is told. */
  reveal() {
    const { viewer, predict } = this;
    const { ask } = predict;
    if (ask && predict.byStep && viewer.lane.last < predict.step) viewer.host.requestRun?.();
    else if (ask && ask.kind !== 'do') predict.judge();
    else predict.settle(null);
  }

  load() {
    this.predict.load();
  }

  paint() {}

  draw() {
    this.predict.follow();
  }

  text() {
    return `${this.question.textContent} ${this.answer.hidden ? '' : this.answer.textContent}`;
  }
}
