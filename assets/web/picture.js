// A picture that goes with the prompt, for models that take one: the button, the file, and the picture beside the tokens.

import { h, put, setText } from './dom.js';
import { readFile } from './files.js';

export function createPicture(bridge, config, receive) {
  let chosen = null; // {image, width, height, small} as the server knows it
  let allowed = false;

  const input = h('input', { type: 'file', accept: 'image/*', hidden: true, 'aria-label': 'Picture file', onchange: () => open(input.files[0]) });
  const button = h('button', { class: 'dv-btn', type: 'button', hidden: true, onclick: () => input.click() }, 'Picture');
  const view = h('div', {});
  const size = h('figcaption', {});
  const remove = h('button', { class: 'dw-link', type: 'button', onclick: () => { chosen = null; draw(); } }, 'Remove');
  const box = h('figure', { class: 'dw-picture', hidden: true }, view, size, remove);

  async function open(file) {
    input.value = '';
    if (!file) return;
    if (file.size > config.limits.upload) return receive({ kind: 'error', text: `That file is larger than ${config.limits.upload >> 20} MB.` });
    receive(await bridge.call('open_image', { data: await readFile(file) }), (reply) => {
      chosen = reply;
      draw();
    });
  }

  function draw() {
    button.hidden = !allowed;
    box.hidden = !allowed || !chosen;
    if (!chosen) return;
    put(view, h('img', { src: chosen.small, alt: 'the picture that goes with the prompt' }));
    setText(size, `${chosen.width} × ${chosen.height}`);
  }

  return {
    tools: [button, input],
    box,
    /** Shown only for a model that takes pictures. */
    follow(model) {
      allowed = !!config.cards[model]?.images;
      draw();
    },
    /** What a request must say about it. */
    request: () => (allowed && chosen ? { image: chosen.image } : {}),
  };
}
