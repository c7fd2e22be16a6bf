// The symbols and words of the page, and what they mean. Every symbol that is shown explains itself on hover.

import { h } from './dom.js';

/** @type {Record<string, string>} */
export const GLOSSARY = {
  x: 'The sequence being decoded: decided tokens, and masks elsewhere.',
  s: 'The shadow: a second copy of the block, all masks, at the same positions.',
  M: 'Masked: nothing is decided here. In an equation: the attention mask, 1 where a query may see a key.',
  C: 'Candidate: a token is there, but it is not trusted yet.',
  U: 'Unmasked: a token with a confidence above τ_u; it serves as context for everyone.',
  c: 'Confidence: the probability of the predicted or held token.',
  τ_c: 'Threshold above which a token becomes a candidate.',
  τ_u: 'Threshold above which a token is unmasked.',
  w: 'Mixing weight: the share of the x path in the prediction of a masked position.',
  P: 'Promotions nearby, each counted by λ to the power of its distance.',
  D: 'Revocations nearby, counted the same way.',
  λ: 'How fast the influence of a promotion or revocation fades with distance.',
  'p₀': 'A small constant that keeps w near 1 when few candidates change.',
  'x path': 'The prediction of a masked position that sees the candidates.',
  's path': 'The prediction from the shadow, which does not.',
  mix: 'What decides a masked position: w · x path + (1 − w) · s path, on logits.',
  promoted: 'A candidate that became unmasked.',
  revoked: 'A token that was taken back: its position is masked again.',
  edited: 'Changed by hand; what follows is a branch.',
  'forced in': 'The surest of those below the threshold, taken so that the step makes progress.',
  'revoked before': 'How often this position lost a decided token.',
  direct: 'What a query sees in one layer.',
  attention: 'What each query really looked at in this pass, layer by layer.',
  weakened: 'An unmasked token that became a candidate again.',
  replaced: 'A decided token that was exchanged for another (verify = argmax).',
  accepted: 'Taken as it stood, because the block began to repeat itself or reached its cap.',
  block: 'The part of the region that is decoded together.',
  reach: 'What can influence a position through several layers.',
  contaminated: 'A verification that a candidate can reach although the mask hides it.',
  τ: 'Threshold above which a token is committed.',
  τ_e: 'Editing: the probability above which another token replaces the one held.',
  JS: 'ReMix: how far a prediction is from the one of the pass before (Jensen–Shannon, in nats), and the threshold of it.',
  β: 'ReMix: the share of the mix in a masked position; the rest is mask.',
  deg: 'DAPD: how much attention passes between a mask and the other masks of its block.',
  τ1: 'WINO: the confidence above which a token is accepted.',
  τ2: 'WINO: the probability below which an unmasked token is revoked.',
  f: 'The factor of Fast-dLLM: the k surest tokens are committed while 1 − c of the k-th is below f / (k + 1).',
  γ: 'The bound of EB-Sampler on what the entropies of the committed tokens may add up to.',
  n: 'Saber: the least number of tokens committed per pass.',
  μ: 'Saber: at least n / μ tokens are revoked per pass.',
};

const INDEX = 'max|min|[cue12]'; // what τ is written with below the line

/**
 * A symbol or word of the glossary with its meaning; anything else as it is. `τ_c` and `τ1` get a subscript.
 * @param {string} name @param {string} [shown]
 */
export function symbol(name, shown = name) {
  const [, index] = RegExp(`^τ_?(${INDEX})$`, 'u').exec(shown) ?? [];
  const parts = index ? ['τ', h('sub', {}, index)] : [shown];
  return Object.hasOwn(GLOSSARY, name)
    ? h('abbr', { class: 'dv-symbol', title: GLOSSARY[name] }, parts)
    : index
      ? h('span', {}, parts)
      : shown;
}

/**
 * A formula, or a sentence with symbols in it, as nodes: `_{…}` and `^{…}` become subscripts and superscripts.
 * @param {string} source
 */
export function formula(source) {
  return source
    .split(/(τ_[cu]|p₀|\bp_0|[_^]\{[^}]*\}|[_^][\p{L}\p{N}]|\b[MCUcwPDxs]\b|λ)/u)
    .filter(Boolean)
    .map((part) => {
      if (part === 'p_0') return symbol('p₀');
      if (part.length > 1 && part[0] === '_') return h('sub', {}, part.replace(/[_{}]/g, ''));
      if (part.length > 1 && part[0] === '^') return h('sup', {}, part.replace(/[\^{}]/g, ''));
      return symbol(part);
    });
}

/**
 * A sentence of the trace: 'quoted' tokens in monospace, thresholds explained. Text nodes only.
 * @param {string} sentence
 */
export function rich(sentence) {
  return sentence
    .split(RegExp(`((?<=^|[\\s(“])'.+?'(?=[\\s.,;:)”]|$)|τ(?:_?(?:${INDEX}))\\b)`, 'u'))
    .filter(Boolean)
    .map((part) => {
      if (part.length > 2 && part.startsWith("'") && part.endsWith("'"))
        return h('bdi', { class: 'dv-word' }, part.slice(1, -1));
      return part.startsWith('τ') ? symbol(part) : part;
    });
}

/**
 * The same for a chart, whose texts are written with tags.
 * @param {string} text
 */
export const tagged = (text) => text.replace(RegExp(`τ_?(${INDEX})\\b`, 'gu'), 'τ<sub>$1</sub>');
