"""ReMix (Rejection Mixing): a mask that is not sure yet goes into the next pass as a mix of the words it may become.

A plain forward pass, no shadow, and a committed token is never taken back. Every pass commits what is sure enough; for
the rest the prediction is compared with the one of the pass before, and where they are too far apart the mix is
rejected: the next pass sees a plain mask there. A rejected position has no prediction left to compare with, which
counts as a distance of about 0.35, so with a lower threshold a rejection lasts until the token is committed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dard.about import About, Column, Event
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.predict import SLICE_VALUES
from dard.decoders.standard import GUESS
from dard.models.base import Answer, Model, Question, Soft
from dard.settings import Settings, setting
from dard.state import MASKED, UNMASKED, DecodeState
from dard.trace import Step
from dard.words import Words, against, number

WORDS = 50  # a mix is made of at most
ALPHA_LEAST, ALPHA_MOST = 0.2, 0.9  # of the probability, as much as twice the largest
ACCEPT_SHARE, ACCEPT_LEAST, ACCEPT_MOST = 0.7, 5, 20  # how many tokens a pass may commit, of those still masked
EPSILON = torch.finfo(torch.float32).eps  # what a probability counts at least when predictions are compared
STICKY = 0.34  # a rejected position is about ln 2 / 2 away from whatever it predicts next


@dataclass(frozen=True, kw_only=True)
class RemixSettings(Settings):
    threshold: float = setting(0.9, "confidence above which a token is committed", float, symbol="τ", low=0, high=1)
    js_threshold: float = setting(
        0.3, "distance of two predictions above which a mix is rejected (Jensen–Shannon, in nats)", float,
        symbol="JS", low=0, high=1,
    )  # fmt: skip
    beta_mix: float = setting(0.5, "share of a mix; the rest is mask", float, symbol="β", low=0, high=1)


@dataclass(frozen=True)
class Memory:
    """The predictions of the previous pass, as far as they are still needed: `starts` [n + 1] says where a position's
    `ids` and `p` begin. What is below ε is left out: it counts as ε in a comparison, and no mix reaches down to it. So
    a session can keep its past. A rejected position has none. `ready`: whether the next pass mixes."""

    positions: tuple[int, ...]
    starts: Tensor
    ids: Tensor
    p: Tensor
    ready: bool

    @classmethod
    def of(cls, positions: list[int], p: Tensor, ready: bool) -> Memory:
        kept = p > EPSILON
        starts = torch.cat([torch.zeros(1, dtype=torch.long), kept.sum(dim=1).cumsum(0).cpu()])
        return cls(tuple(positions), starts, kept.nonzero()[:, 1].int().cpu(), p[kept].cpu(), ready)

    def rows(self, positions: list[int], like: Tensor) -> Tensor:
        """The probabilities at these positions, ε where there is none, [n, vocab]."""
        found = torch.full_like(like, EPSILON)
        for row, i in enumerate(positions):
            part = self.part(i)
            found[row, self.ids[part].long().to(like.device)] = self.p[part].to(like.device)
        return found

    def part(self, position: int) -> slice:
        number = self.positions.index(position)
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def rejected(self, position: int) -> bool:
        part = self.part(position)
        return part.start == part.stop


class Remix(Decoder):
    name = "remix"
    title = "ReMix"
    rule = "masks that are made of words"
    Settings = RemixSettings
    needs = frozenset({"soft"})
    about = About(
        paths=[GUESS],
        columns=[
            Column("words", "soft", "how much of a masked position is words in the next pass; the rest is mask",
                   range=(0, 1)),
            Column("js", "JS", "distance of the prediction from the one of the pass before", range=(0, 1)),
        ],
        thresholds=["threshold"],
        events={
            "rejected": Event("mix rejected", "the prediction moved too far since the pass before: the next pass sees "
                              "a plain mask here", "⊘", "js"),
            "still_rejected": Event("still rejected", "a rejected mix leaves nothing to compare with, which counts as "
                                    "moving too far again", "⊘"),
        },
    )  # fmt: skip
    grid = sweep("threshold", 0.5, 0.6, 0.7, 0.8, 0.9)

    def begin_block(self, settings: RemixSettings, state: DecodeState) -> Memory | None:
        """The predictions outlive the block; that they may be mixed does not."""
        return state.memory and replace(state.memory, ready=False)

    def ask(self, model: Model, settings: RemixSettings, state: DecodeState) -> Question:
        masked = state.free(MASKED)
        question = plain_question(model, state, masked + ahead(state))
        if state.memory is None or not state.memory.ready:
            return question
        ids, weights = mixes(state.memory, masked, settings.beta_mix, model.mask_id)
        return replace(question, soft=Soft(torch.tensor(masked) + len(state.prompt), ids, weights))

    def decide(
        self, model: Model, settings: RemixSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked, last, memory = state.free(MASKED), ahead(state), state.memory
        p = torch.softmax(answer.logits, dim=-1)  # with the mask's share
        prediction = predict_published(model, settings, state, answer.logits[: len(masked)], precision=p.dtype)
        decision = Decision(confidence=prediction.confidence_at(masked), paths={"x": (masked, prediction)})

        # Commit.
        above = {i: c for i, c in decision.confidence.items() if c > settings.threshold}
        chosen = most_confident(above, accepted_at_most(masked)) or most_confident(decision.confidence, 1)
        decision.commit(chosen, prediction.tokens_at(masked))
        if not above:
            decision.events["forced"] = chosen

        # Compare what is left with the pass before, and remember it.
        left = [(row, i) for row, i in enumerate([*masked, *last]) if i not in chosen]
        p = p[[row for row, _ in left]]
        open_ = [i for _, i in left if i in decision.confidence]
        if memory is not None and open_:
            distance = dict(zip(open_, distances(memory, open_, p[: len(open_)]).tolist(), strict=True))
            rejected = [i for i in open_ if distance[i] > settings.js_threshold]
            p[[open_.index(i) for i in rejected]] = 0.0
            decision.columns["js"] = distance
            decision.events["rejected"] = [i for i in rejected if not memory.rejected(i)]
            decision.events["still_rejected"] = [i for i in rejected if memory.rejected(i)]
        decision.memory = Memory.of([i for _, i in left], p, memory is not None)
        if state.record and memory is not None and open_:
            ids, weights = mixes(decision.memory, open_, settings.beta_mix, model.mask_id)
            words = weights[:, :-1].masked_fill(ids[:, :-1] == model.mask_id, 0.0)
            leading = words.argsort(dim=1, descending=True, stable=True)
            decision.soft = (open_, ids[:, :-1].gather(1, leading), words.gather(1, leading))
            decision.columns["words"] = dict(zip(open_, words.sum(dim=1).clamp(max=1).tolist(), strict=True))
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        token, c, tau = words.quote(step.tokens[position]), step.confidence[position], step.settings["threshold"]
        if step.states_before[position] == UNMASKED:
            return f"{token} is committed; this decoder never takes a token back."
        compared = against(c, tau, "τ")
        if step.states[position] != MASKED:
            if position in step.forced:
                return f"{token} was committed although {compared}: no position passed, so the surest one did."
            return f"{token} was committed: {compared}."
        best = words.guess(step, position, "x") or "its best guess"
        why = f"{best} has {compared}"
        if c > tau:
            why = f"{best} has {number(c)}, but a pass commits only so many at a time"
        distance, limit = step.column("js")[position], step.settings["js_threshold"]
        said = f"Position {position} stays masked: {why}"
        if distance is None:
            return f"{said}. It is compared with the next pass, and mixed after that."
        moved = against(distance, limit, "the JS threshold")
        if position in step.happened("still_rejected"):
            return f"{said}. Its mix stays rejected: with nothing to compare it with, JS is {moved}."
        if position in step.happened("rejected"):
            lasts = " and all later ones do: an empty mix is about 0.35 away from any prediction"
            plain = f"The next pass sees a plain mask{lasts if limit < STICKY else ''}"
            return f"{said}. Its mix was rejected: JS to the pass before is {moved}. {plain}."
        share = step.column("words")[position] or 0.0
        made = " and ".join(words.quote(word) for word, p in (step.soft.at(position) if step.soft else [])[:2] if p)
        mixed = f"made of {made} and mask" if made else "made of mask alone"
        return f"{said}. JS to the pass before is {moved}: it goes on {mixed}, {share:.0%} words."


def accepted_at_most(masked: list[int]) -> int:
    return min(max(int(ACCEPT_SHARE * len(masked)), ACCEPT_LEAST), ACCEPT_MOST)


def ahead(state: DecodeState) -> list[int]:
    """The masks of the next open block, if this pass can be the last one of its own: they are compared with it."""
    masked = state.free(MASKED)
    later = [i for i in range(state.block_range.stop, len(state.tokens)) if state.states[i] == MASKED]
    if not later or len(masked) > accepted_at_most(masked):
        return []
    return [i for i in later if i // state.block_length == later[0] // state.block_length]


def mixes(memory: Memory, positions: list[int], beta: float, mask_id: int) -> tuple[Tensor, Tensor]:
    """What masked positions are made of: words [n, m + 1] and their shares, the last one the mask's own."""
    ids = torch.full((len(positions), WORDS + 1), mask_id)
    weights = torch.zeros(len(positions), WORDS + 1)
    for row, i in enumerate(positions):
        part = memory.part(i)
        best = memory.p[part].topk(min(WORDS, part.stop - part.start))
        if not len(best.values):
            continue
        alpha = min(max(2 * float(best.values[0]), ALPHA_LEAST), ALPHA_MOST)
        kept = best.values.cumsum(0) <= alpha
        kept[0] = True
        ids[row, : len(kept)] = memory.ids[part][best.indices].long()
        weights[row, : len(kept)] = beta * best.values * kept
    weights[:, -1] = 1 - weights.sum(dim=1)
    return ids, weights


def distances(memory: Memory, positions: list[int], p: Tensor) -> Tensor:
    """The Jensen–Shannon distance of each row of p [n, vocab] from the prediction of the pass before, in nats."""
    found = []
    size = max(1, SLICE_VALUES // p.shape[1])
    for start in range(0, len(positions), size):
        now = p[start : start + size].clamp(min=EPSILON)
        then = memory.rows(positions[start : start + size], now)
        mean = (now + then) / 2
        found.append((torch.xlogy(now, now / mean) + torch.xlogy(then, then / mean)).sum(dim=1) / 2)
    return torch.cat(found)
