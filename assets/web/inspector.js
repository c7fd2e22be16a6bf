// The inspector: what is known about the selected token at the current step. Nodes are made once and filled again.

import { EVENTS, STATES, badge, eventsOf, h, mark, pointOn, put, segment, setText, sized, two, twoShort } from './dom.js';
import { rich, symbol } from './symbols.js';
import { LETTER, Lane } from './unpack.js';

const ROWS = 5;
const MARKED = new Set([...EVENTS.map((event) => event.key), 'decided']); // the others are told by name
const LABEL = 74;
const MORE = 3; // bars of what else is known
const BEFORE = {
  given: ({ sees }) => `Given by the template: always unmasked, never verified. ${sees ? `Every token of its block of ${sees} and of later ones` : 'Every other token'} may see it.`,
  free: 'Masked, never decided. The first forward pass has not run yet.',
  edited: 'Put here by hand, before the first forward pass.',
};

export class Inspector {
  static id = 'inspector';

  static title = 'Inspector';

  constructor(viewer) {
    this.viewer = viewer;
    const onBranch = viewer.host.requestBranch && ((what) => viewer.host.requestBranch({ lane: viewer.state.lane, ...what }));
    this.onBranch = onBranch; // absent where nothing can be branched
    this.badge = badge('M');
    this.token = h('bdi', { class: 'dv-itoken' });
    this.events = h('span', { class: 'dv-ievents' });
    this.place = h('span', { class: 'dv-iplace' });
    this.why = h('p', { class: 'dv-why' });
    this.decides = h('span', { class: 'dv-r' });
    this.columns = []; // one per path, made when a trace is in view
    this.values = h('div', { class: 'dv-values' });
    this.labels = Array.from({ length: ROWS }, (_, row) => (onBranch
      ? h('button', { class: 'dv-guess', type: 'button', onclick: () => this.choose(row) }, h('bdi', {}))
      : h('span', { class: 'dv-guess' }, h('bdi', {}))));
    this.context = h('canvas', { class: 'dv-context', 'aria-hidden': 'true' });
    this.contextNote = h('span', { class: 'dv-r' });
    this.line = h('canvas', { class: 'dv-lifeline', role: 'img' });
    this.life = h('div', { class: 'dv-life' }, this.line);
    this.inner = h('div', { class: 'dv-insp' },
      h('div', { class: 'dv-ihead' }, this.badge, this.token, this.events, this.place),
      this.why,
      h('div', { class: 'dv-sec' }, h('b', {}, 'Predictions'), 'top 5', this.decides),
      this.preds = h('div', { class: 'dv-preds' }),
      this.values,
      this.more = h('div', { class: 'dv-more' }),
      h('div', { class: 'dv-sec dv-gap' }, h('b', {}, 'Visible context'), this.contextNote),
      this.context,
      this.lookLine = h('p', { class: 'dv-note', hidden: true }),
      h('div', { class: 'dv-sec dv-gap' }, h('b', {}, 'Life line'), h('span', { class: 'dv-r' }, 'confidence over steps')),
      this.life,
      onBranch ? this.whatIf() : null);
    this.box = h('section', { class: 'dv-panel dv-p-insp', 'aria-label': 'inspector' }, this.inner);
    this.line.addEventListener('pointerdown', (event) => {
      const step = this.stepAt?.(pointOn(this.line, event)[0]);
      if (step != null) viewer.setStep(step);
    });
    // The life line takes what height its neighbours leave.
    new ResizeObserver(() => this.life.clientHeight && this.life.clientHeight !== this.lifeHeight && viewer.redraw()).observe(this.life);
  }

  /** The columns are those of the trace in view. */
  load() {
    this.lane = null;
  }

  rebuild({ about }) {
    this.columns = about.paths.map((path) => this.column(path));
    this.preds.style.setProperty('--paths', Math.max(1, this.columns.length));
    put(this.preds, h('div', { class: 'dv-labels' }, this.labels), this.columns.map((column) => column.box));
    this.numbers = about.columns.map((column) => ({ column, value: h('b', {}) }));
    put(this.values, this.numbers.map(({ column, value }) => h('span', { title: `${column.name}: ${column.help}` }, symbol(column.symbol || column.name), ' ', value)));
    this.values.hidden = !this.numbers.length;
    this.more.hidden = !(about.graph || about.events.replaced.value || about.soft);
    this.more.classList.toggle('dv-two', !about.graph && !about.soft);
    this.moreKey = null;
  }

