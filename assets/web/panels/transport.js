// Transport: the buttons, the counter, the speed, and the sentence of the step.

import { h, icon, keep, put, recall, setText } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';

/** @import { Viewer } from './types.js' */

const HOLD = 'dard-pause';
const SPEEDS = [0.5, 1, 1.5, 2, 3, 5, 8, 15];

export class Transport {
  /** @type {Viewer} */ viewer;
  /** @type {ReturnType<typeof setTimeout> | null} */ timer;
  /** @type {string | null} what the host says it is doing */ busy;
  /** @type {number} */ from;
  /** @type {string} */ said;

  /** @param {Viewer} viewer @param {number} [speed] */
  constructor(viewer, speed = 1.5) {
    this.viewer = viewer;
    this.speed = speed;
    this.timer = null;
    this.busy = null; // what the host says it is doing
    this.waiting = false; // a step was asked for and has not come yet
    /**
     * @param {string} name @param {string} symbol @param {string} key @param {() => void} action
     * @param {string} [extra]
     */
    const button = (name, symbol, key, action, extra = '') =>
      h(
        'button',
        {
          type: 'button',
          class: `dv-btn ${extra}`,
          'data-name': name,
          title: `${name} (${key})`,
          onclick: action,
        },
        icon(symbol, 11),
        h('span', {}, name),
      );
    this.buttons = {
      reset: button('Reset', 'reset', 'Home', () => this.reset()),
      back: button('Back', 'back', '←', () => viewer.setStep(viewer.state.step - 1)),
      play: button('Play', 'play', 'space', () => this.play(), 'dv-primary'),
      step: button('Step', 'step', '→', () => this.forward()),
      run: button('Run to end', 'end', 'End', () => this.run(), 'dv-run'),
    };
    this.counter = h('b', {});
    this.total = h('span', {});
    this.speedText = h('span', { class: 'dv-speedtext' }, `${speed}/s`);
    /** @type {HTMLInputElement} */
    const range = h('input', {
      type: 'range',
      class: 'dv-range',
      min: 0,
      max: SPEEDS.length - 1,
      value: Math.max(0, SPEEDS.indexOf(speed)),
      'aria-label': 'speed',
      oninput: () => this.setSpeed(SPEEDS[+range.value]),
    });
    this.speedRange = range;
    /** @type {HTMLInputElement} */
    const hold = h('input', {
      type: 'checkbox',
      class: 'dv-check',
      'aria-label': 'pause at revocations',
      onchange: () => keep(HOLD, hold.checked ? 'on' : 'off'),
    });
    this.hold = hold;
    this.hold.checked = recall(HOLD) !== 'off';
    this.words = h('span', { class: 'dv-say' });
    this.far = h('i', { class: 'dv-far', role: 'progressbar', 'aria-label': 'decoded so far', hidden: true });
    this.status = h('div', { class: 'dv-status', role: 'status', 'aria-live': 'polite' }, this.words, this.far);
    this.box = h(
      'div',
      { class: 'dv-transport' },
      h(
        'div',
        { class: 'dv-buttons' },
        Object.values(this.buttons),
        h(
          'label',
          { class: 'dv-holds', title: 'Play pauses where a token is revoked' },
          this.hold,
          h('span', {}, 'pause at ', h('b', {}, '▼')),
        ),
        h('div', { class: 'dv-counter' }, this.counter, this.total),
        h('label', { class: 'dv-speed' }, h('span', {}, 'speed'), this.speedRange, this.speedText),
      ),
      this.status,
    );
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    setText(this.speedText, `${speed}/s`);
    if (this.timer) this.schedule();
  }

  get exhausted() {
    const { viewer } = this;
    return viewer.state.step >= viewer.last && (viewer.finished || !viewer.host.requestStep);
  }

  forward() {
    const { viewer } = this;
    if (viewer.state.step < viewer.last) viewer.set({ step: viewer.state.step + 1 }, { keepPlaying: true });
    else this.more();
  }

  /** Asks for one more step, once. */
  more() {
    const { viewer } = this;
    if (viewer.finished || this.waiting || this.busy || !viewer.host.requestStep) return;
    this.waiting = true;
    this.draw();
    viewer.host.requestStep();
  }

  run() {
    const { viewer } = this;
    if (this.busy && viewer.host.requestStop) {
      viewer.host.requestStop();
      return;
    }
    this.pause();
    viewer.setStep(viewer.last);
    if (!viewer.finished && viewer.host.requestRun) viewer.host.requestRun();
  }

