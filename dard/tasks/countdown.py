"""Three small numbers and a target: write an expression that uses each number once.

Promises: every target can be reached as a + b - c, a * b + c or a * b - c; a held-out problem (the
three numbers in any order, and the target) appears in no training prompt. Any valid expression of the three
numbers with + - * and the usual precedence is right, if every step that is written after it is true.
Does not know: division, brackets, negative targets.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product

import numpy as np

from dard.tasks.base import (
    Example,
    Fact,
    Item,
    Score,
    continuation,
    distinct_items,
    drill,
    held_out,
    read_number,
    spell,
)

LARGEST = 9
# Problems are few, so a larger share of them is held out than elsewhere.
_HELD_OUT_ONE_IN = 6
_GENERATION_LENGTH = 16
_SIGNS = (("+", "-"), ("*", "+"), ("*", "-"))
_SIGN_WORDS = frozenset("+-*")

Numbers = tuple[int, int, int]


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


def _write(numbers: tuple[int, ...], signs: tuple[str, str], target: int) -> str:
    a, b, c = numbers
    first = spell(value((a, b), signs[:1]))
    return f"{a} {signs[0]} {b} {signs[1]} {c} = {first} {signs[1]} {c} = {spell(target)} ."


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


def answers(shown: tuple[int, ...], target: int) -> list[str]:
    """All expressions of the three forms that reach the target.

    Numbers that may change places stay in the order in which they are shown: one form, one way to write it.

    >>> answers((7, 5, 3), 26)
    ['7 * 3 + 5 = 2 1 + 5 = 2 6 .']
    """
    found: dict[str, None] = {}
    for order, signs in product(permutations(range(3)), _SIGNS):
        numbers = tuple(shown[index] for index in order)
        if order[0] < order[1] and value(numbers, signs) == target:
            found[_write(numbers, signs, target)] = None
    return list(found)


def _problems() -> list[tuple[Numbers, int]]:
    """Every three numbers in ascending order with every target that a form can reach."""
    found: dict[tuple[Numbers, int], None] = {}
    for numbers in combinations_with_replacement(range(1, LARGEST + 1), 3):
        for order, signs in product(permutations(numbers), _SIGNS):
            if (target := value(order, signs)) >= 0:
                found[numbers, target] = None
    return list(found)


PROBLEMS = _problems()


def _facts() -> tuple[Fact, ...]:
    """Every single sum that an answer can hold."""
    numbers = range(1, LARGEST + 1)
    firsts = [(a, sign, b) for a, b in product(numbers, repeat=2) for sign in "+*"]
    results = sorted({value((a, b), (sign,)) for a, sign, b in firsts})
    seconds = [(left, sign, c) for left, c in product(results, numbers) for sign in "+-" if sign == "+" or left >= c]
    # As many of either kind: there are far fewer first steps than second ones.
    return (*firsts * (len(seconds) // len(firsts)), *seconds)


_FACTS = _facts()


def _held_out(problem: tuple[Numbers, int]) -> bool:
    return held_out(f"countdown {problem}", _HELD_OUT_ONE_IN)


def _show(problem: tuple[Numbers, int], rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.permutation(problem[0]).tolist())


def _prompt(shown: tuple[int, ...], target: int) -> str:
    return f"Countdown : {' '.join(map(str, shown))} make {spell(target)} . Answer :"


class Countdown:
    """Reach the target with three numbers."""

    name = "countdown"
    title = "Countdown"

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        problems = [problem for problem in PROBLEMS if not _held_out(problem)]
        found: list[Example] = []
        for _ in range(count):
            problem = problems[int(rng.integers(len(problems)))]
            shown, target = _show(problem, rng), problem[1]
            possible = answers(shown, target)
            answer = possible[int(rng.integers(len(possible)))]
            found.append(Example("question", _prompt(shown, target), answer))
        return found

    def drills(self, rng: np.random.Generator, count: int) -> list[Example]:
        """Lists of single sums; no list holds a problem."""
        return [drill(_FACTS, rng) for _ in range(count)]

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)
        problems = [problem for problem in PROBLEMS if _held_out(problem)]

        def draw() -> Item:
            problem = problems[int(rng.integers(len(problems)))]
            facts = {"numbers": problem[0], "target": problem[1]}
            return Item(_prompt(_show(problem, rng), problem[1]), _GENERATION_LENGTH, None, facts)

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = continuation(item, text)
        return Score(self._is_valid(words, item.facts["numbers"], item.facts["target"]))

    def _is_valid(self, words: list[str], numbers: Numbers, target: int) -> bool:
        if not words or words[-1] != ".":
            return False
        sides = [read_expression(side.split()) for side in " ".join(words[:-1]).split("=")]
        if len(sides) < 2 or any(side is None or value(*side) != target for side in sides):
            return False
        first, last = sides[0], sides[-1]
        return first is not None and sorted(first[0]) == sorted(numbers) and last == ((target,), ())

    def vocabulary(self) -> set[str]:
        return {"Countdown", ":", "make", ".", "Answer", "Sums", "+", "-", "*", "=", *"0123456789"}
