"""From logits to predictions: the chosen token, its probability, and the k most probable tokens.

Written for vocabularies of 126,464: logits are walked in slices of a few rows that stay in the processor's cache,
so no second array of their size is ever made, and the top k come from one pass of block maxima, not from a sort.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SLICE_VALUES = 1 << 20  # logits handled at a time: 4 MB in float32
TOP_BLOCK = 512  # values per block maximum in `top_values`


@dataclass
class Prediction:
    """What was predicted at R rows. Probabilities are softmax values over the vocabulary.

    `token` [R] and `probability` [R] are the choice; `log_total` [R] is the log of the softmax's denominator;
    `top_token` and `top_probability` are [R, k], most probable first; `entropy` [R] in nats, if asked for.
    """

    token: Tensor
    probability: Tensor
    log_total: Tensor
    top_token: Tensor
    top_probability: Tensor
    entropy: Tensor | None = None

    def margin(self) -> Tensor:
        """Difference between the two largest probabilities, [R]."""
        return self.top_probability[:, 0] - self.top_probability[:, 1]


def top_values(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and their indices, both [rows, k], largest first.

    The k largest values of a row lie in the k blocks with the largest maxima, so only those blocks are sorted.
    """
    rows, width = values.shape
    blocks = width // TOP_BLOCK
    if blocks < 4 * k:
        return values.topk(min(k, width), dim=-1)
    body = values[:, : blocks * TOP_BLOCK].view(rows, blocks, TOP_BLOCK)
    best = body.amax(dim=-1).topk(k, dim=-1).indices  # [rows, k]
    found = body.gather(1, best[:, :, None].expand(-1, -1, TOP_BLOCK)).flatten(1)
    index = (best[:, :, None] * TOP_BLOCK + torch.arange(TOP_BLOCK, device=values.device)).flatten(1)
    tail = values[:, blocks * TOP_BLOCK :]
    if tail.shape[1]:
        found = torch.cat([found, tail], dim=1)
        tail_index = torch.arange(blocks * TOP_BLOCK, width, device=values.device).expand(rows, -1)
        index = torch.cat([index, tail_index], dim=1)
    top, where = found.topk(k, dim=-1)
    return top, index.gather(1, where)


def predict(
    logits: Tensor,
    *,
    mask_id: int,
    mask_counts: bool = False,
    top: int = 2,
    precision: torch.dtype = torch.float32,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    entropy: bool = False,
) -> Prediction:
    """Predict a token at each row of `logits` [R, vocab], which is changed: `[MASK]` is never predicted.

    With `mask_counts` the mask token still takes its share of the probability (the published baselines do not
    take it out); otherwise it has probability 0. With a temperature the choice is the arg max of
    logits − temperature · log(−log u), as LLaDA samples, and its probability is the plain softmax value.
    """
    rows, vocab = logits.shape
    parts: list[Prediction] = []
    size = max(1, SLICE_VALUES // vocab)
    for start in range(0, max(rows, 1), size):
        piece = logits[start : start + size]
        if not mask_counts:
            piece[:, mask_id] = -torch.inf
        wide = piece.to(precision)
        log_total = wide.logsumexp(dim=-1)
        spread = None
        if entropy:
            log_p = wide - log_total[:, None]
            spread = -(log_p.exp() * log_p.nan_to_num(neginf=0.0)).sum(dim=-1)
        piece[:, mask_id] = -torch.inf
        best, index = top_values(piece, top)
        probability = (best.to(precision) - log_total[:, None]).exp()
        token, chosen = index[:, 0], probability[:, 0]
        if temperature > 0:
            uniform = torch.rand(piece.shape, generator=generator, dtype=torch.float64).to(piece.device)
            noisy = piece.double() - temperature * torch.log(-torch.log(uniform))
            token = noisy.argmax(dim=-1)
            chosen = (piece.gather(1, token[:, None])[:, 0].to(precision) - log_total).exp()
        parts.append(Prediction(token, chosen, log_total, index, probability, spread))
    return joined(parts)


def joined(parts: list[Prediction]) -> Prediction:
    """Predictions of consecutive rows as one."""
    spreads = [part.entropy for part in parts if part.entropy is not None]
    return Prediction(
        torch.cat([part.token for part in parts]),
        torch.cat([part.probability for part in parts]),
        torch.cat([part.log_total for part in parts]),
        torch.cat([part.top_token for part in parts]),
        torch.cat([part.top_probability for part in parts]),
        torch.cat(spreads) if spreads else None,
    )


def probability_of(logits: Tensor, tokens: Tensor, prediction: Prediction) -> Tensor:
    """The probability of the given tokens [R] under the distributions a `prediction` was made from."""
    chosen = logits.gather(1, tokens[:, None])[:, 0].to(prediction.log_total.dtype)
    return (chosen - prediction.log_total).exp()


def mix_(logits_x: Tensor, logits_s: Tensor, weight: Tensor) -> Tensor:
    """w · logits_x + (1 − w) · logits_s in float32, written over `logits_x`; `weight` is [R]."""
    size = max(1, SLICE_VALUES // logits_x.shape[1])
    for start in range(0, logits_x.shape[0], size):
        part = slice(start, start + size)
        x, s, w = logits_x[part], logits_s[part], weight[part, None]
        # -inf times 0 is NaN: the mask token's column is set again afterwards by `predict`.
        x.mul_(w).addcmul_(s, 1 - w)
    return logits_x
