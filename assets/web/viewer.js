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
// last step was in view, otherwise the view stays where it is.
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
// options: { state, exports: { json: 'Trace (JSON)', … }, speed: steps per second }
//
// The theme follows body.dark, or data-theme="dark" | "light" on the root element. Texts enter the page as text only.

import { EVENTS, STATES, badge, h, icon, mark, put, readTheme, rich, setText, two } from './dom.js';
import { Grid } from './grid.js';
import { Inspector } from './inspector.js';
import { Mask } from './mask.js';
import { Score, capacity, columns, drawAxis, drawMap, weightAt } from './score.js';
import { LETTER, Lane } from './unpack.js';

const SIX = [[1, 'M in x', 'everything in x'], [4, 'M in s', 'unmasked only'], [2, 'C in x', 'unmasked + surer C'], [5, 'C in s', 'the same, not itself'],
  [3, 'U in x', 'unmasked only'], [6, 'U in s', 'the same, not itself']];
const SPEEDS = [0.5, 1, 1.5, 2, 3, 5, 8, 15];

let active = null; // the viewer that keys go to while the focus is on the page itself

export function createViewer(root, host = {}, options = {}) {
  return new Viewer(root, host, options);
}

class Viewer {
  constructor(root, host, options) {
    Object.assign(this, { root, host, options });
    this.lanes = [];
    this.state = { step: 0, position: -1, lane: 0, order: 'state', reach: 0, map: 'states', hideLater: false, ...options.state };
    this.hovered = -1;
    this.speed = options.speed || 1.5;
    this.busy = null;
    this.waiting = false;
    this.work = Promise.resolve();
    this.pending = 0;
    this.build();
    this.listen();
    active = this;
  }

  // The page.

