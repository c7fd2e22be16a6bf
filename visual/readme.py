"""The pictures in README and docs, by `python -m visual.readme`: of the first gallery case, and of the Pareto figure.

Both need a Chromium: the case is replayed in one, and its pictures are exported there as a visitor would export them;
the figure is drawn from recorded results by Plotly with kaleido.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright, sync_playwright

from dard.core.folders import assets
from dard.decoding.session import decode
from dard.models import load_model
from visual.export import gif, replay_html
from visual.server.cases import gallery

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
PARETO = assets("results") / "pareto-sudoku-open.figure.json"


FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
# A blob does not leave the browser as it is.
EXPORT = """async (kind) => {
    const bytes = new Uint8Array(await (await viewer.exports.make(kind)).blob.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')); }"""


def launch_chromium(playwright: Playwright, *flags: str) -> Browser:
    """The machine's own Chromium or Chrome, without a window."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])


def los_diego() -> None:
    case: dict[str, Any] = gallery()[0]
    trace = decode(load_model("embedded"), case["prompt"], case["decoder"], **case["settings"])
    revoking = next((step.index for step in trace.steps if step.demoted), trace.num_steps)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "replay.html"
        state = {"step": revoking, "position": case["select"]}
        file.write_text(replay_html(trace, case["name"], state), encoding="utf-8")
        page = launch_chromium(playwright).new_page(viewport={"width": 1280, "height": 800})
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]")
        (PICTURES / "los-diego.png").write_bytes(base64.b64decode(page.evaluate(EXPORT, "png")))
        frames = [base64.b64decode(frame) for frame in page.evaluate("viewer.exports.frames()")]
        (PICTURES / "los-diego.gif").write_bytes(gif(frames))


def pareto() -> None:
    import plotly.io

    figure = json.loads(PARETO.read_text(encoding="utf-8"))
    figure["layout"] |= {"paper_bgcolor": "white", "plot_bgcolor": "white"}
    plotly.io.write_image(figure, PICTURES / "pareto.png", width=900, height=480, scale=1.5)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    los_diego()
    pareto()


if __name__ == "__main__":
    main()
