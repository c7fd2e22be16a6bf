// The tokens that are blamed for a wrong answer: a ring and a letter on each, thin where the token does not stand there, and
// a double line between those that were written in the same pass.

import { h } from './dom.js';
import { letterOf } from './winnable.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Diagnosed } from '../data/types.js' */
/** @import { Grid } from './grid.js' */
/** @import { Prose } from './prose.js' */

const RAIL = 11; // pixels from the tokens to the line below them
const SAID = 'aria-description';

export class Guilt {
  /** @type {Diagnosed['annotation'] | null} */ shown = null;
  /** @type {string} */ key = '';
  /** @type {Grid | Prose | undefined} */ grid;
  /** @type {Element[]} */ nodes = [];
  /** @type {Element[]} */ rings = [];

  /**
   * `annotation` is null where nothing is to be marked; `width` is that of the page.
   * @param {Grid | Prose} grid @param {Diagnosed['annotation'] | null} annotation @param {Frame} frame @param {number} width
   */
  draw(grid, annotation, frame, width) {
    if (this.shown !== annotation || this.grid !== grid || this.key !== String(width)) {
      this.clear();
      Object.assign(this, { shown: annotation, grid, key: String(width) });
      if (annotation) this.make(grid, annotation);
    }
    annotation?.marked.forEach(({ position, token }, n) => {
      this.rings[n]?.classList.toggle('dv-past', frame.states[position] === 0 || frame.tokens[position] !== token);
    });
  }

  clear() {
    for (const node of this.nodes) node.remove();
    for (const ring of this.rings) {
      ring.parentElement?.removeAttribute(SAID);
      ring.remove();
    }
    Object.assign(this, { nodes: [], rings: [] });
  }

  /** @param {Grid | Prose} grid @param {Diagnosed['annotation']} annotation */
  make(grid, { marked, tie, tied }) {
    /** @param {number} position */
    const chip = (position) => grid.box.querySelector(`[data-position="${position}"]`);
    this.rings = marked.map(({ position, say }, n) => {
      const ring = h('i', { class: 'dv-guilt', 'aria-hidden': 'true' }, h('b', { class: 'dv-letter' }, letterOf(n)));
      chip(position)?.append(ring);
      chip(position)?.setAttribute(SAID, say);
      return ring;
    });
    const tokens = tied.flatMap((position) => chip(position) ?? []);
    if (tie && tokens.length > 1) this.tie(grid, tie, tokens);
  }

  /**
   * From each token through the gutters to a rail below all of them. Chips in several lines are not joined: there the
   * words stand below all.
   * @param {Grid | Prose} grid @param {string} text @param {Element[]} tokens
   */
  tie(grid, text, tokens) {
    const zoom = grid.box.currentCSSZoom ?? 1;
    const outer = grid.box.getBoundingClientRect();
    const boxes = tokens.map((token) => token.getBoundingClientRect());
    const { board } = grid;
    const lowest = board ? board.box : grid.chips[grid.chips.length - 1].button;
    const bottom = lowest.getBoundingClientRect().bottom;
    const rail = (bottom - outer.top) / zoom + RAIL;
    const apart = !board && boxes.some((box) => bottom - box.bottom > 2 * zoom);
    const gutter = board ? board.shape.gutter / 2 : 0;
    const feet = boxes.map((box) => {
      const [x, y] = [(box.left + box.width / 2 - outer.left) / zoom, (box.bottom - outer.top) / zoom];
      const aside = (box.right - outer.left) / zoom + gutter;
      const last = !board || rail - y < board.cell;
      return { x: last ? x : aside, d: last ? `M${x} ${y}V${rail}` : `M${x} ${y}V${y + gutter}H${aside}V${rail}` };
    });
    const ends = feet.map(({ x }) => x);
    const [from, to] = apart ? [2, 18] : [Math.min(...ends), Math.max(...ends)];
    const d = `${apart ? '' : feet.map((foot) => foot.d).join('')}M${from} ${rail}H${to}`;
    const size = 6.2 * text.length + 12;
    const middle = Math.max(size / 2, (from + to) / 2);
    const beside = to - from < size + 16; // no room for the words between them
    const left = beside && to + 8 + size > outer.width / zoom;
    const anchor = !beside ? 'middle' : left ? 'end' : 'start';
    const svg = h(
      'svg',
      { class: 'dv-passtie', width: 10, height: 10, 'aria-hidden': 'true' },
      h('path', { class: 'dv-tieout', d }),
      h('path', { class: 'dv-tiein', d }),
      !beside && h('rect', { x: middle - size / 2, y: rail - 8, width: size, height: 16 }),
      h('text', { x: beside ? (left ? from - 8 : to + 8) : middle, y: rail + 4, 'text-anchor': anchor }, text),
    );
    grid.box.append(svg);
    this.nodes = [svg];
  }
}