  build() {
    const { host } = this;
    this.root.classList.add('dv');
    const button = (name, symbol, action, extra = '') =>
      h('button', { type: 'button', class: `dv-btn ${extra}`, title: name, onclick: action }, icon(symbol, 11), h('span', {}, name));
    this.buttons = {
      reset: button('Reset', 'reset', () => this.reset()),
      back: button('Back', 'back', () => this.setStep(this.state.step - 1)),
      play: button('Play', 'play', () => this.play(), 'dv-primary'),
      step: button('Step', 'step', () => this.forward()),
      run: button('Run to end', 'end', () => this.run()),
    };
    this.counter = h('b', {}, '0');
    this.total = h('span', {}, '/ 0');
    const speedText = h('span', { class: 'dv-speedtext' }, `${this.speed}/s`);
    const speed = h('input', { type: 'range', class: 'dv-range', min: 0, max: SPEEDS.length - 1, value: Math.max(0, SPEEDS.indexOf(this.speed)), 'aria-label': 'speed',
      oninput: () => {
        this.speed = SPEEDS[+speed.value];
        setText(speedText, `${this.speed}/s`);
        if (this.timer) this.schedule();
      } });
    this.status = h('div', { class: 'dv-status', role: 'status', 'aria-live': 'polite' });
    this.message = h('div', { class: 'dv-message', role: 'alert', hidden: true });
    this.branchRow = h('div', { class: 'dv-branches', hidden: true });
    this.sub = h('span', { class: 'dv-sub' });
    this.exports = this.exportMenu();
    this.tokens = h('div', { class: 'dv-lanes' });
    this.tokensTitle = h('h2', {}, 'Tokens');
    this.legendBox = h('div', { class: 'dv-legend' });
    this.scoreCanvas = h('canvas', { class: 'dv-score', tabindex: 0, role: 'slider', 'aria-label': 'step', 'aria-orientation': 'horizontal', 'aria-valuemin': 0 });
    this.scoreBox = h('div', { class: 'dv-scorebox' }, this.scoreCanvas);
    this.weightNote = h('div', { class: 'dv-note dv-wnote' });
    this.mapSwitch = this.segment('map', [['states', 'states'], ['weights', 'weights']], 'what the score shows');
    this.later = h('input', { type: 'checkbox', class: 'dv-check', 'aria-label': 'hide what comes later', onchange: () => this.set({ hideLater: this.later.checked }) });
    this.zoomButtons = h('span', { class: 'dv-seg dv-zoom', role: 'group', 'aria-label': 'zoom of the mask' },
      h('button', { type: 'button', 'aria-label': 'zoom out', onclick: () => this.zoom(-1) }, '−'),
      h('button', { type: 'button', 'aria-label': 'zoom in', onclick: () => this.zoom(1) }, '+'));
    this.maskCanvas = h('canvas', { class: 'dv-mask', tabindex: 0, role: 'application', 'aria-label': 'attention mask', 'aria-roledescription': 'heatmap' });
    this.maskBox = h('div', { class: 'dv-maskbox' }, this.maskCanvas, this.zoomButtons, (this.maskMessage = h('p', { class: 'dv-maskmessage', hidden: true })));
    this.maskSub = h('span', { class: 'dv-sub' });
    this.maskNote = h('div', { class: 'dv-note dv-masknote', 'aria-live': 'polite' });
    this.maskLegend = h('div', { class: 'dv-legend dv-masklegend' });
    this.layerRange = h('input', { type: 'range', class: 'dv-range', min: 1, 'aria-label': 'layers of reach', oninput: () => this.set({ reach: +this.layerRange.value }) });
    this.layerText = h('span', { class: 'dv-layertext' });
    this.layerRow = h('label', { class: 'dv-layers' }, this.layerRange, this.layerText);
    this.orderSwitch = this.segment('order', [['state', 'by state'], ['position', 'by position']], 'order of the mask');
    this.reachSwitch = h('span', { class: 'dv-seg', role: 'group', 'aria-label': 'direct or reach' },
      h('button', { type: 'button', onclick: () => this.set({ reach: 0 }) }, 'direct'),
      h('button', { type: 'button', onclick: () => this.set({ reach: this.lane.head.layers }) }, 'reach'));
    this.six = h('div', { class: 'dv-six' }, SIX.map(([n, who, what]) => h('span', {}, h('i', {}, String(n)), h('b', {}, who), what)));
    this.score = new Score(this.scoreCanvas);
    this.mask = new Mask(this.maskCanvas);
    this.inspector = new Inspector({
      onBranch: host.requestBranch && ((what) => host.requestBranch({ lane: this.state.lane, ...what })),
      onLater: (step) => this.setStep(step),
    });
    this.panels = {
      tokens: h('section', { class: 'dv-panel dv-p-tokens', 'aria-label': 'tokens' }, h('div', { class: 'dv-ph' }, this.tokensTitle, this.sub, this.legendBox, this.exports), this.tokens),
      score: h('section', { class: 'dv-panel dv-p-score', 'aria-label': 'score' },
        h('div', { class: 'dv-ph' }, h('h2', {}, 'Score'), h('span', { class: 'dv-sub' }, 'drag to scrub'), (this.scoreLegend = h('div', { class: 'dv-legend' })),
          this.mapSwitch, h('label', { class: 'dv-later', title: 'hide what comes later' }, this.later, h('span', {}, 'hide later'))),
        this.scoreBox, this.weightNote),
      inspector: h('section', { class: 'dv-panel dv-p-insp', 'aria-label': 'inspector' }, this.inspector.box),
      mask: h('section', { class: 'dv-panel dv-p-mask', 'aria-label': 'mask' },
        h('div', { class: 'dv-ph' }, h('h2', {}, 'Mask'), this.maskSub, h('span', { class: 'dv-grow' }), this.orderSwitch, this.reachSwitch),
        this.maskBox, h('div', { class: 'dv-maskline' }, this.maskLegend, this.layerRow), this.six, this.maskNote),
    };
    this.body = h('div', { class: 'dv-body' }, this.panels.score, this.panels.inspector, this.panels.mask);
    put(this.root,
      h('div', { class: 'dv-transport' },
        h('div', { class: 'dv-buttons' }, Object.values(this.buttons), h('div', { class: 'dv-counter' }, this.counter, this.total),
          h('label', { class: 'dv-speed' }, h('span', {}, 'speed'), speed, speedText)),
        this.status),
      this.message, this.branchRow, this.panels.tokens, this.body);
    this.root.classList.add('dv-empty');
  }

  segment(part, choices, label) {
    return h('span', { class: 'dv-seg', role: 'group', 'aria-label': label },
      choices.map(([value, name]) => h('button', { type: 'button', 'data-value': value, onclick: () => this.set({ [part]: value }) }, name)));
  }

