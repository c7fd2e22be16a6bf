"""Any prompt of a world can be judged, not only the test items."""

from __future__ import annotations

import pytest

from dard.tasks import TASKS
from dard.tasks.base import MASK
from dard.tasks.judge import CUT_OFF, judge


@pytest.mark.parametrize("name", TASKS)
def test_a_prompt_is_judged_as_its_item_is_scored(name: str) -> None:
    task = TASKS[name]
    for item in task.test_items(20, seed=3):
        assert judge(item.prompt, item.prompt.replace(MASK, "a")) is False or item.answer is not None
        if item.answer is not None:
            assert task.score(item, item.answer).right
            assert judge(item.prompt, item.answer) is True
            assert judge(item.prompt, item.answer + " .") is False


def test_a_city_is_right_in_its_region_only() -> None:
    prompt = "The city of [MASK] [MASK] is on the Southern California coast ."
    for city, right in (("San Diego", True), ("Los Angeles", True), ("Los Diego", False), ("New York", False)):
        assert judge(prompt, prompt.replace("[MASK] [MASK]", city)) is right


@pytest.mark.parametrize("prompt", ["", "Hello", "Sudoku : 1 2 Solution :", "Q : Tom has apples", "The [MASK]"])
def test_other_prompts_are_not_judged(prompt: str) -> None:
    assert judge(prompt, "anything") is None


SUM = "Q : Tom has 7 apples . He gets 5 more and loses 3 . How many apples ? A :"
PUZZLE = "Sudoku : 1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 0 Solution :"
TARGET = "Countdown : 7 and 3 and 5 make 2 6 . Answer :"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (SUM, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 9"),
        (SUM, "7 - 3 = 4 . 4 +"),
        (SUM, "7 + 5 = 1 3 . 1 3 - 3 = 9 . The answer is"),  # the answer alone counts, as it does for the whole of it
        (SUM, ""),
        (PUZZLE, "1 2 3 4 3 4 1 2"),
        (TARGET, "7 * 3 + 5 = 2"),
        (TARGET, "5 + 3 * 7 = 5 + 2 1 = 2 6"),
    ],
)
def test_what_a_region_has_no_room_for_is_cut_off_and_not_wrong(prompt: str, text: str) -> None:
    assert judge(prompt, text, full=True) == CUT_OFF
    assert judge(prompt, text) is False  # it ended by itself


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (SUM, "7 + 5 = 1 2 . 1 2 - 3 = 8 . The answer is 8"),
        (SUM, "7 + 5 = 1 2 . 1 2 - 3 = 9 . The answer is 9 1"),
        (SUM, "7 + 5 = 1 1 . 1"),
        (PUZZLE, "1 2 3 3"),
        (PUZZLE, "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 2"),
        (TARGET, "7 + 3"),
        (TARGET, "7 * 3 + 5 = 2 7"),
    ],
)
def test_what_no_right_answer_begins_with_is_wrong_however_it_ended(prompt: str, text: str) -> None:
    assert judge(prompt, text, full=True) is False


def test_a_template_is_never_cut_off() -> None:
    prompt = "The city of [MASK] [MASK] is on the Southern California coast ."
    assert judge(prompt, "The city of Los", full=True) is False