  /** To the next or the previous step at which something was revoked. @param {1 | -1} direction */
  revocation(direction) {
    const { viewer } = this;
    for (let step = viewer.state.step + direction; step >= 0 && step <= viewer.last; step += direction) {
      if (viewer.lanes.some((lane) => lane.frames[step]?.revokes)) {
        viewer.setStep(step);
        return;
      }
    }
  }

  reset() {
    this.pause();
    this.viewer.setStep(0);
  }

  play() {
    if (this.timer) {
      this.pause();
      return;
    }
    if (this.exhausted) this.viewer.set({ step: 0 });
    this.from = this.viewer.state.step;
    this.schedule();
    this.draw();
  }

  schedule() {
    clearTimeout(this.timer ?? undefined);
    const { viewer } = this;
    this.timer = setTimeout(
      () => {
        const { step } = viewer.state;
        const held =
          this.hold.checked &&
          !viewer.page &&
          step !== this.from &&
          viewer.lanes.some((lane) => lane.frames[step]?.revokes);
        if (held || this.exhausted || viewer.editing) this.pause();
        else {
          this.forward();
          this.schedule();
        }
      },
      viewer.pace?.() ?? 1000 / this.speed,
    );
  }

  pause() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.draw();
  }

  /** @param {string | null} text @param {number | null} [share] */
  setBusy(text, share = null) {
    this.busy = text || null;
    if (!text) this.waiting = false;
    this.far.hidden = share === null;
    this.far.style.backgroundSize = `${100 * (share ?? 0)}% 100%`;
    this.far.setAttribute('aria-valuenow', String(Math.round(100 * (share ?? 0))));
    this.draw();
    this.say();
  }

  draw() {
    const { buttons, viewer } = this;
    const { host, state, last, finished } = viewer;
    const ready = viewer.lanes.length > 0;
    const usable = ready && !viewer.coming;
    const open = ready && !finished;
    const atEnd = state.step >= last;
    const working = !!this.busy || this.waiting;
    const stoppable = !!this.busy && !!host.requestStop;
    /** @param {HTMLButtonElement} button @param {boolean} on */
    const enable = (button, on) => button.disabled === on && (button.disabled = !on);
    enable(buttons.reset, usable && state.step > 0);
    enable(buttons.back, usable && state.step > 0);
    enable(buttons.step, usable && (!atEnd || (open && !!host.requestStep && !working)));
    enable(buttons.play, usable && (last > 0 || (open && !!host.requestStep)));
    enable(buttons.run, usable && (stoppable || (!working && (!atEnd || (open && !!host.requestRun)))));
    relabel(
      buttons.play,
      this.timer ? 'Pause' : viewer.page && ready && this.exhausted ? 'Again' : 'Play',
      this.timer ? 'pause' : 'play',
    );
    relabel(buttons.run, stoppable ? 'Stop' : 'Run to end', stoppable ? 'stop' : 'end');
    setText(this.counter, ready ? String(state.step) : '');
    const known = state.hideLater && !atEnd ? '…' : `${last}${open ? '+' : ''}`;
    setText(this.total, ready ? `/ ${known}` : '');
  }

  /** The sentence of the step, which is also what a screen reader hears. */
  say() {
    const { viewer, busy } = this;
    if (!viewer.lanes.length) return;
    const frame = viewer.lane.at(viewer.state.step);
    const name = viewer.lanes.length > 1 ? `${viewer.lane.head.name}. ` : '';
    const key = `${name}${frame.say}${busy || ''}`;
    if (this.said === key) return;
    this.said = key;
    const [, first, rest] = frame.say.match(/^(Start\.|Step \d+\.) (.*)$/s) || [null, '', frame.say];
    put(this.words, h('b', {}, name, first, ' '), rich(rest), busy && h('span', { class: 'dv-busy' }, ` ${busy}`));
    this.status.classList.toggle('dv-long', key.length > 170);
    this.status.title = frame.say;
  }
}

/** @param {HTMLButtonElement} button @param {string} name @param {string} symbol */
function relabel(button, name, symbol) {
  if (button.dataset.name === name) return;
  button.title = button.title.replace(button.dataset.name ?? '', name);
  button.dataset.name = name;
  put(button, icon(symbol, 11), h('span', {}, name));
}
