// Small helpers for building the page. Text always goes in as text nodes: nothing here parses markup.

import { rounded } from '../data/texts.js';

/** @import { Attributes, Child, Pen, Sheet, Tags, Theme } from './types.js' */
/** @import { Kind } from '../data/events.js' */
/** @import { Right } from '../data/types.js' */

const SVG = new Set(['svg', 'path', 'rect', 'circle', 'text', 'g', 'defs', 'clipPath', 'desc', 'foreignObject']);

/**
 * An element with attributes, listeners (onclick: fn), style properties (style: {width: '3px'}) and children.
 * @template {keyof Tags} K @param {K} tag @param {Attributes | null} [attributes] @param {...Child} children @returns {Tags[K]}
 */
export function h(tag, attributes, ...children) {
  const element = /** @type {HTMLElement} */ (
    SVG.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag)
  );
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else if (typeof value === 'object')
      for (const [name, v] of Object.entries(value)) element.style.setProperty(name, String(v));
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...nodes(children));
  return /** @type {Tags[K]} */ (/** @type {Element} */ (element));
}

/**
 * What there is among children, as a node takes it.
 * @param {Child[]} children
 */
const nodes = (children) =>
  /** @type {(Node | string)[]} */ (children.flat(6).filter((child) => child != null && child !== false));

/**
 * Children in the place of those that an element has.
 * @template {Element} E
 * @param {E} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Writes only if it differs: an unchanged node costs no layout.
 * @param {Node} element @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A whole number between two others, of whatever it is.
 * @param {unknown} value @param {number} low @param {number} high @returns {number}
 */
export const whole = (value, low, high) => Math.max(low, Math.min(high, Math.round(Number(value)) || 0));

/**
 * How many digits tell a number from every limit that it is not equal to. A trace has six.
 * @param {number} x @param {number[]} limits @param {number} least
 */
const digits = (x, limits, least = 2) =>
  [2, 3, 4, 5].find((n) => n >= least && limits.every((limit) => limit === x || rounded(limit, n) !== rounded(x, n))) ??
  6;

/**
 * A number with two digits, or, beside limits, with as many as tell it from them.
 * @param {number | null | undefined} x @param {number[]} [limits]
 */
export const two = (x, limits = []) => (x == null ? '–' : rounded(x, digits(x, limits)));
/**
 * A probability with three digits, or with as many as tell it from limits.
 * @param {number} x @param {number[]} [limits]
 */
export const three = (x, limits = []) => rounded(x, digits(x, limits, 3));
/** @param {number} x @param {number[]} [limits] */
export const threeShort = (x, limits) => (three(x, limits) < '1' ? three(x, limits).slice(1) : '1.0');
/** @param {number | null | undefined} x @param {number[]} [limits] */
export const twoShort = (x, limits) => (x == null ? '' : two(x, limits) < '1' ? two(x, limits).slice(1) : '1.0');

/**
 * A number in few characters: .52, 1.0, 3.4, -.21
 * @param {number} value
 */
export const written = (value) =>
  Math.abs(value) > 1 ? value.toFixed(1) : `${Number(rounded(value, 2)) < 0 ? '-' : ''}${twoShort(Math.abs(value))}`;

/**
 * What something that was thrown says.
 * @param {unknown} thrown
 */
export const sentenceOf = (thrown) => (thrown instanceof Error && thrown.message) || String(thrown);

/** @param {number} count */
export const passesOf = (count) => `${count} pass${count === 1 ? '' : 'es'}`;

/** @type {Record<string, string>} */
const PATHS = {
  up: 'M5 1 9.5 8.5H.5Z',
  down: 'M.5 1.5h9L5 9Z',
  weak: 'M1 3.2 5 7.2 9 3.2',
  swap: 'M0 3h6V.6L10 3.6 6 6.6V4.4H0ZM10 7.4H4V5.6L0 8 4 10V8.6h6Z',
  tick: 'M1 5.5 3.8 8.3 9 2',
  cross: 'M1.5 1.5 8.5 8.5M8.5 1.5 1.5 8.5',
  clash: 'M1.5 7.5V3.4H8.5V7.5M.3 7.3H2.7M7.3 7.3H9.7',
  cut: 'M0 5H5.5M8 1V9',
  hand: 'M1 9V6.8L6.8 1 9 3.2 3.2 9Z',
  back: 'M9 1v10L2 6Z',
  play: 'M2 1v10l8-5Z',
  pause: 'M2 1h3v10H2ZM7 1h3v10H7Z',
  step: 'M2 1v10l6-5ZM9 1h2v10H9Z',
  end: 'M1 1v10l5-5ZM6 1v10l5-5Z',
  stop: 'M2 2h8v8H2Z',
  reset: 'M1 1h2v10H1ZM11 1v10L4 6Z',
};
const STROKED = new Set(['weak', 'tick', 'cross', 'clash', 'cut']);
const SMALL = new Set(['cut', 'clash', 'up', 'down', 'weak', 'swap', 'tick', 'cross', 'hand']);

