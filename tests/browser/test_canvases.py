"""A canvas of noise in the browser: letters, drafts in the place of noise, words for screen readers, beside masks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace
from dard.trace.canvases import Canvas, CanvasPass, trace_of
from visual.export import replay_html

NOISE = ("murmur", "hiss", "crackle", "hum")
WORDS = dict(enumerate(["rain", "sun", "snow", "wind", *NOISE]))


@cache
def noise() -> Trace:
    """Two canvases of two positions; ids from 4 on are only ever noise."""

    def made(drafts: list[int], after: list[int], accepted: str) -> CanvasPass:
        facts = {"temperature": 0.8, "entropy_bound": 0.1}
        return CanvasPass(drafts, after, [a == "A" for a in accepted], [0.9, 0.4], [0.05, 0.7], facts=facts)

    first = [made([0, 1], [0, 5], "A."), made([0, 1], [6, 7], ".."), made([2, 1], [2, 1], "AA")]
    second = [made([3, 2], [4, 2], ".A"), made([3, 2], [3, 2], "AA")]
    canvases = [Canvas([4, 5], first, [2, 1], "its last pass"), Canvas([6, 4], second, [3, 2], "its last pass")]
    return trace_of([1, 2], canvases, WORDS, name="Noise", model="tiny")


Opening = Callable[..., Page]


@pytest.fixture
def opened(visit: Callable[..., Any], tmp_path: Path) -> Opening:
    def open_page(shown: Any, step: int, **context: Any) -> Page:
        file = tmp_path / "noise.html"
        file.write_text(replay_html(shown, state={"step": step, "position": 0}), encoding="utf-8")
        page = visit(file.as_uri(), **context).page
        page.wait_for_selector("body[data-ready]")
        return page

    return open_page


def test_a_chip_in_noise_shows_the_draft_in_grey_and_never_the_noise(opened: Opening) -> None:
    page = opened(noise(), 1)
    chips = page.locator(".dv-p-tokens button[data-position]")
    shown = [(0, ["· · ·"] * 4), (1, ["rain", "sun", "· · ·", "· · ·"]), (2, ["rain", "sun", "· · ·", "· · ·"])]
    shown += [
        (3, ["snow", "sun", "· · ·", "· · ·"]),
        (4, ["snow", "sun", "wind", "snow"]),
        (5, ["snow", "sun", "wind", "snow"]),
    ]
    for step, words in shown:
        page.evaluate(f"viewer.setState({{step: {step}}})")
        assert chips.locator(".dv-t").all_inner_texts() == words, step
    page.evaluate("viewer.setState({step: 1})")
    colours = chips.locator(".dv-t").evaluate_all("(all) => all.map((one) => getComputedStyle(one).color)")
    assert colours[0] != colours[1] == colours[2]  # a draft is as grey as what is not begun
    letters = "(all) => all.map((one) => getComputedStyle(one, '::after').content.slice(1, -1)).join('')"
    for step, states in ((0, "NNNN"), (1, "ANNN"), (2, "DDNN"), (3, "UUNN"), (4, "UUNA"), (5, "UUUU")):
        page.evaluate(f"viewer.setState({{step: {step}}})")
        assert chips.locator(".dv-badge").evaluate_all(letters) == states
    text = page.locator("#viewer").inner_text()
    assert not [word for word in NOISE if word in text]


def test_states_and_events_have_their_own_words_everywhere(opened: Opening) -> None:
    page = opened(noise(), 2)
    legend = page.locator(".dv-p-tokens .dv-legend")
    for word in ("noise", "draft", "accepted", "committed", "re-noised", "draft changed"):
        expect(legend).to_contain_text(word)
    for word in ("masked", "candidate", "unmasked", "revoked"):
        expect(legend).not_to_contain_text(word)
    expect(page.locator(".dv-p-tokens .dv-sub")).to_contain_text("2 noise · 2 draft · 0 accepted · 0 committed")
    chip = page.locator(".dv-p-tokens button[data-position='0']")
    expect(chip).to_have_attribute(
        "aria-label", "position 0, draft rain, draft, confidence 0.90, re-noised, re-noised 1 time"
    )
    inspector = page.locator(".dv-p-insp")
    expect(inspector).to_contain_text("rain at 0 was re-noised: entropy 0.05, and all that are surer add up to 0.00")
    expect(page.locator(".dv-p-score")).to_contain_text("temperature 0.8, bound 0.1, mean entropy 0.375")
    expect(page.get_by_text("masked again")).to_be_hidden()
    assert not [word for word in NOISE if word in page.locator("#viewer").inner_html()]  # also not to be heard
    page.evaluate("viewer.setState({step: 3})")
    expect(inspector).to_contain_text("snow at 0 was committed: its canvas is complete, ended by its last pass.")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_canvas_stands_beside_a_masked_decode(opened: Opening, width: int) -> None:
    page = opened(
        {"Noise": noise(), "DARD": dard.decode(los_diego(), LOS_DIEGO)}, 1, viewport={"width": width, "height": 900}
    )
    legend = page.locator(".dv-p-tokens .dv-legend")
    for word in ("noise", "masked", "committed", "unmasked", "re-noised", "revoked"):
        expect(legend.locator("> span", has_text=word).first).to_be_attached()
    assert page.locator(".dv-lane .dv-lanetoks").count() == 2
    expect(page.locator(".dv-unlike")).to_contain_text("the first 4 are compared")
    page.evaluate("viewer.setState({step: 5})")
    expect(page.locator(".dv-who").nth(0)).to_contain_text("done in 5 passes")
