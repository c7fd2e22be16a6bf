"""Saber against the literal reference, and the size of its steps."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import dard
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model


def test_one_block_over_n_and_seeds() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        for n in (1, 2, 4, 30):
            seen += follow("saber", words(seed, 4), gen_length=14, seed=seed, n=n, sharpness=1.3)
    assert seen["UM"] > 5 and seen["too close"] < 0.05 * seen["steps"], seen


def test_mu_sets_the_least_number_taken_back() -> None:
    for mu in (1, 3, 8):
        follow("saber", words(3, 4), gen_length=12, seed=2, n=5, mu=mu)


def test_several_blocks_and_earlier_blocks_can_be_hit() -> None:
    seen: Counter[str] = Counter()
    earlier = 0
    for seed, length in ((0, 4), (1, 5), (2, 9), (3, 2)):
        seen += follow("saber", words(seed, 3), gen_length=13, block_length=length, seed=seed, n=3)
        trace = dard.decode(random_model(seed), words(seed, 3), "saber", gen_length=13, block_length=length, n=3)
        earlier += sum(i < step.block[0] for step in trace.steps for i in step.demoted)
    assert seen["UM"] > 0 and seen["all"] == 4 + 3 + 2 + 7, seen
    assert earlier, "no position of an earlier block was ever taken back"


def test_what_enters_with_a_new_block_is_not_taken_back_in_its_first_step() -> None:
    entered = 0
    for seed in range(6):
        trace = dard.decode(random_model(seed), words(seed, 3), "saber", gen_length=24, block_length=8, n=4)
        for before, step in zip(trace.steps, trace.steps[1:], strict=False):
            if step.block != before.block:
                fresh = range(*step.block)
                assert not set(fresh) & {*step.demoted, *step.happened("retracted")}
                assert all(step.column("change")[i] is None for i in fresh)
                entered += 1
    assert entered > 5


def test_a_token_taken_back_stays_in_the_mean_until_it_is_committed_again() -> None:
    checked = 0
    for seed in range(6):
        trace = dard.decode(random_model(seed), words(seed, 4), "saber", gen_length=16, n=4)
        at_commit: dict[int, float] = {}
        for step in trace.steps:
            if at_commit:
                assert step.facts["threshold"] == pytest.approx(sum(at_commit.values()) / len(at_commit), abs=1e-5)
                checked += 1
            for i in [*step.decided, *step.happened("retracted")]:
                at_commit[i] = step.confidence[i]
    assert checked > 10


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww", "_______wwwww__"])
def test_templates_with_given_tokens(shape: str) -> None:
    for block_length, seed in ((None, 1), (4, 2)):
        follow("saber", template(seed, shape), block_length=block_length, seed=seed, n=2)


def test_a_step_commits_at_least_n_and_takes_back_fewer_than_it_commits() -> None:
    for n in (1, 3, 6):
        trace = dard.decode(random_model(1), words(4, 4), "saber", gen_length=20, n=n)
        masks = 20
        for step in trace.steps:
            committed = int(step.facts["committed"])
            assert committed >= min(n, masks)
            expected = min(max(n // 2, math.ceil(committed / 8)), committed - 1) if committed < masks else 0
            assert step.facts.get("remasked", 0) == expected
            masks += expected - committed
        assert masks == 0
