// The frame of a story: title and place, a caption in plain words, what the step did, and below the tokens and the panels
// of the page the way on. It stands around the viewer's own tokens; its sentences are the trace's own.
//
//   createViewer(root, host, { more: [(viewer) => (story = new Story(viewer, { … }))] })
//   story.show(page, { number, of })     a page, or null for everything
//   story.begin()                        plays once; whoever presses a key or clicks takes over

import { h, icon, judged, judgement, put, setText, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Page, PanelKind, Viewer } from '../panels/types.js' */
/** @typedef {{ onSwitch(): void, onTurn(by: number): void, onOpen?(number: number): void, next?: [name: string, action: () => void][] }} Around */

/** @type {[string, string, string][]} */
export const VIEWS = [
  ['story', 'Story', 'One thing at a time (f)'],
  ['full', 'Everything', 'Prompt, settings, score, inspector, mask (f)'],
];
const WAIT = { start: 1800, pass: 2600, revoked: 6000 }; // milliseconds
const SOON = 700; // milliseconds in which nobody has read Pause: who presses that button meant the Play that stood there
const PASSES_AT_MOST = 9;
const ROOM_FOR = 5; // passes for which a narrow page has buttons
const BELOW = 4; // pixels that stay free below the frame
const TAUGHT = ['written', 'trusted']; // what thresholds of masked decoding lead to

export class Story {
  static id = 'story';

  static above = true;

  static shortcuts = { f: (/** @type {Viewer} */ _viewer, /** @type {Story} */ story) => story.around.onSwitch() };

  /** @type {Frame | undefined} */ drawn;
  /** @type {number | undefined} */ drawnWidth;
  /** @type {Page | null | undefined} */ drawnPage;

  /** @param {Viewer} viewer @param {Around} around */
  constructor(viewer, around) {
    this.viewer = viewer;
    this.around = around;
    this.playing = false; // by itself
    this.reached = 0; // the last pass that was seen on this page
    this.place = { number: 0, of: 1 };
    this.title = h('h1', { class: 'df-hook', tabindex: '-1' });
    this.dots = h('div', { class: 'df-dots' });
    this.settings = h('p', { class: 'df-settings', 'aria-label': 'settings' });
    this.top = h('div', { class: 'df-top' }, this.title, this.dots, this.settings);
    this.caption = h('div', { class: 'df-caption' });
    this.words = h('p', {});
    this.line = h('span', { class: 'dv-hold', hidden: true }, h('i', {}));
    this.tip = h('i', { class: 'df-tip' });
    this.exact = h('details', { class: 'df-exact' }, h('summary', {}, 'exactly'), h('p', {}));
    this.bubble = h('div', { class: 'df-bubble' }, this.words, this.exact, this.line, this.tip);
    this.callout = h('div', { class: 'df-say', role: 'status', 'aria-live': 'polite' }, this.bubble);
    this.todo = h('p', { class: 'df-do' });
    this.box = h('section', { class: 'df-head df-only', 'aria-label': 'Story' }, this.top, this.caption, this.callout);
    const turn = (/** @type {string} */ name, /** @type {number} */ by, extra = '') =>
      h('button', { type: 'button', class: `dv-btn df-turn df-only ${extra}`, onclick: () => around.onTurn(by) }, name);
    this.back = turn('Back', -1);
    this.onward = turn('Next', 1, 'dv-primary');
    this.passes = h('div', { class: 'df-pass df-only', role: 'group', 'aria-label': 'pass' });
    this.verdicts = h('div', { class: 'df-verdict df-only' });
    viewer.transport.box.prepend(this.back);
    viewer.transport.box.append(this.passes, this.verdicts, this.onward);
    this.next = h(
      'nav',
      { class: 'df-only df-next', 'aria-label': 'Next' },
      this.todo,
      (around.next ?? []).map(([name, action]) =>
        h('button', { type: 'button', class: 'dv-chip', onclick: action }, name),
      ),
    );
    viewer.pace = () => (viewer.page ? this.wait() : undefined);
  }

  /**
   * A page, or with its title everything that the viewer has.
   * @param {Page} page @param {{ number: number, of: number }} place which page it is, from 0, and of how many
   * @param {boolean} [full]
   */
  show(page, place, full = false) {
    if (this.title.textContent !== page.title) this.reached = 0;
    this.place = place;
    this.tell(page);
    const { exports, panels } = this.viewer;
    (full ? panels[0].box.querySelector('.dv-ph') : this.top)?.append(exports.box);
    this.viewer.setPage(full ? null : page);
    this.measure();
  }

