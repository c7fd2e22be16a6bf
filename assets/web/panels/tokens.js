// The panel of tokens: one grid, or one lane per decode with a small map of its own. Where they stand in rows, it says how
// they stand, and a wide page has it beside the others.

import { AnswerLine } from './answer.js';
import { Arcs } from '../draw/arcs.js';
import { badge, h, icon, judged, judgement, mark, passesOf, pointOn, put, setText } from '../draw/dom.js';
import { EVENTS } from '../data/events.js';
import { Grid } from '../draw/grid.js';
import { drawAxis } from '../draw/axis.js';
import { LaneMap } from '../draw/lanemap.js';
import { Prose } from '../draw/prose.js';
import { Together } from '../draw/together.js';
import { GLOSSARY, rich } from '../draw/symbols.js';
import { whyButton } from './side.js';
import { Standing } from './standing.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

const BESIDE = 1200; // pixels from which on a board stands beside the other panels
const BESIDE_A_PAGE = 760;
const LOW = 800; // pixels of a window in which cells are smaller

export class Tokens {
  /** @type {Viewer} */ viewer;
  /** @type {(Grid | Prose)[]} */ grids;
  /** @type {LaneMap[]} */ maps;
  /** @type {HTMLElement[]} */ passes;
  /** @type {HTMLElement[]} of every lane, the way to what is known of a wrong answer */ whys;
  /** @type {HTMLElement[]} */ rows;
  /** @type {(Standing | null)[]} */ looks;
  /** @type {boolean} */ laid;
  /** @type {Together | null} */ together;
  /** @type {string | undefined} */ size;
  /** @type {HTMLCanvasElement} */ axis;
  /** @type {HTMLElement} */ pass;
  /** @type {HTMLElement} */ diverge;
  /** @type {number} */ divergence;
  /** @type {number} */ mapWidth;

  static id = 'tokens';

  static title = 'Tokens';

