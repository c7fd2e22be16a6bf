// Where the answer of a long text stands, and its life over the steps, in a line below the tokens: found by the usual marks, or,
// where somebody can be asked, by a pattern of one's own.

import { h, put, sentenceOf, setText } from '../draw/dom.js';
import { clean } from '../data/texts.js';

/** @import { Answer } from '../data/schema.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

export class AnswerLine {
  /** @type {Map<Lane, Answer | null>} what was found, by whatever was asked for */ known = new Map();

  /** @type {Answer | undefined} */ shown;
  wrong = '';

  /** @param {Viewer} viewer @param {() => void} onFound */
  constructor(viewer, onFound) {
    this.viewer = viewer;
    this.onFound = onFound;
    this.said = h('span', {});
    this.steps = h('span', { class: 'dv-seg' });
    /** @type {HTMLInputElement} */
    this.field = h('input', {
      class: 'dv-input',
      placeholder: 'pattern, such as = (\\d+)',
      maxlength: 500,
      'aria-label': 'pattern of the answer',
      onchange: () => this.look(this.field.value),
    });
    this.box = h('div', { class: 'dv-final' }, h('b', {}, 'Answer'), this.said, this.steps, this.field);
  }

  /** @returns {Answer | null} */
  get found() {
    const { lane } = this.viewer;
    return this.known.get(lane) ?? lane.found;
  }

  /** @param {string} pattern */
  async look(pattern) {
    const { viewer } = this;
    const { lane } = viewer;
    try {
      /** @type {{ answer: Answer | null }} */
      const { answer } = await viewer.ask('answer', { pattern: pattern.slice(0, 500), steps: lane.last });
      this.known.set(lane, clean(answer));
      this.wrong = answer || !pattern.trim() ? '' : 'Nothing at the end is found by that pattern.';
    } catch (error) {
      this.wrong = sentenceOf(error);
    }
    this.onFound();
  }

  /** Asks once for the usual marks, where the lane has ended and nobody has looked. */
  need() {
    const { lane, host } = this.viewer;
    if (!host.ask || !lane.finished || !lane.last || lane.found || this.known.has(lane)) return;
    this.known.set(lane, null);
    this.look('');
  }

  /** Where what comes later is hidden, it is told once it has settled. @param {number} step @param {boolean} hideLater */
  draw(step, hideLater) {
    const { found, viewer, wrong } = this;
    const { lane } = viewer;
    const told = found && !(hideLater && found.settled > step);
    const nothing = lane.finished ? 'none is found by ####, \\boxed{} or code' : 'not known before the end';
    setText(this.said, wrong || (told ? found.say : hideLater && found ? 'comes later' : nothing));
    this.said.title = told ? found.say : '';
    this.field.hidden = !viewer.host.ask || viewer.still || !lane.finished;
    this.steps.hidden = !told || viewer.still;
    if (!told || this.shown === found) return;
    this.shown = found;
    const to = (/** @type {string} */ name, /** @type {number} */ at) =>
      h(
        'button',
        { type: 'button', onclick: () => viewer.set({ step: at, position: found.positions[0] }) },
        `${name} ${at}`,
      );
    put(this.steps, to('first', found.first), to('settled', found.settled));
  }
}
