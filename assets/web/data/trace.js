// The bytes of a trace file -> a trace that the viewer can be loaded with, where there is no server that would read it.
//
//   const trace = await readTrace(bytes, reader);     // throws an Error with one sentence
//
// `reader` is visual/export.py's reader(): the JSON Schema of a trace file, the words for events, and the limits. So types,
// ranges and lengths are those of dard/trace; what its check() says about the parts of a file together is said here again,
// for a file that nobody else has looked at. Files of version 2 have no annotations: what they do not tell is not told.

import { broken, receive } from './masks.js';
import { bounded } from './packed.js';
import { fromVersion2 } from './version2.js';

const refuse = (where, what) => { throw broken(where, what); };

export async function readTrace(bytes, reader) {
  const { limits } = reader;
  const large = `trace file is larger than ${limits.file >> 20} MB`;
  if (bytes.length > limits.file) throw new Error(large);
  let plain = bytes;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    plain = await bounded(stream, limits.file, large).catch((error) => { throw error.message === large ? error : new Error('trace file is not valid gzip'); });
  }
  let trace = null;
  try {
    trace = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plain));
  } catch {
    throw new Error('trace file is not JSON');
  }
  if (trace?.format !== 'dard-trace') throw new Error('trace file is not a DARD trace: it has no "format": "dard-trace"');
  const { version } = trace;
  if (version === 1) throw new Error('trace file has version 1, which needs the decoder it is from; decode its prompt again');
  if (version !== 2 && version !== 3) throw new Error('trace file has a version that is not known; this page reads 2 and 3');
  trace.version = 3;
  const { masks, graphs } = trace;
  if (version === 2) {
    delete trace.masks;
    delete trace.graphs;
  }
  validate(trace, reader);
  check(trace, reader.events);
  if (version === 2) await fromVersion2(trace.steps, masks, graphs, limits);
  else await receive(trace.steps, limits);
  const cells = trace.start.tokens.length * Math.max(1, trace.steps.length);
  if (cells > limits.cells) throw new Error(`this trace has ${trace.start.tokens.length} positions and ${trace.steps.length} steps; the viewer shows at most ${limits.cells} together`);
  return { ...trace, about: filledAbout(trace.about, reader) };
}

/** What a trace says of itself, with all that its records may leave out, and everybody's events. */
function filledAbout(about, { schema: { $defs }, events }) {
  const filled = (record, kind) => ({ ...Object.fromEntries(Object.entries($defs[kind].properties).filter(([, one]) => 'default' in one).map(([name, one]) => [name, one.default])), ...record });
  const own = filled(about, 'About');
  return {
    cells: {}, symbols: {}, ...own,
    columns: own.columns.map((each) => filled(each, 'Column')),
    paths: own.paths.map((each) => filled(each, 'Path')),
    thresholds: own.thresholds.map((each) => (typeof each === 'string' ? each : filled(each, 'Threshold'))),
    events: { ...events, ...Object.fromEntries(Object.entries(own.events ?? {}).map(([name, each]) => [name, filled(each, 'Event')])) },
  };
}

// Types, ranges and lengths: as much of JSON Schema as the schema of a trace uses.

const KINDS = {
  object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  null: (value) => value === null,
};
const BOUNDS = {
  minimum: (bound) => (value) => value >= bound,
  maximum: (bound) => (value) => value <= bound,
  exclusiveMaximum: (bound) => (value) => value < bound,
  minItems: (bound) => (value) => value.length >= bound,
  maxItems: (bound) => (value) => value.length <= bound,
  minLength: (bound) => (value) => value.length >= bound,
  maxLength: (bound) => (value) => value.length <= bound || [...value].length <= bound,
  pattern: (pattern) => { const known = new RegExp(pattern, 'u'); return (value) => known.test(value); },
  maxProperties: (bound) => (value) => Object.keys(value).length <= bound,
  const: (only) => (value) => value === only,
};

/** A schema as a function of a value: undefined, or what is wrong and where, [sentence, innermost name, …]. Made once: a long
 * recording holds a million numbers, and none of them shall ask the schema what it says. */
function checker(schema, defs) {
  if (schema.$ref) return checker(defs[schema.$ref.split('/').at(-1)], defs);
  if (schema.anyOf) {
    const ways = schema.anyOf.map((one) => checker(one, defs));
    return (value) => { for (const wrong of ways) if (!wrong(value)) return undefined; return ['it is none of what is allowed there']; };
  }
  const kind = KINDS[schema.type];
  const bounds = Object.keys(BOUNDS).filter((name) => name in schema).map((name) => [BOUNDS[name](schema[name]), `${name} is ${schema[name]}`]);
  const inside = schema.type === 'array' ? itemsChecker(schema, defs) : schema.type === 'object' ? fieldsChecker(schema, defs) : null;
  return (value) => {
    if (!kind(value)) return [`it must be of the kind ${schema.type}`];
    for (const [holds, sentence] of bounds) if (!holds(value)) return [sentence];
    return inside?.(value);
  };
}

function itemsChecker({ prefixItems = [], items }, defs) {
  const first = prefixItems.map((one) => checker(one, defs));
  const others = items && checker(items, defs);
  return (value) => {
    for (let k = 0; k < value.length; k++) {
      const wrong = (first[k] ?? others)(value[k]);
      if (wrong) return [...wrong, k];
    }
    return undefined;
  };
}

