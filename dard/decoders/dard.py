"""Dependency-Aware Revocable Decoding (the paper's §3 and Algorithm 1).

Positions are masked, candidate or unmasked. Each step verifies what is decided from the shadow, in a context that
hides less reliable tokens, and predicts what is masked from a mix of two contexts: with and without the candidates.
Where the paper is silent (progress, the end of a block, what the outside sees) the rule is stated at its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from dard.attention import ORDERINGS, dard_mask, ordering_values, reliable_keys
from dard.decoders.base import (
    Decision,
    Decoder,
    has_outside,
    most_confident,
    noise_of,
    plain_question,
    shadow_question,
)
from dard.decoders.predict import Prediction, joined, mix_, predict, probability_of
from dard.models.base import Model, Question
from dard.settings import Settings, setting
from dard.state import CANDIDATE, MASKED, UNMASKED, DecodeState, InputError
from dard.trace import TOP_K
from dard.weights import mixing_weights

LAMBDA = 0.5 ** (1 / 8)  # the kernel halves every 8 positions

Picture = tuple[tuple[int, ...], str]  # tokens and states of a block


@dataclass(frozen=True, kw_only=True)
class DardSettings(Settings):
    tau_c: float = setting(
        0.6, "confidence above which a token becomes a candidate", float, symbol="τ_c", low=0, high=1
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
    max_steps: int | None = setting(
        None, "cap on the steps of a block; nothing: twice the block's length", int, low=1, high=100_000, optional=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau_c > self.tau_u:
            raise InputError(f"tau_c = {self.tau_c:g} is above tau_u = {self.tau_u:g}; tau_c must be at most tau_u")


@dataclass(frozen=True)
class Memory:
    """The block's earlier (tokens, states), the steps made in it, and why its commit phase began, if it did."""

    seen: tuple[Picture, ...]
    steps: int = 0
    committing: str | None = None


def picture(state: DecodeState) -> Picture:
    block = state.block_range
    return state.tokens[block.start : block.stop], state.states[block.start : block.stop]


