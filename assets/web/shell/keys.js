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
    n: () => viewer.transport.revocation(1),
    p: () => viewer.transport.revocation(-1),
  };
  for (const panel of viewer.panels)
    for (const [name, act] of Object.entries(/** @type {PanelKind} */ (panel.constructor).shortcuts ?? {})) {
      const others = Object.hasOwn(actions, name) && actions[name]; // a key may mean something to several
      actions[name] = () => {
        if (others) others();
        act(viewer, panel);
      };
    }
  return actions;
}