  static above = true;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.hovered = -1;
    this.grids = [];
    this.maps = [];
    this.title = h('h2', {}, 'Tokens');
    this.sub = h('span', { class: 'dv-sub' });
    this.verdict = h('span', { class: 'dv-judged' });
    this.legend = h('div', { class: 'dv-legend' });
    this.lanes = h('div', { class: 'dv-lanes' });
    this.arcs = new Arcs();
    this.heading = h('div', { class: 'dv-ph' }, this.title, this.sub, this.verdict, this.legend, viewer.exports.box);
    this.answer = h('span', { class: 'dv-answer' });
    this.final = new AnswerLine(viewer, () => this.draw());
    this.box = h(
      'section',
      { class: 'dv-panel dv-p-tokens', 'aria-label': 'tokens' },
      this.heading,
      this.arcs.box,
      this.lanes,
      this.final.box,
    );
  }

  load() {
    const { viewer } = this;
    const { lanes } = viewer;
    const many = lanes.length > 1;
    this.size = viewer.grid;
    this.grids = lanes.map((lane, n) => {
      const listens = {
        onSelect: (/** @type {number} */ position) => viewer.select(position, n),
        onHover: (/** @type {number} */ position) => many && this.hover(position),
      };
      return viewer.long && !lane.board
        ? new Prose(lane, listens)
        : new Grid(lane, lanes.length, { size: viewer.grid, mono: viewer.theme.mono, ...listens });
    });
    this.align();
    const texts = this.grids.filter((grid) => grid instanceof Prose);
    this.together = many && texts.length === lanes.length ? new Together(texts) : null;
    this.lanes.style.setProperty('--lanes', String(lanes.length));
    this.maps = [];
    this.passes = [];
    this.rows = [];
    for (const why of this.whys ?? []) why.remove();
    this.whys = lanes.map((_, n) => whyButton(viewer, n));
    this.looks = this.grids.map((grid) =>
      grid.board ? new Standing(many ? null : this.answer, (places) => this.lead(places, grid)) : null,
    );
    this.laid = !many && !!this.grids[0].board;
    const { box: taken } = viewer.exports; // a story has it elsewhere
    if (!this.laid) this.heading.append(this.legend, ...(taken.parentElement === this.heading ? [taken] : []));
    put(
      this.lanes,
      many ? [this.laneHead(), unlike(lanes), lanes.map((lane, n) => this.laneRow(lane, n))] : outside(this.grids[0]),
      this.laid && h('div', { class: 'dv-side' }, this.looks[0]?.box, this.legend),
    );
    if (this.laid) this.looks[0]?.row.append(this.whys[0]);
    else if (!many) this.verdict.after(this.whys[0]);
    this.lanes.classList.toggle('dv-laid', this.laid);
    this.lanes.classList.toggle('dv-many', many);
    setText(this.title, many ? `${lanes.length} decodes, one scrubber` : 'Tokens');
    const states = lanes
      .flatMap((lane) => lane.kinds.map((kind) => ({ ...kind, look: lane.look(kind.letter) })))
      .filter(
        (kind, n, all) => all.findIndex(({ letter, title }) => letter === kind.letter && title === kind.title) === n,
      );
    const events = lanes
      .flatMap(happening)
      .filter(({ title, letter }, n, all) => all.findIndex((one) => one.letter === letter && one.title === title) === n)
      .sort((a, b) => a.bit - b.bit);
    const { title: revoked } = lanes[0].about.events.demoted;
    const signs = lanes
      .flatMap((lane) => Object.values(lane.about.events))
      .filter((event, n, all) => event.mark && all.findIndex((other) => other.mark === event.mark) === n);
    put(
      this.legend,
      states.map(({ letter, title, help, look }) =>
        h('span', { title: help || GLOSSARY[letter] }, badge(look, true, letter), title),
      ),
      events.map((event) => h('span', { title: event.help ?? GLOSSARY[event.name] }, mark(event, 9), event.title)),
      signs.map((event) => h('span', { title: event.help }, h('b', { class: 'dv-sign' }, event.mark), event.title)),
      h(
        'span',
        { title: GLOSSARY['revoked before'] },
        h('span', { class: 'dv-scar dv-static' }, '×1'),
        `${revoked} before`,
      ),
      this.laid && [
        h('span', {}, h('i', { class: 'dv-givenkey' }, h('i', { class: 'dv-given' })), 'given in the prompt'),
        h('span', {}, icon('clash', 13), 'clash'),
      ],
      many && h('span', {}, h('i', { class: 'dv-differskey' }), `differs from ${lanes[0].head.name}`),
      h('span', { class: 'dv-dkey' }, h('i', {}), 'guilty'),
      h('span', { class: 'dv-dkey' }, h('i', { class: 'dv-passkey' }), 'same pass'),
    );
  }

  laneHead() {
    const { viewer } = this;
    this.axis = h('canvas', { class: 'dv-axis', 'aria-hidden': 'true' });
    this.pass = h('span', {});
    this.diverge = h('button', { type: 'button', class: 'dv-link', onclick: () => viewer.setStep(this.divergence) });
    return h(
      'div',
      { class: 'dv-lane dv-lanehead' },
      h('span', {}, 'decoder'),
      h('span', {}, this.pass, this.diverge),
      h('div', { class: 'dv-mapbox' }, this.axis),
    );
  }

  /** @param {Lane} lane @param {number} n */
  laneRow(lane, n) {
    const { viewer } = this;
    const canvas = h('canvas', { class: 'dv-map', 'aria-hidden': 'true' });
    const map = new LaneMap(canvas);
    const pass = h('span', {});
    /** @param {PointerEvent} event */
    const scrub = (event) => {
      const step = map.columns.step(pointOn(canvas, event)[0]);
      viewer.set({ step, lane: n });
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    canvas.addEventListener('pointermove', (event) => event.buttons && scrub(event));
    const thresholds = lane.about.thresholds.map((threshold) => `${threshold.symbol} ${threshold.at}`).join(' · ');
    const who = h(
      'button',
      { type: 'button', class: 'dv-who', onclick: () => viewer.set({ lane: n }) },
      h('b', {}, lane.head.name),
      h('span', {}, rich(lane.about.rule)),
      h('span', {}, rich(thresholds)),
      pass,
    );
    const row = h(
      'div',
      { class: 'dv-lane' },
      h('div', { class: 'dv-whobox' }, who, this.whys[n]),
      h('div', { class: 'dv-lanetoks' }, outside(this.grids[n]), this.looks[n]?.box),
      h('div', { class: 'dv-mapbox' }, canvas),
    );
    this.maps.push(map);
    this.passes.push(pass);
    this.rows.push(row);
    return row;
  }

  /**
   * After new steps: chips may have grown, and side by side they stay aligned.
   * @param {number} n
   */
  grow(n) {
    this.grids[n].grow();
    this.align();
  }

  align() {
    const chips = this.grids.filter((grid) => grid instanceof Grid);
    if (chips.length > 1) for (const grid of chips) grid.grow(chips);
  }

  /** @param {number} position */
  hover(position) {
    if (position === this.hovered) return;
    this.hovered = position;
    this.draw();
  }

  prepare() {
    const { lanes, theme, last, steps, grid, root, body, long, page } = this.viewer;
    if (grid !== this.size) this.load();
    const others = body.querySelector(':scope > .dv-panel:not(.dv-p-tokens)') !== null;
    const room = root.clientWidth >= BESIDE && others;
    const reading = room && long && !page && lanes.length === 1;
    const beside = this.laid && others && root.clientWidth >= (page ? BESIDE_A_PAGE : BESIDE);
    if (beside !== root.classList.contains('dv-beside') || reading !== root.classList.contains('dv-reading')) {
      root.classList.toggle('dv-beside', beside);
      root.classList.toggle('dv-reading', reading);
      if (beside || reading) body.prepend(this.box);
      else body.before(this.box);
    }
    const narrow = root.dataset.size === 'narrow';
    for (const each of this.grids)
      each.board?.lay(
        page && !narrow ? 400 : this.lanes.clientWidth,
        narrow || !!page,
        page ? (narrow ? 46 : innerHeight < LOW ? 62 : 76) : undefined,
      );
    this.arcs.prepare(lanes[0], this.grids[0], lanes.length === 1 && !this.laid && !long);
    if (!this.maps.length) return;
    this.divergence = firstDifference(lanes, last);
    this.mapWidth = this.axis.parentElement?.clientWidth || this.maps[0].canvas.parentElement?.clientWidth || 0;
    this.maps.forEach((map, n) => {
      const height = Math.max(40, Math.min(84, lanes[n].length * 5));
      map.prepare(lanes[n], { width: this.mapWidth, height, steps, theme });
    });
  }

  paint() {
    if (!this.maps.length) return;
    const { state, steps, theme } = this.viewer;
    drawAxis(this.axis, { width: this.mapWidth, steps, step: state.step, theme });
    for (const map of this.maps) map.draw(state.step, state.hideLater, this.divergence);
  }

  draw() {
    const { viewer } = this;
    const { lanes, lane, state } = viewer;
    this.together?.lead(state.lane);
    this.grids.forEach((grid, n) => {
      if (grid instanceof Prose) grid.mark(lanes.length > 1 ? grid.lane.found : this.final.found);
      const frame = grid.lane.at(state.step);
      const mine = n === state.lane;
      const wasMasked = frame.index > 0 && grid.lane.frames[frame.index - 1].states[state.position] === 0;
      const path = mine && frame.mask ? (wasMasked ? 'x' : 's') : null;
      const echoed = mine || lanes.length < 2 ? -1 : this.hovered >= 0 ? this.hovered : state.position;
      const first = n > 0 ? { lane: lanes[0], frame: lanes[0].at(state.step) } : null;
      grid.draw(frame, mine ? state.position : -1, echoed, path, first);
    });
    this.together?.draw(state.lane, viewer.finished);
    this.final.box.hidden = !viewer.long || lanes.length > 1;
    if (!this.final.box.hidden) this.final.draw(state.step, state.hideLater);
    const now = lane.at(state.step);
    setText(this.sub, counts(lane, now, this.laid));
    judged(this.verdict, this.laid ? null : now.right);
    this.grids.forEach((grid, n) => this.looks[n]?.draw(grid.lane.at(state.step).look));
    if (this.laid) this.judge(lane, now);
    lanes.forEach((each, n) => {
      const { index, right } = each.at(state.step);
      const wrong = each.finished && index === each.last && right !== null && right !== true;
      this.whys[n].hidden = !wrong || !(viewer.host.ask || each.diagnosis);
    });
    this.arcs.draw(lane, now, state.position);
    if (lanes.length > 1) this.describe();
  }

  /**
   * At the end whether it is right; until then how far it is.
   * @param {Lane} lane @param {Frame} frame
   */
  judge(lane, frame) {
    const known = lane.finished ? ` of ${this.viewer.state.hideLater ? '…' : lane.last}` : '';
    const ended = lane.finished && frame.index === lane.last && frame.right !== null;
    judged(this.answer, ended ? frame.right : null);
    if (!ended) setText(this.answer, frame.index ? `step ${frame.index}${known}` : 'start');
  }

  describe() {
    const { lanes, state } = this.viewer;
    const { step, hideLater } = state;
    const { divergence } = this;
    setText(this.pass, `tokens after pass ${step}`);
    this.diverge.hidden = !divergence || (hideLater && divergence > step);
    setText(this.diverge, `first difference: pass ${divergence}`);
    lanes.forEach((lane, n) => {
      const known = lane.finished ? ` of ${hideLater ? '…' : lane.last}` : '';
      const ended = lane.finished && step >= lane.last;
      const { right } = lane.at(step);
      const [word, sign] = judgement(right);
      const answer = word && ` · ${sign} ${word}`;
      setText(
        this.passes[n],
        ended ? `done in ${passesOf(lane.last)}${answer}` : `pass ${Math.min(step, lane.last)}${known}`,
      );
      this.rows[n].classList.toggle('dv-current', n === state.lane);
    });
  }

  /**
   * Up and down take the focus along from token to token; on a board all four arrows do.
   * @param {KeyboardEvent} event
   */
  key({ key, target }) {
    const { viewer } = this;
    const grid = this.grids[viewer.state.lane];
    const position =
      target instanceof HTMLElement && target.dataset.position ? grid.beside(viewer.state.position, key) : null;
    if (position === null) return false;
    viewer.select(position);
    grid.focus(position);
    return true;
  }

  /**
   * To the first of some positions; from one of them to the next.
   * @param {number[]} places @param {Grid} grid
   */
  lead(places, grid) {
    const { viewer } = this;
    const next = places[(places.indexOf(viewer.state.position) + 1) % places.length];
    viewer.select(next, this.grids.indexOf(grid));
  }

  need() {
    if (!this.final.box.hidden) this.final.need();
  }

  text() {
    const { lanes, state } = this.viewer;
    /** @param {Lane} lane */
    const words = (lane) => {
      const frame = lane.at(state.step);
      return Array.from(frame.tokens, (token, i) => (frame.states[i] || frame.drafted[i] ? lane.word(token) : 'blank'))
        .join(' ')
        .slice(0, 2000);
    };
    return lanes
      .map(
        (lane) =>
          `${lanes.length > 1 ? `${lane.head.name}, ` : ''}${counts(lane, lane.at(state.step))}: ${words(lane)}.${lane.board ? ` ${lane.at(state.step).look?.say}.` : ''}`,
      )
      .join(' ');
  }
}

