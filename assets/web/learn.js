// The Learn tab: a guided tour. Each page drives the real viewer with a real decode, and asks a question it answers.
//
// `mountLearn(root, bridge, config)`; for `bridge` see shell.js. The page's number is in the address as `lesson`.

import { h, put, setText } from './dom.js';
import { GLOSSARY, formula } from './symbols.js';
import { createViewer } from './viewer.js';

export function mountLearn(root, bridge, config) {
  const { lessons } = config;
  let current = -1;
  let run = null;
  let turn = 0; // answers of an earlier page are ignored

  const title = h('h2', { class: 'dl-title', tabindex: '-1' });
  const place = h('span', { class: 'dl-place' });
  const text = h('div', {});
  const equation = h('p', { class: 'dl-equation', 'aria-label': 'equation' });
  const task = h('p', { class: 'dl-do' });
  const question = h('p', {});
  const answer = h('p', { class: 'dl-answer', role: 'status', hidden: true });
  const show = h('button', { class: 'dv-btn', type: 'button', onclick: () => reveal() }, 'Show the answer');
  const back = h('button', { class: 'dv-btn', type: 'button', onclick: () => open(current - 1, true) }, 'Previous');
  const next = h('button', { class: 'dv-btn dv-primary', type: 'button', onclick: () => open(current + 1, true) }, 'Next');
  const contents = h('ol', { class: 'dl-contents' }, lessons.map((lesson, n) => h('li', {}, h('button', { class: 'dw-link', type: 'button', onclick: () => open(n, true) }, lesson.title))));
  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const viewerBox = h('div', {});
  root.classList.add('dv', 'dw', 'dl');
  put(root, h('div', { class: 'dl-frame' },
    h('section', { class: 'dv-panel dl-page', 'aria-label': 'Lesson' },
      h('div', { class: 'dl-head' }, title, place), text, equation, h('h3', {}, 'Do'), task, h('h3', {}, 'Ask'), question,
      h('div', { class: 'dl-reveal' }, show), answer, message, h('div', { class: 'dl-nav' }, back, next),
      h('details', {}, h('summary', {}, 'All pages'), contents),
      h('details', {}, h('summary', {}, 'Glossary'), h('dl', { class: 'dl-glossary' }, Object.entries(GLOSSARY).map(([term, meaning]) => [h('dt', {}, term), h('dd', {}, meaning)])))),
    h('div', { class: 'dl-viewer' }, viewerBox)));

  const viewer = createViewer(viewerBox, {
    requestStep: () => advance(1),
    requestRun: () => advance(null),
    requestReset: () => open(current),
    fetchLife: (position, lane) => bridge.call('life', { run, branch: lane, position }),
  }, { keysFrom: root });

  function open(number, focus = false) {
    current = Math.min(Math.max(number, 0), lessons.length - 1);
    const lesson = lessons[current];
    setText(title, lesson.title);
    setText(place, `${current + 1} of ${lessons.length}`);
    put(text, lesson.text.map((paragraph) => h('p', {}, paragraph)));
    put(equation, formula(lesson.equation));
    put(task, formula(lesson.do));
    setText(question, lesson.question);
    setText(answer, lesson.answer);
    answer.hidden = true;
    message.hidden = true;
    show.disabled = false;
    back.disabled = current === 0;
    next.disabled = current === lessons.length - 1;
    for (const [n, item] of [...contents.children].entries()) item.classList.toggle('dl-here', n === current);
    const url = new URL(location.href);
    if (focus) {
      url.searchParams.delete('compare');
      url.searchParams.set('lesson', current + 1);
      history.replaceState(history.state, '', url);
      title.focus();
    }
    decode(lesson.show);
  }

  function decode(wanted) {
    const { step = 0, position = -1, order = 'state', reach = 0 } = wanted;
    const state = { step, position, order, reach, lane: 0 };
    const mine = ++turn;
    const request = wanted.lanes ? { action: 'compare', prompt: wanted.prompt, lanes: wanted.lanes } : { action: 'start', prompt: wanted.prompt, decoder: wanted.decoder, settings: wanted.settings };
    bridge.ask(request, (reply) => {
      if (mine !== turn) return;
      if (reply.kind === 'error') return complain(reply.text);
      if (reply.kind === 'waiting') return viewer.setBusy(reply.text);
      if (reply.kind === 'end') return run && advance(null, () => mine === turn && viewer.setState(state));
      viewer.setBusy(null);
      run = reply.run;
      viewer.load(reply.payloads || reply.payload, { ...state, step: 0 });
    });
  }

  function advance(steps, then) {
    const mine = turn;
    const action = lessons[current].show.lanes ? 'passes' : 'advance';
    bridge.ask(steps === null ? { action, run } : { action, run, steps }, (reply) => {
      if (mine !== turn) return;
      if (reply.kind === 'error') return complain(reply.text);
      if (reply.kind === 'end') return then?.();
      for (const found of reply.steps) viewer.append([found.step || found], found.lane || 0);
    });
  }

  function reveal() {
    answer.hidden = false;
    show.disabled = true;
    viewer.setState({ ...lessons[current].reveal });
  }

  function complain(sentence) {
    setText(message, sentence);
    message.hidden = false;
  }

  root.addEventListener('keydown', (event) => {
    if (event.altKey && event.key === 'PageDown') open(current + 1, true);
    if (event.altKey && event.key === 'PageUp') open(current - 1, true);
  });
  const asked = new URL(location.href).searchParams.get('lesson') || '';
  open(/^\d{1,2}$/.test(asked) ? Number(asked) - 1 : 0);
}
