// The Watch tab around the viewer: prompt, gallery, model, decoder, settings, runs, branches, links, files.
//
// `mountWatch(root, bridge, config)`: `bridge.ask(request, onReply)` queues work on the model and streams answers,
// `bridge.call(name, request)` asks for something quick and resolves to the answer. Both answer {kind: 'error', text}
// for bad input. `config` is what visual/service.py's page_config() says. Text from anywhere goes in as text nodes.

import { h, put, setText } from './dom.js';
import { createSettings } from './settings.js';
import { createViewer } from './viewer.js';

const EXPORTS = {
  trace: 'Trace (.json.gz)', html: 'Replay page (.html)', png: 'This view (.png)', gif: 'The run (.gif)',
  mask: 'Mask (.svg)', score: 'Score (.svg)',
};
const OWN_PARAMETERS = ['prompt', 'model', 'decoder', 'steps', 'step', 'select'];

export function mountWatch(root, bridge, config) {
  let run = null; // {key, branch, live, finished}
  let asked = null; // what the run on screen was started with
  let busy = false;

  const prompt = h('input', { class: 'dw-prompt', 'aria-label': 'Prompt', spellcheck: 'false', autocomplete: 'off', maxlength: config.limits.prompt });
  const decodeButton = h('button', { class: 'dv-btn dv-primary', type: 'submit' }, 'Decode');
  const alertText = h('span', {});
  const alertBox = h('div', { class: 'dw-alert', role: 'alert', hidden: true }, alertText,
    h('button', { class: 'dv-btn', type: 'button', onclick: () => say(null) }, 'Dismiss'));
  const look = h('p', { class: 'dw-look', hidden: true });
  const settings = createSettings(config);
  const gallery = h('div', { class: 'dw-gallery', role: 'group', 'aria-label': 'Gallery' }, h('span', { class: 'dw-try' }, 'Try'),
    config.gallery.map((item) => h('button', { class: 'dv-chip', type: 'button', 'aria-pressed': 'false', title: item.look, onclick: () => openCase(item) }, item.name)));
  const summary = h('span', { class: 'dw-summary' });
  const change = h('button', { class: 'dw-link', type: 'button', 'aria-expanded': 'false', onclick: () => toggleSettings() }, 'Change');
  const panel = h('div', { class: 'dw-panel', hidden: true }, settings.element);
  const file = h('input', { type: 'file', accept: '.json,.gz,application/json,application/gzip', hidden: true, 'aria-label': 'Trace file', onchange: () => openFile(file.files[0]) });
  const theme = h('button', { class: 'dv-btn', type: 'button', onclick: () => toggleTheme() });
  const viewerBox = h('div', { class: 'dw-viewer' });
  const form = h('form', { class: 'dw-row', onsubmit: (event) => { event.preventDefault(); decode(); } }, prompt, decodeButton);

  root.classList.add('dv', 'dw');
  put(root,
    h('div', { class: 'dw-tools' },
      h('button', { class: 'dv-btn', type: 'button', onclick: () => copyLink() }, 'Copy link'),
      h('button', { class: 'dv-btn', type: 'button', onclick: () => file.click() }, 'Open trace'), file,
      theme),
    form,
    h('div', { class: 'dw-row dw-meta' }, gallery, h('div', { class: 'dw-settings' }, summary, ' ', change), panel, alertBox),
    look, viewerBox);

  const viewer = createViewer(viewerBox, {
    requestStep: () => advance(1),
    requestRun: () => advance(null),
    requestStop: () => run && bridge.call('stop', where()),
    requestReset: () => asked && start(asked),
    requestBranch: ({ step, position, token, state }) => ask('branch', { ...where(), step, position, token, state }, (reply) => show(reply, { step, position })),
    fetchLife: (position) => bridge.call('life', { ...where(), position }).then(orThrow),
    switchBranch: (id) => bridge.call('show', { run: run.key, branch: id }).then((reply) => receive(reply, (found) => show(found))),
    compareBranches: (a, b) => Promise.all([a, b].map((id) => bridge.call('show', { run: run.key, branch: id }))).then((replies) => {
      const bad = replies.find((reply) => reply.kind === 'error');
      if (bad) return say(bad.text);
      const names = new Map(replies[0].branches.map((branch) => [branch.id, branch.name]));
      viewer.load(replies.map((reply) => ({ ...reply.payload, name: names.get(reply.branch) })));
    }),
    requestExport: (kind) => download(kind),
    onChange: () => remember(),
  }, { exports: EXPORTS });

  // Talking to the server.

  function where() { return { run: run.key, branch: run.branch }; }

  function orThrow(reply) {
    if (reply && reply.kind === 'error') throw new Error(reply.text);
    return reply;
  }

  function receive(reply, onReply) {
    if (!reply || reply.kind === 'error') say(reply ? reply.text : 'The server did not answer; try again.');
    else onReply(reply);
  }

  function ask(action, request, onReply, onEnd) {
    if (busy) return;
    busy = true;
    say(null);
    root.classList.add('dw-busy');
    const slow = setTimeout(() => viewer.setBusy('Waiting for the model …'), 400);
    bridge.ask({ action, ...request }, (reply) => {
      clearTimeout(slow);
      if (reply.kind === 'end') {
        busy = false;
        root.classList.remove('dw-busy');
        viewer.setBusy(null);
        if (onEnd) onEnd();
        remember();
      } else receive(reply, onReply);
    });
  }

  function start(request, then) {
    asked = request;
    look.hidden = true;
    ask('start', request, (reply) => show(reply, { step: 0 }), then);
  }

  function show(reply, state) {
    run = { key: reply.run, branch: reply.branch, live: reply.live, finished: reply.finished, steps: reply.payload.steps.length };
    viewer.load(reply.payload, state);
    viewer.setBranches(reply.branches, reply.branch);
  }

  function advance(steps, then) {
    if (!run) return;
    if (!run.live) return say('This trace was opened from a file and has no model behind it; decode its prompt to go on.');
    if (run.finished) return then && then();
    if (steps === null) viewer.setBusy('Decoding …');
    ask('advance', steps === null ? where() : { ...where(), steps }, (reply) => {
      run.finished = reply.finished;
      run.steps += reply.steps.length;
      viewer.append(reply.steps);
    }, then);
  }

  // What the visitor does.

  function request() {
    return { prompt: prompt.value, model: settings.model(), decoder: settings.decoder(), settings: settings.values() };
  }

  function decode(then) {
    for (const chip of gallery.querySelectorAll('.dv-chip')) chip.setAttribute('aria-pressed', 'false');
    start(request(), then || (() => advance(null)));
  }

  function openCase(item) {
    prompt.value = item.prompt;
    settings.set({ model: item.model, decoder: item.decoder, settings: item.settings });
    describe();
    start(request(), () => {
      for (const chip of gallery.querySelectorAll('.dv-chip')) chip.setAttribute('aria-pressed', String(chip.textContent === item.name));
      setText(look, item.look || '');
      look.hidden = !item.look;
      if (item.select != null) viewer.select(item.select);
      advance(null, () => viewer.setStep(item.step ?? 0));
    });
  }

  async function openFile(chosen) {
    file.value = '';
    if (!chosen) return;
    if (chosen.size > config.limits.upload) return say(`That file is larger than ${config.limits.upload >> 20} MB.`);
    const data = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result).split(',')[1] || '');
      reader.onerror = () => resolve('');
      reader.readAsDataURL(chosen);
    });
    receive(await bridge.call('open_trace', { data }), (reply) => { asked = null; say(null); show(reply, { step: 0 }); });
  }

  async function download(kind) {
    if (!run) return;
    const state = viewer.getState();
    viewer.setBusy('Making the file …');
    const reply = await bridge.call('export', { ...where(), kind, step: state.step, position: state.position >= 0 ? state.position : null, mask: state.order, theme: isDark() ? 'dark' : 'light' });
    viewer.setBusy(null);
    receive(reply, ({ name, media, data }) => {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes], { type: media }));
      h('a', { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    });
  }

  // The page itself.

  function say(message) {
    alertBox.hidden = !message;
    setText(alertText, message || '');
  }

  function describe() {
    put(summary, settings.describe());
  }

  function toggleSettings(open = panel.hidden) {
    panel.hidden = !open;
    change.setAttribute('aria-expanded', String(open));
  }

  function isDark() { return document.body.classList.contains('dark'); }

  function toggleTheme(dark = !isDark()) {
    document.body.classList.toggle('dark', dark);
    setText(theme, dark ? 'Light' : 'Dark');
    try { localStorage.setItem('dard-theme', dark ? 'dark' : 'light'); } catch { /* private window */ }
  }

  async function copyLink() {
    remember();
    try {
      await navigator.clipboard.writeText(location.href);
      say('The link to this view is on the clipboard.');
    } catch { say('The address bar holds the link to this view.'); }
  }

  let remembering = 0;
  function remember() {
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      if (!asked || !root.isConnected) return;
      const url = new URL(location.href);
      for (const name of [...OWN_PARAMETERS, ...settings.names()]) url.searchParams.delete(name);
      const state = viewer.getState();
      const values = { prompt: asked.prompt, model: asked.model, decoder: asked.decoder, ...asked.settings, steps: run?.steps ?? 0, step: state.step, select: state.position >= 0 ? state.position : null };
      for (const [name, value] of Object.entries(values)) if (value != null) url.searchParams.set(name, value);
      history.replaceState(history.state, '', url);
    }, 150);
  }

  function restore() {
    const parameters = new URL(location.href).searchParams;
    const first = config.gallery[0];
    if (!parameters.has('prompt')) {
      if (first) {
        prompt.value = first.prompt;
        settings.set({ decoder: first.decoder, settings: first.settings });
        describe();
        start(request(), () => viewer.select(first.select ?? 0));
      }
      return;
    }
    const values = {};
    for (const name of settings.names()) if (parameters.has(name)) values[name] = parameters.get(name).slice(0, 100);
    prompt.value = parameters.get('prompt').slice(0, config.limits.prompt);
    settings.set({ model: parameters.get('model'), decoder: parameters.get('decoder'), settings: values });
    describe();
    const number = (name) => { const value = parameters.get(name); return /^\d{1,5}$/.test(value || '') ? Number(value) : null; };
    const steps = number('steps');
    const back = () => {
      if (number('step') !== null) viewer.setStep(number('step'));
      if (number('select') !== null) viewer.select(number('select'));
    };
    const wanted = { ...request(), model: parameters.get('model') ?? settings.model(), decoder: parameters.get('decoder') ?? settings.decoder(), settings: values, prompt: parameters.get('prompt').slice(0, config.limits.prompt + 1) };
    start(wanted, () => (steps ? advance(steps, back) : back()));
  }

  document.addEventListener('click', (event) => {
    if (!panel.hidden && !panel.contains(event.target) && event.target !== change) toggleSettings(false);
  });
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    toggleSettings(false);
  });
  settings.onChange(describe);
  let stored = null;
  try { stored = localStorage.getItem('dard-theme'); } catch { /* private window */ }
  toggleTheme(stored ? stored === 'dark' : isDark());
  describe();
  restore();
  return { viewer };
}
