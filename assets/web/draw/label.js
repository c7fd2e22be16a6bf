// A token in words, for screen readers; the same for chips and for running text.

import { two } from './dom.js';
import { eventsOf } from '../data/events.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */

/**
 * Whether a position has a confidence: one that no pass has looked at has 0 as well.
 * @param {Frame} frame @param {number} i
 */
export const judged = (frame, i) =>
  frame.confidence[i] != null && ((frame.confidence[i] ?? 0) > 0 || frame.marks[i] > 0);

/**
 * What a token is to those who do not see it.
 * @param {Lane} lane @param {Frame} frame @param {number} i
 */
export function label(lane, frame, i) {
  const state = frame.states[i];
  const parts = [lane.place(i)];
  const before = lane.frames[Math.max(0, frame.index - 1)];
  if (frame.drafted[i]) parts.push(`draft ${lane.word(frame.tokens[i])}`);
  else if (state) parts.push(lane.word(frame.tokens[i]));
  parts.push(lane.fixed[i] ? 'given' : lane.state(frame, i).title);
  if (state && frame.confidence[i] == null) parts.push('confidence not measured');
  else if (!lane.fixed[i] && judged(frame, i)) parts.push(`confidence ${two(frame.confidence[i], lane.limits)}`);
  for (const event of eventsOf(frame.marks[i]))
    parts.push(event.bit === 8 ? `replaced ${lane.word(before.tokens[i])}` : lane.about.events[event.key].title);
  const tag = frame.tags[i];
  if (tag) parts.push(tag.number == null ? tag.title : `${tag.title}, ${tag.symbol} ${tag.number.toFixed(2)}`);
  if (frame.soft[i]?.length) parts.push(`made of ${lane.word(frame.soft[i][0])} and mask`);
  const { title } = lane.about.events.demoted;
  if (frame.revoked[i]) parts.push(`${title} ${frame.revoked[i]} time${frame.revoked[i] > 1 ? 's' : ''}`);
  const given = lane.board?.given[i];
  if (given != null) parts.push(`given as ${given}`);
  const mine = frame.look?.marks.filter((mark) => mark.places.includes(i)) ?? [];
  const units = [...new Set(mine.flatMap((mark) => mark.units))];
  if (units.length) parts.push(`clashes in ${units.join(' and ')}`);
  for (const mark of mine) if (!mark.units.length) parts.push(mark.say);
  return parts.join(', ');
}
