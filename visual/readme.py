"""The pictures in the README: `python -m visual.readme` draws the first gallery case and the Pareto figure.

The figure is drawn from recorded results by Plotly, which needs kaleido and a Chromium for that.
"""

from __future__ import annotations

import json
from typing import Any

import dard
from visual.pictures import gif, png
from visual.service import ASSETS, gallery

PICTURES = ASSETS / "pictures"
PARETO = ASSETS / "results" / "pareto-sudoku-open.figure.json"


def los_diego() -> None:
    case: dict[str, Any] = gallery()[0]
    trace = dard.decode(dard.load_model("embedded"), case["prompt"], case["decoder"], **case["settings"])
    revoking = next((step.index for step in trace.steps if step.demoted), trace.num_steps)
    (PICTURES / "los-diego.png").write_bytes(png(trace, revoking, case["select"], scale=1))
    (PICTURES / "los-diego.gif").write_bytes(gif(trace))


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
