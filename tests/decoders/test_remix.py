"""ReMix against the literal reference, and what it rejects."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import dard
from dard.decoders.remix import Memory
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.decoders.follow import follow, template, words
from tests.tiny import MASK_ID, random_model


def test_thresholds_and_mixes_over_seeds_and_blocks() -> None:
    seen: Counter[str] = Counter()
    for number, (threshold, js, beta) in enumerate(
        [(0.9, 0.3, 0.5), (0.5, 0.1, 1.0), (0.8, 0.5, 0.3), (0.3, 0.2, 0.0)]
    ):
        for seed, block_length in ((0, None), (1, 7), (2, 4), (3, 1)):
            seen += follow(
                "remix", words(seed, 4), gen_length=15, block_length=block_length, seed=seed + number, sharpness=1.3,
                threshold=threshold, js_threshold=js, beta_mix=beta,
            )  # fmt: skip
    for event in ("rejected", "still_rejected", "forced", "mixed"):
        assert seen[event] > 10, seen
    assert seen["too close"] < 0.1 * seen["steps"], seen


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww"])
def test_templates_with_given_tokens(shape: str) -> None:
    for block_length in (None, 5):
        follow("remix", template(1, shape), block_length=block_length, seed=1, js_threshold=0.4, sharpness=1.3)


def test_mixing_begins_with_the_third_pass_and_in_later_blocks_with_the_second() -> None:
    session = dard.Session(random_model(1), words(1, 4), "remix", gen_length=12, block_length=6, threshold=1)
    mixed: dict[int, list[bool]] = {}
    while not session.finished:
        question = session.decoder.ask(session.model, session.settings, session.state)
        mixed.setdefault(session.state.block, []).append(question.soft is not None)
        session.step()
    assert mixed == {0: [False, False, True, True, True, True], 1: [False, True, True, True, True, True]}


def test_a_rejection_lasts_until_the_token_is_committed() -> None:
    lasting = 0
    for seed in range(6):
        trace = dard.decode(random_model(seed), words(seed, 4), "remix", gen_length=14, threshold=0.95)
        out: set[int] = set()
        for step in trace.steps:
            out -= set(step.decided)
            assert out == set(step.happened("still_rejected"))
            for i in out:
                assert step.column("js")[i] == pytest.approx(0.347, abs=1e-3) and step.column("words")[i] == 0
            out |= set(step.happened("rejected"))
            lasting += len(step.happened("still_rejected"))
    assert lasting > 20


def test_what_a_trace_holds_of_a_mix_is_what_the_next_pass_sees() -> None:
    session = dard.Session(random_model(2), words(2, 4), "remix", gen_length=14, threshold=0.95, beta_mix=0.8)
    compared = 0
    while not session.finished:
        step = session.step()
        if session.finished or step.soft is None:
            continue
        soft = session.decoder.ask(session.model, session.settings, session.state).soft
        assert soft is not None
        for row, place in enumerate(soft.positions.tolist()):
            i = place - 4
            words_here = soft.ids[row] != session.model.mask_id
            assert step.column("words")[i] == pytest.approx(float(soft.weights[row][words_here].sum()), abs=1e-5)
            shares = {int(v): float(w) for v, w in zip(soft.ids[row], soft.weights[row], strict=True) if w > 0}
            for word, share in step.soft.at(i):
                assert not share or share == pytest.approx(shares[word], abs=1e-4)
                compared += share > 0
    assert compared > 50


@pytest.mark.parametrize("block_length", [None, 4])
def test_what_is_masked_by_hand_is_plain_mask_and_the_rest_stays_mixed(block_length: int | None) -> None:
    session = dard.Session(random_model(2), words(2, 4), "remix", gen_length=9, block_length=block_length, threshold=1)
    session.run()
    mixed = plain = 0
    for number, here in ((k, session.at(k)) for k in range(1, len(session.steps))):
        for i in range(number % 2, 9, 2):
            masked = here.state.states[i] == "M"
            branch = here.edit(i, token=5, state="U") if masked else here.edit(i, state="M")
            before, same = branch.steps[-1], branch.state.block == here.state.block
            if branch.finished:
                continue
            soft = branch.decoder.ask(branch.model, branch.settings, branch.state).soft
            assert not (same and before.soft) or soft is not None
            for row, place in enumerate(soft.positions.tolist() if soft else ()):
                share = 0 if place - 4 == i else before.column("words")[place - 4]  # as the chips say
                assert float(soft.weights[row][soft.ids[row] != MASK_ID].sum()) == pytest.approx(share, abs=1e-5)
                mixed += bool(share)
            after = branch.step()
            if same and not masked and after.states[i] == "M":
                assert i in after.happened("still_rejected")
                plain += 1
    assert mixed > 10 and plain > 1


def test_memory_leaves_out_only_what_counts_as_epsilon_anyway() -> None:
    values, eps = torch.randn(4, 1000, generator=torch.Generator().manual_seed(0)), torch.finfo(torch.float32).eps
    for sharpness, kept in ((20, 500), (2, 4000)):
        p = torch.softmax(values * sharpness, dim=-1)
        p[2] = 0
        memory = Memory.of([3, 5, 6, 9], p, [6], True, 0.5, 0, 0)
        assert torch.equal(memory.rows([9, 3, 6], p[[3, 0, 2]]), p[[3, 0, 2]].clamp(min=eps))
        assert memory.p.numel() <= kept and float(memory.shares[2, -1]) == 1


def test_a_model_without_soft_inputs_is_refused_in_one_sentence() -> None:
    with pytest.raises(
        dard.InputError, match=r"^ReMix needs soft inputs, which model 'los-diego' does not offer; it offers"
    ):
        dard.Session(los_diego(), LOS_DIEGO, "remix")
