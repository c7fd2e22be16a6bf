// What unpack.js gives to others: lanes of frames. A lane is one trace, a frame one step of it.

import type { About, Column, Event, Graph, Layers, Path, Relation, Step, Trace, Verdict as Judged } from './schema.js';

export type Letter = 'M' | 'C' | 'U';

/** A threshold that has a place on the scale of confidences. */
export interface Limit {
  name: string;
  on: string;
  enters: '' | Letter;
  symbol: string;
  at: number;
}

/** What a trace says of itself, everything filled in. */
export interface Described extends Required<About> {
  columns: Required<Column>[];
  paths: Required<Path>[];
  thresholds: Limit[];
  events: Record<string, Required<Event>>;
  graph: Required<Relation> | null;
}

/** Tokens that stand in rows: how many columns, how large a box, what the prompt gives. */
export interface Board {
  width: number;
  box: number;
  given: (string | null)[];
}

/** What cannot be right on a board, and how it stands. */
export interface Look {
  marks: { places: number[]; units: string[]; say: string }[];
  say: string;
  lines: string[];
}

/** What the inspector shows of a position: sentence, warning, deciding path, tokens by path as [id, ten-thousandths, …]. */
export interface Slice {
  y: string;
  k?: string;
  d?: string;
  paths?: Record<string, number[]>;
  g?: number[];
}

/**
 * [position, or null for several together; word; probability without it, or with it; state then; whether it was not seen;
 * the word that would have been there, if another]
 */
export type Cause = [number | null, string, number, string, number, (string | null)?];

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

export type Right = boolean | 'cut off' | null;

/** A token that was kept from a pass by hand: from everyone, or from the check of one position. */
export interface Hidden {
  position: number;
  check: number | null;
  say: string;
}

export interface Frame {
  index: number;
  block: [number, number];
  tokens: Int32Array;
  states: Uint8Array;
  confidence: (number | null)[];
  columns: Record<string, (number | null)[]>;
  events: Record<string, number[]>;
  revoked: Uint8Array;
  replaced: Uint8Array;
  ghost: Int32Array;
  marks: Uint8Array;
  tags: Tag[];
  soft: Record<number, number[]>;
  graph: Graph | null;
  cells?: Uint8Array;
  life: Slice[];
  say: string;
  notes: Record<string, string>;
  ended?: string;
  took?: [number, number, number | null];
  readonly mask: Uint8Array | null;
  readonly plain: boolean;
  readonly depth: Uint8Array | null;
  readonly contaminated: Record<string, number>;
  hidden: Hidden | null;
  revokes: boolean;
  right: Right;
  look: Look | null;
  finished: boolean;
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
  lead: number;
  sees: number | null;
  mask: number;
  eos: number | null;
}

export const LETTER: 'MCU';

export class Lane {
  static open(payload: Payload): Promise<Lane>;
  static value(frame: Frame, column: string, i: number): number | null;
  static stride(frame: Frame): number;
  static hides(frame: Frame, place: number, position: number): boolean;
  static sees(frame: Frame, path: string, i: number, j: number): boolean;

  head: Head;
  about: Described;
  limits: number[];
  board: Board | null;
  length: number;
  words: Map<number, string>;
  fixed: Uint8Array;
  free: number[];
  frames: Frame[];
  causes: Map<string, Verdict>;
  layers: Map<string, LayersSaid>;
  looks: Map<number, ArrayLike<number>[]>;
  answers?: Map<string, Promise<unknown>>;
  sides: Required<Column>[];
  mapped: Required<Column> | null;
  positions?: number[];

  readonly last: number;
  readonly finished: boolean;
  readonly freeOnly: Lane;
  blockOf(i: number): number;
  begins(i: number): boolean;
  at(step: number): Frame;
  word(id: number): string;
  place(i: number): string;
  differs(frame: Frame, i: number, other: Lane, there: Frame): boolean;
  answer(frame: Frame): string;
  share(frame: Frame, column: Required<Column>, i: number): number | null;
  append(steps: StepPayload[]): Promise<void>;
  depth(frame: Frame): Uint8Array | null;
  judge(verdict: Judged, words?: Record<string, string>): Verdict;
  hear(layers: Layers, words?: Record<string, string>): LayersSaid;
  fetchCells(frame: Frame, fetch?: () => Promise<{ cells: string }>): Promise<boolean>;
  fetchLife(
    position: number,
    fetch?: (position: number) => Promise<{ steps: Partial<Step>[]; words: Record<string, string> }>,
  ): Promise<boolean>;
}

/** Whether a verdict would have been another: another state, or another token. */
export function turned(verdict: Verdict, cause: Cause): boolean;
