// What the viewer's keys do: the step, the selection, playing, revocations, and what its panels declare.

/** @import { PanelKind } from '../panels/types.js' */
/** @import { Viewer } from './viewer.js' */

/**
 * By the name of the key; `target` is where it was pressed.
 * @param {Viewer} viewer @param {HTMLInputElement} target
 */
export function actionsOf(viewer, target) {
  const { step, position } = viewer.state;
  const pressesItself = target.type === 'checkbox' || (target.closest?.('button') && !target.dataset.position);
  /** @type {Record<string, false | (() => void)>} */
  const actions = {
    ArrowLeft: () => viewer.setStep(step - 1),
    ArrowRight: () => {
      viewer.transport.pause();
      viewer.transport.forward();
    },
    Home: () => viewer.setStep(0),
    End: () => viewer.setStep(viewer.last),
    ArrowUp: () => viewer.select(Math.max(0, position - 1)),
    ArrowDown: () => viewer.select(Math.min(viewer.lane.length - 1, position + 1)),
    ' ': !pressesItself && (() => viewer.transport.play()),
    n: () => toRevocation(viewer, 1),
    p: () => toRevocation(viewer, -1),
  };
  for (const panel of viewer.panels)
    for (const [name, act] of Object.entries(/** @type {PanelKind} */ (panel.constructor).shortcuts ?? {}))
      actions[name] = () => act(viewer, panel);
  return actions;
}

/** To the next or the previous step at which something was revoked. @param {Viewer} viewer @param {1 | -1} direction */
function toRevocation(viewer, direction) {
  for (let step = viewer.state.step + direction; step >= 0 && step <= viewer.last; step += direction) {
    if (viewer.lanes.some((lane) => lane.frames[step]?.revokes)) {
      viewer.setStep(step);
      return;
    }
  }
}
