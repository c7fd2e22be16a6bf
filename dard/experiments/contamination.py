"""Does a hidden candidate change a verification (not in the paper, which writes "≈")?

The mask hides less reliable candidates from a verification in every single layer, yet through several layers they can
reach it (`dard.analysis.reach.contaminated`). Every candidate is swapped (`dard.analysis.swaps`). Swaps of those that a
verification sees directly give the scale; those that cannot reach it must change nothing, which is a test of the mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dard.analysis.swaps import DEEP, LEVELS, OUT_OF_REACH, OWN, SEEN, swap_all
from dard.experiments.base import Experiment, Table, columns, part_of
from dard.experiments.figures import Trace, kind_bars
from dard.experiments.points import Point, points, split
from dard.results.file import Results
from dard.results.sweep import Variant

COLOURS = {SEEN: "#009E73", DEEP: "#D55E00", OWN: "#CC79A7", OUT_OF_REACH: "#666666"}


def pooled(p: Point) -> dict[str, Any]:
    """The tallies of the kind that a point's label names, over its samples."""
    tallies = [row["kinds"][p.label] for row in p.rows]
    return {
        **{name: sum(each[name] for each in tallies) for name in ("pairs", "sum", "verdicts")},
        "largest": max((each["largest"] for each in tallies), default=0.0),
        "over": [sum(each["over"][n] for each in tallies) for n in range(len(LEVELS))],
    }


def over(n: int) -> Callable[[Point], str]:
    return lambda p: part_of(pooled(p)["over"][n], pooled(p)["pairs"])


def changed(p: Point) -> float | None:
    return 100 * pooled(p)["over"][1] / pooled(p)["pairs"] if pooled(p)["pairs"] else None


# The second table: a line for every kind of candidate.
SWAPPED = {
    **columns("Variant"),
    "Candidate is": lambda p: p.label,
    "Swaps": lambda p: str(pooled(p)["pairs"]),
    "Mean": lambda p: f"{pooled(p)['sum'] / pooled(p)['pairs']:.4f}",
    "Largest": lambda p: f"{pooled(p)['largest']:.4f}",
    **{f"> {level:g} (%)": over(n) for n, level in enumerate(LEVELS)},
    "Verdicts (%)": lambda p: part_of(pooled(p)["verdicts"], pooled(p)["pairs"]),
}
SWAPPED_CAPTION = (
    "Change of a verification's confidence when a candidate is swapped for its second choice, by how the "
    "verification is related to the candidate. “Verdicts” are changes that move the token to another state."
)


class Contamination(Experiment):
    name = "contamination"
    title = "Verifications that hidden candidates reach through depth"
    paper = "not in it: there the mask is taken to hold through all layers"
    default_task = "sudoku-open"
    shows = "how often a hidden candidate can reach a verification, and how much that really changes it"
    record = summary = True
    variants = [
        Variant("DARD, outside sees unmasked tokens", "dard", {"outside": "reliable"}),
        Variant("DARD, outside sees all tokens", "dard", {"outside": "all"}),
    ]
    also = staticmethod(swap_all)
    columns = {
        **columns("Variant"),
        "Verifications": lambda p: str(p.total("verifications")),
        "Reachable": lambda p: str(p.total("reachable")),
        "Share (%)": lambda p: part_of(p.total("reachable"), p.total("verifications")),
    }
    caption = (
        "{task_title}, {model} ({samples} samples): verifications of candidate and unmasked tokens, and those that at "
        "least one hidden candidate can reach through depth."
    )
    chart = ("", "share of swaps (%)", f"Swaps that change a verification by more than {LEVELS[1]:g}: {{task_title}}")
    layout = {"barmode": "group"}

    def tables(self, results: Results) -> list[Table]:
        kinds = [p for p in split(points(results), COLOURS) if pooled(p)["pairs"]]
        first, *behind = super().tables(results)
        return [first, Table.of(kinds, SWAPPED, SWAPPED_CAPTION), *behind]

    def traces(self, points: list[Point]) -> list[Trace]:
        return kind_bars(points, COLOURS, changed)
