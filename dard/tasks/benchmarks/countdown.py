"""Countdown for real models: reach a target with all the given numbers, each once, and + - * /."""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import Benchmark, answer_tag, last_boxed, wino
from dard.tasks.benchmarks.files import Record, Source

_SIGNS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_INSTRUCTION = (
    "Use every number exactly once, and only +, -, * and /. Think step by step, and put only the expression within "
    "<answer></answer>."
)
_LONGEST = 200  # characters of an expression that is looked at


class CountdownNumbers(Benchmark):
    """Records with `nums` and `target`, or `input` ("19,36,55") and `output`."""

    name = "countdown-numbers"
    title = "Countdown (real models)"
    source = Source("Jiayi-Pan/Countdown-Tasks-3to4", "data/train-00000-of-00001.parquet")
    protocols = (wino(0.5),)

    def item(self, record: Record) -> Item:
        if "nums" in record:
            numbers, target = [int(number) for number in record["nums"]], int(record["target"])
        else:
            numbers, target = [int(number) for number in record["input"].split(",")], int(record["output"])
        question = f"Write an arithmetic expression of the numbers {', '.join(map(str, numbers))} that equals {target}."
        return self.ask(question, _INSTRUCTION, None, numbers=tuple(numbers), target=target)

    def score(self, item: Item, text: str) -> Score:
        tagged = answer_tag(text)
        written = last_boxed(tagged or text) or tagged or (text.strip().splitlines() or [""])[-1]
        return Score(reaches(written.split("=")[0], item.facts["numbers"], item.facts["target"]))


def reaches(expression: str, numbers: Sequence[int], target: int) -> bool:
    """Whether an expression uses the numbers once each and equals the target. It is parsed, never executed.

    >>> reaches("(8 - 2) * 3", [2, 3, 8], 18), reaches("9 + 9", [2, 3, 8], 18)
    (True, False)
    """
    cleaned = re.sub(r"×|\\times|\\cdot", "*", re.sub(r"÷|\\div", "/", expression)).strip()
    try:
        tree = ast.parse(cleaned[:_LONGEST], mode="eval").body
        used: list[int] = []
        value = compute(tree, used)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return False
    return value == target and Counter(used) == Counter(numbers)


def compute(node: ast.expr, used: list[int]) -> Fraction:
    """The exact value of a tree of numbers and the four signs; the numbers go to `used`."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used.append(node.value)
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](compute(node.left, used), compute(node.right, used))
    raise ValueError("not an arithmetic expression")
