// What stands around the panels only when there is a reason: error sentences, branches.

import { h, put } from '../draw/dom.js';

/** @import { ViewerHost } from '../panels/types.js' */
/** @typedef {{ id: number, name: string }} Named */

export class Message {
  constructor() {
    this.box = h('div', { class: 'dv-message', role: 'alert', hidden: true });
  }

  /** @param {string | null} text */
  show(text) {
    this.box.hidden = !text;
    if (!text) return;
    put(
      this.box,
      h('span', {}, text),
      h(
        'button',
        { type: 'button', class: 'dv-btn dv-mini', 'aria-label': 'dismiss', onclick: () => this.show(null) },
        '×',
      ),
    );
  }
}

export class Branches {
  /** @param {ViewerHost} host */
  constructor(host) {
    this.host = host;
    this.box = h('div', { class: 'dv-branches', hidden: true });
  }

  /** @param {Named[]} branches @param {number} current */
  show(branches, current) {
    const { host } = this;
    this.box.hidden = branches.length < 2 || !host.switchBranch;
    if (this.box.hidden) return;
    const chip = (/** @type {Named} */ { id, name }) =>
      h(
        'button',
        {
          type: 'button',
          class: 'dv-chip',
          'aria-pressed': String(id === current),
          onclick: () => host.switchBranch?.(id),
        },
        h('bdi', {}, name),
      );
    put(
      this.box,
      h('span', {}, 'Branches'),
      branches.map(chip),
      host.compareBranches && this.sideBySide(branches, current),
    );
  }

  /** @param {Named[]} branches @param {number} current */
  sideBySide(branches, current) {
    const others = branches.filter((branch) => branch.id !== current);
    const other = h(
      'select',
      { class: 'dv-select', 'aria-label': 'compare with branch' },
      others.map((branch, n) => h('option', { value: n }, branch.name)),
    );
    const show = () => this.host.compareBranches?.(current, others[+other.value].id);
    return h(
      'span',
      { class: 'dv-sidebyside' },
      'side by side with',
      other,
      h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: show }, 'Show'),
    );
  }
}
