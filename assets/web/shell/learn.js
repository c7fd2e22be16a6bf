// The Learn tab: a guided tour. Each page is a story's: it drives the real viewer with a real decode, and asks before it shows.
//
// `mountLearn(root, bridge, config)`; for `bridge` see bridge.js. What comes later is hidden until one steps there.

import { Client } from '../data/client.js';
import { choice, h, press, put, setText } from '../draw/dom.js';
import { createAddress, numberFrom, parameter, viewFrom, viewTo } from '../data/links.js';
import { createPopover } from './popover.js';
import { createProjectorButton } from './projector.js';
import { GLOSSARY } from '../draw/symbols.js';
import { Story, VIEWS } from './story.js';
import { tuning } from './tuning.js';
import { createThemeButton } from './theme.js';
import { createViewer } from './viewer.js';

/** @import { Bridge, Entry, Request } from '../data/messages.js' */
/** @import { State } from '../panels/types.js' */
/** @import { Asked, LearnConfig, StoryPage } from './types.js' */

/** @param {HTMLElement} root @param {Bridge} bridge @param {LearnConfig} config */
export function mountLearn(root, bridge, config) {
  const { lessons } = config;
  let current = -1;
  let full = false; // everything is shown, not only what the page is about
  /** @type {Request | null} */
  let asked = null; // what the run on screen was started with
  /** @type {Partial<State> & { step: number, position: number }} */
  let opening = { step: 0, position: -1 }; // the view its page begins with, or what its answer shows
  /** @type {Story | null} */
  let story = null;

  const message = h('p', { class: 'dv-warn', role: 'alert', hidden: true });
  const views = choice('View', VIEWS, (which) => look(which === 'full'));
  const glossary = createPopover(
    root,
    'Glossary',
    h(
      'dl',
      { class: 'dl-glossary' },
      Object.entries(GLOSSARY).map(([term, meaning]) => [h('dt', {}, term), h('dd', {}, meaning)]),
    ),
    false,
  );
  const contents = h(
    'ol',
    { class: 'dl-contents' },
    lessons.map((lesson, n) =>
      h('li', {}, h('button', { class: 'dw-link', type: 'button', onclick: () => turnTo(n) }, lesson.title)),
    ),
  );
  const pages = createPopover(root, 'All pages', contents, false);
  /** @type {HTMLInputElement} */
  const later = h('input', {
    type: 'checkbox',
    class: 'dv-check',
    'aria-label': 'hide what comes later',
    onchange: () => viewer.setState({ hideLater: later.checked }),
  });
  const viewerBox = h('div', {});
  root.classList.add('dv', 'dw', 'dl');
  put(
    root,
    h(
      'div',
      { class: 'dw-tools' },
      views,
      h('label', { class: 'dv-later', title: 'In all panels and exports' }, later, h('span', {}, 'hide later')),
      pages.button,
      glossary.button,
      createProjectorButton(),
      createThemeButton(),
    ),
    pages.panel,
    glossary.panel,
    message,
    viewerBox,
  );

  const viewer = createViewer(
    viewerBox,
    {
      ...(!bridge.recorded && {
        requestStep: () => advance(1),
        requestRun: () => advance(null),
        ask: (name, data) => client.about(name, data),
      }),
      ...tuning(bridge, config, {
        client: () => client,
        asked: () => /** @type {Asked | null} */ (asked),
        begin: (what) => {
          asked = what;
        },
      }),
      onChange: (state) => {
        later.checked = state.hideLater;
        address.remember();
      },
    },
    {
      keysFrom: root,
      more: [
        (made) =>
          (story = new Story(made, {
            onSwitch: () => look(!full),
            onTurn: (by) => turnTo(current + by),
            onOpen: turnTo,
          })),
      ],
    },
  );
  const client = new Client(root, bridge, { say: complain, refuse: complain, tell: complain, again: () => asked });
  client.viewer = viewer;

  /** The view a page opens with. @param {Partial<State>} show */
  const usual = ({ order, reach, side, map, hideLater = true }) => ({ order, reach, side, map, hideLater });

  /** @param {Partial<State> & { step: number, position: number }} state @returns {Entry} */
  const placed = ({ step, position, ...view }) => ({
    place: lessons[current].name,
    values: {
      lesson: lessons[current].name,
      step,
      select: position >= 0 ? position : undefined,
      view: viewTo(view, usual(lessons[current].show)),
      show: full ? 'full' : undefined,
    },
  });

  const address = createAddress(
    root,
    'Learn',
    () => placed(viewer.getState()),
    (_, same) => {
      const wanted = parameter('lesson'); // a name, or what links of earlier versions say
      const isWanted = (/** @type {StoryPage} */ { name, was = [] }) =>
        name === wanted || was.some((one) => String(one) === wanted);
      const number = Math.max(0, lessons.findIndex(isWanted));
      const [step, position] = [numberFrom(parameter('step')), numberFrom(parameter('select'))];
      const view = viewFrom(parameter('view'), usual(lessons[number].show));
      const state = { ...view, ...(step !== null && { step }), ...(position !== null && { position }) };
      const everything = parameter('show') === 'full';
      if (same) {
        if (everything !== full) look(everything);
        viewer.setState(state);
      } else {
        full = everything;
        open(number, state);
      }
    },
  );

  /** The page alone, or everything the viewer has; the place stays. @param {boolean} everything */
  function look(everything) {
    full = everything;
    frame();
    address.remember();
  }

  function frame() {
    const lesson = lessons[current];
    press(views, full ? 'full' : 'story');
    story?.show(
      { ...lesson, told, pages: lessons.map(({ name }) => name) },
      { number: current, of: lessons.length },
      full,
    );
    for (const [n, item] of [...contents.children].entries()) item.classList.toggle('dl-here', n === current);
  }

  /** Another page, chosen by the reader. @param {number} number */
  function turnTo(number) {
    pages.close();
    open(number);
    story?.title.focus();
  }

  /**
   * A page; `state` is where in its decode one looks, if not where the page begins.
   * @param {number} number @param {Partial<State>} [state]
   */
  function open(number, state = {}) {
    current = Math.min(Math.max(number, 0), lessons.length - 1);
    frame();
    decode(lessons[current].show, state);
  }

  /** @param {StoryPage['show']} wanted @param {Partial<State>} chosen */
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

  /** Shows what an answer is seen in. @param {Partial<State>} view */
  function told(view) {
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
