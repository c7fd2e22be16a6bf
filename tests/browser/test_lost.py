"""Messages that are lost between server and browser: the whole run is on screen nevertheless, or one is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from dard.models.scripted import LOS_DIEGO, los_diego
from tests.browser.conftest import Visit, build_scripted_page
from visual.page import launch_options
from visual.service import Studio

Visiting = Callable[..., Visit]
READY = "button[data-position]:visible"
LATE = 30_000  # each end that is lost costs a few seconds of silence

# An expression says whether the n-th message arrives. Steps that are asked for again are lost while window.deaf.
LOSING = """
let studio;
const connect = (real) => (send, server) => {
  const quick = new Proxy(server, {
    get: (calls, name) => (name === 'steps' && window.deaf ? () => Promise.reject(new Error('lost')) : calls[name]),
  });
  const bridge = real(send, quick);
  let n = 0;
  const heard = (n) => %s;
  const hear = (packed) => {
    if (packed) window.messages = n += 1;
    if (heard(n)) bridge.hear(packed);
  };
  return { ...bridge, hear };
};
Object.defineProperty(window, 'dardStudio', {
  get: () => studio,
  set: (made) => { studio = { ...made, connect: connect(made.connect) }; },
});
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio(("embedded",))
    studio._loaded["embedded"] = los_diego()
    page = build_scripted_page(studio)
    _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_port=None, **launch_options())
    yield url
    page.close()


def slider(page: Page) -> Any:
    return page.locator("[role=slider][aria-label=step]:visible")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


FRESH = "?" + urlencode({"prompt": LOS_DIEGO, "tau_c": 0.4, "tau_u": 0.8})  # a run that has made no step yet
losing = pytest.mark.parametrize("heard", ["n % 2 === 0", "n % 2 === 1", "false"])


@losing
def test_watch_shows_the_whole_run(server: str, visit: Visiting, heard: str) -> None:
    page = visit(server + FRESH, ready=READY, script=LOSING % heard).page
    page.get_by_role("combobox", name="Prompt").press("Enter")
    expect(slider(page)).to_have_attribute("aria-valuemax", "5", timeout=LATE)
    expect(page.locator("button[data-position='3']")).to_have_attribute("aria-label", re.compile("San, unmasked"))
    expect(page.locator(".dw-busy")).to_have_count(0, timeout=LATE)
    assert page.evaluate("window.messages") > 0
    page.get_by_label("other token").fill("Los")
    press(page, "Branch here")
    expect(page.get_by_role("button", name=re.compile("^step 5: "))).to_have_attribute(
        "aria-pressed", "true", timeout=LATE
    )


@losing
def test_compare_shows_every_lane_and_its_table(server: str, visit: Visiting, heard: str) -> None:
    page = visit(server, ready=READY, script=LOSING % heard).page
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator("button[data-position='3']:visible")).to_have_count(4, timeout=LATE)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4, timeout=LATE)
    states = page.locator("button[data-position]:visible").evaluate_all("(all) => all.map((one) => one.dataset.state)")
    assert set(states) == {"U"}
    passes = page.locator(".dw-table tbody td:nth-child(2)").all_inner_texts()
    expect(slider(page)).to_have_attribute("aria-valuemax", str(max(map(int, passes))))


def test_a_lesson_shows_its_whole_decode(server: str, visit: Visiting) -> None:
    page = visit(f"{server}?lesson=2", ready=READY, script=LOSING % "false").page
    expect(slider(page)).to_have_attribute("aria-valuemax", "1", timeout=LATE)


def test_steps_that_cannot_be_had_are_said_and_asked_for_again(server: str, visit: Visiting) -> None:
    page = visit(server + FRESH, ready=READY, script=LOSING % "!window.deaf").page
    press(page, "Step")
    expect(slider(page)).to_have_attribute("aria-valuemax", "1", timeout=LATE)
    expect(page.locator(".dw-busy")).to_have_count(0, timeout=LATE)
    page.evaluate("window.deaf = true")
    press(page, "Step")
    expect(page.get_by_role("alert")).to_contain_text("Step 2 did not arrive", timeout=LATE)
    page.evaluate("window.deaf = false")
    press(page, "Run to end")
    expect(slider(page)).to_have_attribute("aria-valuemax", "5", timeout=LATE)
    expect(page.get_by_role("alert")).to_be_hidden()
