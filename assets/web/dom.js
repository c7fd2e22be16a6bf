// Small helpers for building the page. Text always goes in as text nodes: nothing here parses markup.

const SVG = new Set(['svg', 'path', 'rect', 'circle', 'text', 'g', 'defs', 'clipPath', 'desc', 'foreignObject']);

/** An element with attributes, listeners (onclick: fn), style properties (style: {width: '3px'}) and children. */
export function h(tag, attributes, ...children) {
  const element = SVG.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') for (const [name, v] of Object.entries(value)) element.style.setProperty(name, v);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
}

export function put(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
}

/** Writes only if it differs: an unchanged node costs no layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A whole number between two others, of whatever it is. */
export const whole = (value, low, high) => Math.max(low, Math.min(high, Math.round(+value) || 0));

export const two = (x) => (x == null ? '–' : x.toFixed(2));
export const twoShort = (x) => (x == null ? '' : x >= 0.995 ? '1.0' : x.toFixed(2).slice(1));

const PATHS = {
  up: 'M5 1 9.5 8.5H.5Z',
  down: 'M.5 1.5h9L5 9Z',
  weak: 'M1 3.2 5 7.2 9 3.2',
  swap: 'M0 3h6V.6L10 3.6 6 6.6V4.4H0ZM10 7.4H4V5.6L0 8 4 10V8.6h6Z',
  tick: 'M1 5.5 3.8 8.3 9 2',
  cross: 'M1.5 1.5 8.5 8.5M8.5 1.5 1.5 8.5',
  clash: 'M1.5 7.5V3.4H8.5V7.5M.3 7.3H2.7M7.3 7.3H9.7',
  hand: 'M1 9V6.8L6.8 1 9 3.2 3.2 9Z',
  back: 'M9 1v10L2 6Z',
  play: 'M2 1v10l8-5Z',
  pause: 'M2 1h3v10H2ZM7 1h3v10H7Z',
  step: 'M2 1v10l6-5ZM9 1h2v10H9Z',
  end: 'M1 1v10l5-5ZM6 1v10l5-5Z',
  stop: 'M2 2h8v8H2Z',
  reset: 'M1 1h2v10H1ZM11 1v10L4 6Z',
};
const STROKED = new Set(['weak', 'tick', 'cross', 'clash']);
const SMALL = new Set(['clash', 'up', 'down', 'weak', 'swap', 'tick', 'cross', 'hand']);

export function icon(name, size = 10, colour = 'currentColor') {
  const stroked = STROKED.has(name);
  return h('svg', { width: size, height: size, viewBox: SMALL.has(name) ? '0 0 10 10' : '0 0 12 12', 'aria-hidden': 'true' },
    h('path', { d: PATHS[name], fill: stroked ? 'none' : colour, stroke: stroked ? colour : null, 'stroke-width': stroked ? 1.8 : null }));
}

/** Says in a node whether an answer is right: sign, word and colour. `text` is the answer itself, if it is to be read there. */
export function judged(node, right, text) {
  const key = `${right} ${text}`;
  if (node.dataset.judged === key) return node;
  node.dataset.judged = key;
  node.classList.toggle('dv-right', right === true);
  node.classList.toggle('dv-wrong', right === false);
  const word = right === null ? '' : right ? 'right' : 'wrong';
  return put(node, word && icon(right ? 'tick' : 'cross', 11), text === undefined ? word : [word && h('span', { class: 'dv-aside' }, `${word}: `), h('bdi', {}, text)]);
}

/** A choice that this browser keeps; a private window forgets it. */
export function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

export function keep(name, value) {
  try { localStorage.setItem(name, value); } catch { /* a private window */ }
}

