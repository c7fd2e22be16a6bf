"""The frame of a story: what it is about is in view without scrolling, can be read, and keeps its place."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import dard
from tests.browser.conftest import Visit
from tests.helpers import serving
from visual.page import build_page, launch_options
from visual.server.cases import gallery, lessons
from visual.server.studio import Studio

HEAD = ".df-head:visible"
SIZES = {"laptop": (1280, 720), "tablet": (1024, 768), "phone": (390, 844)}
BELOW = """() => {
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((box) => box.offsetParent);
    const [main] = shown('.dv-body > .dv-panel:not(.dv-p-tokens, .dq)')
        .sort((a, b) => getComputedStyle(a).order - getComputedStyle(b).order);
    const parts = [...shown('.df-caption, .df-bubble, .dv-p-tokens, .dv-transport'), ...(main ? [main] : [])];
    return parts.map((box) => [box.className, Math.round(box.getBoundingClientRect().bottom)])
        .filter(([, bottom]) => bottom > innerHeight);
}"""
SMALL = """() => [...new Set([...document.querySelectorAll('.dl *')].filter((node) => node.offsetParent
    && [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim()))
    .filter((node) => !node.closest('.dv-badge'))
    .filter((node) => [parseFloat(getComputedStyle(node).fontSize)].some((size) => size > 0 && size < 11))
    .map((node) => `${node.className} ${getComputedStyle(node).fontSize}`))]"""
FAINT = """() => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((one) => {
            const c = one / 255;
            return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        for (let each = node; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (!/, 0\\)$|transparent/.test(colour)) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const words = '.df-hook, .df-caption, .df-caption b, .df-settings, .df-settings b, .df-bubble p, .df-exact summary,'
        + '.dq-question, .dq button, .df-what, .df-mean span, .df-ticks span, .df-pass *, .df-turn:enabled, .dv-ph h2';
    return [...document.querySelectorAll(words)].filter((node) => node.offsetParent).map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
        return [node.className || node.tagName, (a + 0.05) / (b + 0.05)];
    }).filter(([name, ratio]) => ratio < 4.5 && !/badge/.test(name));
}"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = dard.load_model("embedded")
    with serving(build_page(studio), **launch_options()) as url:
        yield url


def rests(page: Page) -> None:
    expect(page.locator(HEAD)).to_be_visible()
    expect(page.locator(".dw-busy")).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
def test_every_page_of_the_tour_is_in_view_and_can_be_read(server: str, visit: Callable[..., Visit], size: str) -> None:
    width, height = SIZES[size]
    page = visit(f"{server}?lesson=blanks", ready=HEAD, viewport={"width": width, "height": height}).page
    below = {}
    for number, lesson in enumerate(lessons()):
        expect(page.locator(".df-hook:visible")).to_have_text(f"{number + 1} · {lesson['title']}")
        rests(page)
        below[lesson["name"]] = page.evaluate(BELOW)
        assert page.evaluate(SMALL) == [], lesson["name"]
        assert page.evaluate(FAINT) == [], lesson["name"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), lesson["name"]
        if number + 1 < len(lessons()):
            page.get_by_role("button", name="Next", exact=True).locator("visible=true").press("Enter")
    if size == "phone":
        del below["weight"]  # grid and panel together are higher than a phone; the panel scrolls
    assert {name: parts for name, parts in below.items() if parts} == {}


@pytest.mark.parametrize("size", SIZES)
def test_examples_are_stories_in_view(server: str, visit: Callable[..., Visit], size: str) -> None:
    width, height = SIZES[size]
    options: dict[str, Any] = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}
    page = visit(server, ready=HEAD, newcomer=True, **options).page
    rests(page)
    assert page.evaluate(BELOW) == []
    for case in gallery()[1:8]:
        page.get_by_role("button", name="Next", exact=True).locator("visible=true").click()
        expect(page.locator(".df-hook:visible")).to_have_text(case["name"])
        rests(page)
        assert page.evaluate(BELOW) == [], case["name"]


def test_a_chip_leads_to_a_story_and_everything_keeps_the_place(server: str, visit: Callable[..., Visit]) -> None:
    page = visit(server, ready=HEAD, newcomer=True, reduced_motion="reduce").page
    page.get_by_role("button", name="a Sudoku that clashes with itself").click()
    expect(page.locator(".df-hook:visible")).to_have_text("A Sudoku that clashes")
    expect(page.get_by_role("combobox", name="Prompt")).to_be_hidden()
    for number, said in ((1, "filled at once"), (2, "Revoked."), (3, "Right.")):
        page.get_by_role("button", name=f"pass {number}", exact=True).click()
        expect(page.locator(".df-say")).to_contain_text(said)
    page.get_by_role("button", name="pass 2", exact=True).click()
    page.locator("[data-position='3']:visible").click()
    page.keyboard.press("f")
    expect(page.get_by_role("combobox", name="Prompt")).to_be_visible()
    expect(page.locator(".dv-counter:visible b")).to_have_text("2")
    expect(page.locator("[data-position='3']:visible")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("f")
    page.wait_for_url(re.compile("step=2&select=3.*show=story"))
    page.reload()
    expect(page.locator(".df-hook:visible")).to_have_text("A Sudoku that clashes")
    expect(page.get_by_role("button", name="pass 2", exact=True)).to_have_attribute("aria-current", "step")
    expect(page.locator("[data-position='3']:visible")).to_have_attribute("aria-pressed", "true")


def test_a_story_is_taken_to_a_lecture(server: str, visit: Callable[..., Visit], tmp_path: Path) -> None:
    page = visit(f"{server}?lesson=shadow", ready=HEAD).page
    rests(page)

    def file(name: str) -> bytes:
        page.get_by_role("button", name="Export", exact=True).locator("visible=true").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=name).click()
        download.value.save_as(tmp_path / "file")
        return (tmp_path / "file").read_bytes()

    later = "53 % sure of"  # of pass 3; the page stands at pass 2, and what comes later is hidden
    handout = file("Handout").decode()
    assert "gets less than 1 %" in handout and later not in handout
    for told in ("④", "⑤", "Exercise", "τ_c .40"):
        assert told in handout
    page.get_by_label("hide what comes later").locator("visible=true").uncheck()
    assert later in file("Handout").decode()
    slides = zipfile.ZipFile(io.BytesIO(file("Slides, one for every pass")))
    assert slides.testzip() is None and len(slides.namelist()) == 4
    assert all(slides.read(name).startswith(b"\x89PNG") for name in slides.namelist())
    deck = page.context.new_page()
    deck.set_content(file("Slides that replay").decode())
    expect(deck.locator("img:visible")).to_have_count(1)
    deck.keyboard.press("ArrowRight")
    deck.keyboard.press("ArrowRight")
    expect(deck.locator("output")).to_contain_text("3 of 4: Checked again with 'Los' in view")


def test_on_a_projector_a_story_is_large_and_nothing_is_cut(server: str, visit: Callable[..., Visit]) -> None:
    page = visit(f"{server}?lesson=states&projector=1", ready=HEAD, viewport={"width": 1280, "height": 720}).page
    rests(page)
    assert page.evaluate(BELOW) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    least = page.evaluate(
        """() => Math.min(...['.df-caption', '.df-bubble p', '.df-settings', '.df-mean b', '.dq p'].map((one) => {
            const node = [...document.querySelectorAll(one)].find((each) => each.offsetParent);
            return node ? parseFloat(getComputedStyle(node).fontSize) * node.currentCSSZoom : 99;
        }))"""
    )
    assert least >= 18
