// Files that the visitor chooses, and files that the visitor gets.

import { h } from './dom.js';

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

/** The content of a file in base64; empty if it cannot be read. */
export function readFile(file) {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] || '');
    reader.onerror = () => resolve('');
    reader.readAsDataURL(file);
  });
}
