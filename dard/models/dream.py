"""Dream-7B: a Qwen2 whose prediction for position i is read at position i − 1.

A decoder asks for the prediction of row r, at position p, seen with the keys mask[r] allows. Dream gives it at a row
that stands at p − 1. The row that happens to stand there will not do: under DARD's mask it sees other keys than r (it
may be unmasked where r is masked), and beside a shadow row stands whatever the decoder put last in the sequence. So
each asked row gets a *reader*: an extra query at p − 1 that holds the token r sees there and sees what r sees.

- Its token, or soft mix, is that of the key at p − 1 visible to r: x or s in DARD, where it is exactly one; x where r
  sees both, as in WINO. For the first position of a block it is the last token before the block, which everybody sees.
- Its mask is mask[r], except that the reader stands in for that key: it sees itself instead, as every row of Dream
  does. No other query sees a reader, so the rest of the sequence is computed as if there were none.
- Where the row of that key has the very mask of r it is its own reader, and nothing is added. Under a full mask that
  is everywhere: plain decoding costs nothing extra and gives Dream's own logits. A row of a frozen prefix is not
  there to be read, so it gets a reader all the same.
- At position 0, or where r sees nothing at p − 1, the row itself is read, as Dream's own sampler does.

DARD's properties hold as for other models: x_i is no key of s_i and no token of its reader, so in one layer changing
x_i cannot change the shadow's prediction at i. Through several layers a reader is reached only through the keys of r,
so what cannot reach r by the mask cannot reach its prediction. The price is up to 2B more queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

from dard.models.asked import Asked
from dard.models.backbone import BackboneModel
from dard.models.base import Answer, Question, Soft
from dard.models.checkpoint import as_config, load_network, load_tokenizer

MAX_LENGTH = 2048  # what Dream was trained on; its config repeats Qwen2's 131,072


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "Dream"


def load(folder: Path, config: dict[str, Any], asked: Asked) -> DreamModel:
    known = as_config(Qwen2Config, config)
    network = load_network(folder, Qwen2ForCausalLM, known, asked.placement)
    tokenizer = load_tokenizer(folder, Qwen2Tokenizer)  # the folder names a class of its own, which is Qwen2's
    longest = min(MAX_LENGTH, known.max_position_embeddings)
    return DreamModel.of(folder, config, network, tokenizer, asked, max_length=longest)


class DreamModel(BackboneModel):
    """A Qwen2 that is asked through readers."""

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """Attention is that of the rows that were asked about; readers stand after them and are left out."""
        answers = super().answer([with_readers(question) for question in questions])
        sizes = [len(question.ids) for question in questions]
        return [
            each if each.attention is None else replace(each, attention=each.attention[:, :size, :size])
            for each, size in zip(answers, sizes, strict=True)
        ]


def with_readers(question: Question) -> Question:
    """The same question, with a reader in place of every asked row.

    >>> plain = Question(torch.tensor([5, 6, 7]), torch.arange(3), torch.ones(3, 3, dtype=torch.bool), torch.arange(3))
    >>> with_readers(plain).rows.tolist()
    [0, 0, 1]
    """
    ids, positions, mask, rows = question.ids, question.positions, question.mask, question.rows
    sees_before = mask[rows] & (positions[None, :] == positions[rows][:, None] - 1)  # [R, S]
    source = torch.where(sees_before.any(dim=1), sees_before.int().argmax(dim=1), rows)
    needs = (mask[source] != mask[rows]).any(dim=1)  # a row that reads itself has its own mask
    frozen = question.frozen
    if frozen is not None:
        needs |= source < frozen.length
        frozen = replace(frozen, opening=with_readers(frozen.opening) if frozen.opening else None)
    readers, sources = rows[needs], source[needs]
    size, count = len(ids), len(readers)
    wide = torch.zeros(size + count, size + count, dtype=torch.bool)
    wide[:size, :size] = mask
    wide[size:, :size] = mask[readers]
    wide[size + torch.arange(count), sources] = False
    wide[size:, size:] = torch.eye(count, dtype=torch.bool)
    where = source.clone()
    where[needs] = size + torch.arange(count)
    return replace(
        question,
        ids=torch.cat([ids, ids[sources]]),
        positions=torch.cat([positions, positions[sources]]),
        mask=wide,
        rows=where,
        soft=question.soft and read_softly(question.soft, sources, size),
        frozen=frozen,
    )


def read_softly(soft: Soft, sources: Tensor, size: int) -> Soft:
    """The soft inputs with those of the readers, which stand from `size` on: a reader of a mix holds that mix."""
    reader, mix = (sources[:, None] == soft.positions.to(sources.device)).nonzero(as_tuple=True)
    mix = mix.to(soft.ids.device)
    return Soft(
        torch.cat([soft.positions, reader.to(soft.positions) + size]),
        torch.cat([soft.ids, soft.ids[mix]]),
        torch.cat([soft.weights, soft.weights[mix]]),
    )
