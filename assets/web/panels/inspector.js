// The inspector: what is known about the selected token at the current step. Nodes are made once and filled again.

import { badge, h, lettered, mark, pointOn, put, setText, two, twoShort } from '../draw/dom.js';
import { LifeLine } from '../draw/lifeline.js';
import { drawStrips } from '../draw/strips.js';
import { EVENTS, eventsOf } from '../data/events.js';
import { rich, symbol } from '../draw/symbols.js';
import { LETTER, Lane } from '../data/unpack.js';
import { LayerView } from './layers.js';
import { More } from './more.js';
import { Predictions } from './predictions.js';
import { WhatIf } from './whatif.js';

/** @import { Frame, Slice } from '../data/frame.js' */
/** @import { Column } from '../data/schema.js' */
/** @import { Edit, Viewer } from './types.js' */
/** @import { Weight } from '../draw/types.js' */

const MARKED = new Set([...EVENTS.map((event) => event.key), 'decided']); // the others are told by name
const BEFORE = {
  given: (/** @type {Lane['head']} */ { sees }) =>
    `Given by the template: always unmasked, never verified. ${sees ? `Every token of its block of ${sees} and of later ones` : 'Every other token'} may see it.`,
  free: (/** @type {string} */ title) =>
    `${title[0].toUpperCase()}${title.slice(1)}, never decided. The first forward pass has not run yet.`,
  edited: 'Put here by hand, before the first forward pass.',
};

export class Inspector {
  /** @type {Viewer} */ viewer;
  /** @type {Lane} */ lane;
  /** @type {Frame} */ frame;
  /** @type {number} */ position;
  /** @type {boolean} another step or position than before */ moved;
  /** @type {unknown} what the trace said of itself when the columns were made */ built;
  /** @type {{ column: Required<Column>, value: HTMLElement }[]} */ numbers;
  /** @type {number} */ width;
  /** @type {number} */ lifeHeight;
  /** @type {string} */ eventKey;
  /** @type {string} */ whyKey;

  static id = 'inspector';

