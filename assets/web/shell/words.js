// What the model makes of a prompt before it is sent: completion, the words it does not know marked where they stand, how
// many of its tokens a run takes, and, of a model with a closed list of words, that list and its worlds. All of it is the
// server's: what it would refuse, it says here in the same sentence. Nothing is asked for before the prompt is on screen.

import { createCompletion, goingOn } from './complete.js';
import { h, oneStop, put, setText } from '../draw/dom.js';
import { createPopover } from './popover.js';

const MASK = '[MASK]';
const PAUSE = 150; // milliseconds without a key before the server is asked
const OWN = /^\[[A-Z]+\]$/; // a token of the model's own, no word to write
const NOTHING = { words: [], worlds: [] };

/** host: request(), what would be sent; said(), what an alert says already; onSizes(checked) with what the server makes of it; give(prompt, lengths), for a world's example; useModel(name). */
export function createWords(root, bridge, prompt, host) {
  const told = new Map(); // of each model that is loaded, what it knows
  let known = NOTHING;
  let unknown = new Set();
  let writable = [];
  let timer = 0;
  let question = 0;
  let awake = false;

  const { list, insert } = createCompletion(prompt, () => writable);
  const marks = h('div', { class: 'dw-marks', 'aria-hidden': 'true' });
  const said = h('span', {});
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
    const caret = document.activeElement === prompt ? prompt.selectionStart : -1;
    const [start] = caret === text.length ? /\S*$/.exec(text) : [''];
    return start && !writable.includes(start) && goingOn(writable, start).length ? text.slice(0, -start.length) : text;
  }

  async function check() {
    const asked = { ...host.request(), prompt: settled() };
    const number = (question += 1);
    const reply = await bridge.call('check', asked);
    if (reply.limit && !told.has(asked.model))
      told.set(asked.model, await bridge.call('knows', { model: asked.model }));
    if (number !== question || reply.kind === 'error') return;
    learn(told.get(asked.model)?.words ? told.get(asked.model) : NOTHING);
    const refused = asked.prompt.trim() ? reply.text : null;
    setText(said, refused ?? '');
    other.hidden = !refused || !reply.instead;
    other.value = reply.instead ?? '';
    setText(other, `Use ${other.value} instead`);
    heard(host.said());
    prompt.setAttribute('aria-invalid', String(!!refused));
    unknown = new Set(reply.unknown);
    mark();
    host.onSizes(reply);
  }

  /** What an alert says is not said twice; another model stays offered. */
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
    const groups = new Map();
    for (const word of known.words.filter((each) => !OWN.test(each)).sort((a, b) => a.localeCompare(b, 'en'))) {
      const first = /^\p{L}/u.test(word) ? word[0].toUpperCase() : 'digits and signs';
      groups.set(first, [...(groups.get(first) ?? []), word]);
    }
    const chip = (text, action) =>
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
    stop(content.querySelector('button'));
  }

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
