// What must hold between the parts of a trace file, for one that nobody else has looked at: what check() in
// dard/trace/format.py says, again.

import { STATES } from './events.js';
import { broken } from './masks.js';

/** @import { Diagnosis, Start, StateKind, Step, Threshold, Trace, Verdict } from './schema.js' */
/** @import { Reader } from './types.js' */

/** @param {string} where @param {string} what @returns {never} */
function refuse(where, what) {
  throw broken(where, what);
}

/** @param {Trace} trace @param {Reader['events']} events */
export function check(
  {
    start,
    steps,
    fixed,
    about = {},
    mask_id: mask,
    token_text: texts,
    prompt_tokens: prompt,
    causes = [],
    layers = [],
    diagnosis,
    annotation,
  },
  events,
) {
  const { length } = start.tokens;
  /** @type {Map<string, [number, number]>} */
  const ranges = new Map([['confidence', [0, 1]]]);
  for (const { name, range } of about.columns ?? []) ranges.set(name, range ?? [0, Infinity]);
  const paths = new Set((about.paths ?? []).map((path) => path.name));
  const happenings = new Set([...Object.keys(events), ...Object.keys(about.events ?? {})]);
  /** @param {string} where @param {ArrayLike<unknown>} found */
  const row = (where, found) =>
    found.length === length || refuse(where, `${found.length} entries for a region of ${length}`);
  /** @param {string} where @param {number[]} found */
  const list = (where, found) =>
    (found.every((i) => i < length) && new Set(found).size === found.length) ||
    refuse(where, 'a position is outside or twice');
  /** @param {string} where @param {object} found */
  const keys = (where, found) =>
    Object.keys(found).map((key) =>
      /^(0|[1-9]\d{0,7})$/.test(key) ? Number(key) : refuse(where, 'a key is not a number'),
    );
  const letters = states(about.states ?? [], start, steps, about.thresholds ?? [], causes);
  (about.columns ?? []).forEach(({ name, mirror }, n, all) => {
    if (mirror && (mirror === name || !all.some((each) => each.name === mirror)))
      refuse(`about.columns.${n}.mirror`, 'it is none of the other columns');
  });
  row('start.states', start.states);
  row('start.confidence', start.confidence);
  row('fixed', fixed);
  list('start.edited', start.edited ?? []);
  if (start.confidence.includes(null) && !about.unmeasured) refuse('start.confidence', 'a number is missing');
  if (keys('token_text', texts).some((id) => id > 1e7)) refuse('token_text', 'a key is too large');
  steps.forEach((step, k) => {
    const where = `steps.${k + 1}`;
    if (step.index !== k + 1) refuse(where, `index is ${step.index}, not ${k + 1}`);
    if (step.hidden && !(step.hidden[0] >= -prompt.length && step.hidden[0] < length && (step.hidden[1] ?? 0) < length))
      refuse(`${where}.hidden`, 'a position is outside');
    const [from, to] = step.block;
    if (!(from < to && to <= length)) refuse(where, `block ${from}–${to} is outside the region of ${length}`);
    /** @param {string} part @param {object | undefined} found @param {{ has(name: string): boolean }} known */
    const declared = (part, found, known) =>
      Object.keys(found ?? {}).every((name) => known.has(name)) ||
      refuse(`${where}.${part}`, 'a name is not declared in about');
    declared('columns', step.columns, ranges);
    declared('notes', step.notes, ranges);
    declared('paths', step.paths, paths);
    declared('events', step.events, happenings);
    if (!Object.hasOwn(step.columns, 'confidence') || (step.columns.confidence.includes(null) && !about.unmeasured))
      refuse(`${where}.columns.confidence`, 'a number is missing');
    row(`${where}.tokens`, step.tokens);
    row(`${where}.states`, step.states);
    for (const [name, values] of Object.entries(step.columns)) {
      const [low, high] = ranges.get(name) ?? [0, 0];
      row(`${where}.columns.${name}`, values);
      if (values.some((value) => value !== null && !(value >= low && value <= high)))
        refuse(`${where}.columns.${name}`, `a number is outside ${low} to ${high}`);
    }
    for (const [name, positions] of Object.entries(step.events ?? {})) list(`${where}.${name}`, positions);
    list(`${where}.why`, keys(`${where}.why`, step.why ?? {}));
    list(`${where}.drafts`, keys(`${where}.drafts`, step.drafts ?? {}));
    if (Object.keys(step.drafts ?? {}).some((i) => letters.get(step.states[Number(i)]) === 'decided'))
      refuse(`${where}.drafts`, 'one is of a decided position');
    list(`${where}.annotation`, keys(`${where}.annotation`, step.annotation?.why ?? {}));
    const tables = Object.entries(step.paths ?? {});
    if (step.soft) tables.push(['soft', step.soft]);
    for (const [name, { positions, k: each, ids, p }] of tables) {
      list(`${where}.paths.${name}`, positions);
      if (ids.length !== p.length || ids.length !== each * positions.length)
        refuse(`${where}.paths.${name}`, 'the lists differ in length');
    }
    if (step.soft && !about.soft) refuse(`${where}.soft`, 'about declares no mixes');
    if (step.graph) {
      const { positions, blocked } = step.graph;
      if (!about.graph) refuse(`${where}.graph`, 'about declares no graph');
      list(`${where}.graph.positions`, positions);
      const named = [...keys(`${where}.graph.blocked`, blocked), ...Object.values(blocked).map(([by]) => by)];
      if (!named.every((i) => positions.includes(i)))
        refuse(`${where}.graph.blocked`, 'a position is none of the graph');
    }
  });
  const { board, answer } = annotation ?? {};
  if (answer) list('annotation.answer', answer.positions);
  if (answer && Math.max(answer.first, answer.settled) > steps.length)
    refuse('annotation.answer', 'it speaks of a step that is not there');
  if (board && (board.given.length % board.width || board.box > board.width || board.given.length > length))
    refuse('annotation.board', 'its rows do not fit the region');
  for (const moment of [start, ...steps]) {
    for (const { places, units } of moment.annotation?.look?.marks ?? []) {
      const clash = places.length === 2 && places[0] !== places[1];
      if ((units.length && !clash) || places.some((place) => place >= length))
        refuse('annotation.look', 'a mark is at no place');
    }
  }
  [...causes, ...(diagnosis?.verdicts ?? [])].forEach((verdict, k) => {
    const { step, position, causes: found = [], left = [], siblings = [] } = verdict;
    const where = `causes.${k + 1}`;
    if (step > steps.length) refuse(where, `there is no step ${step}`);
    if ([...found.map((each) => each.position), ...left].some((place) => place < -prompt.length))
      refuse(where, 'a position lies before the prompt');
    list(where, [position]);
    for (const shown of [false, true])
      list(
        where,
        found.filter((each) => (each.shown ?? false) === shown).map((each) => each.position),
      );
    list(`${where}.left`, left);
    list(
      `${where}.siblings`,
      siblings.map((each) => each.position),
    );
  });
  layers.forEach(({ step, position, rows }, k) => {
    const where = `layers.${k + 1}`;
    list(where, [position]);
    const depths = new Set(rows.flatMap((each) => [each.tokens.length, each.confidence.length, each.held.length]));
    if (step > steps.length || depths.size > 1) refuse(where, 'no such step, or its lists differ in length');
  });
  if (diagnosis)
    for (const [part, positions] of checkDiagnosis(diagnosis, steps.length + 1, keys))
      list(`diagnosis.${part}`, positions);
  for (const { tokens, states: now } of mask == null ? [] : [start, ...steps])
    if (tokens.some((token, i) => (token === mask) !== (letters.get(now[i]) === 'blank')))
      refuse('', 'a masked position holds a token, or a decided one holds none');
}

