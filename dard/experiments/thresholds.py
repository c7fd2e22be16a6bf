"""Accuracy and passes over τ_c × τ_u (the paper's threshold table), as a heatmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import figure, side_by_side
from dard.experiments.results import Results
from dard.experiments.summary import Point, points
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant

TAU_C = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
TAU_U = (0.5, 0.6, 0.7, 0.8, 0.9)


class Thresholds(Experiment):
    name = "thresholds"
    title = "Thresholds τ_c and τ_u"
    paper = "the table of τ_c and τ_u"
    default_task = "sudoku-open"
    shows = "how the two thresholds trade accuracy for passes"

    def grid(self, scope: Scope) -> list[Variant]:
        return [
            Variant(f"τ_c={c:g} τ_u={u:g}", "dard", {"tau_c": c, "tau_u": u}) for c in TAU_C for u in TAU_U if c < u
        ]

    def tables(self, results: Results) -> list[Table]:
        found = cells(results)
        rows = [[f"{c:g}", *(shown(found.get((c, u))) for u in TAU_U)] for c in TAU_C]
        caption = (
            f"{results.header['task_title']}, {results.header['model']}: accuracy in %, mean forward passes in "
            f"parentheses, over {results.samples} samples."
        )
        return [Table(caption, ["τ_c \\ τ_u", *(f"{u:g}" for u in TAU_U)], rows)]

    def figure(self, results: Results) -> Figure:
        found = cells(results)
        grid = [[found.get((c, u)) for u in TAU_U] for c in TAU_C]
        accuracy = heatmap(grid, lambda p: 100 * p.accuracy, "Viridis", 0.44, "%{z:.1f} %")
        passes = heatmap(grid, lambda p: p.passes, "Cividis", 1.0, "%{z:.2f} passes")
        axes: dict[str, Any] = {"xaxis": {"type": "category"}, "yaxis": {"type": "category"}}
        return side_by_side(
            figure([accuracy], "", "τ_u", "τ_c", **axes),
            figure([passes], "", "τ_u", "τ_c", **axes),
            f"Accuracy (%) and forward passes: {results.header['task_title']}, {results.header['model']}",
        )


def cells(results: Results) -> dict[tuple[float, float], Point]:
    return {(p.variant.settings["tau_c"], p.variant.settings["tau_u"]): p for p in points(results)}


def shown(p: Point | None) -> str:
    return "–" if p is None else f"{percent(p.accuracy)} ({p.passes:.2f})"


def heatmap(
    grid: list[list[Point | None]], value: Callable[[Point], float], colours: str, bar: float, hover: str
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": [f"{u:g}" for u in TAU_U],
        "y": [f"{c:g}" for c in TAU_C],
        "z": [[None if p is None else value(p) for p in line] for line in grid],
        "customdata": [[None if p is None else p.variant.name for p in line] for line in grid],
        "texttemplate": "%{z:.1f}",
        "colorscale": colours,
        "colorbar": {"x": bar, "thickness": 10, "xpad": 4},
        "hovertemplate": f"τ_c = %{{y}}, τ_u = %{{x}}<br>{hover}<extra></extra>",
        "hoverongaps": False,
    }
