// A button, and a panel that it opens.

import { h } from '../draw/dom.js';

/**
 * A panel that opens below its button and closes on Escape or a click elsewhere.
 * @param {HTMLElement} root @param {string} label @param {import('../draw/types.js').Child} content @param {boolean} [wide]
 */
export function createPopover(root, label, content, wide = true) {
  const panel = h('div', { class: wide ? 'dw-panel' : 'dw-panel dw-narrow', hidden: true }, content);
  const button = h(
    'button',
    { class: 'dw-link', type: 'button', 'aria-expanded': 'false', onclick: () => toggle() },
    label,
  );
  function toggle(open = panel.hidden) {
    panel.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
  }
  document.addEventListener('click', (event) => {
    const target = /** @type {Node} */ (event.target);
    if (!panel.hidden && target.isConnected && !panel.contains(target) && target !== button) toggle(false);
  });
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden) return;
    if (panel.contains(document.activeElement)) button.focus();
    toggle(false);
  });
  return { panel, button, close: () => toggle(false) };
}
