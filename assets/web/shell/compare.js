// The Compare tab: up to five decoders on one prompt, in lock-step, on one scrubber, with a table of what they needed.
//
// `mountCompare(root, bridge, config)`; for `bridge` see bridge.js, `config` is visual/server/opening.py's page_config().

import { h, judged, put } from '../draw/dom.js';
import {
  createAddress,
  jsonFrom,
  linkedTab,
  onWanted,
  openIn,
  parameter,
  takeLeft,
  takeWanted,
  viewFrom,
  viewTo,
} from '../data/links.js';
import { createPopover } from './popover.js';
import { createSettings } from './settings.js';
import { createShell, decodable } from './shell.js';
import { createViewer } from './viewer.js';

/** @import { Bridge } from '../data/messages.js' */
/** @import { Right } from '../data/types.js' */
/** @import { Asked, Case, Compared, Config, Look, Opened, OpenedTrace, Value, Values } from './types.js' */
/** @typedef {ReturnType<typeof createSettings>} Settings */
/** @typedef {{ element: HTMLElement, remove: HTMLElement } & ({ settings: Settings } | { settings?: undefined, opened: Opened })} Slot */
/** @typedef {Pick<Case, 'prompt' | 'model' | 'lanes'>} Prepared */
/** @typedef {Prepared & { ran: number, step: number, position: number, lane: number, view: Look }} Link */

const EXPORTS = {
  lanes: 'All: replay page (.html)',
  trace: 'Selected: trace (.json.gz)',
  html: 'Selected: replay page (.html)',
};
/** @type {[key: string, name: string, help: string | null][]} */
const COLUMNS = [
  ['name', 'decoder', null],
  ['passes', 'passes', 'forward passes of the model'],
  ['tokens_per_pass', 'tokens / pass', 'positions filled, divided by passes'],
  ['revocations', 'revoked', 'tokens that went back to masked'],
  ['replacements', 'replaced', 'tokens whose place another token took'],
  ['flip_flops', 'flip-flops', 'positions decided more than twice'],
  ['wasted_passes', 'wasted', 'passes that decided a token which was later revoked or replaced'],
  ['seconds', 'seconds', 'time of the forward passes and of everything else'],
  ['tokens_per_second', 'tokens / s', 'positions filled per second'],
  ['changed', 'differs', 'positions that differ from decoding one token per step'],
  [
    'right',
    'answer',
    'right, wrong, or cut off by the end of the region, where the prompt belongs to a task that has an answer',
  ],
  ['ended_by', 'ended by', 'how the last block ended'],
  ['text', 'text', null],
];

