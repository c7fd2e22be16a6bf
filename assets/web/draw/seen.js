// What somebody sees, as a sentence.

import { h } from './dom.js';

/** @import { Child } from './types.js' */

/**
 * A sentence as somebody sees it: words, blanks, and their own place framed.
 * @param {(string | null)[]} words @param {number} own @returns {Child[]}
 */
export const sentenceSeen = (words, own) =>
  words.map((word, j) => [
    j === own
      ? h('b', { class: 'dv-shown' }, '?')
      : word === null
        ? h('i', { class: 'dv-shempty' }, '▢')
        : h('bdi', {}, word),
    ' ',
  ]);
