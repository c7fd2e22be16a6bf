"""Tokens that stand in rows: cells, brackets of what clashes, keys, names, sizes, pictures."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dard.trace import Trace
from tests.browser.test_exports import MARGIN, made, picture
from tests.browser.test_replay import press, step_of, token
from tests.tiny import written
from visual.server.cases import GALLERY

Visiting = Callable[..., Any]
PUZZLE = "Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :"


@cache
def recorded(name: str) -> Trace:
    return Trace.load(next(GALLERY.glob(f"*{name}.trace.json.gz")))


# The cells that a foot of a bracket stands on.
FEET = """(n) => { const board = document.querySelectorAll('.dv-board')[n], from = board.getBoundingClientRect();
    const cells = [...board.querySelectorAll('[data-position]')].map((cell) => cell.getBoundingClientRect());
    const dots = [...board.querySelectorAll('.dv-dots')].map((path) => path.getAttribute('d')).join();
    const feet = dots.match(/[\\d.]+ [\\d.]+/g) ?? [];
    return [...new Set(feet.map((foot) => { const [x, y] = foot.split(' ').map(Number);
        return cells.findIndex((c) => x + from.x >= c.left && x + from.x <= c.right
            && y + from.y >= c.top && y + from.y <= c.bottom); }))].sort((a, b) => a - b); }"""


def marked(page: Page, lane: int, step: int) -> list[int]:
    found: list[int] = page.evaluate(
        "([n, t]) => viewer.lanes[n].at(t).look.marks.filter((m) => m.units.length).flatMap((m) => m.places)",
        [lane, step],
    )
    return sorted(set(found))


def test_sixteen_cells_with_a_bracket_wherever_two_clash(replay: Visiting) -> None:
    trace = recorded("clashing")
    page = replay(trace, "#step=0&position=2").page
    cells = page.locator(".dv-board [data-position]")
    boxes = [cells.nth(i).bounding_box() for i in range(16)]
    assert {(box["width"], box["height"]) for box in boxes} == {(52, 52)}
    assert len({box["x"] for box in boxes}) == len({box["y"] for box in boxes}) == 4
    assert all(boxes[i]["x"] == boxes[i % 4]["x"] and boxes[i]["y"] == boxes[i // 4 * 4]["y"] for i in range(16))
    gaps = [boxes[n + 1]["x"] - boxes[n]["x"] - 52 for n in range(3)]
    assert gaps[1] > gaps[0] == gaps[2], "a box ends in the middle"
    assert page.locator(".dv-clash").count() == 0
    expect(page.locator(".dv-stand")).to_contain_text("startno clash so far, 16 open")
    assert [i for i in range(16) if cells.nth(i).locator(".dv-given").count()] == [0, 5, 15]

    press(page, "Step")
    assert page.evaluate(FEET, 0) == marked(page, 0, 1) == [2, 3, 7, 8, 10, 11, 12, 14]
    expect(page.locator(".dv-stand")).to_contain_text("step 1 of 36 clashes so far, 0 open")
    expect(page.locator(".dv-clashes li")).to_have_text(
        ["1 twice in row 1 and box 2, columns 3 and 4", "and 5 more: row 3, box 4, row 4 …"]
    )
    bold = page.locator(".dv-number.dv-on").evaluate_all("all => all.map((text) => text.textContent)")
    assert bold == ["1", "3", "4", "1", "3", "4"], "rows, then columns"

    page.keyboard.press("End")
    assert page.locator(".dv-clash").count() == page.locator(".dv-number.dv-on").count() == 0
    expect(page.locator(".dv-stand")).to_contain_text("rightno clash, all 3 givens kept")
    for step in range(trace.num_steps + 1):
        page.evaluate(f"viewer.setStep({step})")
        assert page.evaluate(FEET, 0) == marked(page, 0, step)


def test_what_is_wrong_at_the_end_is_said_and_a_box_alone_is_crossed(replay: Visiting) -> None:
    page = replay(recorded("saber-keeps"), "#step=6").page
    expect(page.locator(".dv-answer.dv-wrong")).to_have_text("wrong")
    expect(page.locator(".dv-stand")).to_contain_text("3 clashes")
    assert page.evaluate(FEET, 0) == marked(page, 0, 6)
    slants = page.locator(".dv-clash").evaluate_all(
        "all => all.filter((p) => /^M\\S+ \\S+L\\S+ \\S+$/.test(p.getAttribute('d'))).length"
    )
    assert slants == 1, "cells 2 and 7 share a box and nothing else"


def test_arrow_keys_move_by_cell_and_a_cell_says_where_it_is(replay: Visiting) -> None:
    trace = recorded("clashing")
    page = replay(trace, "#step=1&position=2").page
    expect(token(page, 2)).to_have_attribute(
        "aria-label", "row 1, column 3, 1, candidate, confidence 0.43, clashes in row 1 and box 2 and column 3"
    )
    expect(token(page, 0)).to_have_attribute("aria-label", "row 1, column 1, 2, unmasked, confidence 1.00, given as 2")
    expect(page.locator(".dv-iplace")).to_have_text("row 1, column 3 · position 2")
    token(page, 2).focus()
    for key, cell in (
        ("Down", 6),
        ("Right", 7),
        ("Right", 7),
        ("Down", 11),
        ("Left", 10),
        ("Up", 6),
        ("Up", 2),
        ("Up", 2),
    ):
        page.keyboard.press(f"Arrow{key}")
        expect(token(page, cell)).to_be_focused()
        assert page.evaluate("viewer.state.position") == cell and step_of(page) == 1
    page.get_by_role("slider", name="step").focus()
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 2
    sure = f"{trace.steps[1].confidence[3]:.2f}"
    expect(token(page, 3)).to_have_attribute("aria-label", f"row 1, column 4, 1, unmasked, confidence {sure}, promoted")


@pytest.mark.parametrize("width", [1280, 1024, 390])
def test_nothing_moves_and_nothing_is_cut(replay: Visiting, width: int) -> None:
    page = replay(recorded("clashing"), viewport={"width": width, "height": 800}).page
    boxes = """() => JSON.stringify(
        [...document.querySelectorAll('.dv-panel, .dv-tok, canvas, .dv-stand, .dv-clashes, .dv-legend')].map(
        (node) => { const box = node.getBoundingClientRect(); return [box.x, box.y, box.width, box.height] }))"""
    first = page.evaluate(boxes)
    for step in range(4):
        page.evaluate(f"viewer.setStep({step})")
        assert page.evaluate(boxes) == first, step
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(
        """[...document.querySelectorAll('.dv-clashes span, .dv-p-tokens .dv-sub')].every(
        (text) => text.scrollWidth <= text.clientWidth)"""
    )
    board, panel = page.locator(".dv-board").bounding_box(), page.locator(".dv-p-tokens").bounding_box()
    score = page.locator(".dv-p-score").bounding_box()
    assert (board["width"] > 0.9 * (panel["width"] - 26)) == (width != 1024), "a phone gives it the full width"
    assert (score["x"] > panel["x"] + panel["width"]) == (width == 1280), "a wide page has it beside the score"


def test_a_line_about_a_clash_leads_to_its_cells(replay: Visiting) -> None:
    page = replay(recorded("clashing"), "#step=1&position=0").page
    line = page.get_by_role("button", name="1 twice in row 1 and box 2")
    line.click()
    assert page.evaluate("viewer.state.position") == 2
    expect(token(page, 2)).to_have_class(re.compile(r"\bdv-sel\b"))
    line.press("Enter")  # and on to the other one
    assert page.evaluate("viewer.state.position") == 3
    line.press("Enter")
    assert page.evaluate("viewer.state.position") == 2 and step_of(page) == 1
    page.get_by_role("button", name="and 5 more").click()
    assert page.evaluate("viewer.state.position") == page.evaluate("viewer.lane.at(1).look.marks[1].places[0]")


def test_side_by_side_cells_are_small_and_each_board_has_its_own_clashes(replay: Visiting) -> None:
    page = replay([recorded("clashing"), recorded("saber-keeps")], "#step=6").page
    sizes = page.locator(".dv-board .dv-tok").evaluate_all("all => all.map((c) => [c.offsetWidth, c.offsetHeight])")
    assert sizes == [[20, 20]] * 32
    expect(page.locator(".dv-stand")).to_have_text(["no clash, all 3 givens kept", "3 clashes"])
    assert page.evaluate(FEET, 0) == [] and page.evaluate(FEET, 1) == marked(page, 1, 6)
    assert page.locator(".dv-board .dv-number").count() == 0
    token(page, 5, lane=1).click()
    page.keyboard.press("ArrowDown")
    expect(token(page, 9, lane=1)).to_be_focused()


def test_a_word_that_is_no_digit_and_words_after_the_cells(replay: Visiting) -> None:
    page = replay(written(PUZZLE, "2 3 4 1 4 fish 2 3 1 2 3 4 3 4 1 2 [EOS] [EOS]"), "#step=2").page
    expect(page.locator(".dv-stand")).to_contain_text("wrongno clash, 1 other fault")
    expect(page.locator(".dv-clashes li")).to_have_text(["fish in row 2, column 2 is no digit from 1 to 4"])
    assert page.locator(".dv-clashes").evaluate("list => list.scrollHeight <= list.clientHeight"), "all of it is read"
    assert page.locator(".dv-clash").count() == 1 and page.evaluate(FEET, 0) == []
    label = token(page, 5).get_attribute("aria-label")
    assert label is not None and label.endswith("given as 1, 'fish' in row 2, column 2 is no digit from 1 to 4")
    assert token(page, 5).locator(".dv-t").evaluate("t => t.scrollWidth <= t.clientWidth")
    board, after = page.locator(".dv-board").bounding_box(), token(page, 16).bounding_box()
    assert after["y"] > board["y"] + board["height"] and page.locator(".dv-board [data-position]").count() == 16
    token(page, 13).focus()
    page.keyboard.press("ArrowDown")
    expect(token(page, 17)).to_be_focused()
    expect(page.locator(".dv-iplace")).to_have_text("position 17")


def test_a_board_that_leaves_gives_the_tokens_their_place_back(replay: Visiting) -> None:
    page = replay(recorded("clashing")).page
    assert page.locator(".dv-body > .dv-p-tokens").count() == 1
    page.set_viewport_size({"width": 1100, "height": 800})
    expect(page.locator(".dv-body > .dv-p-tokens")).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator(".dv-body > .dv-p-tokens")).to_have_count(1)


def test_pictures_show_the_board(replay: Visiting) -> None:
    trace = recorded("clashing")
    page = replay(trace, "#step=1&position=2").page
    view = page.locator("#viewer").bounding_box()
    assert picture(made(page, "png")).shape[:2] == (
        2 * round(view["height"] + 2 * MARGIN),
        2 * round(view["width"] + 2 * MARGIN),
    )
    assert picture(made(page, "tokens")).shape[1] == 2 * (660 + 2 * MARGIN)
    for kind in ("slide", "tokens-slide"):
        assert picture(made(page, kind)).shape == (1080, 1920, 3)
    frames = [picture(base64.b64decode(frame)) for frame in page.evaluate("viewer.exports.frames()")]
    assert len(frames) == trace.num_steps + 1 and len({frame.shape for frame in frames}) == 1
    assert page.locator(".dv-body > .dv-p-tokens").count() == 1 and step_of(page) == 1
