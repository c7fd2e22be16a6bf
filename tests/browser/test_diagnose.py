"""Why a wrong answer is wrong, in a real browser: the panel, rings and letters, the marks under the score, files."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect
from torch import Tensor

import dard
from dard.models.scripted import LOS_DIEGO, ScriptedModel, los_diego
from dard.trace.diagnosis_panel import panel
from tests.browser.conftest import Visit, build_scripted_page
from tests.helpers import serving
from visual.page import launch_options
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
CITY = "/San Diego|Los Angeles/"
LOST = {"prompt": LOS_DIEGO, "decoder": "standard", "steps": 1, "ran": 1, "step": 1, "select": 4}


class Patient(ScriptedModel):
    """Takes a tenth of a second for a pass, so that there is time to stop it."""

    def __init__(self) -> None:
        super().__init__(
            ["go", "on", "and"], lambda position, _: {"on": 0.9} if position % 2 else {"and": 0.8}, name="patient"
        )

    def logits(self, *call: Tensor) -> Tensor:
        time.sleep(0.1)
        return super().logits(*call)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    models = {"embedded": los_diego(), "patient": Patient()}
    studio = Studio(tuple(models))
    studio.models.loaded |= models
    with serving(build_scripted_page(studio), **launch_options()) as url:
        yield url


@pytest.fixture
def watch(server: str, visit: Visiting) -> Callable[..., Page]:
    def open_watch(query: dict[str, Any], **options: Any) -> Page:
        page = visit(f"{server}?{urlencode(query)}", ready="button[data-position]:visible", **options).page
        expect(page.locator(".dv-counter b:visible")).to_have_text(str(query.get("step", 0)))
        return page

    return open_watch


def known(steps: int = 1, expected: str | None = None) -> tuple[dard.Trace, dard.Diagnosis]:
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=steps)
    session.run()
    return session.trace, dard.diagnose(session, expected=expected)


def plain(sentence: str) -> str:
    """As the page shows it: words in a box instead of in quotes."""
    return sentence.replace("'", "")


def why(page: Page) -> Any:
    return page.get_by_role("button", name="Why is it wrong?")


def boxes(page: Page) -> list[Any]:
    """Of everything that must not move."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.dw-viewer')].filter((box) => box.offsetParent).flatMap((box) =>
            [...box.querySelectorAll(
            '.dv-panel, .dv-tok, .dv-dhead, .dv-dfacts > div, .dv-dmore, .dv-dacts, .dv-score')]
            .filter((each) => each.offsetParent).map((each) => { const { x, y, width, height } =
            each.getBoundingClientRect(); return [each.className.split(' ')[0], x, y, width, height].join(' '); }))"""
    )


def test_one_key_tells_where_it_was_lost_by_whom_and_what_would_have_saved_it(watch: Callable[..., Page]) -> None:
    trace, diagnosis = known()
    told = panel(trace, diagnosis)
    page = watch(LOST)
    expect(why(page)).to_be_visible()
    page.keyboard.press("Home")
    expect(why(page)).to_be_hidden()  # the answer is not there yet
    page.keyboard.press("End")
    page.keyboard.press("d")
    headline = page.locator(".dv-dhead")
    expect(page.locator(".dv-drun.dv-done")).to_contain_text(told.progress)
    expect(headline).to_have_text(plain(diagnosis.sentences[0]))
    expect(headline).to_be_focused()
    expect(headline).to_have_attribute("aria-live", "polite")
    facts = page.locator(".dv-dfacts dd")
    names = " ".join(f"{letter} {each.name}." for letter, each in zip("ab", told.marked, strict=True))
    expect(facts.nth(0)).to_contain_text(told.where)
    expect(facts.nth(1)).to_have_text(f"{plain(names)} {told.who}")
    expect(facts.nth(2)).to_have_text(f"Conflict. {told.how}")
    more = page.locator(".dv-dmore")
    for sentence in (told.saved, *told.causes):
        expect(more).to_contain_text(plain(sentence))
    marks = more.get_by_role("img")
    assert [mark.get_attribute("aria-label") for mark in marks.all()] == [each.say for each in told.strips[0].values]
    rings = page.locator(".dv-guilt:visible")
    expect(rings).to_have_text(["a", "b"])
    for position, each in zip((3, 4), told.marked, strict=True):
        expect(page.locator(f"[data-position='{position}']:visible")).to_have_attribute("aria-description", each.say)
    expect(page.locator(".dv-passtie:visible text")).to_have_text("same pass: step 1")
    row = page.get_by_label("score", exact=True)
    expect(row).to_have_attribute("aria-description", re.compile(re.escape(told.row)))
    assert "view=diagnosis" in page.url

    before = boxes(page)
    page.keyboard.press("Home")
    expect(rings.first).to_have_class("dv-guilt dv-past")
    page.keyboard.press("End")
    assert boxes(page) == before
    page.keyboard.press("Home")
    page.get_by_role("button", name="Show the moment").click()
    expect(page.locator(".dv-counter b:visible")).to_have_text("1")
    expect(page.locator(".dv-iplace")).to_have_text("position 3")

    page.get_by_role("button", name="Try steps = 2").click()
    expect(page.locator(".dv-counter b:visible")).to_have_text("0")
    page.keyboard.press("End")
    expect(page.locator(".dv-judged").first).to_have_text("right")
    expect(page.locator(".dv-dmessage")).to_have_text("Its task says that this answer is right.")
    expect(why(page)).to_be_hidden()


def test_a_link_opens_it_and_a_branch_masks_the_guilty(watch: Callable[..., Page]) -> None:
    page = watch(LOST | {"view": "diagnosis"}, viewport={"width": 390, "height": 844})
    expect(page.locator(".dv-drun.dv-done")).to_be_visible()
    expect(page.locator(".dv-dmarks .dv-dmark")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Mask a and go on").click()
    expect(page.locator(".dv-branches .dv-chip")).to_have_count(2)
    expect(page.locator(".dv-counter b:visible")).to_have_text("1")
    page.keyboard.press("End")
    expect(page.locator("[data-position='3']:visible .dv-t")).to_have_text("San")
    page.wait_for_function("""new URL(location.href).searchParams.get('edits') === '[[1,3,null,"M"]]'""")


def test_esc_stops_and_keeps_what_is_known(watch: Callable[..., Page]) -> None:
    page = watch(
        {"prompt": "go", "model": "patient", "decoder": "standard", "gen_length": 5, "steps": 1, "ran": 1, "step": 1}
    )
    page.keyboard.press("d")
    message = page.locator(".dv-dmessage")
    expect(message).to_contain_text("No task says whether this answer is right.")
    field = page.get_by_label("expected answer")
    field.fill("/(/")
    page.get_by_role("button", name="Look").click()
    expect(message).to_contain_text("is no pattern")
    field.fill("nothing")
    page.get_by_role("button", name="Look").click()
    run = page.locator(".dv-drun")
    expect(run).to_contain_text("so far")
    page.locator(".dv-dhead").focus()
    page.keyboard.press("Escape")
    expect(run.get_by_role("button", name="Go on")).to_be_visible()
    expect(run).to_contain_text("so far")
    told = page.evaluate("document.querySelector('.dv-drun span').textContent")
    before = boxes(page)
    run.get_by_role("button", name="Go on").click()
    expect(page.locator(".dv-drun.dv-done")).to_contain_text("Measured: ")
    assert "so far" in told and boxes(page) == before
    expect(page.locator(".dv-dhead")).to_contain_text("The model itself is wrong")
    field.fill("on")
    field.press("Enter")
    expect(page.locator(".dv-dhead")).to_have_text("The answer is right: it is what was expected.")


def test_side_by_side_every_lane_has_its_own(server: str, visit: Visiting) -> None:
    lanes = [{"decoder": "standard", "settings": {"steps": steps}} for steps in (1, 2)]
    asked = {"prompt": LOS_DIEGO, "model": "embedded", "lanes": lanes, "ran": 9, "step": 9, "position": 3, "lane": 1}
    page = visit(f"{server}?{urlencode({'compare': json.dumps(asked)})}", ready="button[data-position]:visible").page
    expect(why(page).filter(visible=True)).to_have_count(1)
    why(page).filter(visible=True).click()
    expect(page.locator(".dv-drun.dv-done:visible")).to_be_visible()
    expect(page.locator(".dv-lane.dv-current .dv-who b")).to_have_text("Standard steps 1")
    expect(page.locator(".dv-lane").nth(1).locator(".dv-guilt")).to_have_text(["a", "b"])
    expect(page.locator(".dv-lane").nth(2).locator(".dv-guilt")).to_have_count(0)
    page.get_by_role("button", name="Try steps = 2").click()
    expect(page.get_by_role("tab", name="Watch", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".dv-judged:visible").first).to_have_text("right")


def test_a_file_shows_its_diagnosis_without_a_model(replay: Visiting) -> None:
    trace, diagnosis = known(expected=CITY)
    bare = dard.Trace.from_bytes(trace.to_bytes())
    trace.diagnosis = diagnosis
    page = replay({"with": trace, "without": bare}, "#step=1&side=diagnosis&lane=0").page
    expect(page.locator(".dv-dhead")).to_have_text(plain(diagnosis.sentences[0]))
    expect(page.locator(".dv-guilt:visible")).to_have_text(["a", "b"])
    shown = page.locator(".dv-p-diagnosis")
    expect(shown.get_by_role("button", name="Show the moment")).to_be_visible()
    assert shown.get_by_role("button").filter(visible=True).count() == 2  # that, and Copy
    expect(shown.get_by_label("expected answer")).to_be_hidden()
    page.evaluate("viewer.setState({ lane: 1 })")
    expect(page.locator(".dv-dmessage")).to_contain_text("It was saved without a diagnosis.")
    page.keyboard.press("m")
    expect(page.locator(".dv-guilt:visible")).to_have_count(0)
    page.keyboard.press("d")
    expect(page.locator(".dv-dmessage")).to_be_focused()
