// The first minute: a short view of one finished run that plays itself once, slowly, and explains M, C and U where they
// are met. It draws around the viewer's own tokens and score; its sentences are the trace's own, its verdicts the server's.
//
//   createViewer(root, host, { more: [(viewer) => new First(viewer, { hook, others, next, onSwitch })] })
//   first.begin()       plays once; whoever presses a key or clicks takes over

import { badge, h, icon, judged, judgement, passesOf, put, setText, two, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Described, Right } from '../data/types.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Tokens } from '../panels/tokens.js' */
/** @import { Panel, PanelKind, Viewer } from '../panels/types.js' */
/** @import { Other } from './types.js' */

const WAIT = { start: 1800, pass: 2600, revoked: 6000 }; // milliseconds
/** @type {Record<string, string>} */
const MEANING = {
  M: 'nothing is decided here: a blank',
  C: 'written, still on trial',
  U: 'trusted: every check sees it',
};
const SOON = 700; // milliseconds in which nobody has read Pause: who presses that button meant the Play that stood there
const PINS_AT_MOST = 4;
const NEAR = 0.14; // pins closer than this have their words on both sides

export class First {
  static id = 'first';

  static story = 'others';

  static shortcuts = { f: (/** @type {Viewer} */ _viewer, /** @type {First} */ first) => first.onSwitch() };

  /** @type {HTMLElement | undefined} */ pins;
  /** @type {Frame | undefined} */ drawn;
  /** @type {number | undefined} */ drawnWidth;

  /**
   * `others`: what other decoders made of the prompt; `next`: where to go from here; `onSwitch`: to the other view, from
   * either.
   * @param {Viewer} viewer
   * @param {{ hook: string, others: Other[], next: [name: string, action: () => void][], onSwitch(): void }} what
   */
  constructor(viewer, { hook, others, next, onSwitch }) {
    this.viewer = viewer;
    this.onSwitch = onSwitch;
    this.others = others;
    this.playing = false; // by itself
    this.todo = h('p', { class: 'df-do' });
    this.verdicts = h('div', { class: 'df-verdict' });
    this.words = h('p', {});
    this.line = h('span', { class: 'dv-hold', hidden: true }, h('i', {}));
    this.tip = h('i', { class: 'df-tip' });
    this.bubble = h('div', { class: 'df-bubble' }, this.words, this.line, this.tip);
    this.callout = h('div', { class: 'df-say', role: 'status', 'aria-live': 'polite' }, this.bubble);
    this.ruler = h('div', { class: 'df-ruler' });
    this.legend = h('div', { class: 'df-legend' });
    this.table = h('table', { class: 'df-who' });
    this.price = h('p', { class: 'df-price' });
    this.box = h(
      'section',
      { class: 'dv-panel df-others', 'aria-label': 'the same prompt by others' },
      h(
        'div',
        { class: 'dv-ph' },
        h('h2', {}, 'The same prompt by others'),
        h('span', { class: 'dv-sub' }, 'same model'),
      ),
      this.table,
      this.price,
    );
    this.head = h('div', { class: 'df-only df-head' }, h('h1', { class: 'df-hook' }, hook), this.todo);
    this.next = h(
      'nav',
      { class: 'df-only df-next', 'aria-label': 'Next' },
      h('span', {}, 'Next'),
      next.map(([name, action]) => h('button', { type: 'button', class: 'dv-chip', onclick: action }, name)),
    );
    for (const part of [this.callout, this.ruler, this.legend, this.verdicts]) part.classList.add('df-only');
    const isTokens = (/** @type {Panel} */ { constructor: kind }) => /** @type {PanelKind} */ (kind).id === 'tokens';
    const tokens = /** @type {Tokens | undefined} */ (viewer.panels.find(isTokens));
    if (!tokens) throw new Error('The short view stands around the tokens.');
    this.rows = tokens.lanes;
    this.rows.before(this.callout);
    this.rows.after(this.ruler, this.legend);
    viewer.transport.box.append(this.verdicts);
    viewer.pace = () => (viewer.page ? this.wait() : undefined);
  }

  /** How long a step stands while the short view plays. */
  wait() {
    const frame = this.viewer.lane.at(this.viewer.state.step);
    return frame.revokes ? WAIT.revoked : frame.index ? WAIT.pass : WAIT.start;
  }

