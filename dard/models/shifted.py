"""Models whose prediction for position i is read at position i − 1: Dream and its relatives, Open-dLLM, Fast-dLLM v2.

A decoder asks for the prediction of row r, at position p, seen with the keys mask[r] allows. Such a model gives it at a
row that stands at p − 1. The row that happens to stand there will not do: under DARD's mask it sees other keys than r
(it may be unmasked where r is masked), and beside a shadow row stands whatever the decoder put last in the sequence. So
each asked row gets a *reader*: an extra query at p − 1 that holds the token r sees there and sees what r sees.

- Its token, or soft mix, is that of the key at p − 1 visible to r: x or s in DARD, where it is exactly one; x where r
  sees both, as in WINO. For the first position of a block it is the last token before the block, which everybody sees.
- Its mask is mask[r], except that the reader stands in for that key: it sees itself instead, as every row of the
  model does. No other query sees a reader, so the rest of the sequence is computed as if there were none.
- In a block-causal model it sees no later block than its own position may: at the first position of a block that is the
  block before, whose last row has always been the one that predicts it.
- Where the row of that key has the very mask of r it is its own reader, and nothing is added. Under a full mask that
  is everywhere: plain decoding costs nothing extra and gives the model's own logits. A row of a frozen prefix is not
  there to be read, so it gets a reader all the same.
- At position 0, or where r sees nothing at p − 1, the row itself is read, as Dream's own sampler does.

DARD's properties hold as for other models: x_i is no key of s_i and no token of its reader, so in one layer changing
x_i cannot change the shadow's prediction at i. Through several layers a reader is reached only through the keys of r,
so what cannot reach r by the mask cannot reach its prediction. The price is up to 2B more queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from dard.models.base import Question, Soft


def with_readers(question: Question, pattern: Callable[[Tensor], Tensor] | None = None) -> Question:
    """The same question, with a reader in place of every asked row; `pattern` is a block-causal model's own.

    >>> plain = Question(torch.tensor([5, 6, 7]), torch.arange(3), torch.ones(3, 3, dtype=torch.bool), torch.arange(3))
    >>> with_readers(plain).rows.tolist()
    [0, 0, 1]
    """
    ids, positions, mask, rows = question.ids, question.positions, question.mask, question.rows
    sees_before = mask[rows] & (positions[None, :] == positions[rows][:, None] - 1)  # [R, S]
    source = torch.where(sees_before.any(dim=1), sees_before.int().argmax(dim=1), rows)
    wanted = mask[rows] if pattern is None else mask[rows] & pattern(positions)[source]
    needs = (mask[source] != wanted).any(dim=1)  # a row that reads itself has its own mask
    if question.frozen is not None:
        needs |= source < question.frozen.length
    sources = source[needs]
    size, count = len(ids), len(sources)
    wide = torch.zeros(size + count, size + count, dtype=torch.bool)
    wide[:size, :size] = mask
    wide[size:, :size] = wanted[needs]
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
