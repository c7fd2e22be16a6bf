// What a lane and its frames are made of (unpack.js, frame.js), and what a trace is while it travels.

import type {
  About,
  Column,
  Diagnosis,
  Event,
  Panel as DiagnosisPanel,
  Path,
  Relation,
  StateKind,
  Step,
  Trace,
} from './schema.js';

/** A threshold that has a place on the scale of confidences. */
export interface Limit {
  name: string;
  on: string;
  enters: string;
  symbol: string;
  at: number;
}

/** What a trace says of itself, everything filled in. */
export interface Described extends Required<About> {
  states: Required<StateKind>[];
  columns: Required<Column>[];
  paths: Required<Path>[];
  thresholds: Limit[];
  events: Record<string, Required<Event>>;
  graph: Required<Relation> | null;
}

/**
 * [position, or null for several together; word; probability without it, or with it; state then; whether it was not seen;
 * the word that would have been there, if another]
 */
export type Cause = [number | null, string, number, string, number, string | null];

export interface Verdict {
  step: number;
  position: number;
  word: string;
  path: string;
  actual: number;
  state: string;
  causes: Cause[];
  beside: Cause[];
  left: number;
  share: number | null;
  because: string;
  note: string;
}

/** What each layer would have said of a position in a step; `token` is what it is about. */
export interface LayersSaid {
  step: number;
  position: number;
  token: number;
  word: string;
  note: string;
  rows: LayerRow[];
}

export interface LayerRow {
  ids: number[];
  tokens: string[];
  confidence: number[];
  held: number[];
  shadow: boolean;
}

/** The sign of an event of the decoder's own, and the number that belongs to it. */
export interface Tag extends Required<Event> {
  symbol?: string;
  number: number | null;
}

/** Where an answer was lost, with what panels show of it filled in. */
export interface Diagnosed extends Required<Diagnosis> {
  annotation: Required<DiagnosisPanel>;
}

export type Right = boolean | 'cut off' | null;

/** A token that was kept from a pass by hand: from everyone, or from the check of one position. */
export interface Hidden {
  position: number;
  check: number | null;
  say: string;
}

/** A trace as it travels: what a file holds, and what visual/payload.py adds or leaves for later. */
export interface Payload extends Trace {
  name?: string;
  asks?: boolean;
  opened?: boolean;
  file?: string;
  steps: StepPayload[];
}

export interface StepPayload extends Step {
  words?: Record<string, string>;
  rows?: Rows;
  cells?: Uint8Array;
}

/** Rows of packed bits of a mask, in the packing order or in that of positions. */
export interface Rows {
  bytes: Uint8Array;
  size: number;
  height: number;
  inOrder?: boolean;
}

/** A region as a pass found it. */
export interface Before {
  states: Uint8Array;
  confidence: (number | null)[];
}

/** What a lane says of its trace. */
export interface Head {
  name: string;
  decoder: string;
  model: string;
  layers: number;
  prompt: string;
  block: number;
  promptOverlap: number; // tokens of the first block that are the prompt's
  sees: number | null;
  mask: number | null;
  eos: number | null;
}

/** What a browser needs to read a trace file as strictly as the library does; see visual/export.py. */
export interface Reader {
  schema: Schema;
  events: Record<string, Required<Event>>;
  limits: Record<'file' | 'masks' | 'cells' | 'graph' | 'graphs', number>;
}

/** As much of JSON Schema as the schema of a trace uses. */
export interface Schema {
  type?: string;
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  default?: unknown;
  items?: Schema;
  prefixItems?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | false;
  propertyNames?: Schema;
}
