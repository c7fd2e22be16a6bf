// The address of the page says which tab is in view and what is on it, so that a link, a reload, Back and Forward lead
// there. Choosing another run, tab, lesson or experiment makes an entry of the browser's history; moving about in what
// is on screen changes the entry. Whatever stands in an address is bounded here and checked again where it is used.

/** @import { Entry } from './messages.js' */
/** @import { Edit } from '../panels/types.js' */
/** @import { Asked, Wanted } from '../shell/types.js' */

/** @type {Record<string, string>} */
const TABS = { compare: 'Compare', lab: 'Lab', lesson: 'Learn' }; // the parameter that leads to a tab; all others are Watch's
const KEPT = /^(projector$|__)/; // the page's own, and those of a host
const OPENED = 'dard-open';
const EDITS_AT_MOST = 20;
const LONGEST = 12000; // characters of one parameter

/** @type {string | null} */
let awaited = linkedTab(); // the tab an address leads to, until it is built; the others leave the address alone
/** @type {Record<string, Wanted>} */
const wanted = {}; // by tab, what another one asks it for
/** @type {Asked | null} */
let left = null; // what a visitor has written or decoded in Watch since Compare last took it
window.addEventListener('popstate', () => {
  awaited = linkedTab();
  showTab(awaited);
});

/**
 * A parameter of the address, or null.
 * @param {string} name
 */
export function parameter(name) {
  return new URL(location.href).searchParams.get(name)?.slice(0, LONGEST) ?? null;
}

/** The addresses of trace files in the address of the page: `?url=`, which may stand there several times. */
export const linkedFiles = () => new URL(location.href).searchParams.getAll('url');

/**
 * A whole number from an address, or `otherwise`.
 * @param {string | null | undefined} text @param {number | null} [otherwise]
 */
export const numberFrom = (text, otherwise = null) => (/^\d{1,5}$/.test(text ?? '') ? Number(text) : otherwise);

/**
 * An object or a list from an address, or null.
 * @param {string | null | undefined} text
 */
export function jsonFrom(text) {
  if (!text || text.length >= LONGEST) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The tab that the address belongs to. */
export function linkedTab() {
  const { searchParams } = new URL(location.href);
  return TABS[Object.keys(TABS).find((name) => searchParams.has(name)) ?? ''] ?? 'Watch';
}

/** @param {string} name */
export function showTab(name) {
  const tabs = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[role=tab]'));
  const tab = [...tabs].find((each) => each.textContent?.trim() === name);
  if (tab?.getAttribute('aria-selected') !== 'true') tab?.click();
}

/**
 * Opens a tab with what it understands: Compare with {prompt, model, lanes: [{decoder, settings}]}, Watch with
 * {prompt, model, decoder, settings}; either with {files, names} of traces.
 * @param {string} tab @param {Wanted} what
 */
export function openIn(tab, what) {
  wanted[tab] = what;
  window.dispatchEvent(new CustomEvent(OPENED, { detail: tab }));
  showTab(tab);
}

/** @param {Wanted} what */
export const openComparison = (what) => openIn('Compare', { ...what, ran: 100000 - 1 });

/**
 * What another tab asks this one for, once; null if it is nothing.
 * @param {string} tab
 */
export function takeWanted(tab) {
  const found = wanted[tab] ?? null;
  delete wanted[tab];
  return found;
}

/**
 * What a visitor has in Watch, {prompt, model, decoder, settings}: whoever goes on to Compare shall find it there.
 * @param {Asked} what
 */
export function leave(what) {
  left = what;
}

export function takeLeft() {
  const found = left;
  left = null;
  return found;
}

/**
 * `open` is called when something is asked of a tab after it was built.
 * @param {string} tab @param {() => void} open
 */
export function onWanted(tab, open) {
  window.addEventListener(OPENED, (event) => /** @type {CustomEvent} */ (event).detail === tab && open());
}

/**
 * The address of a tab. `write()` gives {place, values}: what makes this entry another one, and the parameters; or
 * null while there is nothing to tell. `restore(place, here)` shows what the address asks for; `here` is true if its
 * run is on screen already. `remember` follows a change; `hold` waits with that until `rest`, while something is
 * being opened, and `enter` does so with what the address shall say meanwhile: a place that is known is there before
 * anything arrives.
 * @param {HTMLElement} root @param {string} tab @param {() => Entry | null} write
 * @param {(place: unknown, here: boolean) => unknown} restore
 */
export function createAddress(root, tab, write, restore) {
  /** @type {ReturnType<typeof setTimeout> | 0} */
  let waiting = 0;
  let held = false;
  /** @param {Entry | null} found */
  const placeOf = (found) => found && JSON.stringify([tab, found.place]);
  const entered = () => {
    const [owner, place] = jsonFrom(history.state?.place) ?? [];
    return owner === tab ? place : null;
  };

  function save() {
    waiting = 0;
    if (!held && inView() && (awaited === null || awaited === tab)) put(write());
  }

  const inView = () => root.isConnected && root.offsetParent;

  /** @param {Entry | null} found */
  function put(found) {
    if (!found) return;
    const url = new URL(location.href);
    const kept = [...url.searchParams].filter(([name]) => KEPT.test(name));
    url.search = new URLSearchParams(kept).toString();
    for (const [name, value] of Object.entries(found.values))
      if (value !== undefined) url.searchParams.set(name, String(value ?? ''));
    const place = placeOf(found);
    const before = history.state?.place;
    const change = before === undefined || before === place ? 'replaceState' : 'pushState';
    history[change]({ ...history.state, place }, '', url);
  }

  function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(save, 120); // when it has come to rest
  }

  window.addEventListener('popstate', () => {
    if (linkedTab() !== tab) return;
    // What is being opened is not here yet, and what is here will not stay.
    const here = !held && history.state?.place !== undefined && placeOf(write()) === history.state.place;
    held = !here;
    restore(entered(), here);
  });
  /** Also what has not come to rest, or was not told yet. */
  function now() {
    clearTimeout(waiting);
    save();
  }

  window.addEventListener('pagehide', now);
  const leaves = (/** @type {Event} */ { target }) => target instanceof Element && target.closest('[role=tab]');
  window.addEventListener('click', (event) => leaves(event) && now(), true); // before another tab has the address
  new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && remember()).observe(root);
  return {
    remember,
    hold: () => {
      held = true;
    },
    enter: (/** @type {Entry} */ found) => {
      held = true;
      if (!inView()) return;
      awaited = null; // it is here, or whoever was waited for is not looked at any more
      put(found);
    },
    rest: () => {
      held = false;
      if (awaited === tab) awaited = null;
      remember();
    },
    open: () => restore(entered(), false),
  };
}

