"""Whether a change of the browser's modules leaves what a person sees as it was: pictures before and after.

    python -m tests.browser.same_pictures take BEFORE
    python -m tests.browser.same_pictures take AFTER
    python -m tests.browser.same_pictures compare BEFORE AFTER

Takes every case of the gallery as a replay page, at several steps, wide, narrow and dark, and lanes side by side.
Fonts differ between machines, so the pictures are no part of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace
from visual.export import replay_html
from visual.readme import launch_chromium
from visual.server.cases import GALLERY, gallery

PANELS = ("tokens", "score", "insp", "mask", "causes")
LOOKS = {"wide": (1280, "light"), "room": (1700, "dark"), "medium": (900, "light"), "narrow": (390, "dark")}
CLEARLY = 24  # of 255, in one colour of a pixel


def cases() -> Iterator[tuple[str, str]]:
    """Pages by name, each opened where something is to be seen."""
    for path, case in zip(sorted(GALLERY.glob("??-*.json")), gallery(), strict=True):
        trace = Trace.load(path.with_suffix(".trace.json.gz"))
        state = {"step": case.get("step") or trace.num_steps // 2, "position": case.get("select", -1)}
        yield path.stem, replay_html(trace, case["name"], state)
    yield "compared", replay_html(dard.compare(los_diego(), LOS_DIEGO), state={"step": 2, "position": 4})


def pictures(page: Page) -> Iterator[tuple[str, bytes]]:
    for change in ("{}", "{step: 1}", "{step: 0, map: 'weights'}", "{step: 99999, order: 'position', side: 'causes'}"):
        page.evaluate(f"viewer.setState({change})")
        page.wait_for_timeout(60)
        yield f"{change}-all", page.locator("#viewer").screenshot(animations="disabled")
    page.evaluate("viewer.setState({side: 'mask', order: 'state', map: 'states', reach: 3, step: 2})")
    page.wait_for_timeout(120)
    for panel in PANELS:
        box = page.locator(f".dv-p-{panel}").first
        if box.is_visible():
            yield panel, box.screenshot(animations="disabled")


def take(folder: str) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        pages = {(look, size): browser.new_page(viewport={"width": size[0], "height": 1400}, color_scheme=size[1])
                 for look, size in LOOKS.items()}  # fmt: skip
        for number, (name, text) in enumerate(cases()):
            file = out / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            for (look, _), page in pages.items():
                if look != "wide" and number % 4:
                    continue
                page.goto(file.resolve().as_uri())
                page.wait_for_selector("body[data-ready]")
                for kind, picture in pictures(page):
                    (out / f"{name}.{look}.{''.join(c for c in kind if c.isalnum())}.png").write_bytes(picture)
            file.unlink()
        browser.close()
    print(f"{len(list(out.glob('*.png')))} pictures")


def compare(before: str, after: str) -> int:
    """The number of pictures in which a pixel in a thousand clearly differs."""
    names = sorted({path.name for folder in (before, after) for path in Path(folder).glob("*.png")})
    changed = 0
    largest = 0.0
    for name in names:
        paths = [Path(folder) / name for folder in (before, after)]
        if not all(path.exists() for path in paths):
            print(f"{name}: only in one of them")
            changed += 1
            continue
        one, other = (np.asarray(Image.open(path).convert("RGB"), dtype=np.int16) for path in paths)
        share = float((np.abs(one - other).max(axis=2) > CLEARLY).mean()) if one.shape == other.shape else 1.0
        largest = max(largest, share)
        if share > 0.001:
            print(f"{name}: {share:.2%} of its pixels differ")
            changed += 1
    print(f"{len(names)} pictures, {changed} changed; at most {largest:.3%} of a picture's pixels differ")
    return changed


if __name__ == "__main__":
    if sys.argv[1] == "take":
        take(sys.argv[2])
    else:
        sys.exit(compare(sys.argv[2], sys.argv[3]) > 0)
