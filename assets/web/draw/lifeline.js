// The life line: what confidence a position had over the steps, and what stood there.

import { sized } from './dom.js';
import { diamond, segment } from './shapes.js';
import { LETTER } from '../data/unpack.js';

/** @import { Lane } from '../data/unpack.js' */
/** @import { Pen, Sheet, Theme } from './types.js' */

export class LifeLine {
  /** @type {Lane} */ lane;
  /** @type {number} */ position;
  /** @type {number} */ width;
  /** @type {(x: number) => number} the step under a point of what was drawn */ stepAt;

  /**
   * Confidence over the steps, on bands of the states it means; `last` is the step at the right end.
   * @param {Sheet} canvas
   * @param {{ lane: Lane, position: number, width: number, height: number, step: number, hideLater: boolean, last: number, theme: Theme }} look
   */
  draw(canvas, { lane, position, width, height, step, hideLater, last, theme }) {
    Object.assign(this, { lane, position, width });
    const g = sized(canvas, width, height);
    const bottom = height - 14;
    const left = 22;
    const room = width - left - 8;
    /** @param {number} k */
    const x = (k) => left + 8 + (last ? k / last : 0) * (room - 16);
    /** @param {number} c */
    const y = (c) => 11 + (1 - c) * (bottom - 13);
    this.stepAt = (px) => Math.max(0, Math.min(lane.last, Math.round(((px - left - 8) / (room - 16)) * last)));
    const bands = lane.about.thresholds.filter((threshold) => threshold.enters).sort((a, b) => a.at - b.at);
    g.textBaseline = 'middle';
    g.textAlign = 'center';
    /** @param {number} a @param {number} b @param {string} letter */
    const band = (a, b, letter) => {
      const look = lane.look(letter);
      g.fillStyle = look === 'M' ? theme.sunk : theme[`${look}-rest`];
      const up = b === 1 ? 9 : 0;
      g.fillRect(left, y(b) - up, room, y(a) - y(b) + up);
      badge(g, look, letter, 8, (y(a) + y(b) - up) / 2, theme);
    };
    if (bands.length) {
      bands.forEach(({ at, enters }, k) => {
        const to = bands[k + 1]?.at ?? 1;
        if (to > at || to === 1) band(at, to, enters);
      });
      band(0, bands[0].at, lane.kinds[0].letter);
    } else {
      g.fillStyle = theme.sunk;
      g.fillRect(left, 2, room, bottom - 2);
      g.fillStyle = theme.ink3;
      g.font = `11px ${theme.sans}`;
      for (const value of [1, 0]) g.fillText(String(value), 14, y(value));
    }
    g.setLineDash([2, 2]);
    g.lineWidth = 1;
    g.strokeStyle = theme.ink3;
    for (const threshold of lane.about.thresholds) segment(g, left, y(threshold.at), left + room, y(threshold.at));
    g.setLineDash([]);
    const now = Math.min(step, lane.last);
    g.strokeStyle = theme.ink;
    g.lineWidth = 1.5;
    segment(g, x(now), 2, x(now), bottom);
    if (!lane.fixed[position]) this.points(g, now, hideLater ? now : lane.last, x, y, theme, last);
    if (step && lane.frames[now].confidence[position] == null) {
      g.textAlign = 'left';
      g.fillStyle = theme.ink2;
      g.font = `11px ${theme.sans}`;
      g.fillText('confidence not measured', left + 8, bottom - 9);
    }
    g.font = `11px ${theme.sans}`;
    g.textAlign = 'center';
    const every = [1, 2, 4, 8, 16, 32, 64, 128].find((n) => (n / Math.max(1, last)) * (room - 16) >= 20) || 256;
    for (let k = 0; k <= last; k += every) {
      g.fillStyle = k === now ? theme.ink : theme.ink3;
      g.font = `${k === now ? '700 ' : ''}11px ${theme.sans}`;
      g.fillText(String(k), x(k), bottom + 8);
    }
  }

