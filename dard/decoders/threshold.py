"""Fast-dLLM's parallel decoding: commit every masked position that is sure enough, at least one. No revocation."""

from __future__ import annotations

from dataclasses import dataclass

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.standard import GUESS, committed
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About
from dard.trace.words import Words, against, number, rest


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
    rule = "all above τ at once, nothing is revoked"
    Settings = ThresholdSettings
    about = About(paths=[GUESS], thresholds=["threshold"])
    grid = sweep("threshold", 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)

    def ask(self, model: Model, settings: ThresholdSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: ThresholdSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, answer.logits)
        decision = Decision(paths={"x": (masked, prediction)})
        decision.confidence = prediction.confidence_at(masked)
        tokens = prediction.tokens_at(masked)
        rank = decision.rank(model, settings, decision.confidence, tokens)
        surest = most_confident(rank, len(masked))
        if settings.factor is None:
            count = sum(c > settings.threshold for c in rank.values())
        else:
            count = 0
            while count < len(surest):
                doubt = 1 - rank[surest[count]]  # of the k-th surest, k = count + 1
                if not doubt < settings.factor / (count + 2):
                    break
                count += 1
        chosen = surest[: max(count, 1)]
        decision.commit(chosen, tokens)
        if count == 0:
            decision.events["forced"] = chosen
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        c, forced = step.confidence[position], position in step.forced
        if step.settings.get("factor") is not None:
            count = len(step.decided)
            rank = "the surest" if count == 1 else f"one of the {count} surest"
            passed = f"no position passed{rest(step)}" if forced else "it passed"
            rule = f"{passed} the test 1 − c_k < f / (k + 1) with f = {step.settings['factor']:g}"
            how = f" as {rank} of this pass, with confidence {number(c)} ({rule})"
        else:
            compared = against(c, step.settings["threshold"], "τ")
            how = f" although {compared}: no position passed{rest(step)}" if forced else f": {compared}"
        return committed(step, position, words, how)