  /** @param {Page} page */
  tell({ title, caption }) {
    const { number, of } = this.place;
    const { onOpen } = this.around;
    setText(this.title, onOpen ? `${number + 1} · ${title}` : title);
    put(
      this.dots,
      onOpen &&
        Array.from({ length: of }, (_, n) =>
          h('button', {
            type: 'button',
            'aria-label': `page ${n + 1}`,
            'aria-current': n === number ? 'page' : null,
            class: n < number ? 'df-seen' : null,
            onclick: () => onOpen(n),
          }),
        ),
    );
    this.back.disabled = number === 0;
    this.onward.disabled = number === of - 1;
    this.caption.hidden = caption.length === 0;
    put(
      this.caption,
      caption.flatMap((sentence) => [...bold(sentence), ' ']),
    );
  }

  /** How long a step stands while a story plays. */
  wait() {
    const frame = this.viewer.lane.at(this.viewer.state.step);
    return frame.revokes ? WAIT.revoked : frame.index ? WAIT.pass : WAIT.start;
  }

  /** Plays once; where motion is not wanted it stands at the decisive step. */
  begin() {
    const { viewer } = this;
    const { frames } = viewer.lane;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      const decisive = frames.findIndex((frame) => frame.revokes);
      viewer.setStep(Math.max(0, decisive));
      return;
    }
    this.playing = true;
    viewer.transport.play();
    this.draw();
    const began = performance.now();
    const { play } = viewer.transport.buttons;
    const take = (/** @type {Event} */ event) => {
      for (const name of ['keydown', 'click']) document.removeEventListener(name, take, true);
      if (!this.playing) return;
      this.playing = false;
      const meant =
        event.type === 'click'
          ? play.contains(/** @type {Node} */ (event.target))
          : /** @type {KeyboardEvent} */ (event).key === ' ';
      if (meant && viewer.transport.timer) {
        // it says Pause, and that is what happens
        event.preventDefault();
        event.stopPropagation();
      }
      if (!meant || performance.now() - began > SOON) viewer.transport.pause();
      this.draw();
    };
    for (const name of ['keydown', 'click']) document.addEventListener(name, take, true);
  }

  /** As high as the window leaves room for; what does not fit scrolls between the tokens and the foot. */
  measure() {
    const { root, page } = this.viewer;
    const zoom = root.currentCSSZoom ?? 1;
    const top = root.getBoundingClientRect().top + scrollY;
    root.style.height = page && root.offsetParent ? `${Math.floor((innerHeight - top) / zoom) - BELOW}px` : '';
  }

  prepare() {
    this.measure();
    const { page } = this.viewer;
    const order = [page?.panel ?? []].flat();
    for (const { box, constructor: kind } of this.viewer.panels) {
      const { id, story, above } = /** @type {PanelKind} */ (kind);
      if (above) continue;
      const opened = page?.ask?.then?.side === id; // by the answer, below which it stands
      box.style.order = String(
        opened ? order.length + 1 : story === 'ask' ? order.length : Math.max(0, order.indexOf(story ?? id)),
      );
    }
    const { thresholds } = this.viewer.lane.about;
    const { kinds, about, head } = this.viewer.lane;
    const told = thresholds.length && thresholds.length === kinds.length - 1;
    put(
      this.settings,
      told
        ? thresholds.map(({ symbol, at }, n) => [
            n > 0 && ' · ',
            h('b', {}, rich(symbol), ` ${twoShort(at)}`),
            ` ${TAUGHT[thresholds.length === 1 ? 0 : n]} above it`,
          ])
        : [h('b', {}, head.name), about.rule && [' · ', rich(about.rule)]],
    );
  }

  paint() {}

  draw() {
    const { viewer } = this;
    const { lane, state, page } = viewer;
    if (!page || !lane) return;
    const frame = lane.at(state.step);
    if (frame.index === lane.last) this.playing = false;
    setText(
      this.todo,
      this.playing
        ? 'It plays once by itself. Any key or click takes over.'
        : `Your turn: Play and Step${viewer.grid === 'tall' ? '' : ', or space, → and ←'}. “Everything” opens your own prompt, settings, inspector and mask.`,
    );
    this.next.hidden = !this.around.next || !page.others; // after the opening
    this.callout.hidden = viewer.lanes.length > 1;
    this.line.hidden = !(frame.revokes && viewer.transport.timer);
    this.count(lane, frame);
    if (this.drawn === frame && this.drawnWidth === viewer.drawnWidth && this.drawnPage === page) return;
    Object.assign(this, { drawn: frame, drawnWidth: viewer.drawnWidth, drawnPage: page });
    this.say(lane, frame);
    this.judge(lane, frame);
    this.ring(page);
    this.point(lane, frame);
  }

  /** A button for every pass; those that are hidden until one has been there are not told. @param {Lane} lane @param {Frame} frame */
  count(lane, frame) {
    this.reached = Math.max(this.reached, frame.index);
    const last = this.viewer.state.hideLater ? Math.min(this.reached + 1, lane.last) : lane.last;
    this.passes.hidden = lane.last > PASSES_AT_MOST || this.viewer.lanes.length > 1;
    const { coming } = this.viewer;
    const key = `${last} ${frame.index} ${coming}`;
    if (this.passes.hidden || this.passes.dataset.drawn === key) return;
    this.passes.dataset.drawn = key;
    this.passes.dataset.many = String(last > ROOM_FOR);
    put(
      this.passes,
      h('span', {}, 'pass'),
      Array.from({ length: last }, (_, n) =>
        h(
          'button',
          {
            type: 'button',
            class: 'dv-btn',
            'aria-label': `pass ${n + 1}`,
            disabled: coming, // they would lead through what is still on screen
            'aria-current': n + 1 === frame.index ? 'step' : null,
            onclick: () => this.viewer.setStep(n + 1),
          },
          String(n + 1),
        ),
      ),
    );
  }

  /** The positions a step speaks of. @param {Frame} frame */
  spoken(frame) {
    const { demoted, decided } = frame.events;
    return (demoted?.length ? demoted : (decided ?? [])).slice(0, 2);
  }

  /** In plain words, and behind them the rule. @param {Lane} lane @param {Frame} frame */
  say(lane, frame) {
    const exact = this.spoken(frame)
      .map((i) => frame.slices[i]?.sentence)
      .filter(Boolean)
      .join(' ');
    const [word, , sign] = judgement(frame.right);
    const kind = frame.revokes ? 'revoked' : word;
    const [, first, rest] = frame.say.match(/^(Start\.|Step \d+\.) (.*)$/s) || ['', '', frame.say];
    const head = frame.revokes
      ? [icon('down', 12), 'Revoked.']
      : word
        ? [icon(sign ?? '', 12), `${word[0].toUpperCase()}${word.slice(1)}.`]
        : first;
    this.bubble.dataset.event = String(kind);
    put(
      this.words,
      h('span', { class: 'df-event' }, head),
      ' ',
      rich(frame.plainly || exact || begun(lane, frame) || rest),
    );
    this.exact.hidden = !frame.plainly || !exact;
    put(/** @type {HTMLElement} */ (this.exact.lastChild), rich(exact));
  }

  /** Every answer that stood there complete, and what stands there now. @param {Lane} lane @param {Frame} frame */
  judge(lane, frame) {
    this.verdicts.hidden = this.viewer.lanes.length > 1 || !!lane.board || lane.free.length > 4;
    /** @type {HTMLElement[]} */
    const chips = [];
    for (const past of lane.frames.slice(0, frame.index + 1)) {
      const text = lane.answer(past);
      if (past.right !== null && chips.at(-1)?.textContent !== `${judgement(past.right)[0]}: ${text}`)
        chips.push(judged(h('span', { class: 'df-answer' }), past.right, text));
    }
    if (frame.right === null) chips.push(h('span', { class: 'df-answer df-open' }, lane.answer(frame)));
    put(
      this.verdicts,
      h('span', { class: 'df-label' }, 'answer'),
      chips.slice(-2).map((chip, n) => [n > 0 && h('span', { 'aria-hidden': 'true' }, '→'), chip]),
    );
  }

  /** @returns {HTMLElement[]} the tokens of the first lane */
  get chips() {
    return [...this.viewer.root.querySelectorAll('.dv-p-tokens [data-position]')].map(
      (chip) => /** @type {HTMLElement} */ (chip),
    );
  }

  /** Marks the tokens under discussion. @param {Page} page */
  ring(page) {
    for (const chip of this.chips)
      chip.classList.toggle('df-about', !!page.focus?.includes(Number(chip.dataset.position)));
  }

  /**
   * The callout stays where it is; its tip points at the token it speaks of, if that is in the first row.
   * @param {Lane} lane @param {Frame} frame
   */
  point(lane, frame) {
    const { chips } = this;
    const zoom = this.viewer.root.currentCSSZoom ?? 1;
    const [spoken = lane.free[0]] = this.spoken(frame).slice(-1);
    const target = chips.find((each) => each.dataset.position === String(spoken));
    this.tip.hidden = true;
    if (!target || lane.board || this.viewer.lanes.length > 1) return;
    const [at, row, bubble] = [target, chips[0], this.bubble].map((node) => node.getBoundingClientRect());
    const x = (at.left + at.width / 2 - bubble.left) / zoom;
    this.tip.hidden = at.top > row.top + row.height / 2 || x < 12 || x > bubble.width / zoom - 12;
    this.tip.style.left = `${x}px`;
  }

  text() {
    return `${this.title.textContent}. ${this.caption.textContent}`;
  }
}

/** The moment before the first pass. @param {Lane} lane @param {Frame} frame */
function begun({ free, fixed }, frame) {
  if (frame.index || free.some((i) => frame.states[i])) return '';
  const given = fixed.length - free.length;
  return `${free.length} blank${free.length === 1 ? '' : 's'}${given ? ` among ${given} given words` : ''}; nothing is decided yet.`;
}

/** A sentence with the terms it explains in bold. @param {string} sentence @returns {Child[]} */
export const bold = (sentence) =>
  sentence.split('**').flatMap((part, n) => (n % 2 ? [h('b', {}, rich(part))] : rich(part)));
