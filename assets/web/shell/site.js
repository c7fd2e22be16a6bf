// Learn and the Lab on a site that is only files: what they ask for was answered when the site was made (visual/site.py).
// Any number of visitors may look at it; nothing is decoded, and there are no controls for what would have to be.

import { byId, h, put } from '../draw/dom.js';
import { mountLab } from './lab.js';
import { mountLearn } from './learn.js';
import { isAmong } from './results.js';
import { unpack } from '../data/packed.js';

/** @import { Bridge, Refused, Reply, Request } from '../data/messages.js' */
/** @import { Mount, Run, StoryPage } from './types.js' */

/** @type {Record<string, Mount<any>>} */
const MOUNTS = { learn: mountLearn, results: mountLab }; // each with what its own page holds
/** @type {Refused} */
const SILENCE = { kind: 'error', text: 'A file of this site did not arrive; load the page again.' };
/** @param {Request} show */
const questionOf = ({ prompt, lanes, decoder, settings }) => JSON.stringify([prompt, lanes, decoder, settings]);

/** A bridge (see bridge.js) to files. @param {{ lessons?: StoryPage[] }} config @returns {Bridge} */
function recorded({ lessons = [] }) {
  /** @type {Map<string, Promise<any>>} what files hold */
  const files = new Map();
  const read = (/** @type {string} */ file) => {
    const known = files.get(file);
    if (known) return known;
    const answer = fetch(file)
      .then((found) => found.text())
      .then(unpack)
      .catch(() => {
        files.delete(file);
        return null;
      });
    files.set(file, answer);
    return answer;
  };
  const lesson = (/** @type {Request} */ asked) =>
    read(`learn/${lessons.findIndex(({ show }) => questionOf({ ...show }) === questionOf(asked))}.txt`);
  /** @type {Record<string, (request: any) => Promise<any>>} */
  const calls = {
    lab_recorded: ({ stem }) => read(`results/${stem}.txt`).then((found) => found?.recorded),
    lab_runs: ({ lab, variant, only }) =>
      read(`results/${lab}.txt`).then((found) => {
        const all = found?.runs[variant];
        const runs = all?.runs.filter((/** @type {Run} */ run) => isAmong(run, only));
        return all && { ...all, runs, count: runs.length };
      }),
    lab_file: ({ lab, kind }) => read(`results/${lab}.txt`).then((found) => found?.files[kind]),
    plotly: () => read('plotly.txt'),
    start: lesson,
    compare: lesson,
  };
  /** @param {string} name @param {Request} data */
  const call = async (name, data) => (await calls[name]?.(data)) ?? SILENCE;
  /** @type {object | null} */
  let made = null; // what a run that was started has: all of its steps
  return {
    recorded: true,
    call,
    /** @param {Request} request @param {(reply: any) => void} onReply */
    async ask({ action, ...data }, onReply) {
      const reply = calls[String(action)] ? await call(String(action), data) : made;
      const payloads = reply.payloads ?? [reply.payload];
      if (payloads[0])
        made = {
          kind: 'made',
          lanes: payloads.map((/** @type {Reply['payload']} */ { steps }, /** @type {number} */ branch) => ({
            branch,
            steps: steps.length,
            finished: true,
          })),
        };
      onReply(reply);
      onReply({ kind: 'end' });
    },
  };
}

const root = byId('root');
const { mount = '' } = root.dataset;
if (!location.search)
  location.replace(mount === 'learn' ? '?lesson=1' : '?lab=pareto'); // links.js tells by that whose address it is
else {
  unpack(byId('data').textContent).then((config) => {
    const box = h('div', {});
    put(root, box);
    document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
    MOUNTS[mount](box, recorded(config), config);
    document.body.setAttribute('data-ready', '');
  });
}
