"""Short stories with a sum in two steps, answered by a chain of thought.

Promises: numbers stay below forty and never below zero; a problem (its numbers and signs, in any order) that is
held out appears in no training story, whoever the story is about. Single sums are common knowledge: the drills
cover all of them. A story can be worked out in several ways (which change first, which number of a sum first); training
text uses all of them equally often: each word of a chain is plausible by itself, and only together they must fit.
Does not know: any other way to tell a story.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from dard.tasks.base import (
    Example,
    Fact,
    Item,
    Score,
    compute,
    continuation,
    distinct_items,
    drill,
    held_out,
    read_number,
    spell,
    starts,
    sum_text,
)

_BOYS = ("Tom", "Ben", "Sam", "Max")
_GIRLS = ("Anna", "Mia", "Lucy", "Emma")
_THINGS = ("apples", "books", "coins", "cards", "pens", "stamps")
GAINS = ("gets {} more", "finds {} more", "buys {} more")
LOSSES = ("loses {}", "sells {}", "gives away {}")
_CONTAINERS = ("bags", "boxes")

# First numbers of a story, and what is added, taken or multiplied.
LARGEST_START = 15
LARGEST_CHANGE = 8
LARGEST_FACTOR = 5
# The largest intermediate result a story can have.
LARGEST_RESULT = max(LARGEST_START + LARGEST_CHANGE, LARGEST_FACTOR * LARGEST_FACTOR)

_PRODUCT_SHARE = 0.1
_GENERATION_LENGTH = 24
_FINAL = re.compile(r"The answer is ((?:\d )+)\.$")
_ANSWERING = re.compile(r".*\bThe answer is\b(.*)")


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
        return compute(self.first, self.sign, self.second)

    @property
    def result(self) -> int:
        return compute(self.middle, self.then, self.third)

    @property
    def key(self) -> str:
        """The same for all problems that can share a chain: the order of terms and of factors does not matter."""
        events = ((self.sign, self.second), (self.then, self.third))
        gains = [number for sign, number in events if sign == "+"]
        losses = sorted(number for sign, number in events if sign == "-")
        if self.sign == "*":
            return f"arithmetic {sorted((self.first, self.second))} times, {gains} - {losses}"
        return f"arithmetic {sorted((self.first, *gains))} - {losses}"

    @property
    def chains(self) -> tuple[str, ...]:
        """Every way to work it out, the one that follows the story word by word first."""
        ways = [((self.sign, self.second), (self.then, self.third))]
        if self.sign != "*" and compute(self.first, self.then, self.third) >= 0:
            ways.append((ways[0][1], ways[0][0]))
        written: dict[str, None] = {}
        for (sign, number), (then, last) in ways:
            middle = compute(self.first, sign, number)
            for one, other in product(_orders(self.first, sign, number), _orders(middle, then, last)):
                written[f"{sum_text(*one)} {sum_text(*other)} The answer is {spell(self.result)} ."] = None
        return tuple(written)


def _orders(left: int, sign: str, right: int) -> tuple[Fact, ...]:
    """A sum, and the same with its numbers exchanged where that changes nothing."""
    straight = (left, sign, right)
    return (straight,) if sign == "-" else (straight, (right, sign, left))


def _problems() -> tuple[tuple[Problem, ...], ...]:
    """All problems, by the sign of their first step, so that each sign can be drawn equally often."""
    changes = range(1, LARGEST_CHANGE + 1)
    problems: list[tuple[Problem, ...]] = []
    for sign in "+-*":
        factors = range(2, LARGEST_FACTOR + 1)
        starts = factors if sign == "*" else range(1, LARGEST_START + 1)
        seconds = factors if sign == "*" else changes
        problems.append(
            tuple(
                problem
                for start in starts
                for second in seconds
                for then in "+-"
                for third in changes
                if (problem := Problem(start, sign, second, then, third)).middle >= 0 and problem.result >= 0
            )
        )
    return tuple(problems)


PROBLEMS = _problems()

_FACTS: tuple[Fact, ...] = tuple(
    fact
    for left in range(LARGEST_RESULT + 1)
    for right in range(1, LARGEST_CHANGE + 1)
    for sign in "+-"
    if compute(left, sign, right) >= 0
    for fact in _orders(left, sign, right)
)
_PRODUCTS: tuple[Fact, ...] = tuple(
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


def facts_of(problem: Problem) -> dict[str, Any]:
    """What the scorer needs to know of a problem."""
    return {"result": problem.result, "chains": problem.chains}


class Arithmetic:
    """Two-step stories; `right` is the final answer, `exact chain` a whole text that is one of the right ones."""

    name = "arithmetic"
    title = "Arithmetic stories"

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        examples: list[Example] = []
        while len(examples) < count:
            problem = self._draw(rng)
            if not held_out(problem.key):
                examples.append(Example("question", story(problem, rng), _pick(rng, problem.chains)))
        return examples

    def drills(self, rng: np.random.Generator, count: int) -> list[Example]:
        """Lists of single sums over everything that either step of a story can ask."""
        return [drill(_PRODUCTS if rng.random() < _PRODUCT_SHARE else _FACTS, rng) for _ in range(count)]

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)

        def draw() -> Item | None:
            problem = self._draw(rng)
            if not held_out(problem.key):
                return None
            return Item(story(problem, rng), _GENERATION_LENGTH, problem.chains[0], facts_of(problem))

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = continuation(item, text)
        written = " ".join(words)
        match = _FINAL.search(written)
        right = match is not None and read_number(match.group(1).split()) == item.facts["result"]
        return Score(right, {"exact chain": float(written in item.facts["chains"])})

    def answers(self, item: Item) -> tuple[str, ...]:
        return item.facts["chains"]

    def begins(self, item: Item, text: str) -> bool:
        """By a chain so far right, or, since only the final answer counts, by that answer so far right."""
        words = continuation(item, text)
        answering = _ANSWERING.fullmatch(" ".join(words))
        if answering:
            return starts(answering[1].split(), f"{spell(item.facts['result'])} .")
        return any(starts(words, chain) for chain in item.facts["chains"])

    def vocabulary(self) -> set[str]:
        fixed = "Q : has . He She and of How many ? A : + - * = The answer is Sums"
        options = (*_BOYS, *_GIRLS, *_THINGS, *GAINS, *LOSSES, *_CONTAINERS, *"0123456789")
        return {word for text in (fixed, *options) for word in text.split()} - {"{}"}

    def _draw(self, rng: np.random.Generator) -> Problem:
        group = PROBLEMS[int(rng.integers(len(PROBLEMS)))]
        return group[int(rng.integers(len(group)))]
