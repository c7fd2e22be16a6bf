"""Orders compared: how well one foretells another.

Promises: pure functions of lists, and of a decode that went one token per pass.
Does not know: experiments, or what the orders are good for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dard.core.state import MASKED
from dard.decoding.session import Session

LARGEST_K = 16
CONFIDENCE, LEFT_TO_RIGHT = "confidence", "l2r"


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


def compare_orders(session: Session) -> dict[str, Any]:
    """Sums over the steps of a decode, for K = 1…16: of both metrics for both orderings, and of steps.

    At every step the masked positions of the block are ranked by confidence and from left to right; the reference is
    the order in which they are then decoded. A step with fewer than K masked positions is not counted for that K.
    """
    orders, values = (CONFIDENCE, LEFT_TO_RIGHT), {"overlap": overlap, "rank_difference": rank_difference}
    sums: dict[str, Any] = {metric: {name: [0.0] * LARGEST_K for name in orders} for metric in values}
    steps = [0] * LARGEST_K
    chosen = [position for step in session.steps for position in step.decided]
    for first in range(len(chosen)):
        masked = session.at(first).state.free(MASKED)
        reference = chosen[first : first + len(masked)]
        # The state's confidence, not the step's: a record is rounded, and near 1 rounding makes ties. Of equally sure
        # positions the leftmost comes first, as the decoder chooses.
        confidence = session.at(first + 1).state.confidence
        rankings = {CONFIDENCE: sorted(masked, key=lambda i: (-confidence[i], i)), LEFT_TO_RIGHT: sorted(masked)}
        for k in range(1, min(len(masked), LARGEST_K) + 1):
            steps[k - 1] += 1
            for name, ranking in rankings.items():
                for metric, value in values.items():
                    sums[metric][name][k - 1] += value(ranking, reference, k)
    return {**sums, "steps": steps}


def rank_correlation(values: list[float], others: list[float]) -> float | None:
    """Spearman's ρ; None where one side is all the same, or there are fewer than three.

    >>> rank_correlation([1, 2, 3, 4], [0.1, 0.2, 0.2, 0.9])
    0.9487
    """
    if len(values) < 3 or len(set(values)) == 1 or len(set(others)) == 1:
        return None
    return round(float(np.corrcoef(ranks(values), ranks(others))[0, 1]), 4)


def ranks(values: list[float]) -> list[float]:
    """Places from the smallest on; equal values share theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
