// Pictures that go with the prompt, for models that take them: the button, the files, and the pictures beside the tokens;
// and the switch for a model that can be told to think first.

import { h, put } from '../draw/dom.js';
import { readFile } from './files.js';

/** @import { Bridge, Kept, Refused } from '../data/messages.js' */
/** @import { Card, Config, Pictured } from './types.js' */

/** @param {Bridge} bridge @param {Config} config @param {(refused: Refused) => void} refuse */
export function createPicture(bridge, config, refuse) {
  /** @type {Kept[]} */
  let chosen = [];
  /** @type {Partial<Card>} */
  let card = {};

  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'file',
    accept: 'image/*',
    hidden: true,
    'aria-label': 'Picture file',
    onchange: () => open(input.files?.[0]),
  });
  const button = h(
    'button',
    { class: 'dv-btn', type: 'button', hidden: true, onclick: () => input.click() },
    'Picture',
  );
  const think = h('input', { type: 'checkbox' });
  const squeeze = h('input', { type: 'checkbox' });
  const thinking = 'tells the model to think before it answers, in the words it was tuned on';
  const thinkLabel = h('label', { class: 'dw-tick', title: thinking, hidden: true }, think, 'Think first');
  const squeezing = 'squeezes a picture to a square; otherwise its middle is shown';
  const squeezeLabel = h('label', { class: 'dw-tick', title: squeezing, hidden: true }, squeeze, 'Whole picture');
  const list = h('div', {});
  const box = h('figure', { class: 'dw-picture', hidden: true }, list, squeezeLabel);

  /** @param {File} [file] */
  async function open(file) {
    input.value = '';
    if (!file) return;
    if (file.size > config.limits.upload)
      return refuse({ kind: 'error', text: `That file is larger than ${config.limits.upload >> 20} MB.` });
    if (chosen.length >= config.limits.images)
      return refuse({
        kind: 'error',
        text: `At most ${config.limits.images} pictures go with a prompt; remove one first.`,
      });
    const reply = await bridge.call('open_image', { data: await readFile(file) });
    if (reply.kind === 'error') return refuse(reply);
    chosen.push(reply);
    draw();
  }

  function draw() {
    button.hidden = !card.images;
    thinkLabel.hidden = !card.think;
    box.hidden = squeezeLabel.hidden = !card.images || !chosen.length;
    put(
      list,
      chosen.map((each) =>
        h(
          'div',
          {},
          h('img', { src: each.small, alt: 'a picture that goes with the prompt' }),
          h(
            'figcaption',
            {},
            `${each.width} × ${each.height} `,
            h(
              'button',
              {
                class: 'dw-link',
                type: 'button',
                onclick: () => {
                  chosen = chosen.filter((other) => other !== each);
                  draw();
                },
              },
              'Remove',
            ),
          ),
        ),
      ),
    );
  }

  return {
    tools: [thinkLabel, button, input],
    box,
    /** Shown only for a model that takes pictures, or can be told to think. @param {string} model */
    follow(model) {
      card = config.cards[model] || {};
      draw();
    },
    /** What a request must say about it. @returns {Pictured} */
    request: () => ({
      ...(card.images && chosen.length
        ? { images: chosen.map((each) => each.image), fit: squeeze.checked ? 'squeeze' : 'crop' }
        : {}),
      ...(card.think && think.checked ? { think: true } : {}),
    }),
  };
}
