"""Runs a decoder and its reference side by side and compares every step."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

import dard
from dard.checkup import literal as reference
from tests.tiny import MASK_ID, VOCABULARY, random_model, random_network

TINY_GAP = 2e-6  # two numbers this close may be told apart differently in float32 and float64


def words(seed: int, count: int) -> list[int]:
    """Random tokens that are neither the mask nor a special one."""
    return torch.randint(3, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def template(seed: int, shape: str) -> list[int]:
    """Token ids for a shape such as "ww__w_": w is a given word, _ is a mask."""
    given = words(seed, len(shape))
    return [given[i] if letter == "w" else MASK_ID for i, letter in enumerate(shape)]


def follow(
    decoder: str,
    prompt: list[int],
    *,
    gen_length: int = 8,
    block_length: int | None = None,
    seed: int = 0,
    layers: int = 2,
    sharpness: float = 1.0,
    **settings: Any,
) -> Counter[str]:
    """Compare step by step. Returns how often each kind of thing happened, so that a test can tell that it could fail.

    A case is followed until a comparison of the reference was closer than float32 can decide.
    """
    model = random_model(seed, layers, sharpness=sharpness)
    network = random_network(seed, layers, sharpness=sharpness)
    before, region = ([], prompt) if MASK_ID in prompt else (prompt, [MASK_ID] * gen_length)
    moments = list(
        getattr(reference, decoder)(
            network, before, region, MASK_ID, block_length=block_length or len(region), **settings
        )
    )
    session = dard.Session(model, prompt, decoder, gen_length=gen_length, block_length=block_length, **settings)
    seen: Counter[str] = Counter()
    old_states = "".join("M" if token == MASK_ID else "U" for token in region)
    for number, moment in enumerate(moments, 1):
        if moment.closest < TINY_GAP:
            seen["too close"] += len(moments) - number + 1
            return seen
        step = session.step()
        where = f"{decoder} seed {seed} prompt {prompt} {settings} step {number}"
        assert step.states == moment.states, where
        assert step.tokens == moment.tokens, where
        assert step.confidence == pytest.approx(moment.confidence, abs=1e-4), where
        assert [w is None for w in step.weights] == [w is None for w in moment.weights], where
        for ours, theirs in zip(step.weights, moment.weights, strict=True):
            assert ours is None or ours == pytest.approx(theirs, abs=2e-6), where
        assert step.ended_by == moment.ended_by, where
        assert step.index == number
        moves = Counter(a + b for a, b in zip(old_states, moment.states, strict=True))
        seen += Counter({move: count for move, count in moves.items() if move[0] != move[1]})
        if decoder == "dard":
            accepted = set(step.accepted)
            kept = [i for i in moment.promoted if i not in accepted and moment.states[i] == "U"]  # not reopened
            assert step.promoted == kept, where
            assert set(moment.demoted) <= set(step.demoted), where
            seen["promoted"] += len(moment.promoted)
        for name, values in moment.columns.items():
            ours = {i: value for i, value in enumerate(step.column(name)) if value is not None}
            assert ours == pytest.approx(values, abs=1e-4), where
        for names, positions in moment.events.items():
            happened = [i for name in names.split(" or ") for i in step.happened(name)]
            assert sorted(happened) == sorted(positions), where
        seen += Counter({name: len(positions) for name, positions in step.events.items() if name != "promoted"})
        seen["mixed"] += step.index > 1 and bool(session.steps[-2].soft)
        seen["steps"] += 1
        if moment.ended_by:
            seen[moment.ended_by.split()[0]] += 1
        assert step.goes_on == (set(step.states) == {"U"} and not moment.ended_by), where
        old_states = moment.states
    assert session.finished
    return seen
