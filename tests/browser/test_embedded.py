"""The Lab tab and pictures in a real browser, on the embedded model and a model that pretends to see."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

import dard
from dard.core.folders import assets
from dard.models.scripted import LOS_DIEGO, ScriptedModel, los_diego
from dard.results.samples import choose, open_folder
from tests.browser.conftest import Visit, build_scripted_page
from tests.helpers import serving
from tests.test_samples import evaluation
from visual.page import launch_options
from visual.server.cases import gallery
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
RECORDED = assets("results")
READY = "button[data-position]:visible"


class Seeing(ScriptedModel):
    """Answers San Diego once it was shown a picture."""

    offers = frozenset({"images"})
    seen: Image.Image | None = None

    def with_image(self, *images: Image.Image, fit: str = "crop") -> ScriptedModel:
        model = los_diego()
        model.name = f"saw {' and '.join(f'{image.width} × {image.height}' for image in images)}, {fit}"
        return model


def seeing() -> Any:
    model = los_diego()
    model.__class__ = Seeing
    return model


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio(("embedded", "mmada-8b-mixcot"))
    studio.models.loaded |= {"embedded": dard.load_model("embedded"), "mmada-8b-mixcot": seeing()}
    page = build_scripted_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


def open_lab(visit: Visiting, server: str, **options: Any) -> Page:
    page = visit(server, ready=READY, **options).page
    page.get_by_role("tab", name="Lab").click()
    expect(page.get_by_role("button", name="Run experiment")).to_be_visible()
    return page


def run_small(page: Page) -> None:
    page.get_by_label("Experiment", exact=True).select_option("mixing-ablation")
    page.get_by_label("Task", exact=True).select_option("places")
    page.get_by_label("Samples").fill("2")
    page.get_by_label("Samples").press("Enter")
    expect(page.locator(".dx-about")).to_contain_text("2 samples")
    expect(page.get_by_role("button", name="Run experiment")).to_be_enabled()


def test_an_experiment_from_the_form_to_the_run_behind_a_point(server: str, visit: Visiting, tmp_path: Path) -> None:
    page = open_lab(visit, server)
    run_small(page)
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible()
    rows = page.locator(".dx-table tbody tr")
    assert rows.count() == 5
    with page.expect_download() as download:
        page.get_by_role("button", name="Download rows").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["experiment"] == "mixing-ablation" and len(lines) == 11
    rows.last.get_by_role("button").focus()
    page.keyboard.press("Enter")
    behind = page.get_by_role("region", name="Decodes")
    expect(behind.locator(".dx-run")).to_have_count(2)
    behind.get_by_role("button", name="Compare sample 0").click()
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(2)
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")


def test_a_click_on_the_chart_lists_runs(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server)
    run_small(page)
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible()
    name = page.locator(".dx-table tbody tr th").last.inner_text()
    page.evaluate(
        """(name) => document.querySelector('.dx-chart').emit('plotly_click', { points: [{ customdata: name }] })""",
        name,
    )
    expect(page.get_by_role("region", name="Decodes").locator("h2")).to_have_text(name)


def test_a_click_on_a_part_of_a_bar_lists_the_runs_that_this_kind_of_failure_lost(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server)
    page.get_by_label("Experiment", exact=True).select_option("failures")
    page.get_by_label("Task", exact=True).select_option("places")
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible(timeout=30_000)
    every = open_folder(RECORDED / "failures-places.jsonl")
    lost = Counter(sample.variant for sample in choose(every, "conflict"))
    name, count = lost.most_common(1)[0]
    names = list(dict.fromkeys(sample.variant for sample in every))
    kinds = page.evaluate("document.querySelector('.dx-chart').data.map((trace) => trace.name)")
    bars = page.locator(".dx-chart .trace.bars").nth(kinds.index("conflict"))
    box = bars.locator(".point path").nth(names.index(name)).bounding_box()
    assert box is not None and box["width"] > 5
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".dx-chart .hoverlayer .hovertext").first).to_contain_text("conflict")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    runs = page.get_by_role("region", name="Decodes")
    expect(runs.get_by_role("status")).to_contain_text(f"{count} conflict listed")
    expect(runs.locator(".dx-run")).to_have_count(count)
    expect(runs.locator(".dx-run").first).to_contain_text("lost by conflict, step ")
    expect(runs.get_by_label("Which are shown")).to_have_value("conflict")
    runs.locator(".dx-run").first.click()
    expect(page.get_by_role("tab", name="Watch")).to_have_attribute("aria-selected", "true")
    first = choose(every, "conflict", variant=name)[0]
    expect(page.get_by_label("Prompt").locator("visible=true")).to_have_value(first.prompt or "")


def test_results_of_an_experiment_are_opened_filtered_and_lead_to_watch(
    server: str, visit: Visiting, tmp_path: Path
) -> None:
    page = open_lab(visit, server)
    page.get_by_label("Results files").set_input_files(RECORDED / "mixing-ablation-sudoku-open.jsonl")
    samples = page.get_by_role("region", name="Decodes")
    expect(samples.locator("h2")).to_have_text("All samples")
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible()
    expect(page.get_by_label("Experiment")).to_have_value("mixing-ablation")
    expect(page.get_by_label("Task")).to_have_value("sudoku-open")
    expect(page.locator(".dx-shows")).to_contain_text("logit mixing strategy")  # of what was opened
    every = open_folder(RECORDED / "mixing-ablation-sudoku-open.jsonl")
    wrong = choose(every, "wrong", "revocations")
    count = samples.get_by_role("status")
    expect(count).to_contain_text(f"{len(every)} runs, {len(wrong)} wrong")
    samples.get_by_label("Sort by").select_option("revocations")
    expect(samples.locator(".dx-run").first).to_contain_text(f"{wrong[0].revocations} revoked")
    expect(samples.locator(".dx-run b").first).to_have_text("✗")
    samples.get_by_label("Which are shown").select_option("right")
    expect(samples.locator(".dx-run b").first).to_have_text("✓")
    samples.get_by_label("Variant").select_option("DARD w=1")
    expect(samples.locator("h2")).to_have_text("DARD w=1")
    expect(count).to_contain_text("100 runs")
    samples.locator(".dx-run").first.click()
    expect(page.get_by_role("tab", name="Watch")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Prompt").locator("visible=true")).to_have_value(re.compile("^Sudoku"))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("nothing\n")
    page.get_by_role("tab", name="Lab").click()
    page.get_by_label("Results files").set_input_files(broken)
    expect(page.locator(".dx [role=alert]")).to_contain_text("broken.jsonl is not a results file")
    expect(samples.locator("h2")).to_have_text("DARD w=1")  # what was there stays


def test_the_decodes_of_an_evaluation_are_its_own_traces(server: str, visit: Visiting, tmp_path: Path) -> None:
    for decoder in ("dard", "wino"):
        evaluation(tmp_path / "runs" / decoder, decoder)
    page = open_lab(visit, server)
    page.get_by_label("Results folder").set_input_files(tmp_path / "runs")
    samples = page.get_by_role("region", name="Decodes")
    expect(samples.locator(".dx-run")).to_have_count(2)
    expect(samples.get_by_role("status")).to_contain_text("6 runs, 2 wrong")
    expect(page.locator(".dx-shows")).to_be_empty()  # it is of no experiment
    expect(page.locator(".dx-chart")).to_be_hidden()
    samples.get_by_role("button", name="Compare sample 7").first.click()
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")
    rows = page.locator(".dw-table tbody tr:visible")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("dard, runs/dard")
    expect(rows.nth(1)).to_contain_text("wino, runs/wino")
    page.get_by_role("tab", name="Lab").click()
    samples.locator(".dx-run").first.click()
    expect(page.get_by_role("tab", name="Watch")).to_have_attribute("aria-selected", "true")
    expect(page.locator("button[data-position='3']:visible").first).to_be_visible()
    page.get_by_role("tab", name="Lab").click()
    page.get_by_label("Results files").set_input_files(tmp_path / "runs" / "dard" / "samples.jsonl")
    expect(samples.get_by_role("status")).to_contain_text("3 runs, 1 wrong")
    samples.locator(".dx-run").first.click()
    expect(page.locator(".dx [role=alert]")).to_contain_text("open the folder of the run")


def test_bad_input_and_stop(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server)
    page.get_by_label("Samples").fill("0")
    page.get_by_role("button", name="Run experiment").click()
    expect(page.locator(".dx [role=alert]")).to_contain_text("samples must be a whole number from 1")
    page.get_by_label("Experiment", exact=True).select_option("pareto")
    page.get_by_label("Samples").fill("100")
    page.get_by_role("button", name="Run experiment").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Run experiment")).to_be_enabled()
    expect(page.locator(".dx-about")).to_contain_text("so far")


def test_the_lab_on_a_phone_does_not_scroll_sideways(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server, viewport={"width": 390, "height": 800})
    expect(page.locator(".dx-table th", has_text="DAPD").first).to_contain_text("τmax")
    run_small(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for words in page.locator(".dx-table figcaption").all():
        assert words.evaluate("(box) => box.getBoundingClientRect().right") <= 390


def picture(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "#335577").save(file, "PNG")
    return file.getvalue()


def test_a_picture_goes_with_the_prompt(server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    expect(page.get_by_role("button", name="Picture")).to_be_hidden()
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_label("Model", exact=True).select_option("mmada-8b-mixcot")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Picture")).to_be_visible()
    choose = page.get_by_label("Picture file")
    choose.set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": picture(640, 480)})
    expect(page.locator("figure:visible")).to_contain_text("640 × 480")
    page.get_by_role("combobox", name="Prompt").fill(LOS_DIEGO)
    page.get_by_role("button", name="Decode").click()
    expect(page.locator("button[data-position='3']").first).to_have_attribute("aria-label", re.compile("San"))
    choose.set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": b"not a picture"})
    expect(page.get_by_role("alert")).to_contain_text("image is broken")
    choose.set_input_files({"name": "p.png", "mimeType": "image/png", "buffer": picture(6000, 4000)})
    expect(page.get_by_role("alert")).to_contain_text("megapixels")
    expect(page.locator("figure:visible")).to_contain_text("640 × 480")
    choose.set_input_files({"name": "q.png", "mimeType": "image/png", "buffer": picture(64, 48)})
    expect(page.locator("figure:visible img")).to_have_count(2)
    expect(page.get_by_text("Think first")).to_be_visible()
    for left in (1, 0):
        page.get_by_role("button", name="Remove", exact=True).first.click()
        expect(page.locator("figure:visible img")).to_have_count(left)
    expect(page.locator("figure:visible")).to_have_count(0)


def test_every_gallery_case_fits_a_laptop_without_scrolling(server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    for case in gallery():
        page.get_by_role("button", name=case["name"], exact=True).click()
        chip = page.get_by_role("button", name=case["name"], exact=True)
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_role("slider", name="step", exact=True)).to_have_attribute(
            "aria-valuenow", str(case["step"])
        )
        bottom = page.evaluate(
            "Math.max(...[...document.querySelectorAll('.dv-panel')].map((p) => p.getBoundingClientRect().bottom))"
        )
        assert bottom <= 800, case["name"]
        why = page.locator(".dv-why:visible")
        assert why.evaluate("(box) => box.scrollHeight <= box.clientHeight"), f"{case['name']}: {why.inner_text()}"


def test_a_sudoku_is_a_grid_on_watch_and_in_learn(server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    page.get_by_role("button", name="A Sudoku that clashes", exact=True).click()
    expect(page.locator(".dv-board:visible .dv-tok")).to_have_count(16)
    expect(page.locator(".dv-answer:visible")).to_have_text("step 2 of 3")
    page.keyboard.press("End")
    expect(page.locator(".dv-answer:visible")).to_have_text("right")
    page.get_by_role("button", name="Los Diego", exact=True).click()
    expect(page.locator(".dv-board:visible")).to_have_count(0)
    expect(page.locator(".dv-toks:visible [data-position]")).to_have_count(12)
    lesson = visit(f"{server}?lesson=3", ready=".dv-board:visible").page
    expect(lesson.locator(".dv-board:visible .dv-tok")).to_have_count(16)
    expect(lesson.locator(".dv-stand:visible")).to_contain_text("1 clash")


def test_every_decoder_can_be_watched_and_compared(server: str, visit: Visiting) -> None:
    page = visit(server, ready=READY).page
    page.get_by_role("button", name="DAPD waits", exact=True).click()
    panel = page.get_by_role("region", name="dependencies")
    expect(panel.locator(".dv-graphnote")).to_contain_text("'3' at position 11".replace("'", ""))
    page.get_by_role("button", name="Editing never settles", exact=True).click()
    expect(page.locator(".dv-counter:visible")).to_contain_text("18")
    lesson = visit(f"{server}?lesson=12", ready=".df-head:visible").page
    expect(lesson.locator(".df-who:visible th")).to_have_text(["DARD", "WINO", "Saber", "ReMix", "DAPD"])
    lesson.get_by_role("button", name="Show the answer").locator("visible=true").click()
    expect(lesson.locator(".df-who:visible tr").last).to_contain_text("Los Angeles")
    expect(lesson.locator(".df-who:visible tr").nth(2)).to_contain_text("Los Diego")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pressed_case_is_in_view(server: str, visit: Visiting, width: int) -> None:
    page = visit(server, ready=READY, viewport={"width": width, "height": 800}).page
    for number in (-1, 0):
        chip = page.get_by_role("button", name=gallery()[number]["name"], exact=True)
        chip.dispatch_event("click")
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(chip).to_be_in_viewport(ratio=1)


# What the model makes of a prompt before it is sent.


def typing(visit: Visiting, server: str, tab: str = "Watch", **options: Any) -> tuple[Page, Locator]:
    page = visit(server, ready=READY, **options).page
    page.get_by_role("tab", name=tab).click()
    expect(page.locator(".dw-typing > button:visible")).to_have_text("256 words")
    field = page.get_by_role("combobox", name="Prompt")
    field.fill("")
    field.focus()
    return page, field


def test_words_are_completed_while_typing(server: str, visit: Visiting) -> None:
    page, field = typing(visit, server)
    options = page.get_by_role("option")
    page.keyboard.type("The city of Sa")
    expect(field).to_have_attribute("aria-expanded", "true")
    expect(options).to_have_text(["Saint", "Salvador", "Sam", "San", "Santa", "Sao"])
    active = "(box) => document.getElementById(box.getAttribute('aria-activedescendant'))?.textContent"
    assert field.evaluate(active) == "Saint"
    page.keyboard.press("ArrowUp")
    assert field.evaluate(active) == "Sao"
    for word in ("Saint", "Salvador", "Sam", "San"):
        page.keyboard.press("ArrowDown")
        assert field.evaluate(active) == word
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    expect(field).to_have_value("The city of San ")
    expect(options).to_have_count(0)
    page.keyboard.type("[")
    expect(options).to_have_text(["[MASK]"])
    page.keyboard.press("Enter")
    expect(field).to_have_value("The city of San [MASK] ")
    page.keyboard.type("co")
    options.filter(has_text="coast").click()
    expect(field).to_have_value("The city of San [MASK] coast ")
    expect(field).to_be_focused()
    page.keyboard.type("is")
    page.keyboard.press("Home")  # in the middle of the words before, at the end of one
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(field).to_have_value("The city of San [MASK] coast is")


def test_keys_are_not_taken_where_nothing_is_offered(server: str, visit: Visiting) -> None:
    page, field = typing(visit, server)
    page.keyboard.type("San [MASK] a")  # a word already, and the start of others: offered, not chosen
    expect(page.get_by_role("listbox")).to_be_visible()
    assert field.get_attribute("aria-activedescendant") is None
    page.keyboard.press("Enter")
    expect(page.get_by_role("slider", name="step", exact=True)).not_to_have_attribute("aria-valuemax", "0")
    expect(page.locator("button[data-position]:visible")).to_have_count(3)
    page.keyboard.type("n")
    expect(page.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(field).to_have_attribute("aria-expanded", "false")
    expect(field).to_be_focused()
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()


@pytest.mark.parametrize("tab", ["Watch", "Compare"])
def test_all_unknown_words_are_marked_before_anything_is_sent(server: str, visit: Visiting, tab: str) -> None:
    page, field = typing(visit, server, tab)
    marks, note = page.locator(".dw-marks mark:visible"), page.locator(".dw-check:visible")
    page.keyboard.type("The zebra of [MASK]quagga <img/src=x/onerror=alert(1)> San coas")
    expect(marks).to_have_text(["zebra", "quagga", "<img/src=x/onerror=alert(1)>"])
    expect(note).to_contain_text("prompt holds 3 words outside the 256 words")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.keyboard.type("d")  # no word begins like this
    expect(marks).to_have_count(4)
    expect(note).to_contain_text("(close: coast")
    told = note.inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(told)
    expect(note).to_have_count(0)  # the same sentence once
    field.fill("The city of [MASK] .")
    expect(marks).to_have_count(0)
    expect(field).to_have_attribute("aria-invalid", "false")


def test_marks_stand_under_their_words(server: str, visit: Visiting) -> None:
    page, field = typing(visit, server, viewport={"width": 390, "height": 800})
    page.keyboard.type("The city of San Diego is on the Southern California coast of zebra .")
    mark = page.locator(".dw-marks mark:visible")
    expect(mark).to_have_text("zebra")
    assert field.evaluate("(box) => box.scrollLeft") > 0
    assert page.locator(".dw-marks:visible").evaluate("(box) => box.scrollLeft") == field.evaluate(
        "(b) => b.scrollLeft"
    )
    box, inside = mark.bounding_box(), field.bounding_box()
    assert box and inside and inside["x"] < box["x"] and box["x"] + box["width"] < inside["x"] + inside["width"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_worlds_and_words_of_a_model_are_listed_and_used(server: str, visit: Visiting) -> None:
    page, field = typing(visit, server)
    page.get_by_role("button", name="256 words").click()
    knows = page.locator(".dw-knows:visible")
    assert knows.locator("h3").all_inner_texts()[0].startswith("6 worlds")
    known = dard.load_model("embedded")
    words = {known.token_text(number) for number in range(known.vocab_size)}
    listed = set(knows.locator(".dw-chips:nth-of-type(n+2) button").all_inner_texts())
    own = {word for word in words if word.startswith("[")}
    assert listed - {"[MASK]"} == words - own
    expect(knows.locator("p")).to_contain_text(f"{len(own)} are its own")
    knows.get_by_role("button", name="coast", exact=True).click()
    knows.get_by_role("button", name="[MASK]", exact=True).click()
    expect(field).to_have_value("coast [MASK] ")
    knows.get_by_role("button", name="4×4 Sudoku, one solution").click()
    expect(knows).to_have_count(0)
    expect(field).to_have_value(re.compile(r"^Sudoku : (\d ){16}Solution :$"))
    expect(page.locator(".dw-summary:visible")).to_contain_text("gen length 16")
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_label("Model", exact=True).select_option("mmada-8b-mixcot")
    expect(page.locator(".dw-typing > button:visible")).to_have_text(f"{len(los_diego().words)} words")
    page.get_by_label("Model", exact=True).select_option("embedded")
    expect(page.locator(".dw-typing > button:visible")).to_have_text("256 words")


@pytest.mark.parametrize("tab", ["Watch", "Compare"])
def test_the_room_of_the_model_stands_beside_the_length(server: str, visit: Visiting, tab: str) -> None:
    page, field = typing(visit, server, tab)
    field.fill("Sudoku : 0 0 0 3 3 4 2 0 0 0 0 0 2 1 3 0 Solution :")
    page.get_by_role("button", name="Change", exact=True).first.click()
    room = page.locator(".dw-room:visible")
    expect(room).to_have_text("prompt 20 + 24 of 128 tokens")
    length = page.get_by_label("gen length", exact=True).locator("visible=true")
    length.fill("109")
    length.press("Tab")
    if tab == "Watch":
        expect(room).to_have_text(
            "prompt of 20 tokens and a generation region of 109 make 129 tokens; this model takes at most 128"
        )
        length.fill("108")
        length.press("Tab")
        expect(room).to_have_text("prompt 20 + 108 of 128 tokens")
        page.keyboard.press("Escape")
        field.fill("San [MASK] .")
        page.get_by_role("button", name="Change", exact=True).click()
        expect(room).to_have_text("template 3 of 128 tokens")
    else:
        expect(room).to_contain_text("at most 128")
