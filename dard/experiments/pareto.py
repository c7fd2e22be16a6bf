"""Accuracy against forward passes for every decoder (the paper's Figures 5 and 6, and its LLaDA-1.5 figure).

The grid of each decoder is its own, the paper's where it has one: whoever registers a decoder is in the chart.
"""

from __future__ import annotations

from dard.decoders import DECODERS
from dard.experiments.base import PACE, Experiment, Table, columns, number, percent, speed
from dard.experiments.figures import ACCURACY, PASSES, SYMBOLS, Figure, Trace, colour_of
from dard.experiments.points import Point, by_decoder, frontier, most_tokens, number_of, points
from dard.results.file import Results
from dard.results.sweep import ONE_BY_ONE, Scope, Variant, title_of, variant_of
from dard.trace.metrics import area_under_parallelism

OUTLINE = "#D40000"  # the best point, as in the paper


class Pareto(Experiment):
    name = "pareto"
    title = "Accuracy against forward passes"
    paper = "Figures 5 and 6, and the LLaDA-1.5 figure"
    shows = "which decoder is right most often for a number of forward passes, over a grid of each one's settings"
    beside = ONE_BY_ONE
    columns = {
        **columns("Variant", "Samples", "Acc. (%)", "95 % interval", *PACE, "Tokens/s", "Speed"),
        "Frontier": lambda p: p.label,
    }
    caption = (
        "Prompts are decoded in batches of {batch}. Speed is tokens per second as a multiple of standard decoding with "
        "one token per pass in the same run. • marks the decoder's own frontier: no other of its settings is at least "
        "as accurate in fewer passes."
    )
    chart = (PASSES, ACCURACY, "{task_title}, {model}")
    layout = {"xaxis": {"rangemode": "tozero"}}

    def grid(self, scope: Scope) -> list[Variant]:
        fills_masks = [decoder for decoder in DECODERS.values() if "noise" not in decoder.needs]
        return [variant_of(decoder, point) for decoder in fills_masks for point in decoder.points(scope.masks)]

    def lines(self, points: list[Point]) -> list[Point]:
        for p in [p for group in by_decoder(points).values() for p in frontier(group)]:
            p.label = "•"
        return points

    def tables(self, results: Results) -> list[Table]:
        return [self.table(results), peaks(points(results, self.beside))]

    def traces(self, points: list[Point]) -> list[Trace]:
        return [trace for decoder, group in by_decoder(points).items() for trace in decoder_traces(decoder, group)]

    def figure(self, results: Results) -> Figure:
        """With a dotted line at the accuracy of standard decoding with one token per pass."""
        line = {"color": colour_of(ONE_BY_ONE.decoder), "dash": "dot", "width": 1}
        level = {"type": "line", "xref": "paper", "x0": 0, "x1": 1}
        heights = [100 * p.accuracy for p in points(results, self.beside) if p is p.beside]
        drawn = super().figure(results)
        drawn["layout"]["shapes"] = [{**level, "y0": y, "y1": y, "line": line, "layer": "below"} for y in heights]
        return drawn


def peaks(points: list[Point]) -> Table:
    """Every decoder at its most accurate setting, and the areas and speeds of all of its settings."""
    groups, best = by_decoder(points), 100 * max((p.accuracy for p in points), default=0.0)
    known = all(p.per_pass() for p in points)

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
        "AUP adds up accuracy over all speeds a decoder reaches, and counts less what is far from the best accuracy. "
        "The last column is the fastest setting, in tokens per pass, that is no less accurate than one token per pass. "
        "Tokens per pass count all filled positions, or those that are not the end of text."
    )
    return Table.of([frontier(group)[-1] for group in groups.values()], shown, caption)


def decoder_traces(decoder: str, group: list[Point]) -> list[Trace]:
    """The decoder's dashed frontier, and its points, the best of them outlined."""
    outer, colour = frontier(group), colour_of(decoder)
    best = outer[-1]

    def scatter(some: list[Point], mode: str) -> Trace:
        places = {"x": [p.passes for p in some], "y": [100 * p.accuracy for p in some]}
        return {"type": "scatter", "legendgroup": decoder, **places, "mode": mode}

    def hover(p: Point) -> str:
        return (
            f"<b>{p.variant.name}</b><br>{percent(p.accuracy)} % ({' – '.join(map(percent, p.interval))}), "
            f"{p.samples} samples<br>{p.passes:.2f} passes, {p.tokens_per_second:.0f} tokens/s ({speed(p)})"
        )

    dashed = {"line": {"color": colour, "dash": "dash", "width": 1.5}, "showlegend": False, "hoverinfo": "skip"}
    marked = {
        "name": f"{title_of(decoder)}, {best.tokens_per_second:.0f} tok/s",  # beside the points they would collide
        "customdata": [p.variant.name for p in group],
        "hovertext": [hover(p) for p in group],
        "hoverinfo": "text",
        "marker": {
            "color": colour,
            "symbol": SYMBOLS[number_of(decoder) % len(SYMBOLS)],
            "size": [13 if p is best else 9 for p in group],
            "line": {"color": OUTLINE, "width": [2.5 if p is best else 0 for p in group]},
        },
    }
    return [scatter(outer, "lines") | dashed, scatter(group, "markers") | marked]
