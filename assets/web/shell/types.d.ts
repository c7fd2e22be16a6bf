// What the tabs know of each other, and what a page is built from (visual/server/opening.py, lab.py, cases.py).

import type { Bridge, Host, Reply } from '../data/messages.js';
import type { Payload } from '../data/types.js';
import type { Child } from '../draw/types.js';
import type { Edit, Other, Page, Panel, State, Viewer } from '../panels/types.js';

export type Value = string | number | boolean | null;
export type Values = Record<string, Value>;

/** A setting as its decoder declares it. */
export interface Setting {
  name: string;
  own: boolean;
  symbol: string;
  kind: string;
  default: Value;
  low: number | null;
  high: number | null;
  choices: string[];
  optional: boolean;
  below: string | null;
  help: string;
  allowed: string;
}

export interface Decoder {
  name: string;
  title: string;
  settings: Setting[];
  presets: Record<string, Values>;
}

/** What goes with a prompt: pictures as the server knows them, and whether the model shall think first. */
export type Pictured = { images?: string[]; fit?: string; think?: boolean };

/** A decode as it is asked for. */
export type Asked = Pictured & { prompt: string; model: string; decoder: string; settings: Values; edits?: Edit[] };

/** A lane of a comparison: a decoder, or a trace from a file by the name of its run. */
export type Decoded = { decoder: string; settings: Values; opened?: undefined };
export type Opened = { opened: string; name?: string };
export type Compared = Pictured & { prompt: string; model: string; lanes: (Decoded | Opened)[] };

/** What one tab asks another for. */
export interface Wanted extends Partial<Omit<Asked, 'edits'>> {
  lanes?: (Decoded | Opened)[];
  ran?: number;
  files?: File[];
  names?: string[];
}

/** Where somebody looks, as far as it is said; `goal` is the last step that the view follows to. */
export type Look = Partial<State> & { goal?: number };

/** A case of the gallery. */
export interface Case {
  name: string;
  /** What it answers; chips stand by it. */
  question: string;
  hook?: string;
  prompt: string;
  model: string;
  decoder: string;
  settings: Values;
  lanes: Decoded[];
  look: string;
  why?: string;
  shows?: { position?: number; versus?: object }[];
  step?: number;
  select?: number;
  /** Of a case that somebody recorded: who, and under which licence. */
  by?: string;
  licence?: string;
}

export interface Card {
  about: string;
  images: boolean;
  think: boolean;
}

/** What Watch and Compare are built from. */
export interface Config {
  models: string[];
  cards: Record<string, Card>;
  decoders: Decoder[];
  defaults: Record<string, Record<string, Values> | null>;
  gallery: Case[];
  compared: string[];
  limits: Record<'prompt' | 'region' | 'compared' | 'upload' | 'images', number>;
  opening?: { payload: Payload; others: Other[] } | null;
}

/** What a decode would come to, as far as it can be told before it is made. */
export interface Checked {
  kind: 'checked';
  limit?: number;
  sizes?: [prompt: number, region: number][];
  unknown?: string[];
  instead?: string | null;
  text?: string;
  /** What is to be known before so long a run. */
  note?: string;
}

/** A small task of a model with a closed list of words. */
export interface World {
  title: string;
  prompt: string;
  gen_length: number | null;
}

/** A page of a story as it is written down: what it shows of which decode, and what its sentences claim. */
export interface StoryPage extends Page {
  /** What links called it before, a name or a number. */
  was?: (number | string)[];
  show: Decoded & Partial<State> & { prompt: string; model?: string; lanes?: Decoded[] };
}

export interface LearnConfig {
  decoders?: Decoder[];
  lessons: StoryPage[];
}

/** A chart as the library takes it that draws it. */
export interface Figure {
  data: object[];
  layout: { font?: object; title?: object; height?: number };
}

export interface Table {
  caption: string;
  columns: string[];
  rows: string[][];
  variants: string[];
}

/** What the Lab is built from. */
export interface LabConfig {
  experiments: { name: string; title: string; paper: string; shows: string; task: string }[];
  tasks: { name: string; title: string }[];
  models: string[];
  recorded: string[];
  samples: number;
  sorts: string[];
  files: number;
  upload: number;
  run: Record<'rows' | 'about' | 'traces', string>;
}

/** A decode behind a point of a chart, and what other variants made of the same. */
export interface Run {
  number: number;
  right: boolean | null;
  passes: number | null;
  revocations: number | null;
  folder: string;
  trace: string | null;
  variant: string;
  item: string;
  prompt: string;
  text: string;
  target: string;
  ended_by: string;
  kind: string | null;
  lost_by: string;
  model: string;
  asked: string | null;
  lanes: Decoded[];
  traces: [folder: string, name: string][];
  names: string[];
}

/** What is around the prompt, for the tab it is in. */
export interface Shelled {
  label: string;
  onDecode(): void;
  onAgain(): void;
  onCase(item: Case): void;
  onFiles(replies: OpenedTrace[]): void;
  running: Pick<Host, 'onRest' | 'again' | 'onRemade'>;
  words: Omit<WordsHost, 'said'>;
  unlinked?(): string | null;
  aside?: Child[];
  tools?: Child[];
}

export type OpenedTrace = Reply & { name: string };

export interface WordsHost {
  /** What would be sent. */
  request(): Asked | Compared;
  /** What an alert says already. */
  said(): string | null;
  onSizes(checked: Checked): void;
  give(prompt: string, lengths: Values): void;
  useModel(name: string): void;
}

export type Mount<C> = (root: HTMLElement, bridge: Bridge, config: C) => void;

export interface ViewerOptions {
  state?: Record<string, unknown>;
  /** What the host can make, { kind: name }; see exports.js. */
  exports?: Record<string, string>;
  /** Steps per second. */
  speed?: number;
  /** In which the focus must be for the viewer's keys to act, by default its own element; they also act while nothing has
   * the focus, and never while something is typed. */
  keysFrom?: HTMLElement;
  /** Panels that only this host has. */
  more?: ((viewer: Viewer) => Panel)[];
  /** For a picture: no controls, no keys, only these panels, and a text above them. */
  still?: boolean;
  panels?: string[];
  prompt?: string | false;
}
