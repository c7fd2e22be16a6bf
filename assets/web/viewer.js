// The viewer of one decode, or of several on one scrubber. It holds the whole trace; scrubbing asks nobody.
//
//   import { createViewer } from './viewer.js';            // the style sheet is viewer.css
//   const viewer = createViewer(root, host, options);
//   await viewer.load(payload);                             // visual.payload.payload(trace), or a list of them: one lane each
//   await viewer.append(steps, lane = 0);                   // live run: visual.payload.step_payload(trace, step), one or more
//   viewer.setStep(3); viewer.select(4, lane = 0);
//   viewer.getState(); viewer.setState({ step: 3, position: 4 });
//   viewer.destroy();
//
// `load(payload)` with a header and no steps shows the start of a live run. A load keeps the state (step, selection, mask
// settings) as far as it still makes sense; `load(payload, { step: 0 })` sets parts of it. `append` follows the run if the
// last step was in view and nobody has begun an edit there, otherwise the view stays where it is.
//
// State, as given to host.onChange and understood by setState and options.state; every part is optional in setState:
//   { step, position, lane, order: 'state' | 'position', reach: 0 (direct) | 1 … layers, map: 'states' | 'weights', hideLater: bool }
//
// host, every entry optional; what is missing has no control on the page:
//   requestStep()                       compute one more step (Step at the end of what is known; Play goes on with it)
//   requestRun(), requestStop()         compute to the end; stop that
//   requestReset()                      Reset was pressed; the viewer has gone to step 0 already
//   requestBranch({lane, step, position, token, state})   token: id chosen from the top 5, text that was typed, or null (unchanged);
//                                       state: 'M' | 'C' | 'U'
//   fetchLife(position, lane)           -> Promise of visual.payload.life(trace, position); only called when lives do not come along
//   onChange(state)                     step, selection or a setting changed, for the address bar; called when it comes to rest
//   requestExport(kind)                 kind is one of options.exports' keys
//   switchBranch(id), compareBranches(a, b)
//
// What the host tells the viewer:
//   setBusy(text | null)                a run is going on: Step and Run to end wait, Stop appears if requestStop exists
//   setMessage(text | null)             an error sentence, shown until dismissed or replaced
//   setBranches([{ id, name }], currentId)
//
// options: { state, exports: { json: 'Trace (JSON)', … }, speed: steps per second,
//   keysFrom: the element in which the focus must be for the viewer's keys to act, by default the root element itself;
//   they also act while nothing has the focus, and never while something is typed }
//
// The theme follows body.dark, or data-theme="dark" | "light" on the root element. Texts enter the page as text only.

import { h, put, readTheme } from './dom.js';
import { Branches, Message, exportMenu } from './extras.js';
import { Inspector } from './inspector.js';
import { MaskPanel } from './maskpanel.js';
import { capacity } from './score.js';
import { ScorePanel } from './scorepanel.js';
import { Tokens } from './tokens.js';
import { Transport } from './transport.js';
import { Lane } from './unpack.js';

const TYPING = 'input:not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])';

let active = null; // the viewer that keys go to while the focus is on the page itself

export function createViewer(root, host = {}, options = {}) {
  return new Viewer(root, host, options);
}

class Viewer {
  constructor(root, host, options) {
    Object.assign(this, { root, host, keysFrom: options.keysFrom || root });
    this.lanes = [];
    this.state = { step: 0, position: -1, lane: 0, order: 'state', reach: 0, map: 'states', hideLater: false, ...options.state };
    this.divergence = 0;
    this.drawnWidth = 0;
    this.work = Promise.resolve();
    this.pending = 0;
    this.transport = new Transport(this, options.speed);
    this.message = new Message();
    this.branches = new Branches(host);
    this.tokens = new Tokens(this, exportMenu(options.exports, host.requestExport));
    this.score = new ScorePanel(this);
    this.inspector = new Inspector({
      onBranch: host.requestBranch && ((what) => host.requestBranch({ lane: this.state.lane, ...what })),
      onLater: (step) => this.setStep(step),
    });
    this.mask = new MaskPanel(this);
    root.classList.add('dv', 'dv-empty');
    put(root, this.transport.box, this.message.box, this.branches.box, this.tokens.box,
      h('div', { class: 'dv-body' }, this.score.box,
        h('section', { class: 'dv-panel dv-p-insp', 'aria-label': 'inspector' }, this.inspector.box), this.mask.box));
    this.transport.draw();
    this.listen();
    active = this;
  }

