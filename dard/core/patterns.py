"""Patterns that somebody wrote: refused with a sentence where they cannot be used, and never looked for longer than a
quarter of a second.

Does not know: what is looked for, or where.
"""

from __future__ import annotations

import math
from typing import Any

import regex

from dard.core.errors import InputError

PATTERN_SECONDS = 0.25
REPEATS = 10_000  # that a pattern's counted repetitions may come to, each within the other; more can fill the memory


class Pattern:
    """A pattern, under the name of whoever asked for it.

    >>> Pattern("answer", "[0-9]+").last("3 or 14")
    (5, 7)
    """

    def __init__(self, name: str, pattern: str) -> None:
        self.named = f"{name} = /{pattern[:60]}/"
        inside = regex.findall(r"\d+", " ".join(regex.findall(r"\{([\d,]*)\}", pattern)))
        if math.prod(max(1, int(digits[-6:])) for digits in inside) > REPEATS:
            raise InputError(f"{self.named} repeats too much; its counts may come to {REPEATS} in all")
        try:
            self.compiled = regex.compile(pattern)
        except (regex.error, OverflowError, RecursionError, ValueError) as error:
            raise InputError(f"{self.named} is no pattern: {str(error)[:100]}") from None

    def found(self, text: str) -> bool:
        return self._in_time(lambda: self.compiled.search(text, timeout=PATTERN_SECONDS) is not None)

    def last(self, text: str) -> tuple[int, int] | None:
        """From where to where the last match goes, or its first group, if it has one."""

        def search() -> tuple[int, int] | None:
            span = None
            for match in self.compiled.finditer(text, timeout=PATTERN_SECONDS):
                span = match.span(1 if self.compiled.groups and match.group(1) is not None else 0)
            return span

        return self._in_time(search)

    def _in_time(self, search: Any) -> Any:
        try:
            return search()
        except (TimeoutError, MemoryError, RecursionError):
            raise InputError(
                f"{self.named} takes longer than {PATTERN_SECONDS} s on an answer; write a simpler one"
            ) from None
