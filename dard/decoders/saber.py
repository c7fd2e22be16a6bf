"""Saber: accept by a threshold that follows the model's own confidence, and take back what lost confidence.

A plain forward pass, no shadow. Confidence is the top-1 probability of every position that was masked at the start and
lies before the end of the current block, decided or not; Δ is its change since the previous step (since 0 in the
first). All blocks up to the current one belong together: a position of an earlier block can be taken back too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.standard import GUESS
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Column, Event
from dard.trace.words import Words, against, number, rest

REMASK_SHARE = 8  # at least one of this many tokens committed in a step is taken back
SHORT_ANSWER = 32  # masks up to which n below 4 takes few enough passes


@dataclass(frozen=True, kw_only=True)
class SaberSettings(Settings):
    n: int = setting(4, "tokens committed per step at least", int, low=1, high=8192)
    mu: int = setting(2, "at least n // μ tokens are revoked per step", int, symbol="μ", low=1, high=8192)


@dataclass(frozen=True)
class Memory:
    """`committed`: the confidence every position had when it was last committed, also if it was taken back since.
    `known`: the end of the positions that have a confidence of the previous step; None before the first step."""

    committed: dict[int, float] = field(default_factory=dict)
    known: int | None = None


class Saber(Decoder):
    name = "saber"
    title = "Saber"
    rule = "fills above the mean, revokes the largest drops"
    Settings = SaberSettings
    about = About(
        paths=[GUESS],
        columns=[Column("change", "Δ", "change of the confidence since the step before", range=(-1, 1))],
        events={"retracted": Event("committed and revoked", "committed, and revoked in the same step")},
    )
    grid = sweep("n", *range(1, 9))

    def points(self, masks: int) -> list[dict[str, Any]]:
        return [
            point for point in super().points(masks) if point["n"] <= masks <= SHORT_ANSWER or 4 <= point["n"] <= masks
        ]

    def begin_block(self, settings: SaberSettings, state: DecodeState) -> Memory:
        """The memory outlives the block."""
        return state.memory or Memory()

    def ask(self, model: Model, settings: SaberSettings, state: DecodeState) -> Question:
        return plain_question(model, state, judged(state))

    def decide(
        self, model: Model, settings: SaberSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        positions, memory = judged(state), state.memory
        prediction = predict_published(model, settings, state, answer.logits)
        confidence = prediction.confidence_at(positions)
        # What enters with a new block has no earlier confidence: its Δ is infinite, it is not taken back in that step.
        known = len(state.tokens) if memory.known is None else memory.known
        delta = {i: confidence[i] - state.confidence[i] if i < known else math.inf for i in positions}
        decision = Decision(confidence=confidence, paths={"x": (positions, prediction)})
        decision.columns["change"] = {i: d for i, d in delta.items() if d < math.inf}

        # Accept: everything above the mean of the confidences at commit time, but at least n.
        at_commit = memory.committed
        threshold = sum(at_commit.values()) / len(at_commit) if at_commit else 1.0
        open_positions = [i for i in positions if state.states[i] == MASKED]
        tokens = prediction.tokens_at(positions)
        rank = decision.rank(model, settings, {i: confidence[i] for i in open_positions}, tokens)
        chosen = [i for i in open_positions if rank[i] > threshold]
        if len(chosen) < settings.n:
            chosen = most_confident(rank, settings.n)
        decision.commit(chosen, tokens)
        decision.memory = Memory(at_commit | {i: confidence[i] for i in chosen}, state.block_range.stop)
        decision.facts = {"threshold": threshold, "committed": len(chosen)}

        # Take back the committed positions with the lowest Δ, unless nothing is left to fill.
        if len(chosen) < len(open_positions):
            count = max(settings.n, len(chosen))
            least = max(settings.n // settings.mu, -(-count // REMASK_SHARE))
            committed = [
                i for i in positions if decision.states.get(i, state.states[i]) == UNMASKED and delta[i] < math.inf
            ]
            dropped = sorted(committed, key=lambda i: (delta[i], i))[: min(least, count - 1)]
            decision.remask(dropped, model.mask_id)
            decision.facts["remasked"] = len(dropped)
            decision.events["retracted"] = sorted({*dropped} & {*chosen})
        return decision

    def block_done(self, state: DecodeState) -> bool:
        """Masks of earlier blocks, taken back in this one, count too."""
        return MASKED not in state.states[: state.block_range.stop]

    def looks_at(self, step: Step, position: int) -> bool:
        return position < step.block[1]

    def say(self, step: Step, position: int, words: Words) -> str:
        before, after, c = step.states_before[position], step.states[position], step.confidence[position]
        delta, threshold = step.column("change")[position], step.facts.get("threshold", 1.0)
        if "change" not in step.columns:  # a file of version 1
            delta = c - step.confidence_before[position]
        mean = "the mean commit confidence" if threshold < 1 else "the bar of a first commit"
        change = f"its confidence is {number(c)}"
        if delta is not None:
            change = f"its confidence changed by {delta:+.2f} to {number(c)}"
        if after == MASKED and before == UNMASKED:
            token = words.at(step.tokens_before, position)
            return f"{token} was revoked: {change}, among the lowest changes."
        if after == MASKED and (c > threshold or position in step.happened("retracted")):
            both = f"{words.place(position)} was committed and revoked in the same step"
            return f"{both}: {change}, among the lowest changes."
        if after == MASKED:
            return f"{words.place(position)} stays masked: its best guess has {against(c, threshold, mean)}."
        token = words.at(step.tokens, position)
        if before == UNMASKED:
            return f"{token} stays unmasked: {change}."
        if c > threshold:
            return f"{token} was committed: {against(c, threshold, mean)}."
        surest = f"one of the {step.settings['n']} surest{rest(step)}"
        return f"{token} was committed as {surest}: {against(c, threshold, mean)}."


def judged(state: DecodeState) -> list[int]:
    """Positions that were masked at the start, up to the end of the current block."""
    return [i for i in range(state.block_range.stop) if not state.fixed[i]]
