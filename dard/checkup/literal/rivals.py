"""DAPD, ReMix and token editing, literally."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from dard.checkup.literal.passes import Gap, M, Moment, U, best, blocks_of, plain_pass, probabilities


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
            a: Any = sum(layer.mean(dim=0) for layer in last) / len(last)
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
                past = h
                for i in masks:
                    ranked = sorted(range(len(past[i])), key=lambda v: -past[i][v])[:50]
                    alpha = min(max(2 * past[i][ranked[0]], 0.2), 0.9)
                    kept, total = [], 0.0
                    for v in ranked:
                        total += past[i][v]
                        over = past[i][v] > eps and gap.above(total, alpha)
                        if not over or v == ranked[0]:
                            kept.append(v)
                    soft = sum(past[i][v] * w[v] for v in kept) + (1 - sum(past[i][v] for v in kept)) * w[mask_id]
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
