// The decodes behind a point of the Lab, as a list that can be filtered: each opens in Watch, or in Compare beside what
// other variants made of the same.

import { openComparison, openIn } from '../data/links.js';
import { h, put, setText } from '../draw/dom.js';
import { rich } from '../draw/symbols.js';
import { lineOf, select } from './results.js';

/** @import { Bridge } from '../data/messages.js' */
/** @import { LabConfig, Run } from './types.js' */

/** @type {Record<string, string>} */
const SORTS = { number: 'in order', revocations: 'most revocations', passes: 'most passes', ended: 'how it ended' };

/**
 * `lab()` are the results on screen, as the server knows them; `model()` decodes what was decoded by one that is not here;
 * `traces()` came with the results, by folder and name, if any did; `onChange()` follows another point, or none.
 * @typedef {object} Host
 * @property {() => string | null} lab
 * @property {() => string} model
 * @property {() => Map<string, File> | null} traces
 * @property {(text: string | null) => void} complain
 * @property {() => void} onChange
 */

/** @param {Bridge} bridge @param {LabConfig} config @param {Host} host */
export function createRuns(bridge, config, host) {
  /** @type {string | null} */
  let point = null; // the variant whose runs are listed; '' for all
  const title = h('h2', {});
  const count = h('span', { class: 'dv-sub', role: 'status' });
  const list = h('ol', { class: 'dx-list' });
  const which = select('Variant', []);
  const only = select('Which are shown', []);
  const sort = select(
    'Sort by',
    config.sorts.map((name) => ({ name, title: SORTS[name] ?? name })),
  );
  const search = h('input', {
    class: 'dv-input',
    type: 'search',
    placeholder: 'find',
    maxlength: 100,
    'aria-label': 'Find',
  });
  const closer = h(
    'button',
    { class: 'dv-btn dv-mini', type: 'button', 'aria-label': 'close', onclick: () => close() },
    '×',
  );
  const box = h(
    'section',
    { class: 'dv-panel dx-runs', 'aria-label': 'Decodes', hidden: true },
    h('div', { class: 'dx-head' }, title, count, h('span', { class: 'dv-grow' }), closer),
    !bridge.recorded && h('div', { class: 'dx-head dx-filters' }, which, only, sort, search),
    list,
  );

  /** The runs of a variant, or of all (''). @param {string} variant */
  async function open(variant, shown = box.hidden ? 'all' : only.value) {
    only.value = shown;
    point = variant;
    which.value = variant;
    if (await fill(variant)) closer.focus();
  }

  /** The samples that the filters ask for. @param {string} variant */
  async function fill(variant) {
    const lab = host.lab();
    const request = { lab, variant, only: only.value, sort: sort.value, text: search.value };
    const reply = await bridge.call('lab_runs', request);
    if (reply.kind === 'error') return host.complain(reply.text);
    if (variant !== point || lab !== host.lab()) return false;
    const { all, wrong, runs } = reply;
    host.complain(null);
    host.onChange();
    box.hidden = false;
    put(title, rich(point || 'All samples'));
    const few = reply.count > runs.length ? `; the first ${runs.length} of ${reply.count}` : '';
    const some = reply.count < all ? `; ${reply.count} ${only.value === 'all' ? '' : `${only.value} `}listed` : '';
    setText(count, `${all} runs, ${wrong} wrong${few || some}`);
    put(
      list,
      runs.map((run) => h('li', {}, entry(run, lineOf(run, variant)))),
    );
    return true;
  }

  /** @param {Run} run @param {Node[]} line */
  function entry(run, line) {
    if (bridge.recorded) return h('span', { class: 'dx-run' }, line);
    const label = `Compare sample ${run.item}`;
    const beside = 'Other decoders on the same, in Compare';
    return [
      h('button', { class: 'dx-run', type: 'button', title: 'Open in Watch', onclick: () => watch(run) }, line),
      h(
        'button',
        { class: 'dw-link', type: 'button', 'aria-label': label, title: beside, onclick: () => compare(run) },
        'Compare',
      ),
    ];
  }

  function close() {
    point = null;
    box.hidden = true;
    host.onChange();
  }

  const known = (/** @type {string} */ name) => (config.models.includes(name) ? name : host.model());

  /** The traces of a sample among the files that were opened; none if one is not there. @param {Run['traces']} places */
  function tracesOf(places) {
    const { traces } = config.run;
    const files = host.traces();
    const there = places.flatMap(([place, name]) => files?.get(`${place}/${traces}/${name}`) ?? files?.get(name) ?? []);
    if (there.length === places.length) return there;
    host.complain(
      `The decode of this sample is in ${traces}/${places[0][1]}; open the folder of the run to have it at hand.`,
    );
    return [];
  }

  /** @param {Run} run */
  function watch({ trace, folder: place, variant, asked, model: name, lanes: [{ decoder, settings }] }) {
    if (!trace && asked === null) return host.complain('This sample was not decoded.');
    if (!trace) return openIn('Watch', { prompt: asked ?? '', model: known(name), decoder, settings });
    const files = tracesOf([[place, trace]]);
    if (files.length) openIn('Watch', { files, names: [variant] });
  }

  /** @param {Run} run */
  function compare({ traces, names, asked, model: name, lanes }) {
    if (!traces.length && asked === null) return host.complain('This sample was not decoded.');
    if (!traces.length) return openComparison({ prompt: asked ?? '', model: known(name), lanes });
    const files = tracesOf(traces);
    if (files.length) openIn('Compare', { files, names });
  }

  which.addEventListener('change', () => {
    point = which.value;
    fill(which.value);
  });
  for (const filter of [only, sort, search]) filter.addEventListener('change', () => fill(point ?? ''));
  return {
    box,
    open,
    close,
    point: () => point,
    /** Results of other variants, and which of their runs can be asked for. @param {string[]} variants @param {string[]} some */
    offer(variants, some) {
      const kept = some.includes(only.value) ? only.value : 'all';
      put(
        only,
        some.map((name) => h('option', { value: name }, name)),
      );
      only.value = kept;
      const named = variants.map((name) => h('option', { value: name }, name.replaceAll('τ_', 'τ')));
      put(which, h('option', { value: '' }, 'all variants'), named);
      which.value = point ?? '';
    },
  };
}
