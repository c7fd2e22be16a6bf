// What the tabs with a prompt have in common: the prompt row, the gallery, the message box, the theme, files, and one
// question to the server at a time; what is asked for meanwhile is done when that has stopped. Text from anywhere goes
// in as text nodes.
//
// bridge.ask(request, onReply) queues work on the model and streams answers, ending with {kind: 'end'};
// bridge.call(name, request) asks for something quick and resolves to the answer.
// Both answer {kind: 'error', text} for bad input, and what is on screen stays.

import { h, put, setText } from './dom.js';
import { save } from './files.js';
import { createPicture } from './picture.js';
import { createThemeButton, isDark } from './theme.js';

export function createShell(root, bridge, config, { label, onDecode, onCase, onStop, onRest, tools = [], aside = [] }) {
  let working = false;
  let stopping = false; // what is going on shall end, and nothing shall follow from it
  let next = null; // what shall be done then
  let viewer = null;

  const prompt = h('input', { class: 'dw-prompt', 'aria-label': 'Prompt', spellcheck: 'false', autocomplete: 'off', maxlength: config.limits.prompt });
  const alertText = h('span', {});
  const alertBox = h('div', { class: 'dw-alert', role: 'alert', hidden: true }, alertText,
    h('button', { class: 'dv-btn', type: 'button', onclick: () => say(null) }, 'Dismiss'));
  const chips = config.gallery.map((item) => h('button', { class: 'dv-chip', type: 'button', 'aria-pressed': 'false', title: item.look, onclick: () => onCase(item) }, item.name));
  const look = h('p', { class: 'dw-look', hidden: true });
  const about = h('div', { class: 'dw-about' });
  const aboutPanel = createPopover(root, 'About this case', about, false);
  aboutPanel.button.hidden = true;
  const viewerBox = h('div', { class: 'dw-viewer' });
  const picture = createPicture(bridge, config, receive);

  root.classList.add('dv', 'dw');
  put(root,
    h('div', { class: 'dw-tools' }, h('button', { class: 'dv-btn', type: 'button', onclick: () => copyLink() }, 'Copy link'), picture.tools, tools, createThemeButton()),
    h('form', { class: 'dw-row', novalidate: true, onsubmit: (event) => { event.preventDefault(); onDecode(); } }, prompt, aside,
      h('button', { class: 'dv-btn dv-primary', type: 'submit' }, label)),
    h('div', { class: 'dw-row dw-meta' },
      h('div', { class: 'dw-gallery', role: 'group', 'aria-label': 'Gallery' }, h('span', { class: 'dw-try' }, 'Try'), chips), aboutPanel.button, aboutPanel.panel, alertBox),
    look, h('div', { class: 'dw-stage' }, picture.box, viewerBox));

  function say(message) {
    alertBox.hidden = !message;
    setText(alertText, message || '');
  }

  function receive(reply, onReply) {
    if (reply?.kind === 'waiting') viewer?.setBusy(reply.text);
    else if (!reply || reply.kind === 'error') say(reply ? reply.text : 'The server did not answer; try again.');
    else onReply(reply);
  }

  /** Asks the server, which does one thing at a time; `then` follows unless it was stopped. */
  function ask(action, request, onReply, then) {
    if (working) return;
    working = true;
    stopping = false;
    say(null);
    root.classList.add('dw-busy');
    const slow = setTimeout(() => viewer?.setBusy('Waiting for the model …'), 400);
    bridge.ask({ action, ...request }, (reply) => {
      clearTimeout(slow);
      if (reply.kind !== 'end') {
        receive(reply, onReply);
        if (stopping) onStop(); // it may not have begun when it was told first
        return;
      }
      working = false;
      root.classList.remove('dw-busy');
      viewer?.setBusy(null);
      onRest();
      const follow = next ?? (stopping ? null : then);
      next = null;
      follow?.();
    });
  }

  function stop() {
    stopping = true;
    onStop();
  }

  /** For what changes everything on screen: what is going on is stopped first, and of several wishes the last counts. */
  function replace(action) {
    if (!working) return action();
    next = action;
    stop();
  }

  /** Marks the gallery case that is on screen, or none. */
  function showCase(item) {
    for (const chip of chips) {
      const shown = chip.textContent === item?.name;
      chip.setAttribute('aria-pressed', String(shown));
      const row = chip.parentElement;
      // The row scrolls sideways where it is narrow; scrollIntoView would move the page as well.
      if (shown) row.scrollLeft = chip.offsetLeft - (row.clientWidth - chip.offsetWidth) / 2;
    }
    setText(look, item?.look || '');
    look.hidden = !item?.look;
    aboutPanel.button.hidden = !item;
    aboutPanel.close();
    if (item) put(about, h('h3', {}, item.name), h('p', {}, item.look), h('p', {}, item.why));
  }

  /** Puts the address of what is on screen on the clipboard. */
  async function copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      say('The link to this view is on the clipboard.');
    } catch { say('The address bar holds the link to this view.'); }
  }

  async function download(request) {
    viewer.setBusy('Making the file …');
    const reply = await bridge.call('export', { ...request, theme: isDark() ? 'dark' : 'light' });
    viewer.setBusy(working ? 'Decoding …' : null);
    receive(reply, save);
  }

  return { prompt, viewerBox, picture, say, receive, ask, stop, replace, showCase, download, setViewer: (made) => { viewer = made; } };
}

/**
 * The address of the page follows what is on screen. `write(parameters)` puts it there, once it has come to rest and only
 * while `root` is the tab in view; it takes back what the other tabs left.
 */
export function createAddress(root, own, write) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (!root.isConnected || !root.offsetParent) return;
      const url = new URL(location.href);
      for (const name of ['compare', 'lesson', ...own]) url.searchParams.delete(name);
      write(url.searchParams);
      history.replaceState(history.state, '', url);
    }, 120);
  };
}

/** A panel that opens below its button and closes on Escape or a click elsewhere. */
export function createPopover(root, label, content, wide = true) {
  const panel = h('div', { class: wide ? 'dw-panel' : 'dw-panel dw-narrow', hidden: true }, content);
  const button = h('button', { class: 'dw-link', type: 'button', 'aria-expanded': 'false', onclick: () => toggle() }, label);
  function toggle(open = panel.hidden) {
    panel.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
  }
  document.addEventListener('click', (event) => {
    if (!panel.hidden && event.target.isConnected && !panel.contains(event.target) && event.target !== button) toggle(false);
  });
  root.addEventListener('keydown', (event) => { if (event.key === 'Escape') toggle(false); });
  return { panel, button, close: () => toggle(false) };
}
