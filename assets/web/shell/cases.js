// A case of the gallery as the page of a story.

/** @import { Page } from '../panels/types.js' */
/** @import { Asked, Case, Config } from './types.js' */

const DISCUSSED_AT_MOST = 4; // positions of a case

/**
 * What is on screen as a page: a case, or a prompt of one's own. The first case opens the page, and has what others made
 * of it.
 * @param {Config} config @param {Case | null} example @param {string} prompt @returns {Page}
 */
export function pageOf({ gallery, opening }, example, prompt) {
  if (!example) return { name: 'own', title: prompt, caption: [], panel: ['ruler', 'score'], drag: true };
  const { name, hook, why, shows = [] } = example;
  if (example === gallery[0] && opening)
    return { name, title: hook ?? name, caption: [], panel: ['ruler', 'others'], drag: true, others: opening.others };
  const places = shows.flatMap(({ versus, position }) => (versus || position == null ? [] : [position]));
  return {
    name,
    title: name,
    caption: why ? [why] : [],
    panel: ['ruler', 'score'],
    drag: true,
    focus: [...new Set(places)].slice(0, DISCUSSED_AT_MOST),
  };
}

/**
 * The case that a decode is of, if it is.
 * @param {Case[]} gallery @param {Asked} asked
 */
export const caseOf = (gallery, { prompt, model, decoder, settings }) =>
  gallery.find(
    (item) =>
      item.prompt === prompt &&
      item.model === model &&
      item.decoder === decoder &&
      Object.entries(item.settings).every(([name, value]) => String(settings[name]) === String(value)),
  ) ?? null;