/** @param {string} name @param {number} [size] @param {string} [colour] */
export function icon(name, size = 10, colour = 'currentColor') {
  const stroked = STROKED.has(name);
  return h(
    'svg',
    { width: size, height: size, viewBox: SMALL.has(name) ? '0 0 10 10' : '0 0 12 12', 'aria-hidden': 'true' },
    h('path', {
      d: PATHS[name],
      fill: stroked ? 'none' : colour,
      stroke: stroked ? colour : null,
      'stroke-width': stroked ? 1.8 : null,
    }),
  );
}

const CUT = 'cut off'; // of an answer that its region had no room for
/** @type {Record<string, [string, string, string, string]>} */
const JUDGEMENTS = {
  true: ['right', '✓', 'tick', 'promoted-t'],
  false: ['wrong', '✗', 'cross', 'demoted-t'],
  [CUT]: [CUT, '…', 'cut', 'ink'],
};

/**
 * What `right` of a step comes to: word, sign, icon and colour.
 * @param {Right | undefined} right @returns {[string, string, string | null, string]}
 */
export const judgement = (right) => JUDGEMENTS[String(right)] ?? ['', '', null, 'ink2'];

/**
 * Says in a node whether an answer is right: sign, word and colour. `text` is the answer itself, if it is to be read
 * there.
 * @template {HTMLElement} E @param {E} node @param {Right | undefined} right @param {string} [text]
 */
export function judged(node, right, text) {
  const key = `${right} ${text}`;
  if (node.dataset.judged === key) return node;
  node.dataset.judged = key;
  node.classList.toggle('dv-right', right === true);
  node.classList.toggle('dv-wrong', right === false);
  node.classList.toggle('dv-cut', right === CUT);
  const [word, , sign] = judgement(right);
  return put(
    node,
    sign && icon(sign, 11),
    text === undefined ? word : [word && h('span', { class: 'dv-aside' }, `${word}: `), h('bdi', {}, text)],
  );
}

/**
 * A choice that this browser keeps; a private window forgets it.
 * @param {string} name
 */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    /* a private window */
  }
}

/**
 * The icon of an event.
 * @param {Kind} event @param {number} [size]
 */
export const mark = (event, size = 10) => event.icon && icon(event.icon, size, `var(--dv-${event.colour})`);

/**
 * State badge: shape, letter and colour. M dashed square, C diamond, U disc; the letter comes from the style sheet, or is
 * one of its own for a state that only looks like one of these.
 * @param {string} state @param {boolean} [small] @param {string} [letter]
 */
export const badge = (state, small = false, letter = state) =>
  lettered(
    h('span', { class: `dv-badge${small ? ' dv-small' : ''}`, 'data-s': state, 'aria-hidden': 'true' }),
    state,
    letter,
  );

/**
 * Writes a badge's letter, where it is not the one that its look has anyway.
 * @template {HTMLElement} E @param {E} node @param {string} state @param {string} letter
 */
export function lettered(node, state, letter) {
  if (letter === state) delete node.dataset.letter;
  else node.dataset.letter = letter;
  return node;
}

/** The scar of a revoked position. */
export function zigzag() {
  const teeth = Array.from({ length: 70 }, (_, k) => `L${3 + k * 3} ${k % 2 ? 4 : 1}`).join('');
  return h(
    'svg',
    { class: 'dv-zig', width: '100%', height: 5, 'aria-hidden': 'true' },
    h('path', { d: `M0 4${teeth}`, fill: 'none', stroke: 'var(--dv-scar)', 'stroke-width': 1.3 }),
  );
}

/** A context to measure texts with. */
export const measuring = () => /** @type {Pen} */ (document.createElement('canvas').getContext('2d'));

let sharpness = 0;
let zoom = 1; // of the page; asking a canvas for it while nodes wait to be laid out would have them laid out at once

/**
 * Does something with every canvas that it draws this many pixels sharp.
 * @param {number} times @param {() => void} action
 */
export function sharp(times, action) {
  sharpness = times;
  try {
    action();
  } finally {
    sharpness = 0;
  }
}

