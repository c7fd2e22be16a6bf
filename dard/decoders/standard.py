"""Standard decoding as LLaDA does it ("low confidence"): a fixed number of passes per block, no revocation."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import MASKED, DecodeState


@dataclass(frozen=True, kw_only=True)
class StandardSettings(Settings):
    steps: int | None = setting(
        None, "forward passes per block; nothing: one token per pass", int, low=1, high=100_000, optional=True
    )


def schedule(masks: int, steps: int) -> list[int]:
    """How many tokens each pass commits: the masks spread evenly, the first passes taking one more.

    >>> schedule(10, 4)
    [3, 3, 2, 2]
    """
    return [masks // steps + (number < masks % steps) for number in range(steps)]


class Standard(Decoder):
    name = "standard"
    title = "Standard"
    Settings = StandardSettings

    def begin_block(self, settings: StandardSettings, state: DecodeState) -> tuple[int, ...]:
        """The memory is what remains of the schedule."""
        masks = len(state.free(MASKED))
        return tuple(schedule(masks, min(settings.steps or masks, masks)))

    def ask(self, model: Model, settings: StandardSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: StandardSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, logits, record)
        decision = Decision(memory=state.memory[1:])
        decision.confidence = dict(zip(masked, prediction.probability.tolist(), strict=True))
        decision.top["x"] = (masked, prediction)
        # Commit the surest n_k. A hand-made edit can leave masks after the last pass: those go one by one.
        count = state.memory[0] if state.memory else 1
        chosen = most_confident(decision.confidence, count)
        tokens = dict(zip(masked, prediction.token.tolist(), strict=True))
        decision.commit(chosen, [tokens[i] for i in chosen])
        decision.facts = {"tokens_this_pass": count}
        return decision
