// The form for an edit of the selected token: another token, another state, from here on.

import { buttonsIn, h, put } from '../draw/dom.js';
import { STATES } from '../data/events.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Edit } from './types.js' */

export class WhatIf {
  /** @type {(edit: Edit) => void} */ onBranch;
  /** @type {Lane} */ lane;
  /** @type {Frame} */ frame;
  /** @type {number} */ position;
  /** @type {boolean} */ locked;
  /** @type {number | null} the id of a prediction */ chosen;
  /** @type {string} the state */ wanted;

  /**
   * `onBranch({step, position, token, state})` makes the branch.
   * @param {(edit: Edit) => void} onBranch
   */
  constructor(onBranch) {
    this.onBranch = onBranch;
    this.editing = false; // from the first change until another step or position is in view
    this.input = h('input', {
      class: 'dv-input',
      'aria-label': 'other token',
      autocomplete: 'off',
      spellcheck: 'false',
      maxlength: 200,
      list: null,
    });
    this.input.addEventListener('input', () => {
      this.chosen = null;
      this.editing = true;
      if (this.input.value.trim()) this.decide();
    });
    this.input.addEventListener('keydown', (event) => event.key === 'Enter' && this.branch());
    this.stateButtons = h('span', { class: 'dv-seg', role: 'group', 'aria-label': 'other state' });
    this.branchButton = h(
      'button',
      { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.branch() },
      'Branch here',
    );
    this.box = h(
      'div',
      { class: 'dv-whatif' },
      h('span', {}, 'What if'),
      this.input,
      this.stateButtons,
      this.branchButton,
    );
  }

  /**
   * A token by its id becomes the one to try.
   * @param {number} id
   */
  choose(id) {
    if (this.locked) return;
    this.chosen = id;
    this.editing = true;
    this.input.value = this.lane.word(id);
    this.decide();
  }

  /** A token that is to be tried is not masked. */
  decide() {
    if (this.wanted === 'M') this.want(this.lane.about.states.includes('C') ? 'C' : 'U');
  }

  /** @param {string} letter */
  want(letter) {
    this.wanted = letter;
    this.editing = true;
    for (const button of buttonsIn(this.stateButtons))
      button.setAttribute('aria-pressed', String(button.dataset.state === letter));
  }

  branch() {
    if (this.locked) return;
    const { lane, frame, position } = this;
    const typed = this.input.value;
    const held = frame.states[position] ? lane.word(frame.tokens[position]) : '';
    const token = this.wanted === 'M' ? null : (this.chosen ?? (typed === held || typed === '' ? null : typed));
    this.onBranch({ step: frame.index, position, token, state: this.wanted });
  }

  /**
   * Follows what is in view; `moved` says that it is another step or position, where nothing is edited yet.
   * @param {Lane} lane @param {Frame} frame @param {number} position @param {string} state @param {boolean} moved
   */
  show(lane, frame, position, state, moved) {
    const fixed = !!lane.fixed[position];
    Object.assign(this, { lane, frame, position, locked: fixed });
    this.box.classList.toggle('dv-locked', fixed);
    this.input.disabled = this.branchButton.disabled = fixed;
    if (this.stateButtons.dataset.of !== lane.about.states) {
      this.stateButtons.dataset.of = lane.about.states;
      put(
        this.stateButtons,
        [...lane.about.states].map((letter) =>
          h(
            'button',
            {
              type: 'button',
              'data-state': letter,
              'aria-label': STATES[letter],
              title: STATES[letter],
              onclick: () => this.want(letter),
            },
            letter,
          ),
        ),
      );
    }
    for (const button of buttonsIn(this.stateButtons)) button.disabled = fixed;
    if (!moved) return;
    this.chosen = null;
    this.input.value = state === 'M' || fixed ? '' : lane.word(frame.tokens[position]);
    this.input.placeholder = fixed ? 'given' : 'token';
    this.want(state);
    this.editing = false;
  }
}
