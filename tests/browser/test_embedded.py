"""The Lab tab and pictures in a real browser, on the embedded model and a model that pretends to see."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, ScriptedModel, los_diego
from tests.browser.conftest import Visit, build_scripted_page
from visual.page import launch_options
from visual.service import Studio, gallery

Visiting = Callable[..., Visit]
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
    studio._loaded |= {"embedded": dard.load_model("embedded"), "mmada-8b-mixcot": seeing()}
    page = build_scripted_page(studio)
    _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_port=None, **launch_options())
    yield url
    page.close()


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
    expect(page.locator(".dx-about")).to_contain_text("2 samples", timeout=30_000)
    expect(page.get_by_role("button", name="Run experiment")).to_be_enabled(timeout=60_000)


def test_an_experiment_from_the_form_to_the_run_behind_a_point(server: str, visit: Visiting, tmp_path: Path) -> None:
    page = open_lab(visit, server)
    run_small(page)
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible(timeout=30_000)
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
    behind = page.get_by_role("region", name="Runs behind a point")
    expect(behind.locator(".dx-run")).to_have_count(2)
    behind.locator(".dx-run").first.click()
    expect(page.locator(".dw-table tbody tr:visible")).to_have_count(2)
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")


def test_a_click_on_the_chart_lists_runs(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server)
    run_small(page)
    expect(page.locator(".dx-chart .main-svg").first).to_be_visible(timeout=30_000)
    name = page.locator(".dx-table tbody tr th").last.inner_text()
    page.evaluate(
        """(name) => document.querySelector('.dx-chart').emit('plotly_click', { points: [{ customdata: name }] })""",
        name,
    )
    expect(page.get_by_role("region", name="Runs behind a point").locator("h2")).to_have_text(name)


def test_bad_input_and_stop(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server)
    page.get_by_label("Samples").fill("0")
    page.get_by_role("button", name="Run experiment").click()
    expect(page.locator(".dx [role=alert]")).to_contain_text("samples must be a whole number from 1")
    page.get_by_label("Experiment", exact=True).select_option("pareto")
    page.get_by_label("Samples").fill("100")
    page.get_by_role("button", name="Run experiment").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Run experiment")).to_be_enabled(timeout=60_000)
    expect(page.locator(".dx-about")).to_contain_text("so far")


def test_the_lab_on_a_phone_does_not_scroll_sideways(server: str, visit: Visiting) -> None:
    page = open_lab(visit, server, viewport={"width": 390, "height": 800})
    run_small(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


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
    page.get_by_role("textbox", name="Prompt").fill(LOS_DIEGO)
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


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pressed_case_is_in_view(server: str, visit: Visiting, width: int) -> None:
    page = visit(server, ready=READY, viewport={"width": width, "height": 800}).page
    chip = page.get_by_role("button", name=gallery()[-1]["name"], exact=True)
    chip.dispatch_event("click")
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(chip).to_be_in_viewport(ratio=1)
    if width == 1280:
        first = page.get_by_role("button", name=gallery()[0]["name"], exact=True)
        expect(first).to_be_in_viewport(ratio=1)
