"""A real Chromium for tests that look at pages.

`visit(url)` opens a page in a context of its own, and runs `script` before what the page runs. When the test ends it
fails if the page logged an error, threw one, opened a dialog, or asked for anything outside the origin it was opened
from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradio as gr
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Route, sync_playwright

from visual import service
from visual.export import replay_html
from visual.page import build_page
from visual.readme import launch_chromium
from visual.service import Studio

KNOWN = """try {
    localStorage.setItem('dard-view', 'full');
    localStorage.setItem('dard-pause', 'off');
} catch {}"""


@dataclass
class Visit:
    """A page, everything it asked for, and everything that went wrong on it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def build_scripted_page(studio: Studio) -> gr.Blocks:
    """A page whose "embedded" model is the scripted one: too sure of both words for the first case's τ_u; with 0.8
    it goes the way the tests tell."""
    cases = service.gallery()
    for settings in (cases[0]["settings"], *(lane["settings"] for lane in cases[0]["lanes"])):
        if "tau_u" in settings:
            settings["tau_u"] = 0.8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "gallery", lambda: cases)
        return build_page(studio)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def open_page(
        url: str,
        *,
        ready: str | None = "body[data-ready]",
        script: str | None = None,
        newcomer: bool = False,
        **context_options: Any,
    ) -> Visit:
        options = {"viewport": {"width": 1280, "height": 800}} | context_options
        context = chromium.new_context(**options)
        if script:
            context.add_init_script(script)
        if not newcomer:  # has seen the first minute, and plays without pauses
            context.add_init_script(KNOWN)
        page = context.new_page()
        found = Visit(page)
        visits.append(found)
        home = urlsplit(url)

        def pass_or_refuse(route: Route) -> None:
            found.requests.append(route.request.url)
            there = urlsplit(route.request.url)
            if there.scheme in ("data", "blob") or (there.scheme, there.netloc) == (home.scheme, home.netloc):
                route.continue_()
            else:
                found.problems.append(f"asked for {route.request.url}")
                route.abort()

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                found.problems.append(f"{message.type}: {message.text}")

        def asked(dialog: Dialog) -> None:
            found.problems.append(f"opened a dialog: {dialog.message}")
            dialog.dismiss()

        context.route("**/*", pass_or_refuse)
        page.on("dialog", asked)
        page.on("console", heard)
        page.on("pageerror", lambda error: found.problems.append(f"threw: {error}"))
        page.goto(url)
        if ready:
            page.wait_for_selector(ready)
        return found

    yield open_page
    for found in visits:
        found.page.context.close()
    assert [problem for found in visits for problem in found.problems] == []


@pytest.fixture
def replay(visit: Callable[..., Visit], tmp_path: Path) -> Callable[..., Visit]:
    """A replay opened from disk."""

    def open_replay(traces: Any, fragment: str = "", **options: Any) -> Visit:
        file = tmp_path / "replay.html"
        file.write_text(replay_html(traces), encoding="utf-8")
        return visit(f"{file.as_uri()}{fragment}", **options)

    return open_replay
