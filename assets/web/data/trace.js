// The bytes of a trace file -> a trace that the viewer can be loaded with, where there is no server that would read it.
//
//   const trace = await readTrace(bytes, reader);     // throws an Error with one sentence
//
// `reader` is visual/export.py's reader(): the JSON Schema of a trace file, the words for events, and the limits. So types,
// ranges and lengths are those of dard/trace; what must hold between the parts of a file says check.js. Files of version 2 have no annotations: what they do not tell is not told.

import { check } from './check.js';
import { broken, receive } from './masks.js';
import { bounded } from './packed.js';
import { declareStates, fromVersion2 } from './version2.js';

/** @import { About } from './schema.js' */
/** @import { Payload, Reader, Schema } from './types.js' */
/** @typedef {[sentence: string, ...where: (string | number)[]]} Wrong */
/** @typedef {(value: any) => Wrong | undefined} Check */
/** @typedef {Record<string, Schema>} Schemas */

/** @param {Uint8Array} bytes @param {Reader} reader @returns {Promise<Payload>} */
export async function readTrace(bytes, reader) {
  const { limits } = reader;
  const large = `trace file is larger than ${limits.file >> 20} MB`;
  if (bytes.length > limits.file) throw new Error(large);
  let plain = bytes;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const stream = new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new DecompressionStream('gzip'));
    plain = await bounded(stream, limits.file, large).catch((error) => {
      throw error.message === large ? error : new Error('trace file is not valid gzip');
    });
  }
  let trace = null;
  try {
    trace = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plain));
  } catch {
    throw new Error('trace file is not JSON');
  }
  if (trace?.format !== 'dard-trace')
    throw new Error('trace file is not a DARD trace: it has no "format": "dard-trace"');
  const { version } = trace;
  if (version === 1)
    throw new Error('trace file has version 1, which needs the decoder it is from; decode its prompt again');
  if (version !== 2 && version !== 3)
    throw new Error('trace file has a version that is not known; this page reads 2 and 3');
  trace.version = 3;
  const { masks, graphs } = trace;
  if (version === 2) {
    delete trace.masks;
    delete trace.graphs;
    trace.about ??= {};
    if (KINDS.object(trace.about)) declareStates(trace.about);
  }
  validate(trace, reader);
  check(trace, reader.events);
  if (version === 2) await fromVersion2(trace.steps, masks, graphs, limits);
  else await receive(trace.steps, limits);
  const cells = trace.start.tokens.length * Math.max(1, trace.steps.length);
  if (cells > limits.cells)
    throw new Error(
      `this trace has ${trace.start.tokens.length} positions and ${trace.steps.length} steps; the viewer shows at most ${limits.cells} together`,
    );
  return { ...trace, about: filledAbout(trace.about, reader) };
}

/**
 * What a trace says of itself, with all that its records may leave out, and everybody's events.
 * @param {About} about @param {Reader} reader @returns {About}
 */
function filledAbout(about, { schema: { $defs = {} }, events }) {
  /** @template {object} T @param {T} record @param {string} kind @returns {T} */
  const filled = (record, kind) => ({
    ...Object.fromEntries(
      Object.entries($defs[kind].properties ?? {})
        .filter(([, one]) => 'default' in one)
        .map(([name, one]) => [name, one.default]),
    ),
    ...record,
  });
  const own = filled(about, 'About');
  return {
    cells: {},
    symbols: {},
    ...own,
    states: own.states?.map((each) => filled(each, 'StateKind')),
    columns: own.columns?.map((each) => filled(each, 'Column')),
    paths: own.paths?.map((each) => filled(each, 'Path')),
    thresholds: own.thresholds?.map((each) => (typeof each === 'string' ? each : filled(each, 'Threshold'))),
    events: {
      ...events,
      ...Object.fromEntries(Object.entries(own.events ?? {}).map(([name, each]) => [name, filled(each, 'Event')])),
    },
  };
}

// Types, ranges and lengths: as much of JSON Schema as the schema of a trace uses.

