// What can be taken away. The browser makes pictures of what it shows; for the rest it asks the host.
//
// options.exports of the viewer names what the host can make, { kind: name }: host.ask('export', { kind, … }) -> a file.
// With a host to ask, host.ask('gif', { frames }) makes an animation of PNGs in base64.

import { h, put, sentenceOf, setText, sharp } from '../draw/dom.js';
import { readFile, received, save } from './files.js';
import { LECTURE, lecture } from './lecture.js';
import { png, still } from '../draw/snapshot.js';
import { vector } from '../draw/svg.js';

/** @import { Made } from '../data/messages.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Panel, PanelKind, State } from '../panels/types.js' */
/** @import { Viewer } from './viewer.js' */
/** @typedef {{ width: number, height: number }} Size */
/** @typedef {{ panels?: string[], prompt?: boolean, bare?: boolean, width?: number, state?: Partial<State> }} Stage */

const MARGIN = 12;
/** @type {Record<string, string>} */
const PICTURES = {
  png: 'This view (.png)',
  tokens: 'Tokens only (.png)',
  slide: 'Slide, 16:9 (.png)',
  'tokens-slide': 'Slide, tokens only (.png)',
};
const RUN = { panels: ['tokens', 'score'], width: 936, frames: 200, pixels: 140e6 }; // visual/export.py refuses more
const WIDTHS = [660, 800, 960, 1256, 1416, 1600, 1900, 2300]; // a slide takes the first that its content is not too tall for

/** What whoever gets these lanes as a file can read in it. @param {Lane[]} lanes */
export function contents(lanes) {
  const quoted = (/** @type {string} */ text, /** @type {number} */ most) =>
    `“${text.length > most ? `${text.slice(0, most - 1)}…` : text}”`;
  const each = (/** @type {'prompt' | 'model'} */ name, /** @type {number} */ most) =>
    [...new Set(lanes.map((lane) => quoted(lane.head[name], most)))].join(', ');
  const byHand = lanes.some((lane) => lane.frames.some((frame) => frame.events.edited?.length));
  return `In a trace, page or embedded view are the prompt ${each('prompt', 60)}, the model’s name ${each('model', 120)}, the decoder and its settings, and every step: tokens, probabilities, times${byHand ? ', and what was put there by hand' : ''}.`;
}

