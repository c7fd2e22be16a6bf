// The Watch tab: one decode, its branches, links to it, and files of it, around the viewer.
//
// `mountWatch(root, bridge, config)`; for `bridge` see bridge.js, `config` is visual/server/opening.py's page_config().

import { keptFile } from '../data/kept.js';
import { choice, h, keep, press, put, recall } from '../draw/dom.js';
import {
  createAddress,
  editsTo,
  leave,
  linkedFiles,
  numberFrom,
  onWanted,
  openComparison,
  parameter,
  showTab,
  takeWanted,
  viewFrom,
  viewTo,
} from '../data/links.js';
import { caseOf, pageOf } from './cases.js';
import { createPopover } from './popover.js';
import { createSettings, linkedDecode } from './settings.js';
import { createShell, decodable } from './shell.js';
import { Story, VIEWS } from './story.js';
import { tuning } from './tuning.js';
import { createViewer } from './viewer.js';

/** @import { Branch, Bridge, Reply } from '../data/messages.js' */
/** @import { Edit } from '../panels/types.js' */
/** @import { Asked, Case, Config, Look, OpenedTrace, Values, Wanted } from './types.js' */

const VIEW = 'dard-view'; // which view a visitor chose: story or full
const NO_MODEL = 'This trace was opened from a file and has no model behind it; decode its prompt to go on.';

