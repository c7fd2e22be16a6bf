"""Rows of a variant as one point: how often right, in how many passes, how fast.

Promises: means over the samples there are, with an interval that says how little few samples tell; a frontier is
what no other point beats in both accuracy and passes.
Does not know: decoders, files or pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from dard.experiments.results import Results, Row
from dard.experiments.variants import Variant

_Z = 1.96  # of a 95 % interval


@dataclass(frozen=True)
class Point:
    """The mean of a variant's samples. `low` and `high` bound the accuracy with 95 % confidence.

    `seconds` is the median time of a pass times the passes: a moment in which the machine did something else does not
    make a decoder slow.
    """

    variant: Variant
    samples: int
    accuracy: float
    low: float
    high: float
    passes: float
    tokens: int
    seconds: float
    revocations: float

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0


def point(variant: Variant, rows: Sequence[Row]) -> Point:
    scores = [row["score"] for row in rows]
    low, high = interval(scores)
    return Point(
        variant,
        len(rows),
        fmean(scores),
        low,
        high,
        fmean(row["passes"] for row in rows),
        sum(row["tokens"] for row in rows),
        median(row["seconds"] / row["passes"] for row in rows) * sum(row["passes"] for row in rows),
        fmean(row["revocations"] for row in rows),
    )


def points(results: Results) -> list[Point]:
    """A point for every variant that has a row, in the order of the grid."""
    return [point(variant, results.of(variant)) for variant in results.started()]


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval of the mean: Wilson's for right and wrong, the normal one for shares in between.

    >>> low, high = interval([1, 1, 1, 0])
    >>> round(low, 2), round(high, 2)
    (0.3, 0.95)
    """
    n, mean = len(scores), fmean(scores)
    if set(scores) <= {0, 1}:
        scale = 1 + _Z**2 / n
        centre = (mean + _Z**2 / (2 * n)) / scale
        half = _Z / scale * math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n * n))
    elif n == 1:
        return 0.0, 1.0
    else:
        centre, half = mean, _Z * stdev(scores) / math.sqrt(n)
    return max(0.0, centre - half), min(1.0, centre + half)


def frontier(found: Sequence[Point]) -> list[Point]:
    """The points that no other beats: fewer passes and at least the accuracy, or as few passes and more accuracy.

    Ordered by passes, so that accuracy rises along it; of equal points the first stays.
    """
    best: list[Point] = []
    for candidate in sorted(found, key=lambda each: (each.passes, -each.accuracy)):
        if not best or candidate.accuracy > best[-1].accuracy:
            best.append(candidate)
    return best


def best_point(found: Sequence[Point]) -> Point:
    """The highest accuracy; among equals the one with the fewest passes."""
    return max(found, key=lambda each: (each.accuracy, -each.passes))
