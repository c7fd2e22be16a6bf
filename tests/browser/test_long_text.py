"""More than 64 tokens: set as text, folded where nothing is decided, in view without scrolling, and nothing moves."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from torch import Tensor

import dard
from tests.browser.conftest import Visit
from tests.helpers import serving
from tests.lengthy import Lengthy, lengthy
from visual.page import build_page, launch_options
from visual.server import estimates
from visual.server.studio import Studio

BOXES = """() => Object.fromEntries([...document.querySelectorAll('.dv-panel, .dv-transport, .dv-reader')]
    .filter((node) => node.offsetParent).map((node) => {
        const { x, y, width, height } = node.getBoundingClientRect();
        return [node.className.split(' ').slice(0, 2).join(' '), [x, y, width, height].map(Math.round)];
    }))"""
READ = "() => document.querySelector('.dv-prose').innerText"
STANDS = """(position) => {
    const box = document.querySelector('.dv-reader').getBoundingClientRect();
    const chip = document.querySelector(`[data-position="${position}"]`).getBoundingClientRect();
    return chip.top >= box.top - 1 && chip.bottom <= box.bottom + 1;
}"""


@pytest.fixture
def long_page(replay: Callable[..., Visit]) -> Page:
    return replay(lengthy(256, 120), viewport={"width": 1280, "height": 720}).page


def test_words_numbers_and_lines_are_set_as_text(long_page: Page) -> None:
    long_page.keyboard.press("End")
    text = long_page.evaluate(READ)
    letters = "".join(line for line in text.splitlines() if not line.startswith("block"))
    assert "37 boxes holds 128 apples" in letters and "#### 1162" in letters
    lines = text.splitlines()
    assert any(line.startswith("    total = 0") for line in lines), "indentation stands as it was written"


def test_what_is_masked_folds_to_a_line_that_opens(long_page: Page) -> None:
    fold = long_page.locator(".dv-fold:visible")
    expect(fold).to_have_text("blocks 2–8: 224 masked")
    expect(long_page.locator("[data-position='40']")).to_be_hidden()
    fold.click()
    expect(long_page.locator("[data-position='40']")).to_be_visible()
    expect(fold).to_have_attribute("aria-expanded", "true")
    fold.click()
    expect(long_page.locator("[data-position='40']")).to_be_hidden()
    long_page.evaluate("viewer.select(40)")
    expect(long_page.locator("[data-position='40']")).to_be_visible()
    expect(fold).to_have_text("blocks 3–8: 192 masked")


def test_a_block_with_a_revocation_does_not_fold(replay: Callable[..., Visit]) -> None:
    trace = dard.Trace.from_tokens(
        [[0] * 96, [0] * 70 + [3] + [0] * 25, [0] * 96], 0, {3: " word"}, settings={"block_length": 32}
    )
    page = replay(trace, "#step=2").page
    expect(page.locator("[data-position='70']")).to_be_visible()
    expect(page.locator("[data-position='70']")).to_have_class(re.compile("dv-ghost dv-scarred dv-has-d"))


def test_arrows_lead_from_token_to_token_and_keep_it_in_view(long_page: Page) -> None:
    long_page.keyboard.press("End")
    long_page.locator("[data-position='0']").click()
    for key in ["ArrowDown"] * 3:
        long_page.keyboard.press(key)
    assert long_page.evaluate("viewer.getState().position") == 3
    assert long_page.evaluate("document.activeElement.dataset.position") == "3"
    long_page.evaluate("viewer.select(250)")
    assert long_page.evaluate(STANDS, 250)
    assert long_page.locator("[data-position='250']").get_attribute("aria-label").startswith("position 250, ")


def test_the_block_that_is_decoded_stays_in_view_and_no_panel_moves(long_page: Page) -> None:
    still = long_page.evaluate(BOXES)
    assert {name.split()[-1] for name in still} >= {"dv-p-tokens", "dv-p-score", "dv-p-insp", "dv-p-mask"}
    for step in range(1, 121, 3):
        long_page.evaluate(f"viewer.setStep({step})")
        assert long_page.evaluate(BOXES) == still, step
        start, _ = long_page.evaluate("viewer.lane.at(viewer.getState().step).block")
        assert long_page.evaluate(STANDS, start), step


def test_everything_is_in_view_at_1280_by_720(long_page: Page) -> None:
    bottom = long_page.evaluate(BOXES)
    for name, (_, y, _, height) in bottom.items():
        if "dv-reader" in name or "dv-p-tokens" in name or "dv-p-score" in name:
            assert y + height <= 720 + 12, name


def test_sixty_four_tokens_are_chips_as_before(replay: Callable[..., Visit]) -> None:
    page = replay(lengthy(64, 20)).page
    expect(page.locator(".dv-tok")).to_have_count(64)
    expect(page.locator(".dv-prose")).to_have_count(0)
    expect(page.locator(".dv-final")).to_be_hidden()


def test_the_answer_is_marked_and_its_steps_are_a_click_away(long_page: Page) -> None:
    life = dard.answer_life(lengthy(256, 120))
    assert life is not None
    line = long_page.locator(".dv-final")
    expect(line).to_contain_text(life.say)
    long_page.keyboard.press("End")
    marked = long_page.locator(".dv-answers").evaluate_all("(all) => all.map((node) => +node.dataset.position)")
    assert marked == life.positions
    line.get_by_role("button", name="first").click()
    assert long_page.evaluate("viewer.getState().step") == life.first
    assert long_page.evaluate(STANDS, life.positions[0])


class Slow(Lengthy):
    """Takes a tenth of a second for a pass."""

    name = "slow"

    def logits(self, *call: Tensor) -> Tensor:
        time.sleep(0.1)
        return super().logits(*call)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    studio = Studio(("slow",))
    studio.models.loaded["slow"] = Slow(1024)
    monkeypatch.setattr(estimates, "MINUTE", 5.0)
    monkeypatch.setattr("visual.server.passes.LOADED", {"slow": studio.models.loaded["slow"]})
    with serving(build_page(studio), **launch_options()) as url:
        yield url


ASKED = "?prompt=How+many+apples&model=slow&decoder=standard&gen_length=1024&block_length=256&steps=120"


def test_a_run_of_1024_says_how_far_it_is_and_stop_keeps_what_is_there(
    server: str, visit: Callable[..., Visit]
) -> None:
    page = visit(server + ASKED, viewport={"width": 1280, "height": 720}, ready="[data-position]:visible").page
    page.get_by_role("button", name="Run to end").click()
    expect(page.locator(".dv-busy")).to_contain_text("of 1,024 tokens, about")
    bar = page.get_by_role("progressbar", name="decoded so far")
    expect(bar).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(bar).to_be_hidden()
    made = page.evaluate("+document.querySelector('.dv-counter b').textContent")
    assert made > 0
    page.reload()
    expect(page.locator(".dw-check").first).to_contain_text("This may take up to")


def test_a_pattern_of_ones_own_finds_the_answer(server: str, visit: Callable[..., Visit]) -> None:
    page = visit(
        server + ASKED.replace("steps=120", "steps=8").replace("=1024", "=128"), ready="[data-position]:visible"
    ).page
    page.get_by_role("button", name="Run to end").click()
    line = page.locator(".dv-final")
    expect(line).to_contain_text("The answer '1162' first stood there after step")
    field = line.get_by_label("pattern of the answer")
    field.fill(r"so there are (\d+)")
    field.press("Enter")
    expect(line).to_contain_text("The answer '37' first stood there after step")
    field.fill("(")
    field.press("Enter")
    expect(line).to_contain_text("answer = /(/ is no pattern")


def test_the_words_of_a_closed_vocabulary_are_joined_by_spaces(replay: Callable[..., Visit]) -> None:
    words: dict[int, Any] = {3: "green", 4: "##ish", 5: "7", 6: "apples"}
    trace = dard.Trace.from_tokens([[0] * 70, [3, 4, 5, 5, 6] * 14], 0, words)
    page = replay(trace, "#step=1").page
    assert page.evaluate(READ).replace("\u00a0", " ").strip().startswith("greenish 7 7 apples greenish")
