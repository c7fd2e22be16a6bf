// The marks of what happened to a token in a step, one over the other.

import { diamond, triangle } from './shapes.js';

/** @import { Pen, Theme } from './types.js' */

/**
 * Those of the `bits` that are set, around a point; `edge` is how far up and down the triangles stand.
 * @param {Pen} g @param {number} bits @param {number} x @param {number} middle @param {number} edge @param {Theme} theme
 */
export function drawMarks(g, bits, x, middle, edge, theme) {
  g.strokeStyle = theme.panel;
  g.lineWidth = 2;
  /** @param {string} colour */
  const both = (colour) => {
    g.fillStyle = colour;
    g.stroke();
    g.fill();
  };
  if (bits & 1) {
    triangle(g, x, middle - edge, 4.5, 4.2, -1);
    both(theme.promoted);
  }
  if (bits & 2) {
    triangle(g, x, middle + edge, 4.5, 4.2, 1);
    both(theme.demoted);
  }
  if (bits & 8) {
    diamond(g, x, middle, 4.5);
    both(theme.replaced);
  }
  /** @param {string} colour @param {[number, number][]} points */
  const stroke = (colour, points) => {
    for (const around of [true, false]) {
      g.strokeStyle = around ? theme.panel : colour;
      g.lineWidth = around ? 4.5 : 2;
      g.beginPath();
      points.forEach(([dx, dy], n) => (n ? g.lineTo(x + dx, dy) : g.moveTo(x + dx, dy)));
      g.stroke();
    }
  };
  if (bits & 4)
    stroke(theme.demoted, [
      [-4, middle + edge - 2],
      [0, middle + edge + 2],
      [4, middle + edge - 2],
    ]);
  if (bits & 16)
    stroke(theme.ink2, [
      [-4, middle],
      [-1, middle + 3],
      [4, middle - 3],
    ]);
  if (bits & 32) {
    g.beginPath();
    g.rect(x - 3.5, middle - 3.5, 7, 7);
    both(theme.ink);
  }
}