/**
 * A canvas of w × h CSS pixels, cleared, with its context scaled to the screen.
 * @param {Sheet} canvas @param {number} w @param {number} height @returns {Pen}
 */
export function sized(canvas, w, height) {
  const ratio = canvas.ratio || sharpness || (window.devicePixelRatio || 1) * zoom;
  const W = Math.max(1, Math.round(w * ratio));
  const H = Math.max(1, Math.round(height * ratio));
  const g = /** @type {Pen} */ (canvas.getContext('2d'));
  if (canvas.width !== W || canvas.height !== H) {
    canvas.width = W;
    canvas.height = H;
    if (canvas.style) {
      canvas.style.width = `${w}px`;
      canvas.style.height = `${height}px`;
    }
  }
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, height);
  return g;
}

const COLOURS = [
  'bg',
  'panel',
  'sunk',
  'ink',
  'ink2',
  'ink3',
  'line',
  'line2',
  'M',
  'C',
  'C-on',
  'U',
  'U-on',
  'promoted',
  'promoted-t',
  'demoted',
  'demoted-t',
  'replaced',
  'scar',
  'bar',
  'dim',
  'seen',
  'C-rest',
  'U-rest',
  'sans',
  'mono',
];

/**
 * Where on a canvas the pointer is, in the canvas's own pixels, however much larger the page is shown.
 * @param {Sheet} canvas @param {MouseEvent} event @returns {[number, number]}
 */
export function pointOn(canvas, { clientX, clientY }) {
  const box = canvas.getBoundingClientRect();
  const zoom = canvas.currentCSSZoom ?? 1;
  return [(clientX - box.left) / zoom, (clientY - box.top) / zoom];
}

/**
 * The style sheet's colours and fonts for canvases, and how large the page is shown; read again when these change.
 * @param {HTMLElement} root @returns {Theme}
 */
export function readTheme(root) {
  zoom = root.currentCSSZoom ?? 1;
  const style = getComputedStyle(root);
  /** @type {Theme} */
  const theme = {};
  for (const name of COLOURS) theme[name] = style.getPropertyValue(`--dv-${name}`).trim();
  theme.dark = theme.panel === '#FFFFFF' ? '' : 'dark';
  return theme;
}

/**
 * '#rrggbb' over another with an alpha, as the pixel value of an ImageData seen as Uint32Array (little endian).
 * @param {string} colour @param {number} [alpha] @param {string} [under]
 */
export function pixel(colour, alpha = 1, under = '#000000') {
  /** @param {string} c @param {number} k */
  const part = (c, k) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
  /** @param {number} k */
  const mix = (k) => Math.round(part(colour, k) * alpha + part(under, k) * (1 - alpha));
  return (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0);
}

/**
 * The element that a page is written with under this id.
 * @param {string} id
 */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * The buttons that stand in an element, each for itself.
 * @param {Element} box
 */
export const buttonsIn = (box) => /** @type {HTMLButtonElement[]} */ ([...box.children]);

/**
 * A row of buttons of which one is pressed; `press` says which. A choice is [value, name, what it means].
 * @template {string} V @param {string} label @param {[V, string, string?][]} choices @param {(value: V) => void} onChoose
 */
export function choice(label, choices, onChoose) {
  return h(
    'span',
    { class: 'dv-seg', role: 'group', 'aria-label': label },
    choices.map(([value, name, title]) =>
      h('button', { type: 'button', 'data-value': value, title, onclick: () => onChoose(value) }, name),
    ),
  );
}

/** @param {Element} box @param {unknown} value */
export function press(box, value) {
  for (const button of buttonsIn(box)) {
    const on = String(button.dataset.value === value);
    if (button.getAttribute('aria-pressed') !== on) button.setAttribute('aria-pressed', on);
  }
}

/**
 * Makes the buttons in a box one stop for Tab, from which arrow keys go on; gives back what says which one that is.
 * @param {HTMLElement} box @returns {(button: HTMLButtonElement) => void}
 */
export function oneStop(box) {
  const all = () => [...box.querySelectorAll('button')];
  /** @param {EventTarget | null} button */
  const stop = (button) => all().forEach((each) => (each.tabIndex = each === button ? 0 : -1));
  box.addEventListener('focusin', ({ target }) => stop(target));
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = all();
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    /** @type {Record<string, number>} */
    const places = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: -1 };
    const to = places[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    buttons.at(to % buttons.length)?.focus();
  });
  stop(all()[0]);
  return stop;
}
