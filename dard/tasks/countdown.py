"""Three small numbers and a target: put signs between the numbers so that the expression has that value.

Promises: every target of a prompt can be reached with two of the signs + - * between the numbers as they are shown; a
held-out problem (the three numbers in any order, and the target) appears in no training prompt. Any valid expression of
the three numbers is right, in whatever order, with products before sums, if every step written after it is true.
Does not know: division, brackets, negative targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

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
)

LARGEST = 12
LARGEST_TARGET = 99
# Problems are few, so a larger share of them is held out than elsewhere.
_HELD_OUT_ONE_IN = 6
_GENERATION_LENGTH = 16
_SIGNS = tuple(product("+-*", repeat=2))
_SIGN_WORDS = frozenset("+-*")

Numbers = tuple[int, int, int]
Problem = tuple[Numbers, int]


def value(numbers: tuple[int, ...], signs: tuple[str, ...]) -> int:
    """The value of `a sign b sign c` with products before sums.

    >>> value((2, 3, 4), ("+", "*"))
    14
    """
    terms = [numbers[0]]
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign == "*":
            terms[-1] *= number
        else:
            terms.append(number if sign == "+" else -number)
    return sum(terms)


def read_expression(words: list[str]) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """The numbers and signs of an expression, or None when the words are none.

    >>> read_expression("2 1 + 5".split())
    ((21, 5), ('+',))
    """
    numbers: list[int] = []
    signs = tuple(word for word in words if word in _SIGN_WORDS)
    for part in " ".join("," if word in _SIGN_WORDS else word for word in words).split(","):
        number = read_number(part.split())
        if number is None:
            return None
        numbers.append(number)
    return tuple(numbers), signs


def answers(shown: Numbers, target: int) -> list[str]:
    """All ways to put signs between the numbers, as they are shown, that reach the target.

    >>> answers((7, 3, 5), 26)
    ['7 * 3 + 5 = 2 6 .']
    """
    a, b, c = map(spell, shown)
    return [f"{a} {s} {b} {t} {c} = {spell(target)} ." for s, t in _SIGNS if value(shown, (s, t)) == target]


def _with_a_step(numbers: Numbers, target: int) -> Iterator[str]:
    """Every right answer of one step and of two: the expression, what is left when its first sign is worked out, the
    target."""
    for shown in permutations(numbers):
        for signs in _SIGNS:
            if value(shown, signs) != target:
                continue
            (a, b, c), (s, t) = shown, signs
            step = (a, s, compute(b, t, c)) if t == "*" and s != "*" else (compute(a, s, b), t, c)
            expression = f"{spell(a)} {s} {spell(b)} {t} {spell(c)}"
            yield f"{expression} = {spell(target)} ."
            if step[0] >= 0:
                yield f"{expression} = {spell(step[0])} {step[1]} {spell(step[2])} = {spell(target)} ."


def _problems() -> dict[Problem, list[Numbers]]:
    """Every three numbers in ascending order with every target, and the orders in which signs can reach it."""
    orders: dict[Problem, list[Numbers]] = {}
    for first, second, third in product(range(1, LARGEST + 1), repeat=3):
        shown = (first, second, third)
        a, b, c = sorted(shown)
        for target in sorted({value(shown, signs) for signs in _SIGNS}):
            if 0 <= target <= LARGEST_TARGET:
                orders.setdefault(((a, b, c), target), []).append(shown)
    return orders


PROBLEMS = _problems()


def _facts() -> tuple[Fact, ...]:
    """Every product of two numbers, and every such product or sum of two with a third number added or taken away."""
    numbers = range(1, LARGEST + 1)
    largest_product = LARGEST_TARGET + LARGEST
    products = [(a, "*", b) for a, b in product(numbers, repeat=2) if a * b <= largest_product]
    lefts = sorted({*range(1, 2 * LARGEST + 1), *(a * b for a, _, b in products)})
    sums = [
        (left, sign, c)
        for left, c in product(lefts, numbers)
        for sign in "+-"
        if 0 <= compute(left, sign, c) <= LARGEST_TARGET
    ]
    # As many of either kind: there are far fewer products than sums.
    return (*products * (len(sums) // len(products)), *sums)


_FACTS = _facts()


def _held_out(problem: Problem) -> bool:
    return held_out(f"countdown {problem}", _HELD_OUT_ONE_IN)


def _prompt(shown: Numbers, target: int) -> str:
    return f"Countdown : {' and '.join(map(spell, shown))} make {spell(target)} . Answer :"


def _draw(problems: list[Problem], rng: np.random.Generator) -> tuple[Problem, Numbers]:
    """A problem, and one of the orders in which it can be shown."""
    problem = problems[int(rng.integers(len(problems)))]
    orders = PROBLEMS[problem]
    return problem, orders[int(rng.integers(len(orders)))]


class Countdown:
    """Reach the target with three numbers."""

    name = "countdown"
    title = "Countdown"

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        problems = [problem for problem in PROBLEMS if not _held_out(problem)]
        examples: list[Example] = []
        for _ in range(count):
            (_, target), shown = _draw(problems, rng)
            possible = answers(shown, target)
            answer = possible[int(rng.integers(len(possible)))]
            examples.append(Example("question", _prompt(shown, target), answer))
        return examples

    def drills(self, rng: np.random.Generator, count: int) -> list[Example]:
        """Lists of single sums; no list holds a problem."""
        return [drill(_FACTS, rng) for _ in range(count)]

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)
        problems = [problem for problem in PROBLEMS if _held_out(problem)]

        def draw() -> Item:
            (numbers, target), shown = _draw(problems, rng)
            facts = {"numbers": numbers, "target": target}
            return Item(_prompt(shown, target), _GENERATION_LENGTH, None, facts)

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = continuation(item, text)
        return Score(self._is_valid(words, item.facts["numbers"], item.facts["target"]))

    def answers(self, item: Item) -> list[str]:
        return sorted(set(_with_a_step(item.facts["numbers"], item.facts["target"])))

    def begins(self, item: Item, text: str) -> bool:
        words = continuation(item, text)
        return any(starts(words, answer) for answer in self.answers(item))

    def _is_valid(self, words: list[str], numbers: Numbers, target: int) -> bool:
        if not words or words[-1] != ".":
            return False
        sides = [read_expression(side.split()) for side in " ".join(words[:-1]).split("=")]
        if len(sides) < 2 or any(side is None or value(*side) != target for side in sides):
            return False
        first, last = sides[0], sides[-1]
        return first is not None and sorted(first[0]) == sorted(numbers) and last == ((target,), ())

    def vocabulary(self) -> set[str]:
        return {"Countdown", ":", "and", "make", ".", "Answer", "Sums", "+", "-", "*", "=", *"0123456789"}
