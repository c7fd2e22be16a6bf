// Starts a self-contained replay: opens the payload of its page.

import { createAlone } from './alone.js';
import { unpack } from '../data/packed.js';
import { byId } from '../draw/dom.js';

const viewer = createAlone();
unpack(byId('data').textContent)
  .then((data) => viewer.load(data))
  .then(() => document.body.setAttribute('data-ready', ''));
