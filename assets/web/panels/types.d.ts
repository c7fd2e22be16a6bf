// What panels and the viewer know of each other; panel.js and viewer.js say what it means.

import type { Reply } from '../data/messages.js';
import type { Right } from '../data/types.js';
import type { Lane } from '../data/unpack.js';
import type { Grid } from '../draw/grid.js';
import type { Prose } from '../draw/prose.js';
import type { Sheet, Theme } from '../draw/types.js';
import type { Transport } from './transport.js';

export interface State {
  step: number;
  position: number;
  lane: number;
  order: string;
  reach: number;
  attention: number;
  graph: string;
  side: string;
  map: string;
  hideLater: boolean;
}

/** What is done by hand to a position: a token chosen by its id, text that was typed, or null, where it stays. */
export interface Edit {
  step: number;
  position: number;
  token?: number | string | null;
  state?: string;
  hide?: string;
  check?: number;
}

/** Whoever holds a viewer; what is missing has no control on the page. */
export interface ViewerHost {
  /** Compute one more step: Step at the end of what is known; Play goes on with it. */
  requestStep?(): void;
  /** Compute to the end. */
  requestRun?(): void;
  requestStop?(): void;
  requestBranch?(edit: Edit & { lane: number }): void;
  /** The same edit at several positions, one branch after the other, and on from there to the end. */
  requestBranches?(edits: Edit[], lane: number): void;
  /** A new run with a setting changed. */
  requestSetting?(name: string, value: string | number | boolean | null, lane: number): void;
  /** An answer, or { kind: 'error', text }: to panels, what visual.server.endpoints lists; 'export' and 'gif' to exports. */
  ask?(name: string, data: { lane: number; [name: string]: unknown }): Promise<Reply>;
  /** The settings of a decoder, as it declares them. */
  knobs?(decoder: string): Tunable[];
  /** The run on screen under some other settings, from its beginning to its end, in its place; done when it is there. */
  retune?(values: Record<string, number>): Promise<void>;
  /** How its prompt ends under each of some other settings. */
  tries?(tries: Record<string, number>[]): Promise<Outcome[]>;
  /** Step, selection or a setting changed, for the address bar; called when it comes to rest. */
  onChange?(state: State): void;
  switchBranch?(id: number): void;
  compareBranches?(a: number, b: number): void;
}

/** What another decoder made of a prompt. */
export interface Other {
  name: string;
  setting: string;
  answer: string;
  right: Right;
  passes: number;
}

/** What a page asks before it shows: `question`, and `answer` when it is told; `then` is the view the answer is seen in. */
export interface Ask {
  question: string;
  answer: string;
  then?: Partial<State>;
  /** How it is answered by doing; predict.js says what the kinds are, and what belongs to them. */
  kind?: 'click' | 'drag' | 'order' | 'choose' | 'do';
  of?: string;
  places?: number[];
  options?: string[];
  right?: number;
}

/** A page of a story, as far as panels know it: what is in view of a decode, and what is said and asked of it. */
export interface Page {
  /** What links call it. */
  name: string;
  title: string;
  /** Plain sentences; a term stands between ** and ** where it is explained. */
  caption: string[];
  /** The panels beside the tokens: the `story` or the `id` of their classes. */
  panel: string | string[];
  /** The positions under discussion; the others are drawn paler. */
  focus?: number[];
  ask?: Ask | null;
  /** Where the decode is looked at first. */
  show?: Partial<State>;
  /** Shows the view of an answer. */
  told?(view: Partial<State>): void;
  /** Something was done in a panel that was asked for: whether it was right. */
  painted?(right: boolean): void;
  answered?(): boolean;
  /** What other decoders made of the same prompt. */
  others?: Other[];
  /** The names of all pages of its lesson, for the score. */
  pages?: string[];
  /** Whether the thresholds may be moved here. */
  drag?: boolean;
  /** The way of two arcs that is looked for: who looks, and at whom. */
  detour?: [from: number, to: number];
}

/** What a decoder says of one of its settings, as far as handles need it. */
export interface Tunable {
  name: string;
  own: boolean;
  symbol: string;
  kind: string;
  low: number | null;
  high: number | null;
  optional: boolean;
  below: string | null;
}

/** How a decode ended: its answer, the verdict on it, its passes, and whether it did end. */
export interface Outcome {
  text: string;
  right: Right;
  passes: number;
  finished: boolean;
}

/** What panel.js says that a class of panels has. */
export interface PanelKind {
  new (viewer: Viewer): Panel;
  id: string;
  title?: string;
  above?: boolean;
  story?: string;
  state?: Partial<State>;
  settle?(state: State, lane: Lane): void;
  fits?(lane: Lane, viewer: Viewer): boolean;
  shortcuts?: Record<string, (viewer: Viewer, panel: Panel) => void>;
}

export interface Panel {
  box: HTMLElement;
  head?: HTMLElement;
  next?: HTMLElement;
  editing?: boolean;
  grids?: (Grid | Prose)[];
  load?(): void;
  grow?(lane: number): void;
  prepare(): void;
  paint(): void;
  draw(): void;
  svg?(canvas: Sheet): void;
  text(): string;
  need?(): unknown;
  key?(event: KeyboardEvent): boolean;
}

export interface Viewer {
  root: HTMLElement;
  body: HTMLElement;
  host: ViewerHost;
  still: boolean;
  long: boolean;
  page: Page | null;
  coming: boolean;
  state: State;
  lanes: Lane[];
  lane: Lane;
  last: number;
  finished: boolean;
  editing: boolean;
  steps: number;
  theme: Theme;
  drawnWidth: number;
  room: boolean;
  grid: string | undefined;
  panels: Panel[];
  exports: { box: HTMLElement };
  transport: Transport;
  pace?(): number | undefined;
  setPage(page: Page | null): void;
  set(part: Partial<State>, options?: { keepPlaying?: boolean }): void;
  setStep(step: number): void;
  select(position: number, lane?: number): void;
  ask<T>(name: string, data: object): Promise<T>;
  order<T>(name: string, data: object): Promise<T>;
  /** Whether a panel of this id is in view: everything is, or the page names it. */
  named(id: string): boolean;
  redraw(): void;
}
