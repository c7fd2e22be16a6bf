// Texts from traces as they may be shown: everything invisible made visible, all of bounded length. visual/payload.py does
// the same with what the server itself shows.

/** @type {Record<string, string>} */
const NAMED = { '\n': '↵', '\t': '⇥', '\u2028': '↵', '\u2029': '↵' };
/** @param {string} c */
const coded = (c) => Number(c.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
/** @param {string} text */
const visible = (text) =>
  text.replace(/[\p{C}\p{Z}]/gu, (c) => {
    if (c === ' ' || c === '\u200d') return c;
    return NAMED[c] ?? (/\p{Z}/u.test(c) ? '␣' : `⟨${coded(c)}⟩`);
  });
/** @param {string} text @param {number} most */
const cut = (text, most) =>
  text.length > most && [...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text;

/**
 * Running text.
 * @param {string} text @param {number} [most]
 */
export const sentence = (text, most = 700) => visible(cut(text, most));

/**
 * A token's text: its spaces are seen, too.
 * @param {string} text @param {number} [most]
 */
export function shown(text, most = 48) {
  if (text.length <= most && /^[!-~]+$/.test(text)) return text; // most words, and a file may hold a hundred thousand
  const characters = [...text.slice(0, 2 * most + 2)].slice(0, most + 1);
  const out = [...(visible(characters.join('')).replaceAll(' ', '␣') || '∅')];
  return (characters.length > most || out.length > 2 * most ? [...out.slice(0, most - 1), '…'] : out).join('');
}

/**
 * A shown token's text without the space that some vocabularies count to it.
 * @param {string} text
 */
export const bare = (text) => text.replace(/^[␣▁Ġ]+|␣+$/gu, '');

/**
 * Every text inside a value as running text.
 * @template T
 * @param {T} value @returns {T}
 */
export function clean(value) {
  /** @type {unknown} */
  let made = value;
  if (typeof value === 'string') made = sentence(value);
  else if (Array.isArray(value)) made = value.map(clean);
  else if (value && typeof value === 'object')
    made = Object.fromEntries(Object.entries(value).map(([key, each]) => [sentence(key), clean(each)]));
  return /** @type {T} */ (made);
}

/**
 * A number with so many digits; of what lies exactly between two the even one, as Python has it.
 * @param {number} value @param {number} digits
 */
export function rounded(value, digits) {
  const scaled = value * 10 ** digits;
  const between = scaled % 1 === 0.5 && Number.isInteger(value * 2 ** 20); // only such fractions can be
  return between ? ((2 * Math.round(scaled / 2)) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}
