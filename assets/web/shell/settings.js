// The settings panel: one control per setting, built from what the decoders themselves say is allowed. It shows what will
// be used and sends what it shows. Only of a checkpoint that has not been loaded the defaults are unknown: then what was
// chosen here is sent, and the rest shown once the server has told it (`learn`).
// A setting that may not exceed another is linked to it: moving one past the other takes it along.
// How long the region is belongs to the prompt: a length that came with one (of a case, a link, an example) is used for that
// one, and another prompt has the model's own. A length that was chosen here stays.

import { editsFrom, parameter } from '../data/links.js';
import { h, put, setText } from '../draw/dom.js';
import { symbol } from '../draw/symbols.js';

/** @import { Checked, Config, Setting, Value, Values } from './types.js' */

const LENGTHS = ['gen_length', 'block_length'];

/** @param {Config} config */
export function createSettings(config) {
  let decoder = config.decoders[0];
  const common = new Set(decoder.settings.filter((each) => !each.own).map((each) => each.name));
  /** @type {Values} */
  let values = {}; // what was chosen
  let prompt = ''; // for which this is
  /** @type {{ of: string, values: Values }} */
  let lengths = { of: '', values: {} }; // what came with a prompt
  let listener = () => {};
  const modelPicker = h(
    'select',
    { 'aria-label': 'Model' },
    config.models.map((name) => h('option', { value: name, title: config.cards[name].about }, name)),
  );
  const about = h('small', { class: 'dw-modelcard' });
  const decoderPicker = h(
    'select',
    { 'aria-label': 'Decoder' },
    config.decoders.map((each) => h('option', { value: each.name }, each.title)),
  );
  const fields = h('div', { class: 'dw-fields' });
  const budget = h('small', { class: 'dw-room', 'aria-live': 'polite' });
  const presets = h('div', { class: 'dw-presets' });
  const element = h(
    'div',
    { class: 'dw-form' },
    h(
      'div',
      { class: 'dw-pickers' },
      h('label', {}, 'Model ', modelPicker),
      about,
      h('label', {}, 'Decoder ', decoderPicker),
      presets,
    ),
    fields,
  );

  modelPicker.addEventListener('change', () => {
    tellModel();
    build();
  });
  const tellModel = () => setText(about, config.cards[modelPicker.value]?.about || '');
  decoderPicker.addEventListener('change', () => choose(decoderPicker.value));

  /** @param {string} name */
  function choose(name) {
    decoder = config.decoders.find((each) => each.name === name) || decoder;
    decoderPicker.value = decoder.name;
    values = chosen(() => true);
    build();
  }

  /**
   * What was chosen of those settings of this decoder.
   * @param {(setting: Setting) => boolean} which @returns {Values}
   */
  const chosen = (which) =>
    Object.fromEntries(
      decoder.settings
        .filter((each) => Object.hasOwn(values, each.name) && which(each))
        .map(({ name }) => [name, values[name]]),
    );

  /** All that differs from what is used anyway. @returns {Values} */
  const special = () => ({ ...(lengths.of === prompt && lengths.values), ...values });

  /** @param {string} name */
  const current = (name) =>
    Object.hasOwn(special(), name) ? special()[name] : usual(modelPicker.value, decoder.name, name);

  /**
   * What a decoder uses on a model where nothing else is asked for.
   * @param {string} model @param {string} decoderName @param {string} name
   */
  function usual(model, decoderName, name) {
    const { settings } = config.decoders.find((each) => each.name === decoderName) ?? {};
    const known = config.defaults[model]?.[decoderName];
    return /** @type {Value} */ (known ? known[name] : settings?.find((each) => each.name === name)?.default);
  }

  /** @param {string} name @param {Value} value */
  function change(name, value) {
    const above = (/** @type {Value | undefined} */ a, /** @type {Value | undefined} */ b) => Number(a) > Number(b);
    if (value === null && !decoder.settings.find((each) => each.name === name)?.optional) delete values[name];
    else values[name] = value;
    for (const { name: low, below: high } of decoder.settings) {
      if (high && name === low && above(value, current(high))) values[high] = value;
      if (high && name === high && above(current(low), value)) values[low] = value;
    }
    for (const refresh of refreshers) refresh();
    listener();
  }

  /** @type {(() => void)[]} */
  let refreshers = [];
  function build() {
    refreshers = [];
    presets.hidden = !Object.keys(decoder.presets).length;
    put(
      presets,
      'Preset ',
      Object.entries(decoder.presets).map(([name, preset]) =>
        h(
          'button',
          {
            class: 'dv-chip',
            type: 'button',
            title: Object.entries(preset)
              .map(([k, v]) => `${k} = ${v}`)
              .join(', '),
            onclick: () => {
              values = { ...values, ...preset };
              build();
            },
          },
          name,
        ),
      ),
    );
    put(fields, decoder.settings.map(field));
    listener();
  }

  /** @param {Setting} each */
  function field(each) {
    const label = each.symbol || pretty(each.name);
    const id = `dw-${each.name}`;
    const help = h('small', { id: `${id}-help` }, each.help);
    let controls;
    if (each.choices.length) {
      const numbers =
        each.kind === 'float'
          ? [...new Set(['0', '0.5', '1', String(current(each.name))])].filter(
              (option) => !each.choices.includes(option),
            )
          : [];
      /** @type {HTMLSelectElement} */
      const select = h(
        'select',
        {
          id,
          'aria-label': label,
          'aria-describedby': `${id}-help`,
          onchange: () => change(each.name, numbers.includes(select.value) ? Number(select.value) : select.value),
        },
        [...each.choices, ...numbers].map((option) => h('option', { value: option }, option)),
      );
      refreshers.push(() => {
        select.value = String(current(each.name));
      });
      controls = [select];
    } else {
      const whole = each.kind === 'int';
      const step = whole ? 1 : 0.01;
      /** @type {HTMLInputElement} */
      const box = h('input', {
        id,
        'aria-label': label,
        type: 'number',
        step: whole ? 1 : 'any',
        min: each.low,
        max: each.high,
        placeholder: each.optional ? 'auto' : null,
        'aria-describedby': `${id}-help`,
        onchange: () => change(each.name, box.value === '' ? null : Number(box.value)),
      });
      refreshers.push(() => {
        const value = current(each.name);
        box.value = typeof value === 'number' ? String(whole ? value : Number(value.toFixed(4))) : '';
      });
      controls = [box];
      if (!whole && each.low === 0 && each.high === 1) {
        /** @type {HTMLInputElement} */
        const range = h('input', {
          type: 'range',
          min: 0,
          max: 1,
          step,
          'aria-label': `${label} slider`,
          oninput: () => change(each.name, Number(range.value)),
        });
        refreshers.push(() => {
          range.value = String(Number(current(each.name)) || 0);
        });
        controls.unshift(range);
      }
    }
    const row = h(
      'div',
      { class: 'dw-field', title: `${each.name}: ${each.allowed}` },
      h('label', { for: id }, symbol(each.symbol || each.name, label)),
      h('span', { class: 'dw-control' }, controls),
      each.name === 'gen_length' && budget,
      help,
    );
    refreshers.forEach((refresh) => refresh());
    return row;
  }

  choose(decoder.name);
  tellModel();
  return {
    element,
    model: () => modelPicker.value,
    decoder: () => decoder.name,
    /** What a request must say: all that is shown, or what was chosen while the rest is unknown. */
    values: () =>
      config.defaults[modelPicker.value]
        ? Object.fromEntries(decoder.settings.map(({ name }) => [name, current(name)]))
        : special(),
    /**
     * Of a request's settings those that a link must hold: what is used anyway is left out.
     * @param {string} model @param {string} name @param {Values} chosen @returns {Values}
     */
    unusual: (model, name, chosen) =>
      Object.fromEntries(
        Object.entries(chosen).filter(([key, value]) => !config.defaults[model] || value !== usual(model, name, key)),
      ),
    /**
     * Of some settings those that belong to decoders, or those that all decoders have.
     * @param {Values} some @param {boolean} own @returns {Values}
     */
    pick: (some, own) => Object.fromEntries(Object.entries(some).filter(([key]) => common.has(key) !== own)),
    /**
     * The server tells what a model that was loaded meanwhile uses.
     * @param {string} model @param {Record<string, Values> | null} [defaults]
     */
    learn(model, defaults) {
      if (defaults) config.defaults[model] = defaults;
      for (const refresh of refreshers) refresh();
      listener();
    },
    /**
     * The settings of a decoder, or of all.
     * @param {string} [only]
     */
    names: (only) => [
      ...new Set(
        config.decoders
          .filter((each) => !only || each.name === only)
          .flatMap((each) => each.settings.map((setting) => setting.name)),
      ),
    ],
    change,
    /**
     * Another prompt, maybe.
     * @param {string} text
     */
    follow(text) {
      if (text === prompt) return;
      const before = LENGTHS.map(current);
      prompt = text;
      if (LENGTHS.every((name, n) => current(name) === before[n])) return;
      for (const refresh of refreshers) refresh();
      listener();
    },
    /**
     * A prompt, and the length that came with it.
     * @param {string} text @param {Values} found
     */
    give(text, found) {
      for (const name of LENGTHS) delete values[name];
      lengths = { of: text, values: found };
      prompt = text;
      for (const refresh of refreshers) refresh();
      listener();
    },
    /**
     * What does not belong to a decoder as it is in other settings, and with them the prompt's length.
     * @param {{ shared(): { prompt: string, lengths: { of: string, values: Values }, values: Values } }} other
     */
    inherit(other) {
      ({ prompt, lengths } = other.shared());
      values = { ...values, ...other.shared().values };
      build();
    },
    shared: () => ({ prompt, lengths, values: chosen(({ name }) => common.has(name)) }),
    /**
     * How much of the model's token budget the run of this lane would take, or why it would not fit; see Studio.check.
     * @param {Checked} checked @param {number} [lane]
     */
    fits({ limit, sizes, text, unknown }, lane = 0) {
      const [before, region] = sizes?.[lane] ?? [];
      const taken = sizes
        ? `${before ? `prompt ${before} + ${region}` : `template ${region}`} of ${limit} tokens`
        : unknown?.length
          ? `at most ${limit} tokens`
          : text;
      setText(budget, limit ? (taken ?? '') : '');
    },
    onChange: (/** @type {() => void} */ callback) => {
      listener = callback;
    },
    /** @param {string} name */
    useModel(name) {
      if (modelPicker.value === name) return;
      modelPicker.value = name;
      tellModel();
      build();
    },
    /**
     * A decoder, and, with the prompt they came with, its settings.
     * @param {{ decoder: string, model?: string | null, settings?: Values, prompt?: string }} what
     */
    set({ model, decoder: name, settings, prompt: text = prompt }) {
      if (model && config.models.includes(model)) modelPicker.value = model;
      tellModel();
      values = {};
      prompt = text;
      lengths = { of: text, values: {} };
      choose(name);
      for (const each of decoder.settings) {
        /** @type {Value | undefined} */
        let value = settings?.[each.name];
        if (value === '' || value === null) value = each.optional ? null : undefined;
        if (value === undefined) continue;
        const place = LENGTHS.includes(each.name) ? lengths.values : values;
        place[each.name] =
          value !== null &&
          each.kind !== 'str' &&
          !each.choices.includes(String(value)) &&
          Number.isFinite(Number(value))
            ? Number(value)
            : value;
      }
      build();
    },
    /** One line: DARD on embedded · τ_c 0.40 · …, the numbers of the decoder's own and whatever is unusual. */
    describe() {
      const parts = [h('b', {}, decoder.title), ' on ', h('b', {}, modelPicker.value)];
      for (const each of decoder.settings) {
        const value = current(each.name);
        const unusual = value !== usual(modelPicker.value, decoder.name, each.name);
        if (!unusual && (value == null || !each.own || each.choices.length)) continue;
        const shown =
          value == null
            ? 'auto'
            : typeof value === 'number' && !Number.isInteger(value)
              ? value.toFixed(3).replace(/0$/, '')
              : String(value);
        parts.push(' · ', symbol(each.symbol || each.name, each.symbol || pretty(each.name)), ' ', h('b', {}, shown));
      }
      return parts;
    },
  };
}

/** @param {string} name */
const pretty = (name) => name.replace(/_/g, ' ').trim();

/**
 * The decode that the address of the page asks for, which the settings show from then on.
 * @param {Config} config @param {ReturnType<typeof createSettings>} settings @param {string} text
 */
export function linkedDecode(config, settings, text) {
  const decoder = parameter('decoder') ?? settings.decoder();
  /** @type {Values} */
  const values = {};
  for (const name of settings.names(decoder)) {
    const value = parameter(name);
    if (value !== null) values[name] = value.slice(0, 100);
  }
  const prompt = text.slice(0, config.limits.prompt + 1);
  settings.set({ prompt, model: parameter('model'), decoder, settings: values });
  const model = parameter('model') ?? settings.model();
  const known = config.models.includes(model) && config.decoders.some((each) => each.name === decoder);
  return {
    prompt,
    model,
    decoder,
    settings: known ? settings.values() : values,
    edits: editsFrom(parameter('edits')),
  };
}
