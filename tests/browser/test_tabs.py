"""What the tabs do around the viewer, in a real browser: settings, addresses, messages, focus, and room for all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.browser.conftest import Visit, build_scripted_page
from tests.browser.test_open import DROP, sent
from tests.helpers import serving
from visual.page import launch_options
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
Open = Callable[..., Page]
READY = "button[data-position]:visible"
SUM = "Q : Tom has 7 apples . He gets 5 more and loses 3 . How many apples ? A :"
FOLDER = "some/folder"  # a checkpoint whose defaults are known once it is loaded


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio(("embedded", "mmada-8b-mixcot", FOLDER))
    mmada, unknown = los_diego(), los_diego()
    mmada.defaults = {"tau_c": 0.4, "tau_u": 0.9}  # type: ignore[attr-defined]
    unknown.defaults = {"tau_c": 0.35, "tau_u": 0.45}  # type: ignore[attr-defined]
    studio.models.loaded |= {"embedded": dard.load_model("embedded"), "mmada-8b-mixcot": mmada}
    page = build_scripted_page(studio)
    studio.models.loaded[FOLDER] = unknown
    with serving(page, **launch_options()) as url:
        yield url


@pytest.fixture
def opened(server: str, visit: Visiting) -> Open:
    def open_page(query: str = "", width: int = 1280, height: int = 800, **options: Any) -> Page:
        ready = options.pop("ready", READY)
        return visit(server + query, ready=ready, viewport={"width": width, "height": height}, **options).page

    return open_page


def press(page: Page, name: str) -> None:
    page.locator("button:visible").get_by_text(name, exact=True).first.click()


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def slider(page: Page) -> Locator:
    return page.locator("[role=slider][aria-label=step]:visible")


def token(page: Page, position: int) -> Locator:
    return page.locator(f"button[data-position='{position}']:visible").first


def decoded(page: Page, case: str = "Los Diego") -> None:
    page.locator(".dw-gallery:visible button").get_by_text(case, exact=True).click()
    chip = page.locator(".dw-gallery:visible button").get_by_text(case, exact=True)
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".dw-busy")).to_have_count(0)
    expect(slider(page)).not_to_have_attribute("aria-valuemax", "0")


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def at_place(page: Page, name: str, words: str) -> None:
    """The address has settled."""
    page.wait_for_url(lambda url: words in parse_qs(urlsplit(url).query).get(name, [""])[0])


# Settings: what is shown is used.


def test_the_panel_shows_what_the_model_uses(opened: Open) -> None:
    page = opened(f"?prompt={quote(SUM)}")
    press(page, "Change")
    length, block = page.get_by_label("gen length"), page.get_by_label("block length")
    expect(length).to_have_value("24")
    expect(block).to_have_value("24")
    expect(page.locator("button[data-position]:visible")).to_have_count(24)
    page.get_by_label("Model", exact=True).select_option("mmada-8b-mixcot")
    expect(page.get_by_label("τ_c", exact=True)).to_have_value("0.4")
    expect(page.get_by_label("τ_u", exact=True)).to_have_value("0.9")


def test_a_value_equal_to_the_decoders_default_can_be_asked_for(opened: Open) -> None:
    page = opened(f"?prompt={quote(SUM)}&gen_length=32&block_length=")
    expect(page.locator("button[data-position]:visible")).to_have_count(32)
    press(page, "Change")
    expect(page.get_by_label("gen length")).to_have_value("32")
    expect(page.get_by_label("block length")).to_have_value("")
    page.get_by_label("gen length").fill("16")
    page.get_by_label("gen length").press("Tab")
    page.keyboard.press("Escape")
    press(page, "Decode")
    expect(page.locator("button[data-position]:visible")).to_have_count(16)
    at_place(page, "gen_length", "16")
    assert asked(page)["block_length"] == [""] and "tau_c" not in asked(page) and "seed" not in asked(page)


def test_what_a_checkpoint_brings_is_shown_once_it_is_loaded(opened: Open) -> None:
    page = opened(f"?prompt={quote(LOS_DIEGO)}")
    press(page, "Change")
    page.get_by_label("Model", exact=True).select_option(FOLDER)
    expect(page.get_by_label("τ_c", exact=True)).to_have_value("0.6")
    page.get_by_label("τ_c", exact=True).fill("0.4")
    page.keyboard.press("Escape")
    press(page, "Decode")
    expect(page.locator(".dw-summary").first).to_contain_text("0.40")
    expect(page.locator(".dw-summary").first).to_contain_text("0.45")
    at_place(page, "model", FOLDER)
    assert asked(page)["tau_c"] == ["0.4"] and "tau_u" not in asked(page)


# Playing and branches.


def test_play_from_the_first_view_goes_on_to_the_end(opened: Open) -> None:
    page = opened()
    page.get_by_label("speed").fill("7")
    press(page, "Play")
    expect(page.locator(".dv-status")).to_contain_text("Decoding stopped")
    expect(token(page, 4)).to_have_attribute("aria-label", re.compile("unmasked"))


def branched(page: Page) -> None:
    decoded(page)
    press(page, "Step")
    token(page, 3).click()
    page.get_by_label("other token").fill("San")
    page.get_by_label("unmasked", exact=True).click()
    press(page, "Branch here")
    expect(page.get_by_role("button", name="step 1, position 3: San, unmasked")).to_have_attribute(
        "aria-pressed", "true"
    )
    press(page, "Run to end")
    expect(token(page, 4)).to_have_attribute("aria-label", re.compile("Diego, unmasked"))


def test_side_by_side_each_lane_shows_its_own_data_and_branches_itself(opened: Open) -> None:
    page = opened()
    branched(page)
    press(page, "Show")
    lanes = page.locator(".dv-lane:has(button[data-position])")
    expect(lanes).to_have_count(2)
    slider(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    for lane, word in ((lanes.nth(0), "San"), (lanes.nth(1), "Los")):
        lane.locator("button[data-position='3']").click()
        expect(page.locator(".dv-why")).to_contain_text(word)
    lanes.nth(1).locator("button[data-position='4']").click()
    page.get_by_label("other token").fill("Angeles")
    page.get_by_label("unmasked", exact=True).click()
    press(page, "Branch here")
    expect(page.get_by_role("button", name="step 2, position 4: Angeles, unmasked")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(token(page, 3)).to_have_attribute("aria-label", re.compile("Los"))


def test_a_token_decided_again_is_not_struck_through(opened: Open) -> None:
    page = opened()
    decoded(page)
    token(page, 4).click()
    slider(page).focus()
    page.keyboard.press("n")
    expect(page.locator(".dv-itoken:visible s")).to_have_count(1)
    word = page.locator(".dv-itoken:visible").inner_text()
    page.evaluate("(word) => { document.querySelector('.dv-itoken s').textContent = word; }", word)
    page.keyboard.press("End")
    expect(page.locator(".dv-badge[data-s=U]").first).to_be_visible()
    expect(page.locator(".dv-itoken:visible s")).to_have_count(0)


# Compare.


@pytest.mark.parametrize("width", [1280, 390])
def test_the_settings_of_every_lane_are_on_screen(opened: Open, width: int) -> None:
    page = opened(width=width)
    tab(page, "Compare")
    expect(page.locator(".dw-slot")).to_have_count(4)
    for number in range(4):
        page.locator(".dw-slot").nth(number).get_by_role("button", name="Change").click()
        box = page.locator(".dw-panel:visible").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
        page.keyboard.press("Escape")


def test_a_case_defines_all_lanes(opened: Open) -> None:
    page = opened()
    tab(page, "Compare")
    decoded(page, "A Sudoku that clashes")
    alone = page.locator(".dw-slots").inner_text()
    assert "steps 3" in alone.replace("\n", " ")
    decoded(page, "Los Diego")
    page.get_by_role("button", name="Remove this decoder").last.click()
    decoded(page, "A Sudoku that clashes")
    assert page.locator(".dw-slots").inner_text() == alone
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4)


def test_starting_over_keeps_what_was_compared(opened: Open) -> None:
    page = opened()
    tab(page, "Compare")
    decoded(page)
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4)
    page.get_by_role("button", name="Remove this decoder").first.click()
    press(page, "Reset")
    expect(slider(page)).to_have_attribute("aria-valuenow", "0")
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(4)
    press(page, "Start over")
    expect(slider(page)).to_have_attribute("aria-valuemax", "0")
    expect(page.locator("button[data-position='3']:visible")).to_have_count(4)


def test_two_recordings_dropped_on_the_page_stand_side_by_side(opened: Open) -> None:
    traces = {
        "mine.json.gz": dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8),
        "theirs.json": dard.decode(dard.load_model("embedded"), LOS_DIEGO, decoder="standard"),
        "longer.json": dard.decode(dard.load_model("embedded"), SUM, gen_length=24),
    }
    files = [[name, sent(trace.to_bytes())] for name, trace in traces.items()]
    page = opened()
    page.locator(".dw-prompt:visible").evaluate(DROP, [files[0], ["broken.json", sent(b"{}")]])
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("broken: trace file is not a DARD trace")
    page.locator(".dw-prompt:visible").evaluate(DROP, files[:2])
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("heading", name="2 decodes, one scrubber")).to_be_visible()
    expect(page.locator(".dv-unlike")).to_have_text(
        "The models differ (los-diego, embedded): tokens are compared by their text, position by position."
    )
    rows = page.locator(".dw-table tbody tr:visible")
    expect(rows.locator("th")).to_have_text(["mine", "theirs"])
    expect(rows.nth(0).locator("td").first).to_have_text("5")
    expect(page.locator("input[aria-label=Prompt]:visible")).to_have_value(LOS_DIEGO)
    first, *_ = (
        page.get_by_role("button", name="first difference").filter(visible=True).inner_text().split(": pass ")[1:]
    )
    words = [[t.word(x) if x != t.mask_id else None for x in t.steps[int(first) - 1].tokens] for t in traces.values()]
    assert words[0] != words[1] and int(first) == 1
    # A third of another length, and a decoder beside them.
    page.get_by_label("Trace file").filter(visible=False).last.set_input_files(
        {"name": "longer.json", "mimeType": "application/json", "buffer": traces["longer.json"].to_bytes(False)}
    )
    expect(page.locator(".dv-unlike")).to_contain_text("The prompts differ.")
    expect(page.locator(".dv-unlike")).to_contain_text(
        "The regions have 12 and 24 positions: the first 12 are compared."
    )
    page.get_by_role("button", name="Remove this trace").last.click()
    page.locator("input[aria-label=Prompt]:visible").fill(LOS_DIEGO)
    press(page, "+ decoder")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(rows.locator("th")).to_have_text(["mine", "theirs", "DARD"])
    expect(page.locator(".dv-unlike")).not_to_contain_text("prompts")
    press(page, "Copy link")
    expect(page.get_by_text("A trace from a file has no link")).to_be_visible()
    page.locator("input[aria-label=Prompt]:visible").evaluate(DROP, files[:1])
    expect(page.locator(".dw-slot:visible")).to_have_count(4)
    page.locator("input[aria-label=Prompt]:visible").evaluate(DROP, files[:1])
    expect(page.locator(".dw-slot:visible")).to_have_count(5)
    five = ["mine", "theirs", "DARD", "mine (4)", "mine (5)"]
    expect(rows.locator("th")).to_have_text(five)
    page.locator("input[aria-label=Prompt]:visible").evaluate(DROP, files[:1])
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("5 lanes are the most")
    page.reload()
    expect(rows.locator("th")).to_have_text(five)


# Addresses.


def test_back_and_forward_lead_through_runs_tabs_and_lessons(opened: Open) -> None:
    page = opened()
    prompt = page.locator("input[aria-label=Prompt]:visible")
    decoded(page)
    press(page, "Step")
    at_place(page, "step", "1")
    decoded(page, "Two signs")
    at_place(page, "prompt", "Countdown")
    tab(page, "Learn")
    at_place(page, "lesson", "blanks")
    press(page, "Next")
    at_place(page, "lesson", "states")
    tab(page, "Lab")
    at_place(page, "lab", "pareto")
    page.go_back()
    expect(page.locator(".df-hook:visible")).to_have_text("2 · Blank, on trial, trusted")
    page.go_back()
    expect(page.locator(".df-hook:visible")).to_have_text("1 · Blanks filled at once")
    page.go_back()
    expect(prompt).to_have_value(re.compile("Countdown"))
    page.go_back()
    expect(prompt).to_have_value(LOS_DIEGO)
    expect(slider(page)).to_have_attribute("aria-valuenow", "1")
    page.go_forward()
    expect(prompt).to_have_value(re.compile("Countdown"))


def test_whoever_goes_to_another_tab_at_once_comes_back_to_the_same_step(opened: Open) -> None:
    page = opened()
    decoded(page)
    at_place(page, "ran", "")
    slider(page).press("End")
    last = slider(page).get_attribute("aria-valuemax")
    at_place(page, "step", str(last))
    page.evaluate("""() => {
        const sliders = [...document.querySelectorAll('[role=slider][aria-label=step]')];
        const seen = sliders.find((one) => one.offsetParent);
        seen.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
        [...document.querySelectorAll('[role=tab]')].find((one) => one.textContent.trim() === 'Lab').click();
    }""")
    page.wait_for_url(re.compile("[?&]lab="))
    page.go_back()
    expect(slider(page)).to_have_attribute("aria-valuenow", "0")


def test_scrubbing_makes_no_entries(opened: Open) -> None:
    page = opened()
    decoded(page)
    at_place(page, "ran", "")
    page.wait_for_timeout(300)
    before = page.evaluate("history.length")
    slider(page).focus()
    for key in ("End", "Home", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    at_place(page, "step", "1")
    assert page.evaluate("history.length") == before


def test_a_link_holds_branch_and_view(opened: Open) -> None:
    page = opened()
    branched(page)
    press(page, "by position")
    press(page, "reach")
    press(page, "w")
    page.get_by_label("hide what comes later").check()
    at_place(page, "view", "later")
    page.reload()
    expect(page.get_by_role("button", name="step 1, position 3: San, unmasked")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(token(page, 3)).to_have_attribute("aria-label", re.compile("San"))
    for name in ("by position", "reach", "w"):
        expect(page.locator("button:visible").get_by_text(name, exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("hide what comes later")).to_be_checked()


@pytest.mark.parametrize(
    "edits",
    ["<img>", "[1]", "{}", "[[1,3]]", json.dumps([[1, 3, {"a": 1}, "U"]]), json.dumps([[9e9, 3, "San", "U"]] * 50)],
)
def test_hostile_edits_are_refused_or_ignored(opened: Open, edits: str) -> None:
    query = f"?prompt={quote(LOS_DIEGO)}&edits={quote(edits)}&view={quote('<b>.reach999999')}&select=999999&ran=3"
    page = opened(query, ready=".dw-alert:visible, button[data-position]:visible")
    expect(page.locator("input[aria-label=Prompt]:visible")).to_have_value(LOS_DIEGO)


def test_the_lab_and_learn_are_where_they_were_after_a_reload(opened: Open) -> None:
    page = opened()
    tab(page, "Lab")
    page.get_by_label("Experiment", exact=True).select_option("thresholds")
    at_place(page, "lab", "thresholds")
    page.reload()
    expect(page.get_by_label("Experiment", exact=True)).to_have_value("thresholds")
    expect(page.locator(".dx-table tbody tr").first).to_be_visible()
    tab(page, "Learn")
    press(page, "Next")
    expect(page.locator(".df-hook:visible")).to_contain_text("Blank, on trial, trusted")
    page.get_by_role("button", name="pass 1", exact=True).click()
    at_place(page, "step", "1")
    expect(page.locator("body")).not_to_have_class(re.compile("dw-busy"))
    page.reload()
    expect(page.locator(".df-hook:visible")).to_contain_text("Blank, on trial, trusted")
    expect(page.get_by_role("button", name="pass 1", exact=True)).to_have_attribute("aria-current", "step")
    expect(page.get_by_label("hide what comes later").and_(page.locator(":visible"))).to_be_checked()


def test_a_trace_from_a_file_shows_its_own_prompt_and_says_that_it_has_no_link(opened: Open, tmp_path: Path) -> None:
    trace = dard.decode(dard.load_model("embedded"), SUM, decoder="wino", threshold=0.7, gen_length=16)
    trace.save(tmp_path / "trace.json.gz")
    page = opened()
    decoded(page)
    page.get_by_label("Trace file").set_input_files(tmp_path / "trace.json.gz")
    expect(page.locator("input[aria-label=Prompt]:visible")).to_have_value(SUM)
    expect(page.locator(".dw-summary").first).to_contain_text("WINO")
    expect(page.locator(".dw-summary").first).to_contain_text("0.70")
    press(page, "Copy link")
    expect(page.locator(".dw-notice:visible")).to_contain_text("has no link")
    page.wait_for_url(lambda url: "prompt" not in url)
    page.reload()
    expect(page.locator("input[aria-label=Prompt]:visible")).to_have_value(SUM)
    page.go_back()
    expect(page.locator("input[aria-label=Prompt]:visible")).to_have_value(LOS_DIEGO)


# Messages, focus, and words.


@pytest.mark.parametrize("width", [1280, 390])
def test_a_message_covers_no_button_and_a_refused_prompt_is_told_apart(opened: Open, width: int) -> None:
    page = opened(width=width)
    decoded(page)
    page.locator("input[aria-label=Prompt]:visible").fill("The city of Atlantis [MASK] Xanadu .")
    press(page, "Decode")
    alert = page.locator(".dw-alert:visible")
    expect(alert).to_contain_text("2 words outside")
    expect(page.locator(".dw-stale:visible")).to_contain_text(LOS_DIEGO)
    for name in ("Play", "Step", "Run to end"):
        page.locator(f".dv-buttons button[data-name='{name}']:visible").click(trial=True)
    long = "(box) => (box.replaceChildren('120 / 120'), box.getBoundingClientRect().right)"
    assert page.locator(".dv-counter:visible").evaluate(long) <= width - 8
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "Copy link")
    notice = page.locator(".dw-notice:visible")
    expect(notice).to_contain_text("In it are the prompt, the model’s name, the settings")
    link = parse_qs(urlsplit(page.evaluate("navigator.clipboard.readText()")).query)
    assert link["prompt"] == [LOS_DIEGO] and link["model"] == ["embedded"]
    colour = "(box) => getComputedStyle(box).borderLeftColor"
    assert notice.evaluate(colour) != alert.evaluate(colour)


def test_escape_gives_the_focus_back(opened: Open) -> None:
    page = opened()
    button = page.get_by_role("button", name="Change")
    button.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_tab_passes_the_tokens_without_selecting(opened: Open) -> None:
    page = opened()
    decoded(page)
    token(page, 4).click()
    for _ in range(12):
        page.keyboard.press("Tab")
    expect(token(page, 4)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("other token")).to_be_enabled()


# Room.


def test_the_list_of_runs_is_beside_the_chart_and_what_is_not_recorded_shows_nothing(opened: Open) -> None:
    page = opened("?lab=pareto", ready=".dx-chart .main-svg")
    page.locator(".dx-table tbody tr button").first.click()
    runs = page.get_by_role("region", name="Decodes")
    expect(runs).to_be_visible()
    at_place(page, "point", "DARD")
    left = (runs.bounding_box() or {})["x"]
    page.wait_for_function(
        "(left) => document.querySelector('.dx-chart .main-svg').getBoundingClientRect().right <= left", arg=left
    )
    assert page.locator(".dx-table th sub").count() and "τ_c" not in page.locator(".dx-frame").inner_text()
    page.get_by_label("Experiment", exact=True).select_option("endings")
    page.get_by_label("Task", exact=True).select_option("captions")
    expect(page.locator(".dx-about")).to_contain_text("Nothing is recorded")
    expect(page.locator(".dx-chart .main-svg")).to_have_count(0)
    expect(page.locator(".dx-table")).to_have_count(0)
    expect(runs).to_be_hidden()


def test_a_decoder_without_a_mask_takes_no_room_for_one(opened: Open) -> None:
    page = opened(f"?prompt={quote(LOS_DIEGO)}&decoder=standard&steps=1&ran=1", width=1024, height=768)
    mask = page.get_by_role("region", name="mask", exact=True)
    expect(mask).to_contain_text("no mask to draw")
    expect(mask.get_by_role("button", name="attention")).to_be_hidden()
    assert mask.evaluate("(box) => box.getBoundingClientRect().height") < 160


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1920, 1080)])
@pytest.mark.parametrize("case", ["A Sudoku that clashes", "What slips through the mask"])
def test_sentences_of_a_case_are_whole(opened: Open, case: str, width: int, height: int) -> None:
    page = opened(width=width, height=height)
    decoded(page, case)
    expect(page.locator(".dv-why:visible")).to_contain_text("can still arrive")
    cut = "(box) => box.scrollHeight > box.clientHeight + 1"
    assert not page.locator(".dv-why:visible").evaluate(cut)
    assert not page.locator(".dv-say:visible").evaluate(cut)


def test_a_projector_gets_the_whole_width_and_large_words(opened: Open) -> None:
    page = opened(width=1920, height=1080)
    decoded(page)
    press(page, "Projector")
    box = page.locator(".dv-body:visible").bounding_box()
    assert box and box["width"] > 1800
    for words in (".dv-status", ".dv-why", ".dv-tok .dv-t", ".dv-sub", ".dv-note"):
        size = page.locator(f"{words}:visible").first.evaluate(
            "(e) => parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom"
        )
        assert size >= 18, words
    canvas = slider(page)
    place = canvas.bounding_box() or {}
    page.mouse.click(place["x"] + place["width"] / 3, place["y"] + place["height"] / 2)
    expect(canvas).not_to_have_attribute("aria-valuenow", "0")
    page.reload()
    expect(page.locator("body")).to_have_class(re.compile("dw-projector"))
    at_place(page, "projector", "1")


CUT = "(box) => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1"


def test_a_tablets_sentence_of_the_step_is_whole(opened: Open) -> None:
    page = opened(f"?prompt={quote(SUM)}&tau_c=0.4&tau_u=0.5&ran=99", width=820, height=1180)
    expect(page.locator(".dv-status:visible")).to_contain_text("complete")
    while slider(page).get_attribute("aria-valuenow") != "0":
        assert not page.locator(".dv-say:visible").evaluate(CUT), page.locator(".dv-say:visible").inner_text()
        press(page, "Back")


def test_the_mask_says_its_whole_step(opened: Open) -> None:
    page = opened(f"?prompt={quote(SUM)}&tau_c=1&tau_u=1&ran=14")
    expect(page.locator(".dv-p-mask:visible .dv-sub")).to_have_text("step 14")
    assert not page.locator(".dv-p-mask:visible .dv-sub").evaluate(CUT)
