// For a projector: the whole width, and everything larger, so that it can be read from the last row. The address keeps it.

import { h } from '../draw/dom.js';

const NAME = 'projector';

function follow() {
  document.body.classList.toggle('dw-projector', new URL(location.href).searchParams.has(NAME));
}

function toggle() {
  const url = new URL(location.href);
  if (url.searchParams.has(NAME)) url.searchParams.delete(NAME);
  else url.searchParams.set(NAME, '1');
  history.replaceState(history.state, '', url);
  follow();
}

export function createProjectorButton() {
  const button = h(
    'button',
    { class: 'dv-btn dw-project', type: 'button', title: 'Larger, over the whole width', onclick: toggle },
    'Projector',
  );
  const tell = () => button.setAttribute('aria-pressed', String(document.body.classList.contains('dw-projector')));
  new MutationObserver(tell).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  window.addEventListener('popstate', follow);
  follow();
  tell();
  return button;
}
