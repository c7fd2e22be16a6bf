// The panel of the diagnosis: the step at which a wrong answer was lost, by whom, and what would have saved it. It is asked
// for a part at a time while the panel is in view, and kept with the lane; what it says and marks is the engine's. The same
// letters stand on the tokens and in the score.

import { h, icon, put, sentenceOf, setText } from '../draw/dom.js';
import { Guilt } from '../draw/guilt.js';
import { rich } from '../draw/symbols.js';
import { letterOf } from '../draw/winnable.js';
import { openDiagnosis, showSide, sideTabs } from './side.js';

/** @import { Diagnosis as Found, Strip } from '../data/schema.js' */
/** @import { Diagnosed } from '../data/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { State, Viewer } from './types.js' */
/** @typedef {{ expected: string, asked: boolean, stopped: boolean, anew: boolean, refused: string }} Wish */

const NO_MODEL = 'This run is a recording, and there is no model to ask. It was saved without a diagnosis.';
const NOT_ENDED = 'This decode has not ended: run it to its end, and its answer can be diagnosed.';
const UNKNOWN =
  'No task says whether this answer is right. Write what a right one contains, or leave it empty: then it is held against careful decoding.';
const RIGHT = 'Its task says that this answer is right.';
const MARKS_AT_MOST = 60; // in a fact, on a phone
const TEXT_AT_MOST = 1000; // of what is expected

export class Diagnosis {
  /** @type {Viewer} */ viewer;
  /** @type {Lane | null} that is asked about now */ busy = null;
  /** @type {unknown[]} */ drawn = [];
  /** @type {Guilt[]} */ guilt = [];

  static id = 'diagnosis';

  static title = 'Diagnosis';

  /** @param {Lane} _lane @param {{ state: State }} viewer */
  static fits(_lane, { state }) {
    return state.side === 'diagnosis';
  }

