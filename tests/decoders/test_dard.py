"""DARD against the literal reference, step by step, and the rules of §2.3 one at a time."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

import dard
from dard.decoders import DECODERS, make_settings
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model, scripted

ORDERINGS = ("confidence", "entropy", "margin", "l2r", "bidirectional")
MIXINGS = ("adaptive", 0.0, 0.5, 1.0)
COMBINATIONS = list(itertools.product(ORDERINGS, MIXINGS, ("held", "argmax"), ("reliable", "all")))


def gather(cases: list[dict[str, Any]]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for case in cases:
        seen += follow("dard", **case)
    return seen


def test_every_combination_of_ordering_mixing_verify_and_outside() -> None:
    """Two blocks each, so that outside queries exist on both sides of the block; ends of both kinds in turn."""
    seen = gather(
        [
            {
                "prompt": words(number, 3),
                "gen_length": 8,
                "block_length": 5,
                "seed": number % 5,
                "layers": 2 + number % 2,
                "tau_c": 0.4,
                "tau_u": 0.65,
                "commit_after": 8,
                "ordering": ordering,
                "mixing": mixing,
                "verify": verify,
                "outside": outside,
                "cycle": ("accept", "reopen")[number // 3 % 2],
            }
            for number, (ordering, mixing, verify, outside) in enumerate(COMBINATIONS)
        ]
    )
    assert seen["too close"] < 0.05 * seen["steps"]
    for event in ("MC", "MU", "CU", "CM", "UM", "UC", "replaced", "forced", "all", "cap", "period"):
        assert seen[event] > 0, f"{event} never happened: {seen}"


@pytest.mark.parametrize(("tau_c", "tau_u"), [(0.0, 1.0), (0.3, 0.5), (0.5, 0.5), (0.6, 0.9), (0.9, 0.95), (1.0, 1.0)])
def test_thresholds(tau_c: float, tau_u: float) -> None:
    seen = gather(
        [
            {
                "prompt": words(seed, 4),
                "gen_length": 10,
                "seed": seed,
                "tau_c": tau_c,
                "tau_u": tau_u,
                "commit_after": 12,
            }
            for seed in range(3)
        ]
    )
    assert seen["steps"] > 3


def test_one_long_block_on_sharp_and_on_deep_models() -> None:
    seen = gather(
        [
            {
                "prompt": words(seed + 50, 4),
                "gen_length": 16,
                "seed": seed,
                "layers": 1 + seed % 3,
                "sharpness": 1.5,
                "tau_c": 0.4,
                "tau_u": 0.8,
            }
            for seed in range(4)
        ]
    )
    assert seen["CU"] > 5 and seen["CM"] > 5 and seen["UM"] > 0


def test_block_lengths_with_a_shorter_last_block() -> None:
    seen = gather(
        [
            {"prompt": words(7, 3), "gen_length": 11, "block_length": length, "seed": 3, "tau_c": 0.4, "tau_u": 0.6}
            for length in (1, 2, 4, 10, 11)
        ]
    )
    assert seen["all"] + seen["fixed"] + seen["period"] + seen["cap"] == 11 + 6 + 3 + 2 + 1


@pytest.mark.parametrize("shape", ["ww__w_w____w", "____", "w_w_w_w_w_ww", "wwwww___ww", "_wwwwwwwww__"])
def test_templates_with_given_tokens(shape: str) -> None:
    """Given tokens are always U, never verified, never revoked; a block of given tokens alone takes no step."""
    for block_length, seed in ((None, 1), (3, 2), (4, 3)):
        prompt = template(seed, shape)
        follow("dard", prompt, block_length=block_length, seed=seed, tau_c=0.4, tau_u=0.6)
        trace = dard.decode(random_model(seed), prompt, block_length=block_length, tau_c=0.4, tau_u=0.6)
        for step in trace.steps:
            for i, letter in enumerate(shape):
                if letter == "w":
                    assert (step.tokens[i], step.states[i], step.confidence[i]) == (prompt[i], "U", 1.0)


def test_the_model_is_asked_for_no_other_rows_than_needed() -> None:
    """x at M positions, s at all non-fixed positions of the block; nothing else (§2.2)."""
    model = random_model(1)
    session = dard.Session(model, template(4, "w__w_____w"), block_length=5, tau_c=0.4, tau_u=0.6)
    while not session.finished:
        state = session.state
        question = session.decoder.ask(model, session.settings, state)
        masked = [i for i in state.block_range if state.states[i] == "M"]
        shadow = [] if state.memory.committing else [i for i in state.block_range if not state.fixed[i]]
        wanted = masked + [10 + i - state.block_range.start for i in shadow]
        assert sorted(question.rows.tolist()) == sorted(wanted)
        assert len(question.ids) == 10 + (0 if state.memory.committing else len(state.block_range))
        session.step()


def test_the_mask_token_is_never_a_candidate() -> None:
    for seed in range(3):
        trace = dard.decode(random_model(seed), words(seed, 3), gen_length=8, tau_c=0.3, tau_u=0.5)
        for step in trace.steps:
            for table in step.top.values():
                assert 0 not in [token for i in table.positions for token, p in table.at(i)[:3]]
        assert 0 not in trace.tokens


def test_the_cap_of_a_block_is_twice_its_length_and_masks_are_then_committed_one_by_one() -> None:
    capped = 0
    for seed in range(4):
        trace = dard.decode(random_model(seed), words(seed, 4), gen_length=12, tau_c=0.4, tau_u=0.7)
        working = [s for s in trace.steps if any(w is not None for w in s.weights) or not s.accepted]
        assert len(working) <= 24
        filling = trace.steps[len(working) :]
        assert all(len(s.decided) == 1 and not s.demoted and not s.promoted for s in filling)
        capped += trace.ended_by == "cap"
    assert capped


def doubtful(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
    """Position 0 is "a"; position 1 is "b" only as long as it does not see "a"."""
    if position == 0:
        return {"a": 0.7}
    return {"c": 0.9} if visible.get(0) == "a" else {"b": 0.6}


def test_a_fixed_point_accepts_the_candidates_as_they_stand() -> None:
    model = scripted(["a", "b", "c"], lambda position, visible: {"a": 0.7})
    trace = dard.decode(model, "[MASK] [MASK]", tau_c=0.4, tau_u=0.8)
    assert [step.states for step in trace.steps] == ["CC", "UU"]
    assert (trace.ended_by, trace.steps[-1].accepted, trace.steps[-1].promoted) == ("fixed point", [0, 1], [])


def test_a_repetition_after_two_steps_is_called_a_period_of_two() -> None:
    """With the s path alone position 1 never sees "a" while it is masked, and is demoted as often as it is decided."""
    trace = dard.decode(scripted(["a", "b", "c"], doubtful), "[MASK] [MASK]", tau_c=0.4, tau_u=0.8, mixing=0)
    assert [step.states for step in trace.steps] == ["CC", "CM", "UU"]
    assert (trace.ended_by, trace.text) == ("period 2", "a b")


def test_reopening_masks_what_moved_and_commits_what_is_then_sure_at_once() -> None:
    """The period of the test above: position 1 moved, position 0 was a candidate throughout."""
    model = scripted(["a", "b", "c"], doubtful)
    trace = dard.decode(model, "[MASK] [MASK]", tau_c=0.4, tau_u=0.8, mixing=0, cycle="reopen")
    assert [step.states for step in trace.steps] == ["CC", "CM", "MM", "UM", "UU"]
    assert [step.ended_by for step in trace.steps] == [None, None, None, None, "period 2"]
    assert (trace.steps[2].demoted, trace.steps[2].accepted) == ([0], []) and trace.text == "a c"
    sure = scripted(["a", "b"], lambda position, visible: {"a": 0.7 if len(visible) % 2 else 0.9})
    at_once = dard.decode(sure, "b [MASK] [MASK] [MASK]", tau_c=0.75, tau_u=0.8, cycle="reopen", commit_after=1)
    assert [len(step.decided) for step in at_once.steps] == [0, 1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_reopening_leaves_alone_what_stood_still(seed: int) -> None:
    """Up to the cycle both rules do the same; what was unmasked throughout it stays, the rest is filled for good."""
    settings = {"gen_length": 12, "tau_c": 0.4, "tau_u": 0.7}
    model = random_model(seed, sharpness=1.2)
    accepted, reopened = (dard.decode(model, words(seed, 4), cycle=cycle, **settings) for cycle in ("accept", "reopen"))
    working = [step for step in reopened.steps if step.mask is not None]
    assert [step.states for step in working[:-1]] == [step.states for step in accepted.steps[: len(working) - 1]]
    assert reopened.ended_by == accepted.ended_by
    last, filling = working[-1], reopened.steps[len(working) :]
    if reopened.ended_by != "all unmasked":
        assert "C" not in last.states and filling
        kept = [i for i, letter in enumerate(last.states) if letter == "U"]
        assert all(reopened.tokens[i] == accepted.tokens[i] == last.tokens[i] for i in kept)
        assert all(step.decided and not step.demoted for step in filling)


def test_the_cap_can_be_set_and_what_is_masked_then_is_committed_one_by_one() -> None:
    model = scripted(["a", "b", "c"], doubtful)
    trace = dard.decode(model, "[MASK] [MASK]", tau_c=0.4, tau_u=0.8, mixing=0, commit_after=2)
    assert [step.states for step in trace.steps] == ["CC", "UM", "UU"]
    assert [step.ended_by for step in trace.steps] == [None, None, "cap"]
    assert trace.text == "a c"  # the filling pass sees everything


def test_with_no_masked_position_above_tau_c_the_most_confident_one_enters() -> None:
    model = scripted(["a", "b"], lambda position, visible: {"a": 0.2 + 0.01 * (position == 2)})
    step = dard.Session(model, "[MASK] [MASK] [MASK] [MASK]", tau_c=0.5, tau_u=0.8).step()
    assert (step.states, step.forced) == ("MMCM", [2])


def test_candidates_of_equal_confidence_see_each_other() -> None:
    model = scripted(["a"], lambda position, visible: {"a": 0.6})
    session = dard.Session(model, "[MASK] [MASK]", tau_c=0.5, tau_u=0.8)
    session.step()
    step = session.step()
    assert step.visible(0) == [1] and step.visible(1) == [0]


def test_a_confidence_equal_to_a_threshold_does_not_pass_it() -> None:
    """M if c ≤ τ_c, C if τ_c < c ≤ τ_u, U if c > τ_u (Eq. 8)."""
    decoder = DECODERS["dard"]
    values = make_settings("dard", {"tau_c": 0.5, "tau_u": 0.75})
    letters = [decoder.state_of(values, c) for c in (0.0, 0.5, 0.500001, 0.75, 0.750001, 1.0)]
    assert "".join(letters) == "MMCCUU"
