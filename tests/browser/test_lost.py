"""What is lost between server and browser: messages, the connection, or the run itself when the server is started anew.

The whole run is on screen nevertheless, or one is told.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from dard import Trace, decode, load_model
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.browser.conftest import Visit, build_scripted_page
from tests.helpers import free_port, serving
from tests.proxy import proxied
from visual.page import launch_options
from visual.server.studio import Studio

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
  set: (made) => { studio = made.then((tabs) => ({ ...tabs, connect: connect(tabs.connect) })); },
});
"""


@pytest.fixture(scope="module")
def studio() -> Studio:
    made = Studio(("embedded",))
    made.models.loaded["embedded"] = los_diego()
    return made


@pytest.fixture(scope="module")
def server(studio: Studio) -> Iterator[str]:
    page = build_scripted_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


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
    slider(page).press("End")  # a sentence of one's own begins at its start, and plays
    expect(slider(page)).to_have_attribute("aria-valuenow", "5")
    page.get_by_label("other token").fill("Los")
    press(page, "Branch here")
    expect(page.get_by_role("button", name=re.compile("^step 5, position 3: "))).to_have_attribute(
        "aria-pressed", "true", timeout=LATE
    )


@losing
def test_compare_shows_every_lane_and_its_table(server: str, visit: Visiting, heard: str) -> None:
    page = visit(server, ready=READY, script=LOSING % heard).page
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator("button[data-position='3']:visible")).to_have_count(4, timeout=LATE)
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4, timeout=LATE)
    states = page.locator("button[data-position]:visible").evaluate_all("(all) => all.map((one) => one.dataset.state)")
    assert set(states) == {"U"}
    passes = page.locator(".dw-table tbody td:nth-child(2)").all_inner_texts()
    expect(slider(page)).to_have_attribute("aria-valuemax", str(max(map(int, passes))))


def test_a_lesson_shows_its_whole_decode(server: str, visit: Visiting) -> None:
    page = visit(f"{server}?lesson=blanks", ready=READY, script=LOSING % "false").page
    press(page, "Show the answer")
    expect(page.get_by_role("button", name="pass 1")).to_have_attribute("aria-current", "step", timeout=LATE)
    expect(page.locator("button[data-position='3']:visible")).to_have_attribute("aria-label", re.compile("Los"))


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


AGAIN = "The server was restarted, or forgot this run; it was decoded again from the address."


def rested(page: Page) -> None:
    expect(page.locator(".dw-busy")).to_have_count(0, timeout=LATE)


def notice(page: Page) -> Any:
    return page.locator(".dw-notice:visible")


def test_a_run_that_the_server_has_forgotten_is_decoded_again(studio: Studio, server: str, visit: Visiting) -> None:
    page = visit(server + FRESH, ready=READY).page
    press(page, "Step")
    expect(slider(page)).to_have_attribute("aria-valuemax", "1")
    rested(page)
    studio.runs.kept.clear()
    press(page, "Step")  # going on
    expect(notice(page)).to_have_text(AGAIN)
    expect(slider(page)).to_have_attribute("aria-valuemax", "2")
    rested(page)
    page.get_by_label("other token").fill("Los")
    studio.runs.kept.clear()
    press(page, "Branch here")
    branch = page.get_by_role("button", name=re.compile("^step 2, position 3: Los, candidate"))
    expect(branch).to_have_attribute("aria-pressed", "true")
    rested(page)
    studio.runs.kept.clear()
    press(page, "Step")  # on the branch
    expect(slider(page)).to_have_attribute("aria-valuemax", "3")
    rested(page)
    assert [len(run.lanes[1].trace.steps) for run in studio.runs.kept.values()] == [3]
    studio.runs.kept.clear()
    page.get_by_role("button", name="original", exact=True).click()  # which the address does not lead to
    rested(page)
    expect(branch).to_have_attribute("aria-pressed", "true")
    expect(notice(page)).to_have_text(AGAIN)
    expect(page.get_by_role("alert")).to_be_hidden()
    studio.runs.kept.clear()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem", name="Trace (.json.gz)").click()
    assert Trace.load(saved.value.path()).num_steps == 3


