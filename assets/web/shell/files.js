// Files that the visitor chooses, and files that the visitor gets.

import { h } from '../draw/dom.js';

/** What the server made, {media, data in base64}, as a blob. */
export function received({ media, data }) {
  return new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type: media });
}

/** Hands a file over to the visitor: what the server made, or `blob`. */
export function save(file, blob = received(file)) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** What a trace file is called: its name without the endings that such files have. */
export const traceName = (name) => name.replace(/(\.trace)?(\.json)?(\.gz)?$/i, '').slice(0, 100) || 'trace';

/** Files as what open.js can read: a name, and the bytes if they are not too many. */
export const chosenFiles = (files) =>
  [...files].map((file) => ({
    name: traceName(file.name),
    async read(most) {
      if (file.size > most) throw new Error(`trace file is larger than ${most >> 20} MB`);
      return new Uint8Array(await file.arrayBuffer());
    },
  }));

/** Files dropped anywhere on an element; a drag of anything else is left alone. */
export function onDrop(element, then) {
  const holds = (event) => event.dataTransfer?.types.includes('Files');
  const over = (on) => (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    element.classList.toggle('dw-drop', on);
  };
  element.addEventListener('dragover', over(true));
  element.addEventListener('dragleave', over(false));
  element.addEventListener('drop', (event) => {
    over(false)(event);
    if (holds(event)) then(event.dataTransfer.files);
  });
}

/** The content of a file in base64; empty if it cannot be read. */
export function readFile(file) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] || '');
    reader.onerror = () => resolve('');
    reader.readAsDataURL(file);
  });
}