  exportMenu() {
    const kinds = Object.entries(this.options.exports || {});
    if (!this.host.requestExport || !kinds.length) return null;
    const menu = h('div', { class: 'dv-menu', role: 'menu', hidden: true }, kinds.map(([kind, name]) =>
      h('button', { type: 'button', role: 'menuitem', onclick: () => {
        menu.hidden = true;
        opener.focus();
        this.host.requestExport(kind);
      } }, name)));
    const opener = h('button', { type: 'button', class: 'dv-btn dv-mini', 'aria-haspopup': 'menu', onclick: () => {
      menu.hidden = !menu.hidden;
      if (!menu.hidden) menu.firstChild.focus();
    } }, 'Export');
    const box = h('div', { class: 'dv-export' }, opener, menu);
    box.addEventListener('focusout', (event) => box.contains(event.relatedTarget) || (menu.hidden = true));
    box.addEventListener('keydown', (event) => {
      if (menu.hidden) return;
      const items = [...menu.children];
      const at = items.indexOf(document.activeElement);
      if (event.key === 'Escape') {
        menu.hidden = true;
        opener.focus();
      } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        items[(at + (event.key === 'ArrowDown' ? 1 : items.length - 1)) % items.length].focus();
        event.preventDefault();
      } else return;
      event.stopPropagation();
    });
    return box;
  }

  listen() {
    this.onKey = (event) => this.key(event);
    document.addEventListener('keydown', this.onKey);
    this.root.addEventListener('pointerdown', () => (active = this));
    this.root.addEventListener('focusin', () => (active = this));
    this.resizer = new ResizeObserver(() => this.resized());
    this.resizer.observe(this.root);
    this.resizer.observe(this.inspector.life);
    this.themer = new MutationObserver(() => this.themed());
    this.themer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
    this.themer.observe(document.documentElement, { attributes: true, attributeFilter: ['class', 'data-theme'] });
    this.themer.observe(this.root, { attributes: true, attributeFilter: ['data-theme'] });
    const scrub = (event, select) => {
      const box = this.scoreCanvas.getBoundingClientRect();
      const { step, position } = this.score.hit(event.clientX - box.left, event.clientY - box.top);
      this.set({ ...(step != null && { step: Math.min(step, this.last) }), ...(select && position != null && { position }) }, true);
    };
    this.scoreCanvas.addEventListener('pointerdown', (event) => {
      this.pause();
      this.scoreCanvas.setPointerCapture(event.pointerId);
      scrub(event, true);
    });
    this.scoreCanvas.addEventListener('pointermove', (event) => event.buttons && scrub(event, false));
    this.scoreCanvas.addEventListener('contextmenu', (event) => event.preventDefault());
    this.listenMask();
  }

  listenMask() {
    const canvas = this.maskCanvas;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return this.mask.at(event.clientX - box.left, event.clientY - box.top);
    };
    let drag = null;
    canvas.addEventListener('pointermove', (event) => {
      if (drag && this.mask.zoom > 1) {
        this.mask.pan((drag[1] - event.clientY) / this.mask.each, (drag[0] - event.clientX) / this.mask.each);
        drag = [event.clientX, event.clientY, true];
      } else this.mask.cell = point(event);
      this.drawMask();
    });
    canvas.addEventListener('pointerdown', (event) => {
      drag = [event.clientX, event.clientY, false];
      if (this.mask.zoom > 1) canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointerup', (event) => {
      const cell = point(event);
      if (cell && drag && !drag[2]) this.select(this.mask.describe(cell).position);
      drag = null;
    });
    const leave = () => {
      this.mask.cell = null;
      this.drawMask();
    };
    canvas.addEventListener('pointerleave', leave);
    canvas.addEventListener('blur', leave);
    canvas.addEventListener('dblclick', (event) => this.zoom(1, point(event)));
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && this.mask.zoom === 1) return;
      event.preventDefault();
      if (event.ctrlKey) this.zoom(event.deltaY < 0 ? 1 : -1, point(event));
      else {
        this.mask.pan(event.deltaY / this.mask.each, event.deltaX / this.mask.each);
        this.drawMask();
      }
    }, { passive: false });
  }

  // What the host calls.

  /** Shows one payload or several side by side. */
  load(payloads, state) {
    return this.queue(async () => {
      const lanes = await Promise.all([payloads].flat().map((payload) => Lane.open(payload)));
      this.pause();
      this.waiting = false;
      this.lanes = lanes;
      Object.assign(this.state, state);
      this.normalise();
      this.rebuild();
      this.changed();
    });
  }

  /** Adds steps of a live run. */
  append(steps, lane = 0) {
    return this.queue(async () => {
      const target = this.lanes[lane];
      if (!target) return;
      const follow = this.state.step >= this.last;
      await target.append([steps].flat());
      this.waiting = false;
      this.grids[lane].grow();
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
    this.busy = text || null;
    if (!text) this.waiting = false;
    this.root.setAttribute('aria-busy', String(!!text));
    this.controls();
    if (this.lanes.length) this.say();
  }

  setMessage(text) {
    this.message.hidden = !text;
    this.waiting = false;
    if (text) {
      this.pause();
      put(this.message, h('span', {}, text), h('button', { type: 'button', class: 'dv-btn dv-mini', 'aria-label': 'dismiss', onclick: () => this.setMessage(null) }, '×'));
    }
  }

  setBranches(branches, current) {
    const { host } = this;
    this.branchRow.hidden = branches.length < 2 || !host.switchBranch;
    if (this.branchRow.hidden) return;
    const other = h('select', { class: 'dv-select', 'aria-label': 'compare with branch' }, branches.filter((b) => b.id !== current).map((b) => h('option', { value: b.id }, b.name)));
    put(this.branchRow, h('span', {}, 'Branches'),
      branches.map((b) => h('button', { type: 'button', class: 'dv-chip', 'aria-pressed': String(b.id === current), onclick: () => host.switchBranch(b.id) }, h('bdi', {}, b.name))),
      host.compareBranches && h('span', { class: 'dv-sidebyside' }, 'side by side with', other,
        h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => host.compareBranches(current, branches.find((b) => String(b.id) === other.value)?.id) }, 'Show')));
  }

  destroy() {
    this.pause();
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

  normalise() {
    const state = this.state;
    const whole = (value, low, high) => Math.max(low, Math.min(high, Math.round(+value) || 0));
    state.lane = whole(state.lane, 0, this.lanes.length - 1);
    state.step = whole(state.step, 0, this.last);
    const lane = this.lane;
    if (!(state.position >= 0 && state.position < lane.length)) state.position = lane.free[0] ?? 0;
    state.position = whole(state.position, 0, lane.length - 1);
    state.reach = whole(state.reach, 0, lane.head.layers);
    state.order = state.order === 'position' ? 'position' : 'state';
    state.map = state.map === 'weights' && lane.head.weights ? 'weights' : 'states';
    state.hideLater = !!state.hideLater;
  }

  set(part, quiet) {
    if (!this.lanes.length) {
      Object.assign(this.state, part);
      return;
    }
    const before = { ...this.state };
    Object.assign(this.state, part);
    this.normalise();
    const differs = Object.keys(before).filter((key) => before[key] !== this.state[key]);
    if (!differs.length) return;
    if (differs.includes('step') && !quiet && !this.stepping) this.pause();
    if (differs.some((key) => key === 'lane' || key === 'map')) this.layout();
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

  needLife() {
    const { lane, state } = this;
    const fetch = this.host.fetchLife && ((position) => this.host.fetchLife(position, state.lane));
    lane.fetchLife(state.position, fetch).then((news) => news && lane === this.lane && this.drawInspector(), (error) => this.setMessage(String(error?.message || error)));
  }

  // Transport.

  forward() {
    if (this.state.step < this.last) {
      this.stepping = true;
      this.setStep(this.state.step + 1);
      this.stepping = false;
    } else this.more();
  }

  /** Asks for one more step, once. */
  more() {
    if (this.finished || this.waiting || this.busy || !this.host.requestStep) return false;
    this.waiting = true;
    this.controls();
    this.host.requestStep();
    return true;
  }

  run() {
    if (this.busy && this.host.requestStop) {
      this.host.requestStop();
      return;
    }
    this.pause();
    this.setStep(this.last);
    if (!this.finished && this.host.requestRun) this.host.requestRun();
  }

  reset() {
    this.pause();
    this.setStep(0);
    this.host.requestReset?.();
  }

  play() {
    if (this.timer) {
      this.pause();
      return;
    }
    if (this.state.step >= this.last && (this.finished || !this.host.requestStep)) this.set({ step: 0 });
    this.schedule();
    this.controls();
  }

  schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const end = this.state.step >= this.last;
      if (end && (this.finished || !this.host.requestStep)) {
        this.pause();
        return;
      }
      this.forward();
      this.schedule();
    }, 1000 / this.speed);
  }

  pause() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.controls();
  }

  /** To the next or the previous step at which something was revoked. */
  revocation(direction) {
    for (let t = this.state.step + direction; t >= 0 && t <= this.last; t += direction) {
      if (this.lanes.some((lane) => lane.frames[t]?.revokes)) {
        this.setStep(t);
        return;
      }
    }
  }

  key(event) {
    const target = event.target;
    const inside = this.root.contains(target);
    const onPage = target === document.body || target === document.documentElement;
    if (!this.lanes.length || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (!inside && !(onPage && active === this && this.root.offsetParent !== null)) return;
    if (target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]:not([contenteditable=false])')) return;
    if (target === this.maskCanvas && this.maskKey(event)) {
      event.preventDefault();
      return;
    }
    const onButton = target.closest?.('button') && !target.dataset.position;
    const { step, position } = this.state;
    const actions = {
      ArrowLeft: () => this.setStep(step - 1),
      ArrowRight: () => this.forward(),
      Home: () => this.setStep(0),
      End: () => this.setStep(this.last),
      PageUp: target === this.scoreCanvas && (() => this.setStep(step - 10)),
      PageDown: target === this.scoreCanvas && (() => this.setStep(step + 10)),
      ArrowUp: () => this.move(position - 1, target),
      ArrowDown: () => this.move(position + 1, target),
      ' ': !onButton && target.type !== 'checkbox' && (() => this.play()),
      n: () => this.revocation(1),
      p: () => this.revocation(-1),
    };
    const action = Object.hasOwn(actions, event.key) && actions[event.key];
    if (!action) return;
    event.preventDefault();
    if (event.key === 'ArrowRight' && this.timer) this.pause();
    action();
  }

  move(position, target) {
    if (position < 0 || position >= this.lane.length) return;
    this.select(position);
    if (target.dataset?.position) this.grids[this.state.lane].focus(position);
  }

  maskKey(event) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!this.lane.at(this.state.step).mask) return false;
    if (Object.hasOwn(moves, event.key)) {
      this.mask.move(...moves[event.key], this.state.position);
      this.drawMask();
      return true;
    }
    if (event.key === '+' || event.key === '=' || event.key === '-') {
      this.zoom(event.key === '-' ? -1 : 1, this.mask.cell);
      return true;
    }
    return false;
  }

  zoom(direction, cell) {
    const place = this.mask.place?.[this.state.position - this.mask.frame.block[0]];
    if (this.mask.zoomBy(direction, cell || (place != null ? [this.mask.size + place, place] : null))) this.drawMask();
  }

  // Drawing.

  themed() {
    if (!this.lanes.length) return;
    this.layout();
    this.draw();
  }

  resized() {
    const width = this.root.clientWidth;
    if (!width || !this.lanes.length) return;
    if (width === this.drawnWidth && this.inspector.life.clientHeight === this.inspector.lifeHeight) return;
    this.layout();
    this.draw();
  }

  /** New lanes: new grids. */
  rebuild() {
    this.theme = readTheme(this.root);
    this.root.classList.remove('dv-empty');
    this.mask.cell = null;
    this.mask.zoom = 1;
    this.mask.origin = [0, 0];
    this.mask.lane = null;
    this.statusKey = null;
    const many = this.lanes.length > 1;
    this.grids = this.lanes.map((lane, n) => new Grid(lane, this.lanes.length, {
      mono: this.theme.mono,
      onSelect: (position) => this.select(position, n),
      onHover: (position) => {
        if (!many || position === this.hovered) return;
        this.hovered = position;
        this.drawGrids();
      },
    }));
    this.maps = [];
    this.passes = [];
    if (many) {
      this.axis = h('canvas', { class: 'dv-axis', 'aria-hidden': 'true' });
      put(this.tokens, h('div', { class: 'dv-lane dv-lanehead' }, h('span', {}, 'decoder'), (this.passText = h('span', {})), h('div', { class: 'dv-mapbox' }, this.axis)), this.lanes.map((lane, n) => {
        const map = h('canvas', { class: 'dv-map', 'aria-hidden': 'true' });
        const pass = h('span', {});
        this.maps.push(map);
        this.passes.push(pass);
        const scrub = (event) => {
          const box = map.getBoundingClientRect();
          this.set({ step: columns(this.mapWidth - 4, this.mapSteps, 1).step(event.clientX - box.left), lane: n }, true);
        };
        map.addEventListener('pointerdown', (event) => {
          this.pause();
          map.setPointerCapture(event.pointerId);
          scrub(event);
        });
        map.addEventListener('pointermove', (event) => event.buttons && scrub(event));
        return h('div', { class: 'dv-lane' }, h('button', { type: 'button', class: 'dv-who', onclick: () => this.set({ lane: n }) }, h('b', {}, lane.head.name), h('span', {}, lane.head.rule), h('span', {}, rich(settingsLine(lane.head))), pass),
          this.grids[n].box, h('div', { class: 'dv-mapbox' }, map));
      }));
    } else put(this.tokens, this.grids[0].box);
    this.tokens.classList.toggle('dv-many', many);
    setText(this.tokensTitle, many ? `${this.lanes.length} decodes, one scrubber` : 'Tokens');
    const states = [...new Set(this.lanes.flatMap((lane) => [...lane.head.states]))];
    const events = EVENTS.filter((event) => event.icon && (this.lanes.some((lane) => lane.head.states.includes('C')) ? event.letter !== 'e' : 'd'.includes(event.letter)));
    put(this.legendBox, states.map((z) => h('span', {}, badge(z, true), STATES[z])), events.map((event) => h('span', {}, mark(event, 9), event.name)),
      h('span', {}, h('span', { class: 'dv-scar dv-static' }, '×1'), 'revoked before'), many ? h('span', {}, h('i', { class: 'dv-differskey' }), `differs from ${this.lanes[0].head.name}`) : null);
    put(this.scoreLegend, h('span', {}, h('i', { class: 'dv-never' }), 'never decided'), h('span', {}, h('i', { class: 'dv-again' }), 'masked again'));
    this.divergence = many ? this.firstDivergence() : 0;
    this.layout();
  }

  firstDivergence() {
    for (let t = 1; t <= this.last; t++) {
      const first = this.lanes[0].at(t).tokens;
      if (this.lanes.some((lane) => lane.length !== first.length || lane.at(t).tokens.some((token, i) => token !== first[i]))) return t;
    }
    return 0;
  }

  /** Everything that depends on widths, theme, or the number of steps. */
  layout() {
    const width = this.root.clientWidth;
    this.drawnWidth = width;
    if (!width) return;
    this.root.dataset.size = width <= 640 ? 'narrow' : width <= 1000 ? 'medium' : 'wide';
    this.theme = readTheme(this.root);
    const { lane, theme, state } = this;
    this.score.prepare(lane, {
      width: this.scoreBox.clientWidth, narrow: this.scoreBox.clientWidth < 420, tall: 358, theme, weights: state.map === 'weights', steps: capacity(this.last, this.finished),
    });
    if (this.lanes.length > 1) {
      this.mapWidth = this.maps[0].parentNode.clientWidth;
      this.mapSteps = this.score.steps;
      this.divergence = this.firstDivergence();
    }
    this.inspectorWidth = this.inspector.box.clientWidth;
    this.inspector.lifeHeight = this.inspector.life.clientHeight;
    this.maskWidth = this.maskBox.clientWidth;
    for (const [box, value] of [[this.mapSwitch, state.map], [this.orderSwitch, state.order]]) press(box, value);
    this.mapSwitch.hidden = !lane.head.weights;
    this.panels.mask.classList.toggle('dv-noshadow', !lane.head.shadow);
    this.zoomButtons.hidden = lane.head.block * 2 < 40 || !lane.head.shadow;
    this.orderSwitch.hidden = this.reachSwitch.hidden = !lane.head.shadow;
    this.layerRange.max = lane.head.layers;
    this.six.hidden = !lane.head.states.includes('C');
    this.controls();
  }

  /** Canvases first: to set a font on one asks for clean styles, and every change of a node before that would be paid for at once. */
  draw() {
    if (!this.drawnWidth) return;
    this.score.draw(this.state.step, this.state.position, this.state.hideLater);
    this.drawMaps();
    this.paintMask();
    this.drawInspector();
    this.describeMask();
    this.drawGrids();
    this.describeScore();
    this.say();
    this.controls();
  }

  drawGrids() {
    const { state } = this;
    const { step } = state;
    this.grids.forEach((grid, n) => {
      const frame = grid.lane.at(step);
      const mine = n === state.lane;
      const path = mine && frame.mask ? (grid.lane.frames[frame.index - 1].states[state.position] === 0 ? 'x' : 's') : null;
      const other = n && grid.lane.length === this.lanes[0].length ? this.lanes[0].at(step) : null;
      grid.draw(frame, mine ? state.position : -1, this.lanes.length > 1 ? (mine ? -1 : this.hovered >= 0 ? this.hovered : state.position) : -1, path, other);
    });
    const { lane } = this;
    const frame = lane.at(step);
    const count = [0, 0, 0];
    for (const i of lane.free) count[frame.states[i]]++;
    const given = lane.length - lane.free.length;
    const blocks = Math.ceil(lane.length / lane.head.block);
    setText(this.sub, [step ? `after step ${frame.index}` : 'start', blocks > 1 ? `block ${Math.floor(frame.block[0] / lane.head.block) + 1} of ${blocks}` : '',
      `${count[0]} masked`, lane.head.states.includes('C') ? `${count[1]} candidate` : '', `${count[2]} unmasked`, given ? `${given} given` : ''].filter(Boolean).join(' · '));
    if (this.lanes.length < 2) return;
    setText(this.passText, `tokens after pass ${step}${this.divergence && !(state.hideLater && this.divergence > step) ? ` · first difference at pass ${this.divergence}` : ''}`);
    this.lanes.forEach((other, n) => {
      const done = other.finished && step >= other.last;
      setText(this.passes[n], done ? `finished after ${other.last} passes` : `pass ${Math.min(step, other.last)}${other.finished ? ` of ${state.hideLater ? '…' : other.last}` : ''}`);
      this.maps[n].closest('.dv-lane').classList.toggle('dv-current', n === state.lane);
    });
  }

  drawMaps() {
    if (this.lanes.length < 2) return;
    const { theme, state, divergence } = this;
    const common = { width: this.mapWidth, steps: this.mapSteps, step: state.step, theme, hideLater: state.hideLater, divergence };
    drawAxis(this.axis, common);
    this.maps.forEach((map, n) => drawMap(map, this.lanes[n], { ...common, height: Math.max(40, Math.min(84, this.lanes[n].length * 5)) }));
  }

  describeScore() {
    const { state } = this;
    const canvas = this.scoreCanvas;
    const frame = this.lane.at(state.step);
    canvas.setAttribute('aria-valuenow', state.step);
    canvas.setAttribute('aria-valuemax', this.last);
    canvas.setAttribute('aria-valuetext', frame.index ? frame.say : 'start');
    if (this.later.checked !== state.hideLater) this.later.checked = state.hideLater;
  }

  /** w of the selected row, written out with its own numbers; otherwise the step's sentence about the weights. */
  drawWeights(frame) {
    const { lane, state } = this;
    const words = lane.head.weights;
    const note = this.weightNote;
    if (!words) {
      note.dataset.key = '';
      setText(note, lane.head.shadow ? `${lane.head.title} makes one prediction per position and mixes nothing: there are no weights.` : lane.head.no_shadow);
      return;
    }
    const numbers = frame.life[state.position]?.w;
    const sentence = words.notes[frame.note] || '';
    if (!numbers || words.fixed != null || weightAt(frame, state.position) == null) {
      note.dataset.key = '';
      setText(note, `w = (P + p₀) / (P + D + p₀). ${sentence}`);
      return;
    }
    const key = `${state.position}/${numbers}/${frame.note}`;
    if (note.dataset.key === key) return;
    note.dataset.key = key;
    const [P, D, w] = numbers;
    const green = () => h('b', { class: 'dv-good' }, two(P));
    put(note, h('b', {}, `w at ${state.position} `), '= (P + p₀) / (P + D + p₀) = (', green(), ` + ${two(words.p0)}) / (`, green(), ' + ', h('b', { class: 'dv-warn' }, two(D)),
      ` + ${two(words.p0)}) = `, h('b', {}, two(w)), `. ${frame.note === 'mixed' ? words.kernel : sentence}`);
  }

  drawInspector() {
    const { lane, state, theme } = this;
    this.inspector.draw({ lane, step: state.step, position: state.position, theme, hideLater: state.hideLater, width: this.inspectorWidth, last: this.score.steps });
    this.drawWeights(lane.at(state.step));
  }

  drawMask() {
    this.paintMask();
    this.describeMask();
  }

  paintMask() {
    const { lane, state, theme, mask } = this;
    const frame = lane.at(state.step);
    if (frame.mask) {
      mask.show(lane, frame, lane.frames[frame.index - 1], state.order === 'state');
      if (state.reach && frame.reach && !lane.depth(frame)) frame.depth.then(() => this.lane.at(this.state.step) === frame && this.drawMask());
    } else mask.frame = frame;
    mask.draw({ width: this.maskWidth, block: Math.min(lane.head.block, lane.length), selected: state.position, layers: state.reach, theme });
  }

  describeMask() {
    const { lane, state, mask } = this;
    const frame = lane.at(state.step);
    this.maskMessage.hidden = !!frame.mask;
    if (!frame.mask) {
      setText(this.maskMessage, !lane.head.shadow ? lane.head.no_shadow : !frame.index ? 'No forward pass has run yet; the first one will have a mask.'
        : frame.block[1] - frame.block[0] > 512 ? 'The mask of a block this long is too large to draw.' : 'This pass had no shadow: it only commits what is left, with everything in view.');
    }
    const cell = frame.mask && (mask.cell || mask.standard(state.position));
    if (cell) put(this.maskNote, mask.describe(cell).parts);
    else setText(this.maskNote, '');
    const deep = state.reach > 0;
    const dirty = deep && frame.contaminated ? frame.contaminated.reduce((sum, depth) => sum + (depth > 0 && depth <= state.reach), 0) : 0;
    setText(this.maskSub, !frame.index ? 'start' : `step ${frame.index}`);
    this.maskLegendFor(deep);
    press(this.orderSwitch, state.order);
    [...this.reachSwitch.children].forEach((button, n) => button.setAttribute('aria-pressed', String(deep === !!n)));
    this.layerRow.classList.toggle('dv-off', !deep);
    if (deep && +this.layerRange.value !== state.reach) this.layerRange.value = state.reach;
    setText(this.layerText, deep ? `${state.reach} layer${state.reach > 1 ? 's' : ''}${dirty ? ` · ${dirty} contaminated ◂` : ' · none contaminated'}` : '');
    this.layerText.classList.toggle('dv-warn', dirty > 0);
  }

  maskLegendFor(deep) {
    const key = `${deep}${this.lane.head.states}`;
    if (this.legendKey === key) return;
    this.legendKey = key;
    const entry = (kind, name) => h('span', {}, h('i', { class: `dv-key dv-key-${kind}` }), name);
    put(this.maskLegend, entry('U', 'x unmasked'), this.lane.head.states.includes('C') ? entry('C', 'x candidate') : null, entry('M', 'x mask'), entry('S', 's mask'),
      deep ? entry('R', 'reached') : entry('B', 'blocked'));
  }

  /** The sentence of the step, which is also what a screen reader hears. */
  say() {
    const frame = this.lane.at(this.state.step);
    const name = this.lanes.length > 1 ? `${this.lane.head.name}. ` : '';
    const key = `${name}${frame.say}${this.busy || ''}`;
    if (this.statusKey === key) return;
    this.statusKey = key;
    const found = frame.say.match(/^(Start\.|Step \d+\.) (.*)$/s);
    put(this.status, h('span', { class: 'dv-say' }, h('b', {}, name, found ? `${found[1]} ` : ''), rich(found ? found[2] : frame.say), this.busy ? h('span', { class: 'dv-busy' }, ` ${this.busy}`) : null));
    this.status.classList.toggle('dv-long', key.length > 170);
    this.status.title = frame.say;
  }

  controls() {
    const { buttons, state, host } = this;
    const ready = this.lanes.length > 0;
    const atEnd = state.step >= this.last;
    const working = !!this.busy || this.waiting;
    const open = ready && !this.finished;
    const enable = (button, on) => button.disabled === on && (button.disabled = !on);
    enable(buttons.reset, ready && (state.step > 0 || !!host.requestReset));
    enable(buttons.back, ready && state.step > 0);
    enable(buttons.step, ready && (!atEnd || (open && !!host.requestStep && !working)));
    enable(buttons.play, ready && (this.last > 0 || (open && !!host.requestStep)));
    const stoppable = !!this.busy && !!host.requestStop;
    enable(buttons.run, ready && (stoppable || (!working && (!atEnd || (open && !!host.requestRun)))));
    relabel(buttons.play, this.timer ? 'Pause' : 'Play', this.timer ? 'pause' : 'play');
    relabel(buttons.run, stoppable ? 'Stop' : 'Run to end', stoppable ? 'stop' : 'end');
    setText(this.counter, String(state.step));
    setText(this.total, `/ ${state.hideLater || !ready || !this.finished ? `${state.hideLater && state.step < this.last ? '…' : `${this.last}${ready && !this.finished ? '+' : ''}`}` : this.last}`);
  }
}

function relabel(button, name, symbol) {
  if (button.title === name) return;
  button.title = name;
  put(button, icon(symbol, 11), h('span', {}, name));
}

function press(box, value) {
  for (const button of box.children) button.setAttribute('aria-pressed', String(button.dataset.value === value));
}

function settingsLine(head) {
  return head.thresholds.map((t) => `${t.name} ${t.at}`).join(' · ');
}
