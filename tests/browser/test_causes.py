"""The panel of causes and the view of attention in a real browser, on the embedded model, and in a replay from disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

import dard
from tests.browser.conftest import Visit
from tests.helpers import serving
from visual.page import build_page, launch_options
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
CITY = "The city of [MASK] [MASK] is on the Southern California coast ."
SECOND = {"prompt": CITY, "decoder": "dard", "tau_c": 0.4, "tau_u": 0.5, "ran": 3, "step": 2, "select": 4}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio()
    page = build_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


@pytest.fixture
def second(server: str, visit: Visiting) -> Callable[..., Page]:
    """The second step of the first case, with its revoked token selected."""

    def open_step(view: str = "", **options: Any) -> Page:
        query = urlencode({**SECOND, **({"view": view} if view else {})})
        page = visit(f"{server}?{query}", ready="button[data-position]:visible", **options).page
        expect(page.locator(".dv-counter b:visible")).to_have_text("2")
        return page

    return open_step


def causes(page: Page) -> Any:
    return page.get_by_label("causes", exact=True)


def bars(page: Page) -> Any:
    return page.get_by_label("without each visible token").get_by_role("button")


def test_one_key_opens_the_causes_and_a_bar_leads_to_its_token(second: Callable[..., Page]) -> None:
    page = second()
    expect(page.get_by_label("mask", exact=True)).to_be_visible()
    page.keyboard.press("c")
    first = "without Los, position 3: 0.478, candidate"
    expect(bars(page).first).to_have_attribute("aria-label", first)
    expect(page.get_by_label("mask", exact=True)).to_be_hidden()
    assert bars(page).count() == 11
    expect(page.locator(".dv-why")).to_contain_text("; without Los at 3 it would have had 0.48 and stayed a candidate.")
    expect(causes(page)).to_contain_text("Los at 3 alone decides this: without it Diego would have had 0.478")
    expect(page.locator(".dv-tie text")).to_have_text("Los lowers it by .48")
    expect(page.locator(".dv-tie")).to_be_visible()
    tints = page.locator(".dv-tint:visible")
    assert tints.count() == 11
    strength = "node => +getComputedStyle(node).opacity"
    assert page.locator("[data-position='3'] .dv-tint").evaluate(strength) > 0.9
    assert page.locator("[data-position='1'] .dv-tint").evaluate(strength) < 0.12
    bars(page).first.click()
    expect(page.locator(".dv-iplace")).to_have_text("position 3")
    hidden = page.get_by_label("if it had been seen").get_by_role("button")
    expect(hidden).to_have_attribute("aria-label", "with Diego, position 4: 0.000, masked")
    expect(causes(page)).to_contain_text("A close call: 0.502.")
    scale = page.get_by_role("group", name="scale of the bars")
    expect(scale.get_by_role("button")).to_have_text(["full scale", "zoomed in"])
    scale.get_by_role("button", name="full scale").click()
    expect(scale.get_by_role("button", name="full scale")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".dv-tie")).to_have_count(0)
    page.keyboard.press("m")
    expect(page.get_by_label("mask", exact=True)).to_be_visible()
    expect(causes(page)).to_be_hidden()
    expect(page.locator(".dv-tint").first).to_be_hidden()


def test_a_given_token_and_the_start_have_no_verdict(second: Callable[..., Page]) -> None:
    page = second("causes")
    page.locator("button[data-position='0']").first.click()
    expect(causes(page)).to_contain_text("This token is given by the template: there is no verdict on it.")
    page.locator("button[data-position='4']").first.click()
    page.keyboard.press("Home")
    expect(causes(page)).to_contain_text("No forward pass has run yet")


def test_hiding_a_token_makes_a_branch_that_says_so_and_has_a_link(
    second: Callable[..., Page], visit: Visiting
) -> None:
    page = second("causes")
    expect(bars(page).first).to_be_visible()
    causes(page).get_by_role("button", name="Branch here").click()
    expect(page.locator(".dv-branches")).to_contain_text("step 2: Los at 3 hidden from all")
    expect(page.locator(".dv-say")).to_contain_text("Los at 3 was hidden from everyone in this pass, by hand")
    expect(page.locator(".dv-why")).to_contain_text("the shadow gives it 0.48")
    page.wait_for_function("new URL(location.href).searchParams.has('edits')")
    assert json.loads(page.evaluate("new URL(location.href).searchParams.get('edits')")) == [[2, 3, None, None, "all"]]
    again = visit(page.url, ready="button[data-position]:visible").page
    expect(again.locator(".dv-branches")).to_contain_text("step 2: Los at 3 hidden from all")


WITHIN = """(heads) => heads.filter((head) => [...head.children].some((child) => child.checkVisibility()
    && child.getBoundingClientRect().right > head.getBoundingClientRect().right + 0.5)).map((head) => head.innerText)"""
FILLED = """(canvas, places) => {
    const { width } = canvas.getBoundingClientRect();
    const [copy, ratio, cell] = [canvas.cloneNode(), canvas.width / width, (width - 74) / 12];
    const g = copy.getContext('2d', { willReadFrequently: true });
    g.drawImage(canvas, 0, 0);
    const ink = (x, y) => g.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data[3] > 0;
    return places.map((j) => [6, 28].map((y) => ink(74 + j * cell + 3, y)));
}"""


def test_a_token_hidden_by_hand_is_drawn_as_hidden(second: Callable[..., Page]) -> None:
    """In the mask, its sentence, reach, attention, the context strip and the causes."""
    page = second("causes")
    strip = page.locator(".dv-context")
    expect(bars(page).first).to_be_visible()
    assert strip.evaluate(FILLED, [2, 3]) == [[True, True], [True, True]]
    causes(page).get_by_role("button", name="Branch here").click()
    expect(page.locator(".dv-branches")).to_contain_text("step 2: Los at 3 hidden from all")
    expect(causes(page)).to_contain_text(
        "Nothing by the mask, which showed it every other token decided before this pass; "
        "but Los at 3 was hidden from everyone in this pass, by hand.",
    )
    expect(causes(page).locator(".dv-csum")).to_contain_text("Los at 3 was hidden from everyone in this pass, by hand.")
    # One is almost at τ_u = 0.5, and every number of it says on which side.
    expect(bars(page).nth(1)).to_have_attribute("aria-label", "without The, position 0: 0.4996, candidate")
    expect(causes(page).locator(".dv-csum")).to_contain_text("leaves it at 0.452 to 0.4996.")
    for button in causes(page).locator(".dv-whatif button").all():
        assert button.evaluate("(box) => box.scrollWidth <= box.clientWidth"), button.inner_text()
    expect(page.locator("[data-position='3'] .dv-tint.dv-hid")).to_be_visible()
    assert strip.evaluate(FILLED, [2, 3]) == [[True, True], [False, False]]
    page.keyboard.press("m")
    note = page.get_by_label("mask", exact=True).locator(".dv-masknote")
    expect(note).to_contain_text("s4 → x3 blocked.")
    expect(note).to_contain_text("may not see Los (U 0.51): Los at 3 was hidden from everyone in this pass, by hand.")
    assert note.evaluate("(box) => box.scrollHeight <= box.clientHeight")
    page.get_by_role("button", name="reach").click()
    expect(page.get_by_label("mask", exact=True)).to_contain_text("none contaminated")
    expect(note).not_to_contain_text("arrives")
    page.get_by_role("button", name="attention").click()
    expect(page.locator(".dv-insp")).to_contain_text("s query in layer 6: ")
    expect(page.locator(".dv-insp")).not_to_contain_text("Los .")


def test_a_token_hidden_by_hand_from_one_check_is_drawn_as_hidden_from_it(second: Callable[..., Page]) -> None:
    page = second("causes")
    expect(bars(page).first).to_be_visible()
    causes(page).get_by_role("button", name="this check").click()
    causes(page).get_by_role("button", name="Branch here").click()
    expect(page.locator(".dv-branches")).to_contain_text("step 2: Los at 3 hidden from position 4")
    expect(page.get_by_label("if it had been seen").get_by_role("button")).to_have_attribute(
        "aria-label", "with Los, position 3: 0.001, masked"
    )
    expect(causes(page)).to_contain_text("Hidden by the mask, or by hand")
    assert page.locator(".dv-context").evaluate(FILLED, [3]) == [[True, False]]
    page.keyboard.press("m")
    note = page.get_by_label("mask", exact=True).locator(".dv-masknote")
    expect(note).to_contain_text("Los at 3 was hidden from the prediction of position 4, by hand.")


def test_attention_is_drawn_on_the_mask_and_told_in_numbers(second: Callable[..., Page]) -> None:
    page = second()
    page.get_by_role("button", name="attention").click()
    mask = page.get_by_label("mask", exact=True)
    expect(mask).to_contain_text("layer 6 of 6")
    expect(mask.locator(".dv-masknote")).to_contain_text("The shadow of Diego gives Los .74 of its attention")
    expect(page.locator(".dv-insp")).to_contain_text(
        "s query in layer 6: Los .74, California .25; all others together .01"
    )
    page.keyboard.press("[")
    expect(mask).to_contain_text("layer 5 of 6")
    stack = mask.locator(".dv-stack")
    box = stack.bounding_box()
    assert box is not None
    stack.click(position={"x": 60, "y": box["height"] - 6})
    expect(mask).to_contain_text("mean of 6 layers")
    page.wait_for_function("new URL(location.href).searchParams.get('view') === 'attention0'")
    mask.get_by_role("button", name="Causes").last.click()
    expect(bars(page).first).to_be_visible()


def test_a_replay_shows_the_causes_it_was_saved_with_and_says_where_it_has_none(replay: Visiting) -> None:
    session = dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5)
    trace = session.run()
    *_, verdict = dard.examine(session, 2, 4)
    trace.causes = [verdict]
    page = replay(dard.Trace.from_bytes(trace.to_bytes())).page
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.locator("button[data-position='4']").first.click()
    page.keyboard.press("c")
    expect(bars(page).first).to_have_attribute("aria-label", "without Los, position 3: 0.478, candidate")
    expect(page.locator(".dv-why")).to_contain_text("without Los at 3 it would have had 0.48 and stayed a candidate.")
    page.locator("button[data-position='3']").first.click()
    expect(causes(page)).to_contain_text("This run is a recording, and there is no model to ask.")
    page.keyboard.press("m")
    page.get_by_role("button", name="attention").click()
    expect(page.locator(".dv-masknote:not(.dv-graphnote)")).to_have_text(
        "This run is a recording, and there is no model to ask for its attention."
    )


def test_the_tokens_of_the_same_pass_are_shown_in_place(server: str, visit: Visiting) -> None:
    query = urlencode({"prompt": CITY, "decoder": "standard", "steps": 1, "ran": 1, "step": 1, "select": 3})
    page = visit(f"{server}?{query}&view=causes", ready="button[data-position]:visible").page
    beside = page.get_by_label("tokens of the same pass").get_by_role("button")
    expect(beside).to_have_attribute("aria-label", "with Diego, position 4: 0.000, San would be unmasked")
    expect(page.locator(".dv-why")).to_contain_text("without seeing the other token of the same pass")
    expect(causes(page)).to_contain_text("the mask showed it every token that was decided before this pass")
    expect(causes(page)).not_to_contain_text("every other decided")
    expect(causes(page).locator(".dv-csum")).to_contain_text("San would have been unmasked")


def test_layers_are_asked_for_and_tell_where_a_word_comes_from(second: Callable[..., Page], replay: Visiting) -> None:
    page = second()
    section = page.locator(".dv-perlayer")
    expect(section.locator(".dv-lbody")).to_be_hidden()
    section.get_by_role("button", name="show").click()
    expect(section).to_contain_text("From layer 5 on it says Angeles (0.20, in the last 0.53)")
    expect(section.locator(".dv-lbars > span")).to_have_count(6)
    expect(section.locator(".dv-lbars > .dv-lheld")).to_have_count(0)  # no layer said what was taken back
    page.keyboard.press("ArrowLeft")
    expect(section.locator(".dv-lrow")).to_have_count(2)  # the token's own query, and its shadow's
    expect(section.locator(".dv-lheld")).to_have_count(4)
    expect(section.locator(".dv-lbars > span").nth(4)).to_have_attribute("title", "layer 5: Diego .24, Diego .24")
    page.locator("button[data-position='0']").first.click()
    expect(section).to_contain_text("given by the template")
    section.get_by_role("button", name="hide").click()
    expect(section.locator(".dv-lbody")).to_be_hidden()
    session = dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5)
    trace = session.run()
    assert replay(trace).page.locator(".dv-perlayer").is_hidden()
    trace.layers = [dard.layers(session, 1, 3)]
    trace.learn(session.model.token_text)
    page = replay(dard.Trace.from_bytes(trace.to_bytes())).page
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.locator("button[data-position='3']").first.click()
    page.locator(".dv-perlayer").get_by_role("button", name="show").click()
    expect(page.locator(".dv-perlayer")).to_contain_text("Layer 6 alone says Los (0.51); before that ")
    page.locator("button[data-position='4']").first.click()
    expect(page.locator(".dv-perlayer")).to_contain_text("saved without the layers of this position")


@pytest.mark.parametrize("decoder", ["dard", "dapd"])
def test_headings_stay_in_their_panels(server: str, visit: Visiting, decoder: str) -> None:
    page = visit(f"{server}?{urlencode({**SECOND, 'decoder': decoder, 'step': 1})}", ready=".dv-sides:visible").page
    for key in "cdm":
        page.keyboard.press(key)
        expect(page.locator(".dv-sides:visible [aria-selected=true]")).to_have_attribute("title", f"Key {key}")
        assert page.locator(".dv-ph:visible").evaluate_all(WITHIN) == [], key


def test_at_1680_both_stand_side_by_side(second: Callable[..., Page]) -> None:
    page = second("causes", viewport={"width": 1680, "height": 900})
    expect(bars(page).first).to_be_visible()
    mask, box = (page.get_by_label(name, exact=True).bounding_box() for name in ("mask", "causes"))
    assert mask and box and abs(mask["y"] - box["y"]) < 1 and box["x"] >= mask["x"] + mask["width"]
