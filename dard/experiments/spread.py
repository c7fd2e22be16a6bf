"""Which batches of samples this process does, when `accelerate launch` has started several.

Promises: every batch belongs to exactly one process; without accelerate there is one process and it does all.
Does not know: accelerate itself. It reads the environment variables that accelerate and torchrun set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from dard.state import InputError


@dataclass(frozen=True)
class Process:
    """This process among `count`; `local` is its number on this machine, which is its GPU."""

    index: int = 0
    count: int = 1
    local: int = 0

    def owns(self, number: int) -> bool:
        """
        >>> [number for number in range(7) if Process(1, 3).owns(number)]
        [1, 4]
        """
        return number % self.count == self.index


def this_process(environment: Mapping[str, str] = os.environ) -> Process:
    """The place of this process.

    >>> this_process({"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0"})
    Process(index=2, count=4, local=0)
    """
    try:
        index, count, local = (
            int(environment.get(name, default))
            for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"))
        )
    except ValueError:
        raise InputError("RANK, WORLD_SIZE and LOCAL_RANK must be whole numbers, as accelerate sets them") from None
    if not 0 <= index < count or local < 0:
        raise InputError(f"RANK = {index} is not allowed; with WORLD_SIZE = {count} it must be from 0 to {count - 1}")
    return Process(index, count, local)
