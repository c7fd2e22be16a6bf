// Finding one's way in a text: a word or the number of a position, and from one revocation, change or difference to the next.
// It is opened by a key and lies over the page, so that nothing moves.

import { h, setText } from '../draw/dom.js';
import { places, reading } from '../draw/reading.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

const LETTERS = 200; // of what is looked for
/** @typedef {'revoked' | 'changed' | 'differs'} Kind */
/** @type {[Kind, string, string][]} */
const KINDS = [
  ['revoked', 'revoked', 'r'],
  ['changed', 'changed', 'x'],
  ['differs', 'different', 'v'],
];

export class Find {
  /** @type {Viewer} */ viewer;
  /** @type {[number, number][]} first and last positions */ hits = [];
  /** @type {string} what the hits are those of */ sought = '';
  /** @type {Element[]} */ marked = [];
  /** @type {HTMLElement | null} that had the focus */ before = null;
  said = '';

  static id = 'find';

  static title = 'Find';

  static above = true;

  static brief = true;

  /** @type {Record<string, (viewer: Viewer, find: any) => void>} */
  static shortcuts = {
    '/': (_viewer, find) => find.open(),
    Escape: (_viewer, find) => find.close(),
    ...Object.fromEntries(
      KINDS.flatMap(([kind, , key]) => [
        [key, (/** @type {Viewer} */ _viewer, /** @type {Find} */ find) => find.walk(kind, 1)],
        [key.toUpperCase(), (/** @type {Viewer} */ _viewer, /** @type {Find} */ find) => find.walk(kind, -1)],
      ]),
    ),
  };

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    /** @type {HTMLInputElement} */
    this.field = h('input', {
      type: 'search',
      maxlength: LETTERS,
      placeholder: 'text, or number of a position',
      'aria-label': 'find in the tokens',
      oninput: () => this.seek(),
    });
    this.field.addEventListener('keydown', (event) => this.typed(event));
    this.count = h('span', { class: 'dv-hits', role: 'status' });
    /** @param {string} label @param {string} sign @param {() => void} act */
    const button = (label, sign, act) =>
      h('button', { type: 'button', class: 'dv-btn dv-mini', 'aria-label': label, title: label, onclick: act }, sign);
    this.walks = KINDS.map(([kind, name, key]) =>
      h(
        'button',
        {
          type: 'button',
          class: 'dv-btn dv-mini',
          title: `next ${name}, back with ⇧`,
          onclick: (/** @type {MouseEvent} */ event) => this.walk(kind, event.shiftKey ? -1 : 1),
        },
        h('span', {}, `next ${name}`),
        h('kbd', {}, key),
      ),
    );
    this.bar = h(
      'div',
      { class: 'dv-findbar', hidden: true },
      this.field,
      this.count,
      button('previous hit', '↑', () => this.go(-1)),
      button('next hit', '↓', () => this.go(1)),
      this.walks,
      button('close', '×', () => this.close()),
    );
    this.opener = h(
      'button',
      {
        type: 'button',
        class: 'dv-btn dv-mini',
        hidden: true,
        title: 'find in the tokens',
        onclick: () => this.open(),
      },
      h('span', {}, 'Find'),
      h('kbd', {}, '/'),
    );
    this.box = h('section', { class: 'dv-find', role: 'search', 'aria-label': 'find' }, this.bar);
  }

  load() {
    const { viewer } = this;
    viewer.exports.box.before(this.opener);
    this.opener.hidden = !viewer.long;
    this.walks[2].hidden = viewer.lanes.length < 2;
    this.sought = '';
  }

  prepare() {}

  paint() {}

  open() {
    const { field } = this;
    if (this.bar.hidden) this.before = /** @type {HTMLElement | null} */ (document.activeElement);
    this.bar.hidden = false;
    field.focus();
    field.select();
    this.draw();
  }

  close() {
    if (this.bar.hidden) return;
    this.bar.hidden = true;
    this.said = '';
    if (this.box.contains(document.activeElement)) this.before?.focus({ preventScroll: true });
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  typed(event) {
    const { key, shiftKey } = event;
    const by = { Enter: shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 }[key];
    if (by) this.go(/** @type {1 | -1} */ (by));
    else if (key === 'Escape') this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event */
  key({ key }) {
    if (key === 'Escape') this.close();
    return key === 'Escape';
  }

  /** What is typed, from the selection on. */
  seek() {
    this.said = '';
    this.look();
    const { position } = this.viewer.state;
    const here = this.hits.find(([first]) => first >= position) ?? this.hits[0];
    if (here) this.to(here);
    else this.draw();
  }

  /** The hits at this step; a number is a position first. */
  look() {
    const { lane, state } = this.viewer;
    const wanted = this.field.value.trim();
    const key = `${state.lane}/${state.step}/${lane.last}/${wanted}`;
    if (key === this.sought) return;
    this.sought = key;
    const number = /^#?\d+$/.test(wanted) ? Number(wanted.replace('#', '')) : -1;
    const found = wanted ? places(reading(lane, lane.at(state.step)), wanted) : [];
    this.hits = number >= 0 && number < lane.length ? [[number, number], ...found] : found;
  }

  /** The hit that is selected, or -1. */
  get at() {
    return this.hits.findIndex(([first]) => first === this.viewer.state.position);
  }

  /** To the next hit or the one before; where there is none at this step, to the first step at which there is. @param {1 | -1} by */
  go(by) {
    const { lane, state } = this.viewer;
    this.look();
    const { hits, at } = this;
    if (hits.length) {
      const beyond = hits.findIndex(([first]) => first > state.position);
      const next = at >= 0 ? at + by : by > 0 ? beyond : (beyond < 0 ? hits.length : beyond) - 1;
      return this.to(hits[(next + hits.length) % hits.length]);
    }
    const wanted = this.field.value.trim();
    const step =
      !wanted || state.hideLater ? -1 : lane.frames.findIndex((frame) => places(reading(lane, frame), wanted).length);
    if (step < 0) return;
    this.viewer.setStep(step);
    this.seek();
  }

  /** @param {[number, number]} hit */
  to([first]) {
    this.viewer.select(first);
    this.draw();
    this.show();
  }

  /** The selected token comes into view, wherever tokens scroll. */
  show() {
    const { state, panels } = this.viewer;
    const grid = panels.find((panel) => panel.grids)?.grids?.[state.lane];
    grid?.box.querySelector(`[data-position="${state.position}"]`)?.scrollIntoView({ block: 'nearest' });
  }

  /** Where something happened at a step of a lane, or differs from another. @param {Kind} kind @param {number} step */
  where(kind, step) {
    const { lane, lanes, state } = this.viewer;
    const frame = lane.at(step);
    if (kind === 'revoked') return frame.index === step ? [...(frame.events.demoted ?? [])].sort((a, b) => a - b) : [];
    const all = [...frame.states.keys()];
    if (kind === 'changed') {
      const before = lane.frames[step - 1];
      const same = (/** @type {number} */ i) =>
        frame.kinds[i] === before.kinds[i] && frame.tokens[i] === before.tokens[i];
      return before && frame.index === step ? all.filter((i) => !same(i)) : [];
    }
    const other = lanes[state.lane ? 0 : 1];
    return other ? all.filter((i) => i < other.length && lane.differs(frame, i, other, other.at(step))) : [];
  }

  /** To the next one, at this step or a later one; backwards to the one before. @param {Kind} kind @param {1 | -1} by */
  walk(kind, by) {
    const { viewer } = this;
    const { step: now, position } = viewer.state;
    const [, name] = KINDS.find(([each]) => each === kind) ?? [];
    for (let step = now; step >= 0 && step <= viewer.last; step += by) {
      const found = this.where(kind, step);
      const left = step === now ? found.filter((i) => (i - position) * by > 0) : found;
      const ends = kind === 'differs' && !left.length ? found : left; // a difference stays: round and round at this step
      if (!ends.length) continue;
      this.said = '';
      viewer.set({ step, position: ends.at(by > 0 ? 0 : -1) });
      this.draw();
      return this.show();
    }
    this.said = `nothing more is ${name} ${by > 0 ? 'from here on' : 'before this'}`;
    this.draw();
  }

  draw() {
    const { viewer, bar } = this;
    for (const token of this.marked) token.removeAttribute('data-found');
    this.marked = [];
    if (bar.hidden || !viewer.lanes.length) return;
    this.look();
    const { hits, at } = this;
    const wanted = this.field.value.trim();
    setText(this.count, this.said || (wanted ? this.counted(hits.length, at) : ''));
    const { lanes, state } = viewer;
    if (lanes.length > 1) {
      const other = lanes[state.lane ? 0 : 1].head.name;
      this.walks[2].title = `the next token that differs from ${other}, back with ⇧`;
    }
    const grid = viewer.panels.find((panel) => panel.grids)?.grids?.[state.lane];
    if (!hits.length || !grid) return;
    const tokens = new Map(
      [...grid.box.querySelectorAll('[data-position]')].map((token) => [
        Number(token.getAttribute('data-position')),
        token,
      ]),
    );
    hits.forEach(([first, last], n) => {
      for (let i = first; i <= last; i++) {
        const token = tokens.get(i);
        token?.setAttribute('data-found', n === at ? 'here' : '');
        if (token) this.marked.push(token);
      }
    });
  }

  /** @param {number} count @param {number} at */
  counted(count, at) {
    if (count) return at < 0 ? `${count} here` : `${at + 1} of ${count}`;
    return this.viewer.state.hideLater ? 'not here' : 'not at this step; ↵ looks at all';
  }

  text() {
    return this.bar.hidden ? '' : (this.count.textContent ?? '');
  }
}
