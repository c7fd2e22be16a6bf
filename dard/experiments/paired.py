"""Variants compared on the items they share: an exact McNemar test, and a bootstrap of the difference.

Promises: every number follows from the rows alone, the random draws of the bootstrap included.
Does not know: files.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from dard.core.errors import InputError
from dard.experiments.base import Table, percent, signed
from dard.experiments.catalogue import get_experiment
from dard.experiments.points import Point, points
from dard.results.file import Results

DRAWS = 10_000
CHUNK = 500  # draws at a time


@dataclass(frozen=True)
class Paired:
    """`only_one` and `only_other`: items that one of the two alone had right. `low` and `high`: 95 % of the bootstrap's
    differences in accuracy."""

    items: int
    both: int
    only_one: int
    only_other: int
    p: float
    difference: float
    low: float
    high: float


def mcnemar(only_one: int, only_other: int) -> float:
    """The exact two-sided probability of so uneven a split of the items on which two disagree, were they as good.

    >>> mcnemar(9, 1), mcnemar(0, 0)
    (0.021484375, 1.0)
    """
    count, fewer = only_one + only_other, min(only_one, only_other)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(fewer + 1)) / 2**count)


def bootstrap(differences: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Bounds of the mean difference, by items drawn again.

    >>> bootstrap([0.0, 0.0, 0.0])
    (0.0, 0.0)
    """
    values, draw = np.asarray(differences, dtype=float), np.random.default_rng(seed)
    means = [values[draw.integers(0, len(values), (CHUNK, len(values)))].mean(axis=1) for _ in range(DRAWS // CHUNK)]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def compare(one: Point, other: Point) -> Paired:
    """Two variants on the items both have a row for."""
    scores = {row["sample"]: (row["right"], score) for row, score in zip(other.rows, other.scores, strict=True)}
    shared = [
        (row["right"], score, *scores[row["sample"]])
        for row, score in zip(one.rows, one.scores, strict=True)
        if row["sample"] in scores
    ]
    if not shared:
        raise InputError(f"{one.variant.name} and {other.variant.name} share no item yet")
    only_one = sum(bool(a) and not b for a, _, b, _ in shared)
    only_other = sum(bool(b) and not a for a, _, b, _ in shared)
    differences = [mine - theirs for _, mine, _, theirs in shared]
    both = sum(bool(a) and bool(b) for a, _, b, _ in shared)
    low, high = bootstrap(differences)
    return Paired(len(shared), both, only_one, only_other, mcnemar(only_one, only_other), fmean(differences), low, high)


def holm(values: Sequence[float]) -> list[float]:
    """Probabilities made honest for so many tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    found, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        found[i] = highest
    return found


def probability(p: float) -> str:
    """
    >>> probability(0.0214), probability(1e-9)
    ('0.0214', '<0.0001')
    """
    return "<0.0001" if p < 0.00005 else f"{p:.4f}"


def paired(results: Results, against: str | None = None) -> Table:
    """Every variant against one of them: the one named, else what the experiment compares with, else the first."""
    ours = points(results, get_experiment(results.header["experiment"]).beside)
    names = [p.variant.name for p in ours]
    if against and against not in names:
        raise InputError(f"variant {against[:60]!r} is not there; there are {', '.join(names)}")
    if len(ours) < 2:
        raise InputError("a paired test needs two variants with rows")
    other = next(p for p in ours if p.variant.name == against) if against else ours[0].beside or ours[0]
    rest = [p for p in ours if p is not other]
    found = [compare(p, other) for p in rest]
    honest = holm([each.p for each in found])
    rows = [
        [
            p.variant.name,
            str(each.items),
            str(each.both),
            str(each.only_one),
            str(each.only_other),
            probability(each.p),
            probability(corrected),
            signed(100 * each.difference),
            f"{signed(100 * each.low)} – {signed(100 * each.high)}",
        ]
        for p, each, corrected in zip(rest, found, honest, strict=True)
    ]
    headings = ["Variant", "Items", "Both right", "Only it", "Only the other", "p", "p (Holm)", "Δ Acc.", "95 %"]
    many = "test" if len(rest) == 1 else "tests"
    caption = (
        f"Against {other.variant.name}, on the same items: the exact McNemar test on those that only one has right, "
        f"corrected by Holm for {len(rest)} {many}, and the difference with its bootstrap interval ({DRAWS} draws)."
    )
    return Table(caption, headings, rows, [p.variant.name for p in rest])


def spread(results: Results) -> Table | None:
    """Means and standard deviations over decoding seeds; None where there was one."""
    groups: dict[str, list[Point]] = defaultdict(list)
    for p in points(results):
        if "seed" in p.variant.settings:
            groups[p.variant.name.removesuffix(f" seed={p.variant.settings['seed']}")].append(p)
    if not any(len(group) > 1 for group in groups.values()):
        return None

    def told(values: Sequence[float], shown: str) -> str:
        return f"{shown.format(fmean(values))} ± {shown.format(stdev(values)) if len(values) > 1 else '–'}"

    rows = [
        [
            name,
            str(len(group)),
            told([100 * p.accuracy for p in group], "{:.1f}"),
            f"{percent(min(p.accuracy for p in group))} – {percent(max(p.accuracy for p in group))}",
            told([p.passes for p in group], "{:.2f}"),
        ]
        for name, group in groups.items()
    ]
    headings = ["Variant", "Seeds", "Acc. (%)", "lowest – highest", "Passes"]
    caption = "Over decoding seeds: mean and standard deviation; every seed decodes the same items."
    return Table(caption, headings, rows, list(groups))
