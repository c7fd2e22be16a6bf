// What each token did to a verdict, as a tint under the tokens; where one alone decides, an arrow from it.

import { h } from './dom.js';
import { turned } from '../data/unpack.js';

/** @import { Cause, Hidden, Verdict } from '../data/types.js' */
/** @import { Grid } from './grid.js' */
/** @import { Prose } from './prose.js' */

const FULL = 0.5; // the effect that has the full tint

export class Tint {
  /** @type {string} */ key;
  /** @type {Grid | Prose | undefined} */ grid;
  /** @type {Element[]} */ nodes = [];

  /**
   * `verdict` is null where nothing is to be tinted; `hand` is the token that was hidden by hand, `width` that of the
   * page.
   * @param {Grid | Prose | undefined} grid @param {Verdict | null} verdict @param {Hidden | null | undefined} hand
   * @param {number} width
   */
  draw(grid, verdict, hand, width) {
    const key = verdict ? `${verdict.step}/${verdict.position}/${verdict.causes.length}/${width}` : '';
    if (this.key === key && (!key || this.grid === grid)) return;
    for (const node of this.nodes) node.remove();
    Object.assign(this, { key, grid, nodes: [] });
    if (!verdict || !grid) return;
    /** @param {number | null} position */
    const chip = (position) => grid.box.querySelector(`[data-position="${position}"]`);
    /** @type {Cause[]} */
    const unseen = hand?.check === null ? [[hand.position, '', 0, '', 1, null]] : []; // it has no bar
    for (const [position, , p, , hidden] of [...verdict.causes, ...unseen]) {
      if (position === null || position < 0 || position === verdict.position) continue;
      const strength = Math.min(1, Math.abs(p - verdict.actual) / FULL);
      const node = h('span', {
        class: `dv-tint${hidden ? ' dv-hid' : ''}`,
        style: { opacity: hidden ? 1 : 0.1 + 0.9 * strength },
      });
      chip(position)?.append(node);
      this.nodes.push(node);
    }
    const deciding = verdict.causes.filter((each) => !each[4] && turned(verdict, each));
    if (deciding.length === 1 && (deciding[0][0] ?? -1) >= 0)
      this.tie(grid, chip(deciding[0][0]), chip(verdict.position), deciding[0], verdict);
  }

  /**
   * @param {Grid | Prose} grid @param {Element | null} from @param {Element | null} to @param {Cause} cause
   * @param {Verdict} verdict
   */
  tie(grid, from, to, [, word, p], verdict) {
    if (!from || !to) return;
    const zoom = grid.box.currentCSSZoom ?? 1;
    const [outer, a, b] = [grid.box, from, to].map((node) => node.getBoundingClientRect());
    if (Math.abs(a.top - b.top) > 2 || from === to) return; // in another row there is no room for it
    const [xa, xb] = [a, b].map((box) => (box.left + box.width / 2 - outer.left) / zoom);
    const y = (b.bottom - outer.top) / zoom;
    const effect = verdict.actual - p;
    const node = h(
      'svg',
      { class: 'dv-tie', width: 10, height: 10, 'aria-hidden': 'true' },
      h('path', { d: `M${xa} ${y + 8}v7H${xb}v-6`, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6 }),
      h('path', { d: `M${xb - 4} ${y + 11}l4-6 4 6z`, fill: 'currentColor' }),
      h(
        'text',
        { x: Math.max(xa, xb) + 10, y: y + 19 },
        `${word} ${effect > 0 ? 'raises' : 'lowers'} it by ${Math.abs(effect).toFixed(2).slice(1)}`,
      ),
    );
    grid.box.append(node);
    this.nodes.push(node);
  }
}
