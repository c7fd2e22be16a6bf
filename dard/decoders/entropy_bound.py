"""EB-Sampler: commit the surest positions while their joint error bound stays small. No revocation.

In order of confidence, entropy or margin, the longest prefix is taken whose entropies, without the largest of them, sum
to at most γ.
"""

from __future__ import annotations

from dataclasses import dataclass

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.standard import GUESS, committed
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Column
from dard.trace.words import Words, number


@dataclass(frozen=True, kw_only=True)
class EntropyBoundSettings(Settings):
    gamma: float = setting(0.1, "bound on the summed entropies, in nats", float, symbol="γ", low=0, high=1000)
    order: str = setting(
        "confidence", "what the surest are told by", str, choices=("confidence", "entropy", "margin")
    )  # fmt: skip


class EntropyBound(Decoder):
    name = "entropy_bound"
    title = "Entropy bound (EB-Sampler)"
    rule = "as many as an entropy budget allows"
    Settings = EntropyBoundSettings
    about = About(paths=[GUESS], columns=[Column("entropy", "H", "entropy of the prediction, in nats")])
    grid = sweep("gamma", 0.01, 0.05, 0.1, 0.5, 1.0)

    def ask(self, model: Model, settings: EntropyBoundSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: EntropyBoundSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, answer.logits, entropy=True)
        assert prediction.entropy is not None
        entropy = dict(zip(masked, prediction.entropy.tolist(), strict=True))
        decision = Decision(paths={"x": (masked, prediction)}, columns={"entropy": entropy})
        decision.confidence = prediction.confidence_at(masked)
        count, total, largest = 0, 0.0, 0.0
        tokens = prediction.tokens_at(masked)
        margin = dict(zip(masked, prediction.margin().tolist(), strict=True))
        sureness = {"confidence": decision.confidence, "entropy": {i: -h for i, h in entropy.items()}, "margin": margin}
        surest = most_confident(decision.rank(model, settings, sureness[settings.order], tokens), len(masked))
        waiting = decision.events.get("waiting", ())
        for i in surest:
            total, largest = total + entropy[i], max(largest, entropy[i])
            if total - largest > settings.gamma or i in waiting:
                break
            count += 1
        chosen = surest[:count]  # the first alone has bound 0, so there is always one
        decision.commit(chosen, tokens)
        decision.facts = {"entropy_sum": sum(entropy[i] for i in chosen)}
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        total = number(step.facts.get("entropy_sum", 0.0))
        bound = f"entropies that sum to {total} and, without the largest, to at most γ = {step.settings['gamma']:g}"
        c = number(step.confidence[position])
        return committed(step, position, words, f" with confidence {c}, in a set with {bound}")
