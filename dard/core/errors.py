"""What bad input ends with, and what is told in the middle of somebody else's program: one sentence."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence


class InputError(ValueError):
    """Bad input: one sentence that names the field, its value and what is allowed."""


class UnknownWords(InputError):
    """A text that a model cannot read; `words` are all that it does not know. Who asked knows what the text was for."""

    def __init__(self, said: str, words: Sequence[str], field: str = "prompt") -> None:
        super().__init__(f"{field} {said}")
        self.said, self.words = said, tuple(words)

    def in_field(self, field: str) -> UnknownWords:
        return UnknownWords(self.said, self.words, field)


def warn(sentence: str, stacklevel: int) -> None:
    """A warning, or, where warnings are errors, a line on standard error: who is called here must go on.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error")
    ...     warn("the logits cannot be read", 1)
    """
    try:
        warnings.warn(sentence, stacklevel=stacklevel + 1)
    except Warning:
        print(sentence, file=sys.stderr)


def plain(trouble: Exception) -> str:
    """An error in a line: our own sentence, or what another program's says.

    >>> plain(KeyError("block_x")), plain(InputError("seed = -1 is not allowed"))
    ("KeyError: 'block_x'", 'seed = -1 is not allowed')
    """
    if isinstance(trouble, InputError):
        return str(trouble)
    return f"{type(trouble).__name__}: {(str(trouble).splitlines() or [''])[0][:200]}"