export class Exports {
  /** @param {Viewer} viewer @param {Record<string, string>} [files] what the host can make */
  constructor(viewer, files = {}) {
    this.viewer = viewer;
    this.files = files;
    this.working = false;
    this.menu = h('div', { class: 'dv-menu', role: 'menu', hidden: true });
    this.opener = h(
      'button',
      {
        type: 'button',
        class: 'dv-btn dv-mini',
        'aria-haspopup': 'menu',
        'aria-expanded': 'false',
        onclick: () => this.toggle(),
      },
      'Export',
    );
    this.code = h('textarea', { class: 'dv-code', readonly: true, rows: 6, 'aria-label': 'code to embed' });
    this.copied = h('span', { role: 'status' });
    this.embedding = h(
      'div',
      { class: 'dv-menu dv-embed', hidden: true },
      this.code,
      h(
        'span',
        {},
        h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: () => this.copy() }, 'Copy'),
        this.copied,
      ),
    );
    this.box = h('div', { class: 'dv-export' }, this.opener, this.menu, this.embedding);
    this.box.addEventListener('focusout', ({ relatedTarget: to }) => {
      if (!this.box.contains(/** @type {Node | null} */ (to))) this.close();
    });
    this.box.addEventListener('keydown', (event) => this.key(event));
  }

  // The menu.

  /** Everything that can be made of what is in view, { kind: name }. @returns {Record<string, string>} */
  kinds() {
    const { host, panels } = this.viewer;
    const drawn = panels
      .filter((panel) => panel.svg && !panel.box.hidden)
      .map((panel) => [fileOf(panel), `${kindOf(panel).title} (.svg)`]);
    return {
      ...PICTURES,
      ...(this.viewer.lanes.length === 1 && LECTURE),
      ...(host.ask && { gif: 'The run (.gif)' }),
      ...Object.fromEntries(drawn),
      ...this.files,
      embed: 'Embed …',
    };
  }

  toggle() {
    const opening = this.menu.hidden;
    this.close();
    if (!opening) return;
    const { lanes } = this.viewer;
    put(
      this.menu,
      lanes.length > 0 && h('p', { class: 'dv-contents' }, contents(lanes)),
      Object.entries(this.kinds()).map(([kind, name]) =>
        h('button', { type: 'button', role: 'menuitem', onclick: () => this.choose(kind) }, name),
      ),
    );
    this.menu.hidden = false;
    this.opener.setAttribute('aria-expanded', 'true');
    this.items[0].focus();
  }

  get items() {
    return [...this.menu.querySelectorAll('button')];
  }

  close() {
    this.menu.hidden = this.embedding.hidden = true;
    this.opener.setAttribute('aria-expanded', 'false');
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { items } = this;
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === 'Escape' && !(this.menu.hidden && this.embedding.hidden)) {
      this.opener.focus();
      this.close();
    } else if (event.key === 'ArrowDown' && at >= 0) items[(at + 1) % items.length].focus();
    else if (event.key === 'ArrowUp' && at >= 0) items[(at + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} kind */
  async choose(kind) {
    const { opener, viewer } = this;
    opener.focus();
    this.close();
    if (kind === 'embed') return this.embed();
    if (this.working) return;
    this.working = true;
    setText(opener, '…');
    try {
      const { name, blob } = await this.make(kind);
      save(name, blob);
    } catch (error) {
      viewer.setMessage(sentenceOf(error));
    }
    this.working = false;
    setText(opener, 'Export');
  }

  // What is in it.

  get base() {
    const { lanes, lane, title } = this.viewer;
    const words = [title || (lanes.length > 1 ? '' : lane.head.decoder), lanes.length > 1 && 'comparison']
      .filter(Boolean)
      .join(' ');
    return (
      words
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '')
        .slice(0, 60) || 'decode'
    );
  }

  /** A file of a kind. @param {string} kind @returns {Promise<{ name: string, blob: Blob }>} */
  async make(kind) {
    const { viewer, base } = this;
    if (!viewer.drawnWidth) throw new Error('There is nothing on screen yet.');
    const step = `${base}-step-${viewer.state.step}`;
    if (Object.hasOwn(this.files, kind)) {
      /** @type {Made} */
      const reply = await viewer.order('export', { kind, state: viewer.getState(), title: viewer.title ?? '' });
      return { name: `${base}-${reply.name}`, blob: received(reply) };
    }
    if (Object.hasOwn(LECTURE, kind)) return lecture(kind, viewer, base, () => this.frames());
    if (kind === 'gif') {
      const frames = await this.frames();
      /** @type {Made} */
      const reply = await viewer.order('gif', { frames });
      const moments = viewer.last + 1;
      if (frames.length < moments) viewer.setMessage(thinned(frames.length, moments));
      return { name: `${base}.gif`, blob: received(reply) };
    }
    if (Object.hasOwn(PICTURES, kind))
      return { name: kind === 'png' ? `${step}.png` : `${step}-${kind}.png`, blob: await this.picture(kind) };
    const panel = /** @type {Panel} */ (viewer.panels.find((each) => fileOf(each) === kind));
    const text = vector((canvas) => panel.svg?.(canvas), { ground: viewer.theme.panel, text: panel.text() });
    return { name: `${step}-${kind}`, blob: new Blob([text], { type: 'image/svg+xml' }) };
  }

  /** @param {string} kind */
  picture(kind, scale = 2) {
    const { viewer } = this;
    if (kind === 'tokens')
      return this.staged(
        {
          panels: ['tokens'],
          bare: true,
          width: viewer.lanes.length === 1 && viewer.lane.board ? WIDTHS[0] : undefined,
        },
        (twin) => shot(twin, scale),
      );
    if (kind === 'tokens-slide') return this.staged({ panels: ['tokens'] }, (twin) => slide(twin, WIDTHS));
    if (kind === 'slide')
      return this.staged({ prompt: true }, (twin) =>
        slide(
          twin,
          WIDTHS.filter((width) => width > 1200),
        ),
      );
    const result = shot(viewer, scale);
    viewer.redraw(); // as sharp as the screen again
    return result;
  }

  /** The run as PNGs in base64, one for every step (evenly fewer of a very long run), each without what comes later. */
  frames() {
    return this.staged(
      { panels: RUN.panels, prompt: true, width: RUN.width, state: { hideLater: true } },
      async (twin) => {
        const size = room(twin);
        const { last } = twin;
        const count = Math.min(last + 1, RUN.frames, Math.max(2, Math.floor(RUN.pixels / (size.width * size.height))));
        /** @type {string[]} */
        const frames = [];
        for (let k = 0; k < count; k++) {
          twin.state.step = count > 1 ? Math.round((k * last) / (count - 1)) : last;
          frames.push(await readFile(await shot(twin, 1, size)));
          setText(this.opener, `${k + 1} / ${count}`);
        }
        return frames;
      },
    );
  }

  /**
   * Does something with another viewer of the same lanes, out of sight and without controls.
   * @template T @param {Stage} stage @param {(twin: Viewer) => Promise<T>} action
   */
  async staged({ panels, prompt, bare, width = 1256, state = {} }, action) {
    const { viewer } = this;
    const root = h('div', { 'data-theme': viewer.theme.dark ? 'dark' : 'light' });
    const stage = h(
      'div',
      { style: { position: 'fixed', left: '-9999px', top: '0', width: `${width}px` }, 'aria-hidden': 'true' },
      root,
    );
    document.body.append(stage);
    const Twin = /** @type {typeof Viewer} */ (viewer.constructor);
    const twin = new Twin(
      root,
      {},
      { state: { ...viewer.state, ...state }, still: true, panels, prompt: prompt && viewer.lane.head.prompt },
    );
    twin.transport.box.hidden = !!bare;
    try {
      twin.show(viewer.lanes);
      return await action(twin);
    } finally {
      twin.destroy();
      stage.remove();
    }
  }

  // The code for other people's pages.

  /** Shows what makes the replay page part of another one, at this step and selection. */
  embed() {
    const { viewer, base } = this;
    const { step } = viewer.state;
    const file = Object.keys(this.files).length
      ? `${base}-step-${step}.html`
      : location.pathname.split('/').at(-1) || location.origin;
    const frame = h('iframe', {
      src: `${encodeURI(decodeURI(file))}#${new URLSearchParams(Object.entries(viewer.getState()).map(([name, value]) => [name, String(value)]))}`,
      title: base,
      width: '100%',
      height: 780,
      style: { border: '0' },
    });
    this.code.value = new XMLSerializer()
      .serializeToString(frame)
      .replace(/ xmlns="[^"]*"/, '')
      .replace('/>', '></iframe>');
    setText(this.copied, Object.keys(this.files).length ? `for ${file}: Export, Replay page` : '');
    this.embedding.hidden = false;
    this.code.select();
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.code.value);
      setText(this.copied, 'copied');
    } catch {
      this.code.select();
      setText(this.copied, 'selected: press Ctrl+C');
    }
  }
}

