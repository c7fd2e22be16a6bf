// Three panels share one place: the mask or the dependencies, the causes, and the diagnosis.

import { buttonsIn, h, setText } from '../draw/dom.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

export const SIDES = ['mask', 'causes', 'diagnosis']; // the values of `side` in the viewer's state

/**
 * The heading of panels that stand in one place: which of them is in view.
 * @param {Viewer} viewer
 */
export function sideTabs(viewer) {
  /** @param {string} side @param {string} name @param {string} key */
  const tab = (side, name, key) =>
    h(
      'button',
      { type: 'button', role: 'tab', 'data-value': side, title: `Key ${key}`, onclick: () => viewer.set({ side }) },
      h('span', {}, name),
      h('kbd', {}, key),
    );
  return h(
    'h2',
    { class: 'dv-sides', role: 'tablist', 'aria-label': 'mask, causes or diagnosis' },
    tab('mask', 'Mask', 'm'),
    tab('causes', 'Causes', 'c'),
    tab('diagnosis', 'Diagnosis', 'd'),
  );
}

/** @param {Element} tabs @param {string} side @param {Lane} lane */
export function showSide(tabs, side, lane) {
  setText(/** @type {Node} */ (tabs.querySelector('span')), lane.about.graph?.title ?? 'Mask');
  for (const tab of buttonsIn(tabs)) tab.setAttribute('aria-selected', String(tab.dataset.value === side));
}

/**
 * Opens the diagnosis of a lane, which begins if nothing is known yet; who listens hears its headline.
 * @param {Viewer} viewer @param {number} [lane]
 */
export function openDiagnosis(viewer, lane = viewer.state.lane) {
  viewer.set({ lane, side: 'diagnosis' });
  const place = /** @type {HTMLElement | null} */ (viewer.root.querySelector('.dv-dfocus:not([hidden])'));
  place?.focus({ preventScroll: true });
}

/**
 * The button beside a verdict.
 * @param {Viewer} viewer @param {number} lane
 */
export function whyButton(viewer, lane) {
  return h(
    'button',
    { type: 'button', class: 'dv-btn dv-mini dv-whywrong', hidden: true, onclick: () => openDiagnosis(viewer, lane) },
    'Why is it wrong?',
    h('kbd', {}, 'd'),
  );
}