/** @type {Record<string, (value: any) => boolean>} */
const KINDS = {
  object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: Number.isFinite,
  null: (value) => value === null,
};
/** @type {Record<string, (bound: any) => (value: any) => boolean>} */
const BOUNDS = {
  minimum: (bound) => (value) => value >= bound,
  maximum: (bound) => (value) => value <= bound,
  exclusiveMaximum: (bound) => (value) => value < bound,
  minItems: (bound) => (value) => value.length >= bound,
  maxItems: (bound) => (value) => value.length <= bound,
  minLength: (bound) => (value) => value.length >= bound,
  maxLength: (bound) => (value) => value.length <= bound || [...value].length <= bound,
  pattern: (pattern) => {
    const known = new RegExp(pattern, 'u');
    return (value) => known.test(value);
  },
  maxProperties: (bound) => (value) => Object.keys(value).length <= bound,
  const: (only) => (value) => value === only,
  enum: (known) => (value) => known.includes(value),
};

/**
 * A schema as a function of a value: undefined, or what is wrong and where, [sentence, innermost name, …]. Made once: a long
 * recording holds a million numbers, and none of them shall ask the schema what it says.
 * @param {Schema} schema @param {Schemas} defs @returns {Check}
 */
function checker(schema, defs) {
  if (schema.$ref) return checker(defs[schema.$ref.split('/').at(-1) ?? ''], defs);
  if (schema.anyOf) {
    const ways = schema.anyOf.map((one) => checker(one, defs));
    return (value) => {
      for (const wrong of ways) if (!wrong(value)) return undefined;
      return ['it is none of what is allowed there'];
    };
  }
  const kind = KINDS[schema.type ?? ''];
  const bounds = Object.entries(schema)
    .filter(([name]) => name in BOUNDS)
    .map(([name, bound]) => ({ holds: BOUNDS[name](bound), sentence: `${name} is ${bound}` }));
  const inside =
    schema.type === 'array'
      ? itemsChecker(schema, defs)
      : schema.type === 'object'
        ? fieldsChecker(schema, defs)
        : null;
  return (value) => {
    if (!kind(value)) return [`it must be of the kind ${schema.type}`];
    for (const { holds, sentence } of bounds) if (!holds(value)) return [sentence];
    return inside?.(value);
  };
}

/** @param {Schema} schema @param {Schemas} defs @returns {Check} */
function itemsChecker({ prefixItems = [], items }, defs) {
  const first = prefixItems.map((one) => checker(one, defs));
  const others = items && checker(items, defs);
  return (value) => {
    for (let k = 0; k < value.length; k++) {
      const wrong = (first[k] ?? others)?.(value[k]);
      if (wrong) return [...wrong, k];
    }
    return undefined;
  };
}

/** @param {Schema} schema @param {Schemas} defs @returns {Check} */
function fieldsChecker(
  { required = [], properties = {}, patternProperties = {}, additionalProperties, propertyNames },
  defs,
) {
  const known = new Map(Object.entries(properties).map(([name, one]) => [name, checker(one, defs)]));
  const patterns = Object.entries(patternProperties).map(([pattern, one]) => ({
    fits: BOUNDS.pattern(pattern),
    check: checker(one, defs),
  }));
  const others = additionalProperties && checker(additionalProperties, defs);
  const named = propertyNames && checker({ type: 'string', ...propertyNames }, defs);
  return (value) => {
    for (const name of required) if (!Object.hasOwn(value, name)) return [`${name} is missing`];
    for (const name of Object.keys(value)) {
      const wrongName = named?.(name);
      if (wrongName) return [...wrongName, '(a name)'];
      const field = known.get(name) ?? patterns.find(({ fits }) => fits(name))?.check ?? others;
      if (!field) return ['it has fields that are not known'];
      const wrong = field(value[name]);
      if (wrong) return [...wrong, name.slice(0, 40)];
    }
    return undefined;
  };
}

/** @param {unknown} trace @param {Reader} reader */
function validate(trace, { schema }) {
  const [sentence, ...where] = checker(schema, schema.$defs ?? {})(trace) ?? [];
  if (sentence) throw broken(where.reverse().join('.').slice(-100), sentence);
}