def test_of_several_branches_the_one_in_the_address_comes_back(studio: Studio, server: str, visit: Visiting) -> None:
    page = visit(server + FRESH, ready=READY).page
    press(page, "Run to end")
    expect(slider(page)).to_have_attribute("aria-valuemax", "5")
    rested(page)
    original = page.get_by_role("button", name="original", exact=True)
    for word in ("Los", "San"):
        if word == "San":
            original.click()
            expect(original).to_have_attribute("aria-pressed", "true")
        page.get_by_label("other token").fill(word)
        press(page, "Branch here")
        expect(page.get_by_role("button", name=re.compile(f"^step 5, position 3: {word}, "))).to_be_visible()
        rested(page)
    studio.runs.kept.clear()
    original.click()
    expect(notice(page)).to_have_text(f"{AGAIN} Branches that are not in it are gone.")
    expect(page.get_by_role("button", name=re.compile("^step 5, position 3: "))).to_have_count(1)


def test_a_comparison_comes_back_too(studio: Studio, server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator("button[data-position='3']:visible")).to_have_count(4)
    rested(page)
    press(page, "Compare")
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4)
    rested(page)
    studio.runs.kept.clear()
    press(page, "Export")
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="Selected: trace").click()
    assert Trace.load(saved.value.path()).finished
    expect(notice(page)).to_have_text(AGAIN)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_trace_from_a_file_stays_on_screen_and_one_is_told(
    studio: Studio, server: str, visit: Visiting, tmp_path: Path
) -> None:
    file = tmp_path / "a.trace.json"
    file.write_bytes(decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8).to_bytes(compress=False))
    page = visit(server + FRESH, ready=READY).page
    page.get_by_label("Trace file").set_input_files(file)
    expect(slider(page)).to_have_attribute("aria-valuemax", "5")
    studio.runs.kept.clear()
    press(page, "Export")
    page.get_by_role("menuitem", name="Trace (.json.gz)").click()
    expect(page.get_by_text("It came from a file, so it cannot be decoded again")).to_be_visible()
    expect(slider(page)).to_have_attribute("aria-valuemax", "5")
    for _ in range(2):  # the browser has kept it, and keeps it
        page.reload()
        expect(slider(page)).to_have_attribute("aria-valuemax", "5")
        expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)
        assert len(studio.runs.kept) == 1
        studio.runs.kept.clear()
    page.evaluate("indexedDB.deleteDatabase('dard')")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("the server has forgotten this run")


def test_without_a_server_one_is_told_and_it_goes_on_when_it_is_back(
    studio: Studio, server: str, visit: Visiting
) -> None:
    found = visit(server + FRESH, ready=READY)
    page = found.page
    press(page, "Step")
    expect(slider(page)).to_have_attribute("aria-valuemax", "1")
    rested(page)
    page.context.set_offline(True)
    press(page, "Step")
    expect(page.get_by_role("alert").filter(has_text="The server does not answer")).to_be_visible(timeout=LATE)
    expect(slider(page)).to_have_attribute("aria-valuemax", "1")
    studio.runs.kept.clear()
    page.context.set_offline(False)
    told = notice(page).filter(has_text="The connection to the server was lost; this was decoded again")
    expect(told).to_be_visible(timeout=LATE)
    press(page, "Step")
    expect(slider(page)).to_have_attribute("aria-valuemax", "2")
    assert all("ail" in problem for problem in found.problems), found.problems  # what failed to be fetched
    found.problems.clear()


MOST_STEPS = (
    "Math.max(...[...document.querySelectorAll('[role=slider][aria-label=step]')].map((one) => one.ariaValueMax))"
)
SLOW = "The city of" + " [MASK]" * 36


