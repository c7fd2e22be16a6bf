"""What the browser makes of what it shows: pictures against the screen, drawings against the trace, frames, code."""

from __future__ import annotations

import base64
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.browser.test_replay import hostile_trace, long_session, los, press, step_of
from visual.export import gif, replay_html
from visual.readme import EXPORT

Visiting = Callable[..., Any]
SVG = "{http://www.w3.org/2000/svg}"
MARGIN = 12
# What stands above the viewer leaves it half a pixel beside those of the screen.
ALONE = "for (const name of ['top', 'prompt']) document.querySelector(`.${name}`).remove()"
LECTURE = {"Slides, one for every pass", "Slides that replay", "Handout to print"}
OFFLINE = LECTURE | {"This view", "Tokens only", "Slide, 16:9", "Slide, tokens only", "Score", "Mask", "Embed …"}


def made(page: Page, kind: str) -> bytes:
    return base64.b64decode(page.evaluate(EXPORT, kind))


def picture(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=np.int16)


def exported(page: Page, name: str) -> Any:
    """Chooses in the menu, and takes what is handed over."""
    press(page, "Export")
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=name).click()
    return download.value


# Pictures.


def differing(one: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels that clearly differ; pictures one pixel apart differ in more than 3 %."""
    return float((np.abs(one - other).max(axis=2) > 40).mean())


@pytest.mark.parametrize(
    ("length", "width", "theme"), [(12, 1280, "light"), (24, 1280, "dark"), (256, 1440, "dark"), (12, 390, "light")]
)
def test_a_picture_is_this_very_view(replay: Visiting, length: int, width: int, theme: str) -> None:
    trace = los() if length == 12 else long_session(length, 10).trace
    page = replay(trace, "#step=2&position=4", viewport={"width": width, "height": 2400}, color_scheme=theme).page
    expect(page.locator(".dv-why")).not_to_have_text("…")
    page.evaluate(ALONE)
    screen = picture(page.locator("#viewer").screenshot())
    once = page.evaluate(
        "viewer.exports.picture('png', 1).then((blob) => blob.arrayBuffer()).then((b) => [...new Uint8Array(b)])"
    )
    found = picture(bytes(once))
    assert found.shape == (screen.shape[0] + 2 * MARGIN, screen.shape[1] + 2 * MARGIN, 3)
    found = found[MARGIN:-MARGIN, MARGIN:-MARGIN]
    shown = slice(0, -66 if width == 390 else None)  # on a phone the buttons stand at the bottom of the window
    assert differing(found[shown], screen[shown]) < 0.01
    assert picture(made(page, "png")).shape == (
        2 * (screen.shape[0] + 2 * MARGIN),
        2 * (screen.shape[1] + 2 * MARGIN),
        3,
    )
    assert differing(picture(page.locator("#viewer").screenshot()), screen) == 0, "the screen is as it was"


def test_a_slide_has_the_size_of_one_and_tokens_stand_alone(replay: Visiting) -> None:
    traces = dard.compare(los_diego(), LOS_DIEGO)
    for what in (los(), long_session(256, 10).trace, traces):
        page = replay(what, "#step=1&position=4").page
        for kind in ("slide", "tokens-slide"):
            found = picture(made(page, kind))
            assert found.shape == (1080, 1920, 3)
            drawn = np.abs(found - found[0, 0]).max(axis=2) > 8
            assert drawn.any(axis=0).mean() > 0.9, "it fills the slide's width"
        assert picture(made(page, "tokens")).shape[1] == 2 * (1256 + 2 * MARGIN)
        assert page.evaluate("document.querySelectorAll('.dv').length") == 1, "what it was drawn with is gone"
        assert step_of(page) == 1


def test_a_browser_that_refuses_to_draw_gets_one_sentence(replay: Visiting) -> None:
    page = replay(los()).page
    refuse = "throw new DOMException('tainted', 'SecurityError')"
    page.evaluate(f"() => {{ HTMLCanvasElement.prototype.toBlob = () => {{ {refuse}; }}; }}")
    press(page, "Export")
    page.get_by_role("menuitem", name="This view").click()
    expect(page.get_by_role("alert")).to_contain_text("does not let a page draw itself into a picture")
    press(page, "Export")
    expect(page.get_by_role("menuitem", name="Score")).to_be_visible()


def test_hostile_words_are_drawn_as_words(replay: Visiting) -> None:
    trace = hostile_trace()
    page = replay(trace, "#step=2&position=4").page
    page.evaluate("viewer.lanes[0].words.forEach((_, id, words) => words.set(id, `${words.get(id)}\\ud800\\u0001]]>`))")
    page.evaluate("viewer.load = null; viewer.show(viewer.lanes)")
    assert picture(made(page, "png")).shape[1] > 2000
    for kind in ("score.svg", "mask.svg"):
        root = ET.fromstring(made(page, kind))
        assert {node.tag for node in root.iter()} <= {
            f"{SVG}{name}" for name in ("svg", "desc", "defs", "rect", "g", "clipPath", "path", "text")
        }


# Drawings.


def test_the_mask_as_svg_holds_the_cells_of_the_trace(replay: Visiting) -> None:
    trace = long_session(24, 10).trace
    page = replay(trace, "#step=5&order=position").page
    root = ET.fromstring(made(page, "mask.svg"))
    paths = [node.get("d", "") for node in root.iter(f"{SVG}path")]
    side = 2 * 24
    cells = sum(len(re.findall("M[^M]*h[^M]*v[^M]*h[^M]*Z", path)) for path in paths if path.count("M") <= side)
    clips = len(list(root.iter(f"{SVG}clipPath")))
    mask = trace.steps[4].mask
    assert mask is not None and cells - clips == int(np.asarray(mask).sum())
    words = {node.text for node in root.iter(f"{SVG}text")}
    assert {"x queries", "s queries", "x keys", "s keys", "0", "16"} <= words
    assert "step 5" in (root.findtext(f"{SVG}desc") or "")
    page.evaluate("viewer.setStep(0)")
    press(page, "Export")
    page.get_by_role("menuitem", name="Mask").click()
    expect(page.get_by_role("alert")).to_contain_text("No forward pass has run yet")


def test_a_long_mask_as_svg_covers_the_same_area(replay: Visiting) -> None:
    trace = long_session(256, 10).trace
    page = replay(trace, "#step=5").page
    content = made(page, "mask.svg")
    assert len(content) < 200_000
    area = 0.0
    for node in ET.fromstring(content).iter(f"{SVG}path"):
        for width, height in re.findall(r"M[-\d. ]+h([\d.]+)v([\d.]+)h-[\d.]+Z", node.get("d", "")):
            area += float(width) * float(height)
    each = page.evaluate("viewer.panels[3].mask.each")
    clip = page.evaluate("(viewer.panels[3].mask.side + 2) ** 2")
    mask = trace.steps[4].mask
    assert mask is not None
    assert area - clip == pytest.approx(np.asarray(mask).sum() * each**2, rel=0.05)


def test_the_score_as_svg_is_the_score_on_screen(replay: Visiting, visit: Visiting, tmp_path: Path) -> None:
    page = replay(los(), "#step=2&position=4").page
    content = made(page, "score.svg")
    root = ET.fromstring(content)
    words = [node.text for node in root.iter(f"{SVG}text")]
    for word in ("The", "Los", "Diego", "San", "California", "step", "confidence", "pull", "τc", "5", "11"):
        assert word in words, word
    assert not list(root.iter(f"{SVG}image"))
    page.evaluate(ALONE)
    screen = picture(page.get_by_role("slider", name="step").screenshot())
    (tmp_path / "score.svg").write_bytes(content)
    drawn = picture(visit((tmp_path / "score.svg").as_uri(), ready=None).page.screenshot())
    drawn = drawn[8 : 8 + screen.shape[0], 8 : 8 + screen.shape[1]]
    assert differing(drawn, screen) < 0.01


# The run.


@pytest.mark.parametrize("many", [False, True])
def test_a_run_is_one_frame_per_step_of_one_size(replay: Visiting, many: bool) -> None:
    traces = dard.compare(los_diego(), LOS_DIEGO, settings={"dard": {"tau_c": 0.4, "tau_u": 0.8}}) if many else los()
    page = replay(traces, "#step=2&position=4").page
    frames = [base64.b64decode(frame) for frame in page.evaluate("viewer.exports.frames()")]
    assert len(frames) == los().num_steps + 1
    pictures = [picture(frame) for frame in frames]
    assert {found.shape for found in pictures} == {pictures[0].shape} and pictures[0].shape[1] == 960
    assert all((a != b).any() for a, b in pairwise(pictures))
    animation = Image.open(io.BytesIO(gif(frames)))
    assert animation.n_frames == len(frames)
    for number, drawn in enumerate(pictures):
        animation.seek(number)
        seen = np.asarray(animation.convert("RGB"), dtype=np.int16)
        assert (np.abs(seen - drawn).max(axis=2) > 24).mean() < 0.002
    assert step_of(page) == 2


def test_a_very_long_run_is_thinned(replay: Visiting) -> None:
    page = replay(los()).page
    page.evaluate(
        """() => { const lane = viewer.lanes[0];
        while (lane.frames.length < 401) lane.frames.push({ ...lane.frames.at(-1), index: lane.frames.length });
        HTMLCanvasElement.prototype.toBlob = (done) => done(new Blob(['x'])); }"""
    )
    assert page.evaluate("viewer.exports.frames().then((frames) => frames.length)") == 200


# Without a server.


def test_a_replay_from_disk_exports_without_a_server(replay: Visiting, tmp_path: Path) -> None:
    seen = replay(los(), "#step=2&position=4")
    page = seen.page
    press(page, "Export")
    told = page.locator(".dv-contents")
    expect(told).to_have_text(
        f"In a trace, page or embedded view are the prompt “{los().prompt[:59]}…”, the model’s name “{los().model}”, "
        "the decoder and its settings, and every step: tokens, probabilities, times."
    )
    names = {re.sub(r" \(.*", "", name) for name in page.get_by_role("menuitem").all_inner_texts()}
    assert names == OFFLINE
    page.keyboard.press("Escape")
    view, score = exported(page, "This view"), exported(page, "Score")
    assert (view.suggested_filename, score.suggested_filename) == ("dard-step-2.png", "dard-step-2-score.svg")
    view.save_as(tmp_path / "view.png")
    assert Image.open(tmp_path / "view.png").width > 2000
    assert [url for url in seen.requests if not url.startswith(("data:", "blob:"))] == seen.requests[:1]


def test_a_notebook_exports_too(visit: Visiting, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset='utf-8'>{los()._repr_html_()}", encoding="utf-8")
    page = visit(file.as_uri(), ready="iframe").page
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        frame.get_by_role("menuitem", name="This view").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_code_to_embed_opens_the_same_moment(replay: Visiting, visit: Visiting, tmp_path: Path) -> None:
    page = replay(los(), "#step=2&position=4&order=position&hideLater=true").page
    press(page, "Export")
    page.get_by_role("menuitem", name="Embed").click()
    code = page.get_by_label("code to embed").input_value()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            self.found = (tag, dict(attributes))

    reader = Reader()
    reader.feed(code)
    tag, attributes = reader.found
    source = urlsplit(attributes["src"] or "")
    assert (tag, source.path) == ("iframe", "replay.html") and code.endswith("</iframe>")
    assert parse_qs(source.fragment)["step"] == ["2"]
    page.keyboard.press("Escape")
    expect(page.get_by_label("code to embed")).to_be_hidden()
    around = tmp_path / "around.html"
    around.write_text(f"<!doctype html><meta charset='utf-8'>{code}", encoding="utf-8")
    frame = visit(around.as_uri(), ready="iframe").page.frame_locator("iframe")
    expect(frame.get_by_role("slider", name="step")).to_have_attribute("aria-valuenow", "2")
    expect(frame.locator("[data-position='4']")).to_have_attribute("aria-pressed", "true")


def test_a_replay_opens_at_the_exported_state(visit: Visiting, tmp_path: Path) -> None:
    file = tmp_path / "here.html"
    state = {"step": 2, "position": 4, "order": "position", "hideLater": True, "unknown": 5}
    file.write_text(replay_html(los(), "Los Diego", state), encoding="utf-8")
    page = visit(file.as_uri()).page
    assert page.evaluate("viewer.getState()") == {
        "step": 2, "position": 4, "lane": 0, "order": "position", "reach": 0, "map": "states", "hideLater": True,
        "attention": -1, "graph": "order", "side": "mask",
    }  # fmt: skip
    assert exported(page, "Mask").suggested_filename == "los-diego-step-2-mask.svg"
