// The viewer in a notebook, for anywidget: the kernel answers in the place of a server, and is told where one looks.
//
// One question, one answer: { id, name, data } there, { id, packed } back, packed being a list of what the server would
// say (visual/notebook.py). A run goes on step by step, so that a kernel is never busy for longer than one.

import { Client } from '../data/client.js';
import { h } from '../draw/dom.js';
import { unpack } from '../data/packed.js';
import { createViewer } from './viewer.js';

/** @import { ViewerHost } from '../panels/types.js' */
/** @import { Bridge, Refused, Reply, Request } from '../data/messages.js' */

/**
 * What is used of anywidget's model.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(values: object) => void} set
 * @property {() => void} save_changes
 * @property {(message: object) => void} send
 * @property {(event: string, then: (message: any) => void) => void} on
 * @property {(event: string, then: (message: any) => void) => void} off
 */

/** @type {Refused} */
const SILENCE = { kind: 'error', text: 'The kernel did not answer; run the cell again.' };

/** @param {{ model: Model, el: HTMLElement }} place */
export function render({ model, el }) {
  const root = h('div', { 'data-lm-suppress-shortcuts': 'true' });
  /** @type {Map<string, (replies: Reply[]) => void>} */
  const waiting = new Map();
  const mine = crypto.getRandomValues(new Uint32Array(2)).join('-'); // a widget may be shown twice
  let last = 0;
  let telling = false; // what the model hears from here it need not say again: the view may have gone on meanwhile
  el.append(root);

  /** @param {{ id: string, packed: string }} answer */
  const hear = async ({ id, packed }) => {
    const answer = waiting.get(id);
    waiting.delete(id);
    answer?.(await unpack(packed).catch(() => [SILENCE]));
  };
  /** @param {string} name @param {Request} data @returns {Promise<Reply[]>} */
  const question = (name, data) =>
    new Promise((answer) => {
      last += 1;
      waiting.set(`${mine} ${last}`, answer);
      model.send({ id: `${mine} ${last}`, name, data });
    });
  const bridge = /** @type {Bridge} */ ({
    call: (/** @type {string} */ name, /** @type {Request} */ data) => question(name, data).then(([reply]) => reply),
    ask: (/** @type {Request} */ { action, ...data }, /** @type {(reply: object) => void} */ onReply) =>
      question(String(action), data).then((replies) => [...replies, { kind: 'end' }].forEach(onReply)),
  });

  const say = (/** @type {string | null} */ text) => viewer.setMessage(text);
  const client = new Client(root, bridge, { say, refuse: say, tell: say, again: () => null });
  const advance = (/** @type {boolean} */ on) => {
    const lane = client.here;
    if (lane.finished) return;
    client.advance(1, lane, () => on && advance(true));
    if (on) viewer.setBusy('Decoding …');
  };
  /** @type {ViewerHost} */
  const live = model.get('_live') && {
    requestStep: () => advance(false),
    requestRun: () => advance(true),
    requestStop: () => client.stop(),
    requestBranch: ({ lane, ...edit }) =>
      client.replace(() =>
        client.branch(client.held.lanes[lane], { ...edit }, (reply) =>
          client.show(reply, { step: edit.step, position: edit.position }),
        ),
      ),
    switchBranch: (id) => client.replace(() => client.look(id).then((found) => found && client.show(found[0]))),
    compareBranches: (a, b) => client.replace(() => client.sideBySide(a, b)),
  };
  const viewer = createViewer(
    root,
    {
      ...live,
      ask: (name, data) => client.about(name, data),
      onChange: ({ step, position }) => {
        telling = true;
        model.set({ step, selected: position, _branch: client.here.branch });
        telling = false;
        model.save_changes();
      },
    },
    { exports: { trace: 'Trace (.json.gz)', html: 'Replay page (.html)' } },
  );
  client.viewer = viewer;

  const follow = () => telling || viewer.setState({ step: model.get('step'), position: model.get('selected') });
  const paint = () => {
    root.dataset.theme = document.body.dataset.jpThemeLight === 'false' ? 'dark' : 'light';
  };
  const themer = new MutationObserver(paint);
  themer.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
  paint();
  model.on('msg:custom', hear);
  model.on('change:step change:selected', follow);
  client
    .look(model.get('_branch'))
    .then((found) => found && client.show(found[0], { step: model.get('step'), position: model.get('selected') }));
  return () => {
    themer.disconnect();
    model.off('msg:custom', hear);
    model.off('change:step change:selected', follow);
    viewer.destroy();
  };
}
