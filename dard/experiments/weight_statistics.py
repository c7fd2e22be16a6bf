"""How large the adaptive weights w_t^i are (the paper's table "empirical distribution of adaptive mixing weights")."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dard.decoding.session import Session
from dard.experiments.base import Experiment, part_of
from dard.experiments.figures import Trace, colour_of
from dard.experiments.points import Point, split
from dard.results.sweep import Row, Variant
from dard.trace import Step

FINE = 20  # bars of the histogram
RANGES = {"w < 0.5": (0, 10), "0.5 ≤ w < 0.7": (10, 14), "0.7 ≤ w < 0.9": (14, 18), "w ≥ 0.9": (18, FINE)}  # in bars

# What is counted: the paper's "all observed weights", and those that a verification had a say in.
ALL, MOVED = "all", "after a promotion or revocation"


def counts(p: Point) -> list[int]:
    """The weights of a point's kind, by twentieths."""
    return [sum(row["weights"][p.label][n] for row in p.rows) for n in range(FINE)]


def within(low: int, high: int) -> Callable[[Point], str]:
    return lambda p: f"{part_of(sum(counts(p)[low:high]), sum(counts(p)))} %" if any(counts(p)) else "–"


class WeightStatistics(Experiment):
    name = "weight-statistics"
    title = "Distribution of the mixing weights"
    paper = "the table “empirical distribution of adaptive mixing weights”"
    default_task = "sudoku-open"
    shows = "how often the prediction of masked tokens is told to trust the candidates"
    variants = [Variant("DARD", "dard")]
    labels = (ALL, MOVED)
    columns = {
        "Weights": lambda p: p.label,
        "Observed": lambda p: str(sum(counts(p))),
        **{name: within(*places) for name, places in RANGES.items()},
    }
    caption = (
        "DARD on {task_title}, {model}: shares of the weights w_t^i of masked positions. Where no candidate was "
        "promoted or revoked w is 1; the second line leaves those out."
    )
    summary = True
    chart = ("w", "share of weights (%)", f"w {MOVED}: {{task_title}}, {{model}}")
    layout = {"xaxis": {"range": [0, 1]}, "showlegend": False}

    def also(self, session: Session) -> Row:
        steps = session.steps
        return {"weights": {ALL: histogram(steps), MOVED: histogram(steps, moved_only=True)}}

    def traces(self, points: list[Point]) -> list[Trace]:
        line = {"width": 1, "color": "rgba(255,255,255,0.6)"}
        return [
            {
                "type": "bar",
                "x": [(number + 0.5) / FINE for number in range(FINE)],
                "y": [100 * count / max(sum(counts(p)), 1) for count in counts(p)],
                "width": 1 / FINE,
                "marker": {"color": colour_of(p.variant.decoder), "line": line},
                "hovertemplate": "w about %{x:.3f}<br>%{y:.1f} %<extra></extra>",
            }
            for p in split(points, [MOVED])
        ]


def histogram(steps: Sequence[Step], moved_only: bool = False) -> list[int]:
    """Weights by twentieths, 1 itself in the last."""
    counts = [0] * FINE
    for step in steps:
        for weight, p, d in zip(step.weights, step.score_p, step.score_d, strict=True):
            if weight is not None and (not moved_only or (p or 0) + (d or 0) > 0):
                counts[min(int(weight * FINE + 1e-9), FINE - 1)] += 1
    return counts
