"""How large the adaptive weights w_t^i are (the paper's table "empirical distribution of adaptive mixing weights")."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dard.experiments.base import Experiment, Figure, Job
from dard.experiments.decoding import decode_together, open_sessions, score_all
from dard.experiments.figures import colour_of, figure
from dard.experiments.results import Results, Row
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant
from dard.trace import Step

EDGES = (0.5, 0.7, 0.9)
RANGES = ("w < 0.5", "0.5 ≤ w < 0.7", "0.7 ≤ w < 0.9", "w ≥ 0.9")
FINE = 20  # bars of the histogram

# What is counted: the paper's "all observed weights", and those that a verification had a say in.
ALL, MOVED = "all", "after a promotion or revocation"


class WeightStatistics(Experiment):
    name = "weight-statistics"
    title = "Distribution of the mixing weights"
    paper = "the table “empirical distribution of adaptive mixing weights”"
    default_task = "sudoku-open"
    shows = "how often the prediction of masked tokens is told to trust the candidates"

    def grid(self, scope: Scope) -> list[Variant]:
        return [Variant("DARD", "dard")]

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        sessions = open_sessions(job, variant, samples)
        rows = score_all(job, sessions, samples, decode_together(sessions))
        for session, row in zip(sessions, rows, strict=True):
            row["weights"] = {ALL: histogram(session.steps), MOVED: histogram(session.steps, moved_only=True)}
        return rows

    def tables(self, results: Results) -> list[Table]:
        rows = []
        for kind in (ALL, MOVED):
            counts = total(results, kind)
            observed = sum(counts)
            shares = [f"{percent(count / observed)} %" if observed else "–" for count in by_range(counts)]
            rows.append([kind, str(observed), *shares])
        caption = (
            f"DARD on {results.header['task_title']}, {results.header['model']}: shares of the weights w_t^i of masked "
            "positions. Where no candidate was promoted or revoked w is 1; the second line leaves those out."
        )
        return [Table(caption, ["Weights", "Observed", *RANGES], rows)]

    def figure(self, results: Results) -> Figure:
        counts = total(results, MOVED)
        observed = max(sum(counts), 1)
        trace = {
            "type": "bar",
            "x": [(number + 0.5) / FINE for number in range(FINE)],
            "y": [100 * count / observed for count in counts],
            "width": 1 / FINE,
            "marker": {
                "color": colour_of(results.variants[0].decoder),
                "line": {"width": 1, "color": "rgba(255,255,255,0.6)"},
            },
            "hovertemplate": "w about %{x:.3f}<br>%{y:.1f} %<extra></extra>",
        }
        title = f"w {MOVED}: {results.header['task_title']}, {results.header['model']}"
        return figure([trace], title, "w", "share of weights (%)", xaxis={"range": [0, 1]}, showlegend=False)


def histogram(steps: Sequence[Step], moved_only: bool = False) -> list[int]:
    """Weights by twentieths, 1 itself in the last. Every edge of `RANGES` is an edge of a twentieth."""
    counts = [0] * FINE
    for step in steps:
        for weight, p, d in zip(step.weights, step.score_p, step.score_d, strict=True):
            if weight is not None and (not moved_only or (p or 0) + (d or 0) > 0):
                counts[min(int(weight * FINE + 1e-9), FINE - 1)] += 1
    return counts


def by_range(counts: Sequence[int]) -> list[int]:
    """The four counts of the paper's table.

    >>> by_range([1] * 20)
    [10, 4, 4, 2]
    """
    edges = [0, *(round(edge * FINE) for edge in EDGES), FINE]
    return [sum(counts[low:high]) for low, high in pairwise(edges)]


def total(results: Results, kind: str) -> list[int]:
    return [sum(row["weights"][kind][number] for row in results.rows) for number in range(FINE)]