/** What a page takes of a grid: text has a height of its own, in which it scrolls. @param {Grid | Prose} grid */
const outside = (grid) => (grid instanceof Prose ? grid.outer : grid.box);

/**
 * What keeps lanes from being compared token by token, in a sentence; nothing where all were asked the same.
 * @param {Lane[]} lanes
 */
function unlike(lanes) {
  /** @template T @param {(lane: Lane) => T} pick */
  const all = (pick) => [...new Set(lanes.map(pick))];
  const [lengths, models, prompts] = [
    all((lane) => lane.length),
    all((lane) => lane.head.model),
    all((lane) => lane.head.prompt),
  ];
  const told = [
    prompts.length > 1 && 'The prompts differ.',
    models.length > 1 &&
      `The models differ (${models.join(', ')}): tokens are compared by their text, position by position.`,
    lengths.length > 1 &&
      `The regions have ${lengths.join(' and ')} positions: the first ${Math.min(...lengths)} are compared.`,
  ].filter(Boolean);
  return told.length > 0 && h('p', { class: 'dv-unlike' }, told.join(' '));
}

/**
 * The first pass after which not all lanes hold the same, as far as all of them go; 0 if there is none.
 * @param {Lane[]} lanes @param {number} last
 */
function firstDifference([first, ...others], last) {
  for (let step = 1; step <= last; step++) {
    const frame = first.at(step);
    /** @param {Lane} lane */
    const differs = (lane) =>
      frame.tokens.subarray(0, lane.length).some((_, i) => first.differs(frame, i, lane, lane.at(step)));
    if (others.some(differs)) return step;
  }
  return 0;
}

