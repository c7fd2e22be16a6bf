"""Accuracy against forward passes for every decoder (the paper's Figures 5 and 6, and its LLaDA-1.5 figure).

The grid of each decoder is its own, the paper's where it has one: whoever registers a decoder is in the chart.
"""

from __future__ import annotations

from typing import Any

from dard.decoders import DECODERS
from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import OUTLINE, colour_of, figure, number_of, symbol_of
from dard.experiments.results import Results
from dard.experiments.summary import Point, best_point, frontier, points
from dard.experiments.tables import Table, percent
from dard.experiments.variants import ONE_BY_ONE, Scope, Variant, title_of, variant_of


class Pareto(Experiment):
    name = "pareto"
    title = "Accuracy against forward passes"
    paper = "Figures 5 and 6, and the LLaDA-1.5 figure"
    shows = "which decoder is right most often for a number of forward passes, over a grid of each one's settings"

    def grid(self, scope: Scope) -> list[Variant]:
        return [variant_of(decoder, point) for decoder in DECODERS.values() for point in decoder.points(scope.masks)]

    def tables(self, results: Results) -> list[Table]:
        found = points(results)
        outer = {p.variant.name for group in by_decoder(found).values() for p in frontier(group)}
        base = next((p for p in found if p.variant.name == ONE_BY_ONE.name), None)
        rows = [
            [
                p.variant.name,
                str(p.samples),
                percent(p.accuracy),
                f"{percent(p.low)} – {percent(p.high)}",
                f"{p.passes:.2f}",
                f"{p.tokens_per_second:.0f}",
                times(p, base),
                "•" if p.variant.name in outer else "",
            ]
            for p in found
        ]
        columns = [
            "Variant", "Samples", "Acc. (%)", "95 % interval", "Passes", "Tokens/s", "Speed", "Frontier",
        ]  # fmt: skip
        caption = (
            f"Prompts are decoded in batches of {results.header['batch']}. Speed is tokens per second as a multiple of "
            "standard decoding with one token per pass in the same run. "
            "• marks the decoder's own frontier: no other of its settings is at least as accurate in fewer passes."
        )
        return [Table(caption, columns, rows, [p.variant.name for p in found])]

    def figure(self, results: Results) -> Figure:
        found = points(results)
        base = next((p for p in found if p.variant.name == ONE_BY_ONE.name), None)
        traces: list[dict[str, Any]] = []
        for decoder, group in by_decoder(found).items():
            traces += decoder_traces(decoder, group, base)
        lines = [] if base is None else [level(100 * base.accuracy)]
        header = results.header
        return figure(
            traces,
            f"{header['task_title']}, {header['model']}",
            "forward passes per sample",
            "accuracy (%)",
            xaxis={"rangemode": "tozero"},
            shapes=lines,
        )


def by_decoder(found: list[Point]) -> dict[str, list[Point]]:
    """The points of each decoder, in the order of registration; results may name some that are not known here."""
    names = sorted({p.variant.decoder for p in found}, key=lambda name: (number_of(name), name))
    return {name: [p for p in found if p.variant.decoder == name] for name in names}


def times(p: Point, base: Point | None) -> str:
    if base is None or not base.tokens_per_second:
        return "–"
    return f"×{p.tokens_per_second / base.tokens_per_second:.2f}"


def decoder_traces(decoder: str, group: list[Point], base: Point | None) -> list[dict[str, Any]]:
    """The decoder's points, the best of them outlined, and its dashed frontier."""
    best = best_point(group)
    colour, title = colour_of(decoder), title_of(decoder)
    outer = frontier(group)
    hover = [
        f"<b>{p.variant.name}</b><br>{percent(p.accuracy)} % ({percent(p.low)} – {percent(p.high)}), "
        f"{p.samples} samples<br>{p.passes:.2f} passes, {p.tokens_per_second:.0f} tokens/s ({times(p, base)})"
        for p in group
    ]
    outlined = [p is best for p in group]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [p.passes for p in outer],
            "y": [100 * p.accuracy for p in outer],
            "line": {"color": colour, "dash": "dash", "width": 1.5},
            "legendgroup": decoder,
            "showlegend": False,
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{title}, {best.tokens_per_second:.0f} tok/s",  # beside the points, speeds would cover each other
            "legendgroup": decoder,
            "x": [p.passes for p in group],
            "y": [100 * p.accuracy for p in group],
            "customdata": [p.variant.name for p in group],
            "hovertext": hover,
            "hoverinfo": "text",
            "marker": {
                "color": colour,
                "symbol": symbol_of(decoder),
                "size": [13 if best else 9 for best in outlined],
                "line": {"color": OUTLINE, "width": [2.5 if best else 0 for best in outlined]},
            },
        },
    ]


def level(y: float) -> dict[str, Any]:
    """A dotted line at the accuracy of standard decoding with one token per pass."""
    line = {"color": colour_of(ONE_BY_ONE.decoder), "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line, "layer": "below"}
