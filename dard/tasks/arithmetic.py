"""Short stories with a sum in two steps, answered by a chain of thought.

Promises: numbers stay below twenty-five and never below zero; a problem (five numbers and signs) that is held
out appears in no training story, whoever the story is about. Single sums are common knowledge: the drills
cover all of them.
Does not know: any other way to tell a story.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dard.tasks.base import Example, Item, Score, continuation, distinct_items, held_out, read_number, spell

_BOYS = ("Tom", "Ben", "Sam", "Max")
_GIRLS = ("Anna", "Mia", "Lucy", "Emma")
_THINGS = ("apples", "books", "coins", "cards", "pens", "stamps")
GAINS = ("gets {} more", "finds {} more", "buys {} more")
LOSSES = ("loses {}", "sells {}", "gives away {}")
_CONTAINERS = ("bags", "boxes")

# First numbers of a story, and what is added, taken or multiplied.
LARGEST_START = 12
LARGEST_CHANGE = 6
LARGEST_FACTOR = 4
# The largest intermediate result a story can have.
LARGEST_RESULT = max(LARGEST_START + LARGEST_CHANGE, LARGEST_FACTOR * LARGEST_FACTOR)

_SUMS_IN_A_DRILL = 5
_PRODUCT_SHARE = 0.1
_GENERATION_LENGTH = 24
_FINAL = re.compile(r"The answer is ((?:\d )+)\.$")


def _compute(left: int, sign: str, right: int) -> int:
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


@dataclass(frozen=True)
class Problem:
    """`first sign second`, then the result `then third`."""

    first: int
    sign: str
    second: int
    then: str
    third: int

    @property
    def middle(self) -> int:
        return _compute(self.first, self.sign, self.second)

    @property
    def result(self) -> int:
        return _compute(self.middle, self.then, self.third)

    @property
    def key(self) -> str:
        return f"arithmetic {self.first} {self.sign} {self.second} {self.then} {self.third}"

    @property
    def chain(self) -> str:
        return (
            f"{sum_text(self.first, self.sign, self.second)} "
            f"{sum_text(self.middle, self.then, self.third)} The answer is {spell(self.result)} ."
        )


def sum_text(left: int, sign: str, right: int) -> str:
    """One sum as a sentence.

    >>> sum_text(7, "+", 5)
    '7 + 5 = 1 2 .'
    """
    return f"{spell(left)} {sign} {spell(right)} = {spell(_compute(left, sign, right))} ."


def _problems() -> tuple[tuple[Problem, ...], ...]:
    """All problems, by the sign of their first step, so that each sign can be drawn equally often."""
    changes = range(1, LARGEST_CHANGE + 1)
    found: list[tuple[Problem, ...]] = []
    for sign in "+-*":
        factors = range(2, LARGEST_FACTOR + 1)
        starts = factors if sign == "*" else range(1, LARGEST_START + 1)
        seconds = factors if sign == "*" else changes
        found.append(
            tuple(
                problem
                for start in starts
                for second in seconds
                for then in "+-"
                for third in changes
                if (problem := Problem(start, sign, second, then, third)).middle >= 0 and problem.result >= 0
            )
        )
    return tuple(found)


PROBLEMS = _problems()

_FACTS: tuple[tuple[int, str, int], ...] = tuple(
    [
        (left, sign, right)
        for left in range(LARGEST_RESULT + 1)
        for right in range(1, LARGEST_CHANGE + 1)
        for sign in "+-"
        if _compute(left, sign, right) >= 0
    ]
)
_PRODUCTS: tuple[tuple[int, str, int], ...] = tuple(
    (left, "*", right) for left in range(2, LARGEST_FACTOR + 1) for right in range(2, LARGEST_FACTOR + 1)
)


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]


def story(problem: Problem, rng: np.random.Generator) -> str:
    """Tell the problem with a name, a thing and verbs drawn from `rng`."""
    boy = bool(rng.integers(2))
    name, pronoun = (_pick(rng, _BOYS), "He") if boy else (_pick(rng, _GIRLS), "She")
    thing = _pick(rng, _THINGS)

    def change(sign: str, amount: int) -> str:
        return _pick(rng, GAINS if sign == "+" else LOSSES).format(spell(amount))

    if problem.sign == "*":
        start = f"{spell(problem.first)} {_pick(rng, _CONTAINERS)} of {spell(problem.second)} {thing}"
        events = change(problem.then, problem.third)
    else:
        start = f"{spell(problem.first)} {thing}"
        events = f"{change(problem.sign, problem.second)} and {change(problem.then, problem.third)}"
    return f"Q : {name} has {start} . {pronoun} {events} . How many {thing} ? A :"


class Arithmetic:
    """Two-step stories; `right` is the final answer, `exact chain` the whole text."""

    name = "arithmetic"
    title = "Arithmetic stories"

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        found: list[Example] = []
        while len(found) < count:
            problem = self._draw(rng)
            if not held_out(problem.key):
                found.append(Example("question", story(problem, rng), problem.chain))
        return found

    def drills(self, rng: np.random.Generator, count: int) -> list[Example]:
        """Lists of single sums over everything that either step of a story can ask."""
        found: list[Example] = []
        for _ in range(count):
            facts = [
                _PRODUCTS[int(rng.integers(len(_PRODUCTS)))]
                if rng.random() < _PRODUCT_SHARE
                else _FACTS[int(rng.integers(len(_FACTS)))]
                for _ in range(_SUMS_IN_A_DRILL)
            ]
            found.append(Example("drill", "Sums :", " ".join(sum_text(*fact) for fact in facts)))
        return found

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)

        def draw() -> Item | None:
            problem = self._draw(rng)
            if not held_out(problem.key):
                return None
            facts = {"result": problem.result}
            return Item(story(problem, rng), _GENERATION_LENGTH, problem.chain, facts)

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = continuation(item, text)
        written = " ".join(words)
        match = _FINAL.search(written)
        right = match is not None and read_number(match.group(1).split()) == item.facts["result"]
        return Score(right, {"exact chain": float(written == item.answer)})

    def vocabulary(self) -> set[str]:
        fixed = "Q : has . He She and of How many ? A : + - * = The answer is Sums"
        options = (*_BOYS, *_GIRLS, *_THINGS, *GAINS, *LOSSES, *_CONTAINERS, *"0123456789")
        return {word for text in (fixed, *options) for word in text.split()} - {"{}"}

    def _draw(self, rng: np.random.Generator) -> Problem:
        group = PROBLEMS[int(rng.integers(len(PROBLEMS)))]
        return group[int(rng.integers(len(group)))]
