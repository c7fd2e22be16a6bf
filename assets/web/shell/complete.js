// Completion while typing: a list below a text field of the words that go on as the word before the caret begins.
//
// Arrow keys choose, Enter and Tab take what is chosen, Escape closes. While the list is closed, or nothing in it is chosen,
// every key does what it always does: after a word that is complete already, Enter sends the form. Words are hostile: they
// go in as text nodes.

import { h, put } from '../draw/dom.js';

const SHOWN = 8;
let lists = 0; // a page has several

/** @param {HTMLInputElement} field */
export const caretOf = (field) => field.selectionStart ?? field.value.length;

/**
 * The word that ends at the caret, as [from, to], or null if the caret is inside a word or in none.
 * @param {HTMLInputElement} field @returns {[from: number, to: number] | null}
 */
function wordAt(field) {
  const to = caretOf(field);
  if (to !== field.selectionEnd || /^\S/.test(field.value.slice(to))) return null;
  const from = field.value.slice(0, to).search(/\S*$/);
  return from < to ? [from, to] : null;
}

/**
 * Of these words those that begin like this and go on; in the very same letters first.
 * @param {string[]} words @param {string} start
 */
export function goingOn(words, start) {
  const low = start.toLowerCase();
  const found = words.filter((word) => word.length > start.length && word.toLowerCase().startsWith(low));
  return [...found.filter((word) => word.startsWith(start)), ...found.filter((word) => !word.startsWith(start))];
}

/**
 * `words()` are those it offers.
 * @param {HTMLInputElement} field @param {() => string[]} words
 */
export function createCompletion(field, words) {
  const id = `dw-words-${(lists += 1)}`;
  let chosen = -1;
  const list = h('ul', { class: 'dw-options', id, role: 'listbox', 'aria-label': 'Words that fit', hidden: true });
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': id,
  }))
    field.setAttribute(name, value);

  /**
   * Puts a word, with spaces around it, in the place of what is from `from` to `to`.
   * @param {string} word
   */
  function insert(word, from = caretOf(field), to = field.selectionEnd ?? from) {
    const before = /\S$/.test(field.value.slice(0, from)) ? ' ' : '';
    const after = /^\s/.test(field.value.slice(to)) ? 1 : 0;
    field.setRangeText(`${before}${word} `, from, to + after, 'end');
    field.focus();
    field.dispatchEvent(new Event('input', { bubbles: true }));
    close();
  }

  /** @param {Element} option */
  function take(option) {
    const span = wordAt(field);
    if (span) insert(option.textContent ?? '', ...span);
  }

  function close() {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    choose(-1);
  }

  /** @param {number} n */
  function choose(n) {
    chosen = n;
    [...list.children].forEach((option, k) => option.setAttribute('aria-selected', String(k === n)));
    if (n < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', list.children[n].id);
  }

  function offer() {
    const span = wordAt(field);
    const start = span ? field.value.slice(...span) : '';
    const found = start ? goingOn(words(), start).slice(0, SHOWN) : [];
    if (!found.length) return close();
    put(
      list,
      found.map((word, n) =>
        h(
          'li',
          {
            id: `${id}-${n}`,
            role: 'option',
            onmousedown: (event) => event.preventDefault(),
            onclick: (event) => take(/** @type {Element} */ (event.currentTarget)),
          },
          word,
        ),
      ),
    );
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    choose(words().includes(start) ? -1 : 0);
  }

  field.addEventListener('input', (event) => event.isTrusted && offer());
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (event) => {
    if (list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const count = list.children.length;
    /** @type {Record<string, false | (() => void)>} */
    const actions = {
      ArrowDown: () => choose((chosen + 1) % count),
      ArrowUp: () => choose((chosen < 1 ? count : chosen) - 1),
      Enter: chosen >= 0 && (() => take(list.children[chosen])),
      Tab: chosen >= 0 && (() => take(list.children[chosen])),
      Escape: close,
    };
    const action = Object.hasOwn(actions, event.key) && actions[event.key];
    if (!action) return ['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key) ? close() : undefined;
    event.preventDefault();
    event.stopPropagation(); // an Escape that closes the list closes nothing else
    action();
  });
  return { list, insert };
}
