// The form for an edit of the selected token: another token, another state, from here on.

import { buttonsIn, h, put } from '../draw/dom.js';

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
    const { kinds } = this.lane;
    const there = kinds.find(({ role }) => role === 'tentative') ?? kinds.find(({ role }) => role === 'decided');
    if (this.blank(this.wanted) && there) this.want(there.letter);
  }

  /** @param {string} letter */
  blank(letter) {
    return this.lane.kind(letter).role === 'blank';
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
    const token = this.blank(this.wanted) ? null : (this.chosen ?? (typed === held || typed === '' ? null : typed));
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
    const of = lane.kinds.map((kind) => kind.letter).join('');
    if (this.stateButtons.dataset.of !== of) {
      this.stateButtons.dataset.of = of;
      put(
        this.stateButtons,
        lane.kinds.map(({ letter, title }) =>
          h(
            'button',
            {
              type: 'button',
              'data-state': letter,
              'aria-label': title,
              title,
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
    this.input.value = this.blank(state) || fixed ? '' : lane.word(frame.tokens[position]);
    this.input.placeholder = fixed ? 'given' : 'token';
    this.want(state);
    this.editing = false;
  }
}
