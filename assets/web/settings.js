// The settings panel: one control per setting, built from what the decoders themselves say is allowed.
// τ_c and τ_u are a linked pair: moving one past the other takes it along.

import { h, put, setText } from './dom.js';
import { symbol } from './symbols.js';

const PAIRS = [['tau_c', 'tau_u']]; // [lower, upper]

export function createSettings(config) {
  let decoder = config.decoders[0];
  let values = {}; // name → value, only what differs from the default
  let listener = () => {};
  const modelPicker = h('select', { 'aria-label': 'Model' }, config.models.map((name) => h('option', { value: name, title: config.cards[name].about }, name)));
  const about = h('small', { class: 'dw-modelcard' });
  const decoderPicker = h('select', { 'aria-label': 'Decoder' }, config.decoders.map((each) => h('option', { value: each.name }, each.title)));
  const fields = h('div', { class: 'dw-fields' });
  const presets = h('div', { class: 'dw-presets' }, 'Preset ', Object.entries(config.presets).map(([name, preset]) =>
    h('button', { class: 'dv-chip', type: 'button', title: Object.entries(preset).map(([k, v]) => `${k} = ${v}`).join(', '), onclick: () => { values = { ...values, ...preset }; build(); } }, name)));
  const element = h('div', { class: 'dw-form' },
    h('div', { class: 'dw-pickers' }, h('label', {}, 'Model ', modelPicker), about, h('label', {}, 'Decoder ', decoderPicker), presets), fields);

  modelPicker.addEventListener('change', () => { tellModel(); listener(); });
  const tellModel = () => setText(about, config.cards[modelPicker.value]?.about || '');
  decoderPicker.addEventListener('change', () => choose(decoderPicker.value));

  function choose(name) {
    decoder = config.decoders.find((each) => each.name === name) || decoder;
    decoderPicker.value = decoder.name;
    const known = new Set(decoder.settings.map((each) => each.name));
    values = Object.fromEntries(Object.entries(values).filter(([key]) => known.has(key)));
    build();
  }

  const current = (name) => values[name] ?? decoder.settings.find((each) => each.name === name)?.default;

  function change(name, value) {
    const each = decoder.settings.find((setting) => setting.name === name);
    if (value === '' || value === null || value === each.default) delete values[name];
    else values[name] = value;
    for (const [low, high] of PAIRS) {
      if (name === low && current(high) < value) values[high] = value;
      if (name === high && current(low) > value) values[low] = value;
    }
    for (const refresh of refreshers) refresh();
    listener();
  }

  let refreshers = [];
  function build() {
    refreshers = [];
    presets.hidden = !decoder.settings.some((each) => each.name === 'tau_c');
    put(fields, decoder.settings.map(field));
    listener();
  }

  function field(each) {
    const label = each.symbol || pretty(each.name);
    const id = `dw-${each.name}`;
    const help = h('small', { id: `${id}-help` }, each.help);
    let controls;
    if (each.choices.length) {
      const numbers = each.kind === 'float' ? ['0', '0.5', '1'] : [];
      const select = h('select', { id, 'aria-label': label, 'aria-describedby': `${id}-help`, onchange: () => change(each.name, numbers.includes(select.value) ? Number(select.value) : select.value) },
        [...each.choices, ...numbers].map((option) => h('option', { value: option }, option)));
      refreshers.push(() => { select.value = String(current(each.name)); });
      controls = [select];
    } else {
      const whole = each.kind === 'int';
      const step = whole ? 1 : 0.01;
      const box = h('input', { id, 'aria-label': label, type: 'number', step: whole ? 1 : 'any', min: each.low, max: each.high, placeholder: each.optional ? 'auto' : null, 'aria-describedby': `${id}-help`, onchange: () => change(each.name, box.value === '' ? null : Number(box.value)) });
      refreshers.push(() => { const value = current(each.name); box.value = value == null ? '' : String(whole ? value : Number(Number(value).toFixed(4))); });
      controls = [box];
      if (!whole && each.low === 0 && each.high === 1) {
        const range = h('input', { type: 'range', min: 0, max: 1, step, 'aria-label': `${label} slider`, oninput: () => change(each.name, Number(range.value)) });
        refreshers.push(() => { range.value = String(current(each.name)); });
        controls.unshift(range);
      }
    }
    const row = h('div', { class: 'dw-field', title: `${each.name}: ${each.allowed}` }, h('label', { for: id }, symbol(each.symbol || each.name, label)), h('span', { class: 'dw-control' }, controls), help);
    refreshers.forEach((refresh) => refresh());
    return row;
  }

  choose(decoder.name);
  tellModel();
  return {
    element,
    model: () => modelPicker.value,
    decoder: () => decoder.name,
    values: () => ({ ...values }),
    /** The settings of a decoder, or of all. */
    names: (only) => [...new Set(config.decoders.filter((each) => !only || each.name === only).flatMap((each) => each.settings.map((setting) => setting.name)))],
    onChange: (callback) => { listener = callback; },
    set({ model, decoder: name, settings }) {
      if (model && config.models.includes(model)) modelPicker.value = model;
      tellModel();
      values = {};
      choose(name);
      for (const each of decoder.settings) {
        const value = settings?.[each.name];
        if (value == null) continue;
        values[each.name] = each.kind !== 'str' && !each.choices.includes(value) && Number.isFinite(Number(value)) ? Number(value) : value;
      }
      build();
    },
    /** One line: DARD on embedded · τ_c 0.40 · … */
    describe() {
      const parts = [h('b', {}, decoder.title), ' on ', h('b', {}, modelPicker.value)];
      const always = new Set(['tau_c', 'tau_u', 'lambda_', 'p0', 'ordering', 'verify', 'threshold', 'threshold_back', 'n', 'steps', 'gamma']);
      for (const each of decoder.settings) {
        if (!always.has(each.name) && !(each.name in values)) continue;
        const value = current(each.name);
        if (value == null) continue;
        parts.push(' · ', symbol(each.symbol || each.name, each.symbol || pretty(each.name)), ' ', h('b', {}, typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(each.name === 'lambda_' ? 3 : 2) : String(value)));
      }
      return parts;
    },
  };
}

function pretty(name) {
  return name.replace(/_/g, ' ').trim();
}
