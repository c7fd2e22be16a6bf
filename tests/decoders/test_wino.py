"""WINO against the literal reference, and its bounds on accepting and remasking."""

from __future__ import annotations

from collections import Counter

import pytest

import dard
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model


def test_one_block_over_thresholds_and_seeds() -> None:
    seen: Counter[str] = Counter()
    for seed in (0, 1, 3, 4):
        for tau1, tau2 in ((0.3, 0.5), (0.4, 0.9), (0.6, 0.9), (0.0, 1.0)):
            seen += follow(
                "wino", words(seed, 4), gen_length=14, seed=seed, threshold=tau1, threshold_back=tau2, sharpness=1.3
            )
    assert seen["UM"] > 20 and seen["forced"] > 0 and seen["too close"] < 0.05 * seen["steps"], seen


def test_several_blocks_with_a_shorter_last_one() -> None:
    seen: Counter[str] = Counter()
    for seed, length in ((0, 4), (1, 5), (2, 9), (3, 1)):
        seen += follow(
            "wino", words(seed, 3), gen_length=13, block_length=length, seed=seed, threshold=0.4, threshold_back=0.7
        )
    assert seen["UM"] > 0 and seen["all"] == 4 + 3 + 2 + 13, seen


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww", "_______wwwww__"])
def test_templates_with_given_tokens(shape: str) -> None:
    for block_length, seed in ((None, 1), (4, 2)):
        prompt = template(seed, shape)
        follow("wino", prompt, block_length=block_length, seed=seed, threshold=0.3, threshold_back=0.8)


def test_at_most_twenty_and_at_least_five_may_be_accepted() -> None:
    """max_accept = clamp(int(0.7 · masked), 5, 20), seen with τ1 = 0 that every position passes."""
    for masks, first in ((40, 20), (20, 14), (6, 5), (3, 3)):
        trace = dard.decode(random_model(0), words(1, 2), "wino", gen_length=masks, threshold=0, threshold_back=0)
        assert len(trace.steps[0].decided) == first


def test_a_step_that_accepts_one_token_remasks_none_and_never_as_many_as_the_step_before_accepted() -> None:
    bounded = 0
    for seed in range(6):
        trace = dard.decode(
            random_model(seed, sharpness=1.3), words(seed, 4), "wino", gen_length=24, threshold=0.2, threshold_back=1.0
        )
        last = 30
        for step in trace.steps:
            assert len(step.demoted) < last or not step.demoted
            if len(step.decided) <= 1:
                assert not step.demoted
            bounded += len(step.demoted) == last - 1 > 0
            last = len(step.decided)
    assert bounded, "the bound was never met, so this test shows nothing"
