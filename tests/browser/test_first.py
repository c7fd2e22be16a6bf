"""The first minute on the embedded model: for a visitor who does nothing, presses Play, uses keys, or a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO
from tests.browser.conftest import Visit
from tests.helpers import serving
from visual.page import build_page, launch_options
from visual.server.studio import Studio

READY = "button[data-position]:visible"
REVOKED = re.compile("Revoked.*Diego gets less than 1 %")
AT_ONCE = """new MutationObserver((_, observer) => {
    const button = document.querySelector('.dv-btn[data-name=Pause]');
    if (!button) return;
    observer.disconnect();
    button.click();
}).observe(document, { subtree: true, attributes: true, childList: true });"""
HEIGHTS = "(boxes) => Math.min(...boxes.map((box) => box.getBoundingClientRect().height))"
LOW = """() => [...document.querySelectorAll('button, select, input, summary, [role=tab]')]
    .filter((one) => !one.matches('.dv-tok, .visually-hidden *') && one.checkVisibility({ visibilityProperty: true }))
    .map((one) => one.closest('label') ?? one)
    .map((one) => [one.innerText || one.ariaLabel, one.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 1 && (height < 44 || width < 14))
    .map(([name, { width, height }]) => [name, width, height])"""
WATCHED = """() => {
    window.seen = [];
    const look = () => seen.push(document.querySelector('.dv-buttons [data-name=Pause]')
        ? +document.querySelector('.dv-counter b').textContent : -1);
    const whole = { subtree: true, childList: true, characterData: true };
    new MutationObserver(look).observe(document.querySelector('.dv-buttons'), whole);
}"""
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = dard.load_model("embedded")
    page = build_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


@pytest.fixture
def first(server: str, visit: Callable[..., Visit]) -> Callable[..., Page]:
    def open_first(query: str = "", **options: Any) -> Page:
        return visit(server + query, ready=READY, newcomer=True, **options).page

    return open_first


def callout(page: Page) -> Locator:
    return page.locator(".df-say")


def verdicts(page: Page) -> Locator:
    return page.locator(".df-answer")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def long_enough_to_read_pause(page: Page) -> None:
    """It plays from here on, however late that is, and who presses now has read what is on the button."""
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.wait_for_timeout(800)


@pytest.mark.parametrize("options", [{}, PHONE], ids=["laptop", "phone"])
def test_doing_nothing_shows_a_revocation_and_why(first: Callable[..., Page], options: dict[str, Any]) -> None:
    page = first(**options)
    expect(callout(page)).to_contain_text(REVOKED)
    expect(callout(page)).to_have_attribute("aria-live", "polite")
    expect(verdicts(page).first).to_have_text("wrong: Los Diego")
    for meaning in ("nothing is decided here", "still on trial", "unless a later check says otherwise"):
        expect(page.locator(".df-legend")).to_contain_text(meaning)
    expect(page.locator(".df-tip")).to_be_visible()
    tip, token = page.locator(".df-tip").bounding_box(), page.locator("[data-position='4']:visible").bounding_box()
    assert tip and token and token["x"] < tip["x"] + tip["width"] / 2 < token["x"] + token["width"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if options:  # the hook begins below the tabs, and no keys are spoken of where there are none
        hook = page.locator(".df-hook").bounding_box()
        assert hook and hook["y"] < 60
        page.keyboard.press("Shift")
        expect(page.locator(".df-do")).to_contain_text("Your turn")
        expect(page.locator(".df-do")).not_to_contain_text("space")
        assert page.locator(".df-next .dv-chip").evaluate_all(HEIGHTS) >= 44
        press(page, "Everything")
        assert page.locator(".dw-gallery .dv-chip").evaluate_all(HEIGHTS) >= 44
    else:
        expect(verdicts(page).last).to_have_text("right: Los Angeles")
        press(page, "Again")
        expect(callout(page)).to_contain_text("Start.")


@pytest.mark.parametrize("width", [820, 1024])
def test_nothing_leaves_its_panel_on_a_tablet(first: Callable[..., Page], width: int) -> None:
    page = first(viewport={"width": width, "height": 1180}, reduced_motion="reduce")
    edge = "(box) => box.getBoundingClientRect().right"
    rows = page.locator(".df-who")
    assert rows.evaluate(edge) < rows.locator("xpath=ancestor::section[1]").evaluate(edge) - 4
    for meaning in page.locator(".df-mean").all():  # a state and its meaning on one line
        assert meaning.evaluate("(box) => box.getBoundingClientRect().height") < 24
    page.keyboard.press("f")
    field = page.get_by_role("combobox", name="Prompt")
    assert field.evaluate("(box) => box.getBoundingClientRect().width") > 370
    page.get_by_role("tab", name="Compare").click()
    page.locator(".dv-chip:visible", has_text="Los Diego").first.click()
    expect(page.locator(".dw-table:visible tbody tr")).to_have_count(4)
    for who in page.locator(".dv-who:visible > span").all():
        assert who.evaluate("(box) => box.scrollWidth <= box.clientWidth"), who.inner_text()


def test_keys_take_over_and_nothing_moves(first: Callable[..., Page]) -> None:
    page = first()
    boxes = []
    long_enough_to_read_pause(page)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.keyboard.press("Home")
    for sentence in (
        "nothing is decided yet",
        "48 % sure of Diego",
        "Diego gets less than 1 %",
        "53 % sure of Angeles",
    ):
        expect(callout(page)).to_contain_text(sentence)
        boxes.append([page.locator(one).bounding_box() for one in (".df-bubble", ".df-others", "[data-position='11']")])
        page.keyboard.press("ArrowRight")
    assert len({str(box) for box in boxes}) == 1, "\n".join(map(str, boxes))
    assert verdicts(page).all_inner_texts()[-1].endswith("Los Angeles")


def test_a_click_on_pause_pauses_and_play_goes_on(first: Callable[..., Page]) -> None:
    page = first()
    long_enough_to_read_pause(page)
    press(page, "Pause")
    expect(page.locator(".df-do")).to_contain_text("Your turn")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    press(page, "Step")
    press(page, "Play")
    expect(callout(page)).to_contain_text(REVOKED)


def test_a_click_aimed_at_play_plays(first: Callable[..., Page]) -> None:
    """It says Pause by the time the click arrives; nobody could have read that."""
    page = first(script=AT_ONCE)
    expect(page.locator(".df-do")).to_contain_text("Your turn")
    expect(callout(page)).to_contain_text(REVOKED)


def test_without_motion_it_stands_at_the_decisive_step(first: Callable[..., Page]) -> None:
    page = first(reduced_motion="reduce")
    expect(callout(page)).to_contain_text(
        "Checked again with Los in view, Diego gets less than 1 %. That is not above the lower line (40 %)"
    )
    expect(callout(page)).to_contain_text("The model now prefers Angeles, with 53 %")
    rule = page.locator(".df-exact p")
    expect(rule).to_be_hidden()
    page.get_by_text("exactly").click()
    expect(rule).to_contain_text("not above τc = 0.40")
    expect(page.locator("[data-position='4']:visible")).to_contain_text(".00")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    # Los has 0.502, and τ_u is 0.50: on its chip, on the ruler, and in every sentence the two are told apart.
    expect(page.locator("[data-position='3']:visible")).to_contain_text(".502")
    expect(page.locator(".df-pin bdi").last).to_have_text("Los .502")
    page.keyboard.press("f")
    los = page.locator("[data-position='3']:visible")
    los.click()
    expect(los.locator(".dv-n")).to_have_text(".502")
    expect(los).to_have_attribute("aria-label", re.compile(r"confidence 0\.502"))
    expect(page.locator(".dv-why")).to_contain_text("0.502, above τu = 0.500")
    expect(page.locator(".dv-decides .dv-prow > span").first).to_have_text(".502")


def test_everything_is_shown_when_asked_for_and_remembered(first: Callable[..., Page]) -> None:
    page = first()
    expect(page.get_by_role("combobox", name="Prompt")).to_be_hidden()
    expect(page.get_by_label("attention mask")).to_be_hidden()
    page.keyboard.press("f")
    expect(page.get_by_role("combobox", name="Prompt")).to_have_value(LOS_DIEGO)
    expect(page.get_by_label("attention mask")).to_be_visible()
    expect(callout(page)).to_be_hidden()
    home = page.url.split("?")[0]
    page.goto(home)
    expect(page.get_by_label("attention mask")).to_be_visible()
    story = page.get_by_role("group", name="View").get_by_role("button", name="Story")
    expect(story).to_have_attribute("aria-pressed", "false")
    page.get_by_role("combobox", name="Prompt").press("f")  # a letter
    expect(callout(page)).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    expect(callout(page)).to_be_visible()
    expect(story).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**?show=story*")
    page.reload()
    expect(callout(page)).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Everything").click()
    expect(page.get_by_role("combobox", name="Prompt")).to_have_value(LOS_DIEGO)
    page.goto(f"{home}?show=story")  # a link counts more than what was chosen
    expect(callout(page)).to_be_visible()


def test_on_a_small_projector_nothing_is_covered_or_cut(first: Callable[..., Page]) -> None:
    page = first("?projector=1", viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page.keyboard.press("End")
    expect(verdicts(page).last).to_have_text("right: Los Angeles")
    assert page.locator(".df-verdict").evaluate("(box) => box.scrollWidth <= box.clientWidth")
    for tab in ("Watch", "Compare"):
        page.get_by_role("tab", name=tab).click()
        learn, tools = (
            page.get_by_role("tab", name="Learn").bounding_box(),
            page.locator(".dw-tools:visible").bounding_box(),
        )
        assert learn and tools and learn["x"] + learn["width"] <= tools["x"]
        assert tools["x"] + tools["width"] <= 1280


def test_a_sentence_of_ones_own_plays_from_its_start(first: Callable[..., Page]) -> None:
    page = first(viewport={"width": 1280, "height": 720})
    press(page, "a sentence of your own")  # below the fold: what it leads to begins at its top
    assert page.evaluate("scrollY") == 0
    field = page.get_by_role("combobox", name="Prompt")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("placeholder", re.compile(r"\[MASK\]"))
    expect(page.locator("[data-position='4']:visible")).to_have_attribute("aria-pressed", "true")
    field.fill("The city of [MASK] Diego is on the [MASK] California coast .")
    field.press("Escape")
    expect(field).not_to_be_focused()
    page.evaluate(WATCHED)
    press(page, "Decode")
    expect(page.locator("[data-position='3']:visible")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".dv-judged:visible")).to_have_text("right")
    steps = [step for step in page.evaluate("seen") if step >= 0]
    assert steps[0] == 0, "it plays, and before the first step"


def test_examples_are_one_stop_for_tab_and_a_focused_tab_is_seen(first: Callable[..., Page]) -> None:
    page = first(reduced_motion="reduce")
    page.keyboard.press("f")
    chips = page.locator(".dw-gallery .dv-chip")
    assert chips.evaluate_all("(all) => all.filter((chip) => chip.tabIndex === 0).length") == 1
    chips.first.focus()
    step = page.locator(".dv-counter:visible").inner_text()
    page.keyboard.press("ArrowRight")
    expect(chips.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(chips.last).to_be_focused()
    assert page.locator(".dv-counter:visible").inner_text() == step
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.dw-gallery')")
    page.keyboard.press("Shift+Tab")
    expect(chips.last).to_be_focused()
    page.get_by_role("tab", name="Watch").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.role") == "tab"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2


def test_a_link_opens_the_full_view_with_its_verdict_and_play_pauses(first: Callable[..., Page]) -> None:
    page = first(f"?prompt={quote(LOS_DIEGO)}&tau_c=0.4&tau_u=0.5&ran=3&step=1")
    expect(page.get_by_role("combobox", name="Prompt")).to_be_visible()
    expect(page.locator(".dv-judged:visible")).to_have_text("wrong")
    press(page, "Play")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    slider = page.get_by_role("slider", name="step", exact=True)
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(page.locator(".dv-judged:visible")).to_have_count(0)
    page.get_by_label("pause at revocations").uncheck()
    press(page, "Play")
    expect(slider).to_have_attribute("aria-valuenow", "3")
    expect(page.locator(".dv-judged:visible")).to_have_text("right")


def test_what_a_finger_must_hit_is_44_px_high(first: Callable[..., Page]) -> None:
    """On a phone, on every tab, in a story and with everything shown."""
    page = first(**PHONE)
    expect(page.locator(".df-say")).to_be_visible()
    assert page.evaluate(LOW) == []
    press(page, "Everything")
    for name in ("Watch", "Compare", "Learn", "Lab"):
        page.get_by_role("tab", name=name).click()
        page.wait_for_timeout(700)
        assert page.evaluate(LOW) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
