"""How large the adaptive weights w_t^i are (the paper's table "empirical distribution of adaptive mixing weights")."""

from __future__ import annotations

from collections.abc import Sequence

from dard.experiments.base import Experiment
from dard.experiments.figures import Figure, colour_of, figure
from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant
from dard.session import Session
from dard.trace import Step

FINE = 20  # bars of the histogram
RANGES = {"w < 0.5": (0, 10), "0.5 ≤ w < 0.7": (10, 14), "0.7 ≤ w < 0.9": (14, 18), "w ≥ 0.9": (18, FINE)}  # in bars

# What is counted: the paper's "all observed weights", and those that a verification had a say in.
ALL, MOVED = "all", "after a promotion or revocation"


class WeightStatistics(Experiment):
    name = "weight-statistics"
    title = "Distribution of the mixing weights"
    paper = "the table “empirical distribution of adaptive mixing weights”"
    default_task = "sudoku-open"
    shows = "how often the prediction of masked tokens is told to trust the candidates"
    caption = (
        "DARD on {task_title}, {model}: shares of the weights w_t^i of masked positions. Where no candidate was "
        "promoted or revoked w is 1; the second line leaves those out."
    )

    def grid(self, scope: Scope) -> list[Variant]:
        return [Variant("DARD", "dard")]

    def also(self, session: Session) -> Row:
        steps = session.steps
        return {"weights": {ALL: histogram(steps), MOVED: histogram(steps, moved_only=True)}}

    def tables(self, results: Results) -> list[Table]:
        rows = []
        for kind in (ALL, MOVED):
            counts = total(results, kind)
            observed = sum(counts)
            shares = [sum(counts[low:high]) / max(observed, 1) for low, high in RANGES.values()]
            rows.append([kind, str(observed), *(f"{percent(share)} %" if observed else "–" for share in shares)])
        table = Table(self.caption.format_map(results.header), ["Weights", "Observed", *RANGES], rows)
        return [table, *self.summary(results)]

    def figure(self, results: Results) -> Figure:
        counts = total(results, MOVED)
        line = {"width": 1, "color": "rgba(255,255,255,0.6)"}
        trace = {
            "type": "bar",
            "x": [(number + 0.5) / FINE for number in range(FINE)],
            "y": [100 * count / max(sum(counts), 1) for count in counts],
            "width": 1 / FINE,
            "marker": {"color": colour_of(results.variants[0].decoder), "line": line},
            "hovertemplate": "w about %{x:.3f}<br>%{y:.1f} %<extra></extra>",
        }
        title = f"w {MOVED}: {{task_title}}, {{model}}"
        return figure(results, [trace], "w", "share of weights (%)", title, xaxis={"range": [0, 1]}, showlegend=False)


def histogram(steps: Sequence[Step], moved_only: bool = False) -> list[int]:
    """Weights by twentieths, 1 itself in the last."""
    counts = [0] * FINE
    for step in steps:
        for weight, p, d in zip(step.weights, step.score_p, step.score_d, strict=True):
            if weight is not None and (not moved_only or (p or 0) + (d or 0) > 0):
                counts[min(int(weight * FINE + 1e-9), FINE - 1)] += 1
    return counts


def total(results: Results, kind: str) -> list[int]:
    return [sum(row["weights"][kind][number] for row in results.rows) for number in range(FINE)]
