"""Dependency-Aware Revocable Decoding (the paper's §3 and Algorithm 1).

Positions are masked, candidate or unmasked. Each step verifies what is decided from the shadow, in a context that
hides less reliable tokens, and predicts what is masked from a mix of two contexts: with and without the candidates.
Where the paper is silent (progress, the end of a block, what the outside sees) the rule is stated at its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from dard.core.settings import Settings, setting
from dard.core.state import CANDIDATE, MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, noise_of, plain_question, shadow_question
from dard.decoders.masks import ORDERINGS, dard_mask, ordering_values, reliable_keys
from dard.decoders.mixing import mixing_weights
from dard.decoders.predict import Prediction, joined, mix_, predict, probability_of
from dard.models.base import Answer, Model, Question
from dard.trace import Step
from dard.trace.about import About, Column, Path, Threshold
from dard.trace.limits import TOP_K
from dard.trace.words import Words, against, decimals, number, rest

LAMBDA = 0.5 ** (1 / 8)  # the kernel halves every 8 positions

Picture = tuple[tuple[int, ...], str]  # tokens and states of a block


@dataclass(frozen=True, kw_only=True)
class DardSettings(Settings):
    tau_c: float = setting(
        0.6, "confidence above which a token becomes a candidate", float, symbol="τ_c", low=0, high=1, below="tau_u"
    )
    tau_u: float = setting(0.8, "confidence above which a token is unmasked", float, symbol="τ_u", low=0, high=1)
    lambda_: float = setting(
        LAMBDA, "decay of a verification's influence per position of distance", float,
        symbol="λ", low=0, high=1, open_low=True, open_high=True,
    )  # fmt: skip
    p0: float = setting(
        0.1, "prior that keeps w near 1 when few candidates change", float,
        symbol="p₀", low=0, high=100, open_low=True,
    )  # fmt: skip
    ordering: str = setting("confidence", "which candidate may see which", str, choices=ORDERINGS)
    mixing: str | float = setting(
        "adaptive", "weight of the x path: adaptive, or one number for all", float, symbol="w",
        low=0, high=1, choices=("adaptive",),
    )  # fmt: skip
    verify: str = setting(
        "held", "judge the token a position holds, or let the shadow's best token replace it", str,
        choices=("held", "argmax"),
    )  # fmt: skip
    outside: str = setting(
        "reliable", "what positions outside the block see of it: only unmasked tokens, or all", str,
        choices=("reliable", "all"),
    )  # fmt: skip
    cycle: str = setting(
        "accept", "when decoding repeats itself: accept candidates as they stand, or reopen what was still moving", str,
        choices=("accept", "reopen"),
    )  # fmt: skip
    commit_after: int | None = setting(
        None, "steps of a block before its end is called: candidates are then settled as `cycle` says, and masks that "
        "are left are filled in further steps, the surest first; nothing: twice the block's length", int, low=1,
        high=100_000, optional=True, formerly="max_steps",
    )  # fmt: skip


@dataclass(frozen=True)
class Memory:
    """The block's earlier (tokens, states), the steps made in it, and why its commit phase began, if it did."""

    seen: tuple[Picture, ...]
    steps: int = 0
    committing: str | None = None


def picture(state: DecodeState) -> Picture:
    block = state.block_range
    return state.tokens[block.start : block.stop], state.states[block.start : block.stop]


# Why a candidate sees another, or does not: in a sentence about a verification, and in one about a cell of the mask.
ORDER_WORDS = {
    "confidence": ("more confident", "less confident", "at least as confident", "less confident"),
    "entropy": ("of lower entropy", "of higher entropy", "of at most the same entropy", "of higher entropy"),
    "margin": ("of larger margin", "of smaller margin", "of at least the same margin", "of smaller margin"),
    "l2r": ("to its left", "to its right", "not further right", "further right"),
    "bidirectional": (
        "all candidates see each other", "", "a candidate too, and all candidates see each other", "hidden"
    ),
}  # fmt: skip
REOPENED = "decoding repeats itself or reached its cap, and what was still moving is decided anew"


