"""4×4 Sudoku for real models: four solved examples, then a puzzle; what counts is the share of right blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from dard.tasks.base import Item, Score
from dard.tasks.benchmarks.base import GEN_LENGTH, Benchmark, answer_tag
from dard.tasks.benchmarks.files import Record
from dard.tasks.sudoku import UniqueSudoku

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

    def item(self, record: Record) -> Item:
        fields = {str(name).lower(): value for name, value in record.items()}
        puzzle, solution = digits(str(fields["puzzle"])), digits(str(fields["solution"]))
        if len(puzzle) != _CELLS or len(solution) != _CELLS:
            raise ValueError(f"puzzle and solution must have {_CELLS} digits")
        return Item(f"{_RULES}\n\n{shots()}\n\nPuzzle: {puzzle}\n", GEN_LENGTH, solution, {"puzzle": puzzle})

    def score(self, item: Item, text: str) -> Score:
        written = digits(answer_tag(text) or text)[:_CELLS].ljust(_CELLS, "0")
        puzzle: str = item.facts["puzzle"]
        blank = [i for i in range(_CELLS) if puzzle[i] == "0"]
        hits = sum(written[i] == str(item.answer)[i] for i in blank)
        return Score(written == item.answer, {"cells": hits / len(blank) if blank else 1.0})


def generated(count: int = 500) -> Sequence[Record]:
    """Puzzles with one solution, for those who have no file: the small world's held-out ones."""
    items = UniqueSudoku().test_items(count, seed=0)
    return [{"puzzle": digits(item.prompt), "solution": digits(str(item.answer))} for item in items]