  /** @type {Record<string, (viewer: Viewer, panel: any) => void>} */
  static shortcuts = {
    d: (viewer, panel) => {
      panel.goOn();
      openDiagnosis(viewer);
    },
    Escape: (_viewer, panel) => panel.stop(),
  };

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    /** @type {WeakMap<Lane, Wish>} what was wished for each lane */
    this.wishes = new WeakMap();
    this.tabs = sideTabs(viewer);
    this.copied = h('button', { type: 'button', class: 'dv-btn dv-mini dv-r', onclick: () => this.copy() }, 'Copy');
    this.field = h('input', {
      class: 'dv-dexpected',
      maxlength: TEXT_AT_MOST,
      placeholder: 'expected answer, or /pattern/',
      'aria-label': 'expected answer',
      spellcheck: 'false',
      autocomplete: 'off',
    });
    this.look = h('button', { type: 'submit', class: 'dv-btn dv-mini' }, 'Look');
    this.form = h(
      'form',
      {
        class: 'dv-dform',
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.begin();
        },
      },
      this.field,
      this.look,
    );
    this.message = h('p', { class: 'dv-dmessage dv-dfocus', tabindex: -1 });
    this.progress = h('span', {});
    this.bar = h('b', {});
    this.stopper = h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.toggle() });
    this.run = h('div', { class: 'dv-drun' }, this.progress, h('i', {}, this.bar), this.stopper);
    this.headline = h('h3', { class: 'dv-dhead dv-dfocus', tabindex: -1, 'aria-live': 'polite' });
    this.facts = ['Where', 'Who', 'Kind'].map((name) => h('dd', { 'aria-label': name, tabindex: 0 }));
    this.more = h('div', { class: 'dv-dmore', tabindex: 0, role: 'region', 'aria-label': 'what would have saved it' });
    this.moment = h(
      'button',
      { type: 'button', class: 'dv-btn dv-primary', onclick: () => this.show() },
      'Show the moment',
    );
    this.hold = h('button', { type: 'button', class: 'dv-btn', onclick: () => this.mask() });
    this.other = h('button', { type: 'button', class: 'dv-btn', onclick: () => this.change() });
    this.body = h(
      'div',
      { class: 'dv-dbody' },
      this.run,
      this.headline,
      h(
        'dl',
        { class: 'dv-dfacts' },
        this.facts.map((fact) => h('div', {}, h('dt', {}, fact.getAttribute('aria-label')), fact)),
      ),
      this.more,
      h('div', { class: 'dv-dacts' }, this.moment, this.hold, this.other),
    );
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-diagnosis', 'aria-label': 'diagnosis' },
      h('div', { class: 'dv-ph' }, this.tabs, this.copied),
      this.form,
      this.message,
      this.body,
    );
  }

  load() {
    for (const each of this.guilt) each.clear();
    this.guilt = this.viewer.lanes.map(() => new Guilt());
  }

  // What there is to show, and what was wished.

  get found() {
    return this.viewer.lane.diagnosis;
  }

  /** @returns {Wish} */
  get wish() {
    const { lane } = this.viewer;
    const known = this.wishes.get(lane) ?? { expected: '', asked: false, stopped: false, anew: false, refused: '' };
    this.wishes.set(lane, known);
    return known;
  }

  get ended() {
    const { lane } = this.viewer;
    return lane.finished && lane.last > 0;
  }

  get right() {
    const { lane } = this.viewer;
    return lane.at(lane.last).right;
  }

  /** Why there is nothing, in a sentence; none where it only has to be waited for. */
  get lacking() {
    const { refused, asked } = this.wish;
    if (refused) return refused;
    if (this.found) return '';
    if (!this.viewer.host.ask) return NO_MODEL;
    if (!this.ended) return NOT_ENDED;
    if (!asked && this.right === null) return UNKNOWN;
    return asked || this.right !== true ? '' : RIGHT;
  }

  /** Whether there is more to ask for: of itself only where an answer is known to be wrong. */
  get wanted() {
    const { asked, stopped, refused, anew } = this.wish;
    if (!this.viewer.host.ask || !this.ended || stopped || refused) return false;
    if (this.found && !anew) return this.found.stage !== 'done' && (asked || this.busy !== null);
    return asked || (this.right !== null && this.right !== true);
  }

  need() {
    if (!this.viewer.still && this.wanted) this.find();
  }

  /** What the field says, from the beginning. */
  begin() {
    Object.assign(this.wish, {
      expected: this.field.value.trim(),
      asked: true,
      stopped: false,
      anew: true,
      refused: '',
    });
    this.find();
    this.viewer.redraw();
    this.headline.focus({ preventScroll: true });
  }

  /** From where it was stopped. */
  goOn() {
    const { wish } = this;
    if (wish.refused || !this.viewer.host.ask) return;
    wish.stopped = false;
    if (this.found || (this.right !== null && this.right !== true)) wish.asked = true;
    if (!this.box.hidden) this.need();
  }

  stop() {
    if (this.busy !== this.viewer.lane) return;
    this.wish.stopped = true;
    this.viewer.redraw();
  }

  toggle() {
    if (this.busy === this.viewer.lane) this.stop();
    else this.goOn();
  }

  /** Asks for more until all is known, it is stopped, or something else is in view. */
  async find() {
    const { viewer, wish } = this;
    const { lane } = viewer;
    if (this.busy === lane) return;
    this.busy = lane;
    wish.asked = true;
    const here = () => viewer.lane === lane && !this.box.hidden && !wish.stopped;
    try {
      for (let done = false; !done && here(); ) {
        const { expected, anew } = wish;
        wish.anew = false;
        /** @type {{ diagnosis: Found }} */
        const reply = await viewer.order('diagnose', { expected, ...(anew && { anew }) });
        if (wish.anew) continue; // another answer is expected meanwhile
        lane.diagnose(reply.diagnosis);
        done = reply.diagnosis.stage === 'done';
        if (here() && !done) viewer.redraw();
      }
    } catch (error) {
      wish.refused = sentenceOf(error);
    }
    if (this.busy === lane) this.busy = null;
    if (viewer.lane !== lane) return;
    viewer.redraw();
    for (const panel of viewer.panels) panel.box.setAttribute('aria-description', panel.text()); // nobody moved
  }

  // What can be done.

  /** The lost step, with the first of those who are blamed. */
  show() {
    const { lost, annotation } = /** @type {Diagnosed} */ (this.found);
    if (lost) this.viewer.set({ step: lost, position: annotation.marked[0]?.position ?? this.viewer.state.position });
  }

  /** A branch in which the guilty are masked after the lost step. */
  mask() {
    const { lost, annotation } = /** @type {Diagnosed} */ (this.found);
    const edits = annotation.held.map((position) => ({ step: Number(lost), position, token: null, state: 'M' }));
    this.viewer.host.requestBranches?.(edits, this.viewer.state.lane);
  }

  /** A run with the nearest setting that is right. */
  change() {
    const best = this.offer();
    if (best) this.viewer.host.requestSetting?.(best.setting, best.best ?? null, this.viewer.state.lane);
  }

  /** @returns {Required<Strip> | undefined} */
  offer() {
    const strips = /** @type {Required<Strip>[] | undefined} */ (this.found?.annotation.strips);
    return strips?.find((strip) => strip.offer);
  }

  async copy() {
    const { found } = this;
    if (!found) return;
    try {
      await navigator.clipboard.writeText([...found.sentences, found.annotation.progress].join('\n'));
      setText(this.copied, 'Copied');
    } catch {
      setText(this.copied, 'Not allowed');
    }
    setTimeout(() => setText(this.copied, 'Copy'), 2000);
  }

  // Drawing.

  prepare() {
    /* heights are fixed, and widths are the style sheet's */
  }

  paint() {
    const { viewer, guilt } = this;
    const shown = viewer.state.side === 'diagnosis' && viewer.named('diagnosis');
    viewer.panels[0]?.grids?.forEach((grid, n) => {
      const { diagnosis } = grid.lane;
      const frame = grid.lane.at(viewer.state.step);
      const known = diagnosis && !(viewer.state.hideLater && (diagnosis.lost ?? 0) > frame.index);
      guilt[n]?.draw(grid, shown && known ? diagnosis.annotation : null, frame, viewer.drawnWidth);
    });
  }

  draw() {
    const { viewer, found, wish, lacking } = this;
    showSide(this.tabs, 'diagnosis', viewer.lane);
    const busy = this.busy === viewer.lane;
    this.message.hidden = !lacking;
    setText(this.message, lacking);
    this.form.hidden = !viewer.host.ask || !this.ended;
    this.body.hidden = !!lacking;
    this.copied.hidden = !found || !!lacking;
    if (document.activeElement !== this.field && this.field.value !== wish.expected) this.field.value = wish.expected;
    const key = [found, busy, wish.stopped, lacking];
    if (lacking || key.every((each, n) => each === this.drawn[n])) return;
    this.drawn = key;
    this.fill(found, busy);
  }

  /** @param {Diagnosed | null} found @param {boolean} busy */
  fill(found, busy) {
    const { viewer } = this;
    const { annotation, winnable = [], stage = 'states', lost = null } = found ?? {};
    const known = winnable.filter((mark) => mark !== null).length;
    const done = stage === 'done';
    setText(this.progress, annotation?.progress ?? 'Asking the model …');
    this.bar.style.width = `${stage === 'states' ? (100 * known) / Math.max(1, winnable.length) : 100}%`;
    this.run.classList.toggle('dv-done', done);
    this.stopper.hidden = done || !viewer.host.ask;
    setText(this.stopper, busy ? 'Stop' : 'Go on');
    put(this.headline, rich(annotation?.headline ?? ''));
    const [where, who, kind] = this.facts;
    const marks = winnable.length <= MARKS_AT_MOST ? winnable.map((mark) => this.mark(mark)) : [];
    put(
      where,
      annotation && h('span', { class: 'dv-dmarks', 'aria-hidden': 'true' }, marks),
      rich(annotation?.where ?? ''),
    );
    put(
      who,
      annotation?.marked.map(({ name }, n) => [
        n > 0 && ' ',
        h('b', { class: 'dv-letter' }, letterOf(n)),
        ' ',
        rich(name),
        '.',
      ]),
      ' ',
      rich(annotation?.who ?? ''),
    );
    put(kind, annotation?.title && h('b', {}, `${annotation.title}. `), rich(annotation?.how ?? ''));
    this.fillMore(annotation);
    const offer = this.offer();
    this.moment.disabled = lost === null;
    this.hold.hidden = !viewer.host.requestBranches;
    this.hold.disabled = !annotation?.held.length || busy;
    setText(this.hold, annotation?.hold || 'Mask it and go on');
    this.other.hidden = !viewer.host.requestSetting;
    this.other.disabled = !offer || busy;
    put(this.other, h('span', {}, rich(offer?.offer || 'Try a setting')));
  }

  /** Settings, what made the tokens, what the revocations were worth. @param {Diagnosed['annotation'] | undefined} annotation */
  fillMore(annotation) {
    /** @param {string} title @param {string} aside @param {...import('../draw/types.js').Child} children */
    const section = (title, aside, ...children) => [
      h('div', { class: 'dv-sec' }, h('b', {}, title), h('span', { class: 'dv-r' }, aside)),
      children,
    ];
    /** @param {string[]} sentences */
    const told = (sentences) => sentences.map((sentence) => h('p', {}, rich(sentence)));
    const { strips = [], saved = '', causes = [], revoked = [] } = annotation ?? {};
    const top = this.more.scrollTop;
    put(
      this.more,
      (strips.length > 0 || saved !== '') &&
        section(
          'What would have saved it',
          strips.length ? 'its own settings' : '',
          strips.map((strip) => this.strip(strip)),
          told([saved]),
        ),
      causes.length > 0 && section('What made these tokens', '', told(causes)),
      revoked.length > 0 && section('What was taken back', 'right, wrong or in vain', told(revoked)),
    );
    this.more.scrollTop = top;
  }

  /** @param {Strip} strip */
  strip({ symbol, values }) {
    const broad = values.some(({ value }) => value.length > 2);
    return h(
      'div',
      { class: `dv-dstrip${broad ? ' dv-broad' : ''}`, role: 'group', 'aria-label': symbol },
      h('b', {}, rich(symbol)),
      values.map(({ value, right, own, say }) =>
        h(
          'span',
          { class: own ? 'dv-own' : null, title: say, role: 'img', 'aria-label': say },
          this.mark(right),
          value,
        ),
      ),
    );
  }

  /** A disc, open with a tick, full with a cross, or a dot. @param {boolean | null} mark */
  mark(mark) {
    const kind = mark === null ? 'dv-untried' : mark ? 'dv-yes' : 'dv-no';
    return h('i', { class: `dv-dmark ${kind}` }, mark !== null && icon(mark ? 'tick' : 'cross', 7));
  }

  text() {
    const { found } = this;
    if (this.lacking || !found) return this.lacking || 'Diagnosis, not known yet.';
    const { headline, where, who, row, title } = found.annotation;
    return `Diagnosis: ${[headline, where, who, title, row].filter(Boolean).join(' ')}.`;
  }
}
