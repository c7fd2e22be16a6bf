// Everything the page's tabs are built with.

import { mountCompare } from './compare.js';
import { mountLearn } from './learn.js';
import { mountWatch } from './watch.js';

export const tabs = { mountCompare, mountLearn, mountWatch };
