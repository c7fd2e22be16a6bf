"""How many bytes of memory something takes, roughly: enough to know when too much is kept.

Promises: whatever grows with a run is counted: lists, texts, numbers, arrays, tensors; long sequences by a few samples
where that is allowed, in whole where what they hold may be hostile.
Does not know: what it weighs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

SAMPLES = 8
UNCOUNTED = frozenset({"_link", "model"})  # what a step shares with the one before it, and what everybody shares


def weight(thing: Any) -> int:
    """All of it, nothing twice.

    >>> weight([0.0] * 1000) < weight([n / 3 for n in range(1000)])
    True
    """
    seen: set[int] = set()
    total, left = 0, [thing]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        if isinstance(each, dict):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset):
            left += each
        elif not isinstance(each, str | bytes | int | float | None):
            total += int(getattr(each, "nbytes", 0))
            left += [value for name, value in getattr(each, "__dict__", {}).items() if name not in UNCOUNTED]
    return total


def estimate(things: Sequence[Any]) -> int:
    """All of them together, judged by a few that are spread over them.

    >>> estimate([]), estimate(["x" * 1000] * 100) > 100_000
    (0, True)
    """
    if not things:
        return 0
    chosen = [things[number * len(things) // SAMPLES] for number in range(SAMPLES)] if len(things) > SAMPLES else things
    return sum(weight(each) for each in chosen) * len(things) // len(chosen)
