// The mask in words: a cell of it, or why there is none.

import { h, two } from './dom.js';
import { rich } from './symbols.js';
import { LETTER, Lane } from '../data/unpack.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Cell, Mask } from './mask.js' */

const LONGEST_BLOCK = 512; // see MAX_MASK_BLOCK in visual/payload.py

/**
 * A cell in words, as nodes. The reason comes from the header; which one applies is a matter of looking it up.
 * @param {Mask} mask @param {Cell} cell
 */
export function describe(mask, cell) {
  const { lane, frame, before, size } = mask;
  const [row, column] = cell;
  const q = frame.block[0] + mask.order[row % size];
  const k = frame.block[0] + mask.order[column % size];
  const [qp, kp] = [row < size ? 'x' : 's', column < size ? 'x' : 's'];
  const [qs, ks] = [LETTER[before.states[q]], LETTER[before.states[k]]];
  const open = mask.open(row, column);
  /** @param {number} i */
  const word = (i) => (before.states[i] ? `'${lane.word(before.tokens[i])}'` : `the mask at ${i}`);
  /** @param {number} i @param {string} state */
  const about = (i, state) =>
    `${word(i)} (${lane.fixed[i] ? 'given' : state === 'M' ? 'M' : `${state} ${two(before.confidence[i], lane.limits)}`})`;
  const reasons = lane.about.cells;
  // A check by hand is of what was predicted there: the shadow, and of a masked position both.
  const { hidden } = frame;
  const byHand =
    hidden && open === (kp === 's') && Lane.hides(frame, k, q) && (hidden.check === null || qp === 's' || qs === 'M');
  const reason = byHand ? hidden.say : reasonOf(reasons, [qp, qs], [kp, ks], open, q === k);
  /** @param {string} path @param {string} name */
  const side = (path, name) => (path === 's' ? `the shadow of ${name}` : name);
  const because = reason ? `: ${reason.replaceAll('{k}', () => word(k)).replaceAll('{q}', () => word(q))}` : '';
  const text = `${side(qp, about(q, qs))} ${open ? 'sees' : 'may not see'} ${side(kp, about(k, ks))}${because}.`;
  if (mask.weights && open) {
    const weight = `.${mask.look(row, column).toFixed(2).slice(2)}`;
    const said = `${side(qp, word(q))} gives ${side(kp, word(k))} ${weight} of its attention here. Where it looked is not yet why.`;
    return {
      parts: [
        h('b', {}, qp, h('sub', {}, String(q)), ' → ', kp, h('sub', {}, String(k)), ` ${weight} `),
        ...rich(`${said[0].toUpperCase()}${said.slice(1)}`),
      ],
      position: q,
      key: k,
    };
  }
  const depth = open ? 0 : mask.depthAt(row, column);
  const parts = [
    h('b', {}, qp, h('sub', {}, String(q)), ' → ', kp, h('sub', {}, String(k)), open ? ' visible. ' : ' blocked. '),
    ...rich(`${text[0].toUpperCase()}${text.slice(1)}`),
  ];
  if (depth && depth <= mask.layers)
    parts.push(h('b', { class: 'dv-warn' }, ` But it arrives through ${depth} layers.`));
  return { parts, position: q };
}

/**
 * What a trace says about cells like this one, open or closed; `own`: the two are at one place.
 * @param {Record<string, string>} reasons @param {[path: string, state: string]} query
 * @param {[path: string, state: string]} key @param {boolean} open @param {boolean} own
 */
export function reasonOf(reasons, [qp, qs], [kp, ks], open, own) {
  if (qp === 's' && own) return reasons[kp === 'x' ? 'self' : 'own'];
  for (const a of [qp, '*'])
    for (const b of [qs, '*'])
      for (const c of [ks, '*']) {
        const reason = reasons[`${a}${b}${kp}${c}${open ? 1 : 0}`];
        if (reason) return reason;
      }
  return undefined;
}

/**
 * Why a step has no mask to draw.
 * @param {Lane} lane @param {Frame} frame
 */
export function whyNone(lane, frame) {
  const { shadow, unmeasured, later } = lane.about;
  if (unmeasured && !shadow) return 'No mask was recorded: what each position could see in these passes is not known.';
  if (!shadow) {
    const all = later ? 'the whole sequence' : 'everything up to the end of its block';
    const seen = lane.head.sees ? `its block of ${lane.head.sees} and what is before it` : all;
    const but = frame.hidden ? ` In this pass ${frame.hidden.say}.` : '';
    return `${lane.about.title} uses no shadow block: in every pass each position sees ${seen}, so there is no mask to draw.${but}`;
  }
  if (!frame.index) return 'No forward pass has run yet; the first one will have a mask.';
  if (frame.block[1] - frame.block[0] > LONGEST_BLOCK) return 'The mask of a block this long is too large to draw.';
  if (unmeasured) return 'No mask was recorded of this pass.';
  return 'This pass had no shadow: the remaining blanks are filled, and nothing is checked.';
}
