// From one tab to another: a comparison is opened by its link, as if it had been typed into the address bar.

const OPENED = 'dard-comparison';

export function showTab(name) {
  [...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent.trim() === name)?.click();
}

/** Opens Compare with {prompt, model, lanes: [{decoder, settings}]}. */
export function openComparison(what) {
  const url = new URL(location.href);
  url.searchParams.set('compare', JSON.stringify({ ...what, ran: 100000 - 1, step: 0, lane: 0 }));
  history.replaceState(history.state, '', url);
  showTab('Compare');
  window.dispatchEvent(new Event(OPENED));
}

/** `open` is called when a comparison is opened after the tab was built. */
export function onComparison(open) {
  window.addEventListener(OPENED, open);
}