@pytest.fixture
def slowly(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that take long enough for a connection to be lost between two of them."""
    model = studio.models.loaded["embedded"]
    quick = model.logits

    def slow(*call: Any) -> Any:
        time.sleep(0.15)
        return quick(*call)

    monkeypatch.setattr(model, "logits", slow)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize(("button", "longest"), [("Run to end", "standard"), ("Compare", "dard")])
def test_a_run_whose_connection_is_cut_several_times_goes_on_by_itself(
    server: str, visit: Visiting, button: str, longest: str
) -> None:
    """What is cut is the stream of answers in the middle of a decode; the steps are those of an undisturbed run."""
    passes = len(decode(los_diego(), SLOW, longest).steps)
    fresh = "?" + urlencode({"prompt": SLOW, "decoder": "standard"})
    with proxied(urlsplit(server).port or 0, only=lambda path: "queue/data" in path) as (address, proxy):
        found = visit(address + fresh, ready=READY)
        page = found.page
        if button == "Compare":
            page.get_by_role("tab", name="Compare").click()
            expect(page.locator("button[data-position='3']:visible").first).to_be_visible()
        press(page, button)
        page.wait_for_function(f"{MOST_STEPS} >= 2", timeout=LATE)
        assert proxy.cut()  # and the stream of answers stays away
        for least in (12, 20):
            page.wait_for_function(f"{MOST_STEPS} >= {least}", timeout=LATE)
            page.context.set_offline(True)
            page.wait_for_timeout(600)
            page.context.set_offline(False)
        expect(slider(page)).to_have_attribute("aria-valuemax", str(passes), timeout=2 * LATE)
        rested(page)
        expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)
    found.problems.clear()  # the browser tells of every connection that was cut


def test_behind_a_balancer_a_question_to_the_wrong_server_is_decoded_again(
    studio: Studio, server: str, visit: Visiting
) -> None:
    """Two servers that know nothing of each other: every second question goes to the one that has not seen the run."""
    other = Studio(("embedded",))
    other.models.loaded["embedded"] = los_diego()
    with serving(build_scripted_page(other), **launch_options()) as second:
        ports = [urlsplit(url).port or 0 for url in (server, second)]
        with proxied(*ports) as (address, proxy):
            proxy.turns = repeat(ports[0])
            found = visit(address + FRESH, ready=READY)
            page = found.page
            for step in range(1, 5):
                press(page, "Step")
                expect(slider(page)).to_have_attribute("aria-valuemax", str(step), timeout=LATE)
                if step > 1:
                    expect(notice(page)).to_have_text(AGAIN, timeout=LATE)
                rested(page)
                proxy.turns = repeat(ports[step % 2])
            press(page, "Run to end")
            expect(slider(page)).to_have_attribute("aria-valuemax", "5", timeout=LATE)
            expect(page.locator("button[data-position='3']")).to_have_attribute("aria-label", re.compile("San"))
            expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)
            assert studio.runs.kept and other.runs.kept
    found.problems.clear()


@pytest.mark.long
def test_a_server_that_is_killed_twice_loses_nothing_that_is_on_screen(visit: Visiting) -> None:
    """With a page open: the steps stay, and what follows is what an undisturbed run makes."""
    wanted = decode(load_model("embedded"), LOS_DIEGO, "standard")
    port, found = free_port(), None

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dard", "app", "--model", "embedded", "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/config", timeout=5).close()
                return server
            time.sleep(0.2)
        raise AssertionError("the page was not served within two minutes")

    server = start()
    try:
        fresh = "?" + urlencode({"prompt": LOS_DIEGO, "decoder": "standard"})
        found = visit(f"http://127.0.0.1:{port}/{fresh}", ready=READY)
        page = found.page
        for step in range(1, wanted.num_steps + 1):
            press(page, "Step")
            expect(slider(page)).to_have_attribute("aria-valuemax", str(step), timeout=2 * LATE)
            rested(page)
            if step < 3:
                server.kill()  # -9
                server.wait()
                expect(slider(page)).to_have_attribute("aria-valuemax", str(step))
                server = start()
        words = page.locator("button[data-position]:visible").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
        for position, token in enumerate(wanted.tokens):
            if not wanted.fixed[position]:
                assert wanted.word(token).strip() in words[position], (position, words)
    finally:
        server.kill()
        server.wait()
        if found:
            found.problems.clear()
