// The numbers that a run is tuned by, and the run made again while they are moved: the latest counts, and where a decode
// takes long the model is only asked when they come to rest. The ruler's handles and the map share it.
//
// Which numbers: the decoder's own settings that its thresholds name; without any, its first own setting that is a number.

/** @import { Tunable, Viewer } from './types.js' */

const SLOW = 400; // milliseconds of a whole decode, above which only the end of a drag is decoded
const MOST = 32; // where a number has no upper bound, or a distant one
export const NO_MODEL = 'This is a recording: no model is here that could decode the prompt with another number.';

/** @typedef {{ name: string, symbol: string, low: number, high: number, step: number, below: string | null, scale: boolean }} Knob */

/** @type {WeakMap<Viewer, Tuning>} */
const kept = new WeakMap();

/** What the panels of a viewer share. @param {Viewer} viewer */
export function tuningOf(viewer) {
  const found = kept.get(viewer) ?? new Tuning(viewer);
  kept.set(viewer, found);
  return found;
}

export class Tuning {
  /** @type {Record<string, number> | null} where the handles are, while the run on screen is another one */ wanted =
    null;
  /** @type {Record<string, number> | null} what is being decoded */ asked = null;
  /** @type {Set<() => void>} */ listeners = new Set();

  message = '';

  last = 0; // milliseconds that the last one took

  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
  }

  /** @returns {Knob[]} */
  get knobs() {
    const { lane, host } = this.viewer;
    const { thresholds } = lane.about;
    const known = new Map((host.knobs?.(lane.head.decoder) ?? []).map((each) => [each.name, each]));
    const isNumber = (/** @type {string} */ name) => typeof lane.settings[name] === 'number';
    const names = thresholds.map(({ name }) => name).filter(isNumber);
    if (!names.length)
      names.push(
        ...[...known.values()]
          .filter(numeric)
          .map(({ name }) => name)
          .filter(isNumber),
      );
    return names.slice(0, thresholds.length || 1).map((name) => {
      const threshold = thresholds.find((each) => each.name === name);
      const setting = known.get(name);
      const most = Math.max(2, Math.min(MOST, lane.free.length));
      const high = setting?.high ?? (threshold ? 1 : most);
      return {
        name,
        symbol: threshold?.symbol || setting?.symbol || name,
        low: setting?.low ?? 0,
        high: threshold ? high : Math.min(high, Math.max(most, Number(lane.settings[name]))),
        step: setting?.kind === 'int' ? 1 : 0.01,
        below: setting?.below ?? null,
        scale: !!threshold,
      };
    });
  }

  /** Where the handles are. @returns {Record<string, number>} */
  get values() {
    const { settings } = this.viewer.lane;
    return this.wanted ?? Object.fromEntries(this.knobs.map(({ name }) => [name, Number(settings[name])]));
  }

  /** Whether a decode takes so long that nobody should wait for those of a drag. */
  get slow() {
    const { frames } = this.viewer.lane;
    const passes = frames.slice(1).reduce((sum, { took }) => sum + took[0] + took[1], 0);
    return (this.last || passes) > SLOW;
  }

  /**
   * Moves one number, and takes along what may not be below or above it. `rest`: it stays there.
   * @param {string} name @param {number} to @param {boolean} rest
   */
  move(name, to, rest) {
    const { knobs } = this;
    const knob = knobs.find((each) => each.name === name);
    if (!knob) return;
    const steps = Math.round((Math.max(knob.low, Math.min(knob.high, to)) - knob.low) / knob.step);
    const value = Number((knob.low + steps * knob.step).toFixed(4));
    const values = { ...this.values, [name]: value };
    for (const other of knobs) {
      if (knob.below === other.name) values[other.name] = Math.max(values[other.name], value);
      if (other.below === name) values[other.name] = Math.min(values[other.name], value);
    }
    this.set(values, rest);
  }

  /** @param {Record<string, number>} values @param {boolean} rest */
  set(values, rest) {
    if (!this.viewer.host.retune) this.message = NO_MODEL;
    else {
      this.wanted = values;
      this.message = this.slow && !rest ? 'It is decoded when you let go: this model takes a while.' : '';
      if (rest || !this.slow) this.follow();
    }
    this.tell();
  }

  /** One decode after the other, always of what is wanted by then. */
  async follow() {
    if (this.asked) return;
    const { host, lane } = this.viewer;
    const shown = Object.fromEntries(this.knobs.map(({ name }) => [name, Number(lane.settings[name])]));
    let now = shown;
    while (this.wanted && !same(this.wanted, now)) {
      this.asked = now = this.wanted;
      const began = performance.now();
      await host.retune?.(now);
      this.last = performance.now() - began;
    }
    this.asked = null;
    this.wanted = null;
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}

/** @param {Tunable} setting */
const numeric = ({ own, kind, optional }) => own && !optional && (kind === 'int' || kind === 'float');

/** @param {Record<string, number>} a @param {Record<string, number>} b */
export const same = (a, b) => Object.keys(a).every((name) => a[name] === b[name]);
