// Shapes on canvases, filled and stroked by whoever asks for them.

/** @import { Pen } from './types.js' */

/**
 * A line, drawn.
 * @param {Pen} g @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2
 */
export function segment(g, x1, y1, x2, y2) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}

/**
 * The path of a triangle whose point is `height` below its middle, or above with direction -1.
 * @param {Pen} g @param {number} x @param {number} y @param {number} half @param {number} height
 * @param {number} direction
 */
export function triangle(g, x, y, half, height, direction) {
  g.beginPath();
  g.moveTo(x - half, y - direction * height);
  g.lineTo(x + half, y - direction * height);
  g.lineTo(x, y + direction * height);
  g.closePath();
}

/**
 * The path of a diamond.
 * @param {Pen} g @param {number} x @param {number} y @param {number} radius
 */
export function diamond(g, x, y, radius) {
  g.beginPath();
  g.moveTo(x, y - radius);
  g.lineTo(x + radius, y);
  g.lineTo(x, y + radius);
  g.lineTo(x - radius, y);
  g.closePath();
}
