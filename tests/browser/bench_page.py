"""What a visitor feels, in figures: `make bench-page`, or `python -m tests.browser.bench_page`.

Three things, each beside a yardstick of the same minute, for machines differ and are shared: a step under a key against
a bare canvas that is painted once per frame, a long file against a shorter one by the number of its cells, and the page
against a Gradio page of one button. The decodes are made up (tests/lengthy.py); no model is asked.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import gradio as gr
from playwright.sync_api import Browser, Page, sync_playwright

from dard.models.scripted import los_diego
from dard.trace import Trace
from tests.browser.conftest import build_scripted_page
from tests.helpers import serving
from tests.lengthy import lengthy
from visual.export import open_html, replay_html
from visual.page import launch_options
from visual.readme import launch_chromium
from visual.server.studio import Studio

WINDOW = {"width": 1280, "height": 720}
BARE = "<!doctype html><title>bare</title><canvas width=1200 height=600></canvas>"
# One key per animation frame, so many steps forth and back; how long it is from one frame to the next, in milliseconds.
KEYS = """async ([steps, bare]) => {
    const frame = () => new Promise(requestAnimationFrame);
    const g = bare && document.querySelector('canvas').getContext('2d');
    const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    const paint = (k) => { g.fillStyle = `hsl(${k} 50% 50%)`; g.fillRect(k % 600, 0, 600, 600); };
    const times = [];
    let before = await frame();
    for (let k = 0; k < 2 * steps; k++) {
        if (bare) paint(k);
        else press(k < steps ? 'ArrowRight' : 'ArrowLeft');
        const now = await frame();
        times.push(now - before);
        before = now;
    }
    return times; }"""


def samples() -> dict[str, list[Trace]]:
    """By what is told of them, the lanes of a page."""
    return {
        "12": [lengthy(12, 60, block=12)],
        "256": [lengthy(256, 250)],
        "4 × 256": [lengthy(256, 250, seed=seed) for seed in range(4)],
        "1,024": [lengthy(1024, 1000)],
    }


def opened(browser: Browser, address: str, ready: str = "body[data-ready]") -> Page:
    page = browser.new_page(viewport=WINDOW)
    page.goto(address)
    page.wait_for_selector(ready)
    return page


def thread(page: Page) -> Callable[[], float]:
    """Seconds that the page's thread has worked; others on the machine lengthen them less than they do a clock's."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        return {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}["ThreadTime"]

    return seconds


class Steps(NamedTuple):
    """Milliseconds from one frame to the next, of the viewer and of the bare canvas, and of the viewer's own work."""

    mine: list[float]
    bare: list[float]
    work: float

    @property
    def ratio(self) -> float:
        return statistics.mean(self.mine) / statistics.mean(self.bare)


def keys(browser: Browser, lanes: list[Trace], folder: Path, rounds: int = 3, most: int = 90) -> Steps:
    files = folder / "replay.html", folder / "bare.html"
    files[0].write_text(replay_html({f"lane {n}": lane for n, lane in enumerate(lanes)}), encoding="utf-8")
    files[1].write_text(BARE, encoding="utf-8")
    page, bare = (
        opened(browser, file.as_uri(), ready) for file, ready in zip(files, ("body[data-ready]", "canvas"), strict=True)
    )
    steps = min(most, lanes[0].num_steps)
    page.evaluate("(step) => viewer.setStep(step)", (lanes[0].num_steps - steps) // 2)
    times: dict[Page, list[float]] = {page: [], bare: []}
    worked, seconds = 0.0, thread(page)
    for number in range(rounds + 1):
        for each in (bare, page):
            each.bring_to_front()
            before = seconds()
            taken = each.evaluate(KEYS, [steps, each is bare])
            if number:  # the first round pays for compiling the script
                times[each] += taken
                worked += seconds() - before if each is page else 0
    found = Steps(times[page], times[bare], 1000 * worked / len(times[page]))
    page.close()
    bare.close()
    return found


def opening(browser: Browser, trace: Trace, folder: Path) -> float:
    """Seconds of the page's thread from a file to its picture."""
    (folder / "view.html").write_text(open_html(), encoding="utf-8")
    trace.save(folder / "long.json.gz")
    page = opened(browser, (folder / "view.html").as_uri(), "#tools button")
    seconds = thread(page)
    before = seconds()
    page.get_by_label("Open", exact=True).set_input_files(folder / "long.json.gz")
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    page.evaluate("new Promise((then) => requestAnimationFrame(() => setTimeout(then)))")
    took = seconds() - before
    page.close()
    return took


def per_cell(browser: Browser, folder: Path) -> tuple[float, float, float]:
    """Seconds for 1,024 × 1,000 and 256 × 250, the better of two each, and their ratio by cell."""
    long, short = lengthy(1024, 1000), lengthy(256, 250)
    pairs = [(opening(browser, long, folder), opening(browser, short, folder)) for _ in range(2)]
    first, second = (min(pair[n] for pair in pairs) for n in (0, 1))
    cells = [len(each.fixed) * each.num_steps for each in (long, short)]
    return first, second, (first / cells[0]) / (second / cells[1])


def ready(browser: Browser, address: str, pairs: int = 3) -> Iterator[tuple[float, float]]:
    """Seconds until the page is there, and one of a single button, in turns; the first pair is not counted."""
    with gr.Blocks() as plain:
        gr.Button("One")

    def seconds(address: str, ready: str) -> float:
        """By the browser's own clock, and without a test that looks at every request."""
        with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
            page = context.new_page()
            page.goto(address, wait_until="commit")
            page.wait_for_selector(ready)
            return page.evaluate("performance.now()") / 1000

    with serving(plain) as url:
        for number in range(pairs + 1):
            theirs, mine = seconds(url, "button:has-text('One')"), seconds(address, "button[data-position]:visible")
            if number:
                yield mine, theirs


def main() -> None:
    print("made-up decodes; milliseconds from one frame to the next, one key per frame, forth and back\n")
    heads = ("positions", "middle", "mean", "worst", "bare canvas", "its worst", "ratio", "own work")
    print("".join(f"{head:>12}" for head in heads))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        browser = launch_chromium(playwright)
        for what, lanes in samples().items():
            steps = keys(browser, lanes, folder)
            mine, bare = steps.mine, steps.bare
            told = statistics.median(mine), statistics.mean(mine), max(mine), statistics.mean(bare), max(bare)
            row = "".join(f"{each:12.1f}" for each in told)
            print(f"{what:>12}{row}{steps.ratio:12.2f}{steps.work:12.1f}", flush=True)
        long, short, ratio = per_cell(browser, folder)
        print(f"\nopening a file, of the page's thread: 1,024 × 1,000 {long:.2f} s, 256 × 250 {short:.2f} s, "
              f"{ratio:.2f} × per cell")  # fmt: skip
        studio = Studio(("embedded",))
        studio.models.loaded["embedded"] = los_diego()
        with serving(build_scripted_page(studio), **launch_options()) as url:
            pairs = list(ready(browser, url))
        mine, theirs = (statistics.median(pair[n] for pair in pairs) for n in (0, 1))
        print(f"page ready: {mine:.2f} s, a page of one button {theirs:.2f} s, "
              f"{statistics.median(one / other for one, other in pairs):.2f} ×")  # fmt: skip
        browser.close()


if __name__ == "__main__":
    main()
