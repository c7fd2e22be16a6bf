"""Rows of a variant as one point: how often right, in how many passes, how fast.

Promises: means over the samples there are, with an interval that says how little few samples tell; a frontier is
what no other point beats in both accuracy and passes.
Does not know: decoders, files or pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean, median, stdev

from dard.experiments.results import Results
from dard.experiments.sweep import Row
from dard.experiments.variants import Variant

_Z = 1.96  # of a 95 % interval


@dataclass(eq=False)
class Point:
    """A variant's samples, or those of them that `label` names; `beside` is what it is compared with."""

    variant: Variant
    rows: Sequence[Row]
    beside: Point | None = None
    label: str = ""

    def mean(self, name: str) -> float:
        return fmean(row[name] for row in self.rows)

    def median(self, value: Callable[[Row], float]) -> float:
        return median(map(value, self.rows))

    @property
    def samples(self) -> int:
        return len(self.rows)

    @cached_property
    def scores(self) -> list[float]:
        """The scores, each as heavy as its row says: by blank cells, say, where right cells are counted over all."""
        usual = fmean(row.get("weight", 1) for row in self.rows)
        return [row["score"] * row.get("weight", 1) / usual for row in self.rows]

    @cached_property
    def accuracy(self) -> float:
        return fmean(self.scores)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Bounds of the accuracy with 95 % confidence."""
        return interval(self.scores)

    @cached_property
    def passes(self) -> float:
        return self.mean("passes")

    def per_pass(self, tokens: str = "tokens") -> float | None:
        """Tokens per forward pass: of all filled positions, or `without_end`; None in files that do not tell."""
        if any(tokens not in row for row in self.rows):
            return None
        return sum(row[tokens] for row in self.rows) / sum(row["passes"] for row in self.rows)

    @cached_property
    def tokens_per_second(self) -> float:
        """By the median time of a pass: a moment in which the machine did something else makes no decoder slow."""
        seconds = self.median(lambda row: row["seconds"] / row["passes"]) * sum(row["passes"] for row in self.rows)
        return sum(row["tokens"] for row in self.rows) / seconds if seconds else 0.0


def points(results: Results, beside: Variant | None = None) -> list[Point]:
    """A point for every variant that has a row, in the order of the grid; each beside that of the variant meant."""
    found = [Point(variant, rows) for variant in results.variants if (rows := results.of(variant))]
    other = next((p for p in found if beside is not None and beside.includes(p.variant)), None)
    for p in found:
        p.beside = other
    return found


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


def area_under_parallelism(found: Sequence[tuple[float, float]], best: float) -> float:
    """AUP of pairs (tokens per pass, accuracy in %); `best` is the highest accuracy of all methods.

    ρ₁y₁ + ½ Σ (ρᵢ − ρᵢ₋₁)(yᵢW(yᵢ) + yᵢ₋₁W(yᵢ₋₁)) with W(y) = min(exp(−3(1 − y / best)), 1), over the points with an
    accuracy of at least y₁ − 5, by tokens per pass.

    >>> area_under_parallelism([(2, 80.0), (1, 80.0), (4, 70.0)], best=80.0)
    160.0
    """
    (_, first), *_ = ordered = sorted(found)
    kept = [(rho, y) for rho, y in ordered if y >= first - 5]

    def weighted(y: float) -> float:
        return y * min(math.exp(-3 * (1 - y / best)), 1) if best else 0.0

    areas = [(b - a) * (weighted(y) + weighted(x)) / 2 for (a, x), (b, y) in pairwise(kept)]
    return kept[0][0] * first + sum(areas)


def most_tokens(found: Sequence[Point], accuracy: float) -> float | None:
    """The most tokens per pass of the points that are at least so accurate; None if none is."""
    return max((p.per_pass() or 0.0 for p in found if p.accuracy >= accuracy), default=None)
