// Starts a self-contained replay: opens the payload of its page.

import { createAlone } from './alone.js';
import { unpack } from '../data/packed.js';

const viewer = createAlone();
unpack(document.getElementById('data').textContent)
  .then((data) => viewer.load(data))
  .then(() => document.body.setAttribute('data-ready', ''));
