"""4×4 Sudoku for real models: four solved examples, then a puzzle; what counts is the share of right blanks.

By WINO's protocol a puzzle counts by its blanks: right blanks over all blanks. Two faults of what was published with
it are not copied: its four examples are the first four puzzles of its test file, and of 500 puzzles there 124 have
several solutions, of which one passes for right. Here the examples are training puzzles of the small world, and
whatever keeps the givens and the rules is right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import Benchmark, answer_tag, wino
from dard.tasks.benchmarks.files import Record
from dard.tasks.sudoku import UniqueSudoku, solutions

SHOTS = 4
_CELLS = 16
_RULES = (
    "Solve the 4x4 Sudoku. It is written as 16 digits, row by row, with 0 for an empty cell. Every row, column and "
    "2x2 box must hold 1, 2, 3 and 4. Put the 16 digits of the solution within <answer></answer>."
)


@cache
def shots() -> str:
    """Solved examples from the small world's training puzzles, the same in every prompt."""
    examples = UniqueSudoku().examples(np.random.default_rng(0), SHOTS)
    return "\n\n".join(
        f"Puzzle: {digits(example.prompt)}\n<answer>{digits(example.answer)}</answer>" for example in examples
    )


def digits(text: str) -> str:
    return "".join(re.findall(r"\d", text))


class SudokuGrids(Benchmark):
    """Records with `puzzle` and `solution` of 16 digits; capital letters in the names are allowed."""

    name = "sudoku-grids"
    title = "4×4 Sudoku (real models)"
    measure = "cells"
    protocols = (wino(0.7),)

    def item(self, record: Record) -> Item:
        fields = {str(name).lower(): value for name, value in record.items()}
        puzzle, solution = digits(str(fields["puzzle"])), digits(str(fields["solution"]))
        if len(puzzle) != _CELLS or len(solution) != _CELLS:
            raise ValueError(f"puzzle and solution must have {_CELLS} digits")
        prompt = f"{_RULES}{self.form}\n\n{shots()}\n\nPuzzle: {puzzle}\n"
        return Item(prompt, self.protocol.gen_length, solution, {"puzzle": puzzle})

    def score(self, item: Item, text: str) -> Score:
        written = digits(answer_tag(text) or text)[:_CELLS].ljust(_CELLS, "0")
        puzzle: str = item.facts["puzzle"]
        blank = [i for i in range(_CELLS) if puzzle[i] == "0"]
        fitting = {str(item.answer), *("".join(map(str, each)) for each in solutions(np.array([*map(int, puzzle)])))}
        hits = max(sum(written[i] == solution[i] for i in blank) for solution in fitting)
        cells = {"cells": hits / len(blank) if blank else 1.0}
        return Score(written in fitting, cells, weight=len(blank) if self.protocol.published else 1)


def generated(count: int = 500) -> Sequence[Record]:
    """Puzzles with one solution, for those who have no file: the small world's held-out ones."""
    items = UniqueSudoku().test_items(count, seed=0)
    return [{"puzzle": digits(item.prompt), "solution": digits(str(item.answer))} for item in items]
