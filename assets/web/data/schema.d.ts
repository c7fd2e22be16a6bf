// What a trace file holds, written by `python -m tests.web.test_types` from its JSON Schema.

export interface About {
  columns?: Column[];
  paths?: Path[];
  thresholds?: (Threshold | string)[];
  events?: Record<string, Event>;
  cells?: Record<string, string>;
  shadow?: boolean;
  graph?: Relation | null;
  soft?: boolean;
  later?: boolean;
  unmeasured?: boolean;
  title?: string;
  rule?: string;
  states?: StateKind[];
  symbols?: Record<string, string>;
}

export interface Annotation {
  say?: string;
  plainly?: string;
  because?: string;
  hidden?: string;
  right?: boolean | "cut off" | null;
  board?: Layout | null;
  look?: Look | null;
  answer?: Answer | null;
  why?: Record<string, string>;
}

export interface Answer {
  positions: number[];
  first: number;
  settled: number;
  say: string;
}

export interface Attempt {
  setting: string;
  value: string | boolean | number | null;
  right: boolean;
  passes: number;
  nearest?: boolean;
  lucky?: boolean;
}

export interface Cause {
  position: number;
  without: number;
  state?: string;
  shown?: boolean;
  paths?: Record<string, number>;
  token?: number | null;
}

export interface Clash {
  places: number[];
  units: string[];
  say: string;
}

export interface Column {
  name: string;
  symbol?: string;
  help?: string;
  range?: [number, number] | null;
  mirror?: string;
  formula?: string;
}

export interface Diagnosis {
  right: boolean;
  judged_by: string;
  careful: string;
  winnable?: (boolean | null)[];
  lost?: number | null;
  kind?: string | null;
  guilty?: number[][];
  rescued?: number[];
  minimal?: boolean;
  written?: Record<string, number>;
  accepted?: number[];
  alone?: number[];
  together?: number[];
  with_taken?: boolean;
  restored?: number | null;
  reference?: string | null;
  cut?: string | null;
  solutions?: (number | null)[];
  verdicts?: Verdict[];
  tried?: Attempt[];
  revocations?: Revocation[];
  recording?: boolean;
  completions?: number;
  passes?: number;
  rows?: number;
  seconds?: number;
  stage?: string;
  sentences?: string[];
  annotation?: Panel | null;
}

export interface Event {
  title: string;
  help?: string;
  mark?: string;
  value?: string;
}

export interface Graph {
  positions: number[];
  limit: number;
  blocked: Record<string, [number, number]>;
  cells?: string;
}

export interface LayerRow {
  tokens: number[];
  confidence: number[];
  held: number[];
  shadow?: boolean;
}

export interface Layers {
  step: number;
  position: number;
  token: number;
  rows: LayerRow[];
  annotation?: Annotation | null;
}

export interface Layout {
  width: number;
  box: number;
  given: (string | null)[];
}

export interface Look {
  marks: Clash[];
  say: string;
  lines: string[];
}

export interface Marked {
  position: number;
  token: number;
  since: number;
  name: string;
  say: string;
}

export interface Panel {
  headline: string;
  progress: string;
  where?: string;
  who?: string;
  title?: string;
  how?: string;
  saved?: string;
  row?: string;
  flag?: string;
  tie?: string;
  tied?: number[];
  hold?: string;
  held?: number[];
  marked?: Marked[];
  strips?: Strip[];
  causes?: string[];
  revoked?: string[];
}

export interface Path {
  name: string;
  title?: string;
  help?: string;
  decides?: string;
}

export interface Relation {
  title: string;
  help?: string;
  symbol?: string;
  limit?: string;
  column?: string;
}

export interface Revocation {
  step: number;
  position: number;
  token: number;
  worth: string;
}

export interface Start {
  tokens: number[];
  states: string;
  confidence: (number | null)[];
  edited?: number[];
  annotation?: Annotation | null;
}

export interface StateKind {
  letter: string;
  title: string;
  role: string;
  help?: string;
}

export interface Step {
  index: number;
  block: [number, number];
  tokens: number[];
  states: string;
  columns: Record<string, (number | null)[]>;
  paths?: Record<string, Top>;
  events?: Record<string, number[]>;
  facts?: Record<string, number>;
  notes?: Record<string, string>;
  why?: Record<string, string>;
  drafts?: Record<string, number>;
  graph?: Graph | null;
  soft?: Top | null;
  hidden?: [number, number | null] | null;
  ended_by?: string | null;
  goes_on?: boolean;
  forward_seconds?: number;
  other_seconds?: number;
  peak_bytes?: number | null;
  annotation?: Annotation | null;
  mask?: string;
}

export interface Strip {
  setting: string;
  symbol: string;
  values: Tried[];
  best?: string | boolean | number | null;
  offer?: string;
}

export interface Threshold {
  name: string;
  on?: string;
  enters?: string;
  symbol?: string;
  at?: number | null;
}

export interface Top {
  positions: number[];
  k: number;
  ids: number[];
  p: number[];
}

export interface Trace {
  model: string;
  num_layers: number;
  decoder: string;
  settings: Record<string, string | boolean | number | null>;
  prompt: string;
  prompt_tokens: number[];
  mask_id: number | null;
  eos_id: number | null;
  fixed: boolean[];
  start: Start;
  steps: Step[];
  token_text: Record<string, string>;
  text: string;
  about?: About;
  block_size?: number | null;
  causes?: Verdict[];
  diagnosis?: Diagnosis | null;
  layers?: Layers[];
  annotation?: Annotation | null;
  format?: "dard-trace";
  version?: 3;
}

export interface Tried {
  value: string;
  right: boolean;
  own: boolean;
  say: string;
}

export interface Verdict {
  step: number;
  position: number;
  token: number;
  path: string;
  actual: number;
  state: string;
  paths?: Record<string, number>;
  causes?: Cause[];
  left?: number[];
  share?: number | null;
  siblings?: Cause[];
  together?: Cause | null;
  annotation?: Annotation | null;
}
