"""What bad input ends with: one sentence."""

from __future__ import annotations

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
