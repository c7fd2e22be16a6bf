// Starts a self-contained replay: opens the payload of its page, and keeps step and selection in the address, so that a
// link can point at a moment.

import { unpack } from './unpack.js';
import { createViewer } from './viewer.js';

const theme = document.getElementById('theme');

function paint(dark) {
  document.body.classList.toggle('dark', dark);
  theme.textContent = dark ? 'Light' : 'Dark';
}

/** The viewer takes what it knows of it, and makes it fit. */
const readAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

let written = '';

function writeAddress(state) {
  written = `#${new URLSearchParams(state)}`;
  try {
    history.replaceState(null, '', written);
  } catch { /* a sandboxed frame has no history of its own */ }
}

paint(matchMedia('(prefers-color-scheme: dark)').matches);
theme.addEventListener('click', () => paint(!document.body.classList.contains('dark')));
const root = document.getElementById('viewer');
const viewer = createViewer(root, { onChange: writeAddress }, { state: { ...JSON.parse(root.dataset.state), ...readAddress() } });
viewer.setTitle(root.dataset.title);
window.viewer = viewer;
unpack(document.getElementById('data').textContent).then((data) => viewer.load(data)).then(() => document.body.setAttribute('data-ready', ''));
addEventListener('hashchange', () => location.hash !== written && viewer.setState(readAddress()));
