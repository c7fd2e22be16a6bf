// Pictures of what is on the page, made of the page's own nodes: a copy of them, with their style sheet inside and
// canvases as the images they hold, is an SVG document that the browser draws into a canvas. Nothing is drawn twice.

import { h } from './dom.js';
import { xml } from './svg.js';

/** @import { Theme } from './types.js' */

const REFUSED = 'This browser does not let a page draw itself into a picture; Chrome, Edge and Firefox do.';

/**
 * A copy of an element as it stands, in the middle of `width` × `height`, as an SVG document; nothing that happens
 * later changes it. `theme` is the viewer's: the copy has no page around it that would tell light from dark.
 * @param {HTMLElement} root @param {{ width: number, height: number, theme: Theme }} page
 */
export function still(root, { width, height, theme }) {
  const copy = /** @type {HTMLElement} */ (root.cloneNode(true));
  copy.dataset.theme = theme.dark ? 'dark' : 'light';
  copy.style.width = `${root.offsetWidth}px`;
  const canvases = root.querySelectorAll('canvas');
  copy.querySelectorAll('canvas').forEach((canvas, k) => {
    const size = { display: canvas.hidden ? 'none' : 'block', width: canvas.style.width, height: canvas.style.height };
    canvas.replaceWith(h('img', { class: canvas.className, src: canvases[k].toDataURL(), style: size }));
  });
  const scrolled = root.querySelectorAll('.dv-reader');
  copy.querySelectorAll('.dv-reader').forEach((box, k) => {
    const inside = /** @type {HTMLElement} */ (box.firstElementChild);
    inside.style.marginTop = `${-scrolled[k].scrollTop}px`;
  });
  const fields = root.querySelectorAll('input');
  copy.querySelectorAll('input').forEach((field, k) => {
    field.setAttribute('value', fields[k].value);
    field.toggleAttribute('checked', fields[k].checked);
  });
  const options = root.querySelectorAll('option');
  copy.querySelectorAll('option').forEach((option, k) => option.toggleAttribute('selected', options[k].selected));
  const around = { class: root.parentElement?.closest('.dv')?.className, style: { display: 'contents' } };
  const page = {
    width: `${width}px`,
    height: `${height}px`,
    background: theme.bg,
    overflow: 'hidden',
    display: 'grid',
    'place-content': 'center',
  };
  const sheets = [...document.querySelectorAll('style')]
    .map((style) => style.textContent)
    .filter((text) => text.includes('.dv'));
  return xml(
    h(
      'svg',
      { width, height },
      h(
        'foreignObject',
        { width, height },
        h('div', { style: page }, h('style', {}, sheets.join('\n')), h('div', around, copy)),
      ),
    ),
  );
}

/**
 * A still as PNG, `scale` pixels for each of its own.
 * @param {string} svg @param {{ width: number, height: number, scale: number }} page
 */
export async function png(svg, { width, height, scale }) {
  try {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = h('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    /** @type {Blob | null} */
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    if (blob) return blob;
  } catch {
    /* said below */
  }
  throw new Error(REFUSED);
}