class Dard(Decoder):
    name = "dard"
    title = "DARD"
    rule = "checks candidates against surer ones only"
    Settings = DardSettings
    states = MASKED + CANDIDATE + UNMASKED
    presets = {"accurate": {"tau_c": 0.6, "tau_u": 0.8}, "fast": {"tau_c": 0.4, "tau_u": 0.5}}
    grid = [{"tau_c": c, "tau_u": u} for c in (0.4, 0.5, 0.6) for u in (0.6, 0.7, 0.8)]  # the paper's
    about = About(
        columns=[
            Column("w", "w", "share of the x path in a masked position's prediction", range=(0, 1)),
            Column("P", "P", "how strongly promotions nearby speak for the candidates", mirror="D"),
            Column("D", "D", "how strongly revocations nearby speak against them"),
        ],
        paths=[
            Path("x", "x path", "the prediction with the candidates in view", "the x path decides"),
            Path("s", "s path", "the shadow's prediction, candidates hidden", "the shadow decides (was decided)"),
            Path("mix", "mix", "the two predictions, mixed with weight w", "the mix decides (was masked)"),
        ],
        thresholds=[Threshold("tau_c", enters=CANDIDATE), Threshold("tau_u", enters=UNMASKED)],
        shadow=True,
        cells={
            "self": "a shadow never sees its own token",
            "own": "its own token is hidden from it, so it sees its own mask",
            "xMx*1": "a masked query in x sees everything in x",
            "xMs*0": "a masked query in x sees the tokens themselves, so it needs no shadow",
            "**xU1": "unmasked tokens are visible to everyone",
            "**sU0": "it sees the unmasked token itself instead",
            "sMxC0": "the cautious path treats candidates as masks",
            "sMsC1": "the candidate itself is hidden from the cautious path",
            "*UxC0": "an unmasked query sees unmasked tokens only",
            "*UsC1": "the candidate itself is hidden from it",
            "**xM0": "nothing is decided there; it sees the shadow instead",
            "**sM1": "a masked position is seen through its shadow",
        },
    )

    def neighbours(self, settings: DardSettings) -> list[dict[str, Any]]:
        """What a run is tuned by; the other settings are other algorithms."""
        tuned = ("tau_u", "tau_c", "p0", "lambda_", "cycle")
        changes = [change for change in super().neighbours(settings) if change.keys() <= set(tuned)]
        return sorted(changes, key=lambda change: tuned.index(next(iter(change))))

    def about_with(self, settings: Mapping[str, Any]) -> About:
        _, _, surer, less_sure = ORDER_WORDS.get(
            str(settings.get("ordering")), ("", "", "ranked higher", "ranked lower")
        )
        cells = {
            "*CxC1": f"{{k}} is {surer}",
            "*CxC0": f"{{k}} is {less_sure}",
            "*CsC0": f"{{k}} is {surer}, so the token itself is seen",
            "*CsC1": f"{{k}} is {less_sure}, so only its mask is seen",
        }
        w, p, d = self.about.columns
        decay, prior = settings.get("lambda_"), settings.get("p0")
        if isinstance(decay, float) and 0 < decay < 1 and isinstance(prior, int | float):
            pull = (
                "Each ▲ ▼ pulls by λ to the power of its distance; "
                f"with λ = {decay:.3f} that halves every {math.log(0.5) / math.log(decay):.1f} positions."
            )
            p = replace(p, help=pull)
            if settings.get("mixing") == "adaptive":
                w = replace(w, formula=f"({{P}} + {prior:.2f}) / ({{P}} + {{D}} + {prior:.2f})")
        return replace(self.about, cells={**self.about.cells, **cells}, columns=(w, p, d))

    def begin_block(self, settings: DardSettings, state: DecodeState) -> Memory:
        return Memory(seen=(picture(state),))

    def reliability_by_hand(self, settings: DardSettings, confidence: float) -> float:
        """Its entropy and margin are unknown: where these order, it ranks last."""
        return -math.inf if settings.ordering in ("entropy", "margin") else confidence

    def ask(self, model: Model, settings: DardSettings, state: DecodeState) -> Question:
        masked = state.free(MASKED)
        if state.memory.committing:
            return plain_question(model, state, masked)
        block_mask, outside_keys = self.masks(settings, state)
        return shadow_question(model, state, block_mask, outside_keys, masked, masked + state.free("CU"))

    def masks(self, settings: DardSettings, state: DecodeState) -> tuple[Tensor, Tensor]:
        """The block's mask [2B, 2B] and what the outside sees of it [2B]."""
        block = state.block_range
        states = state.states[block.start : block.stop]
        order = ordering_values(settings.ordering, len(block))
        if order is None:
            order = torch.tensor(state.reliability[block.start : block.stop], dtype=torch.float64)
        if settings.outside == "reliable":
            outside = reliable_keys(states)
        else:
            outside = torch.arange(2 * len(block)) < len(block)
        return dard_mask(states, order), outside

    def decide(
        self, model: Model, settings: DardSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        logits = answer.logits
        if state.memory.committing:
            return self.commit_surest(model, settings, state, logits)
        masked, held = state.free(MASKED), state.free("CU")
        m = len(masked)
        logits_x, logits_s, logits_held = logits[:m], logits[m : 2 * m], logits[2 * m :]
        wants_entropy = settings.ordering == "entropy"
        decision = Decision()

        # Verify C and U from the shadow logits.
        judged = self.predict(model, settings, state, logits_held, wants_entropy)
        if settings.verify == "argmax":
            verdicts = judged.choices
        else:
            kept = [state.tokens[i] for i in held]
            confidence = probability_of(logits_held, torch.tensor(kept, dtype=torch.long, device=logits.device), judged)
            verdicts = list(zip(kept, confidence.tolist(), strict=True))
        choices = dict(zip(held, verdicts, strict=True))

        # P_t and D_t: what the verification did to the candidates.
        candidates = [i for i in held if state.states[i] == CANDIDATE]
        promoted = [i for i in candidates if self.state_of(settings, choices[i][1]) == UNMASKED]
        demoted = [i for i in candidates if self.state_of(settings, choices[i][1]) == MASKED]

        # Mix the two predictions of every masked position.
        P, D, w = mixing_weights(masked, promoted, demoted, settings.lambda_, settings.p0)
        if settings.mixing != "adaptive":
            w = [float(settings.mixing)] * m
        changes_x = any(value != 1 for value in w)
        if state.record:
            only_s = self.predict(model, settings, state, logits_s, wants_entropy)
            decision.paths["s"] = (masked + held, joined([only_s, judged]))
        if state.record and changes_x:
            decision.paths["x"] = (masked, self.predict(model, settings, state, logits_x))
        if changes_x:
            mix_(logits_x, logits_s, torch.tensor(w, dtype=torch.float32, device=logits.device))
        mixed = self.predict(model, settings, state, logits_x, wants_entropy, noise=True)
        choices |= dict(zip(masked, mixed.choices, strict=True))
        if masked:
            values = zip(("w", "P", "D"), (w, P, D), strict=True)
            decision.columns = {name: dict(zip(masked, row, strict=True)) for name, row in values}
            decision.paths["mix"] = (masked, mixed)
            decision.paths.setdefault("x", (masked, mixed))  # with w = 1 the mix is the x path
        decision.notes["w"] = self.note(settings, w, promoted)

        # Transition: M if c ≤ τ_c, C if τ_c < c ≤ τ_u, U above.
        rank = decision.rank(model, settings, mixed.confidence_at(masked), mixed.tokens_at(masked))
        for i, (token, c) in choices.items():
            letter = self.state_of(settings, rank.get(i, c))
            decision.confidence[i] = c
            decision.states[i] = letter
            decision.tokens[i] = model.mask_id if letter == MASKED else token
        # Progress: if no masked position passes τ_c, the most confident one enters all the same.
        if masked and all(decision.states[i] == MASKED for i in masked):
            best = most_confident(rank, 1)[0]
            decision.tokens[best], decision.states[best] = choices[best][0], CANDIDATE
            decision.events["forced"] = [best]
        if settings.ordering in ("entropy", "margin"):
            if wants_entropy:
                assert mixed.entropy is not None and judged.entropy is not None
                values_of = torch.cat([-mixed.entropy, -judged.entropy])
            else:
                values_of = torch.cat([mixed.margin(), judged.margin()])
            decision.reliability = dict(zip(masked + held, values_of.tolist(), strict=True))
        self.look_for_the_end(model, settings, state, decision)
        return decision

    @staticmethod
    def note(settings: DardSettings, weights: list[float], promoted: list[int]) -> str:
        """What is true of this step's weights."""
        trusting = "D = 0, so every w is 1 and masked positions trust the x path."
        if not weights:
            return "No blank to fill here, so w is not used."
        if settings.mixing != "adaptive":
            return f"The weight is set to {settings.mixing:g} for all positions."
        if any(w != 1 for w in weights):
            return "w is the share of the x path, which sees the candidates; the s path does not."
        if promoted:
            return f"Candidates were promoted and none was revoked: {trusting}"
        return f"No candidate was promoted or revoked in this step: {trusting}"

    def predict(
        self,
        model: Model,
        settings: DardSettings,
        state: DecodeState,
        logits: Tensor,
        entropy: bool = False,
        noise: bool = False,
    ) -> Prediction:
        sampling = noise_of(settings, state) if noise else {}
        top = TOP_K if state.record else 2
        return predict(logits, mask_id=model.mask_id, top=top, entropy=entropy, also=state.watched, **sampling)

    @staticmethod
    def state_of(settings: DardSettings, confidence: float) -> str:
        """Eq. 8."""
        if confidence <= settings.tau_c:
            return MASKED
        return CANDIDATE if confidence <= settings.tau_u else UNMASKED

    def look_for_the_end(self, model: Model, settings: DardSettings, state: DecodeState, decision: Decision) -> None:
        """A block ends when all is unmasked. A decode that repeats itself, or reaches the cap, is brought to its end.

        `accept`: candidates are accepted as they stand and the remaining masked positions committed one by one.
        `reopen`: candidates, and whatever changes within the cycle, are masked again and committed by their confidence.
        """
        memory: Memory = state.memory
        block = state.block_range
        now: Picture = (
            tuple(decision.tokens.get(i, state.tokens[i]) for i in block),
            "".join(decision.states.get(i, state.states[i]) for i in block),
        )
        steps = memory.steps + 1
        decision.memory = replace(memory, seen=(*memory.seen, now), steps=steps)
        if set(now[1]) == {UNMASKED}:
            return
        cycle: tuple[Picture, ...] = ()  # from a picture to its return, once
        if now in memory.seen:
            period = len(memory.seen) - max(n for n, old in enumerate(memory.seen) if old == now)
            reason = "fixed point" if period == 1 else f"period {period}"
            cycle = memory.seen[-period:]
        elif steps >= (settings.commit_after or 2 * len(block)):
            reason = "cap"
        else:
            return
        decision.ended_by = reason
        decision.memory = replace(decision.memory, committing=reason)
        candidates = [i for i, letter in zip(block, now[1], strict=True) if letter == CANDIDATE]
        if settings.cycle == "accept":
            decision.events["accepted"] = candidates
            decision.stood = dict.fromkeys(candidates, CANDIDATE)
            for i in candidates:
                decision.states[i] = UNMASKED
            return
        reopened = {i for k, i in enumerate(block) if len({(tokens[k], states[k]) for tokens, states in cycle}) > 1}
        reopened.update(candidates)
        decision.stood = {i: decision.states[i] for i in reopened if i in decision.states}
        decision.remask(sorted(reopened), model.mask_id)
        decision.events["forced"] = [i for i in decision.events.get("forced", []) if i not in reopened]

    def commit_surest(self, model: Model, settings: DardSettings, state: DecodeState, logits: Tensor) -> Decision:
        """After the end was called, with everything in view: the surest masked position; if what was still moving has
        been reopened, every one above τ_u."""
        masked = state.free(MASKED)
        prediction = self.predict(model, settings, state, logits, noise=True)
        decision = Decision(memory=state.memory, ended_by=state.memory.committing, paths={"x": (masked, prediction)})
        decision.confidence = prediction.confidence_at(masked)
        tokens = prediction.tokens_at(masked)
        rank = decision.rank(model, settings, decision.confidence, tokens)
        best = most_confident(rank, 1)
        if settings.cycle == "reopen":
            best = [i for i in masked if rank[i] > settings.tau_u] or best
        decision.commit(best, tokens)
        decision.events["accepted"] = best
        decision.notes["w"] = "Last passes: the remaining blanks are filled, the surest first; nothing is checked."
        return decision

    # Its words.

    def say(self, step: Step, position: int, words: Words) -> str:
        i, settings = position, step.settings
        before, after = step.states_before[i], step.states[i]
        if i in step.accepted and before == MASKED and step.weights[i] is None:
            return self.say_filled(step, i, words)
        if step.mask is None and i not in step.decided:  # the pass after the end was called looks at masks only
            what = f"{words.place(i)} stays masked" if after == MASKED else f"{words.at(step.tokens, i)} stays as it is"
            which = "surest masked positions" if settings.get("cycle") == "reopen" else "surest masked position"
            return f"{what}: the block had stopped moving, and this pass only fills the {which}."
        if before == MASKED:
            return self.say_masked(step, i, words)
        token, c = words.at(step.tokens_before, i), step.confidence[i]
        if settings["verify"] == "held":
            judged = f"the shadow gives it {{}}{words.other_guess(step, i, 's')}"
        else:
            best = words.quote(step.tokens[i]) if after != MASKED else words.guess(step, i, "s")
            judged = f"its best guess{' ' + best if best else ''} had confidence {{}}"
        seen = self.say_context(step, i, words)
        sure = judged.format(against(c, settings["tau_u"], "τ_u"))
        if i in step.accepted:
            return f"{token} was accepted as it stood: {seen}, {sure}, but decoding began to repeat itself."
        if after == MASKED:
            verdict = judged.format(against(c, settings["tau_c"], "τ_c"))
            if c > settings["tau_c"]:
                return f"{token} was revoked, although {seen}, {verdict}: {REOPENED}."
            return f"{token} was revoked: {seen}, {verdict}."
        if i in step.replaced:
            limit, symbol = ("tau_u", "τ_u") if after == UNMASKED else ("tau_c", "τ_c")
            new = words.quote(step.tokens[i])
            return f"{token} was replaced by {new}: {seen}, {judged.format(against(c, settings[limit], symbol))}."
        moves = {"CU": "was promoted", "UC": "was weakened to a candidate", "CC": "stays a candidate"}
        return f"{token} {moves.get(before + after, 'stays unmasked')}: {seen}, {sure}."

    def say_filled(self, step: Step, i: int, words: Words) -> str:
        """A position that was filled after the end of its block was called."""
        token, c, settings = words.at(step.tokens, i), step.confidence[i], step.settings
        if settings.get("cycle") == "reopen" and c > settings["tau_u"]:
            sure = against(c, settings["tau_u"], "τ_u")
            return f"{token} was committed: {sure}; the block had stopped moving, and what is sure is filled at once."
        alone = f"no other was above τ_u{rest(step)}"
        why = alone if settings.get("cycle") == "reopen" else "what is left is filled one by one"
        surest = f"as the surest masked position{rest(step)} ({number(c)})"
        return f"{token} was committed {surest}: the block had stopped moving, and {why}."

    def say_masked(self, step: Step, i: int, words: Words) -> str:
        """A masked position: two predictions, a weight, and where the mix stands between the thresholds."""
        after, c, w, settings = step.states[i], step.confidence[i], step.weights[i], step.settings
        x, s = words.guess(step, i, "x", True), words.guess(step, i, "s", True)
        start, end = step.block
        mask = step.mask
        row = None if mask is None else mask[i - start]
        candidates = [
            j
            for j in candidates_of(step.states_before, start, end)
            if (row is None or row[j - start]) and not step.hides(j, i)
        ]
        if not candidates:
            paths = "no candidate was in view"
        elif x and s:
            paths = (
                f"seeing {words.names(step.tokens_before, candidates)} the x path said {x}, "
                f"without candidates the s path said {s}"
            )
        else:
            paths = f"the x path saw {words.names(step.tokens_before, candidates)}"
        mixed = f"{paths}; mixed with w = {number(w)}" if w is not None and candidates else paths
        above_c = against(c, settings["tau_c"], "τ_c")
        if i in step.forced:
            return (
                f"{words.at(step.tokens, i)} entered as a candidate although {above_c}: "
                f"{mixed}, and no masked position passed{rest(step)}, so the surest one did."
            )
        if after == MASKED:
            best = words.guess(step, i, "mix")
            said = f"the best guess {best} has " if best else "the best guess has "
            if c > settings["tau_c"]:
                return f"{words.place(i)} stays masked, although {mixed}, {said}{above_c}: {REOPENED}."
            return f"{words.place(i)} stays masked: {mixed}, {said}{above_c}."
        token = words.at(step.tokens, i)
        if i in step.accepted:
            return f"{token} was decided ({number(c)}) and accepted as it stood: decoding began to repeat itself."
        if after == CANDIDATE:
            low, high = settings["tau_c"], settings["tau_u"]
            n = decimals(c, low, high)
            between = f"{c:.{n}f}, above τ_c = {low:.{n}f} and not above τ_u = {high:.{n}f}"
            return f"{token} became a candidate: {mixed}, it has {between}."
        return f"{token} was unmasked at once: {mixed}, it has {against(c, settings['tau_u'], 'τ_u')}."

    def say_context(self, step: Step, i: int, words: Words) -> str:
        """Which candidates the verification of i saw, and which it did not."""
        start, end = step.block
        mask = step.mask
        others = [j for j in candidates_of(step.states_before, start, end) if j != i and not step.hides(j, i)]
        row = None if mask is None else mask[end - start + i - start]
        seen = [j for j in others if row is None or row[j - start]]
        hidden = [j for j in others if row is not None and not row[j - start]]
        why_seen, why_hidden, *_ = ORDER_WORDS[step.settings["ordering"]]
        if step.states_before[i] == UNMASKED:
            why_hidden = "only candidates" if len(hidden) > 1 else "only a candidate"
        parts = []
        if seen:
            parts.append(f"with {words.names(step.tokens_before, seen)} ({why_seen})")
        if hidden:
            parts.append(f"without {words.names(step.tokens_before, hidden)} ({why_hidden})")
        return "seen " + " and ".join(parts) if parts else "seen with unmasked tokens only"


@lru_cache(maxsize=8)
def candidates_of(states: str, start: int, end: int) -> list[int]:
    """The candidates of a block; a step's sentences all ask for the same."""
    return [j for j in range(start, end) if states[j] == CANDIDATE]
