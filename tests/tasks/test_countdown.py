"""Expressions that reach the target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dard.tasks import TASKS, Item
from dard.tasks.countdown import LARGEST, LARGEST_TARGET, PROBLEMS, answers, value
from dard.tasks.judge import judge

TASK = TASKS["countdown"]


def item(numbers: tuple[int, int, int], target: int) -> Item:
    return Item("Countdown", 16, None, {"numbers": numbers, "target": target})


@given(st.sampled_from(sorted(PROBLEMS)))
def test_every_listed_answer_is_right(problem: tuple[tuple[int, int, int], int]) -> None:
    numbers, target = problem
    for shown in PROBLEMS[problem]:
        assert tuple(sorted(shown)) == numbers
        listed = answers(shown, target)
        assert listed
        assert all(TASK.score(item(numbers, target), answer).right for answer in listed)


def test_generated_answers_are_right_for_the_problem_in_the_prompt() -> None:
    for example in TASK.examples(np.random.default_rng(0), 500):
        assert judge(example.prompt, example.answer) is True
        assert judge(example.prompt, example.answer.replace("=", "+ 1 =")) is False


def test_every_problem_can_be_asked_and_none_is_larger_than_said() -> None:
    for (numbers, target), orders in PROBLEMS.items():
        assert min(numbers) >= 1 and max(numbers) <= LARGEST and 0 <= target <= LARGEST_TARGET
        assert orders and len(set(orders)) == len(orders)


@pytest.mark.parametrize(
    "text",
    [
        "3 * 7 + 5 = 2 5 .",
        "3 * 7 + 7 = 2 6 .",
        "3 * 7 - 5 = 2 6 .",
        "3 * 7 + 5 = 2 6",
        "3 * 7 + 5 .",
        "3 * 7 = 2 1 .",
        "3 7 * + 5 = 2 6 .",
        "3 * 7 + 5 = 2 2 + 5 = 2 6 .",
        "3 * 7 + 5 = 2 1 + 5 .",
        "2 1 + 5 = 2 6 .",
        "3 * 7 + 5 = 2 6 = = 2 6 .",
        "3 * 7 + 0 5 = 2 6 .",
        "",
    ],
)
def test_a_wrong_expression_is_wrong(text: str) -> None:
    assert not TASK.score(item((3, 5, 7), 26), text).right


def test_another_form_than_the_listed_ones_is_accepted_when_its_value_is_right() -> None:
    assert TASK.score(item((3, 5, 7), 26), "5 + 3 * 7 = 2 6 .").right
    assert TASK.score(item((3, 5, 7), 26), "5 + 3 * 7 = 5 + 2 1 = 2 6 .").right


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.sampled_from("+-*"), min_size=2, max_size=2))
def test_value_agrees_with_python(numbers: list[int], signs: list[str]) -> None:
    text = f"{numbers[0]} {signs[0]} {numbers[1]} {signs[1]} {numbers[2]}"
    assert value(tuple(numbers), tuple(signs)) == eval(text)
