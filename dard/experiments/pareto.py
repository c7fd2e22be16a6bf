"""Accuracy against forward passes for every decoder (the paper's Figures 5 and 6, and its LLaDA-1.5 figure).

The grid of each decoder is its own, the paper's where it has one: whoever registers a decoder is in the chart.
"""

from __future__ import annotations

from typing import Any

from dard.decoders import DECODERS
from dard.experiments.base import Experiment
from dard.experiments.figures import ACCURACY, OUTLINE, PASSES, SYMBOLS, Figure, colour_of, figure, number_of
from dard.experiments.points import Point, area_under_parallelism, frontier, most_tokens, points
from dard.experiments.results import Results
from dard.experiments.tables import PACE, Table, columns, number, percent, speed
from dard.experiments.variants import ONE_BY_ONE, Scope, Variant, title_of, variant_of


class Pareto(Experiment):
    name = "pareto"
    title = "Accuracy against forward passes"
    paper = "Figures 5 and 6, and the LLaDA-1.5 figure"
    shows = "which decoder is right most often for a number of forward passes, over a grid of each one's settings"
    beside = ONE_BY_ONE
    columns = columns("Variant", "Samples", "Acc. (%)", "95 % interval", *PACE, "Tokens/s", "Speed")
    caption = (
        "Prompts are decoded in batches of {batch}. Speed is tokens per second as a multiple of standard decoding with "
        "one token per pass in the same run. • marks the decoder's own frontier: no other of its settings is at least "
        "as accurate in fewer passes."
    )

    def grid(self, scope: Scope) -> list[Variant]:
        return [variant_of(decoder, point) for decoder in DECODERS.values() for point in decoder.points(scope.masks)]

    def tables(self, results: Results) -> list[Table]:
        found = points(results, self.beside)
        outer = [p for group in by_decoder(found).values() for p in frontier(group)]
        shown = {**self.columns, "Frontier": lambda p: "•" if p in outer else ""}
        return [Table.of(found, shown, self.caption.format_map(results.header)), peaks(found)]

    def figure(self, results: Results) -> Figure:
        found = points(results, self.beside)
        traces = [trace for decoder, group in by_decoder(found).items() for trace in decoder_traces(decoder, group)]
        lines = [level(100 * p.accuracy) for p in found if p is p.beside]
        title = "{task_title}, {model}"
        return figure(results, traces, PASSES, ACCURACY, title, xaxis={"rangemode": "tozero"}, shapes=lines)


def by_decoder(found: list[Point]) -> dict[str, list[Point]]:
    """The points of each decoder, in the order of registration; results may name some that are not known here."""
    names = sorted({p.variant.decoder for p in found}, key=lambda name: (number_of(name), name))
    return {name: [p for p in found if p.variant.decoder == name] for name in names}


def peaks(found: list[Point]) -> Table:
    """Every decoder at its most accurate setting, and the areas and speeds of all of its settings."""
    groups, best = by_decoder(found), 100 * max((p.accuracy for p in found), default=0.0)
    known = all(p.per_pass() for p in found)

    def area(p: Point) -> str:
        pairs = [(q.per_pass() or 0.0, 100 * q.accuracy) for q in groups[p.variant.decoder]]
        return number(area_under_parallelism(pairs, best) if known else None, 1)

    def most(p: Point) -> str:
        return number(most_tokens(groups[p.variant.decoder], p.beside.accuracy) if p.beside else None)

    shown = {
        **columns("Variant", "Acc. (%)", "95 % interval", "Gain (%)", *PACE, "Fewer", "Tokens/s"),
        "AUP": area,
        "Tokens/pass, no worse": most,
    }
    caption = (
        "Each decoder at its most accurate setting: gain and passes against standard decoding with one token per pass. "
        "AUP is the area under accuracy (%) over tokens per pass of all of its settings, weighted by how near the best "
        "accuracy of all they come; the last column the most tokens per pass of those at least as accurate as one "
        "token per pass. Tokens per pass count all filled positions, or those that are not the end of text."
    )
    return Table.of([frontier(group)[-1] for group in groups.values()], shown, caption)


def decoder_traces(decoder: str, group: list[Point]) -> list[dict[str, Any]]:
    """The decoder's points, the best of them outlined, and its dashed frontier."""
    outer, colour = frontier(group), colour_of(decoder)
    best = outer[-1]
    hover = [
        f"<b>{p.variant.name}</b><br>{percent(p.accuracy)} % ({' – '.join(map(percent, p.interval))}), "
        f"{p.samples} samples<br>{p.passes:.2f} passes, {p.tokens_per_second:.0f} tokens/s ({speed(p)})"
        for p in group
    ]

    def scatter(some: list[Point], **more: Any) -> dict[str, Any]:
        places = {"x": [p.passes for p in some], "y": [100 * p.accuracy for p in some]}
        return {"type": "scatter", "legendgroup": decoder, **places, **more}

    return [
        scatter(
            outer,
            mode="lines",
            line={"color": colour, "dash": "dash", "width": 1.5},
            showlegend=False,
            hoverinfo="skip",
        ),
        scatter(
            group,
            mode="markers",
            name=f"{title_of(decoder)}, {best.tokens_per_second:.0f} tok/s",  # beside the points they would collide
            customdata=[p.variant.name for p in group],
            hovertext=hover,
            hoverinfo="text",
            marker={
                "color": colour,
                "symbol": SYMBOLS[number_of(decoder) % len(SYMBOLS)],
                "size": [13 if p is best else 9 for p in group],
                "line": {"color": OUTLINE, "width": [2.5 if p is best else 0 for p in group]},
            },
        ),
    ]


def level(y: float) -> dict[str, Any]:
    """A dotted line at the accuracy of standard decoding with one token per pass."""
    line = {"color": colour_of(ONE_BY_ONE.decoder), "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line, "layer": "below"}
