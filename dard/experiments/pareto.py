"""Accuracy against forward passes for every decoder (the paper's Figures 4 and 5, and its LLaDA-1.5 figure).

The grids are the paper's. Saber also gets smaller n where answers are short: n = 4 is a quarter of sixteen tokens.
"""

from __future__ import annotations

from typing import Any

from dard.decoders import DECODERS
from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import COLOURS, OUTLINE, SYMBOLS, figure
from dard.experiments.results import Results
from dard.experiments.summary import Point, best_point, frontier, points
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant

TAU_C = (0.4, 0.5, 0.6)
TAU_U = (0.6, 0.7, 0.8)
WINO_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
SABER_N = (4, 5, 6, 7, 8)
SABER_N_SHORT = (1, 2, 3)
SHORT_ANSWER = 32
DIVISORS = (1, 2, 4, 8)
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
GAMMAS = (0.01, 0.05, 0.1, 0.5, 1.0)

ONE_BY_ONE = Variant("Standard, one token per pass", "standard", divisor=1)


def standard(divisor: int) -> Variant:
    if divisor == 1:
        return ONE_BY_ONE
    return Variant(f"Standard, {divisor} tokens per pass", "standard", divisor=divisor)


def saber(n: int) -> Variant:
    return Variant(f"Saber n={n}", "saber", {"n": n})


class Pareto(Experiment):
    name = "pareto"
    title = "Accuracy against forward passes"
    paper = "Figures 4 and 5, and the LLaDA-1.5 figure"
    shows = "which decoder is right most often for a number of forward passes, over a grid of each one's settings"

    def grid(self, scope: Scope) -> list[Variant]:
        short = SABER_N_SHORT if scope.masks <= SHORT_ANSWER else ()
        divisors = [divisor for divisor in DIVISORS if divisor <= scope.masks]
        return [
            *(
                Variant(f"DARD τ_c={c:g} τ_u={u:g}", "dard", {"tau_c": c, "tau_u": u})
                for c in TAU_C
                for u in TAU_U
                if c <= u
            ),
            *(Variant(f"WINO τ1={t:g}", "wino", {"threshold": t, "threshold_back": 0.9}) for t in WINO_THRESHOLDS),
            *(saber(n) for n in (*short, *SABER_N) if n <= scope.masks),
            *(standard(divisor) for divisor in divisors),
            *(Variant(f"Threshold τ={t:g}", "threshold", {"threshold": t}) for t in THRESHOLDS),
            *(Variant(f"Entropy bound γ={g:g}", "entropy_bound", {"gamma": g}) for g in GAMMAS),
        ]

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
        notes: list[dict[str, Any]] = []
        for decoder, group in by_decoder(found).items():
            traces += decoder_traces(decoder, group, base)
            best = best_point(group)
            notes.append(
                {
                    "x": best.passes,
                    "y": 100 * best.accuracy,
                    "text": f"{best.tokens_per_second:.0f} tok/s",
                    "font": {"size": 11, "color": COLOURS[decoder]},
                    "showarrow": False,
                    "yshift": 14,
                }
            )
        lines = [] if base is None else [level(100 * base.accuracy)]
        header = results.header
        return figure(
            traces,
            f"{header['task_title']}, {header['model']}",
            "forward passes per sample",
            "accuracy (%)",
            xaxis={"rangemode": "tozero"},
            annotations=notes,
            shapes=lines,
        )


def by_decoder(found: list[Point]) -> dict[str, list[Point]]:
    groups = {name: [p for p in found if p.variant.decoder == name] for name in DECODERS}
    return {name: group for name, group in groups.items() if group}


def times(p: Point, base: Point | None) -> str:
    if base is None or not base.tokens_per_second:
        return "–"
    return f"×{p.tokens_per_second / base.tokens_per_second:.2f}"


def decoder_traces(decoder: str, group: list[Point], base: Point | None) -> list[dict[str, Any]]:
    """The decoder's points, the best of them outlined, and its dashed frontier."""
    best = best_point(group)
    colour, title = COLOURS[decoder], DECODERS[decoder].title
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
            "name": title,
            "legendgroup": decoder,
            "x": [p.passes for p in group],
            "y": [100 * p.accuracy for p in group],
            "customdata": [p.variant.name for p in group],
            "hovertext": hover,
            "hoverinfo": "text",
            "marker": {
                "color": colour,
                "symbol": SYMBOLS[decoder],
                "size": [13 if best else 9 for best in outlined],
                "line": {"color": OUTLINE, "width": [2.5 if best else 0 for best in outlined]},
            },
        },
    ]


def level(y: float) -> dict[str, Any]:
    """A dotted line at the accuracy of standard decoding with one token per pass."""
    line = {"color": COLOURS["standard"], "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line, "layer": "below"}
