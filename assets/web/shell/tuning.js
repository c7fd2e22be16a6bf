// What a page with a model can do about the numbers that a run is tuned by: decode its prompt again with others in the place of
// the one on screen, or learn how it ends under many.
//
//   createViewer(root, { …, ...tuning(bridge, config, { client, asked, begin }) })
//
// `asked()`: what the run on screen was started with, none where no model is behind it; `begin(what, reply, true)`: it was
// started with something else.

import { sentenceOf } from '../draw/dom.js';

/** @import { Client } from '../data/client.js' */
/** @import { Bridge, Reply } from '../data/messages.js' */
/** @import { Outcome, ViewerHost } from '../panels/types.js' */
/** @import { Asked, Decoder, Values } from './types.js' */

const AT_ONCE = 64; // passes that a run begins with; the rest follow one by one

/**
 * @typedef {object} Around
 * @property {() => Client} client
 * @property {() => Asked | null} asked
 * @property {(what: Asked, reply: Reply, moved: boolean) => void} begin
 */

/** @param {Bridge} bridge @param {{ decoders?: Decoder[] }} config @param {Around} around @returns {Partial<ViewerHost>} */
export function tuning(bridge, config, { client, asked, begin }) {
  const knobs = (/** @type {string} */ name) => config.decoders?.find((each) => each.name === name)?.settings ?? [];
  if (bridge.recorded) return { knobs };
  return {
    knobs,
    retune: async (values) => {
      const what = asked();
      const here = client();
      if (!what) return;
      const wanted = { ...what, settings: { ...what.settings, ...values }, edits: [] };
      const done = new Promise((/** @type {(value: void) => void} */ rest) => here.waiting.push(rest));
      here.replace(() => {
        const view = /** @type {{ getState(): object }} */ (here.view);
        const look = { ...view.getState(), lane: 0 };
        here.start(
          { ...wanted, steps: AT_ONCE, instead: here.run?.key ?? '' },
          (reply) => {
            begin(wanted, reply, true);
            here.show(reply, look);
          },
          () => !here.here.finished && here.advance(null, here.here),
        );
      });
      await done;
    },
    tries: async (tries) => {
      const what = asked();
      if (!what) return [];
      const reply = /** @type {Reply & { found: Outcome[] }} */ (
        /** @type {unknown} */ (await bridge.call('tries', { ...what, tries }))
      );
      if (reply.kind === 'error') throw new Error(sentenceOf(reply.text));
      return reply.found;
    },
  };
}
