"""Accuracy against forward passes for every decoder (the paper's Figures 5 and 6, and its LLaDA-1.5 figure).

The grid of each decoder is its own, the paper's where it has one: whoever registers a decoder is in the chart.
"""

from __future__ import annotations

import math

from dard.decoders import DECODERS
from dard.experiments.base import PACE, TIMED_FROM, Experiment, Table, columns, number, pace, percent, speed
from dard.experiments.figures import ACCURACY, PASSES, SYMBOLS, Figure, Trace, colour_of
from dard.experiments.points import Point, by_decoder, frontier, most_tokens, number_of, points
from dard.results.file import Results
from dard.results.sweep import ONE_BY_ONE, Scope, Variant, title_of, variant_of
from dard.trace.metrics import area_under_parallelism

OUTLINE = "#D40000"  # the best point, as in the paper
JITTER = 0.008  # of the axes, between points that lie on each other


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
        moved = apart(points)
        drawn = [t for decoder, group in by_decoder(points).items() for t in decoder_traces(decoder, group, moved)]
        return drawn + keys(bool(moved), any(p is p.beside for p in points)) if drawn else []

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


def apart(points: list[Point]) -> dict[int, tuple[float, float]]:
    """How far points that lie on each other are moved, by their identity: around the place, the first one stays."""
    together: dict[tuple[float, float], list[Point]] = {}
    for p in points:
        together.setdefault((round(p.passes, 2), round(p.accuracy, 3)), []).append(p)
    width = max((p.passes for p in points), default=1.0)
    moved = {}
    for group in together.values():
        for n, p in enumerate(group[1:]):
            ring, angle = 1 + n // 8, math.tau * (n % 8) / 8
            moved[id(p)] = (JITTER * ring * width * math.cos(angle), 100 * JITTER * 1.6 * ring * math.sin(angle))
    return moved


def keys(moved: bool, level: bool) -> list[Trace]:
    """What the marks that stand for no decoder mean, as entries of the legend alone."""
    grey, nowhere = "#808080", {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}
    dot = {"symbol": "circle", "size": 10, "color": grey}
    outlined = {**dot, "color": "rgba(0,0,0,0)", "line": {"color": OUTLINE, "width": 2.5}}
    entries: list[Trace] = [
        {**nowhere, "name": "most accurate setting", "mode": "markers", "marker": outlined},
        {**nowhere, "name": "no other is better", "mode": "lines", "line": {"color": grey, "dash": "dash"}},
    ]
    if level:
        one = {"color": grey, "dash": "dot", "width": 1}
        entries.append({**nowhere, "name": "one token per pass", "mode": "lines", "line": one})
    if moved:
        entries.append(
            {**nowhere, "name": "equal points: moved apart", "mode": "markers", "marker": dot, "opacity": 0.5}
        )
    return entries


def decoder_traces(decoder: str, group: list[Point], moved: dict[int, tuple[float, float]]) -> list[Trace]:
    """The decoder's dashed frontier, and its points, the best of them outlined; equal ones are moved apart."""
    outer, colour = frontier(group), colour_of(decoder)
    best = outer[-1]

    def scatter(some: list[Point], mode: str) -> Trace:
        by = [moved.get(id(p), (0, 0)) if mode == "markers" else (0, 0) for p in some]
        places = {
            "x": [p.passes + x for p, (x, _) in zip(some, by, strict=True)],
            "y": [100 * p.accuracy + y for p, (_, y) in zip(some, by, strict=True)],
        }
        return {"type": "scatter", "legendgroup": decoder, **places, "mode": mode}

    def hover(p: Point) -> str:
        return (
            f"<b>{p.variant.name}</b><br>{percent(p.accuracy)} % ({' – '.join(map(percent, p.interval))}), "
            f"{p.samples} samples<br>{p.passes:.2f} passes{timed.format(pace(p), speed(p))}"
        )

    enough = all(p.samples >= TIMED_FROM for p in group)
    timed = ", {} tokens/s ({})" if enough else "<br>too few samples to tell a speed{:.0}{:.0}"
    dashed = {"line": {"color": colour, "dash": "dash", "width": 1.5}, "showlegend": False, "hoverinfo": "skip"}
    marked = {
        "name": f"{title_of(decoder)}, {pace(best)} tok/s"
        if enough
        else title_of(decoder),  # beside points they collide
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
