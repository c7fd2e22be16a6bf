// The Watch tab: one decode, its branches, links to it, and files of it, around the viewer.
//
// `mountWatch(root, bridge, config)`; for `bridge` see shell.js, `config` is visual/service.py's page_config().

import { h, put } from './dom.js';
import { readFile } from './files.js';
import { createSettings } from './settings.js';
import { createAddress, createPopover, createShell } from './shell.js';
import { createViewer } from './viewer.js';

const EXPORTS = {
  trace: 'Trace (.json.gz)', html: 'Replay page (.html)', png: 'This view (.png)', gif: 'The run (.gif)',
  mask: 'Mask (.svg)', score: 'Score (.svg)',
};
const OWN_PARAMETERS = ['prompt', 'model', 'decoder', 'ran', 'step', 'select'];

export function mountWatch(root, bridge, config) {
  let run = null; // {key, branch, live, finished, steps}; none until the server is first needed
  let asked = null; // what the run on screen was started with

  const settings = createSettings(config);
  const summary = h('span', { class: 'dw-summary' });
  const change = createPopover(root, 'Change', settings.element);
  const file = h('input', { type: 'file', accept: '.json,.gz,application/json,application/gzip', hidden: true, 'aria-label': 'Trace file', onchange: () => openFile(file.files[0]) });
  const shell = createShell(root, bridge, config, {
    label: 'Decode',
    onDecode: () => start(request(), () => {
      shell.showCase(null);
      advance(null);
    }),
    onCase: openCase,
    onStop: () => run && bridge.call('stop', where()),
    onRest: () => remember(),
    tools: [h('button', { class: 'dv-btn', type: 'button', onclick: () => file.click() }, 'Open trace'), file],
    aside: [h('div', { class: 'dw-settings' }, summary, change.button), change.panel],
  });
  const { ask, prompt, receive, replace, say } = shell;

  const viewer = createViewer(shell.viewerBox, {
    requestStep: () => advance(1),
    requestRun: () => advance(null),
    requestStop: shell.stop,
    requestReset: () => asked && start(asked),
    requestBranch: ({ step, position, token, state }) => withRun(() => replace(() => ask('branch', { ...where(), step, position, token, state }, (reply) => show(reply, { step, position })))),
    fetchLife: (position) => bridge.call('life', { ...where(), position }).then((reply) => {
      if (reply.kind === 'error') throw new Error(reply.text);
      return reply;
    }),
    switchBranch: (id) => replace(() => bridge.call('show', { run: run.key, branch: id }).then((reply) => receive(reply, (found) => show(found)))),
    compareBranches: (a, b) => replace(() => compareBranches(a, b)),
    requestExport: (kind) => {
      const state = viewer.getState();
      withRun(() => shell.download({ ...where(), kind, step: state.step, position: state.position >= 0 ? state.position : null, mask: state.order }));
    },
    onChange: () => remember(),
  }, { exports: EXPORTS, keysFrom: root });
  shell.setViewer(viewer);

  function where() { return { run: run.key, branch: run.branch }; }

  function request() {
    return { prompt: prompt.value, model: settings.model(), decoder: settings.decoder(), settings: settings.values(), ...shell.picture.request() };
  }

  function start(what, then) {
    replace(() => ask('start', what, (reply) => {
      asked = what;
      show(reply, { step: 0 });
    }, () => { if (asked === what) then?.(); }));
  }

  function show(reply, state) {
    run = { key: reply.run, branch: reply.branch, live: reply.live, finished: reply.finished, steps: reply.payload.steps.length };
    viewer.load(reply.payload, state);
    viewer.setBranches(reply.branches, reply.branch);
  }

  /** Does something with the run on screen; the page opens on a view that has none yet. */
  function withRun(action) {
    if (run) action();
    else if (asked) start(asked, action);
  }

  function advance(steps, then) {
    if (!run) return withRun(() => advance(steps, then));
    if (!run.live) return say('This trace was opened from a file and has no model behind it; decode its prompt to go on.');
    if (run.finished) return then?.();
    if (steps === null) viewer.setBusy('Decoding …');
    ask('advance', steps === null ? where() : { ...where(), steps }, (reply) => {
      run.finished = reply.finished;
      run.steps += reply.steps.length;
      viewer.append(reply.steps);
    }, then);
  }

  async function compareBranches(a, b) {
    const replies = await Promise.all([a, b].map((id) => bridge.call('show', { run: run.key, branch: id })));
    const bad = replies.find((reply) => reply.kind === 'error');
    if (bad) return say(bad.text);
    const names = new Map(replies[0].branches.map((branch) => [branch.id, branch.name]));
    viewer.load(replies.map((reply) => ({ ...reply.payload, name: names.get(reply.branch) })));
  }

  function openCase(item) {
    if (!config.models.includes(item.model)) return replayCase(item);
    prompt.value = item.prompt;
    settings.set({ model: item.model, decoder: item.decoder, settings: item.settings });
    start(request(), () => {
      shell.showCase(item);
      if (item.select != null) viewer.select(item.select);
      advance(null, () => viewer.setStep(item.step ?? 0));
    });
  }

  /** A case whose model this page does not offer: its recorded trace. */
  async function replayCase(item) {
    receive(await bridge.call('recorded', { name: item.name }), (reply) => replace(() => {
      prompt.value = item.prompt;
      showRecorded(reply, { step: item.step ?? 0, position: item.select ?? -1 });
      shell.showCase(item);
    }));
  }

  async function openFile(chosen) {
    file.value = '';
    if (!chosen) return;
    if (chosen.size > config.limits.upload) return say(`That file is larger than ${config.limits.upload >> 20} MB.`);
    receive(await bridge.call('open_trace', { data: await readFile(chosen) }), (reply) => replace(() => {
      showRecorded(reply, { step: 0 });
      shell.showCase(null);
    }));
  }

  function showRecorded(reply, state) {
    asked = null;
    say(null);
    show(reply, state);
  }

  // Links: the address holds what was asked and where one looks.

  const remember = createAddress(root, [...OWN_PARAMETERS, ...settings.names()], (parameters) => {
    if (!asked) return;
    const state = viewer.getState();
    const values = { prompt: asked.prompt, model: asked.model, decoder: asked.decoder, ...asked.settings, ran: run?.steps ?? 0, step: state.step, select: state.position >= 0 ? state.position : null };
    for (const [name, value] of Object.entries(values)) if (value != null) parameters.set(name, value);
  });

  function restore() {
    const parameters = new URL(location.href).searchParams;
    const first = config.gallery[0];
    if (!parameters.has('prompt')) {
      if (!first) return;
      if (!config.models.includes(first.model)) return replayCase(first);
      prompt.value = first.prompt;
      settings.set({ decoder: first.decoder, settings: first.settings });
      if (!config.opening) return start(request(), () => viewer.select(first.select ?? 0));
      asked = request();
      viewer.load(config.opening, { step: 0, position: first.select ?? 0 });
      return;
    }
    const values = {};
    for (const name of settings.names(parameters.get('decoder'))) if (parameters.has(name)) values[name] = parameters.get(name).slice(0, 100);
    const wanted = { prompt: parameters.get('prompt').slice(0, config.limits.prompt + 1), model: parameters.get('model') ?? settings.model(), decoder: parameters.get('decoder') ?? settings.decoder(), settings: values };
    prompt.value = wanted.prompt;
    settings.set(wanted);
    const number = (name) => (/^\d{1,5}$/.test(parameters.get(name) || '') ? Number(parameters.get(name)) : null);
    const [ran, step, select] = [number('ran'), number('step'), number('select')];
    const back = () => {
      if (step !== null) viewer.setStep(step);
      if (select !== null) viewer.select(select);
    };
    start(wanted, () => (ran ? advance(ran, back) : back()));
  }

  const describe = () => {
    put(summary, settings.describe());
    shell.picture.follow(settings.model());
  };
  settings.onChange(describe);
  describe();
  restore();
}