/** @param {HTMLElement} root @param {Bridge} bridge @param {Config} config */
export function mountWatch(root, bridge, config) {
  let asked = /** @type {Asked | null} */ (null); // what the run on screen was started with; none for a file's trace
  /** @type {Edit[][]} */
  let edits = [[]]; // of every branch, what leads to it
  /** @type {Pick<Asked, 'decoder' | 'model'> | null} */
  let shown = null; // of the run on screen
  /** @type {string | undefined} */
  let linked; // where the trace on screen was fetched
  let full = true; // everything is shown, not only the page of a story
  /** @type {Case | null} */
  let example = null; // the case that is on screen

  const settings = createSettings(config);
  const summary = h('span', { class: 'dw-summary' });
  const change = createPopover(root, 'Change', settings.element);
  const views = choice('View', VIEWS, (which) => look(which === 'full'));
  const shell = createShell(root, bridge, config, {
    label: 'Decode',
    onDecode: decode,
    onAgain: () => (asked ? start({ ...asked, edits: [] }) : say(NO_MODEL)),
    onCase: openCase,
    onFiles: openFiles,
    running: {
      onRest: () => {
        viewer.goal = Infinity;
        address.rest();
      },
      again: () => asked && { ...asked, edits: edits[client.here.branch] },
      onRemade: (what, reply) => {
        begin(/** @type {Asked} */ (what), reply);
        if (client.held.lanes.length < viewer.lanes.length) client.show(reply, { step: 0 });
        else viewer.setBranches(reply.branches, reply.branch);
      },
    },
    words: {
      request: () => request(),
      onSizes: (checked) => settings.fits(checked),
      give: (text, lengths) => settings.give(text, lengths),
      useModel: (name) => {
        settings.useModel(name);
        leave(request()); // Compare goes on with it
      },
    },
    unlinked: () =>
      asked || linkedFiles().length
        ? null
        : 'A trace from a file has no link; send the file itself, or decode its prompt here.',
    tools: [views],
    aside: [h('div', { class: 'dw-settings' }, summary, change.button), change.panel],
  });
  const { client, prompt, say } = shell;

  let story = /** @type {Story | null} */ (null);
  const viewer = createViewer(
    shell.viewerBox,
    {
      requestStep: () => advance(1),
      requestRun: () => advance(null),
      requestStop: () => client.stop(),
      requestBranch: ({ lane, ...edit }) => withRun(() => client.replace(() => branch(client.held.lanes[lane], edit))),
      requestBranches: (made, lane) => withRun(() => client.replace(() => branches(client.held.lanes[lane], made))),
      requestSetting: (name, value) => {
        const { edits: _, ...what } = asked ?? request();
        openWanted({ ...what, settings: { ...what.settings, [name]: value } });
      },
      ask: (name, data) =>
        new Promise((answer) => {
          withRun(() => answer(client.about(name, data)));
        }),
      ...tuning(bridge, config, { client: () => client, asked: () => asked, begin }),
      switchBranch: (id) => client.replace(() => client.look(id).then((found) => found && client.show(found[0]))),
      compareBranches: (a, b) => client.replace(() => client.sideBySide(a, b)),
      onChange: () => address.remember(),
    },
    {
      exports: { trace: 'Trace (.json.gz)', html: 'Replay page (.html)' },
      keysFrom: root,
      more: [(made) => (story = new Story(made, { onSwitch: () => look(!full), onTurn: turn, next: further() }))],
    },
  );
  client.viewer = viewer;

  /** Where one may go from a story. @returns {[string, () => void][]} */
  function further() {
    const clashing = config.gallery.find((each) => each.name === 'A Sudoku that clashes');
    /** @type {[string, () => void][]} */
    const ways = [
      ['why this works, page by page', () => showTab('Learn')],
      [
        'a sentence of your own',
        () => {
          look(true);
          prompt.focus();
          prompt.select();
        },
      ],
      ['decoders side by side', () => openComparison(example ?? { ...request(), lanes: config.gallery[0].lanes })],
    ];
    if (clashing) ways.unshift(['a Sudoku that clashes with itself', () => openCase(clashing)]);
    return ways;
  }

  /** Draws the frame of what is on screen; another case is another page. */
  function frame() {
    const number = example ? config.gallery.indexOf(example) : 0;
    press(views, full ? 'full' : 'story');
    root.classList.toggle('dw-short', !full);
    story?.show(pageOf(config, example, prompt.value), { number, of: example ? config.gallery.length : 1 }, full);
  }

  /** A story or everything, now and whenever this visitor comes back; the place stays. @param {boolean} everything */
  function look(everything) {
    keep(VIEW, everything ? 'full' : 'story');
    show(everything);
    scrollTo(0, 0); // what one came from is below the fold of a small screen
    address.remember();
  }

  /** @param {boolean} everything @param {Case | null} [item] */
  function show(everything, item = example) {
    full = everything;
    example = item;
    shell.showCase(item);
    frame();
  }

  /** To the next case, or the one before. @param {number} by */
  function turn(by) {
    const item = example && config.gallery[config.gallery.indexOf(example) + by];
    if (item === config.gallery[0]) client.replace(() => openFirst(!full));
    else if (item) openCase(item);
  }

  /** @returns {Asked} */
  function request() {
    settings.follow(prompt.value);
    return {
      prompt: prompt.value,
      model: settings.model(),
      decoder: settings.decoder(),
      settings: settings.values(),
      ...shell.picture.request(),
    };
  }

  /** A prompt of one's own: from before the first step, with its first blank selected, it plays while it is decoded. */
  function decode() {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches; // then it shows how it ends
    start(
      request(),
      () => {
        show(full, null);
        if (!still) viewer.play();
        advance(null);
      },
      { step: 0, position: -1, goal: still ? Infinity : 0 },
    );
  }

  /**
   * A new run in the place of what is on screen, with a branch if there are `edits`; `view` is where one shall look.
   * @param {Asked} what @param {() => void} [then] @param {Look} [view]
   */
  function start(what, then, view = { step: 0 }) {
    client.replace(() =>
      client.start(
        what,
        (reply) => {
          begin(what, reply);
          client.show(reply, view);
        },
        then,
      ),
    );
  }

  /** @param {Asked} what @param {Reply} reply @param {boolean} [moved] its settings were moved, not chosen here */
  function begin(what, reply, moved) {
    if (moved) settings.set(what);
    asked = shown = what;
    leave(what);
    edits = [[]];
    for (const edit of what.edits ?? []) edits.push([...edits[edits.length - 1], edit]);
    settings.learn(what.model, reply.defaults);
    shell.shows(what.prompt);
  }

  /** @param {Branch} lane @param {Edit} edit @param {() => void} [then] */
  function branch(lane, edit, then) {
    const onView = (/** @type {Reply} */ reply, /** @type {Branch} */ from) => {
      edits[Number(reply.branch)] = [...edits[from.branch], edit];
      client.show(reply, {
        step: edit.step,
        position: edit.check ?? (edit.hide ? viewer.state.position : edit.position),
      });
    };
    client.branch(lane, { ...edit }, onView, then);
  }

  /** Several edits, each on the branch of the one before, and on to the end. @param {Branch} lane @param {Edit[]} made */
  function branches(lane, [edit, ...rest]) {
    branch(lane, edit, () => (rest.length ? branches(client.here, rest) : advance(null)));
  }

  /**
   * Does something with the run on screen; the page opens on a view that has none yet, and keeps it while one is made.
   * @param {() => void} action
   */
  function withRun(action) {
    const what = asked;
    if (client.run) action();
    else if (what) client.make(what, viewer.last, (reply) => begin(what, reply), action);
  }

  /**
   * Goes on with the lane one looks at; to the end (null), then with the other one side by side.
   * @param {number | null} steps @param {() => void} [then] @returns {void}
   */
  function advance(steps, then) {
    if (!client.run) return withRun(() => advance(steps, then));
    const lane = [client.here, ...client.run.lanes].find((each) => !each.finished);
    if (!lane) return then?.();
    if (!lane.live) return say(NO_MODEL);
    client.advance(steps, lane, () => (steps === null && lane.finished ? advance(null, then) : then?.()));
  }

  /** @param {Case} item */
  function openCase(item) {
    if (!decodable(config, item)) return void replayCase(item);
    prompt.value = item.prompt;
    settings.set(item);
    start(request(), () => {
      show(full, item);
      if (item.select != null) viewer.select(item.select);
      advance(null, () => (full ? viewer.setStep(item.step ?? 0) : story?.begin()));
    });
  }

  /** A case whose model this page does not offer: its recorded trace. @param {Case} item */
  async function replayCase(item) {
    const reply = await bridge.call('recorded', { name: item.name });
    if (reply.kind === 'error') return shell.refuse(reply.text);
    client.replace(() => {
      showRecorded(reply, { step: item.step ?? 0, position: item.select ?? -1 });
      show(full, item);
    });
  }

  /** One trace is shown here, several side by side. @param {OpenedTrace[]} replies */
  function openFiles([reply, ...others]) {
    if (others.length)
      return openComparison({
        prompt: reply.payload.prompt,
        model: settings.model(),
        lanes: [reply, ...others].map(({ run, name }) => ({ opened: run, name })),
      });
    client.replace(() => {
      showRecorded(reply, { step: 0 });
      show(true, null);
    });
  }

  /** What a link names by its address; what cannot be had is told above the first case. @param {string[]} addresses */
  async function openAddresses(addresses) {
    show(true, null);
    const wrong = await shell.openLinked(addresses);
    if (wrong) openFirst(false);
    if (wrong) say(wrong);
    else if (addresses.length === 1) linked = addresses[0];
  }

  /** A trace with no model behind it, and the prompt and settings it was made with. @param {Reply} reply @param {Look} state */
  function showRecorded(reply, state) {
    const { prompt: text, model, decoder, settings: used } = reply.payload;
    asked = null;
    linked = undefined;
    shown = { decoder, model };
    say(null);
    prompt.value = text;
    shell.shows(text);
    settings.set({ prompt: text, model, decoder, settings: used });
    client.hold(reply);
    client.show(reply, state);
    address.rest();
  }

  // Links: the address holds what was asked, the edits that lead to the branch, and where one looks.

  const address = createAddress(
    root,
    'Watch',
    () => {
      const state = viewer.getState();
      const select = state.position >= 0 ? state.position : undefined;
      if (!full && !client.run) return { place: 'first', values: { show: 'story', step: state.step || undefined } };
      if (!asked) return client.run && { place: ['file', client.run.key], values: { url: linked } };
      const { prompt: text, model, decoder } = asked;
      const unusual = settings.unusual(model, decoder, asked.settings);
      const lane = client.run ? client.here : { branch: 0, steps: viewer.last };
      const leads = editsTo(edits[lane.branch]);
      const values = {
        prompt: text,
        model,
        decoder,
        ...unusual,
        edits: leads,
        ran: lane.steps,
        step: state.step,
        select,
        view: viewTo(state),
        show: full ? undefined : 'story',
      };
      return { place: [text, model, decoder, unusual, leads], values };
    },
    restore,
  );

  /** What another tab asks for: a trace file, or a decode. @param {Wanted} what */
  function openWanted({ files, names, ...what }) {
    show(true, null);
    if (files) return void shell.openFiles(files, names);
    prompt.value = what.prompt ?? '';
    settings.set({ ...what, decoder: what.decoder ?? settings.decoder() });
    start(request(), () => {
      show(true, null);
      advance(null);
    });
  }

  /** @param {unknown} place @param {boolean} same */
  function restore(place, same) {
    const other = takeWanted('Watch');
    if (other) return openWanted(other);
    const told = parameter('show') === 'story';
    const [ran, step, select] = ['ran', 'step', 'select'].map((name) => numberFrom(parameter(name)));
    const view = {
      ...viewFrom(parameter('view')),
      ...(step !== null && { step }),
      ...(select !== null && { position: select }),
    };
    if (same) {
      if (told === full) show(!told);
      return viewer.setState(view);
    }
    const [kind, key] = Array.isArray(place) ? place : [];
    const addresses = linkedFiles();
    if (addresses.length) return openAddresses(addresses);
    if (kind === 'file' && !parameter('prompt')) return openAgain(key);
    const text = parameter('prompt');
    if (text === null) return openFirst(undefined, step ?? undefined);
    const wanted = linkedDecode(config, settings, text);
    prompt.value = wanted.prompt;
    show(!told, caseOf(config.gallery, wanted));
    start(
      wanted,
      () => {
        const left = (ran ?? 0) - client.here.steps;
        if (left > 0) advance(left);
      },
      { ...view, step: step ?? 0, goal: step ?? undefined },
    );
  }

  /** A trace from a file, when one comes back to it. @param {string} key */
  async function openAgain(key) {
    const reply = await bridge.call('show', { run: key });
    if (reply.kind !== 'error') return showRecorded(reply, { step: 0 });
    const kept = reply.expired ? await keptFile(key) : null;
    if (kept) return shell.openFiles([new File([kept.file], kept.name)], [kept.name]);
    openFirst();
    say(reply.text);
  }

  /**
   * The first case; a link says which view of it and where, or else what this visitor chose before.
   * @param {boolean} [short] @param {number} [step]
   */
  function openFirst(short = (parameter('show') ?? recall(VIEW)) !== 'full', step = undefined) {
    const item = config.gallery[0];
    if (!item) return;
    if (!decodable(config, item)) return void replayCase(item);
    prompt.value = item.prompt;
    settings.set({ ...item, model: null });
    if (!config.opening) return start(request(), () => viewer.select(item.select ?? 0));
    client.run = null;
    asked = shown = request();
    edits = [[]];
    say(null);
    viewer.setBranches([]);
    shell.shows(prompt.value);
    show(!short, item);
    viewer
      .load(config.opening.payload, { step: step ?? 0, position: item.select ?? 0 })
      .then(() => !full && step === undefined && story?.begin());
    address.rest();
  }

  const describe = () => {
    const other = shown?.model === settings.model() ? null : shown;
    const title = config.decoders.find((each) => each.name === shown?.decoder)?.title ?? shown?.decoder;
    put(
      summary,
      other && [h('b', {}, title), ' on ', h('b', {}, h('bdi', {}, other.model)), ' · Decode will use '],
      settings.describe(),
    );
    shell.picture.follow(settings.model());
    shell.words.changed();
  };
  prompt.addEventListener('input', () => leave(request()));
  settings.onChange(describe);
  describe();
  onWanted('Watch', () => openWanted(takeWanted('Watch') ?? {}));
  address.open();
}
