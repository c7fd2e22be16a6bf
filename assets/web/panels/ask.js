// What a page asks before it shows: one thinks, or tries, and then the answer is told and its view shown.

import { h, setText } from '../draw/dom.js';

/** @import { Page, Viewer } from './types.js' */

export class Question {
  static id = 'ask';

  static story = 'ask';

  /** @type {Page | null} */ page = null;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.question = h('p', { class: 'dq-question' });
    this.show = h('button', { class: 'dv-btn', type: 'button', onclick: () => this.reveal() }, 'Show the answer');
    this.answer = h('p', { class: 'dq-answer', role: 'status', hidden: true });
    this.box = h(
      'section',
      { class: 'dv-panel dq', 'aria-label': 'question' },
      h('div', { class: 'dq-row' }, this.question, this.show),
      this.answer,
    );
  }

  prepare() {
    const { page } = this.viewer;
    if (page === this.page || !page?.ask) return;
    this.page = page;
    setText(this.question, page.ask.question);
    setText(this.answer, page.ask.answer);
    this.answer.hidden = true;
    this.show.hidden = false;
  }

  reveal() {
    const { viewer } = this;
    this.answer.hidden = false;
    this.show.hidden = true;
    viewer.page?.told?.(viewer.page.ask?.then ?? {});
  }

  paint() {}

  draw() {}

  text() {
    return `${this.question.textContent} ${this.answer.hidden ? '' : this.answer.textContent}`;
  }
}
