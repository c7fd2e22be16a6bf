"""The skeleton all decoders share.

A decoder is two pure functions: `ask` turns a state into one question to the model, `decide` turns the answer into a
`Decision`. `step` puts them together. Because asking and deciding are apart, several decodes can put their questions
to the model in one batch. No decoder loops; `Session` does.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from dard.decoders.predict import Prediction, predict
from dard.models.base import Frozen, Model, Question, answer
from dard.models.memory import peak_bytes
from dard.settings import Settings
from dard.state import CANDIDATE, MASKED, UNMASKED, DecodeState
from dard.trace import TOP_K, Step, Top, pack

ALL_UNMASKED = "all unmasked"


@dataclass
class Decision:
    """What a decoder made of the model's answer. Positions it does not mention stay as they were."""

    tokens: dict[int, int] = field(default_factory=dict)
    states: dict[int, str] = field(default_factory=dict)
    confidence: dict[int, float] = field(default_factory=dict)
    reliability: dict[int, float] | None = None  # None: the confidence itself
    weights: dict[int, float] = field(default_factory=dict)
    score_p: dict[int, float] = field(default_factory=dict)
    score_d: dict[int, float] = field(default_factory=dict)
    accepted: list[int] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)
    top: dict[str, tuple[list[int], Prediction]] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    block_mask: Tensor | None = None
    outside_keys: Tensor | None = None
    memory: Any = None
    ended_by: str | None = None  # set when the block is done, except by the common reason

    def commit(self, positions: Sequence[int], tokens: Sequence[int]) -> None:
        """Unmask positions with their tokens."""
        for position, token in zip(positions, tokens, strict=True):
            self.tokens[position] = token
            self.states[position] = UNMASKED

    def remask(self, positions: Sequence[int], mask_id: int) -> None:
        for position in positions:
            self.tokens[position] = mask_id
            self.states[position] = MASKED


class Decoder(ABC):
    """One decoding method. Instances hold no state."""

    name: ClassVar[str]
    title: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    states: ClassVar[str] = MASKED + UNMASKED  # the states its positions can be in
    has_shadow: ClassVar[bool] = False

    def begin_block(self, settings: Any, state: DecodeState) -> Any:
        """The memory a block starts with; `state.memory` is what the previous block left."""
        return None

    @abstractmethod
    def ask(self, model: Model, settings: Any, state: DecodeState) -> Question:
        """Forward: the input of this step, its mask, and the rows whose logits are needed."""

    @abstractmethod
    def decide(self, model: Model, settings: Any, state: DecodeState, logits: Tensor, record: bool) -> Decision:
        """Everything after the forward pass. `logits` may be overwritten. With `record`, also what a trace shows."""

    def block_done(self, state: DecodeState) -> bool:
        """Whether the block that `state` stands in needs no further step."""
        return not state.free(MASKED + CANDIDATE)


def ask(decoder: Decoder, model: Model, settings: Settings, state: DecodeState) -> Question:
    """What a step asks. With a prefix cache the prompt stays as it was in the first step of the block."""
    question = decoder.ask(model, settings, state)
    if settings.prefix_cache == "off" or not state.prompt:
        return question
    opening = ask(decoder, model, settings, state.opening) if state.opening else None
    return replace(question, frozen=Frozen(len(state.prompt), opening))


def step(
    decoder: Decoder, model: Model, settings: Settings, state: DecodeState, record: bool = True
) -> tuple[Step, DecodeState]:
    """One forward pass and one state update: the record of it, and the next state."""
    began = time.perf_counter()
    question = ask(decoder, model, settings, state)
    asked = time.perf_counter()
    logits = answer(model, question)
    forward = time.perf_counter() - asked
    result = finish_step(decoder, model, settings, state, logits, forward, record)
    result[0].__dict__["other_seconds"] = round(time.perf_counter() - began - forward, 6)
    return result


@torch.inference_mode()
def finish_step(
    decoder: Decoder,
    model: Model,
    settings: Settings,
    state: DecodeState,
    logits: Tensor,
    forward_seconds: float,
    record: bool = True,
) -> tuple[Step, DecodeState]:
    """The half of a step that comes after the forward pass."""
    began = time.perf_counter()
    decision = decoder.decide(model, settings, state, logits, record)
    after = apply(state, decision)
    done = decoder.block_done(after)
    ended_by = (decision.ended_by or ALL_UNMASKED) if done else None
    moved = after.at_open_block() if done else after
    if done and not moved.finished:
        moved = replace(moved, memory=decoder.begin_block(settings, moved))
    entry = make_step(state, after, decision, ended_by, model, record)
    entry.__dict__["forward_seconds"] = round(forward_seconds, 6)
    entry.__dict__["peak_bytes"] = peak_bytes(model.device)
    entry.__dict__["other_seconds"] = round(time.perf_counter() - began, 6)
    return entry, moved


def apply(state: DecodeState, decision: Decision) -> DecodeState:
    """The state after a decision."""
    tokens, states, confidence = list(state.tokens), list(state.states), list(state.confidence)
    reliability = list(state.reliability)
    for position, token in decision.tokens.items():
        tokens[position] = token
    for position, letter in decision.states.items():
        states[position] = letter
    for position, value in decision.confidence.items():
        confidence[position] = value
    for position, value in (decision.reliability or decision.confidence).items():
        reliability[position] = value
    return replace(
        state,
        tokens=tuple(tokens),
        states="".join(states),
        confidence=tuple(confidence),
        reliability=tuple(reliability),
        step=state.step + 1,
        memory=decision.memory,
        opening=state.opening or state,
    )


