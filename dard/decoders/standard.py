"""Standard decoding as LLaDA does it ("low confidence"): a fixed number of passes for the region, no revocation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dard.core.errors import InputError
from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Path
from dard.trace.words import Words, company, number, rest

GUESS = Path("x", "x path", "what the model predicts with everything in view", "the prediction decides")


@dataclass(frozen=True, kw_only=True)
class StandardSettings(Settings):
    steps: int | None = setting(
        None, "forward passes for the whole region, spread over its blocks; nothing: one token per pass", int,
        low=1, high=100_000, optional=True,
    )  # fmt: skip
    per_pass: int | None = setting(
        None, "tokens per forward pass, in place of steps", int, low=1, high=8192, optional=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.per_pass is not None:
            raise InputError(f"steps = {self.steps} and per_pass = {self.per_pass} cannot both be given; leave one out")


def schedule(masks: int, steps: int) -> list[int]:
    """How many tokens each pass commits: the masks spread evenly, the first passes taking one more.

    >>> schedule(10, 4)
    [3, 3, 2, 2]
    """
    return [masks // steps + (number < masks % steps) for number in range(steps)]


def thinned(values: range, most: int = 16) -> list[int]:
    """At most so many of a range, spread evenly, its first and last among them.

    >>> thinned(range(5, 9)), thinned(range(0, 100), 4)
    ([5, 6, 7, 8], [0, 33, 66, 99])
    """
    if len(values) <= most:
        return list(values)
    return [values[round(number * (len(values) - 1) / (most - 1))] for number in range(most)]


class Standard(Decoder):
    name = "standard"
    title = "Standard"
    rule = "the surest first, nothing is revoked"
    Settings = StandardSettings
    about = About(paths=[GUESS])
    grid = sweep("per_pass", 1, 2, 4, 8)

    def points(self, masks: int) -> list[dict[str, Any]]:
        return [point for point in super().points(masks) if point["per_pass"] <= masks]

    def neighbours(self, settings: StandardSettings) -> list[dict[str, Any]]:
        """More passes, one by one up to one token per pass, or fewer tokens per pass; of very many a few."""
        masks = settings.gen_length
        if settings.per_pass is not None:
            return [{"per_pass": each} for each in thinned(range(1, min(settings.per_pass, masks)))]
        return [{"steps": each} for each in thinned(range((settings.steps or masks) + 1, masks + 1))]

    def begin_block(self, settings: StandardSettings, state: DecodeState) -> tuple[int, ...]:
        """The memory is what remains of the block's schedule."""
        masks = len(state.free(MASKED))
        if settings.steps is None:
            return tuple(schedule(masks, -(-masks // (settings.per_pass or 1))))
        # The region's passes over the blocks that have something to fill; the first `steps mod blocks` take one more.
        blocks = sorted({state.block_of(i) for i, given in enumerate(state.fixed) if not given})
        steps = schedule(settings.steps, len(blocks))[blocks.index(state.block)]
        return tuple(schedule(masks, max(1, min(steps, masks))))

    def ask(self, model: Model, settings: StandardSettings, state: DecodeState) -> Question:
        return plain_question(model, state, state.free(MASKED))

    def decide(
        self, model: Model, settings: StandardSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked = state.free(MASKED)
        prediction = predict_published(model, settings, state, answer.logits)
        decision = Decision(memory=state.memory[1:], paths={"x": (masked, prediction)})
        decision.confidence = prediction.confidence_at(masked)
        # Commit the surest n_k. A hand-made edit can leave masks after the last pass: those go one by one.
        count = state.memory[0] if state.memory else 1
        tokens = prediction.tokens_at(masked)
        decision.commit(most_confident(decision.rank(model, settings, decision.confidence, tokens), count), tokens)
        decision.facts = {"tokens_this_pass": count}
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        count = int(step.facts.get("tokens_this_pass", len(step.decided)))
        rank = "the surest" if count == 1 else f"one of the {count} surest"
        c = number(step.confidence[position])
        return committed(step, position, words, f" as {rank} of this pass{rest(step)}, with confidence {c}")


def committed(step: Step, position: int, words: Words, how: str) -> str:
    """The sentence of a decoder that only commits; `how` follows "was committed"."""
    token = words.at(step.tokens, position)
    if step.states_before[position] == UNMASKED:
        return f"{token} is committed; this decoder never takes a token back."
    if step.states[position] == MASKED:
        best = words.guess(step, position, "x", with_number=True)
        said = f"its best guess {best}" if best else f"its best guess has {number(step.confidence[position])} and"
        return f"{words.place(position)} stays masked: {said} was not among the surest of this pass."
    return f"{token} was committed{how}{company(step)}."
