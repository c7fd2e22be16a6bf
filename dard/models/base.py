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
    frozen: Frozen | None = None


@dataclass(frozen=True)
class Frozen:
    """The first `length` keys and values of a question shall be those of an earlier one, the `opening` of its block.

    Without an opening the question is the opening itself. No row to be read lies among the frozen ones.
    """

    length: int
    opening: Question | None = None


@runtime_checkable
class Model(Protocol):
    """What a decoder needs. `num_layers` bounds the reach of a token, `max_length` prompt and region together.

    A model may also have `logits_batch(questions)`; `logits_frozen(question)`, if it can keep keys and values;
    `encode_piece(text)`, for a piece of a template, which a chat model must not wrap; `prefix` and `suffix`, token ids
    before every prompt and at the end of every region; `end_ids`, further tokens that end a text; `defaults`, settings;
    `chat`, whether `encode` wraps; and `with_image(image)`.
    """

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


def answer(model: Model, question: Question) -> Tensor:
    """The logits of one question. A model that keeps no keys and values computes a frozen prefix anew, as it now is."""
    from_frozen = getattr(model, "logits_frozen", None)
    if question.frozen is not None and from_frozen is not None:
        return from_frozen(question)
    return model.logits(question.ids, question.positions, question.mask, question.rows)


def answer_all(model: Model, questions: Sequence[Question]) -> list[Tensor]:
    """The logits of several independent questions, in one forward pass where the model can do that.

    Frozen prefixes are of different lengths and rarely shared: with one among them, the questions go one by one.
    """
    together = getattr(model, "logits_batch", None)
    if together is not None and len(questions) > 1 and all(q.frozen is None for q in questions):
        return together(questions)
    return [answer(model, question) for question in questions]
