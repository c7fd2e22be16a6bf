"""What the literal decoders share: a pass of the network, a probability, a choice, and how close it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
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
