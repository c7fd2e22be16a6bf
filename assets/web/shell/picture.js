// Pictures that go with the prompt, for models that take them: the button, the files, and the pictures beside the tokens;
// and the switch for a model that can be told to think first.

import { h, put } from '../draw/dom.js';
import { readFile } from './files.js';

export function createPicture(bridge, config, receive) {
  let chosen = []; // {image, width, height, small} as the server knows them
  let card = {};

  const input = h('input', {
    type: 'file',
    accept: 'image/*',
    hidden: true,
    'aria-label': 'Picture file',
    onchange: () => open(input.files[0]),
  });
  const button = h(
    'button',
    { class: 'dv-btn', type: 'button', hidden: true, onclick: () => input.click() },
    'Picture',
  );
  const tick = (text, title) => {
    const box = h('input', { type: 'checkbox' });
    return [box, h('label', { class: 'dw-tick', title, hidden: true }, box, text)];
  };
  const [think, thinkLabel] = tick(
    'Think first',
    'tells the model to think before it answers, in the words it was tuned on',
  );
  const [squeeze, squeezeLabel] = tick(
    'Whole picture',
    'squeezes a picture to a square; otherwise its middle is shown',
  );
  const list = h('div', {});
  const box = h('figure', { class: 'dw-picture', hidden: true }, list, squeezeLabel);

  async function open(file) {
    input.value = '';
    if (!file) return;
    if (file.size > config.limits.upload)
      return receive({ kind: 'error', text: `That file is larger than ${config.limits.upload >> 20} MB.` });
    if (chosen.length >= config.limits.images)
      return receive({
        kind: 'error',
        text: `At most ${config.limits.images} pictures go with a prompt; remove one first.`,
      });
    receive(await bridge.call('open_image', { data: await readFile(file) }), (reply) => {
      chosen.push(reply);
      draw();
    });
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
    /** Shown only for a model that takes pictures, or can be told to think. */
    follow(model) {
      card = config.cards[model] || {};
      draw();
    },
    /** What a request must say about it. */
    request: () => ({
      ...(card.images && chosen.length
        ? { images: chosen.map((each) => each.image), fit: squeeze.checked ? 'squeeze' : 'crop' }
        : {}),
      ...(card.think && think.checked ? { think: true } : {}),
    }),
  };
}
