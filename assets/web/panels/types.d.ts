// What panels and the viewer know of each other; panel.js and viewer.js say what it means.

import type { Reply } from '../data/messages.js';
import type { Lane } from '../data/unpack.js';
import type { Grid } from '../draw/grid.js';
import type { Sheet, Theme } from '../draw/types.js';

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

export interface Edit {
  step: number;
  position: number;
  token?: number | string | null;
  state?: string;
  hide?: string;
  check?: number;
}

export interface ViewerHost {
  requestStep?(): void;
  requestRun?(): void;
  requestStop?(): void;
  requestBranch?(edit: Edit & { lane: number }): void;
  ask?(name: string, data: object): Promise<Reply>;
  onChange?(state: State): void;
  switchBranch?(id: number): void;
  compareBranches?(a: number, b: number): void;
}

export interface Panel {
  box: HTMLElement;
  grids?: Grid[];
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
  short: boolean;
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
  transport: { timer: unknown };
  pace?(): number;
  set(part: Partial<State>, options?: { keepPlaying?: boolean }): void;
  setStep(step: number): void;
  select(position: number, lane?: number): void;
  ask<T>(name: string, data: object): Promise<T>;
  order<T>(name: string, data: object): Promise<T>;
  redraw(): void;
}
