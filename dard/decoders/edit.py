"""Token editing as LLaDA2.1 does it: fill what is sure, and replace a token once another one is.

A pass sees the prompt and the region up to the end of the current block; later blocks do not exist yet. A token that
was committed in an earlier pass of the block gives way to another one that is probable enough, without being masked in
between. A block goes on after its last mask until a pass edits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.predict import probability_of
from dard.decoders.standard import GUESS, schedule
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Column, Event
from dard.trace.words import Words, against, number


@dataclass(frozen=True, kw_only=True)
class EditSettings(Settings):
    block_length: int | None = setting(
        32, "positions decoded together, block after block; nothing: the whole region", int, low=1, high=8192,
        optional=True,
    )  # fmt: skip
    threshold: float = setting(0.7, "confidence above which a token is committed", float, symbol="τ", low=0, high=1)
    edit_threshold: float = setting(
        0.5, "probability above which another token replaces the one held", float, symbol="τ_e", low=0, high=1
    )
    steps: int = setting(
        32, "passes over which the tokens of a block are spread: so many are committed at least", int, low=1, high=8192
    )
    max_post_steps: int = setting(
        16, "passes after the last mask of a block, besides the one that finds nothing to edit", int, low=0, high=8192
    )


class Memory(NamedTuple):
    """Passes of this block that began with masks, passes that began without, and whether the block is done."""

    filling: int = 0
    checking: int = 0
    done: bool = False


class Edit(Decoder):
    name = "edit"
    title = "Editing (LLaDA2.1)"
    rule = "fills above τ, replaces what another token beats"
    Settings = EditSettings
    about = About(
        paths=[GUESS],
        columns=[Column("held", "held", "probability of the token that was held before the pass", range=(0, 1))],
        thresholds=["threshold", "edit_threshold"],
        events={"replaced": Event("replaced", "another token took the place of the one held", value="held")},
        later=False,
    )
    grid = sweep("threshold", 0.3, 0.5, 0.7, 0.9)

    def begin_block(self, settings: EditSettings, state: DecodeState) -> Memory:
        return Memory()

    def ask(self, model: Model, settings: EditSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(), until=state.block_range.stop)

    def decide(
        self, model: Model, settings: EditSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        positions, masked = state.free(), state.free(MASKED)
        prediction = predict_published(model, settings, state, answer.logits)
        confidence, tokens = prediction.confidence_at(positions), prediction.tokens_at(positions)
        decision = Decision(paths={"x": (positions, prediction)})

        # Commit: everything above the threshold, at least the quota. After its last pass one at a time is left.
        quotas = schedule(settings.block_length or len(state.tokens), settings.steps)[state.memory.filling :]
        quota = max(1, quotas[0]) if quotas else 1
        draft = {i: confidence[i] for i in masked}
        rank = decision.rank(model, settings, draft, tokens)
        above = [i for i in masked if rank[i] > settings.threshold]
        chosen = above if len(above) >= quota else most_confident(rank, quota)
        decision.commit(chosen, tokens)

        # Edit the tokens of earlier passes.
        ids = torch.tensor([state.tokens[i] for i in positions], device=answer.logits.device)
        probability = probability_of(answer.logits, ids, prediction).tolist()
        held = {i: p for i, p in zip(positions, probability, strict=True) if i not in draft}
        edited = [i for i in held if tokens[i] != state.tokens[i] and confidence[i] > settings.edit_threshold]
        decision.commit(edited, tokens)
        decision.confidence = draft | held | {i: confidence[i] for i in edited}
        decision.columns["held"] = held
        decision.facts = {"quota": quota, "above": len(above)}
        decision.memory, decision.ended_by = ending(settings, state.memory, masked, chosen, edited)
        return decision

    def block_done(self, state: DecodeState) -> bool:
        return state.memory.done

    def say(self, step: Step, position: int, words: Words) -> str:
        token, c = words.at(step.tokens, position), step.confidence[position]
        tau, limit = step.settings["threshold"], step.settings["edit_threshold"]
        held = step.column("held")[position]
        if step.states_before[position] == UNMASKED:
            if position in step.replaced:
                old, new = (words.quote(tokens[position]) for tokens in (step.tokens_before, step.tokens))
                kept = "" if held is None else f", and {old} {number(held)}"
                given = f"the model gives {new} {against(c, limit, 'τ_e')}{kept}"
                replaced = f"{words.at(step.tokens_before, position)} was replaced by {new}"
                return f"{replaced}: {given}. The position was not masked in between."
            rival = words.other_guess(step, position, "x")
            return f"{token} stays with {number(c, limit)}{rival}: no other token is above τ_e = {limit:.2f}."
        compared = against(c, tau, "τ")
        if step.states[position] == MASKED:
            return f"{words.place(position)} stays masked: its best guess has {compared}."
        quota = int(step.facts.get("quota", 1))
        if step.facts.get("above", 0) >= quota:
            return f"{token} was committed: {compared}."
        rank = "the surest" if quota == 1 else f"one of the {quota} surest"
        return f"{token} was committed as {rank} of this pass: {compared}."


def ending(
    settings: EditSettings, memory: Memory, masked: list[int], chosen: list[int], edited: list[int]
) -> tuple[Memory, str | None]:
    """What is remembered after a pass, and how the block ended if it did."""
    if not masked:
        checked = memory._replace(checking=memory.checking + 1)
        if not edited:
            return checked._replace(done=True), None
        capped = checked.checking > settings.max_post_steps
        return checked._replace(done=capped), "cap" if capped else None
    filled = memory._replace(filling=memory.filling + 1)
    unchecked = filled.filling >= settings.steps and len(chosen) == len(masked)
    return filled._replace(done=unchecked), "last step" if unchecked else None
