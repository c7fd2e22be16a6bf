// What each layer of the model would have said of the selected position in this step, were it the last one: its likeliest
// word and how sure it was, layer by layer. Asked for once the section is opened, and kept with the lane.

import { h, put, sentenceOf, setText, twoShort } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { LayerRow, LayersSaid } from '../data/types.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Viewer } from './types.js' */

const PATIENCE = 250; // ms on one position before it is asked for: nobody waits for what is scrubbed over

export class LayerView {
  /** @type {boolean} */ open;
  /** @type {ReturnType<typeof setTimeout>} */ waiting;
  /** @type {LayersSaid | string | null} */ drawn;
  /** @type {WeakMap<Lane, Map<string, string>>} of every lane, what could not be had, by step and position */ refused;

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.open = false;
    this.drawn = null;
    this.refused = new WeakMap();
    this.switch = h('button', { type: 'button', class: 'dv-link dv-r', onclick: () => this.toggle() });
    this.rows = h('div', { class: 'dv-lrows' });
    this.note = h('p', { class: 'dv-note', 'aria-live': 'polite' });
    this.body = h('div', { class: 'dv-lbody' }, this.rows, this.note);
    this.box = h(
      'div',
      { class: 'dv-perlayer' },
      h('div', { class: 'dv-sec dv-gap' }, h('b', {}, 'Layers'), 'what each would have said', this.switch),
      this.body,
    );
  }

  toggle() {
    this.open = !this.open;
    this.drawn = null;
    this.viewer.redraw();
    this.need();
  }

  get key() {
    const { state, lane } = this.viewer;
    return `${lane.at(state.step).index}/${state.position}`;
  }

  /** Asks for what is in view, once one has stayed with it. */
  need() {
    clearTimeout(this.waiting);
    const { viewer, key } = this;
    const { lane, state, host } = viewer;
    if (!this.open || !host.ask || !lane.at(state.step).index || lane.fixed[state.position]) return;
    if (lane.layers.has(key) || this.refused.get(lane)?.has(key)) return;
    this.waiting = setTimeout(() => this.find(lane, key), PATIENCE);
  }

  /** @param {Lane} lane @param {string} key */
  async find(lane, key) {
    const { viewer } = this;
    const [step, position] = key.split('/').map(Number);
    if (viewer.transport.timer) return;
    try {
      /** @type {{ layers: import('../data/schema.js').Layers, words?: Record<string, string> }} */
      const reply = await viewer.order('layers', { step, position });
      lane.hear(reply.layers, reply.words);
    } catch (error) {
      const refused = this.refused.get(lane) ?? new Map();
      this.refused.set(lane, refused.set(key, sentenceOf(error)));
    }
    if (viewer.lane === lane && this.key === key) viewer.redraw();
  }

  /** @param {Lane} lane @param {Frame} frame @param {number} position */
  draw(lane, frame, position) {
    this.box.hidden = !this.viewer.host.ask && !lane.layers.size;
    this.body.hidden = !this.open;
    setText(this.switch, this.open ? 'hide' : 'show');
    this.switch.setAttribute('aria-expanded', String(this.open));
    if (this.box.hidden || !this.open) return;
    const found = lane.layers.get(this.key);
    const drawn = found ?? this.lacking(lane, frame, position);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    put(this.rows, typeof drawn === 'string' ? null : drawn.rows.map((row) => rowOf(row, drawn)));
    put(this.note, typeof drawn === 'string' ? drawn : rich(drawn.note));
  }

  /** Why there is nothing to see, in a sentence. @param {Lane} lane @param {Frame} frame @param {number} position */
  lacking(lane, frame, position) {
    if (!frame.index) return 'No forward pass has run yet.';
    if (lane.fixed[position]) return 'This token is given by the template: no layer was asked for it.';
    if (!this.viewer.host.ask) return 'This run is a recording, saved without the layers of this position.';
    return this.refused.get(lane)?.get(this.key) ?? 'Asking every layer …';
  }
}

/**
 * A bar for each layer, dark where it says the word that the whole is about, with a line for how likely that word was;
 * below, the words.
 * @param {LayerRow} row @param {LayersSaid} said
 */
function rowOf(row, said) {
  const bars = row.tokens.map((word, k) =>
    h(
      'span',
      {
        class: row.ids[k] === said.token ? 'dv-lheld' : '',
        title: `layer ${k + 1}: ${word} ${twoShort(row.confidence[k])}, ${said.word} ${twoShort(row.held[k])}`,
      },
      h('i', { style: { height: `${100 * row.confidence[k]}%` } }),
      h('u', { style: { bottom: `${100 * row.held[k]}%` } }),
    ),
  );
  /** @type {[string, number][]} */
  const spans = [];
  row.tokens.forEach((word, k) => {
    if (k && row.ids[k] === row.ids[k - 1]) spans[spans.length - 1][1] += 1;
    else spans.push([word, 1]);
  });
  return h(
    'div',
    { class: 'dv-lrow' },
    h('span', { class: 'dv-lname' }, said.rows.length > 1 ? (row.shadow ? 's' : 'x') : ''),
    h('div', { class: 'dv-lbars', role: 'img', 'aria-label': `${row.tokens.length} layers: ${said.note}` }, bars),
    h(
      'div',
      { class: 'dv-lwords', 'aria-hidden': 'true' },
      spans.map(([word, count]) => h('bdi', { title: word, style: { flexGrow: count } }, word)),
    ),
  );
}
