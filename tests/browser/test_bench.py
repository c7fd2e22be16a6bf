"""The figures of `make bench-page`, on few frames: machines are noisy, so they are printed and not asserted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.bench_page import keys, per_cell, samples


@pytest.mark.long
@pytest.mark.parametrize("what", ["4 × 256", "1,024"])
def test_a_step_is_printed_beside_a_bare_canvas(
    what: str, chromium: Browser, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    steps = keys(chromium, samples()[what], tmp_path, rounds=1, most=45)
    assert len(steps.mine) == len(steps.bare) == 90
    told = f"{steps.ratio:.2f} × a bare canvas, {steps.work:.1f} ms of the page's own work"
    figure(f"one key per frame at {what}: {told}")


@pytest.mark.long
def test_opening_is_printed_by_the_cell(chromium: Browser, tmp_path: Path, figure: Callable[[str], None]) -> None:
    long, short, ratio = per_cell(chromium, tmp_path)
    figure(f"opening 1,024 × 1,000: {long:.2f} s, 256 × 250: {short:.2f} s, {ratio:.2f} × per cell")
