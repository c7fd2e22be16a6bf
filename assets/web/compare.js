// The Compare tab: up to four decoders on one prompt, in lock-step, on one scrubber, with a table of what they needed.
//
// `mountCompare(root, bridge, config)`; for `bridge` see shell.js, `config` is visual/service.py's page_config().

import { h, put } from './dom.js';
import { onComparison, takeComparison } from './links.js';
import { createSettings } from './settings.js';
import { createAddress, createPopover, createShell } from './shell.js';
import { createViewer } from './viewer.js';

const EXPORTS = {
  lanes: 'All: replay page (.html)', 'lanes-png': 'All: this pass (.png)', trace: 'Selected: trace (.json.gz)', html: 'Selected: replay page (.html)',
  png: 'Selected: this view (.png)', gif: 'Selected: the run (.gif)', mask: 'Selected: mask (.svg)', score: 'Selected: score (.svg)',
};
const LINK_AT_MOST = 12000; // characters
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
  let asked = null; // what the run on screen was started with
  let ran = 0; // passes it has made
  const slots = config.compared.map((name) => makeSlot({ decoder: name }));
  const slotRow = h('div', { class: 'dw-slots', role: 'group', 'aria-label': 'Decoders' });
  const table = h('table', { class: 'dw-table' });
  const shell = createShell(root, bridge, config, {
    label: 'Compare',
    onDecode: () => start(null),
    onCase: (item) => {
      prepare(item);
      start(item);
    },
    onStop: () => run && bridge.call('stop', { run }),
    onRest: () => remember(),
  });
  const { ask, prompt } = shell;
  shell.viewerBox.parentNode.before(slotRow);
  shell.viewerBox.parentNode.after(h('div', { class: 'dv-panel dw-tablebox' }, table));
  const viewer = createViewer(shell.viewerBox, {
    requestStep: () => advance(1),
    requestRun: () => advance(null),
    requestStop: shell.stop,
    requestReset: () => begin(),
    fetchLife: (position, lane) => bridge.call('life', { run, branch: lane, position }).then((reply) => {
      if (reply.kind === 'error') throw new Error(reply.text);
      return reply;
    }),
    requestExport: (kind) => {
      const { step, position, lane, order } = viewer.getState();
      if (run) shell.download({ run, kind, branch: lane, step, position: position >= 0 ? position : null, mask: order });
    },
    onChange: () => remember(),
  }, { exports: EXPORTS, keysFrom: root });
  shell.setViewer(viewer);

  function makeSlot(what) {
    const settings = createSettings(config);
    settings.set(what);
    const summary = h('span', { class: 'dw-summary' });
    const change = createPopover(root, 'Change', settings.element);
    const remove = h('button', { class: 'dw-link', type: 'button', 'aria-label': 'Remove this decoder', onclick: () => { slots.splice(slots.indexOf(slot), 1); drawSlots(); } }, '×');
    const element = h('div', { class: 'dw-slot' }, summary, change.button, remove, change.panel);
    settings.onChange(() => {
      put(summary, settings.describe());
      follow();
    });
    put(summary, settings.describe());
    const slot = { element, settings, remove };
    return slot;
  }

  /** The first decoder's model is everybody's. */
  function follow() {
    shell.picture.follow(slots[0]?.settings.model());
  }

  function drawSlots() {
    follow();
    for (const slot of slots) slot.remove.hidden = slots.length < 2;
    put(slotRow, slots.map((slot) => slot.element), slots.length < config.limits.compared && h('button', { class: 'dv-chip', type: 'button', onclick: () => { slots.push(makeSlot({ decoder: 'dard' })); drawSlots(); } }, '+ decoder'));
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

  /** To the end; `item` is the gallery case this is, if it is one. */
  function start(item) {
    begin(() => {
      shell.showCase(item);
      advance(null);
    });
  }

  function begin(then) {
    const lanes = slots.map(({ settings }) => ({ decoder: settings.decoder(), settings: settings.values() }));
    const what = { prompt: prompt.value, model: slots[0].settings.model(), lanes, ...shell.picture.request() };
    shell.replace(() => ask('compare', what, (reply) => {
      run = reply.run;
      finished = false;
      asked = what;
      ran = 0;
      put(table);
      viewer.load(reply.payloads, { step: 0 });
    }, () => { if (asked === what) then?.(); }));
  }

  function advance(passes, then) {
    if (!run || finished) return then?.();
    if (passes === null) viewer.setBusy('Decoding …');
    ask('passes', passes === null ? { run } : { run, steps: passes }, (reply) => {
      finished = reply.finished;
      if (reply.steps.length) ran += 1;
      for (const { lane, step } of reply.steps) viewer.append([step], lane);
      if (reply.table) viewer.append([]).then(() => drawTable(reply.table)); // after the steps before it are on screen
    }, then);
  }

  function drawTable(rows) {
    put(table,
      h('thead', {}, h('tr', {}, COLUMNS.map(([, name, help]) => h('th', { scope: 'col', title: help }, name)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, COLUMNS.map(([key], n) => h(n ? 'td' : 'th', n ? { class: key === 'text' ? 'dw-text' : null } : { scope: 'row' }, cell(row[key])))))));
  }

  const cell = (value) => (value == null ? '' : typeof value === 'boolean' ? (value ? '✓ right' : '✗ wrong') : typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(2) : String(value));

  // Links: one parameter holds what was asked and where one looks.

  const remember = createAddress(root, [], (parameters) => {
    if (!asked) return;
    const { step, position, lane } = viewer.getState();
    parameters.set('compare', JSON.stringify({ ...asked, ran, step, position, lane }));
  });

  function restore() {
    const link = readLink(takeComparison());
    const first = config.gallery.find((item) => config.models.includes(item.model));
    if (!link && first) prepare(first);
    if (!link) return first && begin();
    prompt.value = link.prompt;
    slots.splice(0, slots.length, ...link.lanes.slice(0, config.limits.compared).map((lane) => makeSlot({ ...lane, model: link.model })));
    drawSlots();
    const back = () => viewer.setState({ step: link.step, position: link.position, lane: link.lane });
    begin(() => (link.ran ? advance(link.ran, back) : back()));
  }

  drawSlots();
  restore();
  onComparison(restore);
}

/** What a link asks for, or null if it is none; everything in it is checked again where it is used. */
function readLink(text) {
  if (!text || text.length > LINK_AT_MOST) return null;
  let link = null;
  try { link = JSON.parse(text); } catch { return null; }
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!isObject(link) || typeof link.prompt !== 'string' || !Array.isArray(link.lanes) || !link.lanes.length) return null;
  if (!link.lanes.every((lane) => isObject(lane) && typeof lane.decoder === 'string' && isObject(lane.settings))) return null;
  const number = (value, otherwise) => (Number.isInteger(value) && value >= 0 && value < 100000 ? value : otherwise);
  const { prompt, lanes } = link;
  return { prompt, lanes, model: String(link.model), ran: number(link.ran, 0), step: number(link.step, 0), position: number(link.position, -1), lane: number(link.lane, 0) };
}
