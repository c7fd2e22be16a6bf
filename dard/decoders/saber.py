"""Saber: accept by a threshold that follows the model's own confidence, and take back what lost confidence.

A plain forward pass, no shadow. Confidence is the top-1 probability of every position that was masked at the start,
decided or not; Δ is its change since the previous step (since 0 in the first). All blocks up to the current one
belong together: a position of an earlier block can be taken back too.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import MASKED, UNMASKED, DecodeState

REMASK_SHARE = 8  # at least one of this many tokens committed in a step is taken back


@dataclass(frozen=True, kw_only=True)
class SaberSettings(Settings):
    n: int = setting(4, "tokens committed per step at least", int, low=1, high=8192)
    mu: int = setting(2, "at least n // μ tokens are remasked per step", int, symbol="μ", low=1, high=8192)


class Saber(Decoder):
    name = "saber"
    title = "Saber"
    Settings = SaberSettings

    def begin_block(self, settings: SaberSettings, state: DecodeState) -> dict[int, float]:
        """The memory is the confidence every committed token had when it was committed; it outlives the block."""
        return {i: c for i, c in (state.memory or {}).items() if state.states[i] != MASKED}

    def ask(self, model: Model, settings: SaberSettings, state: DecodeState) -> Question:
        return plain_question(model, state, started_masked(state))

    def decide(
        self, model: Model, settings: SaberSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        positions = started_masked(state)
        prediction = predict_published(model, settings, state, logits, record)
        confidence = dict(zip(positions, prediction.probability.tolist(), strict=True))
        tokens = dict(zip(positions, prediction.token.tolist(), strict=True))
        commit_confidence: dict[int, float] = dict(state.memory)
        decision = Decision(confidence=confidence)
        decision.top["x"] = (positions, prediction)

        # Accept: everything above the mean commit-time confidence, but at least n.
        threshold = sum(commit_confidence.values()) / len(commit_confidence) if commit_confidence else 1.0
        open_positions = [i for i in positions if i < state.block_range.stop and state.states[i] == MASKED]
        chosen = [i for i in open_positions if confidence[i] > threshold]
        if len(chosen) < settings.n:
            chosen = most_confident({i: confidence[i] for i in open_positions}, settings.n)
        decision.commit(chosen, [tokens[i] for i in chosen])
        commit_confidence |= {i: confidence[i] for i in chosen}
        decision.facts = {"threshold": threshold, "committed": len(chosen)}

        # Take back the committed positions with the lowest Δ.
        if len(chosen) < len(open_positions):
            count = max(settings.n // settings.mu, -(-len(chosen) // REMASK_SHARE))
            count = min(count, len(chosen) - 1)
            committed = [i for i in positions if decision.states.get(i, state.states[i]) == UNMASKED]
            delta = {i: confidence[i] - state.confidence[i] for i in committed}
            dropped = sorted(committed, key=lambda i: (delta[i], i))[:count]
            decision.remask(dropped, model.mask_id)
            for i in dropped:
                commit_confidence.pop(i, None)
            decision.facts["remasked"] = len(dropped)
        decision.memory = commit_confidence
        return decision

    def block_done(self, state: DecodeState) -> bool:
        """Masks of earlier blocks, taken back in this one, count too."""
        return MASKED not in state.states[: state.block_range.stop]


def started_masked(state: DecodeState) -> list[int]:
    return [i for i in range(len(state.tokens)) if not state.fixed[i]]