class Dard(Decoder):
    name = "dard"
    title = "DARD"
    Settings = DardSettings
    states: ClassVar[str] = MASKED + CANDIDATE + UNMASKED
    has_shadow = True

    def begin_block(self, settings: DardSettings, state: DecodeState) -> Memory:
        return Memory(seen=(picture(state),))

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
        self, model: Model, settings: DardSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        if state.memory.committing:
            return self.commit_surest(model, settings, state, logits, record)
        masked, held = state.free(MASKED), state.free("CU")
        m = len(masked)
        logits_x, logits_s, logits_held = logits[:m], logits[m : 2 * m], logits[2 * m :]
        wants_entropy = settings.ordering == "entropy"
        decision = Decision()
        decision.block_mask, outside = self.masks(settings, state)
        decision.outside_keys = outside if has_outside(state) else None

        # Verify C and U from the shadow logits.
        judged = self.predict(model, settings, state, logits_held, wants_entropy, record, noise=False)
        if settings.verify == "argmax":
            verdict, confidence = judged.token, judged.probability
        else:
            verdict = torch.tensor([state.tokens[i] for i in held], dtype=torch.long, device=logits.device)
            confidence = probability_of(logits_held, verdict, judged)
        found = {i: (token, c) for i, token, c in zip(held, verdict.tolist(), confidence.tolist(), strict=True)}

        # P_t and D_t: what the verification did to the candidates.
        candidates = [i for i in held if state.states[i] == CANDIDATE]
        promoted = [i for i in candidates if self.state_of(settings, found[i][1]) == UNMASKED]
        demoted = [i for i in candidates if self.state_of(settings, found[i][1]) == MASKED]

        # Mix the two predictions of every masked position.
        P, D, w = mixing_weights(masked, promoted, demoted, settings.lambda_, settings.p0)
        if settings.mixing != "adaptive":
            w = [float(settings.mixing)] * m
        changes_x = any(value != 1 for value in w)
        if record:
            only_s = self.predict(model, settings, state, logits_s, wants_entropy, record, noise=False)
            decision.top["s"] = (masked + held, joined([only_s, judged]))
        if record and changes_x:
            decision.top["x"] = (masked, self.predict(model, settings, state, logits_x, False, record, noise=False))
        if changes_x:
            mix_(logits_x, logits_s, torch.tensor(w, dtype=torch.float32, device=logits.device))
        mixed = self.predict(model, settings, state, logits_x, wants_entropy, record, noise=True)
        found |= {
            i: (token, c) for i, token, c in zip(masked, mixed.token.tolist(), mixed.probability.tolist(), strict=True)
        }
        decision.weights = dict(zip(masked, w, strict=True))
        decision.score_p = dict(zip(masked, P, strict=True))
        decision.score_d = dict(zip(masked, D, strict=True))
        if record and masked:
            decision.top["mix"] = (masked, mixed)
            decision.top.setdefault("x", (masked, mixed))  # with w = 1 the mix is the x path

        # Transition: M if c ≤ τ_c, C if τ_c < c ≤ τ_u, U above.
        for i, (token, c) in found.items():
            letter = self.state_of(settings, c)
            decision.confidence[i] = c
            decision.states[i] = letter
            decision.tokens[i] = model.mask_id if letter == MASKED else token
        # Progress: if no masked position passes τ_c, the most confident one enters all the same.
        if masked and all(decision.states[i] == MASKED for i in masked):
            best = most_confident({i: found[i][1] for i in masked}, 1)[0]
            decision.tokens[best], decision.states[best] = found[best][0], CANDIDATE
            decision.forced = [best]
        if settings.ordering in ("entropy", "margin"):
            order = masked + held
            if wants_entropy:
                assert mixed.entropy is not None and judged.entropy is not None
                values = torch.cat([-mixed.entropy, -judged.entropy])
            else:
                values = torch.cat([mixed.margin(), judged.margin()])
            decision.reliability = dict(zip(order, values.tolist(), strict=True))
        self.look_for_the_end(model, settings, state, decision)
        return decision

    def predict(
        self,
        model: Model,
        settings: DardSettings,
        state: DecodeState,
        logits: Tensor,
        entropy: bool,
        record: bool,
        noise: bool,
    ) -> Prediction:
        sampling = noise_of(settings, state) if noise else {}
        top = TOP_K if record else 2
        return predict(logits, mask_id=model.mask_id, top=top, entropy=entropy, **sampling)

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
        elif steps >= (settings.max_steps or 2 * len(block)):
            reason = "cap"
        else:
            return
        decision.ended_by = reason
        decision.memory = replace(decision.memory, committing=reason)
        candidates = [i for i, letter in zip(block, now[1], strict=True) if letter == CANDIDATE]
        if settings.cycle == "accept":
            decision.accepted = candidates
            for i in candidates:
                decision.states[i] = UNMASKED
            return
        reopened = {i for k, i in enumerate(block) if len({(tokens[k], states[k]) for tokens, states in cycle}) > 1}
        reopened.update(candidates)
        decision.remask(sorted(reopened), model.mask_id)
        decision.forced = [i for i in decision.forced if i not in reopened]

    def commit_surest(
        self, model: Model, settings: DardSettings, state: DecodeState, logits: Tensor, record: bool
    ) -> Decision:
        """After the end was called, with everything in view: the surest masked position; if what was still moving has
        been reopened, every one above τ_u."""
        masked = state.free(MASKED)
        prediction = self.predict(model, settings, state, logits, False, record, noise=True)
        decision = Decision(memory=state.memory, ended_by=state.memory.committing)
        decision.confidence = dict(zip(masked, prediction.probability.tolist(), strict=True))
        tokens = dict(zip(masked, prediction.token.tolist(), strict=True))
        best = most_confident(decision.confidence, 1)
        if settings.cycle == "reopen":
            best = [i for i in masked if decision.confidence[i] > settings.tau_u] or best
        decision.commit(best, [tokens[i] for i in best])
        decision.accepted = best
        if record:
            decision.top["x"] = (masked, prediction)
        return decision
