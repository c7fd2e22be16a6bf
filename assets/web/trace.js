// A trace file -> what the viewer is loaded with, where there is no server that would do it.
//
//   const payload = await readTrace(bytes, reader);     // throws an Error with one sentence
//
// `reader` is visual/export.py's reader(): the JSON Schema of a trace file, the words for events, and the limits. So types,
// ranges and lengths are those of dard/trace.py; what its check() says about the parts of a file together is said here again,
// for a file that nobody else has looked at. Only what a file holds is shown: reach, verdicts and what a task says of an
// answer are not computed here, and a position that has no sentence in the file gets none that explains. The format is described in visual/payload.py.

import { STATES } from './dom.js';

const refuse = (where, what) => { throw new Error(`trace file is broken${where && ` at ${where}`}: ${what}`); };

/** Everything a stream gives, or an Error with this sentence when it is more than `most` bytes. */
export async function bounded(stream, most, sentence) {
  const reader = stream.getReader();
  const parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new Error(sentence);
    }
    parts.push(value);
  }
}

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
  if (trace.version === 1) throw new Error('trace file has version 1, which needs the decoder it is from; `dard view FILE` opens it');
  if (trace.version !== 2) throw new Error('trace file has a version that is not known; this page reads 2');
  validate(trace, reader);
  check(trace, reader.events);
  await unpackMasks(trace, limits);
  if (Object.hasOwn(trace, 'graphs')) await unpackGraphs(trace, limits);
  const cells = trace.start.tokens.length * Math.max(1, trace.steps.length);
  if (cells > limits.cells) throw new Error(`this trace has ${trace.start.tokens.length} positions and ${trace.steps.length} steps; the viewer shows at most ${limits.cells} together`);
  return payloadOf(trace, reader);
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

