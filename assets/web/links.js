// From one tab to another: a comparison is opened by its link, as if it had been typed into the address bar.

const OPENED = 'dard-comparison';
let wanted = new URL(location.href).searchParams.get('compare'); // as the page was opened; the address may change before it is used

export function showTab(name) {
  [...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent.trim() === name)?.click();
}

/** Opens Compare with {prompt, model, lanes: [{decoder, settings}]}. */
export function openComparison(what) {
  wanted = JSON.stringify({ ...what, ran: 100000 - 1, step: 0, lane: 0 });
  showTab('Compare');
  window.dispatchEvent(new Event(OPENED));
}

/** The comparison that a link asks for, once; null if there is none. */
export function takeComparison() {
  const found = wanted;
  wanted = null;
  return found;
}

/** `open` is called when a comparison is opened after the tab was built. */
export function onComparison(open) {
  window.addEventListener(OPENED, open);
}
