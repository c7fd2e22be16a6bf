// Everything the page's tabs are built with. Watch is the tab a page opens on; a link opens the tab it belongs to. A tab
// that is not looked at costs nothing: it is built when it is first seen.

import { connect } from '../data/bridge.js';
import { mountCompare } from './compare.js';
import { mountLab } from './lab.js';
import { mountLearn } from './learn.js';
import { linkedTab, showTab } from '../data/links.js';
import { unpack } from '../data/packed.js';
import { mountWatch } from './watch.js';

/** @import { Config, Mount } from './types.js' */

/** @type {Mount<Config>} */
function mountFirst(root, bridge, config) {
  mountWatch(root, bridge, config);
  showTab(linkedTab());
}

/** @template C @param {Mount<C>} mount @returns {Mount<C>} */
const whenSeen = (mount) => (root, bridge, config) => {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    mount(root, bridge, config);
  });
  observer.observe(root);
};

export const tabs = {
  mountCompare: whenSeen(mountCompare),
  mountLab: whenSeen(mountLab),
  mountLearn: whenSeen(mountLearn),
  mountWatch: mountFirst,
  connect,
  unpack,
};
