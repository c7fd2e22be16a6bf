"""ReMix (Rejection Mixing): a mask that is not sure yet goes into the next pass as a mix of the words it may become.

A plain forward pass, no shadow, and a committed token is never taken back. Every pass commits what is sure enough; for
the rest the prediction is compared with the one of the pass before, and where they are too far apart the mix is
rejected: the next pass sees a plain mask there. A rejected position has no prediction left to compare with, which
counts as a distance of about 0.35, so with a lower threshold a rejection lasts until the token is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dard.core.settings import Settings, setting
from dard.core.state import MASKED, UNMASKED, DecodeState
from dard.decoders.base import Decision, Decoder, most_confident, plain_question, predict_published, sweep
from dard.decoders.predict import SLICE_VALUES, top_values
from dard.decoders.standard import GUESS
from dard.decoders.wino import accept_at_most
from dard.models.base import Answer, Model, Question, Soft
from dard.trace import Step
from dard.trace.about import About, Column, Event
from dard.trace.words import Words, against, number

WORDS = 50  # a mix is made of at most
ALPHA_LEAST, ALPHA_MOST = 0.2, 0.9  # of the probability, as much as twice the largest
EPSILON = torch.finfo(torch.float32).eps  # what a probability counts at least when predictions are compared
SHARP = 0.25  # the share of values above ε up to which a list of them is smaller than all of them
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
    """What is left of the previous pass: the mixes made of its predictions, words [n, m] and their shares, the last one
    the mask's own; its predictions; `ready`, whether the next pass mixes; and the block that it is about.

    Of predictions that are sharp only what is above ε is kept, in `p` and `ids`, a position's from `starts` [n + 1] on:
    the rest counts as ε in a comparison anyway, and a session keeps its past. Others are kept whole, as `p` [n, vocab].
    """

    positions: tuple[int, ...]
    words: Tensor
    shares: Tensor
    rejected: frozenset[int]
    p: Tensor
    ids: Tensor | None
    starts: Tensor
    ready: bool
    block: int

    @classmethod
    def of(
        cls,
        positions: list[int],
        p: Tensor,
        rejected: Iterable[int],
        ready: bool,
        beta: float,
        mask_id: int,
        block: int,
    ) -> Memory:
        """From predictions p [n, vocab], which are 0 where they were rejected."""
        kept = p > EPSILON
        starts = torch.cat([torch.zeros(1, dtype=torch.long), kept.sum(dim=1).cumsum(0).cpu()])
        sharp = starts[-1] < SHARP * kept.numel()
        ids = kept.nonzero()[:, 1].int().cpu() if sharp else None
        left = (p[kept] if sharp else p).cpu()
        return cls(tuple(positions), *mixes(p, beta, mask_id), frozenset(rejected), left, ids, starts, ready, block)

    def with_plain(self, positions: list[int], mask_id: int) -> Memory:
        """The same with positions that nothing is remembered of: like rejected ones they are mask and no more."""
        count, width = len(positions), self.words.shape[1]
        shares = torch.zeros(count, width, dtype=self.shares.dtype)
        shares[:, -1] = 1
        return replace(
            self,
            positions=(*self.positions, *positions),
            words=torch.cat([self.words, torch.full((count, width), mask_id)]),
            shares=torch.cat([self.shares, shares]),
            rejected=self.rejected.union(positions),
            p=self.p if self.ids is not None else torch.cat([self.p, self.p.new_zeros(count, self.p.shape[1])]),
            starts=torch.cat([self.starts, self.starts[-1:].expand(count)]),
        )

    def rows(self, positions: list[int], like: Tensor) -> Tensor:
        """The probabilities at these positions, at least ε, [n, vocab]."""
        numbers = self.numbers(positions)
        if self.ids is None:
            return self.p[numbers].to(like.device).clamp_(min=EPSILON)
        p = torch.full_like(like, EPSILON)
        parts = [torch.arange(*self.starts[k : k + 2].tolist()) for k in numbers]
        where = torch.cat(parts) if parts else self.starts[:0]
        rows = torch.arange(len(parts)).repeat_interleave(torch.tensor([len(part) for part in parts], dtype=torch.long))
        row, word = torch.stack([rows, self.ids[where].long()]).to(like.device)  # to a device at once
        p[row, word] = self.p[where].to(like.device)
        return p

    def numbers(self, positions: list[int]) -> list[int]:
        """Which rows are theirs."""
        row = {i: k for k, i in enumerate(self.positions)}
        return [row[i] for i in positions]


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
        soft=True,
        events={
            "rejected": Event("mix rejected", "the prediction moved too far since the pass before: the next pass sees "
                              "a plain mask here", "⊘", "js"),
            "still_rejected": Event("still rejected", "a rejected mix leaves nothing to compare with, which counts as "
                                    "moving too far again; the paper does not say so", "⊘"),
        },
    )  # fmt: skip
    grid = sweep("threshold", 0.5, 0.6, 0.7, 0.8, 0.9)

    def begin_block(self, settings: RemixSettings, state: DecodeState) -> Memory | None:
        """The predictions outlive the block; that they may be mixed does not. What was masked by hand has none; nor has
        a block that was reached by hand: it begins as the first one does."""
        memory, masked = state.memory, state.free(MASKED)
        unknown = [i for i in masked if memory and i not in memory.positions]
        if memory is None or memory.block != state.block:
            return None if memory is None or unknown else replace(memory, ready=False, block=state.block)
        return memory.with_plain(unknown, state.tokens[unknown[0]]) if unknown else memory

    def ask(self, model: Model, settings: RemixSettings, state: DecodeState) -> Question:
        masked = state.free(MASKED)
        question = plain_question(model, state, masked + ahead(state))
        if state.memory is None or not state.memory.ready:
            return question
        rows = torch.tensor(state.memory.numbers(masked), device=state.memory.words.device)
        places = torch.tensor(masked) + len(state.prompt)
        return replace(question, soft=Soft(places, state.memory.words[rows], state.memory.shares[rows]))

    def decide(
        self, model: Model, settings: RemixSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        masked, last, memory = state.free(MASKED), ahead(state), state.memory
        p = torch.softmax(answer.logits, dim=-1)  # with the mask's share
        prediction = predict_published(model, settings, state, answer.logits[: len(masked)], precision=p.dtype)
        decision = Decision(confidence=prediction.confidence_at(masked), paths={"x": (masked, prediction)})

        # Commit.
        tokens = prediction.tokens_at(masked)
        rank = decision.rank(model, settings, decision.confidence, tokens)
        above = {i: c for i, c in rank.items() if c > settings.threshold}
        chosen = most_confident(above, accept_at_most(len(masked))) or most_confident(rank, 1)
        decision.commit(chosen, tokens)
        if not above:
            decision.events["forced"] = chosen

        # Compare what is left with the pass before, and remember it.
        left = [row for row, i in enumerate([*masked, *last]) if i not in chosen]
        open_, p = [i for i in masked if i not in chosen], p[left]
        rejected: list[int] = []
        if memory is not None and open_:
            distance = distances(memory, open_, p[: len(open_)])
            far = distance > settings.js_threshold
            p[: len(open_)].masked_fill_(far[:, None], 0.0)
            moved, js = torch.stack([far.to(distance), distance]).tolist()
            rejected = [i for i, much in zip(open_, moved, strict=True) if much]
            decision.columns["js"] = dict(zip(open_, js, strict=True))
            decision.events["rejected"] = [i for i in rejected if i not in memory.rejected]
            decision.events["still_rejected"] = [i for i in rejected if i in memory.rejected]
        mixed = (rejected, memory is not None, settings.beta_mix, model.mask_id, state.block)
        made = Memory.of([*open_, *last], p, *mixed)
        decision.memory = made
        if state.record and made.ready and open_:
            shares = made.shares[: len(open_)].masked_fill(made.words[: len(open_)] == model.mask_id, 0.0)
            leading = shares.argsort(dim=1, descending=True, stable=True)
            decision.soft = (open_, made.words[: len(open_)].gather(1, leading), shares.gather(1, leading))
            decision.columns["words"] = dict(zip(open_, shares.sum(dim=1).clamp(max=1).tolist(), strict=True))
        return decision

    def say(self, step: Step, position: int, words: Words) -> str:
        token, c, tau = words.at(step.tokens, position), step.confidence[position], step.settings["threshold"]
        if step.states_before[position] == UNMASKED:
            return f"{token} is committed; this decoder never takes a token back."
        compared = against(c, tau, "τ")
        if step.states[position] != MASKED:
            if position in step.forced:
                return f"{token} was committed although it has {compared}: no position passed, so the surest one did."
            return f"{token} was committed: {compared}."
        best = words.guess(step, position, "x") or "its best guess"
        why = f"{best} has {compared}"
        if c > tau:
            why = f"{best} has {number(c)}, but a pass commits only so many at a time"
        distance, limit = step.column("js")[position], step.settings["js_threshold"]
        said = f"{words.place(position)} stays masked: {why}"
        if distance is None:
            return f"{said}. It is compared with the next pass, and mixed after that."
        moved = against(distance, limit, "the JS threshold")
        if position in step.happened("still_rejected"):
            return f"{said}. Its mix stays rejected: with nothing to compare it with, JS is {moved}."
        if position in step.happened("rejected"):
            lasts = ", and so do all later ones: an empty mix is about 0.35 away from any prediction"
            plain = f"The next pass sees a plain mask{lasts if limit < STICKY else ''}"
            return f"{said}. Its mix was rejected: JS to the pass before is {moved}. {plain}."
        share = step.column("words")[position] or 0.0
        made = " and ".join(words.quote(word) for word, p in (step.soft.at(position) if step.soft else [])[:2] if p)
        mixed = f"made of {made} and mask" if made else "made of mask alone"
        return f"{said}. JS to the pass before is {moved}: it goes on {mixed}, {share:.0%} words."


def ahead(state: DecodeState) -> list[int]:
    """The masks of the next open block, if this pass can be the last one of its own: they are compared with it."""
    masked = state.free(MASKED)
    later = [i for i in range(state.block_range.stop, len(state.tokens)) if state.states[i] == MASKED]
    if not later or len(masked) > accept_at_most(len(masked)):
        return []
    return [i for i in later if state.block_of(i) == state.block_of(later[0])]


def mixes(p: Tensor, beta: float, mask_id: int) -> tuple[Tensor, Tensor]:
    """What masked positions with predictions p [n, vocab] are made of: words [n, m] and shares; the last is mask."""
    best, ids = top_values(p, min(WORDS, p.shape[1]))
    alpha = (2 * best[:, :1]).clamp(ALPHA_LEAST, ALPHA_MOST)
    kept = best.cumsum(dim=1) <= alpha
    kept[:, 0] = True
    shares = beta * best * kept
    rest = 1 - shares.sum(dim=1, keepdim=True)
    words = torch.cat([ids, torch.full_like(ids[:, :1], mask_id)], dim=1)
    wide = torch.promote_types(p.dtype, torch.float32)  # holds ids exactly: both leave a device at once
    both = torch.stack([words.to(wide), torch.cat([shares, rest], dim=1).to(wide)]).cpu()
    return both[0].long(), both[1].to(p.dtype)


def distances(memory: Memory, positions: list[int], p: Tensor) -> Tensor:
    """The Jensen–Shannon distance of each row of p [n, vocab] from the prediction of the pass before, in nats."""
    slices = []
    size = max(1, SLICE_VALUES // p.shape[1] // 4)  # four arrays at a time
    for start in range(0, len(positions), size):
        now = p[start : start + size].clamp(min=EPSILON)
        then = memory.rows(positions[start : start + size], now)
        mean = (now + then).mul_(0.5)
        slices.append((now / mean).log_().mul_(now).sum(dim=1) + then.div(mean).log_().mul_(then).sum(dim=1))
    return torch.cat(slices) / 2
