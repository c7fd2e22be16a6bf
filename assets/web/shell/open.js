// The page that shows any trace and is only a file: traces are dropped on it, chosen, named in its address (?url=, up to four
// times), or sent by the window that opened it or holds it. Nothing is sent anywhere but to who sent the trace: whether it
// could be shown. What cannot be shown is refused with one sentence, and what is on screen stays.
//
//   const page = open('view.html');
//   addEventListener('message', ({ source, data }) => data?.type === 'dard-ready' && source === page
//     && page.postMessage({ type: 'dard-trace', name: 'mine', trace: bytes }, '*'));    // an ArrayBuffer, bytes, or a trace's JSON as text
//   // the answer: { type: 'dard-opened', ok: true | false, text: what was wrong }

import { createAlone } from './alone.js';
import { byId, h, put, sentenceOf, setText } from '../draw/dom.js';
import { contents } from './exports.js';
import { fetchedFile } from './fetched.js';
import { chosenFiles, onDrop } from './files.js';
import { unpack } from '../data/packed.js';
import { readTrace } from '../data/trace.js';

/** @import { Payload } from '../data/types.js' */
/** @import { Reader } from '../data/types.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Source } from './files.js' */

const LANES_AT_MOST = 4;

const viewer = createAlone();
const [title, about, prompt, notice, tools] = ['title', 'about', 'prompt', 'notice', 'tools'].map(byId);
/** @type {Promise<Reader>} */
const reader = unpack(byId('data').textContent);
/** @type {(Payload & { file: string })[]} */
let shown = []; // traces on screen
let theirs = true; // what is on screen was not chosen by the visitor
/** @type {Promise<unknown>} */
let work = Promise.resolve(); // one after the other

/**
 * Reads every source before anything on screen changes; with `beside`, they join what is there. Resolves to what was wrong.
 * @param {Source[]} sources
 */
function show(sources, beside = false) {
  const result = work.then(async () => {
    try {
      if (!sources.length) return null;
      const kept = beside ? shown : [];
      if (kept.length + sources.length > LANES_AT_MOST)
        throw new Error(`At most ${LANES_AT_MOST} traces are shown side by side.`);
      const known = await reader;
      /** @type {typeof shown} */
      const found = [];
      for (const { name, read } of sources) {
        const trace = await read(known.limits.file)
          .then((bytes) => readTrace(bytes, known))
          .catch((error) => {
            throw new Error(`${name}: ${sentenceOf(error)}`);
          });
        found.push({ ...trace, file: name });
      }
      const all = [...kept, ...found];
      await viewer.load(
        all.map((trace) => (all.length > 1 ? { ...trace, name: trace.file } : trace)),
        { lane: 0, ...(document.body.hasAttribute('data-ready') && { step: 0 }) },
      );
      shown = all;
      describe();
      say(null);
      return null;
    } catch (error) {
      say(sentenceOf(error));
      return sentenceOf(error);
    }
  });
  work = result;
  return result;
}

function describe() {
  setText(title, shown.map((trace) => trace.file).join(' | '));
  setText(
    about,
    viewer.lanes
      .map(({ about: { title: decoder }, head: { model }, last }) => `${decoder} on ${model}, ${last} steps`)
      .join(' | '),
  );
  put(
    prompt,
    [...new Set(viewer.lanes.map((lane) => lane.head.prompt))].map((text) => h('bdi', {}, text)),
  );
  prompt.title = contents(viewer.lanes);
  document.body.setAttribute('data-ready', '');
  beside.hidden = false;
}

/** What the visitor chose. @param {Iterable<File> | null} files @param {boolean} beside */
function choose(files, beside) {
  show(chosenFiles(files ?? []), beside).then((wrong) => {
    theirs &&= !!wrong;
  });
}

/** @param {string | null} text @param {...Child} more */
function say(text, ...more) {
  notice.hidden = !text;
  put(notice, text ?? '', more);
}

/** @param {string} name @param {boolean} beside */
const button = (name, beside) => {
  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'file',
    multiple: true,
    hidden: true,
    'aria-label': name,
    onchange: () => {
      choose(input.files, beside);
      input.value = '';
    },
  });
  return h('span', { hidden: beside }, h('button', { type: 'button', onclick: () => input.click() }, name), input);
};
const beside = button('Add beside', true);
put(tools, button('Open', false), beside);
onDrop(document.body, (files) => choose(files, false));

// From another window. It may send what it likes; what the visitor has opened is only replaced by the visitor.

/** @type {Window | null} */
const other = window.opener ?? (window.parent === window ? null : window.parent);

addEventListener('message', ({ source, origin, data }) => {
  if (!other || source !== other || data?.type !== 'dard-trace') return;
  const answer = (/** @type {string | null} */ text) =>
    other.postMessage({ type: 'dard-opened', ok: !text, text: text ?? '' }, origin === 'null' ? '*' : origin);
  const read = async (/** @type {number} */ most) => {
    const { trace } = data;
    if ((trace?.length ?? trace?.byteLength) > most) throw new Error(`trace file is larger than ${most >> 20} MB`);
    if (typeof trace === 'string') return new TextEncoder().encode(trace);
    if (trace instanceof ArrayBuffer || trace instanceof Uint8Array) return new Uint8Array(trace);
    throw new Error('trace must be an ArrayBuffer, bytes or text');
  };
  const name = typeof data.name === 'string' && data.name ? data.name.slice(0, 60) : 'trace';
  const open = () =>
    show([{ name, read }]).then((wrong) => {
      theirs ||= !wrong;
      answer(wrong);
    });
  if (theirs) open();
  else say(`${origin} sends a trace. `, h('button', { type: 'button', onclick: open }, 'Show it in place of this one'));
});
other?.postMessage({ type: 'dard-ready' }, '*');

show(
  new URLSearchParams(location.search)
    .getAll('url')
    .slice(0, LANES_AT_MOST + 1)
    .map((address) => fetchedFile(address)),
);
