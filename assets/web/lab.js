// The Lab tab: the paper's experiments, small. A chart that grows while it runs; a click on a point lists the decodes
// behind it, and each of them opens in Compare.
//
// `mountLab(root, bridge, config)`; for `bridge` see bridge.js, `config` is visual/lab.py's offer().

import { h, put, setText } from './dom.js';
import { save } from './files.js';
import { createAddress, numberFrom, openComparison, parameter } from './links.js';
import { createProjectorButton } from './projector.js';
import { rich } from './symbols.js';
import { createThemeButton } from './theme.js';

export function mountLab(root, bridge, config) {
  let lab = null; // the results on screen, as the server knows them
  let running = false;
  let stopping = false; // Stop was pressed, perhaps before the server has said how the run is called
  let drawn = null; // the figure on screen
  let point = null; // the variant whose runs are listed

  const select = (label, entries) => h('select', { class: 'dv-select', 'aria-label': label }, entries.map(({ name, title }) => h('option', { value: name }, title)));
  const experiment = select('Experiment', config.experiments);
  const task = select('Task', config.tasks);
  const model = select('Model', config.models.map((name) => ({ name, title: name })));
  const samples = h('input', { class: 'dv-input dx-number', type: 'number', min: 1, max: config.samples, value: 16, 'aria-label': 'Samples' });
  const seed = h('input', { class: 'dv-input dx-number', type: 'number', min: 0, value: 0, 'aria-label': 'Seed' });
  const start = h('button', { class: 'dv-btn dv-primary', type: 'submit' }, 'Run experiment');
  const stop = h('button', { class: 'dv-btn', type: 'button', hidden: true, onclick: () => { stopping = true; halt(); } }, 'Stop');
  const rows = h('button', { class: 'dv-btn dv-mini', type: 'button', onclick: () => download('rows') }, 'Download rows (.jsonl)');
  const tablesFile = h('button', { class: 'dv-btn dv-mini', type: 'button', onclick: () => download('tables') }, 'Download tables (.md)');
  const bar = h('progress', { class: 'dx-bar', max: 1, value: 0, hidden: true, 'aria-label': 'Progress' });
  const status = h('span', { class: 'dx-status', role: 'status' });
  const shows = h('p', { class: 'dx-shows' });
  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const about = h('p', { class: 'dx-about' });
  const command = h('code', { class: 'dx-command', hidden: true });
  const chart = h('div', { class: 'dx-chart', role: 'img', 'aria-label': 'Chart' });
  const tables = h('div', { class: 'dx-tables' });
  const runs = h('section', { class: 'dv-panel dx-runs', 'aria-label': 'Runs behind a point', hidden: true });

  root.classList.add('dv', 'dw', 'dx');
  put(root,
    h('div', { class: 'dw-tools' }, createProjectorButton(), createThemeButton(() => drawn && drawChart(drawn))),
    h('form', { class: 'dw-row dx-form', novalidate: true, onsubmit: (event) => { event.preventDefault(); run(); } },
      h('label', {}, 'Experiment ', experiment), h('label', {}, 'Task ', task), config.models.length > 1 && h('label', {}, 'Model ', model),
      !bridge.recorded && [h('label', {}, 'Samples ', samples), h('label', {}, 'Seed ', seed), start], stop, bar, status),
    shows, message,
    h('div', { class: 'dx-frame' },
      h('section', { class: 'dv-panel dx-results', 'aria-label': 'Results' },
        h('div', { class: 'dx-head' }, about, h('span', { class: 'dv-grow' }), rows, tablesFile), command, chart, tables),
      runs));

  function chosen() {
    return config.experiments.find(({ name }) => name === experiment.value);
  }

  // The address holds the experiment, its task, how much of it is run, and the point whose runs are listed.
  const address = createAddress(root, 'Lab', () => ({
    place: [experiment.value, task.value],
    values: { lab: experiment.value, task: task.value, samples: samples.value, seed: seed.value, point: point ?? undefined },
  }), (_, same) => {
    const names = (entries) => entries.map(({ name }) => name);
    const pick = (box, name, known) => { if (known.includes(parameter(name))) box.value = parameter(name); };
    const wanted = parameter('point');
    if (!same) {
      pick(experiment, 'lab', names(config.experiments));
      task.value = chosen().task;
      pick(task, 'task', names(config.tasks));
      samples.value = numberFrom(parameter('samples'), samples.value);
      seed.value = numberFrom(parameter('seed'), seed.value);
    }
    address.hold();
    (same ? Promise.resolve() : choose(true)).then(() => (wanted && lab ? openRuns(wanted) : closeRuns())).then(address.rest);
  });

  /** Another experiment: its own task, and the recorded results if there are any. */
  async function choose(keepTask = false) {
    const { paper, shows: sentence, task: own } = chosen();
    if (!keepTask) task.value = own;
    put(shows, rich(`${sentence[0].toUpperCase()}${sentence.slice(1)}. In the paper: ${paper}.`));
    address.remember();
    if (running) return;
    const stem = `${experiment.value}-${task.value}`;
    clear(config.recorded.includes(stem) ? '' : `Nothing is recorded for this experiment on this task${bridge.recorded ? '' : '; run it'}.`);
    if (!config.recorded.includes(stem)) return;
    const reply = await bridge.call('lab_recorded', { stem });
    if (!running && stem === `${experiment.value}-${task.value}`) hear(reply);
  }

  /** Nothing on screen but a sentence. */
  function clear(sentence) {
    lab = drawn = null;
    setText(about, sentence);
    command.hidden = rows.hidden = tablesFile.hidden = true;
    put(tables);
    window.Plotly?.purge(chart);
    delete chart.dataset.listening;
    closeRuns();
  }

  function run() {
    if (running) return;
    running = true;
    stopping = false;
    complain(null);
    clear('');
    draw();
    const request = { action: 'experiment', experiment: experiment.value, task: task.value, model: model.value, samples: number(samples), seed: number(seed) };
    bridge.ask(request, (reply) => {
      if (reply.kind !== 'end') return hear(reply);
      running = false;
      draw();
    });
  }

  function halt() {
    if (lab) bridge.call('lab_stop', { lab });
  }

  const number = (input) => (input.value === '' ? null : Number(input.value));

  function hear(reply) {
    if (reply.kind === 'error') return complain(reply.text);
    if (reply.kind === 'waiting') return setText(status, reply.text);
    if (!running && reply.kind === 'progress') return;
    lab = reply.lab;
    if (running && stopping) halt();
    bar.value = reply.done / Math.max(1, reply.total);
    setText(status, running ? `${reply.done} of ${reply.total}` : '');
    if (reply.kind !== 'results') return;
    setText(about, reply.about);
    setText(command, reply.command || '');
    command.hidden = !reply.command;
    rows.hidden = !reply.files.includes('rows');
    tablesFile.hidden = !reply.files.includes('tables');
    put(tables, reply.tables.map(tableOf));
    if (reply.figure) drawChart(reply.figure);
  }

  function draw() {
    start.disabled = running;
    stop.hidden = bar.hidden = !running;
    if (!running) setText(status, '');
  }

  function complain(text) {
    message.hidden = !text;
    setText(message, text || '');
  }

  function tableOf({ caption, columns, rows: lines, variants }) {
    const first = (line, n) => (variants[n] ? h('button', { class: 'dw-link', type: 'button', onclick: () => openRuns(variants[n]) }, rich(line[0])) : rich(line[0]));
    return h('div', { class: 'dx-table' }, h('table', { class: 'dw-table' },
      h('caption', {}, rich(caption)),
      h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, rich(name))))),
      h('tbody', {}, lines.map((line, n) => h('tr', {}, h('th', { scope: 'row' }, first(line, n)), line.slice(1).map((cell) => h('td', {}, rich(cell))))))));
  }

  // The chart.

  async function drawChart(figure) {
    drawn = figure;
    let Plotly = null;
    try {
      Plotly = await plotly(bridge);
    } catch {
      return complain('The chart library did not arrive; the tables below hold the same numbers.');
    }
    if (drawn !== figure || !root.isConnected) return;
    const ink = getComputedStyle(root).getPropertyValue('--dv-ink').trim();
    const narrow = chart.clientWidth < 600 && { legend: { orientation: 'h', y: -0.25 }, margin: { l: 45, r: 8, t: 40, b: 40 } };
    const font = { ...figure.layout.font, color: ink, size: narrow ? 10 : 12 };
    const title = { ...figure.layout.title, font: { size: 13 } };
    const layout = { ...figure.layout, ...narrow, autosize: true, height: narrow ? 480 : 420, font, title };
    await Plotly.react(chart, withSubscripts(figure.data), withSubscripts(layout), { displaylogo: false });
    if (chart.dataset.listening) return;
    chart.dataset.listening = 'yes';
    chart.on('plotly_click', ({ points }) => {
      const variant = [points[0]?.customdata].flat()[0];
      if (typeof variant === 'string') openRuns(variant);
    });
  }

  // The decodes behind a point.

  async function openRuns(variant) {
    const reply = await bridge.call('lab_runs', { lab, variant });
    if (reply.kind === 'error') return complain(reply.text);
    complain(null);
    point = variant;
    address.remember();
    runs.hidden = false;
    const wrong = reply.runs.filter((each) => each.right === false).length;
    put(runs, h('div', { class: 'dx-head' }, h('h2', {}, rich(variant)), h('span', { class: 'dv-sub' }, `${reply.runs.length} runs, ${wrong} wrong`),
      h('span', { class: 'dv-grow' }), h('button', { class: 'dv-btn dv-mini', type: 'button', 'aria-label': 'close', onclick: closeRuns }, '×')),
    h('ol', { class: 'dx-list' }, reply.runs.map((each) => h('li', {},
      h(bridge.recorded ? 'span' : 'button', { class: 'dx-run', ...(!bridge.recorded && { type: 'button', title: 'Open in Compare', onclick: () => compare(reply.model, each) }) },
        h('b', {}, each.right == null ? `#${each.sample}` : each.right ? '✓' : '✗'), h('span', {}, each.prompt), h('span', { class: 'dx-text' }, each.text))))));
    runs.querySelector('button').focus();
  }

  function closeRuns() {
    point = null;
    runs.hidden = true;
    address.remember();
  }

  function compare(name, { prompt, lanes }) {
    openComparison({ prompt, model: config.models.includes(name) ? name : model.value, lanes });
  }

  async function download(kind) {
    const reply = await bridge.call('lab_file', { lab, kind });
    if (reply.kind === 'error') complain(reply.text);
    else save(reply);
  }

  experiment.addEventListener('change', () => choose());
  task.addEventListener('change', () => choose(true));
  new ResizeObserver(() => drawn && window.Plotly?.Plots.resize(chart)).observe(chart); // the list of runs takes room from it
  draw();
  address.open();
}

/** A figure's texts with τ_c written as it should be; the names its points are known by stay as they are. */
function withSubscripts(part) {
  if (typeof part === 'string') return part.replace(/τ_?([cu12])/gu, 'τ<sub>$1</sub>');
  if (Array.isArray(part)) return part.map(withSubscripts);
  if (part === null || typeof part !== 'object') return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, key === 'customdata' ? value : withSubscripts(value)]));
}

let loading = null;

/** The chart library, fetched from this server when the first chart is to be drawn. */
function plotly(bridge) {
  loading ??= bridge.call('plotly', {}).then((reply) => {
    if (reply.kind !== 'script') throw new Error('no script');
    document.head.append(h('script', {}, reply.text));
    return window.Plotly;
  });
  loading.catch(() => { loading = null; });
  return loading;
}
