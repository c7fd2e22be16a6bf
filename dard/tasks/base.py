"""What every small world has in common: examples, items, scores, and the split between them.

Promises: an example whose `held_out` text says so is never generated for training, on any machine and with
any seed, because the split is a hash of the text and nothing else.
Does not know: any model, any tokenizer, any decoder. A world is text in, text out, words separated by single
spaces, numbers written one digit per word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

MASK, END = "[MASK]", "[EOS]"

Kind = Literal["text", "question", "drill"]


@dataclass(frozen=True)
class Example:
    """One training row. A text has no prompt; a question has both; a drill is a list of sums to know by heart.

    `focus` is the part of a text that is worth asking for: the first word and the one after the last.
    """

    kind: Kind
    prompt: str
    answer: str
    focus: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Item:
    """One test prompt. `gen_length` is None for a template, whose masks are the places to fill."""

    prompt: str
    gen_length: int | None
    answer: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """`right` is what the accuracy counts; `details` are further shares between 0 and 1, one name each; `weight` is how
    much this item counts beside others."""

    right: bool
    details: Mapping[str, float] = field(default_factory=dict)
    weight: float = 1


@dataclass(frozen=True)
class Mark:
    """Places of an answer that cannot all be right: two that clash, with the units they share, or others, with none."""

    places: tuple[int, ...]
    units: tuple[str, ...]
    say: str


@dataclass(frozen=True)
class Board:
    """An answer that stands in rows of `width` words, in boxes of `box` × `box`.

    `given` has one entry per cell, the word that the prompt fixes there or None. `look` takes what is written so far,
    cell after cell and then whatever follows (None: open), and whether that is the end; it gives what cannot be right,
    and a sentence on how it stands.
    """

    width: int
    box: int
    given: tuple[str | None, ...]
    look: Callable[[Sequence[str | None], bool], tuple[list[Mark], str]]

    @property
    def cells(self) -> tuple[int, int]:
        """How many there are in a row, and in all."""
        return self.width, len(self.given)


class Judge(Protocol):
    """Items and who scores them: all that decoding needs of a small world or a benchmark."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        """`count` held-out items; the same seed gives the same items."""
        ...

    def score(self, item: Item, text: str) -> Score:
        """Judge what a decoder wrote: the whole filled template, or what follows the prompt of a question."""
        ...


class Task(Judge, Protocol):
    """One small world."""

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        """`count` training examples, none of them held out."""
        ...

    def vocabulary(self) -> set[str]:
        """Every word this world can use."""
        ...


@runtime_checkable
class Laid(Protocol):
    """What a task has beyond the others whose answers are no line of text but stand in rows."""

    def board(self, item: Item) -> Board:
        """How the answer to an item is laid out."""
        ...


@runtime_checkable
class Written(Protocol):
    """What a task has beyond the others whose answers are written word after word: a region can end too soon."""

    def begins(self, item: Item, text: str) -> bool:
        """Whether a right answer begins with these words and goes on."""
        ...


@runtime_checkable
class Counted(Protocol):
    """What a task has beyond the others whose right answers can be listed."""

    def answers(self, item: Item) -> Sequence[str]:
        """Every answer to an item that is right word for word."""
        ...


def held_out(text: str, one_in: int = 10) -> bool:
    """Whether this text belongs to the test set.

    >>> held_out("The same text") == held_out("The same text")
    True
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % one_in == 0


# One draw in ten is held out, so this many useless draws in a row mean that there is nothing left to find.
_PATIENCE = 20_000


def distinct_items(draw: Callable[[], Item | None], count: int) -> list[Item]:
    """Call `draw` until it has given `count` items with different prompts; None is a draw that does not count."""
    items: dict[str, Item] = {}
    useless = 0
    while len(items) < count:
        item = draw()
        if item is None or item.prompt in items:
            useless += 1
            if useless > _PATIENCE:
                raise ValueError(f"{count} test items were asked for, but there seem to be only {len(items)}")
            continue
        items[item.prompt] = item
        useless = 0
    return list(items.values())


def spell(number: int) -> str:
    """A number as one word per digit.

    >>> spell(12)
    '1 2'
    """
    return " ".join(str(number))


def read_number(words: list[str]) -> int | None:
    """The number written by these digit words, or None when they are not a plainly written number.

    >>> read_number(["1", "2"]), read_number(["0", "2"]), read_number([])
    (12, None, None)
    """
    if not words or not all(len(word) == 1 and word in "0123456789" for word in words):
        return None
    if len(words) > 1 and words[0] == "0":
        return None
    return int("".join(words))


def continuation(item: Item, text: str) -> list[str]:
    """The words that follow the prompt, up to the first end-of-text word."""
    text = text.strip()
    if text.startswith(item.prompt):
        text = text[len(item.prompt) :]
    words = text.split()
    return words[: words.index(END)] if END in words else words


def agrees(words: Sequence[str | None], whole: str) -> bool:
    """Whether places can be filled to make a text and then its end, and those that are written agree; what stands after
    an end does not matter.

    >>> agrees([None, "+", None], "7 +"), agrees(["7", None], "7 + 5"), agrees(["7", "1"], "7")
    (True, False, False)
    """
    text = whole.split()
    ended = [*text, END][: len(words)]
    return len(text) <= len(words) and all(word in (None, right) for word, right in zip(words, ended, strict=False))


def starts(words: Sequence[str], whole: str) -> bool:
    """Whether a text begins with these words and goes on.

    >>> starts(["7", "+"], "7 + 5"), starts(["7"], "7"), starts(["1"], "12 + 5")
    (True, False, False)
    """
    return len(words) < len(whole.split()) and whole.split()[: len(words)] == list(words)


Fact = tuple[int, str, int]

_SUMS_IN_A_DRILL = 5


def compute(left: int, sign: str, right: int) -> int:
    """The value of one sum.

    >>> compute(7, "*", 5)
    35
    """
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def sum_text(left: int, sign: str, right: int) -> str:
    """One sum as a sentence.

    >>> sum_text(7, "+", 5)
    '7 + 5 = 1 2 .'
    """
    return f"{spell(left)} {sign} {spell(right)} = {spell(compute(left, sign, right))} ."


def drill(facts: Sequence[Fact], rng: np.random.Generator) -> Example:
    """A list of single sums drawn from `facts`."""
    chosen = [facts[int(rng.integers(len(facts)))] for _ in range(_SUMS_IN_A_DRILL)]
    return Example("drill", "Sums :", " ".join(sum_text(*fact) for fact in chosen))
