"""A decoder that no file of the project knows, on the page: Watch, Compare and the Lab."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

import dard
from dard.core.plugins import load_file
from dard.decoders import DECODERS
from tests.browser.conftest import Visit
from tests.helpers import serving
from tests.test_door import SUDOKU, example
from visual.page import build_page, launch_options
from visual.server.studio import Studio

Visiting = Callable[..., Visit]
READY = "button[data-position]:visible"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("elsewhere") / "mine.py"
    file.write_text(example(), encoding="utf-8")
    known = dict(DECODERS)
    load_file(str(file))
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = dard.load_model("embedded")
    page = build_page(studio)
    with serving(page, **launch_options()) as url:
        yield url
    DECODERS.clear()
    DECODERS.update(known)


def test_a_strangers_decoder_on_the_page(server: str, visit: Visiting) -> None:
    query = f"?prompt={quote(SUDOKU)}&decoder=mine&gen_length=16&rounds=8&ran=8&step=2&select=3"
    page = visit(server + query, ready=READY).page

    # Watch: its title, its sentence, its column and its path.
    expect(page.locator(".dw-summary:visible")).to_contain_text("Fill and keep")
    expect(page.get_by_role("slider", name="step", exact=True)).to_have_attribute("aria-valuemax", "8")
    inspector = page.get_by_role("region", name="inspector")
    column, path = DECODERS["mine"].about.columns[0], DECODERS["mine"].about.paths[0]
    expect(inspector.locator(".dv-values")).to_have_text(re.compile(rf"{column.symbol or column.name} \d"))
    expect(inspector.locator(".dv-ptitle")).to_have_text(path.title)
    page.keyboard.press("n")
    expect(page.get_by_role("status")).to_contain_text("revoked")
    revoked = page.locator("button[data-position][data-state=M]:visible").first
    revoked.click()
    expect(inspector.locator(".dv-why")).to_contain_text(re.compile(r"(was revoked|stays masked): .*of its block"))

    # Compare: as a lane beside another.
    page.get_by_role("tab", name="Compare").click()
    slot = page.locator(".dw-slot:visible").first
    slot.get_by_role("button", name="Change").click()
    slot.get_by_label("Decoder", exact=True).select_option("mine")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".dw-table tbody th:visible").first).to_contain_text("Fill and keep")

    # Lab: its points in the chart, in a colour of its own.
    page.get_by_role("tab", name="Lab").click()
    page.get_by_label("Experiment", exact=True).select_option("pareto")
    page.get_by_label("Task", exact=True).select_option("places")
    page.get_by_label("Samples").fill("1")
    page.get_by_role("button", name="Run experiment").click()
    expect(page.locator(".dx-about")).to_contain_text("1 sample")
    expect(page.get_by_role("button", name="Run experiment")).to_be_enabled()
    expect(page.locator(".dx-chart .legendtext", has_text="Fill and keep")).to_be_visible()
    colours = page.evaluate(
        "document.querySelector('.dx-chart').data.filter((t) => t.mode === 'markers' && t.customdata)"
        ".map((t) => t.marker.color)"
    )
    masked = [each for each in DECODERS.values() if "noise" not in each.needs]  # the others begin otherwise
    assert len(set(colours)) == len(colours) == len(masked)
