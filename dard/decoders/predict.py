"""From logits to predictions: the chosen token, its probability, and the k most probable tokens.

Written for vocabularies of 126,464: softmax runs over slices of a few rows that stay in the processor's cache, so no
second array of the logits' size is ever made, and the top k come from one pass of block maxima, not from a sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from dard.core.errors import InputError

SLICE_VALUES = 1 << 20  # softmax values made at a time: 4 MB in float32
TOP_BLOCK = 512  # values per block maximum in `top_values`


@dataclass
class Prediction:
    """What was predicted at R rows. Probabilities are softmax values over the vocabulary.

    `token` [R] and `probability` [R] are the choice; `log_total` [R] is the log of the softmax's denominator;
    `top_token` and `top_probability` are [R, k], most probable first; `entropy` [R] in nats, if asked for. `positions`
    says whose rows they are; without it they are those of whatever positions are asked for, in order and all.
    """

    token: Tensor
    probability: Tensor
    log_total: Tensor
    top_token: Tensor
    top_probability: Tensor
    entropy: Tensor | None = None
    positions: Sequence[int] | None = None

    @cached_property
    def choices(self) -> list[tuple[int, float]]:
        """The choice and its probability, by row; read from the device once, and both at a time."""
        pairs = torch.stack([self.token.double(), self.probability.double()], dim=1).tolist()
        return [(int(token), probability) for token, probability in pairs]

    def confidence_at(self, positions: Sequence[int]) -> dict[int, float]:
        """The probability of the choice by position."""
        return {i: probability for i, (_, probability) in self._at(positions)}

    def tokens_at(self, positions: Sequence[int]) -> dict[int, int]:
        """The choice by position."""
        return {i: token for i, (token, _) in self._at(positions)}

    def _at(self, positions: Sequence[int]) -> Iterator[tuple[int, tuple[int, float]]]:
        """The choices by position."""
        own = positions if self.positions is None else self.positions
        choices = dict(zip(own, self.choices, strict=False))
        if len(own) != len(self.choices) or not choices.keys() >= set(positions):
            whose = "" if self.positions is None else f" at positions {list(own)}"
            raise InputError(
                f"a prediction of {len(self.choices)} rows{whose} was asked for positions {list(positions)}; "
                "it can be asked for all of its rows, in order, or for any of the positions=… it was predicted with"
            )
        return ((i, choices[i]) for i in positions)

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
    block_values = body.gather(1, best[:, :, None].expand(-1, -1, TOP_BLOCK)).flatten(1)
    index = (best[:, :, None] * TOP_BLOCK + torch.arange(TOP_BLOCK, device=values.device)).flatten(1)
    tail = values[:, blocks * TOP_BLOCK :]
    if tail.shape[1]:
        block_values = torch.cat([block_values, tail], dim=1)
        tail_index = torch.arange(blocks * TOP_BLOCK, width, device=values.device).expand(rows, -1)
        index = torch.cat([index, tail_index], dim=1)
    top, where = block_values.topk(k, dim=-1)
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
    also: Sequence[int] = (),
    positions: Sequence[int] | None = None,
) -> Prediction:
    """Predict a token at each row of `logits` [R, vocab], which is changed: `[MASK]` is never predicted.

    With `mask_counts` the mask token still takes its share of the probability (the published baselines do not
    take it out); otherwise it has probability 0. The tokens `also` follow the most probable ones in the tables. With a
    temperature the choice is the arg max of logits − temperature · log(−log u), as LLaDA samples, and its probability
    is the plain softmax value. With `positions`, one per row, the prediction can be asked for any of them.
    """
    rows, vocab = logits.shape
    mask_column = logits[:, mask_id].to(precision, copy=True)  # a view would be overwritten
    logits[:, mask_id] = -torch.inf
    best, index = top_values(logits, top)
    if also:
        extra = torch.tensor(also, device=logits.device).expand(rows, -1)
        best, index = torch.cat([best, logits.gather(1, extra)], dim=1), torch.cat([index, extra], dim=1)
    log_total = torch.empty(rows, dtype=precision, device=logits.device)
    spread = torch.empty_like(log_total) if entropy else None
    token = index[:, 0].clone()
    size = max(1, SLICE_VALUES // vocab)
    buffer = torch.empty(min(size, rows), vocab, dtype=precision, device=logits.device)
    for start in range(0, rows, size):
        part = slice(start, start + size)
        softmax = torch.softmax(logits[part], dim=-1, dtype=precision, out=buffer[: min(size, rows - start)])
        log_total[part] = best[part, 0].to(precision) - softmax.gather(1, index[part, :1])[:, 0].log()
        if spread is not None:
            spread[part] = torch.special.entr(softmax).sum(dim=-1)
        if temperature > 0:
            uniform = torch.rand(softmax.shape, generator=generator, dtype=torch.float64).to(logits.device)
            token[part] = (logits[part].double() - temperature * torch.log(-torch.log(uniform))).argmax(dim=-1)
    if mask_counts:
        log_total, spread = with_mask_token(log_total, spread, mask_column)
    prediction = Prediction(token, log_total, log_total, index, (best.to(precision) - log_total[:, None]).exp(), spread)
    prediction.probability = probability_of(logits, token, prediction)
    prediction.positions = positions
    return prediction


def with_mask_token(log_total: Tensor, spread: Tensor | None, mask_logit: Tensor) -> tuple[Tensor, Tensor | None]:
    """Log-denominator and entropy of a distribution once the mask token takes its share q.

    The rest keeps its proportions, so the entropy becomes (1 − q) · H − (1 − q) · log(1 − q) − q · log q.
    """
    whole = torch.logaddexp(log_total, mask_logit)
    if spread is None:
        return whole, None
    q = (mask_logit - whole).exp()
    return whole, (1 - q) * spread + torch.special.entr(1 - q) + torch.special.entr(q)


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


def softmax_at(logits: Tensor, tokens: Tensor) -> Tensor:
    """The probability of the given tokens [R] to the last bit of `torch.softmax(logits, -1)`, whose rounding calls what
    is sure enough 1; `probability_of` is closer to the truth, and elsewhere."""
    size = max(1, SLICE_VALUES // logits.shape[1])
    pairs = zip(logits.split(size), tokens.split(size), strict=True)
    return torch.cat([torch.softmax(part, dim=-1).gather(1, chosen[:, None])[:, 0] for part, chosen in pairs])


def mix_(logits_x: Tensor, logits_s: Tensor, weight: Tensor) -> Tensor:
    """w · logits_x + (1 − w) · logits_s in float32, written over `logits_x`; `weight` is [R]."""
    size = max(1, SLICE_VALUES // logits_x.shape[1])
    for start in range(0, logits_x.shape[0], size):
        part = slice(start, start + size)
        x, s, w = logits_x[part], logits_s[part], weight[part, None]
        # -inf times 0 is NaN: the mask token's column is set again afterwards by `predict`.
        x.mul_(w).addcmul_(s, 1 - w)
    return logits_x
