"""The one loop: sessions in company make the steps they make alone, and share forward passes where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import dard
from dard import driver
from dard.models.base import Answer, Question
from dard.tasks import TASKS
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model
from visual.service import gallery


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


class Counting:
    """A model that counts its forward passes and what they hold."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.passes: list[list[int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        self.passes.append([len(question.ids) for question in questions])
        return self.inner.answer(questions)


def same(together: Sequence[dard.Session], alone: Sequence[dard.Session]) -> None:
    for one, other in zip(together, alone, strict=True):
        assert [(s.tokens, s.states) for s in one.steps] == [(s.tokens, s.states) for s in other.steps]


def test_the_gallery_is_decoded_alike_together_and_one_by_one(model: Any) -> None:
    def sessions() -> list[dard.Session]:
        return [dard.Session(model, case["prompt"], case["decoder"], **case["settings"]) for case in gallery()]

    together, alone = sessions(), sessions()
    driver.finish(together)
    for session in alone:
        session.run()
    same(together, alone)


def decoded_alike(model: Any, count: int, seed: int = 0) -> int:
    """All decoders on items of all test sets, eight sessions at a time; how many runs were compared."""
    compared = 0
    for task in TASKS.values():
        for name in ALL_DECODERS:
            items = task.test_items(count, seed)
            for first in range(0, count, 8):

                def sessions(part: Sequence[Any] = items[first : first + 8], name: str = name) -> list[dard.Session]:
                    lengths = [{} if item.gen_length is None else {"gen_length": item.gen_length} for item in part]
                    pairs = zip(part, lengths, strict=True)
                    return [dard.Session(model, item.prompt, name, record=False, **own) for item, own in pairs]

                together, alone = sessions(), sessions()
                driver.finish(together)
                for session in alone:
                    session.run()
                same(together, alone)
                compared += len(alone)
    return compared


def test_the_test_sets_are_decoded_alike_together_and_one_by_one(model: Any) -> None:
    assert decoded_alike(model, 3) == 3 * len(ALL_DECODERS) * len(TASKS)


@pytest.mark.long
def test_whole_test_sets_are_decoded_alike_together_and_one_by_one(model: Any) -> None:
    assert decoded_alike(model, 200) == 200 * len(ALL_DECODERS) * len(TASKS)


def test_a_comparison_makes_one_forward_pass_per_step(model: Any) -> None:
    counting = Counting(model)
    item = TASKS["arithmetic"].test_items(1)[0]
    traces = dard.compare(counting, item.prompt, gen_length=item.gen_length)
    assert len(counting.passes) == max(trace.num_steps for trace in traces.values())
    assert len(counting.passes[0]) == 4


def test_questions_that_would_be_mostly_padding_go_apart() -> None:
    counting = Counting(random_model(0))
    long = dard.Session(counting, [5] * 60, "standard", gen_length=4, steps=1)
    short = [dard.Session(counting, [5], "standard", gen_length=2, steps=1) for _ in range(3)]
    driver.finish([*short, long])
    assert counting.passes == [[64], [3, 3, 3]]


def test_a_pass_that_fails_leaves_nothing_behind() -> None:
    class Failing(Counting):
        def answer(self, questions: Sequence[Question]) -> list[Answer]:
            if len(self.passes) == 1:
                raise RuntimeError("CUDA out of memory")
            return super().answer(questions)

    failing = Failing(random_model(0))
    sessions = [dard.Session(failing, [5, 6], "standard", gen_length=6), dard.Session(failing, [5] * 40, gen_length=6)]
    with pytest.raises(dard.InputError, match="does not fit into the memory"):
        driver.finish(sessions)
    assert [len(session.steps) for session in sessions] == [0, 0]


def test_so_many_passes_and_no_more(model: Any) -> None:
    session = dard.Session(model, "The city of [MASK] [MASK] is on the Southern California coast .", "standard")
    assert [len(made) for made in driver.passes([session], 1)] == [1] and not session.finished
    assert [len(made) for made in driver.passes([session], 0)] == []
    assert [len(made) for made in driver.passes([session])] == [1] and session.finished
