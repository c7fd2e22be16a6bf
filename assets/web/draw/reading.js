// What is written at a step as one text, and where in it a position stands.

import { joins } from './prose.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */

const GONE = '\u0000'; // nothing is written here: no text goes on across it

/**
 * The words of a frame in small letters, with single spaces, and of every position where its own begin and end.
 * @param {Lane} lane @param {Frame} frame
 */
export function reading(lane, frame) {
  const join = joins(lane);
  let text = '';
  /** @type {[number, number][]} */
  const spans = [];
  for (let i = 0; i < lane.length; i++) {
    const there = frame.states[i] > 0 || frame.drafted[i] > 0;
    const word = there
      ? join(lane.word(frame.tokens[i]))
          .replace(/[\s↵⇥]+/gu, ' ')
          .toLowerCase()
      : GONE;
    const start = text.length;
    text += text.endsWith(' ') ? word.trimStart() : word;
    spans.push([start, text.length]);
  }
  return { text, spans };
}

/**
 * The positions of every place where a text is written, first and last, be it one token or several.
 * @param {ReturnType<typeof reading>} read @param {string} wanted @returns {[number, number][]}
 */
export function places({ text, spans }, wanted) {
  const needle = wanted.trim().replace(/\s+/gu, ' ').toLowerCase();
  /** @type {[number, number][]} */
  const found = [];
  if (!needle) return found;
  let i = 0;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    while (spans[i][1] <= at) i++;
    let last = i;
    while (spans[last][1] < at + needle.length) last++;
    found.push([i, last]);
  }
  return found;
}
