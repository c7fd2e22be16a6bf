"""LLaDA2.1's editing against the literal reference, its endings, and what it sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

import dard
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model, scripted


def test_thresholds_steps_and_blocks() -> None:
    seen: Counter[str] = Counter()
    for number, (threshold, edit_threshold) in enumerate([(0.7, 0.5), (0.3, 0.3), (0.9, 0.2), (0.0, 0.9), (0.4, 0.0)]):
        for seed, block_length in ((0, None), (1, 5), (2, 4), (3, 32)):
            seen += follow(
                "edit", words(seed, 4), gen_length=11, block_length=block_length, seed=seed + number, sharpness=1.3,
                threshold=threshold, edit_threshold=edit_threshold, steps=(32, 3, 5)[number % 3],
                max_post_steps=(16, 0, 4)[number % 3],
            )  # fmt: skip
    for ended in ("all", "cap", "last"):
        assert seen[ended] > 2, seen
    assert seen["replaced"] > 30 and seen["too close"] < 0.05 * seen["steps"], seen


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww", "wwwww___ww"])
def test_templates_with_given_tokens(shape: str) -> None:
    for block_length in (None, 5):
        prompt = template(1, shape)
        follow("edit", prompt, block_length=block_length, seed=1, threshold=0.4, edit_threshold=0.3, sharpness=1.3)
        trace = dard.decode(random_model(1), prompt, "edit", block_length=block_length, edit_threshold=0.0)
        assert all(trace.tokens[i] == prompt[i] for i, letter in enumerate(shape) if letter == "w")


def test_a_pass_ends_with_its_block() -> None:
    """Later blocks do not exist yet: their masks are not even there, and nothing of them is asked for."""
    session = dard.Session(random_model(1), words(1, 3), "edit", gen_length=11, block_length=4)
    while not session.finished:
        state = session.state
        question = session.decoder.ask(session.model, session.settings, state)
        assert question.ids.tolist() == [*state.prompt, *state.tokens[: state.block_range.stop]]
        assert question.rows.tolist() == [3 + i for i in state.block_range]
        session.step()
    assert not session.trace.about.later


def undecided(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
    """Each of two wants to be what the other is not."""
    return {"b" if visible.get(1 - position, "a") == "a" else "a": 0.9}


def test_the_trace_is_not_finished_while_edits_may_come() -> None:
    trace = dard.decode(scripted(["a", "b"], undecided), "[MASK] [MASK]", "edit", max_post_steps=3)
    assert [step.replaced for step in trace.steps] == [[], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert [step.goes_on for step in trace.steps] == [True, True, True, True, False]
    assert trace.ended_by == "cap" and trace.finished
    session = dard.Session(scripted(["a", "b"], undecided), "[MASK] [MASK]", "edit")
    session.step()
    assert not session.finished and not session.trace.finished and session.trace.ended_by is None
    assert not dard.Trace.from_bytes(session.trace.to_bytes()).finished
    assert "replaced by 'a': the model gives 'a' 0.90, above τ_e = 0.50, and 'b' 0.00" in session.step().why[0]


def test_the_last_pass_of_the_schedule_ends_without_a_check() -> None:
    trace = dard.decode(scripted(["a", "b"], undecided), "[MASK] [MASK]", "edit", steps=1)
    assert (trace.num_steps, trace.ended_by, trace.text) == (1, "last step", "b b")


def test_the_quota_is_of_a_whole_block_however_short_the_region() -> None:
    unsure = scripted(["a"], lambda position, visible: {"a": 0.3})
    assert len(dard.Session(unsure, "[MASK] " * 6, "edit", steps=8).step().decided) == 32 // 8
    assert len(dard.Session(unsure, "[MASK] " * 6, "edit", steps=8, block_length=None).step().decided) == 1