/** @param {HTMLElement} root @param {Bridge} bridge @param {Config} config */
export function mountCompare(root, bridge, config) {
  /** @type {Compared | null} */
  let asked = null; // what the run on screen was started with
  const slots = config.compared.map((name) => makeSlot({ decoder: name }));
  const live = () => slots.flatMap(({ settings }) => settings ?? []);
  const model = () => live()[0]?.model() ?? config.models[0];
  const slotRow = h('div', { class: 'dw-slots', role: 'group', 'aria-label': 'Decoders' });
  const table = h('table', { class: 'dw-table' });
  const tableBox = h('div', { class: 'dv-panel dw-tablebox', hidden: true }, table);
  const usual = createSettings(config); // to tell what is worth writing into a link
  const shell = createShell(root, bridge, config, {
    label: 'Compare',
    onDecode: () => start(null),
    onAgain: () => asked && begin(asked),
    onCase: openCase,
    onFiles: openFiles,
    running: {
      onRest: () => {
        viewer.goal = Infinity;
        address.rest();
      },
      again: () => (fromFile() ? null : asked),
    },
    unlinked: () => (fromFile() ? 'A trace from a file has no link; send the file itself.' : null),
    words: {
      request: () => request(),
      onSizes: (checked) => live().forEach((settings, n) => settings.fits(checked, n)),
      give: (text, lengths) => live().forEach((settings) => settings.give(text, lengths)),
      useModel: (name) => live()[0]?.useModel(name),
    },
  });
  const { client, prompt } = shell;
  shell.viewerBox.parentElement?.before(slotRow, tableBox);
  const viewer = createViewer(
    shell.viewerBox,
    {
      requestStep: () => advance(1),
      requestRun: () => advance(null),
      requestStop: () => client.stop(),
      ask: (name, data) => client.about(name, data),
      requestSetting: tryInWatch,
      onChange: () => address.remember(),
    },
    { exports: EXPORTS, keysFrom: root },
  );
  client.viewer = viewer;

  /** A lane alone, with one of its settings changed. @param {string} name @param {Value} value @param {number} number */
  function tryInWatch(name, value, number) {
    const lane = asked?.lanes[number];
    if (!asked || !lane || lane.opened !== undefined) return;
    const { prompt: text, model: used } = asked;
    openIn('Watch', {
      prompt: text,
      model: used,
      decoder: lane.decoder,
      settings: { ...lane.settings, [name]: value },
    });
  }

  /** Whether a trace from a file is on screen. */
  function fromFile() {
    return !!asked?.lanes.some((lane) => lane.opened);
  }

  /**
   * A decoder to be run, or, with `opened`, a trace from a file.
   * @param {Opened | (Partial<Asked> & { decoder: string, opened?: undefined })} what @returns {Slot}
   */
  function makeSlot(what) {
    const summary = h('span', { class: 'dw-summary' });
    const remove = h(
      'button',
      {
        class: 'dw-link',
        type: 'button',
        'aria-label': what.opened ? 'Remove this trace' : 'Remove this decoder',
        onclick: () => {
          const at = slots.findIndex((slot) => slot.remove === remove);
          slots.splice(at, 1);
          drawSlots();
        },
      },
      '×',
    );
    if (what.opened != null) {
      put(summary, h('bdi', {}, String(what.name ?? '').slice(0, 100)), ', from a file');
      const element = h('div', { class: 'dw-slot' }, summary, remove);
      return { remove, element, opened: { opened: what.opened, name: what.name } };
    }
    const settings = createSettings(config);
    settings.set(what);
    const change = createPopover(root, 'Change', settings.element);
    const element = h('div', { class: 'dw-slot' }, summary, change.button, remove, change.panel);
    settings.onChange(() => {
      put(summary, settings.describe());
      for (const other of live()) other.useModel(settings.model()); // one model for all
      follow();
    });
    put(summary, settings.describe());
    return { remove, element, settings };
  }

  function follow() {
    shell.picture.follow(model());
    shell.words.changed();
  }

  function drawSlots() {
    follow();
    for (const slot of slots) slot.remove.hidden = slots.length < 2;
    put(
      slotRow,
      slots.map((slot) => slot.element),
      slots.length < config.limits.compared &&
        h('button', { class: 'dv-chip', type: 'button', onclick: addDecoder }, '+ decoder'),
    );
  }

  /** The next decoder that has no lane yet, on what its neighbours decode and as long. */
  function addDecoder() {
    const [neighbour] = live();
    const there = live().map((settings) => settings.decoder());
    const decoder = (config.decoders.find(({ name }) => !there.includes(name)) ?? config.decoders[0]).name;
    const slot = makeSlot({ decoder, model: model() });
    if (neighbour) slot.settings?.inherit(neighbour);
    slots.push(slot);
    drawSlots();
  }

  /** A gallery case or a link: its prompt, and its decoders in the place of those that are there. @param {Prepared} item */
  function prepare(item) {
    prompt.value = item.prompt;
    slots.splice(
      0,
      slots.length,
      ...item.lanes
        .slice(0, config.limits.compared)
        .map((lane) => makeSlot({ ...lane, model: item.model, prompt: item.prompt })),
    );
    drawSlots();
  }

  /** One whose model or decoder is not offered here: its recorded trace alone. @param {Case} item */
  async function openCase(item) {
    if (!decodable(config, item)) {
      const reply = await bridge.call('recorded', { name: item.name });
      if (reply.kind === 'error') return shell.refuse(reply.text);
      slots.length = 0;
      openFiles([{ ...reply, name: item.name }]);
      return shell.showCase(item);
    }
    prepare(item);
    start(item);
  }

  /** What a visitor comes with from Watch: a case with its lanes; or its prompt and what it has in common with the lanes that
   * are here, beside them its own decoder with all its settings. @param {Asked} what */
  function takeFrom({ prompt: text, model: used, decoder, settings }) {
    const isThis = (/** @type {Case} */ item) =>
      item.prompt === text &&
      item.model === used &&
      item.decoder === decoder &&
      Object.entries(item.settings).every(([name, value]) => settings[name] === value);
    const item = config.gallery.find(isThis);
    const unusual = usual.unusual(used, decoder, settings);
    const own = live().find((there) => there.decoder() === decoder);
    const lanes = live().map((there) => {
      const name = there.decoder();
      if (there === own) return { decoder, settings: unusual };
      return {
        decoder: name,
        settings: {
          ...usual.pick(usual.unusual(there.model(), name, there.values()), true),
          ...usual.pick(unusual, false),
        },
      };
    });
    if (!own && lanes.length < config.limits.compared) lanes.push({ decoder, settings: unusual });
    address.hold();
    prepare(item ?? { prompt: text, model: used, lanes });
    start(item);
  }

  /** Whoever comes from Watch, and not by a link or by Back. */
  new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting) || linkedTab() === 'Compare' || live().length < slots.length)
      return;
    const left = takeLeft();
    if (left) takeFrom(left);
  }).observe(root);

  /** @returns {Compared} */
  function request() {
    for (const settings of live()) settings.follow(prompt.value);
    const lanes = slots.map((slot) =>
      slot.settings ? { decoder: slot.settings.decoder(), settings: slot.settings.values() } : slot.opened,
    );
    return { prompt: prompt.value, model: model(), lanes, ...shell.picture.request() };
  }

  /** Traces from files, beside what is there if there is room, otherwise in its place. A trace alone waits for decoders. @param {OpenedTrace[]} replies */
  function openFiles(replies) {
    const room = config.limits.compared - slots.length;
    if (replies.length === 1 && !room)
      return shell.say(`${config.limits.compared} lanes are the most; remove one, and open the trace again.`);
    if (replies.length > room) slots.length = 0;
    slots.push(...replies.map(({ run, name }) => makeSlot({ opened: run, name })));
    prompt.value = replies[0].payload.prompt;
    drawSlots();
    start(null);
  }

  /** To the end; `item` is the gallery case this is, if it is one. @param {Case | null} [item] */
  function start(item) {
    begin(request(), () => {
      shell.showCase(item);
      advance(null);
    });
  }

  /** @param {Compared} what @param {() => void} [then] @param {Look} [view] */
  function begin(what, then, view = { step: 0 }) {
    client.replace(() =>
      client.start(
        what,
        (reply) => {
          asked = what;
          for (const settings of live()) settings.learn(what.model, reply.defaults);
          shell.shows(what.prompt);
          if (reply.table) drawTable(reply.table);
          else put(table);
          tableBox.hidden = false;
          const { payloads = [] } = reply;
          tableBox.style.setProperty('--rows', String(payloads.length)); // what is below shall not move when it comes
          viewer.load(payloads, view);
        },
        then,
      ),
    );
  }

  /** @param {number | null} passes @param {() => void} [then] */
  function advance(passes, then) {
    if (!client.run || client.run.lanes.every((lane) => lane.finished)) return then?.();
    client.advance(passes, null, then, ({ table: rows = [] }) => drawTable(rows));
  }

  /** @param {Values[]} rows */
  function drawTable(rows) {
    put(
      table,
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          COLUMNS.map(([, name, help]) => h('th', { scope: 'col', title: help }, name)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {},
            COLUMNS.map(([key], n) =>
              h(
                n ? 'td' : 'th',
                n ? (key === 'text' ? { class: 'dw-text', title: row.text } : null) : { scope: 'row' },
                cell(key, row[key]),
              ),
            ),
          ),
        ),
      ),
    );
  }

  const cell = (/** @type {string} */ key, /** @type {Value} */ value) =>
    value == null
      ? ''
      : key === 'right'
        ? judged(h('span', { class: 'dv-judged' }), /** @type {Right} */ (value))
        : typeof value === 'number' && !Number.isInteger(value)
          ? value.toFixed(2)
          : String(value);

  // Links: one parameter holds what was asked and where one looks.

  const address = createAddress(
    root,
    'Compare',
    () => {
      if (!asked) return null;
      const { prompt: text, model: used } = asked;
      const lanes = asked.lanes.map((lane) =>
        lane.opened === undefined
          ? { decoder: lane.decoder, settings: usual.unusual(used, lane.decoder, lane.settings) }
          : lane,
      );
      const { step, position, lane, ...view } = viewer.getState();
      const ran = Math.max(...client.held.lanes.map((each) => each.steps)); // passes it has made
      return {
        place: [text, used, lanes],
        values: {
          compare: JSON.stringify({ prompt: text, model: used, lanes, ran, step, position, lane, view: viewTo(view) }),
        },
      };
    },
    restore,
  );

  /** @param {unknown} _place @param {boolean} same */
  function restore(_place, same) {
    const wanted = takeWanted('Compare');
    if (wanted?.files) {
      slots.length = 0;
      return shell.openFiles(wanted.files, wanted.names);
    }
    const left = takeLeft(); // what is older than what is asked for now
    const link = readLink(wanted ?? jsonFrom(parameter('compare')));
    const view = link
      ? { step: link.step, goal: link.step, position: link.position, lane: link.lane, ...link.view }
      : {};
    if (link && same) return viewer.setState(view);
    const first = config.gallery.find((item) => decodable(config, item));
    if (!link && left) return takeFrom(left);
    const item = link ?? first;
    if (!item) return;
    address.hold();
    prepare(item);
    if (!link) return start(first);
    shell.showCase(null);
    begin(request(), link.ran ? () => advance(link.ran) : undefined, view);
  }

  drawSlots();
  address.open();
  onWanted('Compare', () => restore(null, false));
}

/**
 * What a link asks for, or null if it is none; everything in it is checked again where it is used.
 * @param {any} link from anywhere @returns {Link | null}
 */
function readLink(link) {
  const isObject = (/** @type {unknown} */ value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!isObject(link) || typeof link.prompt !== 'string' || !Array.isArray(link.lanes) || !link.lanes.length)
    return null;
  const known = (/** @type {any} */ lane) =>
    typeof lane.opened === 'string' || (typeof lane.decoder === 'string' && isObject(lane.settings));
  if (!link.lanes.every((/** @type {unknown} */ lane) => isObject(lane) && known(lane))) return null;
  const number = (/** @type {any} */ value, /** @type {number} */ otherwise) =>
    Number.isInteger(value) && value >= 0 && value < 100000 ? value : otherwise;
  const { prompt, lanes } = link;
  return {
    prompt,
    lanes,
    model: String(link.model),
    ran: number(link.ran, 0),
    step: number(link.step, 0),
    position: number(link.position, -1),
    lane: number(link.lane, 0),
    view: viewFrom(typeof link.view === 'string' ? link.view : null),
  };
}
