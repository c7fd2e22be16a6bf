"""WINO: accept wide, then verify what is unmasked from a shadow that sees every other decoded token.

A step accepts the masked positions above τ1 and remasks unmasked ones whose held token falls below τ2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, predict_published, shadow_question, sweep
from dard.decoders.masks import wino_mask
from dard.decoders.predict import probability_of
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Path
from dard.trace.about import Threshold as Line
from dard.trace.words import Words, against, decimals, rest

ACCEPT_SHARE, ACCEPT_LEAST, ACCEPT_MOST = 0.7, 5, 20  # how many tokens a step may accept, of those still masked
FIRST_ACCEPT = 30  # what counts as "accepted in the previous step" when a block begins


@dataclass(frozen=True, kw_only=True)
class WinoSettings(Settings):
    threshold: float = setting(0.6, "confidence above which a token is accepted", float, symbol="τ1", low=0, high=1)
    threshold_back: float = setting(
        0.9, "probability below which an unmasked token is revoked", float, symbol="τ2", low=0, high=1
    )


class Wino(Decoder):
    name = "wino"
    title = "WINO"
    rule = "fills above τ1, revokes below τ2"
    Settings = WinoSettings
    grid = sweep("threshold", 0.3, 0.4, 0.5, 0.6, 0.7)
    about = About(
        paths=[
            Path("x", "x path", "the prediction of a masked position", "the x path decides (was masked)"),
            Path("s", "s path", "the shadow's prediction, its own token hidden", "the shadow decides (was decided)"),
        ],
        thresholds=[Line("threshold", on="x"), Line("threshold_back", on="s")],
        shadow=True,
        cells={
            "self": "a shadow never sees its own token",
            "own": "in WINO shadows see each other",
            "x*x*1": "in WINO every token in x sees all of x",
            "x*s*0": "in WINO tokens in x see no shadow",
            "s*x*1": "in WINO a shadow sees every other token, however unsure",
            "s*s*1": "in WINO shadows see each other",
        },
    )

    def begin_block(self, settings: WinoSettings, state: DecodeState) -> int:
        """The memory is how many tokens the previous step accepted."""
        return FIRST_ACCEPT

    def ask(self, model: Model, settings: WinoSettings, state: DecodeState) -> Question:
        length = len(state.block_range)
        sees_x_only = torch.arange(2 * length) < length
        return shadow_question(model, state, wino_mask(length), sees_x_only, state.free(MASKED), state.free(UNMASKED))

    def decide(
        self, model: Model, settings: WinoSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked, unmasked = state.free(MASKED), state.free(UNMASKED)
        logits_x, logits_s = answer.logits[: len(masked)], answer.logits[len(masked) :]
        decision = Decision()

        # Accept.
        prediction = predict_published(model, settings, state, logits_x)
        draft = prediction.confidence_at(masked)
        most = accept_at_most(len(masked))
        tokens = prediction.tokens_at(masked)
        rank = decision.rank(model, settings, draft, tokens)
        above = {i: c for i, c in rank.items() if c > settings.threshold}
        accepted = most_confident(above, most) or most_confident(rank, 1)
        decision.commit(accepted, tokens)
        if not above:
            decision.events["forced"] = accepted

        # Verify the tokens of earlier steps: the shadow's probability of the token held.
        held = torch.tensor([state.tokens[i] for i in unmasked], dtype=torch.long, device=logits_s.device)
        judged = predict_published(model, settings, state, logits_s)
        back = dict(zip(unmasked, probability_of(logits_s, held, judged).tolist(), strict=True))
        doubtful = [i for i in unmasked if back[i] < settings.threshold_back]
        if len(accepted) <= 1:
            doubtful = []  # no remasking in a step that accepts a single token, so that decoding ends
        elif len(doubtful) >= state.memory:
            surest_last = sorted(unmasked, key=lambda i: (back[i], i))
            doubtful = surest_last[: state.memory - 1]
        decision.remask(doubtful, model.mask_id)

        decision.confidence = draft | back
        decision.paths = {"x": (masked, prediction), "s": (unmasked, judged)}
        decision.facts = {"accept_at_most": most, "accepted": len(accepted), "accepted_before": state.memory}
        decision.memory = len(accepted)
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        before, after, c = step.states_before[position], step.states[position], step.confidence[position]
        tau1, tau2 = step.settings["threshold"], step.settings["threshold_back"]
        if before == MASKED:
            compared = against(c, tau1, "τ1")
            if after == MASKED and c > tau1:
                most = int(step.facts.get("accept_at_most", 0))
                return f"{words.place(position)} stays masked: {compared}, but a step accepts at most {most}."
            if after == MASKED:
                return f"{words.place(position)} stays masked: its best guess has {compared}."
            token = words.at(step.tokens, position)
            if position in step.forced:
                return (
                    f"{token} was accepted although {compared}: no position passed{rest(step)}, so the surest one did."
                )
            return f"{token} was accepted: {compared}."
        token = words.at(step.tokens_before, position)
        best = words.other_guess(step, position, "s")
        seen = "seen with every other decoded token"
        n = decimals(c, tau2)
        judged = f"the shadow gives it {c:.{n}f}{best}, {'below' if c < tau2 else 'not below'} τ2 = {tau2:.{n}f}"
        if after == MASKED:
            return f"{token} was revoked: {seen}, {judged}."
        if c < tau2:
            why = (
                "a step that accepts a single token revokes none"
                if step.facts.get("accepted", 0) <= 1
                else "a step revokes fewer tokens than the one before accepted"
            )
            return f"{token} stays unmasked although {judged}: {why}."
        return f"{token} stays unmasked: {seen}, {judged}."


def accept_at_most(masked: int) -> int:
    """How many tokens a step may accept of so many masks.

    >>> [accept_at_most(masked) for masked in (3, 20, 40)]
    [5, 14, 20]
    """
    return min(max(int(ACCEPT_SHARE * masked), ACCEPT_LEAST), ACCEPT_MOST)