  /** Plays once; where motion is not wanted it stands at the decisive step. */
  begin() {
    const { viewer } = this;
    const { frames } = viewer.lane;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      viewer.setStep(
        Math.max(
          0,
          frames.findIndex((frame) => frame.revokes),
        ),
      );
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

  prepare() {
    const { lane } = this.viewer;
    const states = lane.kinds;
    put(
      this.legend,
      states.map(({ letter, title, help }) =>
        h(
          'span',
          { class: 'df-mean' },
          badge(lane.look(letter), false, letter),
          h('b', {}, title),
          h('span', {}, help || MEANING[letter]),
        ),
      ),
    );
    const { thresholds } = lane.about;
    const cuts = [0, ...thresholds.map((threshold) => threshold.at), 1];
    this.pins = h('div', { class: 'df-pins', 'aria-hidden': 'true' });
    const zones = cuts.length === states.length + 1 ? states : [];
    put(
      this.ruler,
      this.pins,
      h(
        'div',
        {
          class: 'df-zones',
          role: 'img',
          'aria-label': `How sure the model is, from 0 to 1: ${zones.map(({ title }, n) => `up to ${cuts[n + 1]} ${title}`).join(', ')}.`,
        },
        zones.map(({ letter }, n) =>
          h('i', {
            'data-s': lane.look(letter),
            style: { left: `${100 * cuts[n]}%`, width: `${100 * (cuts[n + 1] - cuts[n])}%` },
          }),
        ),
      ),
      h(
        'div',
        { class: 'df-ticks', 'aria-hidden': 'true' },
        cuts.map((at, n) =>
          h(
            'span',
            { style: { left: `${100 * at}%` } },
            n === 0 ? '0, impossible' : at === 1 ? '1, certain' : [rich(thresholds[n - 1].symbol), ` ${twoShort(at)}`],
          ),
        ),
      ),
    );
  }

  paint() {}

  draw() {
    const { viewer } = this;
    const { lane, state } = viewer;
    if (!viewer.page || !lane || !this.pins) return;
    const frame = lane.at(state.step);
    if (frame.index === lane.last) this.playing = false;
    setText(
      this.todo,
      this.playing
        ? 'It plays once by itself. Any key or click takes over.'
        : `Your turn: Play and Step${viewer.grid === 'tall' ? '' : ', or space, → and ←'}. “Everything” opens your own prompt, settings, inspector and mask.`,
    );
    this.line.hidden = !(frame.revokes && viewer.transport.timer);
    if (this.drawn === frame && this.drawnWidth === viewer.drawnWidth) return;
    this.drawn = frame;
    this.drawnWidth = viewer.drawnWidth;
    this.say(lane, frame);
    this.judge(lane, frame);
    this.pin(lane, frame);
    this.compare(lane, frame);
    this.point(frame);
  }

  /** The positions a step speaks of. @param {Frame} frame */
  spoken(frame) {
    const { demoted, decided } = frame.events;
    return (demoted?.length ? demoted : (decided ?? [])).slice(0, 2);
  }

  /** @param {Lane} lane @param {Frame} frame */
  say(lane, frame) {
    const told = this.spoken(frame)
      .map((i) => this.plain(lane, frame, i) ?? frame.slices[i]?.sentence)
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
    put(this.words, h('span', { class: 'df-event' }, head), ' ', rich(told || rest));
  }

  /**
   * A revocation without the decoder's own terms: what the check saw, what it found, what that is measured by. Null where
   * the trace does not hold all of it.
   * @param {Lane} lane @param {Frame} frame @param {number} i
   */
  plain(lane, frame, i) {
    const before = lane.frames[frame.index - 1];
    const [limit] = lane.about.thresholds;
    const slice = frame.slices[i];
    const seen = lane.free.filter((j) => j !== i && before?.states[j] && Lane.sees(frame, 's', i, j));
    if (
      !frame.events.demoted?.includes(i) ||
      !frame.mask ||
      !limit ||
      !slice?.paths ||
      !seen.length ||
      Number(frame.confidence[i]) > limit.at
    )
      return null;
    const quoted = (/** @type {number} */ id) => `'${lane.word(id)}'`;
    const [best, p] = slice.paths[slice.decider ?? ''];
    const now =
      best === before.tokens[i]
        ? ''
        : ` The best guess for this blank is now ${quoted(best)}, ${two(p / 10_000, lane.limits)}.`;
    return `${quoted(before.tokens[i])} was revoked: with ${seen.map((j) => quoted(before.tokens[j])).join(', ')} in view it gets ${two(frame.confidence[i], [limit.at])}, which is not above ${limit.symbol} = ${two(limit.at, [Number(frame.confidence[i])])}.${now}`;
  }

  /** Every answer that stood there complete, and what stands there now. @param {Lane} lane @param {Frame} frame */
  judge(lane, frame) {
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
      chips.slice(-3).map((chip, n) => [n > 0 && h('span', { 'aria-hidden': 'true' }, '→'), chip]),
    );
  }

