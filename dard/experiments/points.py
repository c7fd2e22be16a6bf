"""Rows of a variant as one point: how often right, in how many passes, how fast.

Promises: means over the samples there are, with an interval that says how little few samples tell; a frontier is
what no other point beats in both accuracy and passes.
Does not know: files or pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, median

from dard.decoders import DECODERS
from dard.results.file import Results
from dard.results.sweep import Row, Variant
from dard.trace.metrics import interval


@dataclass(eq=False)
class Point:
    """A variant's samples, or those of them that `label` names; `beside` is what it is compared with."""

    variant: Variant
    rows: Sequence[Row]
    beside: Point | None = None
    label: str = ""

    def total(self, name: str) -> int:
        return sum(row[name] for row in self.rows)

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
        return self.total(tokens) / self.total("passes")

    @cached_property
    def tokens_per_second(self) -> float:
        """By the median time of a pass: a moment in which the machine did something else makes no decoder slow."""
        seconds = self.median(lambda row: row["seconds"] / row["passes"]) * self.total("passes")
        return self.total("tokens") / seconds if seconds else 0.0


def points(results: Results, beside: Variant | None = None) -> list[Point]:
    """A point for every variant that has a row, in the order of the grid; each beside that of the variant meant."""
    ours = [Point(variant, rows) for variant in results.variants if (rows := results.of(variant))]
    other = next((p for p in ours if beside is not None and beside.includes(p.variant)), None)
    for p in ours:
        p.beside = other
    return ours


def split(points: Sequence[Point], labels: Collection[str]) -> list[Point]:
    """Each point once for every label: for kinds of things that its rows tell of."""
    return [replace(p, label=label) for p in points for label in labels]


def number_of(decoder: str) -> int:
    """The place of a decoder in the order of registration; after all of them for one that is not known here."""
    return [*DECODERS, decoder].index(decoder)


def by_decoder(points: Sequence[Point]) -> dict[str, list[Point]]:
    """The points of each decoder, in the order of registration; results may name some that are not known here."""
    names = sorted({p.variant.decoder for p in points}, key=lambda name: (number_of(name), name))
    return {name: [p for p in points if p.variant.decoder == name] for name in names}


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: fewer passes and at least the accuracy, or as few passes and more accuracy.

    Ordered by passes, so that accuracy rises along it; of equal points the first stays.
    """
    best: list[Point] = []
    for candidate in sorted(points, key=lambda each: (each.passes, -each.accuracy)):
        if not best or candidate.accuracy > best[-1].accuracy:
            best.append(candidate)
    return best


def most_tokens(points: Sequence[Point], accuracy: float) -> float | None:
    """The most tokens per pass of the points that are at least so accurate; None if none is."""
    return max((p.per_pass() or 0.0 for p in points if p.accuracy >= accuracy), default=None)
