"""Stories, their chains, and the drills behind them."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dard.tasks import TASKS, Item
from dard.tasks.arithmetic import PROBLEMS, Arithmetic, Problem, facts_of, story

ALL = [problem for group in PROBLEMS for problem in group]


def test_the_chain_of_the_issue() -> None:
    assert Problem(7, "+", 5, "-", 3).chains[0] == "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 9 ."


def test_all_ways_to_work_a_story_out() -> None:
    assert Problem(7, "+", 5, "-", 3).chains == (
        "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 9 .",
        "5 + 7 = 1 2 . 1 2 - 3 = 9 . The answer is 9 .",
        "7 - 3 = 4 . 4 + 5 = 9 . The answer is 9 .",
        "7 - 3 = 4 . 5 + 4 = 9 . The answer is 9 .",
    )
    # What is not there cannot be taken away first.
    assert Problem(1, "+", 5, "-", 3).chains == (
        "1 + 5 = 6 . 6 - 3 = 3 . The answer is 3 .",
        "5 + 1 = 6 . 6 - 3 = 3 . The answer is 3 .",
    )


@given(st.sampled_from(ALL))
def test_every_chain_is_true_and_uses_the_storys_numbers(problem: Problem) -> None:
    for chain in problem.chains:
        one, other, final = (sentence.strip().split() for sentence in chain.split(".")[:3])
        sides = [("".join(words).split("=")) for words in (one, other)]
        assert all(eval(left) == int(right) for left, right in sides)
        assert int("".join(final[3:])) == int(sides[1][1]) == problem.result
        numbers = sorted(int(n) for left, _ in sides for n in re.split(r"[-+*]", left))
        assert numbers == sorted([problem.first, problem.second, problem.third, int(sides[0][1])])


def test_no_number_leaves_the_range() -> None:
    assert all(0 <= problem.middle < 100 and 0 <= problem.result < 100 for problem in ALL)
    assert {problem.sign for problem in ALL} == {"+", "-", "*"}


def test_drills_cover_every_sum_a_story_can_ask() -> None:
    drilled: set[str] = set()
    for drill in Arithmetic().drills(np.random.default_rng(0), 20_000):
        drilled.update(f"{part.strip()} ." for part in drill.answer.split(".") if part.strip())
    asked = {f"{part.strip()} ." for problem in ALL for chain in problem.chains for part in chain.split(".")[:2]}
    assert asked <= drilled


@given(st.sampled_from(ALL), st.integers(0, 1000))
def test_a_story_names_all_its_numbers(problem: Problem, seed: int) -> None:
    text = story(problem, np.random.default_rng(seed))
    for number in (problem.first, problem.second, problem.third):
        assert f" {' '.join(str(number))} " in text


def test_the_final_answer_counts_even_when_the_chain_is_wrong() -> None:
    task = TASKS["arithmetic"]
    item = Item("Q", 24, None, facts_of(Problem(7, "+", 5, "-", 3)))
    score = task.score(item, "7 + 5 = 1 1 . 1 1 - 3 = 9 . The answer is 9 .")
    assert score.right and score.details["exact chain"] == 0.0
    assert not task.score(item, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 8 .").right
    assert not task.score(item, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 0 9 .").right
    assert not task.score(item, "The answer is 9").right
    assert task.score(item, "7 - 3 = 4 . 5 + 4 = 9 . The answer is 9 .").details["exact chain"] == 1.0
    # Each sum is true, but they are not the story's.
    assert task.score(item, "7 - 3 = 4 . 6 + 3 = 9 . The answer is 9 .").details["exact chain"] == 0.0
