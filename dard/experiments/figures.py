"""Figures as Plotly's JSON.

Promises: a figure is plain data, {"data": […], "layout": {…}}; drawn points carry the name of their variant as
`customdata`, so that a click can be traced to the runs behind it. Backgrounds are transparent.
Does not know: Plotly, or any experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dard.experiments.points import Point, number_of, split
from dard.results.file import Results

Figure = dict[str, Any]  # Plotly's JSON: {"data": […], "layout": {…}}
Trace = dict[str, Any]  # one of its data
PASSES, ACCURACY = "forward passes per sample", "accuracy (%)"

# Okabe–Ito and further colours apart from those, and shapes for those who cannot tell the colours: one of each per
# decoder, in the order of registration. Their numbers have no common divisor, so a pair comes back late.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#666666", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288",
    "#661100",
)  # fmt: skip
SYMBOLS = (
    "circle", "square", "diamond", "x", "triangle-up", "star", "cross", "triangle-down", "hexagon", "pentagon",
    "bowtie", "hourglass",
)  # fmt: skip


def colour_of(decoder: str) -> str:
    return COLOURS[number_of(decoder) % len(COLOURS)]


def figure(
    results: Results,
    data: Sequence[Trace],
    x: str,
    y: str,
    title: str = "{title}: {task_title}, {model}",
    **layout: Any,
) -> Figure:
    """A figure in the common style with titled axes. The title is filled in from the header of the results."""
    axis = {"zeroline": False, "gridcolor": "rgba(128,128,128,0.25)", "linecolor": "rgba(128,128,128,0.6)"}
    base: dict[str, Any] = {
        "title": {"text": title.format_map(results.header), "x": 0, "xref": "paper"},
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


def side_by_side(left: Figure, right: Figure) -> Figure:
    """Two figures as one, each with its own axes, under the title of the left one."""
    second = {"xaxis": "x2", "yaxis": "y2"}
    data = [*left["data"], *({**trace, **second, "showlegend": False} for trace in right["data"])]
    layout = {
        **left["layout"],
        "xaxis": {**left["layout"]["xaxis"], "domain": [0, 0.44]},
        "xaxis2": {**right["layout"]["xaxis"], "domain": [0.56, 1], "anchor": "y2"},
        "yaxis2": {**right["layout"]["yaxis"], "anchor": "x2"},
    }
    return {"data": data, "layout": layout}


def intervals(points: Sequence[Point], told: Callable[[Point], bool] = lambda _: True) -> dict[str, Any]:
    """The 95 % intervals of accuracies as bars, of those points that are asked for."""
    up = [100 * (p.interval[1] - p.accuracy) if told(p) else 0.0 for p in points]
    down = [100 * (p.accuracy - p.interval[0]) if told(p) else 0.0 for p in points]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1, "width": 3}


def spots(points: Sequence[Point], text: Callable[[Point], str], colour: str, **more: Any) -> Trace:
    """Points by passes and accuracy, each with its interval and a word above it."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [p.passes for p in points],
        "y": [100 * p.accuracy for p in points],
        "text": [text(p) for p in points],
        "textposition": "top center",
        "customdata": [p.variant.name for p in points],
        "error_y": intervals(points),
        "marker": {"size": 11, "color": colour},
        "hovertemplate": "%{customdata}<br>%{y:.1f} % in %{x:.2f} passes<extra></extra>",
        **more,
    }


def bars(points: Sequence[Point], height: Callable[[Point], float | None], hover: str, **more: Any) -> Trace:
    """A bar for each point."""
    names = [p.variant.name for p in points]
    heights = [height(p) for p in points]
    return {"type": "bar", "x": names, "y": heights, "customdata": names, "hovertemplate": hover, **more}


def kind_bars(points: list[Point], colours: Mapping[str, str], share: Callable[[Point], float | None]) -> list[Trace]:
    """A bar per point for each kind of thing that its rows tell of; a point's label is the kind, its share in %."""
    shown = {"texttemplate": "%{y:.1f}"}
    return [
        bars(
            split(points, [kind]),
            share,
            f"{kind}: %{{y:.2f}} %<extra></extra>",
            name=kind,
            marker={"color": c},
            **shown,
        )
        for kind, c in colours.items()
    ]