  /** What else the trace holds of this position in this step, as bars: what it depends on, what it is made of, what it replaced. */
  moreBars(slice, frame, position) {
    const { lane } = this;
    const { graph, events } = lane.about;
    const before = lane.frames[Math.max(0, frame.index - 1)];
    const made = before.soft[position];
    if (graph) {
      const looked = slice?.g || [];
      const rows = looked.filter((_, k) => k % 2 === 0).map((i, k) => [`${i} ${lane.word(frame.tokens[i])}`, looked[2 * k + 1] / 255]);
      return { title: 'Depends on those accepted before', side: `${graph.symbol} against ${graph.limit} ${twoShort(frame.graph?.limit)}`, rows, line: frame.graph?.limit };
    }
    if (frame.marks[position] & 8) {
      const held = Lane.value(frame, events.replaced.value, position);
      const limit = lane.about.thresholds.at(-1);
      const rows = [[lane.word(frame.tokens[position]), frame.confidence[position]], held != null && [lane.word(before.tokens[position]), held, 's']];
      return { title: 'Held and best', side: `old struck through, new above ${limit.symbol.replace('_', '')} ${twoShort(limit.at)}`, rows: rows.filter(Boolean), line: limit.at };
    }
    if (made) {
      const rows = made.filter((_, k) => k % 2 === 0).map((id, k) => [lane.word(id), made[2 * k + 1] / 10000]);
      return { title: 'Made of, in this pass', side: 'the rest is mask', rows: [...rows.slice(0, MORE - 1), ['mask', 1 - rows.reduce((sum, row) => sum + row[1], 0), 'mask']] };
    }
    return { title: events.replaced.value ? 'Held and best' : 'Made of, in this pass', side: events.replaced.value ? 'nothing replaced here' : 'mask alone', rows: [] };
  }

  drawMore(slice, frame, position) {
    if (this.more.hidden) return;
    const { title, side, rows, line } = this.moreBars(slice, frame, position);
    const key = JSON.stringify([title, side, rows.slice(0, MORE), line]);
    if (this.moreKey === key) return;
    this.moreKey = key;
    put(this.more, h('div', { class: 'dv-sec' }, h('b', {}, title), h('span', { class: 'dv-r' }, side)),
      rows.slice(0, MORE).map(([word, share, kind]) => h('div', { class: 'dv-morerow' },
        h('bdi', {}, kind === 's' ? h('s', {}, word) : word),
        h('span', {}, h('i', { class: kind === 'mask' ? 'dv-hollow' : share > (line ?? 2) ? 'dv-over' : '', style: { width: `${100 * share}%` } }),
          line == null ? null : h('u', { style: { left: `${100 * line}%` } })),
        h('b', {}, twoShort(share)))));
  }

  column({ name: key, title: name, help }) {
    const title = h('span', { class: 'dv-ptitle', title: help }, symbol(name || key));
    const ticks = h('span', { class: 'dv-pticks' });
    const rows = Array.from({ length: ROWS }, () => {
      const bar = h('i', {});
      const value = h('span', {});
      return { bar, value, row: h('div', { class: 'dv-prow' }, bar, value) };
    });
    const none = h('span', { class: 'dv-pnone' });
    const body = h('div', { class: 'dv-pbody' }, ticks, rows.map((r) => r.row), none);
    return { key, ticks, rows, none, body, drawn: [], box: h('div', { class: 'dv-pcol' }, title, body) };
  }

