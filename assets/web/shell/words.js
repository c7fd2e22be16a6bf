// What the model makes of a prompt before it is sent: completion, the words it does not know marked where they stand, how
// many of its tokens a run takes, and, of a model with a closed list of words, that list and its worlds. All of it is the
// server's: what it would refuse, it says here in the same sentence. Nothing is asked for before the prompt is on screen.

import { caretOf, createCompletion, goingOn } from './complete.js';
import { h, oneStop, put, setText } from '../draw/dom.js';
import { createPopover } from './popover.js';

/** @import { Bridge, Called, Refused } from '../data/messages.js' */
/** @import { WordsHost, World } from './types.js' */
/** @typedef {Pick<Called['knows'], 'words' | 'worlds'>} Known */

const MASK = '[MASK]';
const PAUSE = 150; // milliseconds without a key before the server is asked
const OWN = /^\[[A-Z]+\]$/; // a token of the model's own, no word to write
/** @type {Known} */
const NOTHING = { words: [], worlds: [] };

/** @param {HTMLElement} root @param {Bridge} bridge @param {HTMLInputElement} prompt @param {WordsHost} host */
export function createWords(root, bridge, prompt, host) {
  /** @type {Map<string, Called['knows'] | Refused>} */
  const told = new Map(); // of each model that is loaded, what it knows
  let known = NOTHING;
  /** @type {Set<string>} */
  let unknown = new Set();
  /** @type {string[]} */
  let writable = [];
  /** @type {ReturnType<typeof setTimeout> | 0} */
  let timer = 0;
  let question = 0;
  let awake = false;

  const { list, insert } = createCompletion(prompt, () => writable);
  const marks = h('div', { class: 'dw-marks', 'aria-hidden': 'true' });
  const said = h('span', {});
  /** @type {HTMLButtonElement} */
  const other = h('button', {
    class: 'dv-chip',
    type: 'button',
    hidden: true,
    onclick: () => host.useModel(other.value),
  });
  const note = h('p', { class: 'dw-check', 'aria-live': 'polite', hidden: true }, said, other);
  const content = h('div', { class: 'dw-knows' });
  const stop = oneStop(content);
  const { panel, button, close } = createPopover(root, '', content, false);
  button.hidden = true;
  button.title = 'What this model knows';
  note.id = `${list.id}-note`;
  prompt.setAttribute('aria-describedby', note.id);

  /** What it would be told if the word that is being typed were not there yet. */
  function settled() {
    const text = prompt.value;
    const caret = document.activeElement === prompt ? caretOf(prompt) : -1;
    const start = caret === text.length ? text.slice(text.search(/\S*$/)) : '';
    return start && !writable.includes(start) && goingOn(writable, start).length ? text.slice(0, -start.length) : text;
  }

  async function check() {
    const request = { ...host.request(), prompt: settled() };
    const { model } = request;
    const number = (question += 1);
    const reply = await bridge.call('check', request);
    if (reply.kind === 'error') return;
    if (reply.limit && !told.has(model)) told.set(model, await bridge.call('knows', { model }));
    if (number !== question) return;
    const knows = told.get(model);
    learn(knows?.kind === 'knows' ? knows : NOTHING);
    const refused = request.prompt.trim() ? reply.text : null;
    setText(said, refused ?? reply.note ?? '');
    other.hidden = !refused || !reply.instead;
    other.value = reply.instead ?? '';
    setText(other, `Use ${other.value} instead`);
    heard(host.said());
    prompt.setAttribute('aria-invalid', String(!!refused));
    unknown = new Set(reply.unknown);
    mark();
    host.onSizes(reply);
  }

  /** What an alert says is not said twice; another model stays offered. @param {string | null} sentence */
  function heard(sentence) {
    said.hidden = sentence === said.textContent;
    note.hidden = (said.hidden || !said.textContent) && other.hidden;
  }

  function mark() {
    put(
      marks,
      prompt.value.split(/(\s+|\[[A-Z]+\])/).map((part) => (unknown.has(part) ? h('mark', {}, part) : part)),
    );
    follow();
  }

  /** Another prompt, model or setting: asks soon, if anyone looks. */
  function changed() {
    clearTimeout(timer);
    if (awake) timer = setTimeout(check, PAUSE);
  }

  /** @param {Known} now */
  function learn(now) {
    if (now === known) return;
    known = now;
    writable = known.words.length ? [MASK, ...known.words.filter((word) => !OWN.test(word))] : [];
    button.hidden = !known.words.length;
    setText(button, `${known.words.length} words`);
    close();
    draw();
  }

  function draw() {
    const own = known.words.filter((word) => OWN.test(word));
    /** @type {Map<string, string[]>} */
    const groups = new Map();
    for (const word of known.words.filter((each) => !OWN.test(each)).sort((a, b) => a.localeCompare(b, 'en'))) {
      const first = /^\p{L}/u.test(word) ? word[0].toUpperCase() : 'digits and signs';
      groups.set(first, [...(groups.get(first) ?? []), word]);
    }
    const chip = (/** @type {string} */ text, /** @type {() => void} */ action) =>
      h('button', { class: 'dv-chip', type: 'button', onclick: action }, h('bdi', {}, text));
    put(
      content,
      h('h2', {}, 'What this model knows'),
      known.worlds.length > 0 && [
        h('h3', {}, `${known.worlds.length} worlds, each with a prompt it was not trained on`),
        h(
          'div',
          { class: 'dw-chips' },
          known.worlds.map((world) => chip(world.title, () => example(world))),
        ),
      ],
      h('h3', {}, `${known.words.length} words, a space between any two`),
      h(
        'div',
        { class: 'dw-chips' },
        chip(MASK, () => insert(MASK)),
        h('small', {}, 'a place to fill'),
      ),
      [...groups].map(([first, words]) =>
        h(
          'div',
          { class: 'dw-chips' },
          h('small', {}, first),
          words.map((word) => chip(word, () => insert(word))),
        ),
      ),
      own.length > 0 && h('p', {}, `Of these, ${own.length} are its own: ${own.join(' ')}`),
    );
    stop(/** @type {HTMLButtonElement} */ (content.querySelector('button')));
  }

  /** @param {World} world */
  function example(world) {
    prompt.value = world.prompt;
    host.give(world.prompt, world.gen_length === null ? {} : { gen_length: world.gen_length });
    close();
    prompt.focus();
    mark();
    changed();
  }

  /** The marks stand under the words, however far the field is scrolled. */
  function follow() {
    marks.scrollLeft = prompt.scrollLeft;
  }

  prompt.addEventListener('input', () => {
    mark();
    changed();
  });
  for (const name of ['scroll', 'keyup', 'blur', 'focus']) prompt.addEventListener(name, follow);
  prompt.addEventListener('blur', changed);
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    (window.requestIdleCallback ?? setTimeout)(() => {
      awake = true;
      changed();
    });
  }).observe(prompt);

  return { list, marks, note, button, panel, changed, heard };
}
