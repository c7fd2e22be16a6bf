// Files that the visitor chooses, and files that the visitor gets.

import { h } from '../draw/dom.js';

/** @import { Made } from '../data/messages.js' */
/** @typedef {{ name: string, read(most: number): Promise<Uint8Array<ArrayBuffer>> }} Source */

/** What the server made as a blob. @param {Pick<Made, 'media' | 'data'>} file */
export function received({ media, data }) {
  return new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], { type: media });
}

/**
 * Hands a file over to the visitor.
 * @param {string} name @param {Blob} blob
 */
export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** What a trace file is called: its name without the endings that such files have. @param {string} name */
export const traceName = (name) => name.replace(/(\.trace)?(\.json)?(\.gz)?$/i, '').slice(0, 100) || 'trace';

/** Files as what open.js can read: a name, and the bytes if they are not too many. @param {Iterable<File>} files */
export const chosenFiles = (files) =>
  [...files].map((file) => ({
    name: traceName(file.name),
    async read(/** @type {number} */ most) {
      if (file.size > most) throw new Error(`trace file is larger than ${most >> 20} MB`);
      return new Uint8Array(await file.arrayBuffer());
    },
  }));

/**
 * Files dropped anywhere on an element; a drag of anything else is left alone.
 * @param {HTMLElement} element @param {(files: FileList) => void} then
 */
export function onDrop(element, then) {
  /** @param {DragEvent} event @param {boolean} on */
  const over = (event, on) => {
    if (!event.dataTransfer?.types.includes('Files')) return null;
    event.preventDefault();
    element.classList.toggle('dw-drop', on);
    return event.dataTransfer.files;
  };
  element.addEventListener('dragover', (event) => over(event, true));
  element.addEventListener('dragleave', (event) => over(event, false));
  element.addEventListener('drop', (event) => {
    const files = over(event, false);
    if (files) then(files);
  });
}

/** The content of a file in base64; empty if it cannot be read. @param {Blob} file @returns {Promise<string>} */
export function readFile(file) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] || '');
    reader.onerror = () => resolve('');
    reader.readAsDataURL(file);
  });
}
