// The Learn tab: a guided tour. Each page drives the real viewer with a real decode, and asks a question it answers.
//
// `mountLearn(root, bridge, config)`; for `bridge` see bridge.js. What comes later is hidden until one steps there.

import { Client } from '../data/client.js';
import { h, put, setText } from '../draw/dom.js';
import { createAddress, numberFrom, parameter, viewFrom, viewTo } from '../data/links.js';
import { createProjectorButton } from './projector.js';
import { GLOSSARY, formula } from '../draw/symbols.js';
import { createThemeButton } from './theme.js';
import { createViewer } from './viewer.js';

/** @import { Bridge, Entry, Request } from '../data/messages.js' */
/** @import { State } from '../panels/types.js' */
/** @import { LearnConfig, Lesson } from './types.js' */

/** @param {HTMLElement} root @param {Bridge} bridge @param {LearnConfig} config */
export function mountLearn(root, bridge, config) {
  const { lessons } = config;
  let current = -1;
  /** @type {Request | null} */
  let asked = null; // what the run on screen was started with
  /** @type {Partial<State> & { step: number, position: number }} */
  let opening = { step: 0, position: -1 }; // the view its page begins with, or what its answer shows

  const title = h('h2', { class: 'dl-title', tabindex: '-1' });
  const place = h('span', { class: 'dl-place' });
  const text = h('div', {});
  const equation = h('p', { class: 'dl-equation', 'aria-label': 'equation' });
  const task = h('p', { class: 'dl-do' });
  const question = h('p', {});
  const answer = h('p', { class: 'dl-answer', role: 'status', hidden: true });
  const show = h('button', { class: 'dv-btn', type: 'button', onclick: () => reveal() }, 'Show the answer');
  const back = h('button', { class: 'dv-btn', type: 'button', onclick: () => turnTo(current - 1) }, 'Previous');
  const next = h('button', { class: 'dv-btn dv-primary', type: 'button', onclick: () => turnTo(current + 1) }, 'Next');
  const contents = h(
    'ol',
    { class: 'dl-contents' },
    lessons.map((lesson, n) =>
      h('li', {}, h('button', { class: 'dw-link', type: 'button', onclick: () => turnTo(n) }, lesson.title)),
    ),
  );
  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const viewerBox = h('div', {});
  root.classList.add('dv', 'dw', 'dl');
  put(
    root,
    h('div', { class: 'dw-tools' }, createProjectorButton(), createThemeButton()),
    h(
      'div',
      { class: 'dl-frame' },
      h(
        'section',
        { class: 'dv-panel dl-page', 'aria-label': 'Lesson' },
        h('div', { class: 'dl-head' }, title, place),
        text,
        equation,
        h('h3', {}, 'Do'),
        task,
        h('h3', {}, 'Ask'),
        question,
        h('div', { class: 'dl-reveal' }, show),
        answer,
        message,
        h('div', { class: 'dl-nav' }, back, next),
        h('details', {}, h('summary', {}, 'All pages'), contents),
        h(
          'details',
          {},
          h('summary', {}, 'Glossary'),
          h(
            'dl',
            { class: 'dl-glossary' },
            Object.entries(GLOSSARY).map(([term, meaning]) => [h('dt', {}, term), h('dd', {}, meaning)]),
          ),
        ),
      ),
      h('div', { class: 'dl-viewer' }, viewerBox),
    ),
  );

  const viewer = createViewer(
    viewerBox,
    {
      ...(!bridge.recorded && {
        requestStep: () => advance(1),
        requestRun: () => advance(null),
        ask: (name, data) => client.about(name, data),
      }),
      onChange: () => address.remember(),
    },
    { keysFrom: root },
  );
  const client = new Client(root, bridge, { say: complain, refuse: complain, tell: complain, again: () => asked });
  client.viewer = viewer;

  /** The view a page opens with. @param {Partial<State>} show */
  const usual = ({ order, reach, side, map }) => ({ order, reach, side, map, hideLater: true });

  /** @param {Partial<State> & { step: number, position: number }} state @returns {Entry} */
  const placed = ({ step, position, ...view }) => ({
    place: lessons[current].name,
    values: {
      lesson: lessons[current].name,
      step,
      select: position >= 0 ? position : undefined,
      view: viewTo(view, usual(lessons[current].show)),
    },
  });

  const address = createAddress(
    root,
    'Learn',
    () => placed(viewer.getState()),
    (_, same) => {
      const wanted = parameter('lesson'); // a name, or a number of version 0.2
      const isWanted = (/** @type {Lesson} */ { name, was }) =>
        name === wanted || was.includes(numberFrom(wanted) ?? 0);
      const number = Math.max(0, lessons.findIndex(isWanted));
      const [step, position] = [numberFrom(parameter('step')), numberFrom(parameter('select'))];
      const view = viewFrom(parameter('view'), usual(lessons[number].show));
      const state = { ...view, ...(step !== null && { step }), ...(position !== null && { position }) };
      if (same) viewer.setState(state);
      else open(number, state);
    },
  );

  /** Another page, chosen by the reader. @param {number} number */
  function turnTo(number) {
    open(number);
    title.focus();
  }

  /**
   * A page; `state` is where in its decode one looks, if not where the page begins.
   * @param {number} number @param {Partial<State>} [state]
   */
  function open(number, state = {}) {
    current = Math.min(Math.max(number, 0), lessons.length - 1);
    const lesson = lessons[current];
    setText(title, lesson.title);
    setText(place, `${current + 1} of ${lessons.length}`);
    put(
      text,
      lesson.text.map((paragraph) => h('p', {}, paragraph)),
    );
    put(equation, formula(lesson.equation));
    put(task, formula(lesson.do));
    setText(question, lesson.question);
    setText(answer, lesson.answer);
    answer.hidden = true;
    show.disabled = false;
    back.disabled = current === 0;
    next.disabled = current === lessons.length - 1;
    for (const [n, item] of [...contents.children].entries()) item.classList.toggle('dl-here', n === current);
    decode(lesson.show, state);
  }

  /** @param {Lesson['show']} wanted @param {Partial<State>} chosen */
  function decode(wanted, chosen) {
    const { step = 0, position = -1 } = wanted;
    opening = { step, position, lane: 0, ...viewFrom(null, usual(wanted)), ...chosen };
    address.enter(placed(opening));
    const { prompt, lanes, decoder, settings } = wanted;
    const what = lanes ? { prompt, lanes } : { prompt, decoder, settings };
    asked = what;
    viewer.expectLoad(true);
    client.replace(() =>
      client.start(
        what,
        (reply) => viewer.load(reply.payloads || reply.payload, { ...opening, goal: opening.step }),
        () =>
          advance(null, () => {
            viewer.goal = Infinity;
            address.rest();
          }),
      ),
    );
  }

  /** @param {number | null} steps @param {() => void} [then] */
  function advance(steps, then) {
    client.advance(steps, lessons[current].show.lanes ? null : client.here, then);
  }

  function reveal() {
    answer.hidden = false;
    show.disabled = true;
    const { reveal: view } = lessons[current];
    Object.assign(opening, view); // the decode may not have begun, or be on its way there
    viewer.goal = Math.max(viewer.goal, opening.step);
    viewer.setState({ ...view });
  }

  /** @param {string | null} sentence */
  function complain(sentence) {
    setText(message, sentence ?? '');
    message.hidden = !sentence;
    if (sentence) viewer.expectLoad(false);
    if (sentence) address.rest();
  }

  root.addEventListener('keydown', (event) => {
    if (event.altKey && event.key === 'PageDown') turnTo(current + 1);
    if (event.altKey && event.key === 'PageUp') turnTo(current - 1);
  });
  address.open();
}
