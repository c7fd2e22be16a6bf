// Everything the page's tabs are built with. Watch is the tab a page opens on; a link to a lesson opens Learn.

import { mountCompare } from './compare.js';
import { mountLearn } from './learn.js';
import { mountWatch } from './watch.js';

function mountFirst(root, bridge, config) {
  mountWatch(root, bridge, config);
  if (!new URL(location.href).searchParams.has('lesson')) return;
  [...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent.trim() === 'Learn')?.click();
}

export const tabs = { mountCompare, mountLearn, mountWatch: mountFirst };
