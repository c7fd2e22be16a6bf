// Texts of several lanes that scroll together: what stands at the top of one stands at the top of all, however each of them is
// folded. One lane leads: the one in view, or the one that somebody scrolls. They begin where they first differ.

/** @import { Lane } from '../data/unpack.js' */
/** @import { Prose } from './prose.js' */

export class Together {
  /** Whether the first difference is still to be shown. */
  due = true;
  finished = true;
  folds = '';
  leader = -1;

  /** @param {Prose[]} texts one per lane, in their order */
  constructor(texts) {
    this.texts = texts;
    /** @type {Map<Prose, number>} where each was last put */
    this.tops = new Map();
    for (const text of texts)
      text.outer.addEventListener('scroll', () => {
        if (Math.abs(text.outer.scrollTop - (this.tops.get(text) ?? 0)) > 1) this.align(text);
      });
  }

  /** Who follows what is decoded, and takes the others along. @param {number} leader */
  lead(leader) {
    this.texts.forEach((text, n) => (text.led = n !== leader));
  }

  /** After all texts were drawn. @param {number} leader @param {boolean} finished whether all lanes are */
  draw(leader, finished) {
    const { texts } = this;
    if (finished && !this.finished) this.due = true; // what is shown last, in a run that was watched
    this.finished = finished;
    const difference = this.due ? this.difference() : -1;
    const folds = texts.map(({ stretches }) => stretches.map(({ folded }) => Number(folded)).join('')).join();
    const top = Math.abs(texts[leader].outer.scrollTop - (this.tops.get(texts[leader]) ?? 0));
    if (difference >= 0) {
      this.due = false;
      const there = texts.find(({ frame }) => frame.states[difference]) ?? texts[leader];
      there.reveal(there.chips[difference].button);
      this.align(there);
    } else if (top > 1 || folds !== this.folds || leader !== this.leader) this.align(texts[leader]);
    Object.assign(this, { folds, leader });
  }

  /** The first position at which a lane differs from the first one at the step in view, or -1. */
  difference() {
    const [first, ...others] = this.texts;
    return first.chips.findIndex((_, i) =>
      others.some(({ lane, frame }) => i < lane.length && first.lane.differs(first.frame, i, lane, frame)),
    );
  }

  /** All others to where a text is. @param {Prose} text */
  align(text) {
    const { scrollTop } = text.outer;
    this.tops.set(text, scrollTop);
    const seen = text.chips.findIndex(({ button }) => button.offsetParent && button.offsetTop >= scrollTop);
    if (seen < 0) return;
    const below = text.chips[seen].button.offsetTop - scrollTop;
    const others = this.texts.filter((each) => each !== text);
    const tops = others.map(({ chips }) => {
      let i = Math.min(seen, chips.length - 1);
      while (i && !chips[i].button.offsetParent) i--; // folded: after what stands before it
      return chips[i].button.offsetTop - below;
    });
    others.forEach((each, n) => {
      each.outer.scrollTop = tops[n];
      this.tops.set(each, each.outer.scrollTop);
    });
  }
}
