// How a board stands: a sentence, and in room of its own what cannot be right.

import { h, icon, put, setText } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';

/** @import { Look } from '../data/schema.js' */

export class Standing {
  /** @type {Look | null} */ drawn;

  /** @param {HTMLElement | null} answer @param {(places: number[]) => void} lead */
  constructor(answer, lead) {
    this.lead = lead;
    this.say = h('span', {});
    this.lines = h('ul', { class: 'dv-clashes' });
    this.row = h('div', { class: 'dv-standrow' }, h('div', { class: 'dv-stand' }, answer, this.say));
    this.box = h('div', { class: 'dv-look' }, this.row, this.lines);
  }

  /** @param {Look | null} look */
  draw(look) {
    if (look === this.drawn || !look) return;
    this.drawn = look;
    setText(this.say, look.say);
    // The nth line is about the nth mark, the last one perhaps about all from there on.
    put(
      this.lines,
      look.lines.map((line, n) =>
        h(
          'li',
          {},
          h(
            'button',
            { type: 'button', title: 'select its cells in turn', onclick: () => this.lead(look.marks[n].places) },
            icon('clash', 13),
            h('span', {}, rich(line)),
          ),
        ),
      ),
    );
  }
}