/** @typedef {{ order?: string, reach?: number, attention?: number, side?: string, map?: string, hideLater?: boolean }} Looking */

// What one looks at: the mask's order, reach, weights, and whether later steps are hidden.

const SIDES = ['causes', 'diagnosis']; // what may stand in the place of the mask

/** @param {Looking} looking */
const flags = ({ order, reach = 0, attention = -1, side, map, hideLater }) =>
  [
    order === 'position' && 'position',
    reach > 0 && `reach${reach}`,
    attention >= 0 && `attention${attention}`,
    SIDES.includes(side ?? '') && side,
    map === 'weights' && 'weights',
    hideLater && 'later',
  ]
    .filter(Boolean)
    .join('.') || 'plain';

/**
 * The view as a parameter; undefined where it is the usual one.
 * @param {Looking} state @param {Looking} [usual]
 */
export const viewTo = (state, usual = {}) => (flags(state) === flags(usual) ? undefined : flags(state));

/**
 * The view of a parameter, or the usual one.
 * @param {string | null | undefined} text @param {Looking} [usual]
 */
export function viewFrom(text, usual = {}) {
  const found = text ? text.slice(0, 60).split('.') : null;
  const { order = 'state', reach = 0, attention = -1, side = 'mask', map = 'states', hideLater = false } = usual;
  if (!found) return { order, reach, attention, side, map, hideLater };
  /** @param {string} name @param {number} none */
  const layers = (name, none) =>
    Number(found.map((part) => part.match(RegExp(`^${name}(\\d{1,3})$`))?.[1]).find(Boolean) ?? none);
  return {
    order: found.includes('position') ? 'position' : 'state',
    reach: layers('reach', 0),
    attention: layers('attention', -1),
    side: SIDES.find((name) => found.includes(name)) ?? 'mask',
    map: found.includes('weights') ? 'weights' : 'states',
    hideLater: found.includes('later'),
  };
}

// A branch: the edits that lead to it, each [step, position, token, state]; of a token that was hidden, [step, position, null,
// null, from whom], 'all' or the position of a check.

/** @param {Edit[]} edits */
export const editsTo = (edits) =>
  edits.length
    ? JSON.stringify(
        edits.map(({ step, position, token, state, hide, check }) =>
          hide ? [step, position, null, null, check ?? 'all'] : [step, position, token, state],
        ),
      )
    : undefined;

/** @param {string | null | undefined} text */
export function editsFrom(text) {
  const found = jsonFrom(text);
  if (!Array.isArray(found)) return [];
  return found
    .slice(0, EDITS_AT_MOST)
    .filter(Array.isArray)
    .map(([step, position, token, state, from]) =>
      from == null
        ? { step, position, token: token ?? null, state }
        : { step, position, ...(from === 'all' ? { hide: 'all' } : { hide: 'check', check: from }) },
    );
}
