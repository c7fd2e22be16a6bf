// Files that the visitor chooses, and files that the visitor gets.

import { h } from './dom.js';

/** Saves what the server made: {name, media, data in base64}. */
export function save({ name, media, data }) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], { type: media }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
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
