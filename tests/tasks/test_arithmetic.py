"""Stories, their chains, and the drills behind them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dard.tasks import TASKS, Item
from dard.tasks.arithmetic import PROBLEMS, Arithmetic, Problem, story, sum_text

ALL = [problem for group in PROBLEMS for problem in group]


def test_the_chain_of_the_issue() -> None:
    assert Problem(7, "+", 5, "-", 3).chain == "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 9 ."


def test_no_number_leaves_the_range() -> None:
    assert all(0 <= problem.middle < 100 and 0 <= problem.result < 100 for problem in ALL)
    assert {problem.sign for problem in ALL} == {"+", "-", "*"}


def test_drills_cover_every_sum_a_story_can_ask() -> None:
    drilled: set[str] = set()
    for drill in Arithmetic().drills(np.random.default_rng(0), 20_000):
        drilled.update(f"{part.strip()} ." for part in drill.answer.split(".") if part.strip())
    for problem in ALL:
        assert sum_text(problem.first, problem.sign, problem.second) in drilled
        assert sum_text(problem.middle, problem.then, problem.third) in drilled


@given(st.sampled_from(ALL), st.integers(0, 1000))
def test_a_story_names_all_its_numbers(problem: Problem, seed: int) -> None:
    text = story(problem, np.random.default_rng(seed))
    for number in (problem.first, problem.second, problem.third):
        assert f" {' '.join(str(number))} " in text


def test_the_final_answer_counts_even_when_the_chain_is_wrong() -> None:
    task = TASKS["arithmetic"]
    item = Item("Q", 24, Problem(7, "+", 5, "-", 3).chain, {"result": 9})
    score = task.score(item, "7 + 5 = 1 1 . 1 1 - 3 = 9 . The answer is 9 .")
    assert score.right and score.details["exact chain"] == 0.0
    assert not task.score(item, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 8 .").right
    assert not task.score(item, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 0 9 .").right
    assert not task.score(item, "The answer is 9").right
