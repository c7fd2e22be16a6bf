// The states of masked decoding and what can happen to a token in a step, in words. How they look is the business of draw/.

/** @import { StateKind } from './schema.js' */

/** @type {Required<StateKind>[]} */
export const STATES = [
  { letter: 'M', title: 'masked', role: 'blank', help: '' },
  { letter: 'C', title: 'candidate', role: 'tentative', help: '' },
  { letter: 'U', title: 'unmasked', role: 'decided', help: '' },
];

/**
 * One of everybody's events: bit in Frame.marks, key in the trace, letter in the style sheet, words, icon, colour variable.
 * @typedef {{ bit: number, key: string, letter: string, name: string, icon: string | null, colour: string }} Kind
 */

/** @type {Kind[]} */
export const EVENTS = [
  { bit: 1, key: 'promoted', letter: 'p', name: 'promoted', icon: 'up', colour: 'promoted' },
  { bit: 2, key: 'demoted', letter: 'd', name: 'revoked', icon: 'down', colour: 'demoted' },
  { bit: 4, key: 'weakened', letter: 'w', name: 'weakened', icon: 'weak', colour: 'demoted' },
  { bit: 8, key: 'replaced', letter: 'r', name: 'replaced', icon: 'swap', colour: 'replaced' },
  { bit: 16, key: 'accepted', letter: 'a', name: 'accepted', icon: 'tick', colour: 'ink2' },
  { bit: 32, key: 'edited', letter: 'e', name: 'edited', icon: 'hand', colour: 'ink' },
  { bit: 64, key: 'forced', letter: 'f', name: 'forced in', icon: null, colour: 'ink2' },
];

/**
 * Those whose bits are set.
 * @param {number} bits
 */
export const eventsOf = (bits) => EVENTS.filter((event) => bits & event.bit);
