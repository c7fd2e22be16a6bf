"""Which ordering foretells the order of one-token-per-step decoding (the paper's table of Overlap@K and RankDiff@K)?

At every step of the one-token-per-step trajectory the remaining masked positions of the block are ranked by confidence
and from left to right; the reference is the order in which the trajectory then decodes them. Means run over samples and
steps. A step with fewer than K masked positions left has no top K and is not counted for that K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dard.experiments.base import Experiment
from dard.experiments.figures import Figure, figure, side_by_side
from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.tables import Table
from dard.experiments.variants import ONE_BY_ONE, Scope, Variant
from dard.session import Session
from dard.state import MASKED

LARGEST_K = 16
SHOWN = (1, 2, 4, 8, 16)
CONFIDENCE, LEFT_TO_RIGHT = "confidence", "l2r"
ORDERINGS = {CONFIDENCE: "π conf", LEFT_TO_RIGHT: "π l2r"}
LINES = {CONFIDENCE: {"color": "#0072B2", "dash": "solid"}, LEFT_TO_RIGHT: {"color": "#D55E00", "dash": "dash"}}


def overlap(ranking: Sequence[int], reference: Sequence[int], k: int) -> float:
    """|TopK(π) ∩ TopK(π_ref)| / K; both list positions, first rank first.

    >>> overlap([3, 1, 2], [1, 2, 3], 2)
    0.5
    """
    return len(set(ranking[:k]) & set(reference[:k])) / k


def rank_difference(ranking: Sequence[int], reference: Sequence[int], k: int) -> float:
    """The mean of |π(i) − π_ref(i)| over i in TopK(π).

    >>> rank_difference([3, 1, 2], [1, 2, 3], 2)
    1.5
    """
    rank = {position: number for number, position in enumerate(reference)}
    return sum(abs(number - rank[position]) for number, position in enumerate(ranking[:k])) / k


METRICS = {"overlap": (overlap, "Overlap@K (↑)"), "rank_difference": (rank_difference, "RankDiff@K (↓)")}


def compare(session: Session) -> Row:
    """Sums over the steps of a decode, for K = 1…16: of both metrics for both orderings, and of steps."""
    sums: dict[str, Any] = {metric: {name: [0.0] * LARGEST_K for name in ORDERINGS} for metric in METRICS}
    steps = [0] * LARGEST_K
    chosen = [position for step in session.steps for position in step.decided]
    for number in range(len(chosen)):
        masked = session.at(number).state.free(MASKED)
        reference = chosen[number : number + len(masked)]
        # The state's confidence, not the step's: a record is rounded, and near 1 rounding makes ties. Of equally sure
        # positions the leftmost comes first, as the decoder chooses.
        confidence = session.at(number + 1).state.confidence
        rankings = {CONFIDENCE: sorted(masked, key=lambda i: (-confidence[i], i)), LEFT_TO_RIGHT: sorted(masked)}
        for k in range(1, min(len(masked), LARGEST_K) + 1):
            steps[k - 1] += 1
            for name, ranking in rankings.items():
                for metric, (value, _) in METRICS.items():
                    sums[metric][name][k - 1] += value(ranking, reference, k)
    return {**sums, "steps": steps}


class Ordering(Experiment):
    name = "ordering"
    title = "Orderings against the one-token-per-step trajectory"
    paper = "the table of Overlap@K and RankDiff@K"
    shows = "how well the order of confidence foretells the order in which tokens are decoded one by one"
    caption = "{task_title}, {model}: means over %d samples and all steps that have at least K masked positions left."

    def grid(self, scope: Scope) -> list[Variant]:
        return [ONE_BY_ONE]

    def also(self, session: Session) -> Row:
        return compare(session)

    def tables(self, results: Results) -> list[Table]:
        rows = []
        for metric, (_, words) in METRICS.items():
            for name, symbol in ORDERINGS.items():
                values = means(results, metric, name)
                rows.append([words, symbol, *("–" if values[k - 1] is None else f"{values[k - 1]:.2f}" for k in SHOWN)])
        caption = self.caption.format_map(results.header) % len(results.rows)
        return [Table(caption, ["Metric", "Ordering", *(f"K={k}" for k in SHOWN)], rows), *self.summary(results)]

    def figure(self, results: Results) -> Figure:
        def one(metric: str) -> Figure:
            lines = [
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": symbol,
                    "x": list(range(1, LARGEST_K + 1)),
                    "y": means(results, metric, name),
                    "line": LINES[name],
                    "hovertemplate": f"K = %{{x}}: %{{y:.2f}}<extra>{symbol}</extra>",
                }
                for name, symbol in ORDERINGS.items()
            ]
            return figure(results, lines, "K", METRICS[metric][1], "{task_title}, {model}", xaxis={"dtick": 1})

        return side_by_side(*map(one, METRICS))


def means(results: Results, metric: str, ordering: str) -> list[float | None]:
    """The mean for K = 1…16; None where no step had K masked positions."""
    steps = [sum(row["steps"][k] for row in results.rows) for k in range(LARGEST_K)]
    sums = [sum(row[metric][ordering][k] for row in results.rows) for k in range(LARGEST_K)]
    return [found / count if count else None for found, count in zip(sums, steps, strict=True)]
