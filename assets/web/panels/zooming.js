// The hand on the mask: pointing, dragging, the wheel, two fingers, double clicks and keys.

import { pointOn } from '../draw/dom.js';
import { describe } from '../draw/maskwords.js';

/** @import { Cell } from '../draw/mask.js' */
/** @import { MaskPanel } from './maskpanel.js' */

/** @type {Record<string, Cell>} */
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const PINCH = 1.35; // how much further apart two fingers are for one level

/** @param {MaskPanel} panel */
export function listen(panel) {
  const { canvas, mask, viewer } = panel;
  /** @param {MouseEvent} event */
  const point = (event) => mask.at(...pointOn(canvas, event));
  /** @type {Map<number, PointerEvent>} */
  const fingers = new Map();
  /** @type {{ x: number, y: number, moved: boolean } | null} */
  let drag = null;
  let apart = 0;
  const between = () => {
    const [one, other] = [...fingers.values()];
    return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
  };
  canvas.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, event);
    drag = fingers.size > 1 ? null : { x: event.clientX, y: event.clientY, moved: false };
    if (fingers.size === 2) apart = between();
    if (mask.zoom > 1 || fingers.size > 1) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const ratio = between() / apart;
      if (ratio < PINCH && ratio > 1 / PINCH) return;
      apart = between();
      panel.zoom(ratio > 1 ? 1 : -1, point(event));
    } else if (drag && mask.zoom > 1) {
      mask.pan((drag.y - event.clientY) / mask.each, (drag.x - event.clientX) / mask.each);
      drag = { x: event.clientX, y: event.clientY, moved: true };
    } else mask.cell = point(event);
    panel.redraw();
  });
  canvas.addEventListener('pointerup', (event) => {
    const cell = point(event);
    if (cell && drag && !drag.moved) viewer.select(describe(mask, cell).position);
    fingers.delete(event.pointerId);
    drag = null;
  });
  canvas.addEventListener('pointercancel', (event) => {
    fingers.delete(event.pointerId);
    drag = null;
  });
  const leave = () => {
    mask.cell = null;
    panel.redraw();
  };
  canvas.addEventListener('pointerleave', leave);
  canvas.addEventListener('blur', leave);
  canvas.addEventListener('dblclick', (event) => (mask.zoom > 1 ? panel.whole() : panel.zoom(1, point(event))));
  canvas.addEventListener(
    'wheel',
    (event) => {
      const zooms = event.ctrlKey || (panel.fine && document.activeElement === canvas);
      if (!zooms && mask.zoom === 1) return;
      event.preventDefault();
      if (zooms) panel.zoom(event.deltaY < 0 ? 1 : -1, point(event));
      else {
        mask.pan(event.deltaY / mask.each, event.deltaX / mask.each);
        panel.redraw();
      }
    },
    { passive: false },
  );
}

/**
 * A key pressed on the heatmap; whether it meant something.
 * @param {MaskPanel} panel @param {string} key
 */
export function pressed(panel, key) {
  const { mask, viewer } = panel;
  if (Object.hasOwn(MOVES, key)) {
    mask.move(...MOVES[key], viewer.state.position);
    panel.redraw();
  } else if (key === '+' || key === '=') panel.zoom(1, mask.cell);
  else if (key === '-') panel.zoom(-1, mask.cell);
  else if (key === '0') panel.whole();
  else if (key === 'Enter' && mask.cell) viewer.select(describe(mask, mask.cell).position);
  else return false;
  return true;
}
