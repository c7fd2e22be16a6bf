// The detour: what one may not see can still reach it in two layers, through somebody that sees it and is seen. One tries whom.

import { h, put } from '../draw/dom.js';
import { sight } from '../draw/sight.js';
import { rich } from '../draw/symbols.js';
import { Shadow } from './shadow.js';

const [WORD, BLANK] = ['x', 's'];

export class Detour extends Shadow {
  static id = 'detour';

  static story = 'detour';

  static title = 'Detour';

  /** @type {[string, number] | null} whom the way is tried through */ via = null;

  load() {
    super.load();
    this.via = null;
  }

  /** Who may not see whom: as the page says, or the first word that is hidden from who looks. @returns {[number, number]} */
  get ends() {
    const [start] = this.frame.block;
    if (this.viewer.page?.detour) return this.viewer.page.detour;
    const from = this.position;
    const hidden = sight(this.frame, BLANK, from).findIndex(
      ({ word }, j) => !word && start + j !== from && this.word(start + j),
    );
    return [from, start + Math.max(0, hidden)];
  }

  /** @param {string} path @param {number} i */
  choose(path, i) {
    this.via = [path, i];
    this.draw();
    this.viewer.page?.painted?.(this.arrives);
  }

  get hides() {
    return false;
  }

  get position() {
    return this.viewer.page?.detour?.[0] ?? super.position;
  }

  /** Whether one chip sees another. @param {string} path @param {number} i @param {string} to @param {number} j */
  open(path, i, to, j) {
    const { word, blank } = sight(this.frame, path, i)[j - this.frame.block[0]];
    return to === WORD ? word : blank;
  }

  /** The two arcs of the way, or three where it would take another layer. */
  link() {
    const [from, to] = this.ends;
    const { via } = this;
    for (const [i, { x, s }] of this.places)
      for (const [path, chip] of /** @type {[string, HTMLElement][]} */ ([
        [WORD, x],
        [BLANK, s],
      ])) {
        const marked =
          (path === BLANK && i === from) || (path === WORD && i === to) || (via?.[0] === path && via[1] === i);
        chip.setAttribute('aria-pressed', String(marked));
      }
    const arc = (/** @type {[string, number]} */ a, /** @type {[string, number]} */ b) => {
      const way = this.way(...a, ...b);
      return this.open(...a, ...b) ? this.arc(way, 'dv-sharc dv-shthick') : this.cut(way);
    };
    put(this.arcs, this.cut(this.way(BLANK, from, WORD, to)), via && [arc([BLANK, from], via), arc(via, [WORD, to])]);
  }

  /** Whether the way that was tried leads there. */
  get arrives() {
    const [from, to] = this.ends;
    return !!this.via && this.open(BLANK, from, ...this.via) && this.open(...this.via, WORD, to);
  }

  tell() {
    const [from, to] = this.ends;
    const { via } = this;
    const { lane } = this.viewer;
    const quoted = (/** @type {number} */ i) => h('bdi', { class: 'dv-word' }, this.word(i) ?? lane.place(i));
    const named = (/** @type {[string, number]} */ [path, i]) => [path === BLANK && 'the blank below ', quoted(i)];
    put(
      this.sees,
      h('span', { class: 'dv-shlabel' }, 'looked for'),
      h('span', {}, 'a way of two arcs from the blank below ', quoted(from), ' to ', quoted(to)),
    );
    const first = via && this.open(BLANK, from, ...via);
    put(
      this.verdict,
      h('span', { class: 'dv-shlabel' }, 'your way'),
      !via
        ? h('span', {}, 'Click who might pass it on, in either row.')
        : this.arrives
          ? h(
              'span',
              {},
              h('b', { class: 'dv-right' }, 'It arrives. '),
              'In one layer ',
              named(via),
              ' sees ',
              quoted(to),
              '; in the next it is seen itself. That something can arrive is certain; how much it changes is not said here.',
            )
          : h(
              'span',
              {},
              h('b', { class: 'dv-wrong' }, 'Cut. '),
              first
                ? [named(via), ' may not see ', quoted(to), ' either.']
                : ['The blank below ', quoted(from), ' may not see ', named(via), '.'],
            ),
    );
    put(this.legend, rich(`The model has ${lane.head.layers} layers; one arc is one of them.`));
  }

  text() {
    return `${this.sees.textContent} ${this.verdict.textContent}`;
  }
}
