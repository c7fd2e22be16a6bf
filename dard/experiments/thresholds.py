"""Accuracy and passes over τ_c × τ_u (the paper's threshold table), as a heatmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dard.experiments.base import Experiment, Table, percent
from dard.experiments.figures import Figure, figure, side_by_side
from dard.experiments.points import Point, points
from dard.results.file import Results
from dard.results.sweep import Variant

TAU_C = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
TAU_U = (0.5, 0.6, 0.7, 0.8, 0.9)
PAIRS = [(c, u) for c in TAU_C for u in TAU_U if c < u]


class Thresholds(Experiment):
    name = "thresholds"
    title = "Thresholds τ_c and τ_u"
    paper = "the table of τ_c and τ_u"
    default_task = "sudoku-open"
    shows = "how the two thresholds trade accuracy for passes"
    caption = "{task_title}, {model}: accuracy in %, mean forward passes in parentheses, over {samples} samples."
    summary = True
    variants = [Variant(f"τ_c={c:g} τ_u={u:g}", "dard", {"tau_c": c, "tau_u": u}) for c, u in PAIRS]

    def table(self, results: Results) -> Table:
        texts = cells(results, lambda p: f"{percent(p.accuracy)} ({p.passes:.2f})")
        rows = [[f"{c:g}", *(cell or "–" for cell in line)] for c, line in zip(TAU_C, texts, strict=True)]
        return Table(self.caption.format_map(results.header), ["τ_c \\ τ_u", *(f"{u:g}" for u in TAU_U)], rows)

    def figure(self, results: Results) -> Figure:
        accuracy = heatmap(results, lambda p: 100 * p.accuracy, "Viridis", 0.44, "%{z:.1f} %")
        passes = heatmap(results, lambda p: p.passes, "Cividis", 1.0, "%{z:.2f} passes")
        return side_by_side(accuracy, passes)


def cells(results: Results, value: Callable[[Point], Any]) -> list[list[Any]]:
    """A value for each pair of thresholds, None where there is no point."""
    values = {(p.variant.settings["tau_c"], p.variant.settings["tau_u"]): value(p) for p in points(results)}
    return [[values.get((c, u)) for u in TAU_U] for c in TAU_C]


def heatmap(results: Results, value: Callable[[Point], float], colours: str, bar: float, hover: str) -> Figure:
    trace = {
        "type": "heatmap",
        "x": [f"{u:g}" for u in TAU_U],
        "y": [f"{c:g}" for c in TAU_C],
        "z": cells(results, value),
        "customdata": cells(results, lambda p: p.variant.name),
        "texttemplate": "%{z:.1f}",
        "colorscale": colours,
        "colorbar": {"x": bar, "thickness": 10, "xpad": 4},
        "hovertemplate": f"τ_c = %{{y}}, τ_u = %{{x}}<br>{hover}<extra></extra>",
        "hoverongaps": False,
    }
    title, category = "Accuracy (%) and forward passes: {task_title}, {model}", {"type": "category"}
    return figure(results, [trace], "τ_u", "τ_c", title, xaxis=category, yaxis=category)
