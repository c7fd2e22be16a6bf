"""A real Chromium for tests that look at pages.

`visit(url)` opens a page in a context of its own. When the test ends it fails if the page logged an error, threw one,
opened a dialog, or asked for anything outside the origin it was opened from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Route, sync_playwright

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@dataclass
class Visit:
    """A page, everything it asked for, and everything that went wrong on it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def chromium_path() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []

    def open_page(url: str, *, ready: str | None = "body[data-ready]", **context_options: Any) -> Visit:
        options = {"viewport": {"width": 1280, "height": 800}} | context_options
        context = chromium.new_context(**options)
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
