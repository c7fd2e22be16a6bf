// The viewer of one decode, or of several on one scrubber. It holds the whole trace; scrubbing asks nobody.
//
//   const viewer = createViewer(root, host, options);
//   await viewer.load(payload);                             // visual.payload.payload(trace), or a list of them: one lane each
//   await viewer.append(steps, lane = 0);                   // live run: visual.payload.step_payload(trace, step), one or more
//   viewer.setStep(3); viewer.select(4, lane = 0); viewer.play();
//   viewer.getState(); viewer.setState({ step: 3, position: 4 }); viewer.destroy();
//
// `load(payload)` with a header and no steps shows the start of a live run. A load keeps the state (step, selection, mask
// settings) as far as it still makes sense; `load(payload, { step: 0 })` sets parts of it. `append` follows the run if the
// last step was in view and nobody has begun an edit there, otherwise the view stays where it is; it follows to
// `viewer.goal` at most, which a load sets too, so that whoever moves on while a link is opened is not called back.
//
// State, as given to host.onChange and understood by setState and options.state; every part is optional in setState, and
// whatever cannot be shown becomes something that can:
//   { step, position, lane } and what the panels add: order, reach, attention, graph, side, map, hideLater
//
// What a host can do, and the options, stand in types.d.ts, beside this file and in panels. What it tells the viewer:
//   setBusy(text | null, share)         a run is going on: Step and Run to end wait, Stop appears if requestStop exists
//   setMessage(text | null)             an error sentence, shown until dismissed; setBranches([{ id, name }], currentId)
//   setTitle(text | null)               what is shown, for the names of files; without one it is the decoder
//
// The theme follows body.dark, or data-theme="dark" | "light" on the root element. Texts enter the page as text only.

import { h, put, readTheme, sentenceOf, whole } from '../draw/dom.js';
import { Exports } from './exports.js';
import { Branches, Message } from './extras.js';
import { PANELS } from '../panels/panel.js';
import { actionsOf } from './keys.js';
import { capacity } from '../draw/axis.js';
import { Transport } from '../panels/transport.js';
import { Lane } from '../data/unpack.js';

/** @import { Payload, StepPayload } from '../data/types.js' */
/** @import { Theme } from '../draw/types.js' */
/** @import { Page, Panel, PanelKind, State, ViewerHost } from '../panels/types.js' */
/** @import { Look, ViewerOptions } from './types.js' */

const TYPING = 'input:not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])';

const CHIPS = 64; // positions, at most, of what is shown as chips
const ENLARGED = 1.2; // a projector's page has little room
const LARGE = 14; // tokens, at most, that are large in a story

/** @type {Viewer | null} */
let active = null; // the viewer that keys go to while the focus is on the page itself

/** @type {PanelKind[]} */
const KINDS = PANELS;
const kindOf = (/** @type {Panel} */ panel) => /** @type {PanelKind} */ (panel.constructor);

/** @param {HTMLElement} root @param {ViewerHost} [host] @param {ViewerOptions} [options] */
export function createViewer(root, host = {}, options = {}) {
  return new Viewer(root, host, options);
}

export class Viewer {
  /** @type {Theme} */ theme;
  /** @type {number} as many as the panels lay out */ steps;
  /** @type {string | null | undefined} */ title;
  /** @type {(() => number | undefined) | undefined} how long a step stands in milliseconds, if not by the speed */ pace;
  /** @type {((event: KeyboardEvent) => void)} */ onKey;
  /** @type {ResizeObserver | undefined} */ resizer;
  /** @type {MutationObserver | undefined} */ themer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ resting;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ needing;

