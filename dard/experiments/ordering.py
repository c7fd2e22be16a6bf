"""Which ordering foretells the order of one-token-per-step decoding (the paper's table of Overlap@K and RankDiff@K)?

At every step of the one-token-per-step trajectory the remaining masked positions of the block are ranked by confidence
and from left to right; the reference is the order in which the trajectory then decodes them. Means run over samples and
steps. A step with fewer than K masked positions left has no top K and is not counted for that K.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dard import driver
from dard.experiments.base import Experiment, Figure, Job
from dard.experiments.decoding import open_sessions
from dard.experiments.figures import figure, side_by_side
from dard.experiments.results import Results, Row
from dard.experiments.tables import Table
from dard.experiments.variants import ONE_BY_ONE, Scope, Variant
from dard.session import Session
from dard.state import MASKED

LARGEST_K = 16
SHOWN = (1, 2, 4, 8, 16)
CONFIDENCE, LEFT_TO_RIGHT = "confidence", "l2r"
ORDERINGS = {CONFIDENCE: "π conf", LEFT_TO_RIGHT: "π l2r"}
COLOURS = {CONFIDENCE: "#0072B2", LEFT_TO_RIGHT: "#D55E00"}
METRICS = {"overlap": "Overlap@K (↑)", "rank_difference": "RankDiff@K (↓)"}


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


class Moment:
    """One step of the trajectory: the masked positions of the block and how sure the model was of each."""

    def __init__(self, confidence: dict[int, float], chosen: int) -> None:
        self.confidence = confidence
        self.chosen = chosen

    def ranking(self, ordering: str) -> list[int]:
        """The masked positions, first rank first; of equally sure ones the leftmost, as the decoder chooses."""
        if ordering == LEFT_TO_RIGHT:
            return sorted(self.confidence)
        return sorted(self.confidence, key=lambda position: (-self.confidence[position], position))


def trajectories(sessions: Sequence[Session]) -> list[list[Moment]]:
    """Decode sessions of one token per step to their end, noting every step."""
    found: list[list[Moment]] = [[] for _ in sessions]
    masked = [session.state.free(MASKED) for session in sessions]
    for made in driver.passes(sessions):
        for number, session in enumerate(sessions):
            if session in made:
                (chosen,) = session.steps[-1].decided
                # The state's confidence, not the step's: a record is rounded, and near 1 rounding makes ties.
                found[number].append(Moment({i: session.state.confidence[i] for i in masked[number]}, chosen))
                masked[number] = session.state.free(MASKED)
    return found


def compare(trajectory: Sequence[Moment]) -> Row:
    """Sums over the steps of a trajectory, for K = 1…16: of both metrics for both orderings, and of steps."""
    sums: dict[str, Any] = {metric: {name: [0.0] * LARGEST_K for name in ORDERINGS} for metric in METRICS}
    steps = [0] * LARGEST_K
    for number, moment in enumerate(trajectory):
        left = len(moment.confidence)
        reference = [later.chosen for later in trajectory[number : number + left]]
        rankings = {name: moment.ranking(name) for name in ORDERINGS}
        for k in range(1, min(left, LARGEST_K) + 1):
            steps[k - 1] += 1
            for name, ranking in rankings.items():
                sums["overlap"][name][k - 1] += overlap(ranking, reference, k)
                sums["rank_difference"][name][k - 1] += rank_difference(ranking, reference, k)
    return {**sums, "steps": steps}


class Ordering(Experiment):
    name = "ordering"
    title = "Orderings against the one-token-per-step trajectory"
    paper = "the table of Overlap@K and RankDiff@K"
    shows = "how well the order of confidence foretells the order in which tokens are decoded one by one"

    def grid(self, scope: Scope) -> list[Variant]:
        return [ONE_BY_ONE]

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        return [compare(found) for found in trajectories(open_sessions(job, variant, samples))]

    def tables(self, results: Results) -> list[Table]:
        rows = []
        for metric, words in METRICS.items():
            for name, symbol in ORDERINGS.items():
                values = means(results, metric, name)
                rows.append([words, symbol, *("–" if values[k - 1] is None else f"{values[k - 1]:.2f}" for k in SHOWN)])
        caption = (
            f"{results.header['task_title']}, {results.header['model']}: means over {len(results.rows)} samples and "
            "all steps that have at least K masked positions left."
        )
        return [Table(caption, ["Metric", "Ordering", *(f"K={k}" for k in SHOWN)], rows)]

    def figure(self, results: Results) -> Figure:
        overlaps, differences = (
            figure([line(results, metric, name) for name in ORDERINGS], "", "K", words, xaxis={"dtick": 1})
            for metric, words in METRICS.items()
        )
        return side_by_side(overlaps, differences, f"{results.header['task_title']}, {results.header['model']}")


def means(results: Results, metric: str, ordering: str) -> list[float | None]:
    """The mean for K = 1…16; None where no step had K masked positions."""
    found: list[float | None] = []
    for k in range(LARGEST_K):
        steps = sum(row["steps"][k] for row in results.rows)
        found.append(sum(row[metric][ordering][k] for row in results.rows) / steps if steps else None)
    return found


def line(results: Results, metric: str, ordering: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": ORDERINGS[ordering],
        "x": list(range(1, LARGEST_K + 1)),
        "y": means(results, metric, ordering),
        "line": {"color": COLOURS[ordering], "dash": "solid" if ordering == CONFIDENCE else "dash"},
        "hovertemplate": "K = %{x}: %{y:.2f}<extra>" + ORDERINGS[ordering] + "</extra>",
    }
