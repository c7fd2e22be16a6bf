"""WINO: accept wide, then verify what is unmasked from a shadow that sees every other decoded token.

A step accepts the masked positions above τ1 and remasks unmasked ones whose held token falls below τ2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dard.attention import wino_mask
from dard.decoders.base import (
    Decision,
    Decoder,
    has_outside,
    most_confident,
    predict_published,
    shadow_question,
)
from dard.decoders.predict import probability_of
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import MASKED, UNMASKED, DecodeState

ACCEPT_SHARE, ACCEPT_LEAST, ACCEPT_MOST = 0.7, 5, 20  # how many tokens a step may accept, of those still masked
FIRST_ACCEPT = 30  # what counts as "accepted in the previous step" when a block begins


@dataclass(frozen=True, kw_only=True)
class WinoSettings(Settings):
    threshold: float = setting(0.6, "confidence above which a token is accepted", float, symbol="τ1", low=0, high=1)
    threshold_back: float = setting(
        0.9, "probability below which an unmasked token is remasked", float, symbol="τ2", low=0, high=1
    )


class Wino(Decoder):
    name = "wino"
    title = "WINO"
    Settings = WinoSettings
    has_shadow = True

    def begin_block(self, settings: WinoSettings, state: DecodeState) -> int:
        """The memory is how many tokens the previous step accepted."""
        return FIRST_ACCEPT

    def ask(self, model: Model, settings: WinoSettings, state: DecodeState) -> Question:
        length = len(state.block_range)
        sees_x_only = torch.arange(2 * length) < length
        return shadow_question(model, state, wino_mask(length), sees_x_only, state.free(MASKED), state.free(UNMASKED))

    def decide(
        self, model: Model, settings: WinoSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        masked, unmasked = state.free(MASKED), state.free(UNMASKED)
        length = len(state.block_range)
        decision = Decision(block_mask=wino_mask(length))
        decision.outside_keys = torch.arange(2 * length) < length if has_outside(state) else None

        # Accept.
        prediction = predict_published(model, settings, state, logits[: len(masked)], record)
        draft = dict(zip(masked, prediction.probability.tolist(), strict=True))
        most = min(max(int(ACCEPT_SHARE * len(masked)), ACCEPT_LEAST), ACCEPT_MOST)
        above = {i: c for i, c in draft.items() if c > settings.threshold}
        accepted = most_confident(above, most) or most_confident(draft, 1)
        tokens = dict(zip(masked, prediction.token.tolist(), strict=True))
        decision.commit(accepted, [tokens[i] for i in accepted])
        if not above:
            decision.forced = accepted

        # Verify the tokens of earlier steps: the shadow's probability of the token held.
        held = torch.tensor([state.tokens[i] for i in unmasked], dtype=torch.long, device=logits.device)
        judged = predict_published(model, settings, state, logits[len(masked) :], record)
        back = dict(zip(unmasked, probability_of(logits[len(masked) :], held, judged).tolist(), strict=True))
        doubtful = [i for i in unmasked if back[i] < settings.threshold_back]
        if len(accepted) <= 1:
            doubtful = []  # no remasking in a step that accepts a single token, so that decoding ends
        elif len(doubtful) >= state.memory:
            surest_last = sorted(unmasked, key=lambda i: (back[i], i))
            doubtful = surest_last[: state.memory - 1]
        decision.remask(doubtful, model.mask_id)

        decision.confidence = draft | back
        decision.top["x"] = (masked, prediction)
        decision.top["s"] = (unmasked, judged)
        decision.facts = {"accept_at_most": most, "accepted": len(accepted), "accepted_before": state.memory}
        decision.memory = len(accepted)
        return decision
