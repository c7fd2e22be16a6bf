// What other decoders made of the same prompt, and what each answer cost: `viewer.page.others`, or the lanes beside the first.

import { h, judged, passesOf, put, setText, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';

/** @import { Described, Right } from '../data/types.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

const SQUARES_AT_MOST = 12;

export class Others {
  static id = 'others';

  static story = 'others';

  static title = 'The same prompt by others';

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.table = h('table', { class: 'df-who' });
    this.price = h('p', { class: 'df-price' });
    this.sub = h('span', { class: 'dv-sub' });
    this.box = h(
      'section',
      { class: 'dv-panel df-others', 'aria-label': 'the same prompt by others' },
      h('div', { class: 'dv-ph' }, h('h2', {}, 'The same prompt by others'), this.sub),
      this.table,
      this.price,
    );
  }

  get others() {
    return this.viewer.page?.others ?? [];
  }

  prepare() {
    this.viewer.root.classList.toggle('df-table', this.viewer.lanes.length > 1);
  }

  paint() {}

  /** A lane as it stands: how far it is, or what it made of the prompt. @param {Lane} lane @returns {[Child, number, number, string]} */
  standing(lane) {
    const frame = lane.at(this.viewer.state.step);
    if (lane.finished && frame.index === lane.last)
      return [
        judged(h('span', { class: 'df-result' }), frame.right, lane.answer(frame)),
        lane.last,
        0,
        passesOf(lane.last),
      ];
    const text = `pass ${frame.index} of ${this.viewer.state.hideLater ? '…' : lane.last}`;
    const open = this.viewer.state.hideLater ? 0 : lane.last - frame.index;
    return [h('span', { class: 'df-not' }, 'not finished'), frame.index, open, text];
  }

  draw() {
    const { lane, lanes } = this.viewer;
    const squares = (/** @type {number} */ made, open = 0) =>
      h(
        'span',
        { class: 'df-passes', 'aria-hidden': 'true' },
        Array.from({ length: Math.min(SQUARES_AT_MOST, made + open) }, (_, n) =>
          h('i', { class: n < made ? null : 'df-left' }),
        ),
      );
    /** @param {string} name @param {Child} rule @param {Child} result @param {number} made @param {number} open @param {string} text */
    const row = (name, rule, result, made, open, text) =>
      h(
        'tr',
        {},
        h('th', { scope: 'row' }, name),
        h('td', { class: 'df-rule' }, rule),
        h('td', {}, result),
        h('td', {}, squares(made, open), text),
      );
    const result = (/** @type {Right} */ right, /** @type {string} */ text) =>
      judged(h('span', { class: 'df-result' }), right, text);
    const rule = (/** @type {Described} */ about) =>
      rich(about.thresholds.map((each) => `${each.symbol} ${twoShort(each.at)}`).join(' '));
    put(
      this.table,
      h(
        'tbody',
        {},
        lanes.map((each) => row(each.about.title, rule(each.about), ...this.standing(each))),
        this.others.map((other) =>
          row(
            other.name,
            rich(other.setting),
            result(other.right, other.answer),
            other.passes,
            0,
            passesOf(other.passes),
          ),
        ),
      ),
    );
    setText(this.sub, lanes.length > 1 ? lane.head.prompt : 'same model');
    this.price.hidden = this.others.length === 0;
    const most = Math.max(0, ...this.others.map((other) => other.passes));
    setText(
      this.price,
      `The others stop as soon as no blank is left, here after ${passesOf(most)}. ${lane.about.title} goes on until every word is unmasked: ${passesOf(lane.last)}.`,
    );
  }

  text() {
    return `${[...this.table.querySelectorAll('tr')].map((row) => row.textContent).join('; ')}.`;
  }
}
