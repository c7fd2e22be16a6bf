// Tables of results, and the samples behind them, as nodes; and which of the files that were chosen hold results.

import { h, passesOf } from '../draw/dom.js';
import { readFile } from './files.js';
import { rich } from '../draw/symbols.js';

/** @import { LabConfig, Run, Table } from './types.js' */

/** @param {string} label @param {{ name: string, title: string }[]} entries */
export const select = (label, entries) =>
  h(
    'select',
    { class: 'dv-select', 'aria-label': label },
    entries.map(({ name, title }) => h('option', { value: name }, title)),
  );

/**
 * A table of results; `open(variant)` shows the samples behind a line.
 * @param {Table} table @param {(variant: string) => void} open
 */
export function tableOf({ caption, columns, rows: lines, variants }, open) {
  const first = (/** @type {string[]} */ line, /** @type {number} */ n) =>
    variants[n]
      ? h('button', { class: 'dw-link', type: 'button', onclick: () => open(variants[n]) }, rich(line[0]))
      : rich(line[0]);
  return h(
    'figure',
    { class: 'dx-table' },
    h(
      'div',
      {},
      h(
        'table',
        { class: 'dw-table' },
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            columns.map((name) => h('th', { scope: 'col' }, rich(name))),
          ),
        ),
        h(
          'tbody',
          {},
          lines.map((line, n) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, first(line, n)),
              line.slice(1).map((cell) => h('td', {}, rich(cell))),
            ),
          ),
        ),
      ),
    ),
    h('figcaption', {}, rich(caption)),
  );
}

/**
 * A sample: its verdict, its question, its answer and how it came about; `alone` where all are of one variant.
 * @param {Run} run @param {string} alone
 */
export function lineOf(run, alone) {
  const { right, prompt, item, target, text, variant, passes, revocations, ended_by: ended, lost_by: lost } = run;
  const cost = [passes != null && passesOf(passes), revocations && `${revocations} revoked`];
  const facts = [!alone && variant, lost && `lost by ${lost}`, ...cost, ended];
  return [
    h('b', {}, right == null ? '?' : right ? '✓' : '✗'),
    h('span', {}, prompt || `${item} ${target && `→ ${target}`}`),
    h('span', { class: 'dx-text' }, text),
    h('span', { class: 'dx-text dx-facts' }, rich(facts.filter(Boolean).join(' · '))),
  ];
}

/** Whether a run is among those that are asked for: right, wrong, all, or lost by something. @param {Run} run @param {string} only */
export const isAmong = (run, only) =>
  only === 'all' || only === (run.right ? 'right' : run.right === false ? 'wrong' : '') || only === run.kind;

/** Where a file lay in the folder that was chosen. @param {File} file */
export const pathOf = (file) => file.webkitRelativePath || file.name;

/**
 * Results among files: of an experiment, or of a run of lm-eval with its run.json and its traces, as the server takes them.
 * Throws an Error with a sentence where there are none, or too many.
 * @param {File[]} files @param {LabConfig} config
 */
export async function resultFiles(files, config) {
  const chosen = [...files].sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1)); // a folder's files come in any order
  const place = (/** @type {File} */ file) => pathOf(file).split('/').slice(0, -1).join('/');
  const evaluations = chosen.filter(({ name }) => name === config.run.rows);
  const rowsFiles = evaluations.length ? evaluations : chosen.filter(({ name }) => name.endsWith('.jsonl'));
  if (!rowsFiles.length || rowsFiles.length > config.files)
    throw new Error(
      `Choose 1 to ${config.files} results files (.jsonl), or the folder of a run; there are ${rowsFiles.length} among these.`,
    );
  const large = rowsFiles.find(({ size }) => size > config.upload);
  if (large) throw new Error(`${large.name.slice(0, 100)} is larger than ${config.upload >> 20} MB.`);
  return Promise.all(
    rowsFiles.map(async (file) => {
      const about = chosen.find((other) => other.name === config.run.about && place(other) === place(file));
      const own = evaluations.length ? place(file) : pathOf(file).replace(/\.jsonl$/, '');
      return {
        name: pathOf(file).slice(-100),
        folder: own.slice(-300),
        rows: await readFile(file),
        run: about ? await readFile(about) : '',
      };
    }),
  );
}
