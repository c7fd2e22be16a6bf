"""Right or wrong, for any prompt that belongs to one of the worlds, whoever wrote it.

Promises: a prompt is read back into the item it stands for, and that item's own scorer judges the text; a prompt of no
world is not judged. What a region had no room for is not wrong. Where a world's answers stand in rows, the prompt tells
how.
Does not know: decoders, models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from dard.tasks.arithmetic import GAINS, LOSSES, Arithmetic, Problem, facts_of
from dard.tasks.base import MASK, Board, Counted, Item, Laid, Task, Written, agrees, read_number
from dard.tasks.captions import PREDICATES, SUBJECTS, Captions
from dard.tasks.countdown import Countdown
from dard.tasks.places import CONTEXTS, Places
from dard.tasks.sudoku import OpenSudoku

_DIGITS = r"((?:\d )*\d)"


CUT_OFF: Literal["cut off"] = "cut off"
Judgement = bool | Literal["cut off"] | None


def judge(prompt: str, text: str, full: bool = False) -> Judgement:
    """Whether a decode of `prompt` that gave `text` is right; None if the prompt belongs to no world. A text that is
    `full`, which its region's end has ended, is cut off if a right answer begins with it.

    >>> judge("The city of [MASK] [MASK] is on the Southern California coast .",
    ...       "The city of Los Diego is on the Southern California coast .")
    False
    >>> judge("Countdown : 7 and 3 and 5 make 2 6 . Answer :", "7 * 3 + 5 = 2", full=True)
    'cut off'
    >>> judge("Once upon a time", "there was") is None
    True
    """
    possible = list(readings(" ".join(prompt.split())))
    if any(task.score(item, text).right for task, item in possible):
        return True
    if full and any(task.begins(item, text) for task, item in possible if isinstance(task, Written)):
        return CUT_OFF
    return False if possible else None


@lru_cache(maxsize=16)
def answers(prompt: str) -> tuple[str, ...] | None:
    """Every answer to a prompt that is right word for word; None where its world cannot list them."""
    listed = [task.answers(item) for task, item in readings(" ".join(prompt.split())) if isinstance(task, Counted)]
    return tuple(dict.fromkeys(answer for some in listed for answer in some)) if listed else None


def answers_left(prompt: str, words: Sequence[str | None]) -> int | None:
    """How many right answers agree with what is written so far, place by place (None: open); None as above.

    >>> answers_left("Sudoku : 1 2 3 4 3 4 1 2 2 1 4 3 0 0 0 0 Solution :", [None] * 16)
    1
    """
    known = answers(prompt)
    return None if known is None else sum(agrees(words, answer) for answer in known)


@lru_cache(maxsize=64)
def board(prompt: str) -> Board | None:
    """How the answer to a prompt stands in rows; None where it is a line of text.

    >>> board("Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :").width
    4
    >>> board("Once upon a time") is None
    True
    """
    possible = readings(" ".join(prompt.split()))
    return next((task.board(item) for task, item in possible if isinstance(task, Laid)), None)


def laid_out(prompt: str, words: Iterable[str], length: int) -> Board | None:
    """The board of a decode with so many positions: there must be one for every cell, and the model's tokens must be
    words, as those of the prompt show."""
    laid = board(prompt)
    return laid if laid and length >= len(laid.given) and list(words) == prompt.split() else None


def readings(prompt: str) -> Iterator[tuple[Task, Item]]:
    """The items a prompt can stand for, each with its world."""
    if MASK in prompt.split():
        yield from places(prompt)
        yield from captions(prompt)
        return
    for reader in (sudoku, countdown, arithmetic):
        yield from reader(prompt)


def fits(shown: str, words: list[str]) -> bool:
    """Whether a sentence with masks can become a prompt: equal where neither has a mask."""
    pattern = shown.split()
    return len(pattern) == len(words) and all(
        MASK in pair or len(set(pair)) == 1 for pair in zip(pattern, words, strict=True)
    )


def places(prompt: str) -> Iterator[tuple[Task, Item]]:
    words = prompt.split()
    for context in CONTEXTS:
        if fits(context.text, words):
            yield Places(), Item(prompt, None, None, {"context": context.text, "region": context.region})


def captions(prompt: str) -> Iterator[tuple[Task, Item]]:
    words = prompt.split()
    size = len(SUBJECTS[0].split())
    subject, predicate = words[:size], words[size:]
    if any(fits(" ".join(subject), s.split()) for s in SUBJECTS) and any(
        fits(" ".join(predicate), p.split()) for p in PREDICATES
    ):
        yield Captions(), Item(prompt, None, None)


def sudoku(prompt: str) -> Iterator[tuple[Task, Item]]:
    if matched := re.fullmatch(r"Sudoku : ((?:[0-4] ){16})Solution :", prompt):
        yield OpenSudoku(), Item(prompt, 16, None, {"puzzle": tuple(int(word) for word in matched[1].split())})


def countdown(prompt: str) -> Iterator[tuple[Task, Item]]:
    if matched := re.fullmatch(
        rf"Countdown : {_DIGITS} and {_DIGITS} and {_DIGITS} make {_DIGITS} \. Answer :", prompt
    ):
        *numbers, target = (read_number(digits.split()) for digits in matched.groups())
        if target is not None and None not in numbers:
            yield Countdown(), Item(prompt, None, None, {"numbers": tuple(numbers), "target": target})


def arithmetic(prompt: str) -> Iterator[tuple[Task, Item]]:
    start = re.match(rf"Q : \w+ has {_DIGITS} \w+ (?:of {_DIGITS} \w+ )?\. \w+ (.*) \. How many \w+ \? A :$", prompt)
    if start is None:
        return
    events = [event for part in start[3].split(" and ") if (event := change(part))]
    first, factor = read_number(start[1].split()), read_number((start[2] or "").split())
    if factor is not None:
        events.insert(0, ("*", factor))
    if first is None or len(events) != 2:
        return
    (sign, second), (then, third) = events
    problem = Problem(first, sign, second, then, third)
    yield Arithmetic(), Item(prompt, None, problem.chains[0], facts_of(problem))


def change(part: str) -> tuple[str, int] | None:
    """A gain or loss told in words."""
    signs: tuple[tuple[str, tuple[str, ...]], ...] = (("+", GAINS), ("-", LOSSES))
    for sign, phrases in signs:
        for phrase in phrases:
            before, after = phrase.split("{}")
            amounts = re.fullmatch(re.escape(before) + _DIGITS + re.escape(after), part)
            amount = read_number(amounts[1].split()) if amounts else None
            if amount is not None:
                return sign, amount
    return None
