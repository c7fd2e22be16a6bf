// Two panels may stand in one place: the mask or the dependencies, and the causes.

import { buttonsIn, h, setText } from '../draw/dom.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

/**
 * The heading of two panels that stand in one place: which of them is in view.
 * @param {Viewer} viewer
 */
export function sideTabs(viewer) {
  /** @param {string} side @param {string} name @param {string} key */
  const tab = (side, name, key) =>
    h(
      'button',
      { type: 'button', role: 'tab', 'data-value': side, onclick: () => viewer.set({ side }) },
      h('span', {}, name),
      h('kbd', {}, key),
    );
  return h(
    'h2',
    { class: 'dv-sides', role: 'tablist', 'aria-label': 'mask or causes' },
    tab('mask', 'Mask', 'm'),
    tab('causes', 'Causes', 'c'),
  );
}

/** @param {Element} tabs @param {string} side @param {Lane} lane */
export function showSide(tabs, side, lane) {
  setText(/** @type {Node} */ (tabs.querySelector('span')), lane.about.graph?.title ?? 'Mask');
  for (const tab of buttonsIn(tabs)) tab.setAttribute('aria-selected', String(tab.dataset.value === side));
}
