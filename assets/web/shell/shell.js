// What the tabs with a prompt have in common: the prompt row, the gallery, the message box, the theme, files, and the
// client of a run. Text from anywhere goes in as text nodes. For `bridge` see bridge.js.

import { Client } from '../data/client.js';
import { keepFile } from '../data/kept.js';
import { linkedFiles } from '../data/links.js';
import { h, oneStop, put, sentenceOf, setText } from '../draw/dom.js';
import { fetchedFile } from './fetched.js';
import { onDrop, readFile, traceName } from './files.js';
import { createPicture } from './picture.js';
import { createPopover } from './popover.js';
import { createProjectorButton } from './projector.js';
import { createThemeButton } from './theme.js';
import { createWords } from './words.js';

/** @import { Bridge } from '../data/messages.js' */
/** @import { Case, Config, OpenedTrace, Shelled } from './types.js' */

const HUB = 'huggingface.co'; // where `?url=` may lead; the page's content policy allows no other

/** Whether a case can be decoded here; if not, its recorded trace is shown. @param {Config} config @param {Case} item */
export const decodable = ({ models, decoders }, item) =>
  models.includes(item.model) && decoders.some(({ name }) => name === item.decoder);

/** @param {HTMLElement} root @param {Bridge} bridge @param {Config} config @param {Shelled} tab */
export function createShell(
  root,
  bridge,
  config,
  { label, onDecode, onAgain, onCase, onFiles, running, words: host, unlinked = () => null, aside = [], tools = [] },
) {
  /** @type {string | null} */
  let onScreen = null; // the prompt of the run on screen
  /** @type {ReturnType<typeof setTimeout> | 0} */
  let leaving = 0; // when a notice goes away

  const prompt = h('input', {
    class: 'dw-prompt',
    'aria-label': 'Prompt',
    placeholder: 'A prompt; [MASK] is a place to fill',
    spellcheck: 'false',
    autocomplete: 'off',
    maxlength: config.limits.prompt,
  });
  const alertText = h('span', {});
  const alertBox = h(
    'div',
    { class: 'dw-alert', role: 'alert', hidden: true },
    alertText,
    h('button', { class: 'dv-btn dv-mini', type: 'button', onclick: () => say(null) }, 'Dismiss'),
  );
  const notice = h('p', { class: 'dw-notice', role: 'status', hidden: true });
  const stale = h('p', { class: 'dw-stale', hidden: true });
  const chips = config.gallery.map((item) =>
    h(
      'button',
      {
        class: 'dv-chip',
        type: 'button',
        'aria-pressed': 'false',
        title: item.look,
        // Whoever clicks goes on with what is shown, and its keys; whoever came by keys stays in the row.
        onclick: (/** @type {MouseEvent} */ { detail, currentTarget }) => {
          if (detail) /** @type {HTMLElement} */ (currentTarget).blur();
          onCase(item);
        },
      },
      item.by ? `${item.name} · ${item.model.split('/').at(-1)}` : item.name,
    ),
  );
  const examples = h(
    'div',
    { class: 'dw-gallery', role: 'group', 'aria-label': 'Gallery' },
    [...new Set(config.gallery.map(({ question }) => question))].map((question) => [
      h('span', { class: 'dw-try' }, question),
      chips.filter((_, n) => config.gallery[n].question === question),
    ]),
  );
  const stopAt = oneStop(examples);
  const look = h('p', { class: 'dw-look', hidden: true });
  const about = h('div', { class: 'dw-about' });
  const aboutPanel = createPopover(root, 'About this case', about, false);
  aboutPanel.button.hidden = true;
  const viewerBox = h('div', { class: 'dw-viewer' });
  /** @type {HTMLInputElement} */
  const file = h('input', {
    type: 'file',
    accept: '.json,.gz,application/json,application/gzip',
    multiple: true,
    hidden: true,
    'aria-label': 'Trace file',
    onchange: () => openFiles(file.files ?? []),
  });
  const picture = createPicture(bridge, config, (refused) => refuse(refused.text));
  const words = createWords(root, bridge, prompt, {
    ...host,
    said: () => alertText.textContent,
    useModel: (name) => {
      say(null);
      host.useModel(name);
    },
  });
  prompt.addEventListener('keydown', (event) => event.key === 'Escape' && !event.defaultPrevented && prompt.blur()); // one that closes the list does no more
  const client = new Client(root, bridge, { say, refuse, tell, ...running });

  root.classList.add('dv', 'dw');
  put(
    root,
    h(
      'div',
      { class: 'dw-tools' },
      tools,
      h('button', { class: 'dv-btn', type: 'button', onclick: () => copyLink() }, 'Copy link'),
      picture.tools,
      h('button', { class: 'dv-btn', type: 'button', onclick: () => file.click() }, 'Open trace'),
      file,
      createProjectorButton(),
      createThemeButton(),
    ),
    h(
      'form',
      {
        class: 'dw-row',
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          onDecode();
        },
      },
      h('div', { class: 'dw-typing' }, prompt, words.marks, words.button, words.list, words.panel),
      aside,
      h('button', { class: 'dv-btn dv-primary', type: 'submit' }, label),
      h(
        'button',
        {
          class: 'dv-btn dw-again',
          type: 'button',
          title: 'The run on screen anew: the same prompt and settings, before the first step, without branches',
          onclick: onAgain,
        },
        'Start over',
      ),
    ),
    words.note,
    h('div', { class: 'dw-row dw-meta' }, examples, aboutPanel.button, aboutPanel.panel),
    alertBox,
    notice,
    stale,
    look,
    h('div', { class: 'dw-stage' }, picture.box, viewerBox),
  );

  /** An error, which stays until it is dismissed or something else is asked for. @param {string | null} message */
  function say(message) {
    alertBox.hidden = !message;
    setText(alertText, message || '');
    if (message) tell(null);
    words.heard(message);
  }

  /** Good news, which goes away by itself. @param {string | null} message */
  function tell(message) {
    clearTimeout(leaving);
    notice.hidden = !message;
    setText(notice, message || '');
    if (message) leaving = setTimeout(() => tell(null), 6000);
  }

  /** The prompt of what is on screen now; a prompt that was refused is not mistaken for it. @param {string} text */
  function shows(text) {
    onScreen = text;
    stale.hidden = true;
  }

  /** What was asked for is not to be had, and what is on screen stays. @param {string} sentence */
  function refuse(sentence) {
    say(sentence);
    stale.hidden = onScreen === null || onScreen === prompt.value;
    put(stale, 'Below is still the run of ', h('bdi', { class: 'dv-word' }, onScreen ?? ''));
  }

  /** Marks the gallery case that is on screen, or none. @param {Case | null} [item] */
  function showCase(item) {
    aboutPanel.button.hidden = !item; // beside the row: before that is measured
    for (const [number, chip] of chips.entries()) {
      const shown = config.gallery[number].name === item?.name;
      chip.setAttribute('aria-pressed', String(shown));
      if (!shown) continue;
      // The row scrolls sideways where it is narrow; scrollIntoView would move the page as well.
      stopAt(chip);
      examples.scrollLeft = chip.offsetLeft - (examples.clientWidth - chip.offsetWidth) / 2;
    }
    client.viewer?.setTitle?.(item?.name);
    setText(look, item?.look || '');
    look.hidden = !item?.look;
    aboutPanel.close();
    if (!item) return;
    const whose = item.by && `Recorded on ${item.model} by ${item.by}, ${item.licence}.`;
    put(
      about,
      h('h3', {}, item.name),
      [item.look, item.why, whose].filter(Boolean).map((text) => h('p', {}, text)),
    );
  }

  onDrop(root, (files) => openFiles(files));

  /**
   * Trace files that were chosen or dropped, all or none of them: the server's answers go to the tab. Resolves to what was wrong.
   * @param {Iterable<File>} files @param {string[]} [names]
   */
  async function openFiles(files, names = []) {
    const chosen = [...files];
    file.value = '';
    /** @type {OpenedTrace[]} */
    const replies = [];
    const wrong = (/** @type {string} */ text, name = '') => {
      const sentence = name && chosen.length > 1 ? `${name}: ${text}` : text;
      refuse(sentence);
      return sentence;
    };
    if (chosen.length > config.limits.compared)
      return wrong(`At most ${config.limits.compared} traces are shown side by side.`);
    for (const [number, one] of chosen.entries()) {
      const name = names[number] ?? traceName(one.name);
      if (one.size > config.limits.upload)
        return wrong(`That file is larger than ${config.limits.upload >> 20} MB.`, name);
      const reply = await bridge.call('open_trace', { name, data: await readFile(one) });
      if (reply.kind === 'error') return wrong(reply.text, name);
      keepFile(reply.run, name, one);
      replies.push({ ...reply, name });
    }
    if (replies.length) onFiles(replies);
    return null;
  }

  /** Traces that an address names, fetched by this browser from the hub. Resolves to what was wrong. @param {string[]} addresses */
  async function openLinked(addresses) {
    tell(`Fetching from ${HUB} …`);
    const sources = addresses.slice(0, config.limits.compared + 1).map((each) => fetchedFile(each, HUB));
    try {
      const files = sources.map(async ({ name, read }) => new File([await read(config.limits.upload)], name));
      return await openFiles(await Promise.all(files));
    } catch (error) {
      return sentenceOf(error);
    } finally {
      tell(null);
    }
  }

  /** Puts the address of what is on screen on the clipboard. */
  async function copyLink() {
    const why = unlinked();
    if (why) return tell(why);
    const held = linkedFiles().length
      ? 'In it is the address of the trace, which whoever opens it fetches from there.'
      : 'In it are the prompt, the model’s name, the settings and any edits; whoever opens it decodes anew.';
    try {
      await navigator.clipboard.writeText(location.href);
      tell(`The link to this view is on the clipboard. ${held}`);
    } catch {
      tell(`The address bar holds the link to this view. ${held}`);
    }
  }

  return { prompt, words, viewerBox, picture, client, say, refuse, shows, showCase, openFiles, openLinked };
}