  static title = 'Inspector';

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    const onBranch =
      viewer.host.requestBranch &&
      ((/** @type {Edit} */ what) => viewer.host.requestBranch?.({ lane: viewer.state.lane, ...what }));
    this.whatIf = onBranch && new WhatIf(onBranch); // absent where nothing can be branched
    this.badge = badge('M');
    this.token = h('bdi', { class: 'dv-itoken' });
    this.events = h('span', { class: 'dv-ievents' });
    this.place = h('span', { class: 'dv-iplace' });
    this.why = h('p', { class: 'dv-why' });
    this.values = h('div', { class: 'dv-values' });
    this.context = h('canvas', { class: 'dv-context', 'aria-hidden': 'true' });
    this.contextNote = h('span', { class: 'dv-r' });
    this.lifeLine = new LifeLine();
    this.predictions = new Predictions(this.whatIf);
    this.more = new More();
    this.layers = new LayerView(viewer);
    this.line = h('canvas', { class: 'dv-lifeline', role: 'img' });
    this.life = h('div', { class: 'dv-life' }, this.line);
    this.inner = h(
      'div',
      { class: 'dv-insp' },
      h('div', { class: 'dv-ihead' }, this.badge, this.token, this.events, this.place),
      this.why,
      h('div', { class: 'dv-sec' }, h('b', {}, 'Predictions'), 'top 5', this.predictions.decides),
      this.predictions.box,
      this.values,
      this.more.box,
      h('div', { class: 'dv-sec dv-gap' }, h('b', {}, 'Visible context'), this.contextNote),
      this.context,
      (this.lookLine = h('p', { class: 'dv-note', hidden: true })),
      h(
        'div',
        { class: 'dv-sec dv-gap' },
        h('b', {}, 'Life line'),
        h('span', { class: 'dv-r' }, 'confidence over steps'),
      ),
      this.life,
      this.layers.box,
      this.whatIf?.box,
    );
    this.box = h('section', { class: 'dv-panel dv-p-insp', 'aria-label': 'inspector' }, this.inner);
    this.line.addEventListener('pointerdown', (event) => {
      if (this.lane) viewer.setStep(this.lifeLine.stepAt(pointOn(this.line, event)[0]));
    });
    // The life line takes what height its neighbours leave.
    new ResizeObserver(
      () => this.life.clientHeight && this.life.clientHeight !== this.lifeHeight && viewer.redraw(),
    ).observe(this.life);
  }

  /** The columns are those of the trace in view. */
  load() {
    this.position = -1;
  }

  /** @param {Lane} lane */
  rebuild({ about }) {
    this.predictions.rebuild(about);
    this.more.rebuild(about);
    this.numbers = about.columns.map((column) => ({ column, value: h('b', {}) }));
    put(
      this.values,
      this.numbers.map(({ column, value }) =>
        h('span', { title: `${column.name}: ${column.help}` }, symbol(column.symbol || column.name), ' ', value),
      ),
    );
    this.values.hidden = !this.numbers.length;
  }

  prepare() {
    this.width = this.inner.clientWidth;
    this.lifeHeight = this.life.clientHeight;
  }

  /** What every step says of the selected position. */
  need() {
    const { viewer } = this;
    const { lane } = viewer;
    this.layers.need();
    return lane.fetchHistory(
      viewer.state.position,
      viewer.host.ask && ((position) => viewer.ask('life', { position, steps: lane.last })),
    );
  }

  paint() {
    const { lane, state, steps, theme } = this.viewer;
    const frame = lane.at(state.step);
    this.moved = this.frame !== frame || this.position !== state.position || this.lane !== lane;
    if (this.built !== lane.about) this.rebuild(lane);
    this.built = lane.about;
    Object.assign(this, { lane, frame, position: state.position });
    const { position, width } = this;
    const before = frame.index ? lane.frames[frame.index - 1] : frame;
    drawStrips(this.context, { lane, frame, before, position, width, looks: this.looks(), theme });
    this.lifeLine.draw(this.line, {
      lane,
      position,
      width,
      height: Math.max(66, this.lifeHeight || 126),
      step: state.step,
      hideLater: state.hideLater,
      last: steps,
      theme,
    });
  }

  get editing() {
    return !!this.whatIf?.editing;
  }

  text() {
    return `Position ${this.position}, ${this.token.textContent}. ${this.why.textContent}`;
  }

  draw() {
    const { lane, frame, position } = this;
    const slice = frame.slices[position];
    const state = LETTER[frame.states[position]];
    const fixed = !!lane.fixed[position];
    const { letter, title } = lane.state(frame, position);
    lettered(this.badge, state, letter).dataset.s = state;
    this.badge.hidden = fixed;
    const there = state !== 'M' || frame.drafted[position] > 0;
    const ghost = !there && frame.revoked[position] ? lane.word(frame.ghost[position]) : null;
    const word = ghost ?? (there ? lane.word(frame.tokens[position]) : '· · ·');
    this.token.classList.toggle('dv-draft', frame.drafted[position] > 0);
    if ((ghost != null) === !!this.token.firstElementChild) setText(this.token.firstElementChild || this.token, word);
    else put(this.token, ghost != null ? h('s', {}, word) : word);
    const bits = frame.marks[position];
    const own = Object.keys(frame.events).filter((name) => !MARKED.has(name) && frame.events[name].includes(position));
    const key = `${bits}/${frame.revoked[position]}/${own}`;
    if (this.eventKey !== key) {
      this.eventKey = key;
      put(
        this.events,
        eventsOf(bits).map((event) =>
          h('span', { class: `dv-event dv-is-${event.letter}` }, mark(event, 10), lane.about.events[event.key].title),
        ),
        frame.revoked[position] && !(bits & 2)
          ? h('span', { class: 'dv-event dv-is-d' }, `${lane.about.events.demoted.title} ×${frame.revoked[position]}`)
          : null,
        own.map((name) =>
          h(
            'span',
            { class: 'dv-event', title: lane.about.events[name]?.help },
            `${lane.about.events[name]?.mark || ''} ${lane.about.events[name]?.title || name}`,
          ),
        ),
      );
    }
    setText(this.place, [...new Set([lane.place(position), `position ${position}`])].join(' · '));
    this.sentence(slice, frame, position, fixed);
    for (const { column, value } of this.numbers) setText(value, two(Lane.value(frame, column.name, position)));
    this.predictions.draw(lane, frame, position, slice);
    this.more.draw(lane, frame, position, slice);
    this.layers.draw(lane, frame, position);
    this.contextWords();
    const confidence =
      frame.confidence[position] == null ? 'not measured' : two(frame.confidence[position], lane.limits);
    this.line.setAttribute(
      'aria-label',
      `life line of position ${position}: ${title} at step ${frame.index}, confidence ${confidence}`,
    );
    this.whatIf?.show(lane, frame, position, letter, this.moved);
  }

  /** @param {Slice | undefined} slice @param {Frame} frame @param {number} position @param {boolean} fixed */
  sentence(slice, frame, position, fixed) {
    const text = !frame.index
      ? frame.marks[position] & 32
        ? BEFORE.edited
        : fixed
          ? BEFORE.given(this.lane.head)
          : BEFORE.free(this.lane.state(frame, position).title)
      : (slice?.sentence ?? '…');
    const cause = this.lane.causes.get(`${frame.index}/${position}`)?.because;
    const key = `${text}|${slice?.warning || ''}|${cause || ''}`;
    if (this.whyKey === key) return;
    this.whyKey = key;
    put(
      this.why,
      cause ? [rich(text.slice(0, -1)), '; ', h('b', {}, rich(cause)), '.'] : rich(text),
      slice?.warning ? h('span', { class: 'dv-warn' }, ' ', rich(slice.warning)) : null,
    );
    this.why.title = slice?.warning ? `${text} ${slice.warning}` : text;
    this.why.classList.toggle('dv-long', key.length > 215);
  }

  /**
   * In the view of attention: how much the query of a position looks at the token at another, in the layer in view.
   * @returns {Weight | null}
   */
  looks() {
    const { lane, frame, viewer } = this;
    const found = viewer.state.attention >= 0 && frame.mask && lane.looks.get(frame.index);
    if (!found) return null;
    const weights = found[viewer.state.attention ? viewer.state.attention - 1 : found.length - 1];
    const [start, end] = frame.block;
    const size = end - start;
    return (path, i, j) =>
      j < start || j >= end || i < start || i >= end
        ? 0
        : weights[(i - start + (path === 's' ? size : 0)) * 2 * size + j - start] / 10000;
  }

  /**
   * The largest weights of the shadow's row, in words.
   * @param {Weight} looks
   */
  lookWords(looks) {
    const { lane, frame, position, viewer } = this;
    const before = lane.frames[frame.index - 1];
    const seen = [...Array(lane.length).keys()]
      .map((j) => [looks('s', position, j), j])
      .filter(([weight]) => weight >= 0.05)
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3);
    const named = seen
      .map(([weight, j]) => `'${before.states[j] ? lane.word(before.tokens[j]) : `mask ${j}`}' ${twoShort(weight)}`)
      .join(', ');
    const layer = viewer.state.attention ? `layer ${viewer.state.attention}` : 'the mean';
    const rest = Math.max(0, 1 - seen.reduce((sum, [weight]) => sum + weight, 0));
    return `s query in ${layer}: ${named ? `${named}; all others together ${twoShort(rest)}` : 'no token has .05 or more'}`;
  }

  contextWords() {
    const { frame, lane } = this;
    const looks = this.looks();
    this.lookLine.hidden = !looks;
    if (looks) {
      put(this.lookLine, rich(this.lookWords(looks)));
      setText(
        this.contextNote,
        `attention, ${this.viewer.state.attention ? `layer ${this.viewer.state.attention}` : 'mean of all layers'}`,
      );
      return;
    }
    const hand = frame.hidden && Lane.hides(frame, frame.hidden.position, this.position);
    setText(
      this.contextNote,
      !frame.index
        ? 'no pass yet'
        : frame.mask
          ? 'filled: sees the token · dashed: its mask'
          : lane.about.unmeasured
            ? 'not recorded'
            : hand
              ? 'all but one, hidden by hand'
              : lane.about.shadow
                ? 'no shadow in this pass: all visible'
                : lane.about.later
                  ? 'everything is visible'
                  : 'everything up to the end of the block',
    );
  }
}
