"""A real Chromium for tests that look at pages.

`visit(url)` opens a page for a visitor of whom the browser knows nothing, and runs `script` before what the page runs.
When the test ends it fails if the page logged an error, threw one, opened a dialog, or asked for anything outside the
origin it was opened from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradio as gr
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)
from playwright.sync_api import Error as PlaywrightError

from visual.export import replay_html
from visual.page import build_page
from visual.readme import launch_chromium
from visual.server import opening
from visual.server.studio import Studio

PATIENCE = 60_000  # milliseconds: a busy machine is no failure
LOOKS = ("color_scheme", "reduced_motion")  # of a page, whatever its window has
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
    cases = opening.gallery()
    for settings in (cases[0]["settings"], *(lane["settings"] for lane in cases[0]["lanes"])):
        if "tau_u" in settings:
            settings["tau_u"] = 0.8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "gallery", lambda: cases)
        return build_page(studio)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One for all tests of this process. Nothing but this machine can be reached from it."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        yield browser
        browser.close()


class Windows:
    """Where pages are opened. A window of one's own costs more than the page in it, so the first visitor of a test gets
    a tab of a window that is kept, in which nothing is left of the visitor before; all others get a window."""

    def __init__(self, chromium: Browser) -> None:
        self.chromium = chromium
        self.kept: BrowserContext | None = None
        self.free = True

    def new(self, **options: Any) -> BrowserContext:
        context = self.chromium.new_context(**options)
        context.set_default_timeout(PATIENCE)
        return context

    def tab(self, options: dict[str, Any]) -> Page:
        looks = {name: options[name] for name in LOOKS if name in options}
        if not self.free or set(options) - {"viewport", *LOOKS}:
            return self.new(**options).new_page()
        self.free = False
        self.kept = self.kept or self.new()
        page = self.kept.new_page()
        page.set_viewport_size(options["viewport"])
        if looks:
            page.emulate_media(**looks)
        return page

    def leave(self, contexts: set[BrowserContext]) -> None:
        """Whatever is in the way of leaving a window as it was, another one is opened for the next test."""
        self.free = True
        for context in contexts:
            try:
                if context is not self.kept:
                    raise PlaywrightError("of its own")
                context.set_offline(False)
                context.clear_permissions()
                for page in context.pages:
                    page.evaluate("localStorage.clear()")
                    page.close()
            except PlaywrightError:
                context.close()
                self.kept = None if context is self.kept else self.kept


@pytest.fixture(scope="session")
def windows(chromium: Browser) -> Windows:
    return Windows(chromium)


@pytest.fixture
def visit(windows: Windows) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []
    listening: list[tuple[BrowserContext, Callable[[Request], None]]] = []

    def open_page(
        url: str,
        *,
        ready: str | None = "body[data-ready]",
        script: str | None = None,
        newcomer: bool = False,
        **context_options: Any,
    ) -> Visit:
        page = windows.tab({"viewport": {"width": 1280, "height": 800}} | context_options)
        if script:
            page.add_init_script(script)
        if not newcomer:  # has seen the first minute, and plays without pauses
            page.add_init_script(KNOWN)
        found = Visit(page)
        visits.append(found)
        home = urlsplit(url)

        def asks(request: Request) -> None:
            there = urlsplit(request.url)
            if there.scheme in ("data", "blob"):
                return
            found.requests.append(request.url)
            if (there.scheme, there.netloc) != (home.scheme, home.netloc):
                found.problems.append(f"asked for {request.url}")

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                found.problems.append(f"{message.type}: {message.text}")

        def asked(dialog: Dialog) -> None:
            found.problems.append(f"opened a dialog: {dialog.message}")
            dialog.dismiss()

        page.context.on("request", asks)
        listening.append((page.context, asks))
        page.on("dialog", asked)
        page.on("console", heard)
        page.on("pageerror", lambda error: found.problems.append(f"threw: {error}"))
        page.goto(url)
        if ready:
            page.wait_for_selector(ready)
        return found

    yield open_page
    for context, asks in listening:
        context.remove_listener("request", asks)
    windows.leave({found.page.context for found in visits})
    assert [problem for found in visits for problem in found.problems] == []


@pytest.fixture
def replay(visit: Callable[..., Visit], tmp_path: Path) -> Callable[..., Visit]:
    """A replay opened from disk."""

    def open_replay(traces: Any, fragment: str = "", **options: Any) -> Visit:
        file = tmp_path / "replay.html"
        file.write_text(replay_html(traces), encoding="utf-8")
        return visit(f"{file.as_uri()}{fragment}", **options)

    return open_replay
