// Starts a self-contained replay: opens the payload of its page, and keeps step and selection in the address, so that a
// link can point at a moment.

import { createViewer } from './viewer.js';

const theme = document.getElementById('theme');

function paint(dark) {
  document.body.classList.toggle('dark', dark);
  theme.textContent = dark ? 'Light' : 'Dark';
}

function readAddress() {
  const state = {};
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    if (['step', 'position', 'lane', 'reach'].includes(key) && /^\d{1,6}$/.test(value)) state[key] = +value;
    if (key === 'order' || key === 'map') state[key] = value;
    if (key === 'hideLater') state[key] = value === 'true';
  }
  return state;
}

let written = '';

function writeAddress(state) {
  written = `#${new URLSearchParams(state)}`;
  try {
    history.replaceState(null, '', written);
  } catch { /* a sandboxed frame has no history of its own */ }
}

paint(matchMedia('(prefers-color-scheme: dark)').matches);
theme.addEventListener('click', () => paint(!document.body.classList.contains('dark')));
const viewer = createViewer(document.getElementById('viewer'), { onChange: writeAddress }, { state: readAddress() });
window.viewer = viewer;
viewer.load(JSON.parse(document.getElementById('data').textContent)).then(() => document.body.setAttribute('data-ready', ''));
addEventListener('hashchange', () => location.hash !== written && viewer.setState(readAddress()));
