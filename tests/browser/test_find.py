"""Finding one's way in a long text, and the map and lens of its score, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import dard
from dard.trace import Trace
from tests.lengthy import lengthy
from tests.tiny import random_model

STATE = "(({step, position, lane}) => [step, position, lane])(viewer.getState())"
Replay = Callable[..., Any]


@pytest.fixture(scope="module")
def long() -> Trace:
    return lengthy(256, 60)


def until(page: Page, expression: str) -> None:
    """A page of one file lets nobody evaluate what Playwright would wait for."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(expression)


def marked(page: Page, which: str = "") -> list[int]:
    found = page.locator(f"[data-found{which}]").evaluate_all("all => all.map((each) => +each.dataset.position)")
    return sorted(found)


def test_a_slash_finds_text_over_several_tokens_and_numbers_of_positions(replay: Replay, long: Trace) -> None:
    page = replay(long, "#step=60").page
    texts = page.evaluate("[...viewer.lane.at(60).tokens].map((id) => viewer.lane.word(id).replace('␣', ' '))")
    first = next(i for i in range(200) if "".join(texts[i : i + 4]) == " boxes holds 12")
    page.keyboard.press("/")
    field = page.get_by_label("find in the tokens")
    expect(field).to_be_focused()
    page.keyboard.type("oxes HOLDS 12")
    assert page.evaluate(STATE)[1] == first
    assert marked(page, "=here") == [first, first + 1, first + 2, first + 3], "all tokens of a hit are marked"
    hits = len(marked(page)) // 4
    expect(page.locator(".dv-hits")).to_have_text(f"1 of {hits}")
    page.keyboard.press("Enter")
    expect(page.locator(".dv-hits")).to_have_text(f"2 of {hits}")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".dv-hits")).to_have_text(f"{hits} of {hits}")
    field.fill("200")
    assert page.evaluate(STATE)[1] == 200
    field.fill("<img src=x onerror=alert(1)>")
    expect(page.locator(".dv-hits")).to_have_text("not at this step; ↵ looks at all")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    assert marked(page) == [] and page.evaluate(STATE)[1] == 200
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(STATE)[0] == 59, "keys go to the viewer again"


def test_what_is_not_written_yet_is_found_at_its_first_step(replay: Replay, long: Trace) -> None:
    page = replay(long, "#step=0").page
    page.keyboard.press("/")
    page.keyboard.type("apples")
    assert page.evaluate(STATE)[0] == 0
    page.keyboard.press("Enter")
    step, position, _ = page.evaluate(STATE)
    words = [long.token_text[token] for token in long.steps[step - 1].tokens]
    assert words[position].strip() == "apples"
    before = long.steps[step - 2].tokens if step > 1 else [long.mask_id]
    assert not any(long.token_text.get(token, "").strip() == "apples" for token in before if token != long.mask_id)


def test_keys_lead_to_what_was_revoked_and_changed(replay: Replay, long: Trace) -> None:
    page = replay(long, "#step=0&position=0").page
    events = [(step.index, i) for step in long.steps for i in sorted(step.demoted)]
    for wanted in events[:4]:
        page.keyboard.press("r")
        assert tuple(page.evaluate(STATE)[:2]) == wanted
    page.keyboard.press("Shift+R")
    assert tuple(page.evaluate(STATE)[:2]) == events[2]
    page.keyboard.press("x")
    step, position, _ = page.evaluate(STATE)
    rows = [long.start.tokens, *(each.tokens for each in long.steps)]
    assert rows[step][position] != rows[step - 1][position] and (step, position) > events[2]
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("/")
    page.get_by_role("button", name="next revoked").click()
    expect(page.locator(".dv-hits")).to_have_text("nothing more is revoked from here on")


def test_lanes_are_walked_difference_by_difference(replay: Replay, long: Trace) -> None:
    page = replay({"one": long, "two": lengthy(256, 60, seed=1)}, "#step=27&position=0").page
    one, two = (page.evaluate(f"[...viewer.lanes[{n}].at(27).tokens]") for n in (0, 1))
    unlike = [i for i in range(256) if one[i] != two[i]]
    assert len(unlike) > 2
    walked = []
    for _ in unlike:
        page.keyboard.press("v")
        walked.append(page.evaluate(STATE)[1])
    assert walked == [i for i in unlike if i > 0] + ([unlike[0]] if unlike[0] == 0 else [])
    page.keyboard.press("v")
    assert page.evaluate(STATE)[1] == unlike[0 if unlike[0] else 1], "and round again"


