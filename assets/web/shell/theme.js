// Light or dark: a button that says what it would change to, remembered for the next visit.

import { h, setText } from '../draw/dom.js';

const isDark = () => document.body.classList.contains('dark');

/** @param {boolean} dark */
function setTheme(dark) {
  document.body.classList.toggle('dark', dark);
  try {
    localStorage.setItem('dard-theme', dark ? 'dark' : 'light');
  } catch {
    /* private window */
  }
}

/** `onChange` hears of every change, whichever tab made it. */
export function createThemeButton(onChange = () => {}) {
  const button = h('button', { class: 'dv-btn', type: 'button', onclick: () => setTheme(!isDark()) });
  const follow = () => {
    setText(button, isDark() ? 'Light' : 'Dark');
    onChange();
  };
  new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  let stored = null;
  try {
    stored = localStorage.getItem('dard-theme');
  } catch {
    /* private window */
  }
  if (stored) setTheme(stored === 'dark');
  follow();
  return button;
}
