// What else a step holds of a position, as bars.

import { h, put, twoShort } from '../draw/dom.js';
import { Lane } from '../data/unpack.js';

/** @import { Frame, Slice } from '../data/frame.js' */
/** @import { Described } from '../data/types.js' */

const MOST = 3; // bars

/** @typedef {[word: string, share: number, kind?: 's' | 'mask']} Row */

export class More {
  /** @type {string | null} */ drawn;

  constructor() {
    this.box = h('div', { class: 'dv-more' });
  }

  /**
   * For another trace: whether it holds any of this, and how much room that needs.
   * @param {Described} about
   */
  rebuild(about) {
    this.box.hidden = !(about.graph || about.events.replaced.value || about.soft);
    this.box.classList.toggle('dv-two', !about.graph && !about.soft);
    this.drawn = null;
  }

  /**
   * What else the trace holds of this position in this step, as bars: what it depends on, what it is made of, what it
   * replaced.
   * @param {Lane} lane @param {Frame} frame @param {number} position @param {Slice | undefined} slice
   * @returns {{ title: string, side: string, rows: Row[], line?: number }}
   */
  bars(lane, frame, position, slice) {
    const { graph, events } = lane.about;
    const before = lane.frames[Math.max(0, frame.index - 1)];
    const made = before.soft[position];
    if (graph) {
      const looked = slice?.looked || [];
      /** @type {Row[]} */
      const rows = looked
        .filter((_, k) => k % 2 === 0)
        .map((i, k) => [`${i} ${lane.word(frame.tokens[i])}`, looked[2 * k + 1] / 255]);
      return {
        title: 'Depends on those accepted before',
        side: `${graph.symbol} against ${graph.limit} ${twoShort(frame.graph?.limit)}`,
        rows,
        line: frame.graph?.limit,
      };
    }
    if (frame.marks[position] & 8) {
      const held = Lane.value(frame, events.replaced.value, position);
      const limit = lane.about.thresholds[lane.about.thresholds.length - 1];
      /** @type {Row[]} */
      const rows = [[lane.word(frame.tokens[position]), frame.confidence[position] ?? 0]];
      if (held != null) rows.push([lane.word(before.tokens[position]), held, 's']);
      return {
        title: 'Held and best',
        side: `old struck through, new above ${limit.symbol.replace('_', '')} ${twoShort(limit.at)}`,
        rows,
        line: limit.at,
      };
    }
    if (made) {
      /** @type {Row[]} */
      const rows = made.filter((_, k) => k % 2 === 0).map((id, k) => [lane.word(id), made[2 * k + 1] / 10000]);
      return {
        title: 'Made of, in this pass',
        side: 'the rest is mask',
        rows: [...rows.slice(0, MOST - 1), ['mask', 1 - rows.reduce((sum, row) => sum + row[1], 0), 'mask']],
      };
    }
    return {
      title: events.replaced.value ? 'Held and best' : 'Made of, in this pass',
      side: events.replaced.value ? 'nothing replaced here' : 'mask alone',
      rows: [],
    };
  }

  /** @param {Lane} lane @param {Frame} frame @param {number} position @param {Slice | undefined} slice */
  draw(lane, frame, position, slice) {
    if (this.box.hidden) return;
    const { title, side, rows, line } = this.bars(lane, frame, position, slice);
    const key = JSON.stringify([title, side, rows.slice(0, MOST), line]);
    if (this.drawn === key) return;
    this.drawn = key;
    put(
      this.box,
      h('div', { class: 'dv-sec' }, h('b', {}, title), h('span', { class: 'dv-r' }, side)),
      rows.slice(0, MOST).map(([word, share, kind]) =>
        h(
          'div',
          { class: 'dv-morerow' },
          h('bdi', {}, kind === 's' ? h('s', {}, word) : word),
          h(
            'span',
            {},
            h('i', {
              class: kind === 'mask' ? 'dv-hollow' : share > (line ?? 2) ? 'dv-over' : '',
              style: { width: `${100 * share}%` },
            }),
            line == null ? null : h('u', { style: { left: `${100 * line}%` } }),
          ),
          h('b', {}, twoShort(share, line == null ? [] : [line])),
        ),
      ),
    );
  }
}
