"""Soft inputs made without any: a network whose embedding table holds the mixes, as tokens of their own."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch

from dard.models import Question, Soft


def random_soft(vocabulary: int, places: list[int], seed: int, width: int = 3) -> Soft:
    """A mix of a few tokens at each place; the last one weighs nothing."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(len(places), width, generator=generator)
    weights[:, -1] = 0
    ids = torch.randint(0, vocabulary, (len(places), width), generator=generator)
    return Soft(torch.tensor(places), ids, weights / weights.sum(dim=1, keepdim=True))


def in_the_table(network: Any, question: Question) -> tuple[Any, Question, list[int]]:
    """A copy of the network in which unused tokens are the question's mixes, the question in those tokens, and which
    tokens they are: where the head is the table, nothing can be said about their logits."""
    assert question.soft is not None
    changed, ids = copy.deepcopy(network), question.ids.clone()
    table, own = changed.get_input_embeddings().weight, network.get_input_embeddings().weight
    taken = {*question.ids.tolist(), *question.soft.ids.flatten().tolist()}
    unused = [token for token in range(len(table)) if token not in taken][: len(question.soft.positions)]
    with torch.no_grad():
        for number, token in enumerate(unused):
            pairs = zip(question.soft.weights[number].tolist(), question.soft.ids[number].tolist(), strict=True)
            table[token] = sum(weight * own[each] for weight, each in pairs)
            ids[question.soft.positions[number]] = token
    return changed, replace(question, ids=ids, soft=None), unused
