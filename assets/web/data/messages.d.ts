// What is asked of a server, and what it answers: of everything that can stand in an answer, those parts are there that its
// kind has.

import type { Payload, StepPayload } from './unpack.js';

export interface Request {
  lanes?: object[];
  edits?: object[];
  [name: string]: unknown;
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
  loading: string;
  run: string;
  branch?: number;
  branches?: { id: number; name: string }[];
  live?: boolean;
  finished?: boolean;
  payload: Payload;
  payloads?: Payload[];
  steps: { branch: number; step: StepPayload }[];
  lanes: Omit<Branch, 'live'>[];
  others?: number;
  waited?: number;
}

/** Answers to a question that waited in the queue. */
export interface Answers {
  question: string;
  replies: Reply[];
}

export interface Bridge {
  ask(request: Request, onReply: (reply: Reply) => void): void;
  call(name: string, request: Request): Promise<Reply>;
  hear(packed: string): void;
}

/** What a run is shown on. */
export interface View {
  setBusy(text: string | null): void;
  getState(): { lane: number };
  append(steps: StepPayload[], lane: number): Promise<void>;
  load(payloads: Payload | Payload[], state?: object): Promise<void>;
  setBranches(branches: { id: number; name: string }[] | undefined, current: number | undefined): void;
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
