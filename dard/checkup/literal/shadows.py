"""DARD and WINO, literally: the decoders with a shadow block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from dard.checkup.literal.passes import (
    C,
    Gap,
    M,
    Moment,
    Node,
    Sees,
    U,
    best,
    blocks_of,
    plain_pass,
    probabilities,
    shadow_pass,
)


def dard_sees_x(
    query_path: str, i: int, query_state: str, r_i: float, j: int, key_state: str, r_j: float, ordering: str
) -> bool:
    """The table of §2.1 for one cell: whether the query at i sees x_j (otherwise it sees s_j)."""
    if query_path == "s" and i == j:
        return False
    if key_state == U:
        return True
    if query_state == M:
        return query_path == "x"
    if query_state == C and key_state == C:
        if ordering == "bidirectional":
            return True
        if ordering == "l2r":
            return j <= i
        return r_i <= r_j
    return False


def dard_visibility(state: list[str], reliable: list[float], ordering: str, outside: str) -> Sees:
    """Who sees whom in one pass, the outside included."""

    def sees(query: Node, key: Node) -> bool:
        (q_path, i), (k_path, j) = query, key
        if k_path == "out":
            return True
        if q_path == "out":
            x = outside == "all" or state[j] == U
        else:
            x = dard_sees_x(q_path, i, state[i], reliable[i], j, state[j], reliable[j], ordering)
        return x if k_path == "x" else not x

    return sees


def dard(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    tau_c: float,
    tau_u: float,
    lambda_: float = 0.5 ** (1 / 8),
    p0: float = 0.1,
    ordering: str = "confidence",
    mixing: str | float = "adaptive",
    verify: str = "held",
    outside: str = "reliable",
    cycle: str = "accept",
    commit_after: int | None = None,
) -> Iterator[Moment]:
    """Dependency-aware revocable decoding (§2)."""
    gap = Gap()
    tokens = list(region)
    fixed = [t != mask_id for t in tokens]
    state = [U if f else M for f in fixed]
    c = [1.0 if f else 0.0 for f in fixed]
    reliable = list(c)

    def letter(value: float) -> str:
        if gap.above(value, tau_u):
            return U
        return C if gap.above(value, tau_c) else M

    def without_mask(row: Tensor) -> Tensor:
        row = row.clone()
        row[mask_id] = -math.inf
        return row

    def order_value(p: Tensor, confidence: float) -> float:
        if ordering == "entropy":
            return float(sum(q * math.log(q) for q in p.tolist() if q > 0))  # minus the entropy
        if ordering == "margin":
            first, second = p.topk(2).values.tolist()
            return first - second
        return confidence

    for block in blocks_of(len(tokens), block_length):
        if all(state[i] == U for i in block):
            continue
        history = [([tokens[i] for i in block], [state[i] for i in block])]
        cap = commit_after or 2 * len(block)
        passes = 0
        reason = "all unmasked"
        filling = False
        while any(state[i] != U for i in block):
            if filling:  # the block stopped moving: what is left is committed in confidence order
                logits = plain_pass(network, prompt, tokens)
                found = {i: best(probabilities(without_mask(logits[i])), mask_id, gap) for i in block if state[i] == M}
                chosen = gap.order({i: f[1] for i, f in found.items()})[:1]
                if cycle == "reopen":
                    chosen = [i for i in found if gap.above(found[i][1], tau_u)] or chosen
                for i in found:
                    c[i] = found[i][1]
                for i in chosen:
                    tokens[i], state[i] = found[i][0], U
                done = all(state[i] == U for i in block)
                nothing: list[float | None] = [None] * len(tokens)
                ended = reason if done else None
                yield Moment(list(tokens), "".join(state), list(c), nothing, gap.smallest, ended_by=ended)
                continue

            candidates = {i: reliable[i] for i in block if state[i] == C}
            if ordering not in ("l2r", "bidirectional"):
                gap.order(candidates)
            sees = dard_visibility(state, reliable, ordering, outside)
            x_logits, s_logits = shadow_pass(network, prompt, tokens, block, mask_id, sees)
            passes += 1
            new_c, new_reliable, new_tokens = list(c), list(reliable), list(tokens)
            new_state = list(state)
            for i in block:  # verify
                if state[i] == M or fixed[i]:
                    continue
                p = probabilities(without_mask(s_logits[i - block.start]))
                if verify == "held":
                    new_c[i] = float(p[tokens[i]])
                else:
                    new_tokens[i], new_c[i] = best(p, mask_id, gap)
                new_reliable[i] = order_value(p, new_c[i])
                new_state[i] = letter(new_c[i])
            promoted = [i for i in block if state[i] == C and new_state[i] == U]
            demoted = [i for i in block if state[i] == C and new_state[i] == M]
            weights: list[float | None] = [None] * len(tokens)
            masked = [i for i in block if state[i] == M]
            for i in masked:  # mix
                big_p = sum(lambda_ ** abs(i - j) for j in promoted)
                big_d = sum(lambda_ ** abs(i - j) for j in demoted)
                w = (big_p + p0) / (big_p + big_d + p0) if mixing == "adaptive" else float(mixing)
                weights[i] = w
                mixed = torch.tensor(w, dtype=torch.float32) * x_logits[i]
                mixed = mixed + torch.tensor(1 - w, dtype=torch.float32) * s_logits[i - block.start]
                p = probabilities(without_mask(mixed))
                new_tokens[i], new_c[i] = best(p, mask_id, gap)
                new_reliable[i] = order_value(p, new_c[i])
                new_state[i] = letter(new_c[i])
            if masked and all(new_state[i] == M for i in masked):
                new_state[gap.order({i: new_c[i] for i in masked})[0]] = C
            for i in block:
                if new_state[i] == M:
                    new_tokens[i] = mask_id
            tokens, state, c, reliable = new_tokens, new_state, new_c, new_reliable
            here = ([tokens[i] for i in block], [state[i] for i in block])
            done = all(state[i] == U for i in block)
            if not done and (here in history or passes == cap):
                moved = set()
                if here in history:
                    period = len(history) - max(k for k, past in enumerate(history) if past == here)
                    reason = "fixed point" if period == 1 else f"period {period}"
                    for then_tokens, then_state in history[-period:]:
                        for k, i in enumerate(block):
                            if then_tokens[k] != tokens[i] or then_state[k] != state[i]:
                                moved.add(i)
                else:
                    reason = "cap"
                for i in block:
                    if cycle == "reopen" and (state[i] == C or i in moved):
                        tokens[i], state[i] = mask_id, M
                    elif state[i] == C:
                        state[i] = U
                filling = True
                done = all(state[i] == U for i in block)
            history.append(here)
            yield Moment(
                list(tokens),
                "".join(state),
                list(c),
                weights,
                gap.smallest,
                promoted,
                demoted,
                reason if done else None,
            )


# Softmax over the whole vocabulary, the mask token never chosen.


def wino(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    threshold: float,
    threshold_back: float,
) -> Iterator[Moment]:
    """WINO (§3): accept widely, verify the tokens of earlier steps in the shadow, take back the doubtful ones."""
    gap = Gap()
    tokens = list(region)
    fixed = [t != mask_id for t in tokens]
    c = [1.0 if f else 0.0 for f in fixed]
    for block in blocks_of(len(tokens), block_length):
        last_accept = 30

        def sees(query: Node, key: Node) -> bool:
            if query[0] != "s":
                return key[0] != "s"
            return not (key[0] == "x" and key[1] == query[1])

        while any(tokens[i] == mask_id for i in block):
            masked = sum(tokens[i] == mask_id for i in range(block.stop))
            max_accept = min(max(int(0.7 * masked), 5), 20)
            x_logits, s_logits = shadow_pass(network, prompt, tokens, block, mask_id, sees)
            guess: dict[int, int] = {}
            confidence: dict[int, float] = {}
            for i in block:
                if tokens[i] == mask_id:
                    guess[i], confidence[i] = best(probabilities(x_logits[i]), mask_id, gap)
            ranked = sorted(confidence, key=lambda i: (-confidence[i], i))
            accepted = [i for i in ranked if gap.above(confidence[i], threshold)]
            if not 0 < len(accepted) <= max_accept:
                gap.order(confidence)
                accepted = accepted[:max_accept] or ranked[:1]
            held: dict[int, float] = {}
            for i in block:
                if tokens[i] != mask_id and not fixed[i]:
                    held[i] = float(probabilities(s_logits[i - block.start])[tokens[i]])
            remask: list[int] = []
            if len(accepted) > 1:
                low_first = sorted(held, key=lambda i: (held[i], i))
                remask = [i for i in low_first if gap.above(threshold_back, held[i])]
                if len(remask) >= last_accept:
                    gap.order({i: held[i] for i in remask})
                    remask = remask[: last_accept - 1]
            for i in accepted:
                tokens[i] = guess[i]
            for i in remask:
                tokens[i] = mask_id
            last_accept = len(accepted)
            for i, value in (confidence | held).items():
                c[i] = value
            states = "".join(M if t == mask_id else U for t in tokens)
            done = all(tokens[i] != mask_id for i in block)
            none: list[float | None] = [None] * len(tokens)
            ended = "all unmasked" if done else None
            yield Moment(list(tokens), states, list(c), none, gap.smallest, demoted=sorted(remask), ended_by=ended)
