"""The panels one learns with, on the embedded model: handles, map, shadow, six blocks, guesses. What they show is what
the library gives for the same settings."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO
from tests.browser.conftest import Visit
from tests.helpers import aside, serving
from visual import page as page_module
from visual.page import build_page, launch_options
from visual.server.cases import lessons
from visual.server.studio import Studio

BOY = next(lesson["show"]["prompt"] for lesson in lessons() if lesson["name"] == "six")


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


@pytest.fixture(scope="module")
def server(model: Any) -> Iterator[str]:
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = model
    page = build_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


@pytest.fixture
def lesson(server: str, visit: Callable[..., Visit]) -> Callable[..., Page]:
    def open_lesson(name: str, **options: Any) -> Page:
        return visit(f"{server}?lesson={name}", ready=".dl .dq:visible", **options).page

    return open_lesson


def decode(model: Any, prompt: str = LOS_DIEGO, **settings: Any) -> dard.Trace:
    return aside(lambda: dard.decode(model, prompt, **{"tau_c": 0.4, "tau_u": 0.5, **settings}))


def handle(page: Page, name: str) -> Locator:
    return page.locator(f".dl .dv-handle[data-name={name}]")


def cell(page: Page, c: float, u: float) -> Locator:
    def written(at: float) -> str:
        return f"{at:.2f}"[1:]

    return page.locator(f".dl .dv-mapcell[aria-label^='τ_c {written(c)}, τ_u {written(u)}:']")


def shows(page: Page, trace: dard.Trace, step: int = 1) -> None:
    """States, answer and passes are those of a decode."""
    for i in (3, 4):
        token = page.locator(f".dl .dv-p-tokens [data-position='{i}']")
        expect(token).to_have_attribute("data-state", trace.steps[step - 1].states[i])
    words = " ".join(trace.word(trace.steps[-1].tokens[i]) for i in (3, 4))
    passes = f"{trace.num_steps} pass{'' if trace.num_steps == 1 else 'es'}"
    expect(page.locator(".dl .dv-maphere")).to_have_text(re.compile(rf"^Here\s+{words} after {passes}$"))


def test_what_follows_a_handle_is_a_decode_with_its_settings(lesson: Callable[..., Page], model: Any) -> None:
    page = lesson("thresholds")
    shows(page, decode(model))
    box = handle(page, "tau_u").bounding_box()
    scale = page.locator(".dl .df-zones").bounding_box()
    assert box and scale
    x, y = box["x"] + box["width"] / 2, box["y"] + 12
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 0.1 * scale["width"], y, steps=4)
    expect(handle(page, "tau_u")).to_have_attribute("aria-valuenow", "0.6")
    shows(page, decode(model, tau_u=0.6))  # before it was let go
    page.mouse.move(x - 0.15 * scale["width"], y, steps=6)
    page.mouse.up()
    expect(handle(page, "tau_u")).to_have_attribute("aria-valuenow", "0.35")
    expect(handle(page, "tau_c")).to_have_attribute("aria-valuenow", "0.35")  # it may not be above
    shows(page, decode(model, tau_c=0.35, tau_u=0.35))
    handle(page, "tau_c").press("Home")
    handle(page, "tau_u").press("End")
    expect(handle(page, "tau_c")).to_have_attribute("aria-valuenow", "0")
    shows(page, decode(model, tau_c=0.0, tau_u=1.0))


def test_every_cell_of_the_map_is_a_decode_and_a_click_goes_there(lesson: Callable[..., Page], model: Any) -> None:
    page = lesson("thresholds")
    cells = page.locator(".dl .dv-mapcell")
    expect(cells).to_have_count(90)
    expect(page.locator(".dl .dv-mapcell[data-right='']")).to_have_count(0)
    expect(page.locator(".dl .dv-mapcell[data-right=false]")).to_have_count(20)
    for c, u in ((0.1, 0.45), (0.4, 0.5), (0.4, 0.8), (0.6, 0.8), (0.9, 0.95)):
        trace = decode(model, tau_c=c, tau_u=u)
        right = "Los Angeles" in trace.text
        expect(cell(page, c, u)).to_have_text(f"{'✓' if right else '✗'} {trace.num_steps}")
    cell(page, 0.6, 0.8).click()
    expect(cell(page, 0.6, 0.8)).to_have_attribute("aria-pressed", "true")
    expect(handle(page, "tau_c")).to_have_attribute("aria-valuenow", "0.6")
    shows(page, decode(model, tau_c=0.6, tau_u=0.8))
    page.get_by_label("hide what comes later").locator("visible=true").check()
    expect(page.locator(".dl .dv-mapcell[data-right='']")).to_have_count(90)
    expect(page.locator(".dl .dv-maphere")).to_contain_text("hidden")


def test_the_arcs_are_the_row_of_the_mask_and_hiding_a_word_is_measured(
    lesson: Callable[..., Page], model: Any
) -> None:
    page = lesson("shadow")
    trace = decode(model)
    length = len(trace.fixed)
    chips = page.locator(".dl .dv-p-shadow:visible .dv-shchip")

    def seen(path: str) -> list[int]:
        found = page.locator(f".dl .dv-p-shadow:visible .dv-shchip[data-path={path}][data-open=true]")
        return [int(chip.get_attribute("data-place") or -1) for chip in found.all()]

    expect(chips).to_have_count(2 * length)
    mask = trace.steps[1].mask
    assert mask is not None
    for path, row in (("s", length + 4), ("x", 4), ("s", length + 3)):
        page.locator(f".dl .dv-p-shadow:visible .dv-shchip[data-path={path}][data-place='{row % length}']").click()
        assert seen("x") == [j for j in range(length) if mask[row][j]]
        assert seen("s") == [j for j in range(length) if mask[row][length + j]]
    page.locator(".dl .dv-p-shadow:visible .dv-shchip[data-path=s][data-place='4']").click()
    arcs = page.locator(".dl .dv-p-shadow:visible .dv-sharcs")
    expect(arcs.locator(".dv-shno")).to_have_count(1)  # Diego, which its own blank may not see
    page.get_by_role("button", name="hide Los").locator("visible=true").click()
    expect(arcs.locator(".dv-shno")).to_have_count(2)
    expect(page.locator(".dl .dv-shverdict:visible").first).to_contain_text("Without Los it would be .478")


def test_a_block_is_painted_and_checked_by_the_mask(lesson: Callable[..., Page], model: Any) -> None:
    page = lesson("six")
    trace = decode(model, BOY)
    step, length = trace.steps[1], len(trace.fixed)
    panel = page.locator(".dl .dv-p-six")
    for block in range(1, 7):
        panel.get_by_role("button", name=f"block {block}", exact=True).click()
        expect(panel.locator(".dv-sxlist li")).to_have_count(block)
    panel.get_by_role("button", name="paint block 5").click()
    expect(panel.locator(".dv-sxlist li")).to_have_count(5)  # the painted one is not told
    assert step.mask is not None
    for i in (0, 8):
        for chip in panel.locator(f".dv-sxrow[data-row='{i}'] .dv-sxchip").all():
            j = int(chip.get_attribute("data-place") or -1)
            if step.mask[length + i][j] != ((i, j) == (0, 8)):  # one wrong: A's shadow is let to see window
                chip.click()
    panel.get_by_role("button", name="Check").click()
    result = panel.locator(".dv-sxresult")
    expect(result).to_contain_text("17 of 18. The shadow of 'A' may not see 'window': 'window' is less confident")
    expect(panel.locator(".dv-sxchip[data-wrong=true]")).to_have_count(1)
    panel.locator(".dv-sxrow[data-row='0'] .dv-sxchip[data-place='8']").click()
    panel.get_by_role("button", name="Check").click()
    expect(result).to_contain_text("18 of 18")
    expect(panel.locator(".dv-sxlist li")).to_have_count(6)


def test_guesses_are_judged_by_the_trace_and_the_score_is_kept(lesson: Callable[..., Page]) -> None:
    page = lesson("revoked")
    question = page.locator(".dl .dq")
    chips = question.locator(".dv-askchip")
    chips.nth(0).click()
    chips.nth(1).click()
    chips.nth(0).click()  # a guess can be changed
    question.get_by_role("button", name="Step").click()
    expect(question).to_contain_text("As you said. 3 at row 2, column 2 was revoked.")
    expect(question.locator(".dv-askscore")).to_have_text("predicted 1 of 1")
    page.get_by_role("button", name="Next", exact=True).locator("visible=true").click()
    question.get_by_role("button", name=".40 / .80").click()
    question.get_by_role("button", name="Check").click()
    expect(question).to_contain_text("Not so.")
    expect(question.locator(".dv-askscore")).to_have_text("predicted 1 of 2")
    page.get_by_role("button", name="Next", exact=True).locator("visible=true").click()
    question.get_by_role("button", name="Show the answer").click()
    expect(question).to_contain_text("does not count")
    expect(question.locator(".dv-askscore")).to_have_text("predicted 1 of 2")
    again = page.context.new_page()
    again.goto(page.url)
    expect(again.locator(".dl .dv-askscore")).to_have_text("predicted 1 of 2")


def test_w_is_guessed_by_dragging(lesson: Callable[..., Page]) -> None:
    page = lesson("weight")
    panel = page.locator(".dl .dv-p-weight")
    expect(panel.locator(".dv-wbar").last).to_contain_text("w = ?")
    drag = panel.get_by_role("slider")
    drag.fill("0.15")
    panel.get_by_role("button", name="Check").click()
    expect(panel).to_contain_text("Close.")
    expect(panel).to_contain_text("w = .10")
    expect(panel.get_by_role("button", name="Check")).to_be_hidden()
    expect(panel).to_contain_text("D .92: Revocations nearby")


def test_the_answer_of_a_page_is_told_in_view_and_by_its_panel(lesson: Callable[..., Page]) -> None:
    """At 1280 × 720, where the panels leave little room for it."""
    shown = "(box) => box.getBoundingClientRect().bottom <= box.closest('.dv-body').getBoundingClientRect().bottom"
    for name in ("revoked", "thresholds", "weight", "six", "lost"):
        page = lesson(name, viewport={"width": 1280, "height": 720})
        expect(page.locator(".dw-busy")).to_have_count(0)
        expect(page.locator(".dl .df-pass [aria-current]")).to_have_count(1)
        if name == "six":
            page.locator(".dl .dv-p-six").get_by_role("button", name="block 6", exact=True).click()
            expect(page.locator(".dl .dv-sxlist li").nth(4)).to_contain_text("Paint it.")
        page.locator(".dl .dq").get_by_role("button", name="Show the answer").click()
        answer = page.locator(".dl .dq-answer")
        expect(answer).to_be_visible()
        page.wait_for_timeout(300)
        assert answer.evaluate(shown), name
        if name == "six":
            expect(page.locator(".dl .dv-sxlist li").nth(4)).not_to_contain_text("Paint it.")
        if name == "weight":
            expect(page.locator(".dl .dv-p-weight .dv-wbar").last).to_contain_text("w = .10")
            expect(page.locator(".dl .dv-p-weight").get_by_role("button", name="Check")).to_be_hidden()
        if name == "lost":
            expect(page.locator(".dl .dv-dhead")).to_contain_text("Lost in step 3")
            expect(page.locator(".dl .dv-dhead")).to_be_in_viewport()
        page.close()


def test_the_detour_is_found_by_trying(lesson: Callable[..., Page]) -> None:
    page = lesson("depth")
    panel = page.locator(".dl .dv-p-shadow:visible")
    panel.locator("[data-path=x][data-place='1']").click()
    expect(panel).to_contain_text("Cut.")
    panel.locator("[data-path=s][data-place='8']").click()
    expect(panel).to_contain_text("It arrives.")
    expect(page.locator(".dl .dq")).to_contain_text("Not so.")  # the first try counts


DRAGS = 40
DRAG = """async (to) => {
    const [viewer, client] = [window.shown, window.asking];
    const handle = document.querySelector('.dl .dv-handle[data-name=tau_u]');
    const next = () => new Promise((done) => setTimeout(done, 0));
    const drag = performance.now();
    handle.dispatchEvent(new KeyboardEvent('keydown', { key: to > 0 ? 'ArrowRight' : 'ArrowLeft', bubbles: true }));
    const wanted = Number(handle.getAttribute('aria-valuenow'));
    while (viewer.lane.settings.tau_u !== wanted || client.working) await next();
    const drawn = performance.now();
    const asked = { action: 'advance', run: 'none' };
    await new Promise((done) => client.bridge.ask(asked, (reply) => reply.kind === 'end' && done()));
    return [drawn - drag, performance.now() - drawn];
}"""


@pytest.mark.long
def test_a_drag_costs_little_more_than_its_decode_and_a_call(
    visit: Callable[..., Visit], model: Any, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    """Each drag beside the same decode without a page and a call of the page that is refused at once."""
    script = page_module.script
    hooks = {"const viewer = createViewer(": "const viewer = window.shown = createViewer("}
    hooks |= {"const client = new Client(": "const client = window.asking = new Client("}

    def shown(name: str) -> str:
        text = script(name)
        for old, new in hooks.items():
            text = text.replace(old, new)
        return text

    monkeypatch.setattr(page_module, "script", shown)
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = model
    with serving(build_page(studio), **launch_options()) as url:
        page = visit(f"{url}?lesson=thresholds", ready=".dl .dq:visible").page
        expect(page.locator(".dl .dv-mapcell[data-right='']")).to_have_count(0)
        handle(page, "tau_u").focus()
        times = []
        for n in range(DRAGS + 3):
            up = 1 if n % 20 < 10 else -1
            drag, call = page.evaluate(DRAG, up)
            at = float(handle(page, "tau_u").get_attribute("aria-valuenow") or 0)
            began = time.perf_counter()
            decode(model, tau_u=at)
            times.append((drag, call, 1000 * (time.perf_counter() - began)))
    drag, call, bare = (median(column) for column in zip(*times[3:], strict=True))
    figure(
        f"a drag {drag:.0f} ms, a decode {bare:.0f} ms, an empty call {call:.0f} ms: "
        f"{drag / (bare + call):.2f} × both (bar 1.5)"
    )
    assert drag / (bare + call) < 3
