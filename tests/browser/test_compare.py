"""Compare and what leads there, in a real browser: results at once, lengths, lanes, and a model with more words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

import dard
from dard.models.registry import CARDS, register_model
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.browser.conftest import Visit
from tests.browser.test_open import DROP, sent
from tests.browser.test_tabs import SUM, decoded, press, slider, tab
from tests.helpers import serving
from tests.models.families import write_bert
from visual.page import build_page, launch_options
from visual.server.studio import Studio

READY = "button[data-position]:visible"
OTHER = SUM.replace("5 more", "4 more")
CAT = "the cat [MASK] on a dog"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, _ = write_bert(tmp_path_factory.mktemp("bert") / "m", layers=1)
    register_model("small-bert", lambda: dard.load_model(folder))
    page = build_page(Studio(("embedded", "small-bert")))
    with serving(page, **launch_options()) as url:
        yield url
    del CARDS["small-bert"]


@pytest.fixture
def opened(server: str, visit: Callable[..., Visit]) -> Callable[..., Page]:
    return lambda query="": visit(server + query, ready=READY, viewport={"width": 1280, "height": 720}).page


@pytest.fixture
def other_model_only(server: str) -> Iterator[str]:
    with serving(build_page(Studio(("small-bert",))), **launch_options()) as url:
        yield url


def answers(page: Page, expected: list[str | re.Pattern[str]]) -> None:
    """What the table says of each lane."""
    expect(page.locator(".dw-table tbody tr .dv-judged:visible")).to_have_text(expected)


def test_compare_shows_its_result_at_once_and_a_new_lane_fits_its_neighbours(opened: Callable[..., Page]) -> None:
    page = opened()
    tab(page, "Compare")
    answers(page, [re.compile("right|wrong")] * 4)
    assert slider(page).get_attribute("aria-valuenow") == slider(page).get_attribute("aria-valuemax") != "0"
    decoded(page, "A Sudoku that clashes")
    press(page, "+ decoder")
    slots = page.locator(".dw-slot:visible .dw-summary")
    expect(slots.nth(4)).to_contain_text("Threshold")
    for number in range(5):
        expect(slots.nth(number)).to_contain_text("gen length 16")
    page.get_by_role("button", name="Compare", exact=True).click()
    answers(page, [re.compile("right|wrong")] * 5)
    box = page.locator(".dw-tablebox").bounding_box()
    export = page.get_by_role("button", name="Export").filter(visible=True).bounding_box()
    assert box and box["y"] + box["height"] < 720
    assert export and export["x"] + export["width"] <= 1280 and page.evaluate("document.body.scrollWidth") <= 1280
    # Another prompt: the case's length was the case's.
    page.get_by_label("Prompt").filter(visible=True).fill(SUM)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("button[data-position='23']:visible")).to_have_count(5)
    for number in range(5):
        expect(slots.nth(number)).not_to_contain_text("gen length")
    answers(page, ["right"] * 5)


def test_what_one_has_in_watch_is_what_one_compares(opened: Callable[..., Page]) -> None:
    page = opened(f"?prompt={quote(SUM)}&decoder=standard&gen_length=16&ran=99&step=99")
    expect(page.locator(".dv-judged:visible")).to_have_text("cut off")
    tab(page, "Compare")
    prompt = page.get_by_label("Prompt").filter(visible=True)
    expect(prompt).to_have_value(SUM)
    expect(page.locator("button[data-position='15']:visible")).to_have_count(4)
    answers(page, [re.compile("cut off|wrong")] * 3 + ["cut off"])
    # The length was the link's prompt's; another prompt has its own, and Compare takes that too.
    tab(page, "Watch")
    prompt.fill(OTHER)
    prompt.press("Enter")
    expect(page.locator("button[data-position]:visible")).to_have_count(24)
    tab(page, "Compare")
    expect(prompt).to_have_value(OTHER)
    expect(page.locator("button[data-position='23']:visible")).to_have_count(4)
    answers(page, [re.compile("right|wrong")] * 3 + ["right"])
    page.wait_for_url(re.compile(r"[?]compare=.*4[+]more"))
    trace = dard.decode(dard.load_model("embedded"), OTHER, decoder="threshold")
    prompt.evaluate(DROP, [["fast_generate_0.5.json.gz", sent(trace.to_bytes())]])
    expect(page.locator(".dw-table tbody th").last).to_have_text("fast_generate_0.5")
    # Back leads to what was there, whatever Watch has.
    page.wait_for_url(re.compile("opened"))
    page.go_back()
    expect(page.locator(".dw-table tbody th")).to_have_count(4)
    answers(page, [re.compile("right|wrong")] * 3 + ["right"])
    expect(prompt).to_have_value(OTHER)
    page.go_back()
    expect(page.get_by_role("tab", name="Watch")).to_have_attribute("aria-selected", "true")
    expect(prompt).to_have_value(OTHER)


def test_words_that_are_not_known_lead_to_a_model_that_has_them(opened: Callable[..., Page]) -> None:
    page = opened()
    summary = page.locator(".dw-summary:visible")
    prompt = page.get_by_label("Prompt").filter(visible=True)
    # The header names the model of what is below, also of a trace from a file.
    prompt.evaluate(DROP, [["mine.json", sent(dard.decode(los_diego(), LOS_DIEGO).to_bytes())]])
    expect(summary).to_have_text(re.compile("^DARD on los-diego · Decode will use DARD on embedded"))
    prompt.fill(CAT)
    other = page.get_by_role("button", name="Use small-bert instead")
    expect(other).to_be_visible()
    prompt.press("Enter")
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("'cat'")
    other.click()
    expect(prompt).to_have_value(CAT)
    expect(other).to_be_hidden()
    expect(summary).to_contain_text("Decode will use DARD on small-bert")
    tab(page, "Compare")
    expect(summary).to_have_text([re.compile("on small-bert")] * 4)
    expect(page.locator(".dw-table:visible tbody tr")).to_have_count(4)
    tab(page, "Watch")
    press(page, "Decode")
    expect(summary).to_have_text(re.compile("^DARD on small-bert(?!.*embedded)"))
    expect(page.get_by_role("alert").filter(visible=True)).to_have_count(0)


def test_a_recorded_case_is_said_to_be_of_the_model_that_made_it(
    other_model_only: str, visit: Callable[..., Visit]
) -> None:
    page = visit(other_model_only, ready=READY).page
    expect(page.locator(".dw-summary:visible")).to_have_text(
        re.compile("^DARD on embedded · Decode will use DARD on small-bert")
    )
    expect(page.locator("button[data-position='4']:visible")).to_be_visible()