function check({ start, steps, fixed, about = {}, mask_id: mask, token_text: texts }, events) {
  const { length } = start.tokens;
  const ranges = new Map([['confidence', [0, 1]], ...(about.columns ?? []).map((column) => [column.name, column.range ?? [0, Infinity]])]);
  const declared = { columns: ranges, notes: ranges, paths: new Set((about.paths ?? []).map((path) => path.name)), events: new Set([...Object.keys(events), ...Object.keys(about.events ?? {})]) };
  const row = (where, found) => found.length === length || refuse(where, `${found.length} entries for a region of ${length}`);
  const list = (where, found) => (found.every((i) => i < length) && new Set(found).size === found.length) || refuse(where, 'a position is outside or twice');
  const keys = (where, found) => Object.keys(found).map((key) => (/^(0|[1-9]\d{0,7})$/.test(key) ? Number(key) : refuse(where, 'a key is not a number')));
  row('start.states', start.states);
  row('start.confidence', start.confidence);
  row('fixed', fixed);
  list('start.edited', start.edited ?? []);
  if (start.confidence.includes(null) && !about.unmeasured) refuse('start.confidence', 'a number is missing');
  if (keys('token_text', texts).some((id) => id > 1e7)) refuse('token_text', 'a key is too large');
  steps.forEach((step, k) => {
    const where = `steps.${k + 1}`;
    if (step.index !== k + 1) refuse(where, `index is ${step.index}, not ${k + 1}`);
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
  for (const { tokens, states } of [start, ...steps]) if (tokens.some((token, i) => (token === mask) !== (states[i] === 'M'))) refuse('', 'a masked position holds a token, or a decided one holds none');
}

/** Gives each step its mask, rows of whole bytes as the viewer has them; see dard/trace.py for how they are packed. */
async function unpackMasks({ steps, masks }, limits) {
  const sizes = steps.map(({ block: [from, to] }) => 2 * (to - from));
  const bytesOf = (size) => [(size * size + 7) >> 3, (size + 7) >> 3];
  const most = sizes.reduce((sum, size) => bytesOf(size).reduce((a, b) => a + b, sum + 1), 0);
  const data = await inflated(masks, 'masks', Math.min(most, limits.masks));
  let at = 0;
  let kept = 0;
  let previous = [];
  steps.forEach((step, k) => {
    const flags = data[at] ?? 255;
    step.plain = flags === 5; // of the block alone
    const size = sizes[k] / (step.plain ? 2 : 1);
    const [inside, outside] = bytesOf(size);
    const end = at + 1 + inside * (flags & 1) + outside * ((flags >> 1) & 1);
    if (![0, 1, 2, 3, 5].includes(flags) || end > data.length) refuse('masks', 'it ends before the last step');
    step.masked = (flags & 1) > 0;
    if (step.masked) {
      const bits = data.subarray(at + 1, at + 1 + inside);
      if (bits.length === previous.length) for (let b = 0; b < inside; b++) bits[b] ^= previous[b];
      previous = bits;
      kept += inside;
      if (sizes[k] <= 2 * limits.block && kept <= limits.kept) step.bits = rowsOf(bits, size);
    }
    at = end;
  });
  if (at !== data.length) refuse('masks', 'it goes on after the last step');
}

/** What was packed into a text, at most so many bytes. */
async function inflated(packed, where, most) {
  const wrong = `not the packed ${where} of these steps`;
  try {
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    return await bounded(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate')), most, wrong);
  } catch {
    return refuse(where, wrong);
  }
}

/** Gives each graph its cells. */
async function unpackGraphs({ steps, graphs }, limits) {
  const sizes = steps.map((step) => step.graph?.positions.length ?? 0);
  const most = sizes.reduce((sum, size) => sum + (size <= limits.graph ? size * size : 0), 0);
  const data = await inflated(graphs, 'graphs', steps.length + Math.min(most, limits.graphs));
  let at = 0;
  steps.forEach((step, k) => {
    const kept = data[at];
    at += 1;
    if (kept === 1 && step.graph && sizes[k] <= limits.graph && at + sizes[k] ** 2 <= data.length) {
      step.cells = data.subarray(at, at + sizes[k] ** 2);
      at += sizes[k] ** 2;
    } else if (kept !== 0) refuse('graphs', 'not the packed graphs of these steps');
  });
  if (at !== data.length) refuse('graphs', 'not the packed graphs of these steps');
}

function rowsOf(bits, size) {
  if (size % 8 === 0) return bits;
  const stride = (size + 7) >> 3;
  const out = new Uint8Array(size * stride);
  for (let cell = 0; cell < size * size; cell++) {
    const column = cell % size;
    if (bits[cell >> 3] & (128 >> (cell & 7))) out[((cell - column) / size) * stride + (column >> 3)] |= 128 >> (column & 7);
  }
  return out;
}

// Texts: everything invisible is made visible, and all is of bounded length, as visual/payload.py has it.

const NAMED = { '\n': '↵', '\t': '⇥', '\u2028': '↵', '\u2029': '↵' };
const visible = (text) => text.replace(/[\p{C}\p{Z}]/gu, (c) => NAMED[c]
  ?? (c === ' ' || c === '\u200d' ? c : /\p{Z}/u.test(c) ? '␣' : `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`));
const cut = (text, most) => (text.length > most && [...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text);
const sentence = (text, most = 700) => visible(cut(text, most));

function shown(text, most = 48) {
  if (text.length <= most && /^[!-~]+$/.test(text)) return text; // most words, and a file may hold a hundred thousand
  const characters = [...text.slice(0, 2 * most + 2)].slice(0, most + 1);
  const out = [...(visible(characters.join('')).replaceAll(' ', '␣') || '∅')];
  return (characters.length > most || out.length > 2 * most ? [...out.slice(0, most - 1), '…'] : out).join('');
}

function clean(value) {
  if (typeof value === 'string') return sentence(value);
  if (Array.isArray(value)) return value.map(clean);
  return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([key, each]) => [sentence(key), clean(each)])) : value;
}

// What the viewer is loaded with.

function payloadOf(trace, { schema, events, quiet }) {
  const { start, steps, fixed, settings } = trace;
  const { length } = start.tokens;
  const { $defs } = schema;
  const filled = (record, kind) => ({ ...Object.fromEntries(Object.entries($defs[kind].properties).filter(([, one]) => 'default' in one).map(([name, one]) => [name, one.default])), ...record });
  const own = filled(trace.about, 'About');
  const about = clean({
    cells: {}, symbols: {}, ...own,
    columns: own.columns.map((each) => filled(each, 'Column')),
    paths: own.paths.map((each) => filled(each, 'Path')),
    thresholds: own.thresholds.map((each) => (typeof each === 'string' ? each : filled(each, 'Threshold'))),
    title: own.title || trace.decoder,
    shadow: own.shadow || steps.some((step) => step.masked),
    events: { ...events, ...Object.fromEntries(Object.entries(own.events ?? {}).map(([name, each]) => [name, filled(each, 'Event')])) },
  });
  const words = new Map(Object.entries(trace.token_text).map(([id, text]) => [Number(id), text]));
  const word = (id) => words.get(id) ?? `<${id}>`;
  const block = trace.block_size ?? settings.block_length;
  const before = (k) => (k ? steps[k - 1] : start);
  return {
    name: cut(about.title, 120), decoder: sentence(trace.decoder), about, model: sentence(trace.model, 120), layers: trace.num_layers, reachless: true,
    settings: clean(settings), prompt: sentence(trace.prompt, 4000), length, sees: trace.block_size ?? null, lead: trace.block_size ? trace.prompt_tokens.length % trace.block_size : 0, fixed: [...fixed.keys()].filter((i) => fixed[i]),
    block: Number.isInteger(block) && block > 0 && block < length ? block : length, mask: trace.mask_id, eos: trace.eos_id,
    words: Object.fromEntries([...words].map(([id, text]) => [id, shown(text)])),
    start: { edited: [], ...start },
    finished: done(steps.at(-1) ?? start),
    causes: [], // as reach, only where Python reads the file
    steps: steps.map((step, k) => ({
      i: step.index, block: step.block, tokens: step.tokens, states: step.states, columns: step.columns, events: { ...step.events }, notes: clean(step.notes ?? {}),
      say: sentence(summary(step, before(k), about, word, quiet)), ended: step.ended_by && sentence(step.ended_by), finished: done(step), bits: step.bits, plain: step.plain,
      graph: step.graph, cells: step.cells, soft: step.soft && Object.fromEntries(step.soft.positions.map((i) => [i, guesses(step.soft, i, (p) => p > 0)])),
      took: [(step.forward_seconds ?? 0) * 1000, (step.other_seconds ?? 0) * 1000, step.peak_bytes == null ? null : Math.round(step.peak_bytes / 1e6)],
    })),
    life: (position) => ({ steps: steps.map((step, k) => slice(step, before(k), position, about)) }),
  };
}

/** One sentence about a whole step, as dard/words.py writes it. */
function summary(step, before, about, word, quiet) {
  const quote = (id) => {
    const text = word(id).trim() || JSON.stringify(word(id)).replaceAll('"', "'");
    return `'${cut(text, 40)}'`;
  };
  const names = (tokens, positions) => {
    const few = positions.slice(0, 3).map((i) => quote(tokens[i]));
    if (positions.length > 3) return `${few.join(', ')} and ${positions.length - 3} more`;
    return few.length > 1 ? `${few.slice(0, -1).join(', ')} and ${few.at(-1)}` : few[0];
  };
  const { edited = [], ...told } = step.events ?? {};
  if (told.accepted) told.accepted = told.accepted.filter((i) => !told.decided?.includes(i));
  const parts = Object.entries(told).filter(([name, positions]) => positions.length && !quiet.includes(name))
    .map(([name, positions]) => (positions.every((i) => before.states[i] === 'M' && step.states[i] === 'M')
      ? `${about.events[name].title}: ${positions.length} position${positions.length > 1 ? 's' : ''}`
      : `${names((name === 'demoted' ? before : step).tokens, positions)} ${about.events[name].title}`));
  if (edited.length) parts.push(`position ${edited.join(', ')} edited by hand`);
  const text = parts.join('; ') || 'nothing changed';
  const ended = step.ended_by == null ? '' : step.ended_by === 'all unmasked' ? ' The block is complete.' : ` The block is complete, ended by ${step.ended_by}.`;
  return `Step ${step.index}. ${text[0].toUpperCase()}${text.slice(1)}.${ended}`;
}

const done = (moment) => /^U+$/.test(moment.states) && !moment.goes_on;

/** The likeliest tokens at a position, [id, ten-thousandths, …]. */
function guesses({ positions, k, ids, p }, position, wanted = () => true) {
  const at = positions.indexOf(position) * k;
  return ids.slice(at, at + k).flatMap((id, n) => (wanted(p[at + n]) ? [id, p[at + n]] : []));
}

/** What a file tells of a position at a step. */
function slice(step, before, position, about) {
  const found = {};
  for (const [name, { positions, k, ids, p }] of Object.entries(step.paths ?? {})) {
    if (positions.includes(position) && k) found[sentence(name)] = guesses({ positions, k, ids, p }, position);
  }
  const decided = about.paths.map((path) => path.name).filter((name) => Object.hasOwn(found, name)).at(-1);
  const same = step.tokens[position] === before.tokens[position] && step.states[position] === before.states[position];
  const told = step.why && Object.hasOwn(step.why, position) ? sentence(step.why[position]) : null;
  const state = (one) => STATES[one.states[position]];
  const plain = same ? `Nothing changed here in this step: ${state(step)}.` : `From ${state(before)} to ${state(step)}; the file has no sentence about it.`;
  return { y: told ?? plain, ...(decided && { paths: found, d: decided }) };
}
