// Files that the visitor chooses, and files that the visitor gets.

import { bounded } from '../data/packed.js';
import { h } from '../draw/dom.js';

/** @import { Made } from '../data/messages.js' */
/** @typedef {{ name: string, read(most: number): Promise<Uint8Array<ArrayBuffer>> }} Source */

const PATIENCE = 30000; // milliseconds another server may take
const ADDRESS_AT_MOST = 2000; // characters

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
 * A file that `?url=` names, which this browser fetches: nobody's server is made to. With `host` from nowhere else.
 * @param {string} address @param {string} [host] @returns {Source}
 */
export function fetchedFile(address, host) {
  const short = address.slice(0, 200);
  return {
    name: traceName(short.split(/[?#]/)[0].split('/').at(-1) ?? ''),
    async read(most) {
      const url = URL.canParse(address, location.href) ? new URL(address, location.href) : null;
      if (address.length > ADDRESS_AT_MOST || !url || !['http:', 'https:'].includes(url.protocol))
        throw new Error('?url= must be an http or https address, or a path on this server');
      if (host && (url.protocol !== 'https:' || url.host !== host))
        throw new Error(`?url= must be an https address of ${host} here; a file from elsewhere opens by Open trace`);
      const answer = await fetch(url, {
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.timeout(PATIENCE),
      }).catch(() => {
        throw new Error(
          `${url.host} did not give it to this page; it must be there, and allow other sites to read it (CORS)`,
        );
      });
      if (!answer.ok || !answer.body) throw new Error(`${url.host} answered ${answer.status}`);
      return bounded(answer.body, most, `trace file is larger than ${most >> 20} MB`);
    },
  };
}

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
