"""End tokens: as the model predicts them, never, or last; one setting for every decoder.

The references are LLaDA's two controls, written out for one token per pass.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import dard
from dard.decoding.session import Session
from tests.helpers import ALL_DECODERS
from tests.models.test_prefix_cache import OWN
from tests.tiny import EOS_ID, MASK_ID, VOCABULARY, random_model, random_network

TURN_END = 5
PROMPT = [7, 8, 9]
ENDS = {EOS_ID, TURN_END}


@cache
def model(seed: int) -> Any:
    """A random model with two end tokens, both of which it predicts often."""
    network = copy.deepcopy(random_network(seed, 2))
    with torch.no_grad():
        network.lm_head.weight[[EOS_ID, TURN_END]] *= 2.5
    found = copy.copy(random_model(seed, 2))
    found.network, found.body, found.head = network, network.base_model, network.get_output_embeddings()
    found.eos_id, found.end_ids = EOS_ID, (TURN_END,)
    return found


def session(decoder: str, seed: int = 0, **settings: Any) -> Session:
    return Session(model(seed), PROMPT, decoder, gen_length=12, block_length=6, **OWN.get(decoder, {}) | settings)


def literal(seed: int, never: bool, last: bool) -> list[int]:
    """LLaDA, one token per pass in blocks of 6: with `never` the logit of the end of text is −∞ (logits_eos_inf); with
    `last` the confidence of a prediction that ends is (confidence_eos_eot_inf), and the surest of them goes first where
    there are no others."""
    ids = PROMPT + [MASK_ID] * 12
    for start in (3, 9):
        for _ in range(6):
            logits = network_logits(seed, ids)
            if never:
                logits[:, EOS_ID] = -torch.inf
            probability = logits.double().softmax(-1)
            logits[:, MASK_ID] = -torch.inf
            best = logits.argmax(-1).tolist()
            masked = [i for i in range(start, start + 6) if ids[i] == MASK_ID]
            order = [(last and best[i] in ENDS, -float(probability[i, best[i]]), i) for i in masked]
            chosen = min(order)[2]
            ids[chosen] = best[chosen]
    return ids[3:]


@torch.no_grad()
def network_logits(seed: int, ids: list[int]) -> torch.Tensor:
    everything = torch.ones(1, 1, len(ids), len(ids), dtype=torch.bool)
    return model(seed).network(input_ids=torch.tensor([ids]), attention_mask=everything).logits[0].float()


@pytest.mark.parametrize("eos", ["free", "never", "last"])
def test_standard_decoding_does_as_llada_s_switches_do(eos: str) -> None:
    found = set()
    for seed in range(6):
        trace = session("standard", seed, eos=eos, steps=12).run()
        assert trace.tokens == literal(seed, never=eos == "never", last=eos == "last")
        found.update(trace.tokens)
    assert (EOS_ID in found) == (eos != "never") and TURN_END in found


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_never_is_a_model_that_cannot_say_it(decoder: str) -> None:
    for seed in range(3):
        mute = copy.copy(model(seed))
        head = mute.head

        def without(hidden: torch.Tensor, head: Any = head) -> torch.Tensor:
            return head(hidden).index_fill(1, torch.tensor([EOS_ID]), -torch.inf)

        mute.head = without
        settings = OWN.get(decoder, {})
        silent = Session(mute, PROMPT, decoder, gen_length=12, block_length=6, **settings).run()
        trace = session(decoder, seed, eos="never").run()
        assert trace.tokens == silent.tokens and EOS_ID not in trace.tokens


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_last_lets_an_end_in_only_where_nothing_else_waits(decoder: str) -> None:
    """In every step: if a masked position was given an end, none that predicted something else stayed masked, unless
    the decoder took it back in the same step."""
    waited = 0
    for seed in range(4):
        run = session(decoder, seed, eos="last")
        for step in run.walk():
            chosen = predictions(run, step)
            masked = [i for i in chosen if step.states_before[i] == "M"]
            others = [i for i in masked if chosen[i] not in ENDS]
            entered = [i for i in masked if step.states[i] != "M"]
            if others and any(chosen[i] in ENDS for i in entered):
                assert all(i in entered or i in step.happened("retracted") for i in others), (seed, step.index)
            for i in step.happened("waiting"):
                assert step.states[i] == "M" and chosen[i] in ENDS and others
                assert "end tokens come last" in run.trace.why(step, i)
                waited += 1
        assert run.finished
    assert waited


def predictions(run: Session, step: Any) -> dict[int, int]:
    """The most probable token by position, of the path that decides on masked ones."""
    name = "mix" if "mix" in step.paths else next(p.name for p in run.decoder.about.paths if p.name in step.paths)
    return {i: step.paths[name].at(i)[0][0] for i in step.paths[name].positions}


@pytest.mark.parametrize("decoder", ["dard", "standard"])
def test_never_holds_for_causes_too(decoder: str) -> None:
    """The verdict that is explained is the one that was made: of a model that cannot say it."""
    run = session(decoder, eos="never")
    step = run.step()
    for position in step.decided:
        *_, verdict = dard.examine(run, 1, position, shown=False)
        assert verdict.token == step.tokens[position] != EOS_ID
        assert verdict.actual == pytest.approx(step.confidence[position], abs=1e-5)


@pytest.mark.parametrize("decoder", ["dard", "wino"])
def test_last_never_enters_a_verification(decoder: str) -> None:
    """An end that a position holds is judged by its probability, and stays if that is high enough."""
    state = "C" if decoder == "dard" else "U"
    for seed in range(4):
        numbers = []
        for eos in ("free", "last"):
            held = session(decoder, seed, eos=eos).edit(1, token=EOS_ID, state=state).edit(2, token=20, state=state)
            step = held.step()
            numbers.append([step.confidence[1], step.confidence[2]])
            if eos == "last":
                assert 1 not in step.happened("waiting")
        np.testing.assert_array_equal(*numbers)
    sure = Session(model(0), PROMPT, "dard", gen_length=6, eos="last", tau_c=0.0, tau_u=0.0)
    step = sure.edit(1, token=EOS_ID, state="C").step()
    assert step.states[1] == "U" and step.tokens[1] == EOS_ID


def test_without_an_end_token_nothing_changes() -> None:
    plain = copy.copy(random_model(1))
    assert plain.eos_id is None and not plain.end_ids
    runs = [Session(plain, PROMPT, "dard", gen_length=8, eos=eos).run().tokens for eos in ("free", "never", "last")]
    assert runs[0] == runs[1] == runs[2] and max(runs[0]) < VOCABULARY


def test_another_word_is_refused() -> None:
    with pytest.raises(dard.InputError, match=r"eos = 'first' is not allowed; eos must be 'free' or 'never' or 'last'"):
        session("dard", eos="first")