  /** @param {HTMLElement} root @param {ViewerHost} host @param {ViewerOptions} options */
  constructor(root, host, options) {
    this.root = root;
    this.host = host;
    this.keysFrom = options.keysFrom || root;
    this.still = !!options.still;
    /** @type {Lane[]} */
    this.lanes = [];
    /** @type {State} */
    this.state = Object.assign({ step: 0, position: -1, lane: 0 }, ...KINDS.map((kind) => kind.state));
    this.assign(options.state);
    this.drawnWidth = 0;
    /** @type {Page | null} */
    this.page = null;
    this.goal = Infinity;
    this.coming = false;
    /** @type {Promise<unknown>} */
    this.work = Promise.resolve();
    this.pending = 0;
    this.transport = new Transport(this, options.speed);
    this.message = new Message();
    this.branches = new Branches(host);
    this.exports = new Exports(this, options.exports);
    /** @type {Panel[]} */
    this.panels = KINDS.filter(({ id }) => !options.panels || options.panels.includes(id)).map(
      (Kind) => new Kind(this),
    );
    this.panels.push(...(options.more ?? []).map((make) => make(this)));
    root.classList.add('dv', 'dv-empty');
    root.classList.toggle('dv-still', this.still);
    const boxes = (above = false) =>
      this.panels.filter((panel) => !!kindOf(panel).above === above).map(({ box }) => box);
    this.body = h('div', { class: 'dv-body' }, boxes());
    put(
      root,
      options.prompt && h('p', { class: 'dv-prompt' }, h('bdi', {}, options.prompt)),
      this.panels.map((panel) => panel.head),
      this.transport.box,
      this.message.box,
      this.branches.box,
      boxes(true),
      this.body,
      this.panels.map((panel) => panel.next),
    );
    this.transport.draw();
    if (!this.still) this.listen();
  }

  listen() {
    active = this;
    this.onKey = (event) => this.key(event);
    document.addEventListener('keydown', this.onKey);
    this.root.addEventListener('pointerdown', () => (active = this));
    this.root.addEventListener('focusin', () => (active = this));
    this.resizer = new ResizeObserver(
      () => this.root.clientWidth && this.root.clientWidth !== this.drawnWidth && this.redraw(),
    );
    this.resizer.observe(this.root);
    this.themer = new MutationObserver(() => this.redraw());
    this.themer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
    this.themer.observe(this.root, { attributes: true, attributeFilter: ['data-theme'] });
  }

  // What the host calls.

  /** Shows one payload or several side by side. @param {Payload | Payload[]} payloads @param {Look} [state] */
  load(payloads, state) {
    return this.queue(async () => {
      this.show(await Promise.all([payloads].flat().map((payload) => Lane.open(payload))), state);
    });
  }

  /** What is pressed until the next load would be about what is still on screen. @param {boolean} coming */
  expectLoad(coming) {
    this.coming = coming;
    this.transport.pause();
    this.transport.draw();
  }

  /** @param {Lane[]} lanes @param {Look} [state] */
  show(lanes, state) {
    this.coming = false;
    this.transport.pause();
    this.transport.waiting = false;
    this.lanes = lanes;
    this.goal = state?.goal ?? Infinity;
    this.assign(state);
    this.normalise();
    this.root.classList.remove('dv-empty');
    this.theme = readTheme(this.root);
    for (const panel of this.panels) panel.load?.();
    this.layout();
    this.changed();
  }

  /** Adds steps of a live run; one that is there stays as it is. @param {StepPayload | StepPayload[]} steps */
  append(steps, lane = 0) {
    return this.queue(async () => {
      const target = this.lanes[lane];
      if (!target) return;
      const follow = this.state.step >= this.last && !this.editing;
      await target.append([steps].flat().filter((step) => step.index > target.last));
      this.transport.waiting = false;
      for (const panel of this.panels) panel.grow?.(lane);
      if (follow) this.state.step = Math.max(this.state.step, Math.min(this.last, this.goal));
      this.layout();
      this.changed(300);
    });
  }

  /**
   * One after the other: unpacking takes a moment, and what is called after a load must find it done.
   * @template T @param {() => T | Promise<T>} job
   */
  queue(job) {
    this.pending += 1;
    const done = () => {
      this.pending -= 1;
    };
    const result = this.work.then(job);
    this.work = result.then(done, done);
    return result;
  }

  /** Plays from where it is, once what is being loaded is there. */
  play() {
    this.queue(() => this.transport.timer ?? this.transport.play());
  }

  /** @param {number} step */
  setStep(step) {
    this.setState({ step });
  }

