// The Lab tab: the paper's experiments, small, and results from files. A chart that grows while it runs; a click on a point
// lists the decodes behind it, and each of them opens in Watch, or in Compare beside other decoders'.
//
// `mountLab(root, bridge, config)`; for `bridge` see bridge.js, `config` is visual/server/lab.py's offer().

import { h, put, sentenceOf, setText } from '../draw/dom.js';
import { received, save } from './files.js';
import { createAddress, numberFrom, parameter } from '../data/links.js';
import { createProjectorButton } from './projector.js';
import { rich } from '../draw/symbols.js';
import { Chart } from './chart.js';
import { pathOf, resultFiles, select, tableOf } from './results.js';
import { createRuns } from './runs.js';
import { createThemeButton } from './theme.js';

/** @import { Bridge, Refused, Results } from '../data/messages.js' */
/** @import { Figure, LabConfig } from './types.js' */
/** @typedef {{ kind: 'waiting', text: string } | { kind: 'end' }} Told what is said beside results */

/** @param {HTMLElement} root @param {Bridge} bridge @param {LabConfig} config */
export function mountLab(root, bridge, config) {
  /** @type {string | null} */
  let lab = null; // the results on screen, as the server knows them
  let running = false;
  let stopping = false; // Stop was pressed, perhaps before the server has said how the run is called
  /** @type {Map<string, File> | null} */
  let opened = null; // the traces that came with opened results, by folder and name; null for an experiment of this page

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
    { class: 'dv-btn dv-mini', type: 'button', hidden: true, onclick: () => runs.open('') },
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
  /** @param {string} name @param {string} label @param {object} which */
  const opener = (name, label, which) => {
    /** @type {HTMLInputElement} */
    const input = h('input', {
      type: 'file',
      multiple: true,
      hidden: true,
      'aria-label': label,
      onchange: () => {
        openFiles([...(input.files ?? [])]);
        input.value = '';
      },
      ...which,
    });
    return [h('button', { class: 'dv-btn', type: 'button', onclick: () => input.click() }, name), input];
  };
  const openers = [
    opener('Open results', 'Results files', { accept: '.jsonl,.json,.gz' }),
    opener('Open folder', 'Results folder', { webkitdirectory: true }),
  ];
  const bar = h('progress', { class: 'dx-bar', max: 1, value: 0, hidden: true, 'aria-label': 'Progress' });
  const status = h('span', { class: 'dx-status', role: 'status' });
  const shows = h('p', { class: 'dx-shows' });
  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const about = h('p', { class: 'dx-about' });
  const command = h('code', { class: 'dx-command', hidden: true });
  const chart = new Chart(bridge, (variant, only) => runs.open(variant, only));
  const tables = h('div', { class: 'dx-tables' });
  const runs = createRuns(bridge, config, {
    lab: () => lab,
    model: () => model.value,
    traces: () => opened,
    complain,
    onChange: () => address.remember(),
  });

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
      runs.box,
    ),
  );

  function chosen() {
    return config.experiments.find(({ name }) => name === experiment.value) ?? config.experiments[0];
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
        point: opened ? undefined : (runs.point() ?? undefined),
      },
    }),
    (_, same) => {
      /** @param {HTMLSelectElement} box @param {string} name @param {{ name: string }[]} known */
      const pick = (box, name, known) => {
        const value = parameter(name);
        if (known.some((each) => each.name === value)) box.value = value ?? '';
      };
      const wanted = parameter('point');
      if (!same) {
        pick(experiment, 'lab', config.experiments);
        task.value = chosen().task;
        pick(task, 'task', config.tasks);
        for (const [box, name] of /** @type {const} */ ([
          [samples, 'samples'],
          [seed, 'seed'],
        ]))
          box.value = String(numberFrom(parameter(name)) ?? box.value);
      }
      address.hold();
      (same ? Promise.resolve() : choose(true))
        .then(() => (opened ? null : wanted !== null && lab ? runs.open(wanted) : runs.close()))
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

  /** Nothing on screen but a sentence. @param {string} sentence */
  function clear(sentence) {
    lab = opened = null;
    root.classList.remove('dx-only');
    setText(about, sentence);
    command.hidden = every.hidden = rows.hidden = tablesFile.hidden = true;
    put(tables);
    chart.clear();
    runs.close();
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
    bridge.ask(request, (/** @type {Results | Refused | Told} */ reply) => {
      if (reply.kind !== 'end') return hear(reply);
      running = false;
      draw();
    });
  }

  function halt() {
    if (lab) bridge.call('lab_stop', { lab });
  }

  const number = (/** @type {HTMLInputElement} */ input) => (input.value === '' ? null : Number(input.value));

  /** @param {Results | Refused | Told} reply */
  function hear(reply) {
    if (reply.kind === 'error') return complain(reply.text);
    if (reply.kind === 'waiting') return setText(status, reply.text);
    if (reply.kind === 'end') return;
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
    every.hidden = !!bridge.recorded || !reply.variants.length;
    runs.offer(reply.variants, reply.only);
    put(
      tables,
      reply.tables.map((table) => tableOf(table, runs.open)),
    );
    if (reply.figure) drawChart(reply.figure);
  }

  function draw() {
    start.disabled = running;
    stop.hidden = bar.hidden = !running;
    if (!running) setText(status, '');
  }

  /** @param {string | null} text */
  function complain(text) {
    message.hidden = !text;
    setText(message, text || '');
  }

  const drawChart = (/** @type {Figure} */ figure) => chart.draw(figure).catch((error) => complain(sentenceOf(error)));

  // Results from files: of an experiment, or of a run of lm-eval with its run.json and its traces.

  /** @param {File[]} chosen */
  async function openFiles(chosen) {
    if (running || !chosen.length) return;
    const sent = await resultFiles(chosen, config).catch((error) => complain(sentenceOf(error)));
    if (!sent) return;
    const reply = await bridge.call('lab_open', { files: sent });
    if (reply.kind === 'error') return complain(reply.text);
    complain(null);
    clear('');
    // What is said above is said of what was opened; samples of an evaluation are of no experiment.
    const [name, own] = reply.of ?? [];
    if (name && config.experiments.some((each) => each.name === name)) experiment.value = name;
    if (own && config.tasks.some((each) => each.name === own)) task.value = own;
    if (name) introduce();
    else put(shows);
    const traces = chosen.filter(({ name }) => /\.json(\.gz)?$/.test(name));
    opened = new Map(traces.map((file) => [pathOf(file), file]));
    hear(reply);
    runs.open('', 'wrong');
  }

  /** @param {'rows' | 'tables'} kind */
  async function download(kind) {
    const reply = await bridge.call('lab_file', { lab, kind });
    if (reply.kind === 'error') complain(reply.text);
    else save(reply.name, received(reply));
  }

  experiment.addEventListener('change', () => choose());
  task.addEventListener('change', () => choose(true));
  draw();
  address.open();
}
