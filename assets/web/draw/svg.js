// A canvas that writes SVG: panels draw on it with the code they draw the screen with. It knows the part of a canvas's
// context that they use; measuring is left to a real one. Text becomes text nodes, and what XML forbids is replaced.

import { h, measuring } from './dom.js';

/** @import { Tags } from './types.js' */

/** @import { Attributes, Child, Sheet } from './types.js' */

const MEASURE = measuring();
const MARGIN = 8;
const ANCHORS = { left: 'start', center: 'middle', right: 'end' };
const KEPT = /** @type {const} */ ([
  'fillStyle',
  'strokeStyle',
  'lineWidth',
  'lineJoin',
  'font',
  'textAlign',
  'textBaseline',
  'globalAlpha',
  'dash',
  'into',
]);
const FORBIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** @param {number} x */
const short = (x) => +x.toFixed(2);

/**
 * A node as the text of an XML document.
 * @param {Node} node
 */
export function xml(node) {
  return new XMLSerializer().serializeToString(node).replace(FORBIDDEN, '\ufffd');
}

/**
 * What `draw` draws on the canvas it is given, as an SVG document on a ground of one colour.
 * @param {(canvas: Sheet) => void} draw @param {{ ground: string, text: string }} look
 */
export function vector(draw, { ground, text }) {
  const context = new Context();
  const canvas = { ratio: 1, width: 0, height: 0, getContext: () => context };
  draw(/** @type {Sheet} */ (/** @type {unknown} */ (canvas)));
  const [width, height] = [canvas.width + 2 * MARGIN, canvas.height + 2 * MARGIN];
  const box = { x: -MARGIN, y: -MARGIN, width, height };
  return xml(
    h(
      'svg',
      { width, height, viewBox: Object.values(box).join(' '), role: 'img' },
      h('desc', {}, text),
      context.defs,
      h('rect', { ...box, fill: ground }),
      context.root,
    ),
  );
}

class Context {
  /** @type {true} drawing code asks this where it would otherwise use pixels */ vector;
  /** @type {Element} */ into;
  /** @type {Partial<Context>[]} */ stack;
  /** @type {string} */ fillStyle;
  /** @type {string} */ strokeStyle;
  /** @type {number} */ lineWidth;
  /** @type {string} */ lineJoin;
  /** @type {string} */ font;
  /** @type {'left' | 'center' | 'right'} */ textAlign;
  /** @type {CanvasTextBaseline} */ textBaseline;
  /** @type {number} */ globalAlpha;
  /** @type {number[]} */ dash;
  /** @type {string} */ path;

  constructor() {
    this.vector = true;
    this.defs = h('defs');
    this.root = this.into = h('g');
    this.stack = [];
    Object.assign(this, {
      fillStyle: '#000000',
      strokeStyle: '#000000',
      lineWidth: 1,
      lineJoin: 'miter',
      font: '10px sans-serif',
    });
    Object.assign(this, { textAlign: 'left', textBaseline: 'alphabetic', globalAlpha: 1, dash: [], path: '' });
  }

  save() {
    this.stack.push(Object.fromEntries(KEPT.map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  /** A canvas begins anew and unscaled; so does this. */
  setTransform() {}

  clearRect() {}

  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.into = this.into.appendChild(h('g', { transform: `translate(${short(x)} ${short(y)})` }));
  }

  /** @param {number} angle */
  rotate(angle) {
    this.into = this.into.appendChild(h('g', { transform: `rotate(${short((angle * 180) / Math.PI)})` }));
  }

  clip() {
    const id = `clip${this.defs.childNodes.length}`;
    this.defs.append(h('clipPath', { id }, h('path', { d: this.path })));
    this.into = this.into.appendChild(h('g', { 'clip-path': `url(#${id})` }));
  }

  beginPath() {
    this.path = '';
  }

  /** @param {string} letter @param {...number} numbers */
  add(letter, ...numbers) {
    this.path += letter + numbers.map(short).join(' ');
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.add('M', x, y);
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.add('L', x, y);
  }

  closePath() {
    this.path += 'Z';
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  rect(x, y, width, height) {
    this.add('M', x, y);
    this.add('h', width);
    this.add('v', height);
    this.add('h', -width);
    this.closePath();
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {number} radius */
  roundRect(x, y, width, height, radius) {
    const r = Math.max(0, Math.min(radius, width / 2, height / 2));
    this.add('M', x + r, y);
    for (const [dx, dy, cx, cy] of [
      [width - 2 * r, 0, r, r],
      [0, height - 2 * r, -r, r],
      [2 * r - width, 0, -r, -r],
      [0, 2 * r - height, r, -r],
    ]) {
      this.add('l', dx, dy);
      this.add('a', r, r, 0, 0, 1, cx, cy);
    }
    this.closePath();
  }

  /**
   * Whole circles are all that is drawn.
   * @param {number} x @param {number} y @param {number} radius
   */
  arc(x, y, radius) {
    this.add('M', x - radius, y);
    this.add('a', radius, radius, 0, 0, 1, 2 * radius, 0);
    this.add('a', radius, radius, 0, 0, 1, -2 * radius, 0);
    this.closePath();
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }

  /** @param {keyof SVGElementTagNameMap & keyof Tags} tag @param {Attributes} attributes @param {...Child} children */
  put(tag, attributes, ...children) {
    this.into.append(
      h(tag, { ...attributes, opacity: this.globalAlpha < 1 ? short(this.globalAlpha) : null }, ...children),
    );
  }

  get lines() {
    const { strokeStyle, lineWidth, lineJoin, dash } = this;
    return {
      fill: 'none',
      stroke: strokeStyle,
      'stroke-width': lineWidth,
      'stroke-linejoin': lineJoin === 'miter' ? null : lineJoin,
      'stroke-dasharray': dash.length ? dash.join(' ') : null,
    };
  }

  fill() {
    if (this.path) this.put('path', { d: this.path, fill: this.fillStyle });
  }

  stroke() {
    if (this.path) this.put('path', { d: this.path, ...this.lines });
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.put('rect', { x: short(x), y: short(y), width: short(width), height: short(height), fill: this.fillStyle });
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.put('rect', { x: short(x), y: short(y), width: short(width), height: short(height), ...this.lines });
  }

  /** @param {string} text */
  measureText(text) {
    MEASURE.font = this.font;
    return MEASURE.measureText(text);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    this.write(text, x, y, { fill: this.fillStyle });
  }

  /** @param {string} text @param {number} x @param {number} y */
  strokeText(text, x, y) {
    this.write(text, x, y, this.lines);
  }

  /**
   * Placed by its alphabetic baseline: not every program that opens an SVG knows the others.
   * @param {string} text @param {number} x @param {number} y @param {Attributes} paint
   */
  write(text, x, y, paint) {
    const [, weight, size, family] = /^(?:(\d+) )?([\d.]+)px (.+)$/.exec(this.font) ?? [];
    /** @param {CanvasTextBaseline} baseline */
    const ascent = (baseline) => {
      MEASURE.textBaseline = baseline;
      return this.measureText(text).actualBoundingBoxAscent;
    };
    const shift = this.textBaseline === 'alphabetic' ? 0 : ascent('alphabetic') - ascent(this.textBaseline);
    this.put(
      'text',
      {
        x: short(x),
        y: short(y + shift),
        'font-family': family,
        'font-size': size,
        'font-weight': weight ?? null,
        'text-anchor': this.textAlign === 'left' ? null : ANCHORS[this.textAlign],
        ...paint,
      },
      String(text),
    );
  }
}
