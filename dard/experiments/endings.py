"""How a decode ended, and how often each ending was right (not in the paper, which does not say how DARD ends).

A DARD block ends by itself when everything is unmasked. One that repeats an earlier (tokens, states) is brought to its
end by the setting `cycle`. The two are worth different trust, and a trace says which it was. Whether the samples that
go round are merely the hard ones is told by another decoder, without revocation, on the same samples.
"""

from __future__ import annotations

from functools import partial

from dard.experiments.base import PACE, Experiment, Table, against, columns, percent
from dard.experiments.figures import Figure, Trace, bars
from dard.experiments.points import Point, points, split
from dard.results.file import Results
from dard.results.sweep import Row, Variant
from dard.trace.words import DONE

PERIODIC = "cycle"
COLOURS = {DONE: "#0072B2", "fixed point": "#CC79A7", PERIODIC: "#D55E00", "cap": "#666666"}
OTHER = Variant("Entropy bound γ=0.1", "entropy_bound", {"gamma": 0.1})


class Endings(Experiment):
    name = "endings"
    title = "How runs end"
    paper = "nothing; how a block ends is left open there"
    default_task = "sudoku-open"
    shows = (
        "how much an answer can be trusted by how its decode ended: by itself, or stopped because it repeated itself"
    )
    variants = [
        *(
            Variant(f"DARD τ_c={c:g} τ_u=0.8, {cycle}", "dard", {"tau_c": c, "tau_u": 0.8, "cycle": cycle})
            for c in (0.4, 0.5, 0.6)
            for cycle in ("accept", "reopen")
        ),
        OTHER,
    ]
    caption = (
        "{task_title}, {model} ({samples} samples): runs by how their last block ended. All unmasked is the end DARD "
        "comes to by itself; at a fixed point nothing changed any more, though candidates were left; in a cycle, an "
        "earlier step came back; the cap is the limit of steps. Accept and reopen are what is done then. EB is "
        f"{OTHER.name} on the same samples."
    )
    chart = ("", "runs")
    layout = {"barmode": "stack"}

    def table(self, results: Results) -> Table:
        """Every ending of every variant, beside the other decoder on the same samples."""
        other, ours, runs = results.of(OTHER), [], {}
        for whole in dards(points(results)):
            runs[whole.variant.name] = whole.samples
            for p in [*(part(whole, ending) for ending in COLOURS), *split([whole], ["all runs"])]:
                own = {row["sample"] for row in p.rows}
                rows = [row for row in other if row["sample"] in own]
                p.beside = Point(OTHER, rows) if rows else None
                ours += [p] if p.rows else []
        shown = {
            **columns("Variant"),
            "Ended": lambda p: p.label,
            "Runs": lambda p: str(p.samples),
            "Share (%)": lambda p: percent(p.samples / runs[p.variant.name]),
            **columns("Acc. (%)", "95 % interval", *PACE),
            "EB acc. (%)": against(lambda _, theirs: percent(theirs.accuracy)),
            "EB passes": against(lambda _, theirs: f"{theirs.passes:.2f}"),
        }
        return Table.of(ours, shown, self.caption.format_map(results.header))

    def traces(self, points: list[Point]) -> list[Trace]:
        drawn = [
            bars(
                [part(p, ending) for p in dards(points)],
                partial(heights, right),
                "%{x}<br>%{y} runs<extra>%{fullData.name}</extra>",
                name=f"{ending}, {'right' if right else 'wrong'}",
                marker={"color": colour, "pattern": {"shape": "" if right else "/"}},
            )
            for ending, colour in COLOURS.items()
            for right in (True, False)
        ]
        return [trace for trace in drawn if any(trace["y"])]

    def figure(self, results: Results) -> Figure:
        drawn, names = super().figure(results), [p.variant.name for p in dards(points(results))]
        short = [name.replace("DARD ", "").replace(", ", "<br>") for name in names]
        drawn["layout"]["xaxis"] |= {"tickvals": names, "ticktext": short, "tickangle": 0}
        return drawn


def dards(points: list[Point]) -> list[Point]:
    return [p for p in points if p.variant != OTHER]


def heights(right: bool, p: Point) -> float:
    return sum(row["score"] if right else 1 - row["score"] for row in p.rows)


def part(whole: Point, ending: str) -> Point:
    """The samples of a point that ended so."""
    return Point(whole.variant, [row for row in whole.rows if ending_of(row) == ending], label=ending)


def ending_of(row: Row) -> str:
    """The kind of a row's ending.

    >>> ending_of({"ended_by": "period 3"}), ending_of({"ended_by": "cap"})
    ('cycle', 'cap')
    """
    reason = str(row["ended_by"])
    return PERIODIC if reason.startswith("period") else reason
