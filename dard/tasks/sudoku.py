"""4×4 Sudoku, written as sixteen digits with 0 for a blank, solved as sixteen digits.

Promises: the unique kind has exactly one solution; the open kind has several, at most four givens, and any
valid grid that keeps the givens is right. A held-out puzzle is never generated for training. A grid that is still being
written is told of what cannot stay: a pair of equal digits counts once, with every row, column and box it shares.
Does not know: how to solve a larger grid; all 288 grids of this size are simply listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, permutations, takewhile

import numpy as np

from dard.tasks.base import END, Board, Example, Item, Mark, Score, continuation, distinct_items, held_out, starts

_SIDE = 4
_CELLS = _SIDE * _SIDE
_DIGITS = ("1", "2", "3", "4")
_UNITS: tuple[tuple[int, ...], ...] = (
    *(tuple(row * 4 + column for column in range(4)) for row in range(4)),
    *(tuple(row * 4 + column for row in range(4)) for column in range(4)),
    *(tuple((r + i) * 4 + c + j for i in range(2) for j in range(2)) for r in (0, 2) for c in (0, 2)),
)
_NAMES = [f"{kind} {number}" for kind in ("row", "column", "box") for number in range(1, 5)]


def is_valid(grid: tuple[int, ...]) -> bool:
    """Whether every row, column and box holds 1 to 4 once.

    >>> is_valid((1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1))
    True
    """
    return len(grid) == _CELLS and all({grid[cell] for cell in unit} == {1, 2, 3, 4} for unit in _UNITS)


def _all_grids() -> np.ndarray:
    rows = list(permutations((1, 2, 3, 4)))
    grids = [
        a + b + c + d
        for a in rows
        for b in rows
        if len({*a[:2], *b[:2]}) == 4
        for c in rows
        if all(c[i] not in (a[i], b[i]) for i in range(4))
        for d in rows
        if is_valid(a + b + c + d)
    ]
    return np.array(grids, dtype=np.int64)


GRIDS = _all_grids()  # [288, 16]


def solutions(puzzle: np.ndarray) -> np.ndarray:
    """All grids that keep the givens of this puzzle, [n, 16]."""
    return GRIDS[((puzzle == 0) | (puzzle == GRIDS)).all(axis=1)]


def _write(cells: np.ndarray) -> str:
    return " ".join(str(cell) for cell in cells.tolist())


def clashes(words: Sequence[str | None]) -> list[Mark]:
    """Every pair of equal digits that shares a row, column or box, once and with all it shares.

    >>> clashes(["1", "1", None, None, None, "1", *[None] * 10])
    [Mark(places=(0, 1), units=('row 1', 'box 1'), say="'1' twice in row 1 and box 1, columns 1 and 2"), \
Mark(places=(1, 5), units=('column 2', 'box 1'), say="'1' twice in column 2 and box 1, rows 1 and 2"), \
Mark(places=(0, 5), units=('box 1',), say="'1' twice in box 1: row 1, column 1 and row 2, column 2")]
    """
    shared: dict[tuple[int, int], list[str]] = {}
    for name, unit in zip(_NAMES, _UNITS, strict=True):
        for one, other in combinations(unit, 2):
            if words[one] == words[other] and words[one] in _DIGITS:
                shared.setdefault((one, other), []).append(name)
    return [
        Mark(pair, tuple(units), f"'{words[pair[0]]}' twice in {' and '.join(units)}{_cells(*pair)}")
        for pair, units in shared.items()
    ]


def _cell(number: int) -> str:
    return f"row {number // _SIDE + 1}, column {number % _SIDE + 1}"


def _cells(one: int, other: int) -> str:
    """Where two cells are, once the row or column they share is named."""
    if one // _SIDE == other // _SIDE:
        return f", columns {one % _SIDE + 1} and {other % _SIDE + 1}"
    if one % _SIDE == other % _SIDE:
        return f", rows {one // _SIDE + 1} and {other // _SIDE + 1}"
    return f": {_cell(one)} and {_cell(other)}"


def _misfits(puzzle: Sequence[int], words: Sequence[str | None]) -> Iterator[Mark]:
    """What is wrong wherever else it stands: no digit, not the given one, or words after the last cell."""
    for cell, (given, word) in enumerate(zip(puzzle, words[:_CELLS], strict=True)):
        place = f"'{word}' in {_cell(cell)}"
        if word is not None and word not in _DIGITS:
            yield Mark((cell,), (), f"{place} is no digit from 1 to {_SIDE}")
        elif word is not None and given and word != str(given):
            yield Mark((cell,), (), f"{place}, where {given} is given")
    after = list(takewhile(lambda word: word != END, words[_CELLS:]))
    if written := tuple(_CELLS + k for k, word in enumerate(after) if word is not None):
        yield Mark(written, (), f"{_counted(len(written), 'word')} after the last cell")


def _counted(count: int, thing: str, plural: str = "s") -> str:
    return f"{count or 'no'} {thing}{plural if count > 1 else ''}"


def _look(puzzle: Sequence[int], words: Sequence[str | None], ended: bool) -> tuple[list[Mark], str]:
    marks, misfits = clashes(words), list(_misfits(puzzle, words))
    wrong = f", {_counted(len(misfits), 'other fault')}" if misfits else ""
    counts = _counted(len(marks), "clash", "es") + wrong
    if not ended:
        return marks + misfits, f"{counts} so far, {list(words[:_CELLS]).count(None)} open"
    givens = np.count_nonzero(puzzle)
    kept = "" if marks or misfits or not givens else f", {'the given' if givens == 1 else f'all {givens} givens'} kept"
    return marks + misfits, counts + kept


class _Sudoku(ABC):
    """What both kinds share; a kind says how many givens it draws and which puzzles are its own."""

    name: str
    title: str
    _fewest_givens: int
    _most_givens: int

    @abstractmethod
    def _belongs(self, number_of_solutions: int) -> bool:
        """Whether a puzzle with so many solutions is of this kind."""

    def _draw(self, rng: np.random.Generator, fewest: int) -> tuple[str, np.ndarray, np.ndarray]:
        """A prompt, its puzzle, and one of its solutions, each solution equally likely."""
        while True:
            grid = GRIDS[int(rng.integers(len(GRIDS)))]
            number = int(rng.integers(fewest, self._most_givens + 1))
            puzzle = np.zeros(_CELLS, dtype=np.int64)
            given = rng.choice(_CELLS, size=number, replace=False)
            puzzle[given] = grid[given]
            if self._belongs(len(solutions(puzzle))):
                return f"Sudoku : {_write(puzzle)} Solution :", puzzle, grid

    def examples(self, rng: np.random.Generator, count: int) -> list[Example]:
        examples: list[Example] = []
        while len(examples) < count:
            prompt, puzzle, grid = self._draw(rng, self._fewest_givens)
            # There is one empty grid and few with one given: too few to hold any of them out.
            if np.count_nonzero(puzzle) < 2 or not held_out(prompt):
                examples.append(Example("question", prompt, _write(grid)))
        return examples

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)

        def draw() -> Item | None:
            prompt, puzzle, grid = self._draw(rng, max(2, self._fewest_givens))
            if not held_out(prompt):
                return None
            answer = _write(grid) if len(solutions(puzzle)) == 1 else None
            return Item(prompt, _CELLS, answer, {"puzzle": tuple(puzzle.tolist())})

        return distinct_items(draw, count)

    def score(self, item: Item, text: str) -> Score:
        words = continuation(item, text)
        puzzle: tuple[int, ...] = item.facts["puzzle"]
        if len(words) != _CELLS or any(word not in _DIGITS for word in words):
            return Score(False, {"blank cells": 0.0})
        grid = tuple(int(word) for word in words)
        right = is_valid(grid) and all(given in (0, cell) for given, cell in zip(puzzle, grid, strict=True))
        return Score(right, {"blank cells": self._share_of_blanks(puzzle, grid)})

    def answers(self, item: Item) -> list[str]:
        return [_write(grid) for grid in solutions(np.array(item.facts["puzzle"]))]

    def begins(self, item: Item, text: str) -> bool:
        words = continuation(item, text)
        return any(starts(words, answer) for answer in self.answers(item))

    def _share_of_blanks(self, puzzle: tuple[int, ...], grid: tuple[int, ...]) -> float:
        """The largest share of blank cells that agrees with a solution of the puzzle; none if it has no solution."""
        blank = np.array(puzzle) == 0
        possible = solutions(np.array(puzzle))[:, blank]
        if len(possible) == 0 or not blank.any():
            return float(len(possible) > 0)
        return float((possible == np.array(grid)[blank]).mean(axis=1).max())

    def board(self, item: Item) -> Board:
        puzzle: tuple[int, ...] = item.facts["puzzle"]
        return Board(_SIDE, 2, tuple(str(given) if given else None for given in puzzle), partial(_look, puzzle))

    def vocabulary(self) -> set[str]:
        return {"Sudoku", ":", "Solution", *"01234"}


class UniqueSudoku(_Sudoku):
    """Puzzles with one solution."""

    name = "sudoku-unique"
    title = "4×4 Sudoku, one solution"
    _fewest_givens = 4
    _most_givens = 10

    def _belongs(self, number_of_solutions: int) -> bool:
        return number_of_solutions == 1


class OpenSudoku(_Sudoku):
    """Puzzles with several solutions: every cell is plausible, together they may clash."""

    name = "sudoku-open"
    title = "4×4 Sudoku, several solutions"
    _fewest_givens = 0
    _most_givens = 4

    def _belongs(self, number_of_solutions: int) -> bool:
        return number_of_solutions > 1
