"""EB-Sampler: commit the surest positions while their joint error bound stays small. No revocation.

In order of confidence, the longest prefix is taken whose entropies, without the largest of them, sum to at most γ.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import MASKED, DecodeState


@dataclass(frozen=True, kw_only=True)
class EntropyBoundSettings(Settings):
    gamma: float = setting(0.1, "bound on the summed entropies, in nats", float, symbol="γ", low=0, high=1000)


class EntropyBound(Decoder):
    name = "entropy_bound"
    title = "Entropy bound (EB-Sampler)"
    Settings = EntropyBoundSettings

    def ask(self, model: Model, settings: EntropyBoundSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: EntropyBoundSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, logits, record, entropy=True)
        assert prediction.entropy is not None
        decision = Decision()
        decision.confidence = dict(zip(masked, prediction.probability.tolist(), strict=True))
        decision.top["x"] = (masked, prediction)
        entropy = dict(zip(masked, prediction.entropy.tolist(), strict=True))
        surest = most_confident(decision.confidence, len(masked))
        count, total, largest = 0, 0.0, 0.0
        for i in surest:
            total, largest = total + entropy[i], max(largest, entropy[i])
            if total - largest > settings.gamma:
                break
            count += 1
        chosen = surest[:count]  # the first alone has bound 0, so there is always one
        tokens = dict(zip(masked, prediction.token.tolist(), strict=True))
        decision.commit(chosen, [tokens[i] for i in chosen])
        decision.facts = {"entropy_sum": sum(entropy[i] for i in chosen)}
        return decision
