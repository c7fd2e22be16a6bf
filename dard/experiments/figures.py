"""Figures as Plotly's JSON, and as pages that show them.

Promises: a figure is plain data, {"data": […], "layout": {…}}; drawn points carry the name of their variant as
`customdata`, so that a click can be traced to the runs behind it. Backgrounds are transparent.
Does not know: Plotly, except to write a page; experiments.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dard.experiments.base import Figure

# Okabe–Ito and further colours apart from those, and shapes for those who cannot tell the colours: one of each per
# decoder, in the order of registration. Their numbers have no common divisor, so a pair comes back late.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#666666", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288",
)  # fmt: skip
SYMBOLS = (
    "circle", "square", "diamond", "x", "triangle-up", "star", "cross", "triangle-down", "hexagon", "pentagon",
    "bowtie",
)  # fmt: skip
OUTLINE = "#D40000"  # the best point, as in the paper


def number_of(decoder: str) -> int:
    """The place of a decoder in the order of registration; after all of them for one that is not known here."""
    from dard.decoders import DECODERS

    return [*DECODERS, decoder].index(decoder)


def colour_of(decoder: str) -> str:
    return COLOURS[number_of(decoder) % len(COLOURS)]


def symbol_of(decoder: str) -> str:
    return SYMBOLS[number_of(decoder) % len(SYMBOLS)]


def figure(data: Sequence[dict[str, Any]], title: str, x: str, y: str, **layout: Any) -> Figure:
    """A figure in the common style with titled axes."""
    axis = {"zeroline": False, "gridcolor": "rgba(128,128,128,0.25)", "linecolor": "rgba(128,128,128,0.6)"}
    base: dict[str, Any] = {
        "title": {"text": title, "x": 0, "xref": "paper"},
        "xaxis": {"title": {"text": x}, **axis},
        "yaxis": {"title": {"text": y}, **axis},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 60, "r": 20, "t": 60, "b": 55},
        "hovermode": "closest",
    }
    for name, value in layout.items():
        base[name] = base[name] | value if isinstance(value, dict) and name in base else value
    return {"data": list(data), "layout": base}


def side_by_side(left: Figure, right: Figure, title: str) -> Figure:
    """Two figures as one, each with its own axes."""
    second = {"xaxis": "x2", "yaxis": "y2"}
    data = [*left["data"], *({**trace, **second, "showlegend": False} for trace in right["data"])]
    layout = {
        **left["layout"],
        "title": {**left["layout"]["title"], "text": title},
        "xaxis": {**left["layout"]["xaxis"], "domain": [0, 0.44]},
        "xaxis2": {**right["layout"]["xaxis"], "domain": [0.56, 1], "anchor": "y2"},
        "yaxis2": {**right["layout"]["yaxis"], "anchor": "x2"},
    }
    return {"data": data, "layout": layout}


def write_json(figure: Figure, path: Path) -> None:
    path.write_text(json.dumps(figure, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_page(figure: Figure, path: Path) -> None:
    """A page that shows the figure without a network; plotly.min.js lies beside it, once for a whole folder."""
    import plotly.io

    plotly.io.write_html(figure, path, include_plotlyjs="directory", div_id="figure", config={"displaylogo": False})
