// What stands around the panels only when there is a reason: error sentences, branches, the export menu.

import { h, put } from './dom.js';

export class Message {
  constructor() {
    this.box = h('div', { class: 'dv-message', role: 'alert', hidden: true });
  }

  show(text) {
    this.box.hidden = !text;
    if (!text) return;
    put(this.box, h('span', {}, text),
      h('button', { type: 'button', class: 'dv-btn dv-mini', 'aria-label': 'dismiss', onclick: () => this.show(null) }, '×'));
  }
}

export class Branches {
  constructor(host) {
    this.host = host;
    this.box = h('div', { class: 'dv-branches', hidden: true });
  }

  show(branches, current) {
    const { host } = this;
    this.box.hidden = branches.length < 2 || !host.switchBranch;
    if (this.box.hidden) return;
    const chip = ({ id, name }) => h('button', {
      type: 'button', class: 'dv-chip', 'aria-pressed': String(id === current), onclick: () => host.switchBranch(id),
    }, h('bdi', {}, name));
    put(this.box, h('span', {}, 'Branches'), branches.map(chip), host.compareBranches && this.sideBySide(branches, current));
  }

  sideBySide(branches, current) {
    const others = branches.filter((branch) => branch.id !== current);
    const other = h('select', { class: 'dv-select', 'aria-label': 'compare with branch' },
      others.map((branch, n) => h('option', { value: n }, branch.name)));
    const show = () => this.host.compareBranches(current, others[+other.value].id);
    return h('span', { class: 'dv-sidebyside' }, 'side by side with', other,
      h('button', { type: 'button', class: 'dv-btn dv-mini', onclick: show }, 'Show'));
  }
}

/** The Export button with its menu; null where nothing can be exported. `kinds` maps what is asked for to its name. */
export function exportMenu(kinds, onExport) {
  if (!onExport || !kinds || !Object.keys(kinds).length) return null;
  const open = (on) => {
    menu.hidden = !on;
    opener.setAttribute('aria-expanded', String(on));
  };
  const choose = (kind) => {
    open(false);
    opener.focus();
    onExport(kind);
  };
  const menu = h('div', { class: 'dv-menu', role: 'menu', hidden: true },
    Object.entries(kinds).map(([kind, name]) => h('button', { type: 'button', role: 'menuitem', onclick: () => choose(kind) }, name)));
  const opener = h('button', {
    type: 'button', class: 'dv-btn dv-mini', 'aria-haspopup': 'menu', 'aria-expanded': 'false',
    onclick: () => {
      open(menu.hidden);
      if (!menu.hidden) menu.firstChild.focus();
    },
  }, 'Export');
  const box = h('div', { class: 'dv-export' }, opener, menu);
  box.addEventListener('focusout', (event) => box.contains(event.relatedTarget) || open(false));
  box.addEventListener('keydown', (event) => {
    if (menu.hidden) return;
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    if (event.key === 'Escape') {
      open(false);
      opener.focus();
    } else if (event.key === 'ArrowDown') items[(at + 1) % items.length].focus();
    else if (event.key === 'ArrowUp') items[(at + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return box;
}
