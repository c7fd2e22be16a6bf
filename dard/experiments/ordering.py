"""Which ordering foretells the order of one-token-per-step decoding (the paper's table of Overlap@K and RankDiff@K)?

What is compared at a step stands in `dard.analysis.ranks.compare_orders`. Means run over samples and steps.
"""

from __future__ import annotations

from collections.abc import Callable

from dard.analysis.ranks import CONFIDENCE, LARGEST_K, LEFT_TO_RIGHT, compare_orders
from dard.experiments.base import Experiment, number
from dard.experiments.figures import Figure, figure, side_by_side
from dard.experiments.points import Point, points, split
from dard.results.file import Results
from dard.results.sweep import ONE_BY_ONE

SHOWN = (1, 2, 4, 8, 16)
ORDERINGS = {CONFIDENCE: "π conf", LEFT_TO_RIGHT: "π l2r"}
LINES = {CONFIDENCE: {"color": "#0072B2", "dash": "solid"}, LEFT_TO_RIGHT: {"color": "#D55E00", "dash": "dash"}}


METRICS = {"overlap": "Overlap@K (↑)", "rank_difference": "RankDiff@K (↓)"}
LABELS = [f"{metric} {name}" for metric in METRICS for name in ORDERINGS]


def means(p: Point) -> list[float | None]:
    """The mean for K = 1…16 of what the label says, a metric and an ordering; None where no step had K masks."""
    metric, ordering = p.label.split()
    steps = [sum(row["steps"][k] for row in p.rows) for k in range(LARGEST_K)]
    sums = [sum(row[metric][ordering][k] for row in p.rows) for k in range(LARGEST_K)]
    return [total / count if count else None for total, count in zip(sums, steps, strict=True)]


def mean_at(k: int) -> Callable[[Point], str]:
    return lambda p: number(means(p)[k - 1])


class Ordering(Experiment):
    name = "ordering"
    title = "Orderings against the one-token-per-step trajectory"
    paper = "the table of Overlap@K and RankDiff@K"
    shows = "how well the order of confidence foretells the order in which tokens are decoded one by one"
    variants = [ONE_BY_ONE]
    also = staticmethod(compare_orders)
    labels = LABELS
    columns = {
        "Metric": lambda p: METRICS[p.label.split()[0]],
        "Ordering": lambda p: ORDERINGS[p.label.split()[1]],
        **{f"K={k}": mean_at(k) for k in SHOWN},
    }
    caption = (
        "{task_title}, {model}: means over {rows} samples and all steps that have at least K masked positions left."
    )
    summary = True

    def figure(self, results: Results) -> Figure:
        def one(metric: str) -> Figure:
            lines = [
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": symbol,
                    "x": list(range(1, LARGEST_K + 1)),
                    "y": means(p),
                    "line": LINES[name],
                    "hovertemplate": f"K = %{{x}}: %{{y:.2f}}<extra>{symbol}</extra>",
                }
                for name, symbol in ORDERINGS.items()
                for p in split(points(results), [f"{metric} {name}"])
            ]
            return figure(results, lines, "K", METRICS[metric], "{task_title}, {model}", xaxis={"dtick": 1})

        return side_by_side(*map(one, METRICS))