def make_step(
    before: DecodeState, after: DecodeState, decision: Decision, ended_by: str | None, model: Model, record: bool
) -> Step:
    """The record of a step. Transitions are read off the states before and after."""
    moves: dict[str, list[int]] = {name: [] for name in ("decided", "promoted", "weakened", "demoted", "replaced")}
    accepted = set(decision.accepted)
    for i, (old, new) in enumerate(zip(before.states, after.states, strict=True)):
        if old == MASKED and new != MASKED:
            moves["decided"].append(i)
        elif old != MASKED and new == MASKED:
            moves["demoted"].append(i)
        elif old == CANDIDATE and new == UNMASKED and i not in accepted:
            moves["promoted"].append(i)
        elif old == UNMASKED and new == CANDIDATE:
            moves["weakened"].append(i)
        if MASKED not in (old, new) and before.tokens[i] != after.tokens[i]:
            moves["replaced"].append(i)
    length = len(after.tokens)
    block = before.block_range
    entry = Step.model_construct(
        index=after.step,
        block=(block.start, block.stop),
        tokens=list(after.tokens),
        states=after.states,
        confidence=[round(c, 6) for c in after.confidence],
        weights=column(decision.weights, length),
        score_p=column(decision.score_p, length),
        score_d=column(decision.score_d, length),
        accepted=sorted(accepted),
        forced=list(decision.forced),
        edited=[],
        top={path: make_top(*found) for path, found in decision.top.items()} if record else {},
        facts={name: round(float(value), 6) for name, value in decision.facts.items()},
        why={},
        ended_by=ended_by,
        forward_seconds=0.0,
        peak_bytes=None,
        other_seconds=0.0,
        decided=moves["decided"],
        promoted=moves["promoted"],
        weakened=moves["weakened"],
        demoted=moves["demoted"],
        replaced=moves["replaced"],
    )
    entry._before = (list(before.tokens), before.states, [round(c, 6) for c in before.confidence])
    entry._fixed = list(before.fixed)
    entry._num_layers = model.num_layers
    if record and decision.block_mask is not None:
        entry._mask = pack(decision.block_mask.numpy())
        if decision.outside_keys is not None:
            entry._outside = pack(decision.outside_keys.numpy())
    return entry


def column(values: dict[int, float], length: int) -> list[float | None]:
    row: list[float | None] = [None] * length
    for position, value in values.items():
        row[position] = round(value, 6)
    return row


def make_top(positions: list[int], prediction: Prediction) -> Top:
    ids = prediction.top_token[:, :TOP_K]
    p = (prediction.top_probability[:, :TOP_K].double() * 10_000).round().clamp(0, 10_000).long()
    return Top.model_construct(
        positions=list(positions), k=ids.shape[1], ids=ids.flatten().tolist(), p=p.flatten().tolist()
    )


def plain_question(model: Model, state: DecodeState, positions: Sequence[int]) -> Question:
    """`[prompt | region]`, everything visible to everything; logits at the given region positions."""
    size = len(state.prompt) + len(state.tokens)
    return Question(
        ids=torch.tensor(state.prompt + state.tokens),
        positions=torch.arange(size),
        mask=torch.ones(size, size, dtype=torch.bool),
        rows=torch.tensor(positions, dtype=torch.long) + len(state.prompt),
    )


def shadow_question(
    model: Model,
    state: DecodeState,
    block_mask: Tensor,
    outside_keys: Tensor,
    x_positions: Sequence[int],
    s_positions: Sequence[int],
) -> Question:
    """`[prompt | region | shadow block]` under a block mask [2B, 2B]; logits first at x, then at s positions.

    Everybody sees everything outside the block; queries outside see `outside_keys` [2B] of the block.
    """
    before, block = len(state.prompt), state.block_range
    size = before + len(state.tokens)
    length = len(block)
    inside = torch.cat([torch.arange(before + block.start, before + block.stop), torch.arange(size, size + length)])
    mask = torch.ones(size + length, size + length, dtype=torch.bool)
    mask[:, inside] = outside_keys
    mask[inside[:, None], inside] = block_mask
    rows = [before + i for i in x_positions] + [size + i - block.start for i in s_positions]
    return Question(
        ids=torch.tensor(state.prompt + state.tokens + (model.mask_id,) * length),
        positions=torch.cat([torch.arange(size), torch.arange(before + block.start, before + block.stop)]),
        mask=mask,
        rows=torch.tensor(rows, dtype=torch.long),
    )


def has_outside(state: DecodeState) -> bool:
    return len(state.prompt) + len(state.tokens) > len(state.block_range)


def noise_of(settings: Settings, state: DecodeState) -> dict[str, Any]:
    """The sampling arguments of `predict`: noise depends on the seed and the step alone, so a step stays pure."""
    if settings.temperature == 0:
        return {}
    seed = int(np.random.SeedSequence([settings.seed, state.step]).generate_state(1, np.uint64)[0] >> 1)
    return {"temperature": settings.temperature, "generator": torch.Generator().manual_seed(seed)}


def predict_published(
    model: Model, settings: Settings, state: DecodeState, logits: Tensor, record: bool, **options: Any
) -> Prediction:
    """Prediction as the published baselines make it: softmax in float64 over the whole vocabulary."""
    return predict(
        logits,
        mask_id=model.mask_id,
        mask_counts=True,
        precision=torch.float64,
        top=TOP_K if record else 2,
        **noise_of(settings, state),
        **options,
    )


def most_confident(confidence: dict[int, float], count: int) -> list[int]:
    """The `count` positions of highest confidence, surest first; the leftmost wins a tie."""
    return sorted(confidence, key=lambda position: (-confidence[position], position))[:count]