/**
 * The roles of the states by their letters: each is declared once, and all that are used are.
 * @param {StateKind[]} own @param {Start} start @param {Step[]} steps @param {(Threshold | string)[]} thresholds
 * @param {Verdict[]} causes
 */
function states(own, start, steps, thresholds, causes) {
  const letters = new Map((own.length ? own : STATES).map(({ letter, role }) => [letter, role]));
  const roles = [...letters.values()];
  if (own.length && letters.size !== own.length) refuse('about.states', 'a letter is declared twice');
  if (!roles.includes('blank') || !roles.includes('decided'))
    refuse('about.states', 'none is blank, or none is decided');
  /** @param {string} where @param {string} found */
  const declared = (where, found) =>
    [...found].every((letter) => letters.has(letter)) || refuse(where, 'a state is not declared in about.states');
  declared('start.states', start.states);
  steps.forEach((step, k) => declared(`steps.${k + 1}.states`, step.states));
  thresholds.forEach((each, k) => declared(`about.thresholds.${k}`, (typeof each === 'object' && each.enters) || ''));
  for (const { state, causes: found = [], siblings = [], together } of causes)
    for (const each of [{ state }, ...found, ...siblings, together]) declared('causes', each?.state ?? '');
  return letters;
}

/**
 * That a diagnosis speaks of this trace's states and steps; gives its lists of positions.
 * @param {Diagnosis} diagnosis @param {number} moments @param {(where: string, found: object) => number[]} keys
 */
function checkDiagnosis(diagnosis, moments, keys) {
  const {
    winnable = [],
    solutions = [],
    lost = null,
    kind = null,
    guilty = [],
    rescued = [],
    written = {},
  } = diagnosis;
  const { accepted = [], alone = [], together = [], revocations = [], annotation } = diagnosis;
  for (const [part, { length }] of Object.entries({ winnable, solutions: solutions.length ? solutions : winnable }))
    if (length !== moments) refuse(`diagnosis.${part}`, `${length} entries for ${moments} states`);
  if (lost !== null && !(lost < moments && winnable[lost - 1]))
    refuse('diagnosis.lost', `step ${lost} does not follow a winnable state`);
  if (lost !== null && winnable.slice(lost).includes(true))
    refuse('diagnosis.lost', `a later state than ${lost - 1} is winnable`);
  if (lost === null && (guilty.length || ['ending', 'commit', 'conflict', 'revocation'].includes(kind ?? '')))
    refuse('diagnosis.lost', 'no step is named');
  if (guilty.length !== rescued.length || guilty.some((each) => !each.length))
    refuse('diagnosis.guilty', 'a set is empty, or rescued is of another length');
  const [named, told] = [new Set(guilty.flat()), new Set(keys('diagnosis.written', written))];
  if (named.size !== told.size || ![...named].every((i) => told.has(i)) || !accepted.every((i) => named.has(i)))
    refuse('diagnosis.written', 'its positions are not those of guilty');
  if (Object.values(written).some((step) => step > (lost ?? 0)))
    refuse('diagnosis.written', 'a step comes after the lost one');
  const { marked = [], held = [], tied = [] } = annotation ?? {};
  const spoken = [...revocations.map((each) => each.step || moments), ...marked.map((each) => each.since)];
  if (spoken.some((step) => step >= moments)) refuse('diagnosis', 'it speaks of a step that is not there');
  /** @type {[part: string, positions: number[]][]} */
  const parts = Object.entries({ accepted, alone, together, marked: marked.map((each) => each.position), held, tied });
  guilty.forEach((each, n) => parts.push([`guilty.${n + 1}`, each]));
  for (const { position } of revocations) parts.push(['revocations', [position]]);
  return parts;
}
