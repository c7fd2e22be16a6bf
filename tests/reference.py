"""Slow, literal references of the decoders, written from ALGORITHMS.md and the paper before reading our code.

Plain loops over positions, one full forward of the network per step with the head on every row, softmax in float64.
Nothing here imports `dard`. Each function yields one `Moment` per forward pass.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

M, C, U = "M", "C", "U"
Node = tuple[str, int]
Sees = Callable[[Node, Node], bool]


@dataclass
class Moment:
    """The region after one pass. `closest` is the smallest gap of any comparison made up to and in this pass: where it
    is tiny, float32 noise may decide otherwise and a comparison with another implementation says nothing."""

    tokens: list[int]
    states: str
    confidence: list[float]
    weights: list[float | None]
    closest: float
    promoted: list[int] = field(default_factory=list)
    demoted: list[int] = field(default_factory=list)
    ended_by: str | None = None
    columns: dict[str, dict[int, float]] = field(default_factory=dict)
    events: dict[str, list[int]] = field(default_factory=dict)


class Gap:
    """The smallest distance between two compared numbers so far."""

    def __init__(self) -> None:
        self.smallest = math.inf

    def above(self, value: float, limit: float) -> bool:
        self.smallest = min(self.smallest, abs(value - limit))
        return value > limit

    def order(self, values: dict[int, float]) -> list[int]:
        """Positions from the highest value to the lowest, leftmost first among equals."""
        ranked = sorted(values)
        ranked.sort(key=lambda i: -values[i])
        for a, b in pairwise(ranked):
            self.smallest = min(self.smallest, abs(values[a] - values[b]))
        return ranked


@torch.no_grad()
def all_logits(network: Any, ids: list[int], positions: list[int], mask: Tensor) -> Tensor:
    """Logits of every row, float32 [S, vocab]."""
    return network(
        input_ids=torch.tensor([ids]),
        position_ids=torch.tensor([positions]),
        attention_mask=mask[None, None],
        use_cache=False,
    ).logits[0]


def probabilities(row: Tensor) -> Tensor:
    return torch.softmax(row.double(), dim=-1)


def best(p: Tensor, mask_id: int, gap: Gap) -> tuple[int, float]:
    """The most probable token that is not the mask, and its probability."""
    p = p.clone()
    p[mask_id] = -1.0
    two = p.topk(2).values
    gap.smallest = min(gap.smallest, float(two[0] - two[1]))
    token = int(p.argmax())
    return token, float(p[token])


def blocks_of(length: int, block_length: int) -> list[range]:
    return [range(a, min(a + block_length, length)) for a in range(0, length, block_length)]


def plain_pass(network: Any, prompt: list[int], tokens: list[int]) -> Tensor:
    """Logits of the region when everything sees everything."""
    ids = prompt + tokens
    mask = torch.ones(len(ids), len(ids), dtype=torch.bool)
    return all_logits(network, ids, list(range(len(ids))), mask)[len(prompt) :]


def shadow_pass(
    network: Any, prompt: list[int], tokens: list[int], block: range, mask_id: int, sees: Sees
) -> tuple[Tensor, Tensor]:
    """Logits of the region and of the shadow block. `sees(query, key)` is asked for every pair of nodes; a node is
    ("out", number), ("x", position) or ("s", position)."""
    nodes: list[Node] = [("out", -1 - k) for k in range(len(prompt))]
    nodes += [("x", i) if i in block else ("out", i) for i in range(len(tokens))]
    nodes += [("s", i) for i in block]
    mask = torch.tensor([[bool(sees(q, k)) for k in nodes] for q in nodes])
    before = len(prompt)
    ids = prompt + tokens + [mask_id] * len(block)
    positions = list(range(before + len(tokens))) + [before + i for i in block]
    logits = all_logits(network, ids, positions, mask)
    return logits[before : before + len(tokens)], logits[before + len(tokens) :]


# DARD


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


# Baselines: softmax over the whole vocabulary, the mask token never chosen.


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


# The rivals.


@cache
def eager(network: Any) -> Any:
    """The same network, with an attention whose weights can be asked for."""
    twin = copy.deepcopy(network)
    twin.set_attn_implementation("eager")
    return twin


@torch.no_grad()
def attentions(network: Any, ids: list[int]) -> list[Tensor]:
    """softmax(QKᵀ/√d) of every layer when everything sees everything: [heads, S, S] each."""
    found = eager(network)(
        input_ids=torch.tensor([ids]),
        position_ids=torch.arange(len(ids))[None],
        attention_mask=torch.zeros(1, 1, len(ids), len(ids)),
        output_attentions=True,
        use_cache=False,
    ).attentions
    return [layer[0].float() for layer in found]


def dapd(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    variant: str = "staged",
    layer_ratio: float = 0.3,
    tau_min: float = 0.01,
    tau_max: float = 0.15,
) -> Iterator[Moment]:
    """DAPD (§3): a greedy set of masks no two of which depend on one another by more than τ."""
    gap = Gap()
    tokens = list(region)
    gen_length = sum(t == mask_id for t in region)
    c = [1.0 if t != mask_id else 0.0 for t in tokens]
    before = len(prompt)
    for block in blocks_of(len(tokens), block_length):
        while any(tokens[i] == mask_id for i in block):
            logits = plain_pass(network, prompt, tokens)
            layers = attentions(network, prompt + tokens)
            n = len(layers)
            last = layers[n - (n - int(n * (1 - layer_ratio))) :]
            a = sum(layer.mean(dim=0) for layer in last) / len(last)
            masks = [i for i in block if tokens[i] == mask_id]
            s = {
                (i, j): 0.0 if i == j else float(a[before + i, before + j] + a[before + j, before + i]) / 2
                for i in masks
                for j in masks
            }
            degree = {i: sum(s[i, j] for j in masks) for i in masks}
            d = {(i, j): s[i, j] / max(*(s[i, k] for k in masks), 1e-8, 1e-8) for i in masks for j in masks}
            found, conf = {}, {}
            for i in masks:
                found[i] = best(probabilities(logits[i]), mask_id, gap)[0]
                conf[i] = float(torch.softmax(logits[i].float(), dim=-1)[found[i]])
            masks_left = sum(t == mask_id for t in tokens)
            progress = 1 - masks_left / gen_length
            tau = tau_min + (tau_max - tau_min) * progress
            top_degree, top_conf = max(degree.values()), max(conf.values())
            order = gap.order({i: (degree[i] / (top_degree + 1e-8)) * (conf[i] / (top_conf + 1e-8)) for i in masks})
            certain = [i for i in masks if variant == "direct" and conf[i] >= 1.0]
            accepted: list[int] = []
            for i in order:
                if i in certain:
                    continue
                too_near = [j for j in accepted if gap.above(d[i, j], tau)]
                if not too_near:
                    accepted.append(i)
            commit = set(accepted) | set(certain)
            if variant == "staged" and progress >= 0.5:
                commit |= {i for i in masks if not gap.above(0.9, conf[i])}
            if not commit:
                commit = {gap.order(conf)[0]}
            for i in masks:
                c[i] = conf[i]
            for i in commit:
                tokens[i] = found[i]
            states = "".join(M if t == mask_id else U for t in tokens)
            none: list[float | None] = [None] * len(tokens)
            ended = "all unmasked" if all(tokens[i] != mask_id for i in block) else None
            waits = [i for i in masks if i not in commit]
            yield Moment(
                list(tokens), states, list(c), none, gap.smallest, ended_by=ended,
                columns={"degree": degree}, events={"waits": waits},
            )  # fmt: skip


@torch.no_grad()
def remix(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    threshold: float = 0.9,
    js_threshold: float = 0.3,
    beta_mix: float = 0.5,
) -> Iterator[Moment]:
    """ReMix (§3): masks as mixes of their likely words, plain again where the prediction jumped."""
    gap = Gap()
    eps = torch.finfo(torch.float32).eps
    tokens = list(region)
    c = [1.0 if t != mask_id else 0.0 for t in tokens]
    w = network.get_input_embeddings().weight
    before = len(prompt)
    h: list[list[float]] | None = None  # of the whole region; the prompt has no masks
    for block in blocks_of(len(tokens), block_length):
        ready = False
        while masks := [i for i in range(block.stop) if tokens[i] == mask_id]:
            e = w[torch.tensor(prompt + tokens)].clone()
            if ready:
                assert h is not None
                for i in masks:
                    ranked = sorted(range(len(h[i])), key=lambda v: -h[i][v])[:50]
                    alpha = min(max(2 * h[i][ranked[0]], 0.2), 0.9)
                    kept, total = [], 0.0
                    for v in ranked:
                        total += h[i][v]
                        over = h[i][v] > eps and gap.above(total, alpha)
                        if not over or v == ranked[0]:
                            kept.append(v)
                    soft = sum(h[i][v] * w[v] for v in kept) + (1 - sum(h[i][v] for v in kept)) * w[mask_id]
                    e[before + i] = (1 - beta_mix) * w[mask_id] + beta_mix * soft
            mask = torch.ones(len(e), len(e), dtype=torch.bool)
            logits = network(
                inputs_embeds=e[None],
                position_ids=torch.arange(len(e))[None],
                attention_mask=mask[None, None],
                use_cache=False,
            ).logits[0]
            p = [probabilities(row) for row in logits[before:]]
            found = {i: best(p[i], mask_id, gap) for i in masks}
            conf = {i: f[1] for i, f in found.items()}
            cap = min(max(int(0.7 * len(masks)), 5), 20)
            ranked = gap.order(conf)
            chosen = [i for i in ranked if gap.above(conf[i], threshold)][:cap] or ranked[:1]
            for i in masks:
                c[i] = conf[i]
            for i in chosen:
                tokens[i] = found[i][0]
            left = [i for i in masks if i not in chosen]
            js: dict[int, float] = {}
            rejected: list[int] = []
            new = [row.tolist() for row in p]
            if h is not None:
                for i in left:
                    for a, b in zip(h[i], new[i], strict=True):
                        a, b = max(a, eps), max(b, eps)
                        m = (a + b) / 2
                        js[i] = js.get(i, 0.0) + 0.5 * (a * math.log(a / m) + b * math.log(b / m))
                    if gap.above(js[i], js_threshold):
                        rejected.append(i)
                for i in rejected:
                    new[i] = [0.0] * len(new[i])
                ready = True
            h = new
            states = "".join(M if t == mask_id else U for t in tokens)
            none: list[float | None] = [None] * len(tokens)
            ended = "all unmasked" if all(tokens[i] != mask_id for i in range(block.stop)) else None
            yield Moment(
                list(tokens), states, list(c), none, gap.smallest, ended_by=ended,
                columns={"js": js}, events={"rejected or still_rejected": rejected},
            )  # fmt: skip


def edit(
    network: Any,
    prompt: list[int],
    region: list[int],
    mask_id: int,
    *,
    block_length: int,
    threshold: float = 0.7,
    edit_threshold: float = 0.5,
    steps: int = 32,
    max_post_steps: int = 16,
) -> Iterator[Moment]:
    """LLaDA2.1's token editing (§3)."""
    gap = Gap()
    tokens = list(region)
    fixed = [t != mask_id for t in tokens]
    c = [1.0 if f else 0.0 for f in fixed]
    for block in blocks_of(len(tokens), block_length):
        if all(tokens[i] != mask_id for i in block):
            continue
        with_masks = without_masks = 0
        ended: str | None = None
        while ended is None:
            logits = plain_pass(network, prompt, tokens[: block.stop])
            masks = [i for i in block if tokens[i] == mask_id]
            rows = {i: probabilities(logits[i]) for i in block if not fixed[i]}
            found = {i: best(p, mask_id, gap) for i, p in rows.items()}
            held = {i: float(p[tokens[i]]) for i, p in rows.items() if i not in masks}
            quota = block_length // steps + (1 if with_masks < block_length % steps else 0)
            commit = [i for i in masks if gap.above(found[i][1], threshold)]
            if masks and len(commit) < quota:
                commit = gap.order({i: found[i][1] for i in masks})[:quota]
            replace = [i for i in held if found[i][0] != tokens[i] and gap.above(found[i][1], edit_threshold)]
            for i in rows:
                c[i] = found[i][1] if i in masks or i in replace else held[i]
            for i in commit + replace:
                tokens[i] = found[i][0]
            if masks:
                with_masks += 1
                if with_masks >= steps and all(tokens[i] != mask_id for i in block):
                    ended = "last step"
            else:
                without_masks += 1
                if not replace:
                    ended = "all unmasked"
                elif without_masks == max_post_steps + 1:
                    ended = "cap"
            states = "".join(M if t == mask_id else U for t in tokens)
            none: list[float | None] = [None] * len(tokens)
            yield Moment(
                list(tokens), states, list(c), none, gap.smallest, ended_by=ended,
                columns={"held": held}, events={"replaced": replace},
            )  # fmt: skip
