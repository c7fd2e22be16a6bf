"""Any prompt of a world can be judged, not only the test items."""

from __future__ import annotations

import pytest

from dard.tasks import TASKS
from dard.tasks.base import MASK
from dard.tasks.judge import judge


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