  listen() {
    this.onKey = (event) => this.key(event);
    document.addEventListener('keydown', this.onKey);
    this.root.addEventListener('pointerdown', () => (active = this));
    this.root.addEventListener('focusin', () => (active = this));
    this.resizer = new ResizeObserver(() => this.resized());
    this.resizer.observe(this.root);
    this.resizer.observe(this.inspector.life);
    this.themer = new MutationObserver(() => this.redraw());
    this.themer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
    this.themer.observe(this.root, { attributes: true, attributeFilter: ['data-theme'] });
  }

  // What the host calls.

  /** Shows one payload or several side by side. */
  load(payloads, state) {
    return this.queue(async () => {
      const lanes = await Promise.all([payloads].flat().map((payload) => Lane.open(payload)));
      this.transport.pause();
      this.transport.waiting = false;
      this.lanes = lanes;
      Object.assign(this.state, state);
      this.normalise();
      this.root.classList.remove('dv-empty');
      this.theme = readTheme(this.root);
      this.mask.forget();
      this.tokens.rebuild();
      this.layout();
      this.changed();
    });
  }

  /** Adds steps of a live run. */
  append(steps, lane = 0) {
    return this.queue(async () => {
      const target = this.lanes[lane];
      if (!target) return;
      const follow = this.state.step >= this.last && !this.inspector.editing;
      await target.append([steps].flat());
      this.transport.waiting = false;
      this.tokens.grow(lane);
      if (follow) this.state.step = this.last;
      this.layout();
      this.changed(300);
    });
  }

  /** One after the other: unpacking takes a moment, and what is called after a load must find it done. */
  queue(job) {
    this.pending += 1;
    const done = () => (this.pending -= 1);
    const result = this.work.then(job);
    this.work = result.then(done, done);
    return result;
  }

  setStep(step) {
    this.setState({ step });
  }

  select(position, lane = this.state.lane) {
    this.setState({ position, lane });
  }

  getState() {
    return { ...this.state };
  }

  setState(state) {
    if (this.pending) this.queue(() => this.set(state));
    else this.set(state);
  }

  setBusy(text) {
    this.root.setAttribute('aria-busy', String(!!text));
    this.transport.setBusy(text);
  }

  setMessage(text) {
    this.transport.waiting = false;
    this.transport.draw();
    if (text) this.transport.pause();
    this.message.show(text);
  }

  setBranches(branches, current) {
    this.branches.show(branches, current);
  }

