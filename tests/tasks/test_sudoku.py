"""Both kinds of 4×4 Sudoku."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dard.tasks import TASKS, Item
from dard.tasks.judge import board
from dard.tasks.sudoku import GRIDS, clashes, is_valid, solutions


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


# What a grid that is being written is told.

WORDS = st.sampled_from([None, "1", "2", "3", "4"]) | st.sampled_from([None, "0", "5", "fish", "[EOS]"])
EMPTY = (0,) * 16


def sharing(one: int, other: int) -> list[str]:
    """The units two cells share, from their coordinates."""
    (a, b), (c, d) = divmod(one, 4), divmod(other, 4)
    box = a // 2 * 2 + b // 2 + 1
    same = {f"row {a + 1}": a == c, f"column {b + 1}": b == d, f"box {box}": box == c // 2 * 2 + d // 2 + 1}
    return [unit for unit, shared in same.items() if shared]


def look(words: list[str | None], puzzle: tuple[int, ...] = EMPTY, ended: bool = False) -> Any:
    return TASKS["sudoku-open"].board(item(puzzle)).look(words, ended)  # type: ignore[attr-defined]


@given(st.lists(WORDS, min_size=16, max_size=16))
def test_a_clashing_pair_is_told_once_with_all_it_shares(words: list[str | None]) -> None:
    literal = {
        (a, b): sharing(a, b)
        for a in range(16)
        for b in range(a + 1, 16)
        if words[a] in ("1", "2", "3", "4") and words[a] == words[b] and sharing(a, b)
    }
    found = clashes(words)
    assert len(found) == len(literal)
    assert {mark.places: list(mark.units) for mark in found} == literal
    for mark in found:
        (row, column), (other_row, other_column) = (divmod(place, 4) for place in mark.places)
        cells = f": row {row + 1}, column {column + 1} and row {other_row + 1}, column {other_column + 1}"
        if row == other_row:
            cells = f", columns {column + 1} and {other_column + 1}"
        elif column == other_column:
            cells = f", rows {row + 1} and {other_row + 1}"
        assert mark.say == f"'{words[mark.places[0]]}' twice in {' and '.join(mark.units)}{cells}"


@given(
    st.sampled_from(GRIDS.tolist()),
    st.lists(st.tuples(st.integers(0, 15), WORDS), max_size=2),
    st.lists(st.sampled_from(["[EOS]", "1", "fish"]), max_size=3),
    st.lists(st.integers(0, 4), min_size=16, max_size=16).map(tuple) | st.just(EMPTY),
)
def test_nothing_is_marked_exactly_where_the_answer_is_right(
    grid: list[int], changes: list[tuple[int, str | None]], after: list[str], puzzle: tuple[int, ...]
) -> None:
    words: list[str | None] = [*map(str, grid), *after]
    for cell, word in changes:
        words[cell] = word
    marks, _ = look(words, puzzle)
    right = TASKS["sudoku-open"].score(item(puzzle), " ".join(word or "[MASK]" for word in words)).right
    assert right == (not marks and None not in words)


def test_how_a_grid_stands_is_said() -> None:
    assert look([None] * 16)[1] == "no clash so far, 16 open"
    assert look(["1", "1", *[None] * 14])[1] == "1 clash so far, 14 open"
    assert look(["1", "1", "1", "fish", *[None] * 12])[1] == "3 clashes, 1 other fault so far, 12 open"
    solved: list[str | None] = [str(digit) for digit in GRIDS[0]]
    assert look(solved, ended=True)[1] == "no clash"
    one, two = (int(GRIDS[0][0]), *EMPTY[1:]), (*EMPTY[2:], *map(int, GRIDS[0][14:]))
    assert look(solved, one, ended=True)[1] == "no clash, the given kept"
    assert look(solved, two, ended=True)[1] == "no clash, all 2 givens kept"
    assert [mark.say for mark in look(solved, (int(GRIDS[0][1]), *EMPTY[1:]))[0]] == [
        f"'{solved[0]}' in row 1, column 1, where {solved[1]} is given"
    ]
    (fish,) = look([*solved[:6], "fish", *solved[7:]])[0]
    assert (fish.places, fish.units) == ((6,), ())
    assert fish.say == "'fish' in row 2, column 3 is no digit from 1 to 4"
    (after,) = look([*solved, None, "1", "fish", "[EOS]", "2"])[0]
    assert (after.places, after.say) == ((17, 18), "2 words after the last cell")


@pytest.mark.parametrize("name", ["sudoku-unique", "sudoku-open"])
def test_both_kinds_are_laid_out_from_their_prompt(name: str) -> None:
    for test in TASKS[name].test_items(5):
        laid = board(test.prompt)
        assert laid is not None and (laid.width, laid.box) == (4, 2)
        assert [given or "0" for given in laid.given] == test.prompt.split()[2:18]
