"""Saber, standard, threshold and entropy-bound decoding, literally: a plain pass each, and a rule of what to commit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dard.checkup.literal.passes import Gap, M, Moment, U, best, blocks_of, plain_pass, probabilities


def saber(
    network: Any, prompt: list[int], region: list[int], mask_id: int, *, block_length: int, n: int, mu: int = 2
) -> Iterator[Moment]:
    """Saber (§3): commit what beats the mean of the committed, take back what lost most confidence."""
    gap = Gap()
    tokens = list(region)
    fixed = [t != mask_id for t in tokens]
    c: list[float | None] = [1.0 if f else None for f in fixed]
    at_commit: dict[int, float] = {}  # the last commit-time confidence of whatever was ever committed
    first_step = True
    for block in blocks_of(len(tokens), block_length):
        while any(tokens[i] == mask_id for i in range(block.stop)):
            logits = plain_pass(network, prompt, tokens)
            open_positions = [i for i in range(block.stop) if not fixed[i]]
            found = {i: best(probabilities(logits[i]), mask_id, gap) for i in open_positions}
            delta: dict[int, float] = {}
            for i in open_positions:
                before = c[i]
                if before is None:
                    delta[i] = found[i][1] if first_step else math.inf
                else:
                    delta[i] = found[i][1] - before
            threshold = sum(at_commit.values()) / len(at_commit) if at_commit else 1.0
            uncommitted = {i: found[i][1] for i in open_positions if tokens[i] == mask_id}
            chosen = [i for i in uncommitted if gap.above(uncommitted[i], threshold)]
            if len(chosen) < n:
                chosen = gap.order(uncommitted)[:n]
            for i in chosen:
                tokens[i] = found[i][0]
                at_commit[i] = found[i][1]
            taken: list[int] = []
            if any(tokens[i] == mask_id for i in range(block.stop)):
                count = max(n, len(chosen))
                k = min(max(n // mu, math.ceil(count / 8)), count - 1)
                committed = {i: -delta[i] for i in open_positions if tokens[i] != mask_id and delta[i] < math.inf}
                taken = gap.order(committed)[:k]
                for i in taken:
                    tokens[i] = mask_id
            for i in open_positions:
                c[i] = found[i][1]
            first_step = False
            states = "".join(M if t == mask_id else U for t in tokens)
            none: list[float | None] = [None] * len(tokens)
            ended = "all unmasked" if all(tokens[i] != mask_id for i in range(block.stop)) else None
            shown = [0.0 if value is None else value for value in c]
            yield Moment(list(tokens), states, shown, none, gap.smallest, demoted=sorted(taken), ended_by=ended)


def _committing(
    network: Any, prompt: list[int], region: list[int], mask_id: int, block_length: int, choose: Any
) -> Iterator[Moment]:
    """Decoders without revocation: `choose(ranked, confidence, probability rows, pass number, masks at the block's
    start, gap)` names the positions to commit."""
    gap = Gap()
    tokens = list(region)
    c = [1.0 if t != mask_id else 0.0 for t in tokens]
    for block in blocks_of(len(tokens), block_length):
        at_start = sum(tokens[i] == mask_id for i in block)
        number = 0
        while any(tokens[i] == mask_id for i in block):
            logits = plain_pass(network, prompt, tokens)
            rows = {i: probabilities(logits[i]) for i in block if tokens[i] == mask_id}
            found = {i: best(p, mask_id, gap) for i, p in rows.items()}
            confidence = {i: f[1] for i, f in found.items()}
            ranked = gap.order(confidence)
            for i in choose(ranked, confidence, rows, number, at_start, gap):
                tokens[i] = found[i][0]
            for i in confidence:
                c[i] = confidence[i]
            number += 1
            states = "".join(M if t == mask_id else U for t in tokens)
            none: list[float | None] = [None] * len(tokens)
            ended = "all unmasked" if all(tokens[i] != mask_id for i in block) else None
            yield Moment(list(tokens), states, list(c), none, gap.smallest, ended_by=ended)


def standard(
    network: Any, prompt: list[int], region: list[int], mask_id: int, *, block_length: int, steps: int | None
) -> Iterator[Moment]:
    """LLaDA's low-confidence decoding (§3): an even number of the surest positions per pass; `steps` counts the whole
    region and is spread over its blocks."""
    blocks = [b for b in blocks_of(len(region), block_length) if any(region[i] == mask_id for i in b)]

    def choose(ranked: list[int], confidence: Any, rows: Any, number: int, masks: int, gap: Gap) -> list[int]:
        passes = masks
        if steps is not None:
            (which,) = [k for k, b in enumerate(blocks) if ranked[0] in b]
            passes = steps // len(blocks)
            if which < steps % len(blocks):
                passes += 1
            passes = max(1, min(passes, masks))
        count = masks // passes + (1 if number < masks % passes else 0)
        return ranked[:count]

    return _committing(network, prompt, region, mask_id, block_length, choose)


def threshold(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    threshold: float = 0.9,
    factor: float | None = None,
) -> Iterator[Moment]:
    """Fast-dLLM: everything above the threshold, at least one; or the factor rule."""

    def choose(ranked: list[int], confidence: Any, rows: Any, number: int, masks: int, gap: Gap) -> list[int]:
        if factor is None:
            return [i for i in ranked if gap.above(confidence[i], threshold)] or ranked[:1]
        count = 0
        while count < len(ranked) and gap.above(factor / (count + 2), 1 - confidence[ranked[count]]):
            count += 1
        return ranked[: max(count, 1)]

    return _committing(network, prompt, region, mask_id, block_length, choose)


def entropy_bound(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    gamma: float,
    order: str = "confidence",
) -> Iterator[Moment]:
    """EB-Sampler: the longest prefix of the masks, the surest first, whose entropies, the largest left out, sum to at
    most γ. The largest is the largest of the prefix, wherever it stands in it."""

    def choose(ranked: list[int], confidence: Any, rows: Any, number: int, masks: int, gap: Gap) -> list[int]:
        if order == "entropy":
            ranked = gap.order({i: sum(q * math.log(q) for q in p.tolist() if q > 0) for i, p in rows.items()})
        elif order == "margin":
            margins = {}
            for i, p in rows.items():
                first, second = sorted((q for t, q in enumerate(p.tolist()) if t != mask_id), reverse=True)[:2]
                margins[i] = first - second
            ranked = gap.order(margins)
        entropy = [-sum(q * math.log(q) for q in rows[i].tolist() if q > 0) for i in ranked]
        longest = 1
        for k in range(2, len(ranked) + 1):
            if not gap.above(sum(entropy[:k]) - max(entropy[:k]), gamma):
                longest = k
        return ranked[:longest]

    return _committing(network, prompt, region, mask_id, block_length, choose)