function fieldsChecker({ required = [], properties = {}, patternProperties = {}, additionalProperties, propertyNames }, defs) {
  const known = new Map(Object.entries(properties).map(([name, one]) => [name, checker(one, defs)]));
  const patterns = Object.entries(patternProperties).map(([pattern, one]) => [BOUNDS.pattern(pattern), checker(one, defs)]);
  const others = additionalProperties && checker(additionalProperties, defs);
  const named = propertyNames && checker({ type: 'string', ...propertyNames }, defs);
  return (value) => {
    for (const name of required) if (!Object.hasOwn(value, name)) return [`${name} is missing`];
    for (const name of Object.keys(value)) {
      const wrongName = named?.(name);
      if (wrongName) return [...wrongName, '(a name)'];
      const field = known.get(name) ?? patterns.find(([fits]) => fits(name))?.[1] ?? others;
      const wrong = field ? field(value[name]) : ['it has fields that are not known'];
      if (wrong) return field ? [...wrong, name.slice(0, 40)] : wrong;
    }
    return undefined;
  };
}

function validate(trace, { schema }) {
  const [sentence, ...where] = checker(schema, schema.$defs)(trace) ?? [];
  if (sentence) refuse(where.reverse().join('.').slice(-100), sentence);
}

// What must hold between the parts of a file.

function check({ start, steps, fixed, about = {}, mask_id: mask, token_text: texts, prompt_tokens: prompt, causes = [], annotation }, events) {
  const { length } = start.tokens;
  const ranges = new Map([['confidence', [0, 1]], ...(about.columns ?? []).map((column) => [column.name, column.range ?? [0, Infinity]])]);
  const declared = { columns: ranges, notes: ranges, paths: new Set((about.paths ?? []).map((path) => path.name)), events: new Set([...Object.keys(events), ...Object.keys(about.events ?? {})]) };
  const row = (where, found) => found.length === length || refuse(where, `${found.length} entries for a region of ${length}`);
  const list = (where, found) => (found.every((i) => i < length) && new Set(found).size === found.length) || refuse(where, 'a position is outside or twice');
  const keys = (where, found) => Object.keys(found).map((key) => (/^(0|[1-9]\d{0,7})$/.test(key) ? Number(key) : refuse(where, 'a key is not a number')));
  (about.columns ?? []).forEach(({ name, mirror }, n) => {
    if (mirror && (mirror === name || !(about.columns ?? []).some((each) => each.name === mirror))) refuse(`about.columns.${n}.mirror`, 'it is none of the other columns');
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
    if (step.hidden && !(step.hidden[0] >= -prompt.length && step.hidden[0] < length && (step.hidden[1] ?? 0) < length)) refuse(`${where}.hidden`, 'a position is outside');
    const [from, to] = step.block;
    if (!(from < to && to <= length)) refuse(where, `block ${from}–${to} is outside the region of ${length}`);
    for (const [part, known] of Object.entries(declared)) for (const name of Object.keys(step[part] ?? {})) if (!known.has(name)) refuse(`${where}.${part}`, 'a name is not declared in about');
    if (!Object.hasOwn(step.columns, 'confidence') || (step.columns.confidence.includes(null) && !about.unmeasured)) refuse(`${where}.columns.confidence`, 'a number is missing');
    row(`${where}.tokens`, step.tokens);
    row(`${where}.states`, step.states);
    for (const [name, values] of Object.entries(step.columns)) {
      const [low, high] = ranges.get(name);
      row(`${where}.columns.${name}`, values);
      if (values.some((value) => value !== null && !(value >= low && value <= high))) refuse(`${where}.columns.${name}`, `a number is outside ${low} to ${high}`);
    }
    for (const [name, positions] of Object.entries(step.events ?? {})) list(`${where}.${name}`, positions);
    list(`${where}.why`, keys(`${where}.why`, step.why ?? {}));
    list(`${where}.annotation`, keys(`${where}.annotation`, step.annotation?.why ?? {}));
    for (const [name, { positions, k: each, ids, p }] of [...Object.entries(step.paths ?? {}), ...(step.soft ? [['soft', step.soft]] : [])]) {
      list(`${where}.paths.${name}`, positions);
      if (ids.length !== p.length || ids.length !== each * positions.length) refuse(`${where}.paths.${name}`, 'the lists differ in length');
    }
    if (step.soft && !about.soft) refuse(`${where}.soft`, 'about declares no mixes');
    if (step.graph) {
      const { positions, blocked } = step.graph;
      if (!about.graph) refuse(`${where}.graph`, 'about declares no graph');
      list(`${where}.graph.positions`, positions);
      const named = [...keys(`${where}.graph.blocked`, blocked), ...Object.values(blocked).map(([by]) => by)];
      if (!named.every((i) => positions.includes(i))) refuse(`${where}.graph.blocked`, 'a position is none of the graph');
    }
  });
  const { board } = annotation ?? {};
  if (board && (board.given.length % board.width || board.box > board.width || board.given.length > length)) refuse('annotation.board', 'its rows do not fit the region');
  for (const moment of [start, ...steps]) {
    for (const { places, units } of moment.annotation?.look?.marks ?? []) {
      const clash = places.length === 2 && places[0] !== places[1];
      if ((units.length && !clash) || places.some((place) => place >= length)) refuse('annotation.look', 'a mark is at no place');
    }
  }
  causes.forEach(({ step, position, causes: found = [], left = [] }, k) => {
    const where = `causes.${k + 1}`;
    if (step > steps.length) refuse(where, `there is no step ${step}`);
    if ([...found.map((each) => each.position), ...left].some((place) => place < -prompt.length)) refuse(where, 'a position lies before the prompt');
    list(where, [position]);
    for (const shown of [false, true]) list(where, found.filter((each) => (each.shown ?? false) === shown).map((each) => each.position));
    list(`${where}.left`, left);
  });
  for (const { tokens, states } of [start, ...steps]) if (tokens.some((token, i) => (token === mask) !== (states[i] === 'M'))) refuse('', 'a masked position holds a token, or a decided one holds none');
}
