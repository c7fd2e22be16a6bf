"""Standard decoding against the literal reference, and its schedule."""

from __future__ import annotations

import pytest

import dard
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model


@pytest.mark.parametrize("steps", [None, 1, 3, 4, 10, 64])
def test_passes_for_a_region_of_one_block(steps: int | None) -> None:
    for seed in range(2):
        seen = follow("standard", words(seed, 4), gen_length=10, seed=seed, steps=steps)
        assert seen["steps"] + seen["too close"] == min(steps or 10, 10)


@pytest.mark.parametrize("block_length", [1, 4, 5, 9])
@pytest.mark.parametrize("steps", [1, 3, 7, 11])
def test_several_blocks_with_a_shorter_last_one(block_length: int, steps: int) -> None:
    follow("standard", words(2, 3), gen_length=11, block_length=block_length, seed=2, steps=steps)


def test_steps_count_the_whole_region_and_the_first_blocks_take_one_more() -> None:
    trace = dard.decode(random_model(0), words(0, 3), "standard", gen_length=16, block_length=4, steps=10)
    assert trace.num_steps == 10
    assert [sum(step.block[0] == start for step in trace.steps) for start in (0, 4, 8, 12)] == [3, 3, 2, 2]


def test_tokens_per_pass_in_place_of_steps() -> None:
    trace = dard.decode(random_model(0), words(0, 3), "standard", gen_length=10, block_length=5, per_pass=2)
    assert [len(step.decided) for step in trace.steps] == [2, 2, 1, 2, 2, 1]
    with pytest.raises(dard.InputError, match="cannot both be given"):
        dard.decode(random_model(0), words(0, 3), "standard", steps=3, per_pass=2)


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww", "_____wwwww__"])
def test_templates_with_given_tokens(shape: str) -> None:
    for block_length, seed in ((None, 1), (4, 2)):
        follow("standard", template(seed, shape), block_length=block_length, seed=seed, steps=2)


def test_the_first_passes_take_one_more() -> None:
    trace = dard.decode(random_model(0), words(0, 3), "standard", gen_length=10, steps=4)
    assert [len(step.decided) for step in trace.steps] == [3, 3, 2, 2]


def test_nothing_is_ever_revoked() -> None:
    trace = dard.decode(random_model(1), words(1, 3), "standard", gen_length=12, steps=5)
    assert not any(step.demoted or step.replaced for step in trace.steps)