  /** @param {number} position @param {number} [lane] */
  select(position, lane = this.state.lane) {
    this.setState({ position, lane });
  }

  getState() {
    return { ...this.state };
  }

  /** @param {Partial<State>} state */
  setState(state) {
    if (this.pending) this.queue(() => this.set(state));
    else this.set(state);
  }

  /** @param {string | null} text @param {number | null} [share] how far it is, from 0 to 1 */
  setBusy(text, share) {
    this.root.setAttribute('aria-busy', String(!!text));
    this.transport.setBusy(text, share);
  }

  /** @param {string | null} text */
  setMessage(text) {
    this.transport.waiting = false;
    this.transport.draw();
    if (text) this.transport.pause();
    this.message.show(text);
  }

  /** @param {{ id: number, name: string }[]} [branches] @param {number} [current] */
  setBranches(branches = [], current = 0) {
    this.branches.show(branches, current);
  }

  /** @param {string | null} [title] */
  setTitle(title) {
    this.title = title;
  }

  /** A page of a story, with the tokens large and the panels that it names; null: everything. @param {Page | null} page */
  setPage(page) {
    this.page = page;
    this.root.classList.toggle('dv-short', !!page);
    this.redraw();
  }

  /** Whether a panel is in view: everything is, or a page of a story names it. @param {string} id */
  named(id) {
    return !this.page || [this.page.panel, 'tokens', 'find', 'story', this.page.ask && 'ask'].flat().includes(id);
  }

  /** Whether four columns fit side by side. */
  get room() {
    return this.root.clientWidth >= 1500;
  }

  /** Whether tokens are text and the score is a map: more positions than chips are read for. A board is no text. */
  get long() {
    return this.lanes.some(({ length, board }) => length > CHIPS && !board);
  }

  /** The size of the tokens in a story. */
  get grid() {
    const [{ board, length }, ...others] = this.lanes;
    if (!this.page || others.length || board || length > LARGE) return undefined;
    return this.root.clientWidth <= 640 || (this.root.currentCSSZoom ?? 1) > ENLARGED ? 'tall' : 'huge';
  }

  destroy() {
    this.transport.pause();
    clearTimeout(this.resting);
    clearTimeout(this.needing);
    document.removeEventListener('keydown', this.onKey);
    this.resizer?.disconnect();
    this.themer?.disconnect();
    if (active === this) active = null;
    this.lanes = [];
    put(this.root);
    this.root.classList.remove('dv', 'dv-empty', 'dv-still', 'dv-beside', 'dv-reading');
  }

  // State.

  get last() {
    return Math.max(0, ...this.lanes.map((lane) => lane.last));
  }

  get lane() {
    return this.lanes[this.state.lane];
  }

  get finished() {
    return this.lanes.every((lane) => lane.finished);
  }

  get editing() {
    return this.panels.some((panel) => panel.editing);
  }

  /** Takes the parts that it knows of a state from anywhere. @param {object} [part] */
  assign(part) {
    for (const [key, value] of Object.entries(part ?? {}))
      if (Object.hasOwn(this.state, key)) Object.assign(this.state, { [key]: value });
  }

  /** Whatever was asked for becomes a state that can be shown. */
  normalise() {
    const { state } = this;
    state.lane = whole(state.lane, 0, this.lanes.length - 1);
    state.step = whole(state.step, 0, this.last);
    const { length, free } = this.lane;
    state.position =
      state.position >= 0 && state.position < length ? whole(state.position, 0, length - 1) : (free[0] ?? 0);
    for (const kind of KINDS) kind.settle?.(state, this.lane);
  }

  /** Changes parts of the state now. Going to another step stops playing, unless it is playing that goes. @param {Partial<State>} part */
  set(part, { keepPlaying = false } = {}) {
    const before = { ...this.state };
    this.assign(part);
    if (!this.lanes.length) return;
    this.normalise();
    const differs = (/** @type {keyof State} */ key) => before[key] !== this.state[key];
    if (!Object.keys(before).some((key) => differs(/** @type {keyof State} */ (key)))) return;
    if (differs('step') && !keepPlaying) this.transport.pause();
    if (differs('lane') || differs('side')) this.layout();
    this.changed();
  }

