// The Compare tab: up to four decoders on one prompt, in lock-step, on one scrubber, with a table of what they needed.
//
// `mountCompare(root, bridge, config)`; for `bridge` see shell.js, `config` is visual/service.py's page_config().

import { h, put } from './dom.js';
import { createSettings } from './settings.js';
import { createPopover, createShell } from './shell.js';
import { createViewer } from './viewer.js';

const EXPORTS = { html: 'Replay page (.html)', trace: 'Trace of the selected decoder (.json.gz)', gif: 'Run of the selected decoder (.gif)' };
const COLUMNS = [
  ['name', 'decoder', null],
  ['passes', 'passes', 'forward passes of the model'],
  ['tokens_per_pass', 'tokens / pass', 'positions filled, divided by passes'],
  ['revocations', 'revoked', 'tokens that went back to masked, or were replaced'],
  ['flip_flops', 'flip-flops', 'positions decided more than twice'],
  ['wasted_passes', 'wasted', 'passes that decided a token which was later revoked'],
  ['seconds', 'seconds', 'time of the forward passes and of everything else'],
  ['tokens_per_second', 'tokens / s', 'positions filled per second'],
  ['changed', 'differs', 'positions that differ from decoding one token per step'],
  ['right', 'answer', 'right or wrong, where the prompt belongs to a task that has an answer'],
  ['ended_by', 'ended by', 'how the last block ended'],
  ['text', 'text', null],
];

export function mountCompare(root, bridge, config) {
  let run = null;
  let finished = false;
  const first = config.compared;
  const slots = first.map((name) => makeSlot(name));
  const slotRow = h('div', { class: 'dw-slots', role: 'group', 'aria-label': 'Decoders' });
  const table = h('table', { class: 'dw-table' });
  const shell = createShell(root, bridge, config, {
    label: 'Compare',
    onDecode: () => { shell.showCase(null); start(); },
    onCase: (item) => {
      prepare(item);
      start(() => shell.showCase(item));
    },
  });
  const { ask, prompt } = shell;
  shell.viewerBox.before(slotRow);
  shell.viewerBox.after(h('div', { class: 'dv-panel dw-tablebox' }, table));
  const viewer = createViewer(shell.viewerBox, {
    requestStep: () => advance(1),
    requestRun: () => advance(null),
    requestStop: () => run && bridge.call('stop', { run }),
    requestReset: () => start(),
    fetchLife: (position, lane) => bridge.call('life', { run, branch: lane, position }).then((reply) => {
      if (reply.kind === 'error') throw new Error(reply.text);
      return reply;
    }),
    requestExport: (kind) => run && shell.download({ run, kind: kind === 'html' ? 'lanes' : kind, branch: viewer.getState().lane }),
  }, { exports: EXPORTS, keysFrom: root });
  shell.setViewer(viewer);

  function makeSlot(name) {
    const settings = createSettings(config);
    settings.set({ decoder: name });
    const summary = h('span', { class: 'dw-summary' });
    const change = createPopover(root, 'Change', settings.element);
    const remove = h('button', { class: 'dw-link', type: 'button', 'aria-label': 'Remove this decoder', onclick: () => { slots.splice(slots.indexOf(slot), 1); drawSlots(); } }, '×');
    const element = h('div', { class: 'dw-slot' }, summary, change.button, remove, change.panel);
    settings.onChange(() => put(summary, settings.describe()));
    put(summary, settings.describe());
    const slot = { element, settings, remove };
    return slot;
  }

  function drawSlots() {
    for (const slot of slots) slot.remove.hidden = slots.length < 2;
    put(slotRow, slots.map((slot) => slot.element), slots.length < config.limits.compared && h('button', { class: 'dv-chip', type: 'button', onclick: () => { slots.push(makeSlot('dard')); drawSlots(); } }, '+ decoder'));
  }

  /** A gallery case: its own settings for its decoder, and its region for all of them. */
  function prepare(item) {
    prompt.value = item.prompt;
    const { gen_length, block_length } = item.settings;
    const own = slots.find((slot) => slot.settings.decoder() === item.decoder);
    for (const slot of slots) {
      const settings = slot === own ? item.settings : { ...slot.settings.values(), gen_length, block_length };
      slot.settings.set({ model: item.model, decoder: slot.settings.decoder(), settings });
    }
  }

  function start(then) {
    begin(() => advance(null, then));
  }

  function begin(then) {
    const lanes = slots.map(({ settings }) => ({ decoder: settings.decoder(), settings: settings.values() }));
    ask('compare', { prompt: prompt.value, model: slots[0].settings.model(), lanes }, (reply) => {
      run = reply.run;
      finished = false;
      put(table);
      viewer.load(reply.payloads, { step: 0 });
    }, () => run && then?.());
  }

  function advance(passes, then) {
    if (!run || finished) return then?.();
    if (passes === null) viewer.setBusy('Decoding …');
    ask('passes', passes === null ? { run } : { run, steps: passes }, (reply) => {
      finished = reply.finished;
      for (const { lane, step } of reply.steps) viewer.append([step], lane);
      if (reply.table) drawTable(reply.table);
    }, then);
  }

  function drawTable(rows) {
    put(table,
      h('thead', {}, h('tr', {}, COLUMNS.map(([, name, help]) => h('th', { scope: 'col', title: help }, name)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, COLUMNS.map(([key], n) => h(n ? 'td' : 'th', n ? { class: key === 'text' ? 'dw-text' : null } : { scope: 'row' }, cell(row[key])))))));
  }

  const cell = (value) => (value == null ? '' : typeof value === 'boolean' ? (value ? '✓ right' : '✗ wrong') : typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(2) : String(value));

  drawSlots();
  if (config.gallery[0]) {
    prepare(config.gallery[0]);
    begin();
  }
}
