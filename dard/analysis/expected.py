"""What an answer is held against: what was expected, else the scorer of the prompt's own task, else a reference.

Promises: an expectation that cannot be used is refused with one sentence before anything runs, and no pattern is looked
for longer than a quarter of a second.
Does not know: how answers are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from dard.core.errors import InputError
from dard.core.patterns import Pattern
from dard.models.base import Model
from dard.tasks.judge import CUT_OFF, judge
from dard.trace.diagnosis import Judged

Expected = str | Callable[[str], bool]
LONGEST = 1000  # characters of what is expected


def checker(expected: Expected) -> Callable[[str], bool]:
    """What was expected as a question to an answer: a text that it contains, a /pattern/ that is found in it, or a
    function of it. White space counts as one space.

    >>> checker("San  Diego")("in San Diego ."), checker("/S.n D/")("in San Diego ."), checker(str.isdigit)("12")
    (True, True, True)
    """
    if callable(expected):
        return yes_or_no(expected)
    if not isinstance(expected, str):
        raise InputError(
            f"expected = {repr(expected)[:60]} is not allowed; it must be a text that a right answer contains, "
            "a /pattern/, or a function of the answer"
        )
    text = " ".join(expected.split())
    if not text or len(expected) > LONGEST:
        raise InputError(f"expected must be a text of 1 to {LONGEST} characters, not of {len(expected)}")
    if len(text) > 2 and text[0] == text[-1] == "/":
        return Pattern("expected", text[1:-1]).found
    return lambda answer: text in " ".join(answer.split())


def yes_or_no(function: Callable[[str], bool]) -> Callable[[str], bool]:
    def right(answer: str) -> bool:
        try:
            return bool(function(answer))
        except Exception as error:  # somebody's code: whatever it raises is told
            raise InputError(f"expected failed on an answer: {type(error).__name__}: {str(error)[:200]}") from error

    return right


class Bench:
    """The judge of one run's answers. Without an expectation and a task they are held against a `reference`, which is
    to be set first: equal tokens up to the first end."""

    def __init__(self, model: Model, prompt: str, expected: Expected | None, template: bool) -> None:
        self.model, self.prompt, self.template = model, prompt, template
        self.ends = {model.eos_id, *getattr(model, "end_ids", ())} - {None}
        self.check = None if expected is None else checker(expected)
        self.by: Judged = "expected" if self.check else "reference"
        if self.check is None and judge(prompt, "") is not None:
            self.by = "task"
        self.reference: list[int] | None = None
        self._known: dict[tuple[int, ...], bool] = {}

    def answer(self, tokens: Sequence[int]) -> list[int]:
        """The tokens up to the first end."""
        return list(takewhile(lambda token: token not in self.ends, tokens))

    def text(self, tokens: Sequence[int]) -> str:
        return self.model.decode(self.answer(tokens))

    def right(self, tokens: Sequence[int]) -> bool:
        key = tuple(tokens)
        if key not in self._known:
            self._known[key] = self._right(key)
        return self._known[key]

    def _right(self, tokens: tuple[int, ...]) -> bool:
        if self.check:
            return self.check(self.text(tokens))
        if self.by == "task":
            return judge(self.prompt, self.text(tokens)) is True
        return self.answer(tokens) == self.reference

    def ended(self, tokens: Sequence[int]) -> bool:
        """Whether an answer has an end of its own, or the model never writes one."""
        return not self.ends or any(token in self.ends for token in tokens)

    def cut_off(self, tokens: Sequence[int]) -> bool:
        """Whether the task says that a right answer begins like this, and goes on beyond the region."""
        full = not self.template and not self.ended(tokens)
        return self.by == "task" and full and judge(self.prompt, self.text(tokens), full=True) == CUT_OFF