/** @param {number} shown @param {number} all */
const thinned = (shown, all) =>
  `The animation shows at most ${shown} of ${all.toLocaleString('en')} moments, evenly spread, so that it stays below 8 MB.`;

const kindOf = (/** @type {Panel} */ panel) => /** @type {PanelKind} */ (panel.constructor);
const fileOf = (/** @type {Panel} */ panel) => `${kindOf(panel).id}.svg`;

/** @param {Viewer} viewer @returns {Size} */
const room = ({ root }) => ({ width: root.offsetWidth + 2 * MARGIN, height: root.offsetHeight + 2 * MARGIN });

/** A viewer as a PNG of its own size, or in the middle of another. @param {Viewer} viewer @param {number} scale @param {Size} [size] */
function shot(viewer, scale, size) {
  sharp(scale, () => viewer.redraw());
  const { width, height } = size ?? room(viewer);
  return png(still(viewer.root, { width, height, theme: viewer.theme }), { width, height, scale });
}

/** A viewer as a slide of 1920 × 1080: as large as it can be shown on one. @param {Viewer} viewer @param {number[]} widths */
function slide(viewer, widths) {
  for (const width of widths) {
    /** @type {HTMLElement} */ (viewer.root.parentElement).style.width = `${width}px`;
    viewer.redraw();
    if (room(viewer).height <= (room(viewer).width * 9) / 16) break;
  }
  const width = Math.max(room(viewer).width, (room(viewer).height * 16) / 9);
  return shot(viewer, 1920 / width, { width, height: (width * 9) / 16 });
}
