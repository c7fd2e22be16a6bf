// What is asked of a server, and what it answers: of everything that can stand in an answer, those parts are there that its
// kind has.

import type { Checked, Figure, Look, Run, Table, Value, Values, World } from '../shell/types.js';
import type { Payload, StepPayload } from './types.js';

export interface Request {
  lanes?: object[];
  edits?: object[];
  [name: string]: unknown;
}

/** The answer to what cannot be done, whatever was asked. */
export interface Refused {
  kind: 'error';
  text: string;
}

/** A file, its content in base64. */
export interface Made {
  kind: 'file';
  name: string;
  media: string;
  data: string;
}

/** A picture that the server keeps for prompts to come. */
export interface Kept {
  kind: 'image';
  image: string;
  width: number;
  height: number;
  small: string;
}

/** Results of the Lab, all of them or how far they are. */
export interface Results {
  kind: 'results' | 'progress';
  lab: string;
  done: number;
  total: number;
  about: string;
  command: string | null;
  of?: [experiment: string, task: string] | null;
  figure: Figure | null;
  tables: Table[];
  files: string[];
  variants: string[];
  only: string[];
}

/** The decodes behind results. */
export interface Runs {
  kind: 'runs';
  count: number;
  all: number;
  wrong: number;
  runs: Run[];
}

/** What quick calls answer, by their names; a call that is not here answers with a `Reply`. */
export interface Called {
  check: Checked;
  knows: { kind: 'knows'; words: string[]; worlds: World[] };
  open_image: Kept;
  plotly: { kind: 'script'; text: string };
  lab_recorded: Results;
  lab_open: Results;
  lab_runs: Runs;
  lab_file: Made;
}

/** A lane of a run as the server knows it. */
export interface Branch {
  branch: number;
  live: boolean;
  finished: boolean;
  steps: number;
}

export interface Reply {
  kind: string;
  text: string;
  expired?: boolean;
  cut?: boolean;
  loading: string;
  run: string;
  branch?: number;
  branches?: { id: number; name: string }[];
  live?: boolean;
  finished?: boolean;
  payload: Payload;
  payloads?: Payload[];
  defaults: Record<string, Values> | null;
  steps: { branch: number; step: StepPayload }[];
  lanes: Omit<Branch, 'live'>[];
  table?: Record<string, Value>[];
  others?: number;
  waited?: number;
  decided?: number;
  of?: number;
  left?: number | null;
}

/** Answers to a question that waited in the queue. */
export interface Answers {
  question: string;
  replies: Reply[];
}

/** The way to whoever answers; `recorded` where the answers were made before. */
export interface Bridge {
  ask<R = Reply>(request: Request, onReply: (reply: R) => void, onSilence?: () => Promise<unknown>): void;
  call<N extends string>(name: N, request: Request): Promise<N extends keyof Called ? Called[N] | Refused : Reply>;
  recorded?: boolean;
}

/** What a run is shown on. */
export interface View {
  setBusy(text: string | null, share?: number | null): void;
  getState(): { lane: number };
  append(steps: StepPayload[], lane: number): Promise<void>;
  load(payloads: Payload | Payload[], state?: Look): Promise<void>;
  setBranches(branches?: { id: number; name: string }[], current?: number): void;
  setTitle?(title: string | null | undefined): void;
}

export interface Host {
  say(text: string | null): void;
  refuse(text: string): void;
  tell(text: string): void;
  onRest?(): void;
  again(): Request | null | undefined;
  onRemade?(request: Request, reply: Reply): unknown;
}

/** Where a link leads to: what makes this entry of the history another one, and the parameters. */
export interface Entry {
  place: unknown;
  values: Record<string, string | number | null | undefined>;
}