/**
 * Everybody's events that a lane's tokens are marked with, in its own words if it has some; where it declares its own
 * states, it is these alone.
 * @param {Lane} lane
 */
function happening({ about, kinds, tentative }) {
  const own = kinds.some(({ letter }) => !'MCU'.includes(letter));
  const letters = tentative ? 'pdwra' : about.events.replaced.value ? 'dr' : 'd';
  return EVENTS.filter(({ key, letter, name }) =>
    own ? about.events[key].title !== name : letters.includes(letter),
  ).map((event) => ({
    ...event,
    title: about.events[event.key].title,
    help: own ? about.events[event.key].help : undefined,
  }));
}

/**
 * What a step took: time, and the most memory in use until then.
 * @param {Frame['took']} took
 */
function cost(took) {
  if (!took?.[0]) return null;
  const time = `${(took[0] + took[1]).toFixed(took[0] < 10 ? 1 : 0)} ms`;
  return took[2] == null ? time : `${time}, at most ${(took[2] / 1000).toFixed(1)} GB`;
}

/** @param {Lane} lane @param {Frame} frame @param {boolean} [brief] */
function counts(lane, frame, brief) {
  const count = lane.kinds.map(() => 0);
  for (const i of lane.free) count[frame.kinds[i]]++;
  const given = lane.length - lane.free.length;
  const blocks = lane.blockOf(lane.length - 1) + 1;
  return [
    frame.index ? `after step ${frame.index}` : 'start',
    blocks > 1 && `block ${lane.blockOf(frame.block[0]) + 1} of ${blocks}`,
    ...lane.kinds.map(({ letter, title }, n) => `${count[n]} ${brief ? letter : title}`),
    given && `${given} given`,
    !brief && cost(frame.took),
  ]
    .filter(Boolean)
    .join(' · ');
}