  /** The form for an edit. `editing` is true from its first change until another step or position is in view. */
  whatIf() {
    this.input = h('input', { class: 'dv-input', 'aria-label': 'other token', autocomplete: 'off', spellcheck: 'false', maxlength: 200, list: null });
    this.input.addEventListener('input', () => {
      this.chosen = null;
      this.editing = true;
    });
    this.input.addEventListener('keydown', (event) => event.key === 'Enter' && this.branch());
    this.stateButtons = h('span', { class: 'dv-seg', role: 'group', 'aria-label': 'other state' });
    this.branchButton = h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.branch() }, 'Branch here');
    this.form = h('div', { class: 'dv-whatif' }, h('span', {}, 'What if'), this.input, this.stateButtons, this.branchButton);
    return this.form;
  }

  /** A row of the predictions becomes the token to try. */
  choose(row) {
    const id = this.guesses?.[row];
    if (id == null || this.locked) return;
    this.chosen = id;
    this.editing = true;
    this.input.value = this.lane.word(id);
    if (this.wanted === 'M') this.setWanted(this.lane.about.states.includes('C') ? 'C' : 'U');
  }

  setWanted(letter) {
    this.wanted = letter;
    this.editing = true;
    for (const button of this.stateButtons.children) button.setAttribute('aria-pressed', String(button.dataset.state === letter));
  }

  branch() {
    if (this.locked) return;
    const { lane, frame, position } = this;
    const typed = this.input.value;
    const held = frame.states[position] ? lane.word(frame.tokens[position]) : '';
    const token = this.wanted === 'M' ? null : this.chosen ?? (typed === held || typed === '' ? null : typed);
    this.onBranch({ step: frame.index, position, token, state: this.wanted });
  }

  prepare() {
    this.width = this.inner.clientWidth;
    this.lifeHeight = this.life.clientHeight;
  }

  /** What every step says of the selected position. */
  need() {
    const { viewer } = this;
    const { lane } = viewer;
    return lane.fetchLife(viewer.state.position, viewer.host.ask && ((position) => viewer.ask('life', { position, steps: lane.last })));
  }

  paint() {
    const { lane, state, steps, theme } = this.viewer;
    const frame = lane.at(state.step);
    this.moved = this.frame !== frame || this.position !== state.position || this.lane !== lane;
    if (this.built !== lane.about) this.rebuild(lane);
    this.built = lane.about;
    Object.assign(this, { lane, frame, position: state.position });
    this.strips(frame.index ? lane.frames[frame.index - 1] : frame, theme);
    this.lifeLine(state.step, theme, state.hideLater, steps);
  }

  text() {
    return `Position ${this.position}, ${this.token.textContent}. ${this.why.textContent}`;
  }

  draw() {
    const { lane, frame, position } = this;
    const slice = frame.life[position];
    const state = LETTER[frame.states[position]];
    const fixed = !!lane.fixed[position];
    this.badge.dataset.s = state;
    this.badge.hidden = fixed;
    const ghost = state === 'M' && frame.revoked[position] ? lane.word(frame.ghost[position]) : null;
    const word = ghost ?? (state === 'M' ? '· · ·' : lane.word(frame.tokens[position]));
    if ((ghost != null) === !!this.token.firstElementChild) setText(this.token.firstElementChild || this.token, word);
    else put(this.token, ghost != null ? h('s', {}, word) : word);
    const bits = frame.marks[position];
    const own = Object.keys(frame.events).filter((name) => !MARKED.has(name) && frame.events[name].includes(position));
    const key = `${bits}/${frame.revoked[position]}/${own}`;
    if (this.eventKey !== key) {
      this.eventKey = key;
      put(this.events, eventsOf(bits).map((event) => h('span', { class: `dv-event dv-is-${event.letter}` }, mark(event, 10), event.name)),
        frame.revoked[position] && !(bits & 2) ? h('span', { class: 'dv-event dv-is-d' }, `revoked ×${frame.revoked[position]}`) : null,
        own.map((name) => h('span', { class: 'dv-event', title: lane.about.events[name]?.help }, `${lane.about.events[name]?.mark || ''} ${lane.about.events[name]?.title || name}`)));
    }
    setText(this.place, [...new Set([lane.place(position), `position ${position}`])].join(' · '));
    this.sentence(slice, frame, position, fixed);
    this.predictions(slice, frame, position, state, fixed);
    this.drawMore(slice, frame, position);
    this.contextWords();
    const confidence = frame.confidence[position] == null ? 'not measured' : two(frame.confidence[position]);
    this.line.setAttribute('aria-label', `life line of position ${position}: ${STATES[state]} at step ${frame.index}, confidence ${confidence}`);
    if (this.form) this.refill(frame, position, state, fixed, this.moved);
  }

  sentence(slice, frame, position, fixed) {
    const text = !frame.index ? (frame.marks[position] & 32 ? BEFORE.edited : fixed ? BEFORE.given(this.lane.head) : BEFORE.free) : slice?.y ?? '…';
    const cause = this.lane.causes.get(`${frame.index}/${position}`)?.because;
    const key = `${text}|${slice?.k || ''}|${cause || ''}`;
    if (this.whyKey === key) return;
    this.whyKey = key;
    put(this.why, cause ? [rich(text.slice(0, -1)), '; ', h('b', {}, rich(cause)), '.'] : rich(text), slice?.k ? h('span', { class: 'dv-warn' }, ' ', rich(slice.k)) : null);
    this.why.title = slice?.k ? `${text} ${slice.k}` : text;
    this.why.classList.toggle('dv-long', key.length > 215);
  }

  predictions(slice, frame, position, state, fixed) {
    const { lane } = this;
    const deciding = slice?.d;
    const source = slice?.paths?.[deciding];
    this.guesses = source ? source.filter((_, k) => k % 2 === 0) : [];
    const path = lane.about.paths.find((each) => each.name === deciding);
    setText(this.decides, fixed ? 'none: given' : !frame.index ? '' : !slice ? 'loading' : deciding ? path?.decides || '' : lane.about.unmeasured ? 'not measured' : 'not looked at in this step');
    for (const { column, value } of this.numbers) setText(value, two(Lane.value(frame, column.name, position)));
    const held = frame.states[position] ? frame.tokens[position] : -1;
    this.labels.forEach((label, row) => {
      const id = this.guesses[row];
      label.classList.toggle('dv-held', id != null && id === held);
      const word = id == null ? '' : lane.word(id);
      const key = `${fixed} ${id} ${word}`;
      if (label.drawn === key) return;
      label.drawn = key;
      setText(label.firstChild, word);
      if (this.onBranch) label.disabled = id == null || fixed;
      label.title = id != null && this.onBranch && !fixed ? `try ${word} in “What if”` : word;
    });
    for (const column of this.columns) this.fill(column, slice, deciding, state, held);
  }

  fill(column, slice, deciding, state, held) {
    const { lane } = this;
    const values = slice?.paths?.[column.key];
    const decides = column.key === deciding;
    column.box.classList.toggle('dv-decides', decides);
    column.none.hidden = !!values || !this.frame.index;
    setText(column.none, lane.about.unmeasured ? 'not measured' : 'not used');
    const key = values ? lane.about.thresholds : null;
    if (column.ticksFor !== key) {
      column.ticksFor = key;
      put(column.ticks, (key || []).filter((t) => !t.on || t.on === column.key).map((t) =>
        h('span', { class: 'dv-tick', style: { left: `${100 * t.at}%` } }, h('span', {}, rich(t.symbol)))));
    }
    const fifth = values ? values[values.length - 1] / 10000 : 0;
    column.rows.forEach(({ bar, value, row }, r) => {
      const id = this.guesses[r];
      const at = values && id != null ? values.findIndex((v, k) => k % 2 === 0 && v === id) : -1;
      const p = at >= 0 ? values[at + 1] / 10000 : null;
      const first = decides && id === held;
      const key = !values || id == null ? '' : `${p ?? `<${fifth}`}/${decides}/${first && state}`;
      if (column.drawn[r] === key) return;
      column.drawn[r] = key;
      row.hidden = !key;
      if (row.hidden) return;
      bar.style.width = `${100 * (p || 0)}%`;
      bar.dataset.s = first ? state : '';
      setText(value, (p ?? fifth) < 0.005 ? '<.01' : p == null ? `≤${twoShort(fifth)}` : twoShort(p));
      value.className = p == null ? 'dv-faint' : p > 0.6 ? 'dv-inside' : '';
      value.dataset.s = first && p > 0.6 ? state : '';
      value.style.setProperty('--p', `${100 * (p || 0)}%`);
      value.style.fontWeight = decides && r === 0 ? '650' : '';
    });
  }

  /** Which tokens the two queries of this position saw; filled: the token, dashed: only its mask. */
  strips(before, theme) {
    const { lane, frame, position, width } = this;
    const looks = this.looks();
    const high = looks ? 30 : 22;
    const g = sized(this.context, width, (lane.about.shadow ? 44 : 22) + (looks ? 18 : 0));
    const cell = (width - LABEL) / lane.length;
    const inner = cell > 5 ? cell - 2 : cell;
    const run = frame.index > 0;
    g.textBaseline = 'middle';
    (frame.mask && !frame.plain ? ['x', 's'] : ['x']).forEach((path, r) => {
      const y = r * high + 2;
      if (!run || (lane.about.unmeasured && !frame.mask)) return;
      const state = before.states[position];
      g.font = `11px ${theme.sans}`;
      g.fillStyle = theme.ink2;
      g.textAlign = 'right';
      const numbered = lane.about.states.includes('C') && frame.mask;
      g.fillText(`${path} query`, LABEL - (numbered ? 18 : 6), y + 9);
      if (numbered) {
        g.strokeStyle = theme.ink2;
        g.lineWidth = 1;
        g.beginPath();
        g.arc(LABEL - 9, y + 9, 6, 0, 7);
        g.stroke();
        g.textAlign = 'center';
        g.font = `9px ${theme.sans}`;
        g.fillText(String(state + 1 + (path === 's' ? 3 : 0)), LABEL - 9, y + 9.5);
      }
      const end = lane.about.later ? lane.length : frame.block[1];
      for (let j = 0; j < end; j++) {
        const x = LABEL + j * cell;
        const other = before.states[j];
        if (Lane.sees(frame, path, position, j)) {
          g.fillStyle = lane.fixed[j] ? theme.ink3 : other ? theme[LETTER[other]] : theme.line2;
          g.globalAlpha = lane.fixed[j] ? 0.55 : 1;
          g.fillRect(x, y, inner, looks ? 4 : 18);
          g.globalAlpha = 1;
          if (looks) {
            const weight = looks(path, position, j);
            g.fillStyle = theme.ink;
            g.globalAlpha = Math.sqrt(weight);
            g.fillRect(x, y + 4, inner, 14);
            g.globalAlpha = 1;
            g.font = `600 9px ${theme.sans}`;
            g.textAlign = 'center';
            if (weight >= 0.05 && cell > 12) g.fillText(twoShort(weight), x + inner / 2, y + 23.5);
          } else if (cell > 12 && !lane.fixed[j]) {
            g.fillStyle = other ? theme[`${LETTER[other]}-on`] : theme.ink;
            g.font = `600 9px ${theme.sans}`;
            g.textAlign = 'center';
            g.fillText(LETTER[other], x + inner / 2, y + 9.5);
          }
        } else if (cell > 5) {
          g.strokeStyle = theme.line2;
          g.lineWidth = 1;
          g.setLineDash([2, 2]);
          g.strokeRect(x + 0.5, y + 0.5, inner - 1, 17);
          g.setLineDash([]);
        }
        if (j === position) {
          g.strokeStyle = theme.ink;
          g.lineWidth = 1.5;
          g.strokeRect(x - 0.5, y - 0.5, Math.max(3, inner + 1), 19);
        }
      }
    });
  }

  /** In the view of attention: how much the query of a position looks at the token at another, in the layer in view. */
  looks() {
    const { lane, frame, viewer } = this;
    const found = viewer.state.attention >= 0 && frame.mask && lane.looks.get(frame.index);
    if (!found) return null;
    const weights = found[viewer.state.attention ? viewer.state.attention - 1 : found.length - 1];
    const [start, end] = frame.block;
    const size = end - start;
    return (path, i, j) => (j < start || j >= end || i < start || i >= end ? 0 : weights[(i - start + (path === 's' ? size : 0)) * 2 * size + j - start] / 10000);
  }

  /** The largest weights of the shadow's row, in words. */
  lookWords(looks) {
    const { lane, frame, position, viewer } = this;
    const before = lane.frames[frame.index - 1];
    const seen = [...Array(lane.length).keys()].map((j) => [looks('s', position, j), j]).filter(([weight]) => weight >= 0.05).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const named = seen.map(([weight, j]) => `'${before.states[j] ? lane.word(before.tokens[j]) : `mask ${j}`}' ${twoShort(weight)}`).join(', ');
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
      setText(this.contextNote, `attention, ${this.viewer.state.attention ? `layer ${this.viewer.state.attention}` : 'mean of all layers'}`);
      return;
    }
    setText(this.contextNote, !frame.index ? 'no pass yet' : frame.mask ? 'filled: sees the token · dashed: its mask'
      : lane.about.unmeasured ? 'not recorded' : lane.about.shadow ? 'no shadow in this pass: all visible'
        : lane.about.later ? 'everything is visible' : 'everything up to the end of the block');
  }

  /** Confidence over the steps, on bands of the states it means. */
  lifeLine(step, theme, hideLater, last) {
    const { lane, position, width } = this;
    const height = Math.max(70, this.lifeHeight || 126);
    const g = sized(this.line, width, height);
    const bottom = height - 14;
    const left = 22;
    const room = width - left - 8;
    const x = (k) => left + 8 + (last ? k / last : 0) * (room - 16);
    const y = (c) => 11 + (1 - c) * (bottom - 13);
    this.stepAt = (px) => Math.max(0, Math.min(lane.last, Math.round(((px - left - 8) / (room - 16)) * last)));
    const bands = lane.about.thresholds.filter((threshold) => threshold.enters).sort((a, b) => a.at - b.at);
    g.textBaseline = 'middle';
    g.textAlign = 'center';
    const band = (fill, a, b, letter) => {
      g.fillStyle = fill;
      const up = b === 1 ? 9 : 0;
      g.fillRect(left, y(b) - up, room, y(a) - y(b) + up);
      this.letter(g, letter, 8, (y(a) + y(b) - up) / 2, theme);
    };
    if (bands.length) {
      bands.forEach(({ at, enters }, k) => {
        const to = bands[k + 1]?.at ?? 1;
        if (to > at || to === 1) band(theme[`${enters}-rest`], at, to, enters);
      });
      band(theme.sunk, 0, bands[0].at, 'M');
    } else {
      g.fillStyle = theme.sunk;
      g.fillRect(left, 2, room, bottom - 2);
      g.fillStyle = theme.ink3;
      g.font = `10px ${theme.sans}`;
      for (const [value, name] of [[1, '1'], [0, '0']]) g.fillText(name, 14, y(value));
    }
    g.setLineDash([2, 2]);
    g.lineWidth = 1;
    g.strokeStyle = theme.ink3;
    for (const threshold of lane.about.thresholds) segment(g, left, y(threshold.at), left + room, y(threshold.at));
    g.setLineDash([]);
    const now = Math.min(step, lane.last);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    segment(g, x(now), 2, x(now), bottom);
    if (!lane.fixed[position]) this.points(g, now, hideLater ? now : lane.last, x, y, theme, last);
    if (step && lane.frames[now].confidence[position] == null) {
      g.textAlign = 'left';
      g.fillStyle = theme.ink2;
      g.font = `11px ${theme.sans}`;
      g.fillText('confidence not measured', left + 8, bottom - 9);
    }
    g.font = `10px ${theme.sans}`;
    g.textAlign = 'center';
    const every = [1, 2, 4, 8, 16, 32, 64, 128].find((n) => (n / Math.max(1, last)) * (room - 16) >= 20) || 256;
    for (let k = 0; k <= last; k += every) {
      g.fillStyle = k === now ? theme.ink : theme.ink3;
      g.font = `${k === now ? '700 ' : ''}10px ${theme.sans}`;
      g.fillText(String(k), x(k), bottom + 8);
    }
  }

  points(g, now, until, x, y, theme, last) {
    const { lane, position } = this;
    const frames = lane.frames;
    const radius = last > 20 ? 2.5 : 4;
    const value = (k) => frames[k].confidence[position];
    const known = (k) => k > 0 && value(k) != null && (value(k) > 0 || frames[k].states[position] > 0 || (frames[k].marks[position] & 2) > 0);
    for (const [from, to, dash, colour, width] of [[1, now, [], theme.ink, 1.5], [Math.max(1, now), until, [3, 2], theme.ink3, 1]]) {
      g.setLineDash(dash);
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      let drawing = false;
      for (let k = from; k <= to; k++) {
        if (!known(k)) continue;
        if (drawing) g.lineTo(x(k), y(value(k)));
        else g.moveTo(x(k), y(value(k)));
        drawing = true;
      }
      g.stroke();
    }
    g.setLineDash([]);
    let token = null;
    let free = -99; // from here on there is no name yet
    for (let k = 1; k <= until; k++) {
      if (!known(k)) continue;
      const frame = frames[k];
      const [px, py, state] = [x(k), y(value(k)), frame.states[position]];
      const revoked = frame.marks[position] & 2;
      g.globalAlpha = k > now ? 0.45 : 1;
      g.lineWidth = 1;
      g.strokeStyle = theme.panel;
      g.fillStyle = state ? theme[LETTER[state]] : theme.panel;
      g.beginPath();
      if (state === 1) {
        const r = radius + 1.4;
        g.moveTo(px, py - r);
        g.lineTo(px + r, py);
        g.lineTo(px, py + r);
        g.lineTo(px - r, py);
        g.closePath();
      } else if (state === 2) g.arc(px, py, radius + 0.6, 0, 7);
      else {
        g.rect(px - radius, py - radius, 2 * radius, 2 * radius);
        g.strokeStyle = revoked ? theme.scar : theme.M;
        g.lineWidth = 1.4;
      }
      g.fill();
      g.stroke();
      g.font = `11px ${theme.mono}`;
      const write = (text, tx, ty, align, colour) => {
        g.textAlign = align;
        g.lineJoin = 'round';
        g.strokeStyle = theme.panel;
        g.lineWidth = 2.5;
        g.strokeText(text, tx, ty);
        g.fillStyle = colour;
        g.fillText(text, tx, ty);
      };
      const short = (id) => {
        const text = lane.word(id);
        return text.length > 14 ? `${text.slice(0, 13)}…` : text;
      };
      g.globalAlpha = k > now ? 0.6 : 1;
      const edge = k === last ? 'right' : k === 1 && last > 4 ? 'left' : 'center';
      const name = state && frame.tokens[position] !== token ? short(frame.tokens[position]) : '';
      const from = px - { left: 0, center: 0.5, right: 1 }[edge] * g.measureText(name).width;
      if (name && from > free) {
        token = frame.tokens[position];
        free = from + g.measureText(name).width + 5;
        write(name, px + (k === last ? -2 : 0), py < 20 ? py + 14 : py - 11, edge, theme.ink);
      } else if (revoked) {
        const text = short(frame.ghost[position]);
        const wide = g.measureText(text).width;
        const at = px + 9 + wide > this.width ? px - 9 - wide : px + 9;
        write(text, at, py, 'left', theme['demoted-t']);
        g.strokeStyle = theme['demoted-t'];
        g.lineWidth = 1.2;
        segment(g, at, py, at + wide, py);
        token = null;
      }
      g.globalAlpha = 1;
    }
  }

  letter(g, letter, x, y, theme) {
    g.beginPath();
    if (letter === 'U') g.arc(x, y, 6, 0, 7);
    else if (letter === 'C') {
      g.moveTo(x, y - 7.5);
      g.lineTo(x + 7.5, y);
      g.lineTo(x, y + 7.5);
      g.lineTo(x - 7.5, y);
      g.closePath();
    } else g.rect(x - 5.5, y - 5.5, 11, 11);
    g.fillStyle = g.strokeStyle = theme[letter];
    if (letter === 'M') {
      g.setLineDash([2, 1.6]);
      g.lineWidth = 1.2;
      g.stroke();
      g.setLineDash([]);
    } else g.fill();
    g.fillStyle = letter === 'M' ? theme.ink2 : theme[`${letter}-on`];
    g.font = `700 8.6px ${theme.sans}`;
    g.fillText(letter, x, y + 0.5);
  }

  refill(frame, position, state, fixed, moved) {
    const { lane } = this;
    this.locked = fixed;
    this.form.classList.toggle('dv-locked', fixed);
    this.input.disabled = this.branchButton.disabled = fixed;
    if (this.stateButtons.dataset.of !== lane.about.states) {
      this.stateButtons.dataset.of = lane.about.states;
      put(this.stateButtons, [...lane.about.states].map((letter) =>
        h('button', {
          type: 'button', 'data-state': letter, 'aria-label': STATES[letter], title: STATES[letter], onclick: () => this.setWanted(letter),
        }, letter)));
    }
    for (const button of this.stateButtons.children) button.disabled = fixed;
    if (!moved) return;
    this.chosen = null;
    this.input.value = state === 'M' || fixed ? '' : lane.word(frame.tokens[position]);
    this.input.placeholder = fixed ? 'given' : 'token';
    this.setWanted(state);
    this.editing = false;
  }
}
