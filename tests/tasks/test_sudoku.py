"""Both kinds of 4×4 Sudoku."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dard.tasks import TASKS, Item
from dard.tasks.sudoku import GRIDS, is_valid, solutions


def item(puzzle: tuple[int, ...]) -> Item:
    return Item("Sudoku", 16, None, {"puzzle": puzzle})


def written(grid: np.ndarray) -> str:
    return " ".join(map(str, grid.tolist()))


def test_there_are_288_grids_and_all_are_valid() -> None:
    assert len({tuple(grid) for grid in GRIDS.tolist()}) == 288
    assert all(is_valid(tuple(grid)) for grid in GRIDS.tolist())


@pytest.mark.parametrize(("name", "one"), [("sudoku-unique", True), ("sudoku-open", False)])
def test_each_kind_has_the_promised_number_of_solutions(name: str, one: bool) -> None:
    for test in TASKS[name].test_items(100):
        puzzle = np.array(test.facts["puzzle"])
        assert (len(solutions(puzzle)) == 1) == one
        if not one:
            assert 2 <= np.count_nonzero(puzzle) <= 4


def test_training_sees_open_puzzles_from_empty_to_four_givens() -> None:
    examples = TASKS["sudoku-open"].examples(np.random.default_rng(0), 500)
    givens = {16 - example.prompt.split().count("0") for example in examples}
    assert givens == {0, 1, 2, 3, 4}
    for example in examples:
        assert is_valid(tuple(map(int, example.answer.split())))


def test_any_valid_grid_that_keeps_the_givens_is_right() -> None:
    task = TASKS["sudoku-open"]
    for test in task.test_items(20):
        for grid in solutions(np.array(test.facts["puzzle"])):
            score = task.score(test, written(grid))
            assert score.right and score.details["blank cells"] == 1.0


@given(st.integers(0, 287), st.integers(0, 15), st.integers(1, 4))
def test_one_changed_cell_is_wrong(number: int, cell: int, digit: int) -> None:
    grid = GRIDS[number].copy()
    empty = item((0,) * 16)
    changed = bool(grid[cell] != digit)
    grid[cell] = digit
    score = TASKS["sudoku-open"].score(empty, written(grid))
    assert score.right != changed
    assert score.details["blank cells"] == (15 / 16 if changed else 1.0)


def test_a_given_must_be_kept_and_sixteen_digits_are_needed() -> None:
    task = TASKS["sudoku-open"]
    puzzle = (int(GRIDS[0][0]),) + (0,) * 15
    other = next(grid for grid in GRIDS if grid[0] != GRIDS[0][0])
    assert not task.score(item(puzzle), written(other)).right
    assert not task.score(item((0,) * 16), written(GRIDS[0][:15])).right
    assert not task.score(item((0,) * 16), "a " * 16).right


def test_a_puzzle_without_a_solution_or_without_blanks_gets_a_score() -> None:
    task = TASKS["sudoku-open"]
    impossible = task.score(item((1, 1) + (0,) * 14), written(GRIDS[0]))
    assert not impossible.right and impossible.details["blank cells"] == 0.0
    full = task.score(item(tuple(GRIDS[0].tolist())), written(GRIDS[0]))
    assert full.right and full.details["blank cells"] == 1.0