  /** Draws what is to be seen, asks for what is missing (in a live run when it rests), and tells those who listen. */
  changed(patience = 0) {
    this.draw();
    if (this.still) return;
    clearTimeout(this.needing);
    if (patience) this.needing = setTimeout(() => this.need(), patience);
    else this.need();
    clearTimeout(this.resting); // an address bar that follows every step of a scrub would cost more than the drawing
    this.resting = setTimeout(() => {
      for (const panel of this.panels) panel.box.setAttribute('aria-description', panel.text());
      this.host.onChange?.(this.getState());
    }, 150);
  }

  async need() {
    const { lane } = this;
    if (!lane) return;
    try {
      const news = await Promise.all(this.panels.map((panel) => !panel.box.hidden && panel.need?.()));
      if (news.includes(true) && lane === this.lane) this.draw();
    } catch (error) {
      this.setMessage(sentenceOf(error));
    }
  }

  /**
   * A question to the host about the lane in view, asked once: what was answered is kept with the lane.
   * @template T @param {string} name @param {object} data @returns {Promise<T>}
   */
  ask(name, data) {
    const answers = (this.lane.answers ??= new Map());
    const key = `${name} ${JSON.stringify(data)}`;
    const known = answers.get(key);
    if (known) return /** @type {Promise<T>} */ (known);
    /** @type {Promise<T>} */
    const answer = this.order(name, data);
    answers.set(key, answer);
    answer.catch(() => answers.delete(key));
    return answer;
  }

  /**
   * Something that the host shall do now; what it refuses, it refuses with a sentence.
   * @template T @param {string} name @param {object} data @returns {Promise<T>}
   */
  async order(name, data) {
    const reply = await this.host.ask?.(name, { lane: this.state.lane, ...data });
    if (!reply || reply.kind === 'error') throw new Error(reply?.text || 'The server did not answer; try again.');
    return /** @type {T} */ (reply);
  }

  // Keys.

  /** @param {KeyboardEvent} event */
  key(event) {
    const { key } = event;
    const target = /** @type {HTMLInputElement} */ (event.target);
    if (!this.lanes.length || this.coming || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented)
      return;
    const onPage = target === document.body || target === document.documentElement;
    const mine =
      this.keysFrom.contains(target) ||
      (onPage && this.root.offsetParent !== null && (active === this || !active?.root.offsetParent));
    if (!mine || target.closest?.(TYPING)) return;
    if (this.panels.some((panel) => panel.box.contains(target) && panel.key?.(event))) {
      event.preventDefault();
      return;
    }
    const actions = actionsOf(this, target);
    const action = Object.hasOwn(actions, key) && actions[key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // Drawing.

  redraw() {
    if (!this.lanes.length) return;
    this.layout();
    this.draw();
  }

  /** Everything that depends on widths, theme, or the number of steps. A hidden viewer waits until it has a width. */
  layout() {
    const width = this.root.clientWidth;
    this.drawnWidth = width;
    if (!width) return;
    this.root.dataset.size = width <= 640 ? 'narrow' : width <= 1000 ? 'medium' : 'wide';
    this.theme = readTheme(this.root);
    this.steps = capacity(this.last, this.finished);
    this.root.classList.toggle('dv-long-text', this.long);
    this.root.dataset.side = this.state.side;
    for (const panel of this.panels) {
      const { id, story, fits } = kindOf(panel);
      panel.box.hidden = !(this.page || !story) || !this.named(story ?? id) || fits?.(this.lane, this) === false;
    }
    for (const panel of this.panels) if (!panel.box.hidden) panel.prepare(); // its width is known when the others are there or gone
  }

  /** Canvases first: setting a font on one asks for clean styles, and would pay at once for every node changed before. */
  draw() {
    if (!this.drawnWidth) return;
    const shown = this.panels.filter((panel) => !panel.box.hidden);
    for (const panel of shown) panel.paint();
    for (const panel of shown) panel.draw();
    this.transport.say();
    this.transport.draw();
  }
}
