"""How a decode ended, and how often each ending was right (not in the paper, which does not say how DARD ends).

A DARD block ends by itself when everything is unmasked. One that repeats an earlier (tokens, states) is brought to its
end by the setting `cycle`. The two are worth different trust, and a trace says which it was. Whether the samples that
go round are merely the hard ones is told by another decoder, without revocation, on the same samples.
"""

from __future__ import annotations

from functools import partial

from dard.experiments.base import Experiment
from dard.experiments.figures import Figure, bars, figure
from dard.experiments.points import Point, points
from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.tables import PACE, Table, against, columns, percent
from dard.experiments.variants import Scope, Variant
from dard.words import DONE

PERIODIC = "going round"
COLOURS = {DONE: "#0072B2", "fixed point": "#CC79A7", PERIODIC: "#D55E00", "cap": "#666666"}
THRESHOLDS = ((0.4, 0.8), (0.5, 0.8), (0.6, 0.8))
OTHER = Variant("Entropy bound γ=0.1", "entropy_bound", {"gamma": 0.1})


class Endings(Experiment):
    name = "endings"
    title = "How runs end"
    paper = "nothing; how a block ends is left open there"
    default_task = "sudoku-open"
    shows = (
        "how much an answer can be trusted by how its decode ended: by itself, or stopped because it repeated itself"
    )
    caption = (
        "{task_title}, {model} ({samples} samples): runs by how their last block ended. All unmasked is the end DARD "
        "comes to by itself; at a fixed point nothing changed any more, though candidates were left; going round, an "
        "earlier step came back; the cap is the limit of steps. Accept and reopen are what is done then. EB is "
        f"{OTHER.name} on the same samples."
    )

    def grid(self, scope: Scope) -> list[Variant]:
        return [
            *(
                Variant(f"DARD τ_c={c:g} τ_u={u:g}, {cycle}", "dard", {"tau_c": c, "tau_u": u, "cycle": cycle})
                for c, u in THRESHOLDS
                for cycle in ("accept", "reopen")
            ),
            OTHER,
        ]

    def tables(self, results: Results) -> list[Table]:
        other = {row["sample"]: row for row in results.of(OTHER)}
        found, runs = [], {}
        for whole in dards(results):
            runs[whole.variant.name] = whole.samples
            for p in [*(part(whole, ending) for ending in COLOURS), Point(whole.variant, whole.rows, label="all runs")]:
                rows = [other[row["sample"]] for row in p.rows if row["sample"] in other]
                p.beside = Point(OTHER, rows) if rows else None
                found += [p] if p.rows else []
        shown = {
            **columns("Variant"),
            "Ended": lambda p: p.label,
            "Runs": lambda p: str(p.samples),
            "Share (%)": lambda p: percent(p.samples / runs[p.variant.name]),
            **columns("Acc. (%)", "95 % interval", *PACE),
            "EB acc. (%)": against(lambda _, theirs: percent(theirs.accuracy)),
            "EB passes": against(lambda _, theirs: f"{theirs.passes:.2f}"),
        }
        return [Table.of(found, shown, self.caption.format_map(results.header))]

    def figure(self, results: Results) -> Figure:
        found = dards(results)
        traces = [
            bars(
                [part(p, ending) for p in found],
                partial(heights, right),
                "%{x}<br>%{y} runs<extra>%{fullData.name}</extra>",
                name=f"{ending}, {'right' if right else 'wrong'}",
                marker={"color": colour, "pattern": {"shape": "" if right else "/"}},
            )
            for ending, colour in COLOURS.items()
            for right in (True, False)
        ]
        names = [p.variant.name for p in found]
        ticks = {"tickvals": names, "ticktext": [name.replace("DARD ", "").replace(", ", "<br>") for name in names]}
        shown = [trace for trace in traces if any(trace["y"])]
        return figure(results, shown, "", "runs", barmode="stack", xaxis={**ticks, "tickangle": 0})


def dards(results: Results) -> list[Point]:
    return [p for p in points(results) if p.variant != OTHER]


def heights(right: bool, p: Point) -> float:
    return sum(row["score"] if right else 1 - row["score"] for row in p.rows)


def part(whole: Point, ending: str) -> Point:
    """The samples of a point that ended so."""
    return Point(whole.variant, [row for row in whole.rows if ending_of(row) == ending], label=ending)


def ending_of(row: Row) -> str:
    """The kind of a row's ending.

    >>> ending_of({"ended_by": "period 3"}), ending_of({"ended_by": "cap"})
    ('going round', 'cap')
    """
    reason = str(row["ended_by"])
    return PERIODIC if reason.startswith("period") else reason