  /** Each free word at its confidence; what was revoked falls there from where it was. @param {Lane} lane @param {Frame} frame */
  pin(lane, frame) {
    const before = lane.frames[frame.index - 1];
    const shown = frame.index
      ? lane.free
          .filter((i) => frame.confidence[i] != null && (frame.states[i] || frame.marks[i]))
          .slice(0, PINS_AT_MOST)
      : [];
    const sure = (/** @type {number} */ i) => frame.confidence[i] ?? 0;
    const was = (/** @type {number} */ i) => before?.confidence[i] ?? 0;
    const order = [...shown].sort((a, b) => sure(a) - sure(b));
    put(
      /** @type {HTMLElement} */ (this.pins),
      order.map((i, n) => {
        const at = sure(i);
        const word = lane.word(frame.states[i] ? frame.tokens[i] : frame.ghost[i]);
        const crowded = n + 1 < order.length && sure(order[n + 1]) - at < NEAR;
        const side = at > 0.8 || (crowded && at > NEAR) ? 'left' : 'right';
        const fell = frame.events.demoted?.includes(i) && was(i) > at;
        return [
          fell &&
            h('i', {
              class: 'df-fall',
              style: { left: `${100 * at}%`, width: `${100 * (was(i) - at)}%` },
            }),
          h(
            'span',
            { class: 'df-pin', 'data-s': LETTER[frame.states[i]], 'data-side': side, style: { left: `${100 * at}%` } },
            h('i', {}),
            h('bdi', {}, `${word} ${twoShort(at, lane.limits)}`),
          ),
        ];
      }),
    );
  }

  /** @param {Lane} lane @param {Frame} frame */
  compare(lane, frame) {
    const ended = frame.index === lane.last;
    const squares = (/** @type {number} */ made, open = 0) =>
      h(
        'span',
        { class: 'df-passes', 'aria-hidden': 'true' },
        Array.from({ length: Math.min(12, made + open) }, (_, n) => h('i', { class: n < made ? null : 'df-left' })),
      );
    /** @param {string} name @param {Child} rule @param {Child} result @param {number} made @param {number} open @param {string} text */
    const row = (name, rule, result, made, open, text) =>
      h(
        'tr',
        {},
        h('th', { scope: 'row' }, name),
        h('td', { class: 'df-rule' }, rule),
        h('td', {}, result),
        h('td', {}, squares(made, open), text),
      );
    const result = (/** @type {Right} */ right, /** @type {string} */ text) =>
      judged(h('span', { class: 'df-result' }), right, text);
    /** @type {[Child, number, number, string]} */
    const mine = ended
      ? [result(frame.right, lane.answer(frame)), lane.last, 0, passesOf(lane.last)]
      : [
          h('span', { class: 'df-not' }, 'not finished'),
          frame.index,
          lane.last - frame.index,
          `pass ${frame.index} of ${lane.last}`,
        ];
    const rule = (/** @type {Described} */ about) =>
      rich(about.thresholds.map((each) => `${each.symbol} ${twoShort(each.at)}`).join(' '));
    put(
      this.table,
      h(
        'tbody',
        {},
        row(lane.about.title, rule(lane.about), ...mine),
        this.others.map((other) =>
          row(
            other.name,
            rich(other.setting),
            result(other.right, other.answer),
            other.passes,
            0,
            passesOf(other.passes),
          ),
        ),
      ),
    );
    const most = Math.max(0, ...this.others.map((other) => other.passes));
    setText(
      this.price,
      `The others stop as soon as no blank is left, here after ${passesOf(most)}. ${lane.about.title} goes on until every word is unmasked: ${passesOf(lane.last)}.`,
    );
  }

  /** The callout stays where it is; its tip points at the token it speaks of, if that is in the first row. @param {Frame} frame */
  point(frame) {
    const chips = /** @type {HTMLElement[]} */ ([...this.rows.querySelectorAll('[data-position]')]);
    const chip = (/** @type {number} */ i) => chips.find((each) => each.dataset.position === String(i)) ?? chips[0];
    const [spoken] = this.spoken(frame).slice(-1);
    const target = chip(spoken ?? this.viewer.lane.free[0]);
    const first = chip(this.viewer.lane.free[0]);
    const centre = (/** @type {HTMLElement} */ node) => node.offsetLeft + node.offsetWidth / 2;
    const room = this.callout.clientWidth - this.bubble.offsetWidth;
    const left = Math.max(0, Math.min(room, centre(first) - this.callout.offsetLeft - 120));
    this.bubble.style.left = `${left}px`;
    const top = Math.min(...chips.map((node) => node.offsetTop));
    this.tip.hidden = target.offsetTop > top + target.offsetHeight / 2;
    this.tip.style.left = `${centre(target) - this.callout.offsetLeft - left}px`;
  }

  text() {
    return `${this.others.map((other) => `${other.name}: ${other.answer}`).join('; ')}.`;
  }
}