// What can happen to a token in a step and has a mark: bit in Frame.marks, key in the trace, letter in the style sheet,
// words, icon, colour variable.
export const EVENTS = [
  { bit: 1, key: 'promoted', letter: 'p', name: 'promoted', icon: 'up', colour: 'promoted' },
  { bit: 2, key: 'demoted', letter: 'd', name: 'revoked', icon: 'down', colour: 'demoted' },
  { bit: 4, key: 'weakened', letter: 'w', name: 'weakened', icon: 'weak', colour: 'demoted' },
  { bit: 8, key: 'replaced', letter: 'r', name: 'replaced', icon: 'swap', colour: 'replaced' },
  { bit: 16, key: 'accepted', letter: 'a', name: 'accepted', icon: 'tick', colour: 'ink2' },
  { bit: 32, key: 'edited', letter: 'e', name: 'edited', icon: 'hand', colour: 'ink' },
  { bit: 64, key: 'forced', letter: 'f', name: 'forced in', icon: null, colour: 'ink2' },
];
export const eventsOf = (bits) => EVENTS.filter((event) => bits & event.bit);
export const mark = (event, size = 10) => event.icon && icon(event.icon, size, `var(--dv-${event.colour})`);

export const STATES = { M: 'masked', C: 'candidate', U: 'unmasked' };

/** State badge: shape, letter and colour. M dashed square, C diamond, U disc; the letter comes from the style sheet. */
export const badge = (state, small = false) =>
  h('span', { class: `dv-badge${small ? ' dv-small' : ''}`, 'data-s': state, 'aria-hidden': 'true' });

/** The scar of a revoked position. */
export function zigzag() {
  const teeth = Array.from({ length: 70 }, (_, k) => `L${3 + k * 3} ${k % 2 ? 4 : 1}`).join('');
  return h('svg', { class: 'dv-zig', width: '100%', height: 5, 'aria-hidden': 'true' },
    h('path', { d: `M0 4${teeth}`, fill: 'none', stroke: 'var(--dv-scar)', 'stroke-width': 1.3 }));
}

let sharpness = 0;
let zoom = 1; // of the page; asking a canvas for it while nodes wait to be laid out would have them laid out at once

/** Does something with every canvas that it draws this many pixels sharp. */
export function sharp(times, action) {
  sharpness = times;
  try {
    action();
  } finally {
    sharpness = 0;
  }
}

/** A canvas of w × h CSS pixels, cleared, with its context scaled to the screen. */
export function sized(canvas, w, height) {
  const ratio = canvas.ratio || sharpness || (window.devicePixelRatio || 1) * zoom;
  const W = Math.max(1, Math.round(w * ratio));
  const H = Math.max(1, Math.round(height * ratio));
  const g = canvas.getContext('2d');
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

const COLOURS = ['bg', 'panel', 'sunk', 'ink', 'ink2', 'ink3', 'line', 'line2', 'M', 'C', 'C-on', 'U', 'U-on', 'promoted', 'promoted-t',
  'demoted', 'demoted-t', 'replaced', 'scar', 'bar', 'dim', 'seen', 'C-rest', 'U-rest', 'sans', 'mono'];

/** Where on a canvas the pointer is, in the canvas's own pixels, however much larger the page is shown. */
export function pointOn(canvas, { clientX, clientY }) {
  const box = canvas.getBoundingClientRect();
  const zoom = canvas.currentCSSZoom ?? 1;
  return [(clientX - box.left) / zoom, (clientY - box.top) / zoom];
}

/** The style sheet's colours and fonts for canvases, and how large the page is shown; read again when these change. */
export function readTheme(root) {
  zoom = root.currentCSSZoom ?? 1;
  const style = getComputedStyle(root);
  const theme = {};
  for (const name of COLOURS) theme[name] = style.getPropertyValue(`--dv-${name}`).trim();
  theme.dark = theme.panel !== '#FFFFFF';
  return theme;
}

/** '#rrggbb' over another with an alpha, as the pixel value of an ImageData seen as Uint32Array (little endian). */
export function pixel(colour, alpha = 1, under = '#000000') {
  const part = (c, k) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mix = (k) => Math.round(part(colour, k) * alpha + part(under, k) * (1 - alpha));
  return (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0);
}

/** A row of buttons of which one is pressed; `press` says which. A choice is [value, name, what it means]. */
export function choice(label, choices, onChoose) {
  return h('span', { class: 'dv-seg', role: 'group', 'aria-label': label },
    choices.map(([value, name, title]) => h('button', { type: 'button', 'data-value': value, title, onclick: () => onChoose(value) }, name)));
}

export function press(box, value) {
  for (const button of box.children) {
    const on = String(button.dataset.value === value);
    if (button.getAttribute('aria-pressed') !== on) button.setAttribute('aria-pressed', on);
  }
}

export function segment(g, x1, y1, x2, y2) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}
