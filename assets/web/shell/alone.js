// What pages without a server have in common: the theme, and a viewer whose step and selection are in the address, so that
// a link can point at a moment.

import { byId } from '../draw/dom.js';
import { createViewer } from './viewer.js';

/** The viewer of such a page. */
export function createAlone() {
  const theme = byId('theme');
  const root = byId('viewer');
  let written = '';

  /** @param {boolean} dark */
  function paint(dark) {
    document.body.classList.toggle('dark', dark);
    theme.textContent = dark ? 'Light' : 'Dark';
  }

  /** The viewer takes what it knows of it, and makes it fit. */
  const readAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

  /** @param {object} state */
  function writeAddress(state) {
    written = `#${new URLSearchParams(Object.entries(state).map(([name, value]) => [name, String(value)]))}`;
    try {
      history.replaceState(null, '', written);
    } catch {
      /* a sandboxed frame has no history of its own */
    }
  }

  paint(matchMedia('(prefers-color-scheme: dark)').matches);
  theme.addEventListener('click', () => paint(!document.body.classList.contains('dark')));
  const viewer = createViewer(
    root,
    { onChange: writeAddress },
    { state: { ...JSON.parse(root.dataset.state ?? '{}'), ...readAddress() } },
  );
  viewer.setTitle(root.dataset.title);
  Object.assign(window, { viewer });
  addEventListener('hashchange', () => location.hash !== written && viewer.setState(readAddress()));
  return viewer;
}
