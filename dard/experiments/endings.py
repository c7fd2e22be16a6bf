"""How a decode ended, and how often each ending was right (not in the paper, which does not say how DARD ends).

A DARD block ends by itself when everything is unmasked. One that repeats an earlier (tokens, states) is brought to its
end by the setting `cycle`. The two are worth different trust, and a trace says which it was. Whether the samples that
go round are merely the hard ones is told by another decoder, without revocation, on the same samples.
"""

from __future__ import annotations

from collections.abc import Sequence

from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import figure
from dard.experiments.results import Results, Row
from dard.experiments.summary import point
from dard.experiments.tables import Table, percent
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
        rows, names = [], []
        for variant in dards(results):
            found = results.of(variant)
            groups = {ending: [row for row in found if ending_of(row) == ending] for ending in COLOURS}
            groups["all runs"] = found
            for name, group in groups.items():
                if group:
                    beside = [other[row["sample"]] for row in group if row["sample"] in other]
                    accuracy, interval, passes = cells(variant, group)
                    theirs, _, their_passes = cells(OTHER, beside)
                    share = [str(len(group)), percent(len(group) / len(found))]
                    rows.append([variant.name, name, *share, accuracy, interval, passes, theirs, their_passes])
                    names.append(variant.name)
        caption = (
            f"{results.header['task_title']}, {results.header['model']} ({results.samples} samples): runs by how their "
            "last block ended. All unmasked is the end DARD comes to by itself; at a fixed point nothing changed any "
            "more, though candidates were left; going round, an earlier step came back; the cap is the limit of steps. "
            f"Accept and reopen are what is done then. EB is {OTHER.name} on the same samples."
        )
        columns = ["Variant", "Ended", "Runs", "Share (%)", "Acc. (%)", "95 % interval", "Passes"]
        return [Table(caption, [*columns, "EB acc. (%)", "EB passes"], rows, names)]

    def figure(self, results: Results) -> Figure:
        variants = dards(results)
        names = [variant.name for variant in variants]
        traces = []
        for ending, colour in COLOURS.items():
            for right in (True, False):
                heights = [
                    sum(
                        row["score"] if right else 1 - row["score"]
                        for row in results.of(variant)
                        if ending_of(row) == ending
                    )
                    for variant in variants
                ]
                if not any(heights):
                    continue
                traces.append(
                    {
                        "type": "bar",
                        "name": f"{ending}, {'right' if right else 'wrong'}",
                        "x": names,
                        "y": heights,
                        "customdata": names,
                        "marker": {"color": colour, "pattern": {"shape": "" if right else "/"}},
                        "hovertemplate": "%{x}<br>%{y} runs<extra>%{fullData.name}</extra>",
                    }
                )
        title = f"{self.title}: {results.header['task_title']}, {results.header['model']}"
        ticks = {"tickvals": names, "ticktext": [name.replace("DARD ", "").replace(", ", "<br>") for name in names]}
        return figure(traces, title, "", "runs", barmode="stack", xaxis={**ticks, "tickangle": 0})


def dards(results: Results) -> list[Variant]:
    return [variant for variant in results.started() if variant != OTHER]


def ending_of(row: Row) -> str:
    """The kind of a row's ending.

    >>> ending_of({"ended_by": "period 3"}), ending_of({"ended_by": "cap"})
    ('going round', 'cap')
    """
    reason = str(row["ended_by"])
    return PERIODIC if reason.startswith("period") else reason


def cells(variant: Variant, rows: Sequence[Row]) -> tuple[str, str, str]:
    """How often right, the interval of that, and in how many passes."""
    if not rows:
        return "–", "–", "–"
    p = point(variant, rows)
    return percent(p.accuracy), f"{percent(p.low)} – {percent(p.high)}", f"{p.passes:.2f}"
