"""Fast-dLLM's parallel decoding: commit every masked position that is sure enough, at least one. No revocation."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import MASKED, DecodeState


@dataclass(frozen=True, kw_only=True)
class ThresholdSettings(Settings):
    threshold: float = setting(0.9, "confidence above which a token is committed", float, symbol="τ", low=0, high=1)
    factor: float | None = setting(
        None, "commit the k surest while 1 − c_k < f / (k + 1), in place of the threshold", float,
        symbol="f", low=0, high=100, open_low=True, optional=True,
    )  # fmt: skip


class Threshold(Decoder):
    name = "threshold"
    title = "Threshold (Fast-dLLM)"
    Settings = ThresholdSettings

    def ask(self, model: Model, settings: ThresholdSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: ThresholdSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, logits, record)
        decision = Decision()
        decision.confidence = dict(zip(masked, prediction.probability.tolist(), strict=True))
        decision.top["x"] = (masked, prediction)
        surest = most_confident(decision.confidence, len(masked))
        if settings.factor is None:
            count = sum(c > settings.threshold for c in decision.confidence.values())
        else:
            count = 0
            while count < len(surest):
                doubt = 1 - decision.confidence[surest[count]]  # of the k-th surest, k = count + 1
                if not doubt < settings.factor / (count + 2):
                    break
                count += 1
        chosen = surest[: max(count, 1)]
        tokens = dict(zip(masked, prediction.token.tolist(), strict=True))
        decision.commit(chosen, [tokens[i] for i in chosen])
        if count == 0:
            decision.forced = chosen
        return decision