  destroy() {
    this.transport.pause();
    clearTimeout(this.telling);
    clearTimeout(this.needing);
    document.removeEventListener('keydown', this.onKey);
    this.resizer.disconnect();
    this.themer.disconnect();
    if (active === this) active = null;
    this.lanes = [];
    put(this.root);
    this.root.classList.remove('dv', 'dv-empty');
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

  /** Whatever was asked for becomes a state that can be shown. */
  normalise() {
    const { state } = this;
    const whole = (value, low, high) => Math.max(low, Math.min(high, Math.round(+value) || 0));
    state.lane = whole(state.lane, 0, this.lanes.length - 1);
    state.step = whole(state.step, 0, this.last);
    const { length, free, head } = this.lane;
    state.position = state.position >= 0 && state.position < length ? whole(state.position, 0, length - 1) : free[0] ?? 0;
    state.reach = whole(state.reach, 0, head.layers);
    state.order = state.order === 'position' ? 'position' : 'state';
    state.map = state.map === 'weights' && head.weights ? 'weights' : 'states';
    state.hideLater = !!state.hideLater;
  }

  /** Changes parts of the state now. Going to another step stops playing, unless it is playing that goes. */
  set(part, { keepPlaying = false } = {}) {
    const before = { ...this.state };
    Object.assign(this.state, part);
    if (!this.lanes.length) return;
    this.normalise();
    const differs = (key) => before[key] !== this.state[key];
    if (!Object.keys(before).some(differs)) return;
    if (differs('step') && !keepPlaying) this.transport.pause();
    if (differs('lane') || differs('map')) this.layout();
    this.changed();
  }

  /** Draws what is to be seen, fetches what is missing (in a live run when it rests), and tells the host. */
  changed(patience = 0) {
    this.draw();
    clearTimeout(this.needing);
    if (patience) this.needing = setTimeout(() => this.needLife(), patience);
    else this.needLife();
    if (!this.host.onChange) return;
    clearTimeout(this.telling); // an address bar that follows every step of a scrub would cost more than the drawing
    this.telling = setTimeout(() => this.host.onChange(this.getState()), 150);
  }

  async needLife() {
    const { lane, state, host } = this;
    if (!lane) return;
    const fetch = host.fetchLife && ((position) => host.fetchLife(position, state.lane));
    try {
      const news = await lane.fetchLife(state.position, fetch);
      if (news && lane === this.lane) this.draw();
    } catch (error) {
      this.setMessage(String(error?.message || error));
    }
  }

  // Keys.

  key(event) {
    const { target, key } = event;
    if (!this.lanes.length || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const onPage = target === document.body || target === document.documentElement;
    const mine = this.keysFrom.contains(target) || (onPage && active === this && this.root.offsetParent !== null);
    if (!mine || target.closest?.(TYPING)) return;
    if (target === this.mask.canvas && this.mask.key(key)) {
      event.preventDefault();
      return;
    }
    const { step, position } = this.state;
    const pressesItself = target.type === 'checkbox' || (target.closest?.('button') && !target.dataset.position);
    const onScore = target === this.score.canvas;
    const actions = {
      ArrowLeft: () => this.setStep(step - 1),
      ArrowRight: () => {
        this.transport.pause();
        this.transport.forward();
      },
      Home: () => this.setStep(0),
      End: () => this.setStep(this.last),
      PageUp: onScore && (() => this.setStep(step - 10)),
      PageDown: onScore && (() => this.setStep(step + 10)),
      ArrowUp: () => this.move(position - 1, target),
      ArrowDown: () => this.move(position + 1, target),
      ' ': !pressesItself && (() => this.transport.play()),
      n: () => this.revocation(1),
      p: () => this.revocation(-1),
    };
    const action = Object.hasOwn(actions, key) && actions[key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  move(position, target) {
    if (position < 0 || position >= this.lane.length) return;
    this.select(position);
    if (target.dataset?.position) this.tokens.focus(this.state.lane, position);
  }

  /** To the next or the previous step at which something was revoked. */
  revocation(direction) {
    for (let step = this.state.step + direction; step >= 0 && step <= this.last; step += direction) {
      if (this.lanes.some((lane) => lane.frames[step]?.revokes)) {
        this.setStep(step);
        return;
      }
    }
  }

  // Drawing.

  redraw() {
    if (!this.lanes.length) return;
    this.layout();
    this.draw();
  }

  resized() {
    const { inspector, root } = this;
    if (root.clientWidth && (root.clientWidth !== this.drawnWidth || inspector.life.clientHeight !== inspector.lifeHeight)) this.redraw();
  }

  /** Everything that depends on widths, theme, or the number of steps. A hidden viewer waits until it has a width. */
  layout() {
    const width = this.root.clientWidth;
    this.drawnWidth = width;
    if (!width) return;
    this.root.dataset.size = width <= 640 ? 'narrow' : width <= 1000 ? 'medium' : 'wide';
    this.theme = readTheme(this.root);
    this.steps = capacity(this.last, this.finished);
    this.divergence = this.lanes.length > 1 ? firstDifference(this.lanes, this.last) : 0;
    this.score.prepare(this.steps);
    this.tokens.prepare(this.steps);
    this.inspector.prepare();
    this.mask.prepare();
  }

  /** Canvases first: setting a font on one asks for clean styles, and would pay at once for every node changed before. */
  draw() {
    if (!this.drawnWidth) return;
    const { lane, state, theme } = this;
    this.score.paint();
    this.tokens.paint();
    this.mask.paint();
    this.inspector.draw({ lane, step: state.step, position: state.position, theme, hideLater: state.hideLater, last: this.steps });
    this.mask.draw();
    this.tokens.draw();
    this.score.draw();
    this.transport.say();
    this.transport.draw();
  }
}

/** The first pass after which not all lanes hold the same tokens; 0 if there is none. */
function firstDifference(lanes, last) {
  for (let step = 1; step <= last; step++) {
    const first = lanes[0].at(step).tokens;
    const differs = (lane) => lane.length !== first.length || lane.at(step).tokens.some((token, i) => token !== first[i]);
    if (lanes.some(differs)) return step;
  }
  return 0;
}
