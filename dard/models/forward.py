"""One forward pass of a transformers network, under explicit masks and at explicit positions.

Soft inputs go in as embeddings. Attention weights come out by watching: the networks call PyTorch's fused attention
once per layer, and whoever asks for weights computes them beside it, from the same queries, keys and mask. So the
network itself is never changed, its hidden states are the same bits with and without, and who does not ask pays
nothing. A watch sees the calls of its own thread only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from dard.core.errors import InputError
from dard.models.base import Question, Soft


def forward(
    body: Any,
    questions: Sequence[Question],
    ids: Tensor,
    positions: Tensor,
    mask: Tensor,
    start: int = 0,
    window: int | None = None,
    **more: Any,
) -> tuple[Tensor, list[Tensor | None]]:
    """The last hidden states [B, S − start, width] of the rows from `start` on, and the attention of each question.

    `ids` and `positions` [B, S] and `mask` [B, 1, S, S] hold the questions, padded to one length. With a `window` some
    layers see no further than so many positions away.
    """
    near = None if window is None else (positions[:, None, start:, None] - positions[:, None, None, :]).abs() <= window
    ids, positions = torch.stack([ids, positions]).to(body.device)  # what goes to a device goes at once
    tokens = {"input_ids": ids}
    if any(question.soft for question in questions):
        tokens = {"inputs_embeds": embedded(body, tokens["input_ids"], [question.soft for question in questions])}
    seen: Any = mask[:, :, start:].to(body.device)
    if near is not None:
        seen = {"full_attention": seen, "sliding_attention": seen & near.to(body.device)}
    inputs = {name: value[:, start:] for name, value in tokens.items()} | {
        "attention_mask": seen,
        "position_ids": positions[:, start:],
        **more,
    }
    if not any(question.attention for question in questions):
        return body(**inputs).last_hidden_state, [None] * len(questions)
    with Watch(questions, start, body.device) as watch:
        hidden = body(**inputs).last_hidden_state
    if watch.layer != body.config.num_hidden_layers:
        raise InputError("attention cannot be read off this network: it does not attend by PyTorch's fused kernel")
    return hidden, watch.weights


def embedded(body: Any, ids: Tensor, softs: Sequence[Soft | None]) -> Tensor:
    """Token embeddings [B, S, width], with mixes where there are any."""
    embed = body.get_input_embeddings()
    vectors = embed(ids)
    for number, soft in enumerate(softs):
        if soft is not None:
            weights = soft.weights.to(vectors)
            sent = torch.cat([soft.positions[:, None], soft.ids], dim=1).to(ids.device)  # at once
            vectors[number, sent[:, 0]] = (weights[:, None] @ embed(sent[:, 1:]))[:, 0]
    return vectors


class Watch(TorchFunctionMode):
    """Looks on while a network attends, and keeps the weights that were asked for."""

    def __init__(self, questions: Sequence[Question], start: int, device: torch.device) -> None:
        super().__init__()
        self.questions, self.start, self.layer = questions, start, 0
        self.weights: list[Tensor | None] = [
            torch.zeros(len(q.attention), len(q.ids), len(q.ids), device=device) if q.attention else None
            for q in questions
        ]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is scaled_dot_product_attention:
            self._note(*args, **kwargs or {})
            self.layer += 1
        return func(*args, **kwargs or {})

    def _note(self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, scale: float, **_: Any) -> None:
        """Padding stands after a question's own rows and keys, and is left out."""
        for number, (question, kept) in enumerate(zip(self.questions, self.weights, strict=True)):
            if kept is not None and self.layer in question.attention:
                keys = len(question.ids)
                rows = keys - self.start
                seen = attn_mask[number, :, :rows, :keys]
                weights = mean_weights(query[number, :, :rows], key[number, :, :keys], seen, scale)
                for place, layer in enumerate(question.attention):
                    if layer == self.layer:
                        kept[place, self.start :] = weights.to(kept.device)


def mean_weights(query: Tensor, key: Tensor, mask: Tensor, scale: float) -> Tensor:
    """softmax(QKᵀ · scale) under a boolean mask in float32, the mean over heads: [rows, keys].

    Groups of query heads may share a key head. A row that sees nothing has no weights: 0, as the fused kernel has it.
    """
    key = key.repeat_interleave(len(query) // len(key), dim=0)
    scores = (query.float() @ key.float().mT) * scale
    hidden = ~mask
    weights = scores.masked_fill_(hidden, torch.finfo(torch.float32).min).softmax(dim=-1)
    return weights.masked_fill_(hidden, 0.0).mean(dim=0)