def test_the_map_scrubs_and_the_lens_moves(replay: Replay, long: Trace) -> None:
    page = replay(long, "#step=30&position=100").page
    box = page.locator(".dv-score").bounding_box()
    assert box
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(across, down)
    page.mouse.down()
    step, position, _ = page.evaluate(STATE)
    assert 25 < step < 35 and 110 < position < 150
    page.mouse.move(across + 40, down + 30)
    assert page.evaluate(STATE)[0] > step + 5 and page.evaluate(STATE)[1] == position, "dragging only scrubs"
    page.mouse.up()
    lens = page.locator(".dv-lens").bounding_box()
    assert lens
    page.mouse.move(lens["x"] + 40, lens["y"] + 200)
    page.mouse.down()
    page.mouse.move(lens["x"] + 40, lens["y"] + 140, steps=3)
    page.mouse.up()
    assert page.evaluate(STATE)[1] == position + 4
    page.mouse.move(box["x"] + 8, box["y"] + 40)
    page.mouse.down()
    at = page.evaluate(STATE)
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] - 10)
    page.mouse.up()
    assert page.evaluate(STATE)[0] == at[0] and page.evaluate(STATE)[1] > at[1] + 100, (
        "beside the map the lens is moved"
    )
    page.locator(".dv-lens").focus()
    before = page.evaluate(STATE)[1]
    page.keyboard.press("PageUp")
    assert page.evaluate(STATE)[1] < before - 10


def test_rows_of_the_lens_can_be_pressed(replay: Replay, long: Trace) -> None:
    page = replay(long, "#step=30&position=100").page
    lens = page.locator(".dv-lens").bounding_box()
    assert lens
    first = page.evaluate("viewer.panels.find((each) => each.lens).lens.first")
    page.mouse.click(lens["x"] + 40, lens["y"] + 28 + 15 * 5 + 7)
    assert page.evaluate(STATE) == [30, first + 5, 0]


def test_short_texts_have_no_map(replay: Replay) -> None:
    page = replay(lengthy(64, 20), "#step=5").page
    expect(page.locator(".dv-lens")).to_be_hidden()
    expect(page.locator("button", has_text="Find")).to_be_hidden()


@pytest.fixture(scope="module")
def wide() -> Trace:
    """A block of 256 with its shadow."""
    model = random_model(3, layers=2, sharpness=1.2)
    session = dard.Session(model, "w5 w6 w7", gen_length=256, block_length=256, tau_c=0.5, tau_u=0.8)
    for _ in range(3):
        session.step()
    return session.trace


def test_a_block_of_256_is_read_by_zooming(replay: Replay, wide: Trace) -> None:
    page = replay(wide, "#step=2&position=100").page
    mask = page.get_by_label("attention mask")
    view = "(({zoom, each, origin}) => [zoom, each, ...origin])(viewer.panels.find((each) => each.mask?.zoomBy).mask)"
    mask.scroll_into_view_if_needed()
    zoom, each, *_ = page.evaluate(view)
    assert zoom == 1 and each < 2
    box = mask.bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(*middle)
    for _ in range(4):
        page.mouse.wheel(0, -100)
    until(page, f"{view}[0] === 16")
    assert page.evaluate(view)[1] > 6
    page.keyboard.press("+")
    assert page.evaluate(view)[1] > 12, "a cell is large enough for a number"
    before = page.evaluate(view)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 60, middle[1] - 40, steps=4)
    page.mouse.up()
    after = page.evaluate(view)
    assert after[2] > before[2] + 2 and after[3] > before[3] + 3
    page.evaluate("viewer.select(3)")
    row = page.evaluate(
        "(({place, size, frame}) => size + place[3 - frame.block[0]])(viewer.panels.find((e) => e.mask?.zoomBy).mask)"
    )
    zoom, _, top, _ = page.evaluate(view)
    assert top <= row < top + 512 / zoom, "what is selected elsewhere comes into view"
    mask.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.mouse.dblclick(*middle)
    assert page.evaluate(view)[0] == 1
    page.keyboard.press("+")
    assert page.evaluate(view)[0] == 2
    page.keyboard.press("0")
    assert page.evaluate(view)[0] == 1


TOPS = """viewer.panels[0].grids.map(({ outer, chips }) => {
    const seen = chips.find(({ button }) => button.offsetParent && button.offsetTop >= outer.scrollTop);
    return [+seen.button.dataset.position, seen.button.offsetTop - outer.scrollTop]; })"""


def test_lanes_begin_at_their_first_difference_and_scroll_together(replay: Replay) -> None:
    """Two decodes that agree for 150 positions, and then do not."""
    one = lengthy(256, 60)
    last = one.steps[-1]
    other = [token if i < 150 or i % 7 else 3 for i, token in enumerate(last.tokens)]
    steps = [*one.steps[:-1], replace(last, tokens=other)]
    page = replay({"one": one, "two": replace(one, steps=steps)}, f"#step={one.num_steps}&position=0").page
    unlike = next(i for i in range(256) if other[i] != last.tokens[i])
    for lane in page.locator(".dv-reader").all():
        token = lane.locator(f"[data-position='{unlike}']")
        expect(token).to_be_in_viewport()
    assert page.locator(".dv-differs").count() == sum(a != b for a, b in zip(other, last.tokens, strict=True))
    tops = page.evaluate(TOPS)
    assert tops[0] == tops[1] and tops[0][0] > 0
    second = page.locator(".dv-reader").nth(1)
    second.hover()
    page.mouse.wheel(0, -90)
    until(page, f"({TOPS})[0][0] < {tops[0][0]}")
    until(page, f"(([a, b]) => a[0] === b[0] && Math.abs(a[1] - b[1]) < 2)({TOPS})")
    page.evaluate("viewer.select(250)")
    for lane in page.locator(".dv-reader").all():
        expect(lane.locator("[data-position='250']")).to_be_in_viewport()
