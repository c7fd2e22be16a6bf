"""The one question the decoders ask a model, and how to put several questions at once.

A model is anything with the attributes and methods of `Model`. It is asked for logits at chosen rows of a sequence
in which every query sees exactly the keys a boolean mask allows, at explicit positions. It knows nothing of states,
shadows or steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


@dataclass(frozen=True)
class Question:
    """One forward pass: ids [S], positions [S], mask bool [S, S] (True: may see), rows [R] to read logits at."""

    ids: Tensor
    positions: Tensor
    mask: Tensor
    rows: Tensor


@runtime_checkable
class Model(Protocol):
    """What a decoder needs. `num_layers` bounds the reach of a token, `max_length` prompt and region together."""

    name: str
    mask_id: int
    eos_id: int | None
    vocab_size: int
    num_layers: int
    max_length: int

    @property
    def device(self) -> torch.device: ...

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        """One forward pass; float32 [R, vocab], which the caller may overwrite."""
        ...

    def encode(self, prompt: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def token_text(self, token: int) -> str: ...


def answer_all(model: Model, questions: Sequence[Question]) -> list[Tensor]:
    """The logits of several independent questions, in one forward pass where the model can do that."""
    together = getattr(model, "logits_batch", None)
    if together is not None and len(questions) > 1:
        return together(questions)
    return [model.logits(q.ids, q.positions, q.mask, q.rows) for q in questions]
