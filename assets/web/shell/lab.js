// The Lab tab: the paper's experiments, small, and results from files. A chart that grows while it runs; a click on a point
// lists the decodes behind it, and each of them opens in Watch, or in Compare beside other decoders'.
//
// `mountLab(root, bridge, config)`; for `bridge` see bridge.js, `config` is visual/server/lab.py's offer().

import { h, put, setText } from '../draw/dom.js';
import { save } from './files.js';
import { createAddress, numberFrom, openComparison, openIn, parameter } from '../data/links.js';
import { createProjectorButton } from './projector.js';
import { rich } from '../draw/symbols.js';
import { Chart } from './chart.js';
import { lineOf, pathOf, resultFiles, tableOf } from './results.js';
import { createThemeButton } from './theme.js';

const SORTS = { number: 'in order', revocations: 'most revocations', passes: 'most passes', ended: 'how it ended' };

export function mountLab(root, bridge, config) {
  let lab = null; // the results on screen, as the server knows them
  let running = false;
  let stopping = false; // Stop was pressed, perhaps before the server has said how the run is called
  let point = null; // the variant whose runs are listed; '' for all
  let opened = null; // the traces that came with opened results, by folder and name; null for an experiment of this page

  const select = (label, entries) =>
    h(
      'select',
      { class: 'dv-select', 'aria-label': label },
      entries.map(({ name, title }) => h('option', { value: name }, title)),
    );
  const experiment = select('Experiment', config.experiments);
  const task = select('Task', config.tasks);
  const model = select(
    'Model',
    config.models.map((name) => ({ name, title: name })),
  );
  const samples = h('input', {
    class: 'dv-input dx-number',
    type: 'number',
    min: 1,
    max: config.samples,
    value: 16,
    'aria-label': 'Samples',
  });
  const seed = h('input', { class: 'dv-input dx-number', type: 'number', min: 0, value: 0, 'aria-label': 'Seed' });
  const start = h('button', { class: 'dv-btn dv-primary', type: 'submit' }, 'Run experiment');
  const stop = h(
    'button',
    {
      class: 'dv-btn',
      type: 'button',
      hidden: true,
      onclick: () => {
        stopping = true;
        halt();
      },
    },
    'Stop',
  );
  const every = h(
    'button',
    { class: 'dv-btn dv-mini', type: 'button', hidden: true, onclick: () => openRuns('') },
    'All samples',
  );
  const rows = h(
    'button',
    { class: 'dv-btn dv-mini', type: 'button', onclick: () => download('rows') },
    'Download rows (.jsonl)',
  );
  const tablesFile = h(
    'button',
    { class: 'dv-btn dv-mini', type: 'button', onclick: () => download('tables') },
    'Download tables (.md)',
  );
  const picker = (label, more) =>
    h('input', {
      type: 'file',
      multiple: true,
      hidden: true,
      'aria-label': label,
      onchange: ({ target }) => {
        openFiles([...target.files]);
        target.value = '';
      },
      ...more,
    });
  const files = picker('Results files', { accept: '.jsonl,.json,.gz' });
  const folder = picker('Results folder', { webkitdirectory: true });
  const openers = [
    [files, 'Open results'],
    [folder, 'Open folder'],
  ].map(([input, label]) => [
    h('button', { class: 'dv-btn', type: 'button', onclick: () => input.click() }, label),
    input,
  ]);
  const bar = h('progress', { class: 'dx-bar', max: 1, value: 0, hidden: true, 'aria-label': 'Progress' });
  const status = h('span', { class: 'dx-status', role: 'status' });
  const shows = h('p', { class: 'dx-shows' });
  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const about = h('p', { class: 'dx-about' });
  const command = h('code', { class: 'dx-command', hidden: true });
  const chart = new Chart(bridge, (variant) => openRuns(variant));
  const tables = h('div', { class: 'dx-tables' });
  const title = h('h2', {});
  const count = h('span', { class: 'dv-sub', role: 'status' });
  const list = h('ol', { class: 'dx-list' });
  const which = select('Variant', []);
  const only = select(
    'Which are shown',
    config.only.map((name) => ({ name, title: name })),
  );
  const sort = select(
    'Sort by',
    config.sorts.map((name) => ({ name, title: SORTS[name] ?? name })),
  );
  const search = h('input', {
    class: 'dv-input',
    type: 'search',
    placeholder: 'find',
    maxlength: 100,
    'aria-label': 'Find',
  });
  const runs = h(
    'section',
    { class: 'dv-panel dx-runs', 'aria-label': 'Decodes', hidden: true },
    h(
      'div',
      { class: 'dx-head' },
      title,
      count,
      h('span', { class: 'dv-grow' }),
      h('button', { class: 'dv-btn dv-mini', type: 'button', 'aria-label': 'close', onclick: () => closeRuns() }, '×'),
    ),
    !bridge.recorded && h('div', { class: 'dx-head dx-filters' }, which, only, sort, search),
    list,
  );

  root.classList.add('dv', 'dw', 'dx');
  put(
    root,
    h(
      'div',
      { class: 'dw-tools' },
      !bridge.recorded && openers,
      createProjectorButton(),
      createThemeButton(() => chart.figure && drawChart(chart.figure)),
    ),
    h(
      'form',
      {
        class: 'dw-row dx-form',
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          run();
        },
      },
      h('label', {}, 'Experiment ', experiment),
      h('label', {}, 'Task ', task),
      config.models.length > 1 && h('label', {}, 'Model ', model),
      !bridge.recorded && [h('label', {}, 'Samples ', samples), h('label', {}, 'Seed ', seed), start],
      stop,
      bar,
      status,
    ),
    shows,
    message,
    h(
      'div',
      { class: 'dx-frame' },
      h(
        'section',
        { class: 'dv-panel dx-results', 'aria-label': 'Results' },
        h('div', { class: 'dx-head' }, about, h('span', { class: 'dv-grow' }), every, rows, tablesFile),
        command,
        chart.box,
        tables,
      ),
      runs,
    ),
  );

  function chosen() {
    return config.experiments.find(({ name }) => name === experiment.value);
  }

  // The address holds the experiment, its task, how much of it is run, and the point whose runs are listed.
  const address = createAddress(
    root,
    'Lab',
    () => ({
      place: [experiment.value, task.value],
      values: {
        lab: experiment.value,
        task: task.value,
        samples: samples.value,
        seed: seed.value,
        point: opened ? undefined : (point ?? undefined),
      },
    }),
    (_, same) => {
      const names = (entries) => entries.map(({ name }) => name);
      const pick = (box, name, known) => {
        if (known.includes(parameter(name))) box.value = parameter(name);
      };
      const wanted = parameter('point');
      if (!same) {
        pick(experiment, 'lab', names(config.experiments));
        task.value = chosen().task;
        pick(task, 'task', names(config.tasks));
        samples.value = numberFrom(parameter('samples'), samples.value);
        seed.value = numberFrom(parameter('seed'), seed.value);
      }
      address.hold();
      (same ? Promise.resolve() : choose(true))
        .then(() => (opened ? null : wanted !== null && lab ? openRuns(wanted) : closeRuns()))
        .then(address.rest);
    },
  );

  /** What the chosen experiment shows. */
  function introduce() {
    const { paper, shows: sentence } = chosen();
    put(shows, rich(`${sentence[0].toUpperCase()}${sentence.slice(1)}. In the paper: ${paper}.`));
  }

  /** Another experiment: its own task, and the recorded results if there are any. */
  async function choose(keepTask = false) {
    if (!keepTask) task.value = chosen().task;
    introduce();
    address.remember();
    if (running) return;
    const stem = `${experiment.value}-${task.value}`;
    clear(
      config.recorded.includes(stem)
        ? ''
        : `Nothing is recorded for this experiment on this task${bridge.recorded ? '' : '; run it'}.`,
    );
    if (!config.recorded.includes(stem)) return;
    const reply = await bridge.call('lab_recorded', { stem });
    if (!running && !opened && stem === `${experiment.value}-${task.value}`) hear(reply);
  }

  /** Nothing on screen but a sentence. */
  function clear(sentence) {
    lab = opened = null;
    root.classList.remove('dx-only');
    setText(about, sentence);
    command.hidden = every.hidden = rows.hidden = tablesFile.hidden = true;
    put(tables);
    chart.clear();
    closeRuns();
  }

  function run() {
    if (running) return;
    running = true;
    stopping = false;
    complain(null);
    clear('');
    draw();
    const request = {
      action: 'experiment',
      experiment: experiment.value,
      task: task.value,
      model: model.value,
      samples: number(samples),
      seed: number(seed),
    };
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
    root.classList.toggle('dx-only', !reply.figure && reply.done > 0);
    rows.hidden = !reply.files.includes('rows');
    tablesFile.hidden = !reply.files.includes('tables');
    every.hidden = bridge.recorded || !reply.variants.length;
    put(
      which,
      ['', ...reply.variants].map((name) => h('option', { value: name }, name.replaceAll('τ_', 'τ') || 'all variants')),
    );
    which.value = point ?? '';
    put(
      tables,
      reply.tables.map((table) => tableOf(table, (variant) => openRuns(variant))),
    );
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

  const drawChart = (figure) => chart.draw(figure).catch((error) => complain(error.message));

  // The decodes behind a point.

  async function openRuns(variant, shown = runs.hidden ? 'all' : only.value) {
    only.value = shown;
    point = variant;
    which.value = variant;
    if (await listRuns()) runs.querySelector('button').focus();
  }

  /** The samples that the filters ask for. */
  async function listRuns() {
    const asked = { lab, variant: point, only: only.value, sort: sort.value, text: search.value };
    const reply = await bridge.call('lab_runs', asked);
    if (reply.kind === 'error') return complain(reply.text);
    if (asked.variant !== point || asked.lab !== lab) return false;
    complain(null);
    address.remember();
    runs.hidden = false;
    put(title, rich(point || 'All samples'));
    setText(
      count,
      `${reply.all} runs, ${reply.wrong} wrong${reply.count > reply.runs.length ? `; the first ${reply.runs.length} of ${reply.count}` : reply.count < reply.all ? `; ${reply.count} listed` : ''}`,
    );
    put(
      list,
      reply.runs.map((each) =>
        h(
          'li',
          {},
          bridge.recorded
            ? h('span', { class: 'dx-run' }, lineOf(each, point))
            : [
                h(
                  'button',
                  { class: 'dx-run', type: 'button', title: 'Open in Watch', onclick: () => watch(each) },
                  lineOf(each, point),
                ),
                h(
                  'button',
                  {
                    class: 'dw-link',
                    type: 'button',
                    'aria-label': `Compare sample ${each.item}`,
                    title: 'Other decoders on the same, in Compare',
                    onclick: () => compare(each),
                  },
                  'Compare',
                ),
              ],
        ),
      ),
    );
    return true;
  }

  function closeRuns() {
    point = null;
    runs.hidden = true;
    address.remember();
  }

  const known = (name) => (config.models.includes(name) ? name : model.value);

  /** The traces of a sample among the files that were opened; null if one is not there. */
  function tracesOf(found) {
    const there = found.map(
      ([place, name]) => opened?.get(`${place}/${config.run.traces}/${name}`) ?? opened?.get(name),
    );
    if (there.every(Boolean)) return there;
    complain(
      `The decode of this sample is in ${config.run.traces}/${found[0][1]}; open the folder of the run to have it at hand.`,
    );
    return null;
  }

  function watch({ trace, folder: place, variant, asked, model: name, lanes: [{ decoder, settings }] }) {
    if (!trace && asked === null) return complain('This sample was not decoded.');
    if (!trace) return openIn('Watch', { prompt: asked, model: known(name), decoder, settings });
    const [file] = tracesOf([[place, trace]]) ?? [];
    if (file) openIn('Watch', { files: [file], names: [variant] });
  }

  function compare({ traces, names, asked, model: name, lanes }) {
    if (!traces.length && asked === null) return complain('This sample was not decoded.');
    if (!traces.length) return openComparison({ prompt: asked, model: known(name), lanes });
    const found = tracesOf(traces);
    if (found) openIn('Compare', { files: found, names });
  }

  // Results from files: of an experiment, or of a run of lm-eval with its run.json and its traces.

  async function openFiles(found) {
    if (running || !found.length) return;
    const sent = await resultFiles(found, config).catch((error) => complain(error.message));
    if (!sent) return;
    const reply = await bridge.call('lab_open', { files: sent });
    if (reply.kind === 'error') return complain(reply.text);
    complain(null);
    clear('');
    // What is said above is said of what was opened; samples of an evaluation are of no experiment.
    const [name, own] = reply.of ?? [];
    if (config.experiments.some((each) => each.name === name)) experiment.value = name;
    if (config.tasks.some((each) => each.name === own)) task.value = own;
    if (name) introduce();
    else put(shows);
    const traces = [...found].filter(({ name }) => /\.json(\.gz)?$/.test(name));
    opened = new Map(traces.map((file) => [pathOf(file), file]));
    hear(reply);
    openRuns('', 'wrong');
  }

  async function download(kind) {
    const reply = await bridge.call('lab_file', { lab, kind });
    if (reply.kind === 'error') complain(reply.text);
    else save(reply);
  }

  which.addEventListener('change', () => {
    point = which.value;
    listRuns();
  });
  for (const box of [only, sort, search]) box.addEventListener('change', listRuns);
  experiment.addEventListener('change', () => choose());
  task.addEventListener('change', () => choose(true));
  draw();
  address.open();
}