  /**
   * @param {Pen} g @param {number} now @param {number} until @param {(step: number) => number} x
   * @param {(confidence: number) => number} y @param {Theme} theme @param {number} last
   */
  points(g, now, until, x, y, theme, last) {
    const { lane, position } = this;
    const frames = lane.frames;
    const radius = last > 20 ? 2.5 : 4;
    /** @param {number} k */
    const value = (k) => frames[k].confidence[position] ?? 0;
    /** @param {number} k */
    const known = (k) =>
      k > 0 &&
      frames[k].confidence[position] != null &&
      (value(k) > 0 || frames[k].states[position] > 0 || (frames[k].marks[position] & 2) > 0);
    for (const later of [false, true]) {
      const [from, to] = later ? [Math.max(1, now), until] : [1, now];
      g.setLineDash(later ? [3, 2] : []);
      g.strokeStyle = later ? theme.ink3 : theme.ink;
      g.lineWidth = later ? 1 : 1.5;
      g.beginPath();
      let drawing = false;
      for (let k = from; k <= to; k++) {
        if (!known(k)) continue;
        if (drawing) g.lineTo(x(k), y(value(k)));
        else g.moveTo(x(k), y(value(k)));
        drawing = true;
      }
      g.stroke();
    }
    g.setLineDash([]);
    let token = null;
    let free = -99; // from here on there is no name yet
    const crowded = x(1) - x(0) < 1; // of points on one pixel the first of each state is seen, and every revocation
    let drawn = '';
    for (let k = 1; k <= until; k++) {
      if (!known(k)) continue;
      const frame = frames[k];
      const [px, py, state] = [x(k), y(value(k)), frame.states[position]];
      const revoked = frame.marks[position] & 2;
      const spot = crowded && `${Math.round(px)} ${state} ${k > now}`;
      if (crowded && spot === drawn && !revoked) continue;
      drawn = spot || '';
      g.globalAlpha = k > now ? 0.45 : 1;
      g.lineWidth = 1;
      g.strokeStyle = theme.panel;
      g.fillStyle = state ? theme[LETTER[state]] : theme.panel;
      g.beginPath();
      if (state === 1) diamond(g, px, py, radius + 1.4);
      else if (state === 2) g.arc(px, py, radius + 0.6, 0, 7);
      else {
        g.rect(px - radius, py - radius, 2 * radius, 2 * radius);
        g.strokeStyle = revoked ? theme.scar : theme.M;
        g.lineWidth = 1.4;
      }
      g.fill();
      g.stroke();
      g.font = `11px ${theme.mono}`;
      /**
       * @param {string} text @param {number} tx @param {number} ty @param {CanvasTextAlign} align
       * @param {string} colour
       */
      const write = (text, tx, ty, align, colour) => {
        g.textAlign = align;
        g.lineJoin = 'round';
        g.strokeStyle = theme.panel;
        g.lineWidth = 2.5;
        g.strokeText(text, tx, ty);
        g.fillStyle = colour;
        g.fillText(text, tx, ty);
      };
      /** @param {number} id */
      const short = (id) => {
        const text = lane.word(id);
        return text.length > 14 ? `${text.slice(0, 13)}…` : text;
      };
      g.globalAlpha = k > now ? 0.6 : 1;
      const edge = k === last ? 'right' : k === 1 && last > 4 ? 'left' : 'center';
      const name = state && frame.tokens[position] !== token ? short(frame.tokens[position]) : '';
      const from = px - { left: 0, center: 0.5, right: 1 }[edge] * g.measureText(name).width;
      if (name && from > free) {
        token = frame.tokens[position];
        free = from + g.measureText(name).width + 5;
        write(name, px + (k === last ? -2 : 0), py < 20 ? py + 14 : py - 11, edge, theme.ink);
      } else if (revoked) {
        const text = short(frame.ghost[position]);
        const wide = g.measureText(text).width;
        const at = px + 9 + wide > this.width ? px - 9 - wide : px + 9;
        write(text, at, py, 'left', theme['demoted-t']);
        g.strokeStyle = theme['demoted-t'];
        g.lineWidth = 1.2;
        segment(g, at, py, at + wide, py);
        token = null;
      }
      g.globalAlpha = 1;
    }
  }
}

/**
 * A state's shape with its letter.
 * @param {Pen} g @param {string} look @param {string} letter @param {number} x @param {number} y @param {Theme} theme
 */
function badge(g, look, letter, x, y, theme) {
  g.beginPath();
  if (look === 'U') g.arc(x, y, 6, 0, 7);
  else if (look === 'C') diamond(g, x, y, 7.5);
  else g.rect(x - 5.5, y - 5.5, 11, 11);
  g.fillStyle = g.strokeStyle = theme[look];
  if (look === 'M') {
    g.setLineDash([2, 1.6]);
    g.lineWidth = 1.2;
    g.stroke();
    g.setLineDash([]);
  } else g.fill();
  g.fillStyle = look === 'M' ? theme.ink2 : theme[`${look}-on`];
  g.font = `700 8.6px ${theme.sans}`;
  g.fillText(letter, x, y + 0.5);
}
