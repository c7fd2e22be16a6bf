// Learn and the Lab on a site that is only files: what they ask for was answered when the site was made (visual/site.py).
// Any number of visitors may look at it; nothing is decoded, and there are no controls for what would have to be.

import { h, put } from '../draw/dom.js';
import { mountLab } from './lab.js';
import { mountLearn } from './learn.js';
import { unpack } from '../data/packed.js';

const MOUNTS = { learn: mountLearn, results: mountLab };
const SILENCE = { kind: 'error', text: 'A file of this site did not arrive; load the page again.' };
const questionOf = ({ prompt, lanes, decoder, settings }) => JSON.stringify([prompt, lanes, decoder, settings]);

/** A bridge (see bridge.js) to files. */
function recorded({ lessons = [] }) {
  const files = new Map();
  const read = (file) => {
    if (!files.has(file))
      files.set(
        file,
        fetch(file)
          .then((answer) => answer.text())
          .then(unpack)
          .catch(() => {
            files.delete(file);
            return null;
          }),
      );
    return files.get(file);
  };
  const calls = {
    lab_recorded: ({ stem }) => read(`results/${stem}.txt`).then((found) => found?.recorded),
    lab_runs: ({ lab, variant }) => read(`results/${lab}.txt`).then((found) => found?.runs[variant]),
    lab_file: ({ lab, kind }) => read(`results/${lab}.txt`).then((found) => found?.files[kind]),
    plotly: () => read('plotly.txt'),
    start: (asked) => read(`learn/${lessons.findIndex(({ show }) => questionOf(show) === questionOf(asked))}.txt`),
  };
  calls.compare = calls.start;
  const call = (name, data) => calls[name](data).then((found) => found ?? SILENCE);
  let made = null; // what a run that was started has: all of its steps
  return {
    recorded: true,
    call,
    async ask({ action, ...data }, onReply) {
      const reply = calls[action] ? await call(action, data) : made;
      const payloads = reply.payloads ?? [reply.payload];
      if (payloads[0])
        made = {
          kind: 'made',
          lanes: payloads.map(({ steps }, branch) => ({ branch, steps: steps.length, finished: true })),
        };
      onReply(reply);
      onReply({ kind: 'end' });
    },
  };
}

const root = document.getElementById('root');
const { mount } = root.dataset;
if (!location.search)
  location.replace(mount === 'learn' ? '?lesson=1' : '?lab=pareto'); // links.js tells by that whose address it is
else {
  unpack(document.getElementById('data').textContent).then((config) => {
    put(root, h('div', {}));
    document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
    MOUNTS[mount](root.firstChild, recorded(config), config);
    document.body.setAttribute('data-ready', '');
  });
}
