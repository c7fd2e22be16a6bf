"""Attention masks over an original block x and its shadow block s.

A mask is a boolean tensor [2L, 2L]: rows are queries, columns are keys, the first L are x, the last L are s.
Both masks here are written exactly as the forward pass uses them; nothing in this module runs a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dard.core.state import CANDIDATE, MASKED, UNMASKED

ORDERINGS = ("confidence", "entropy", "margin", "l2r", "bidirectional")


def dard_mask(states: str, reliability: Sequence[float] | Tensor) -> Tensor:
    """DARD's mask M (paper §3, Fig. 3) for one block, bool [2L, 2L].

    `states` has one letter of "MCU" per position, `reliability` the value that orders the candidates: a candidate
    sees another one in x when it is at most as reliable. Every query sees exactly one of x_j and s_j.

    >>> dard_mask("CU", [0.6, 0.9]).int().tolist()   # rows x0 x1 s0 s1, columns x0 x1 s0 s1
    [[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    """
    if set(states) - {MASKED, CANDIDATE, UNMASKED}:
        raise ValueError(f"states may hold only the letters M, C and U, not {states!r}")
    if len(reliability) != len(states):
        raise ValueError(f"{len(states)} states but {len(reliability)} reliability values")
    length = len(states)
    order = torch.as_tensor(reliability, dtype=torch.float64)
    masked, candidate, unmasked = (
        torch.tensor([s == letter for s in states], dtype=torch.bool) for letter in (MASKED, CANDIDATE, UNMASKED)
    )
    surer = order[:, None] <= order[None, :]
    # sees_x[i, j]: the query at i sees the token x_j; otherwise it sees the shadow s_j.
    sees_x = unmasked[None, :] | (candidate[:, None] & candidate[None, :] & surer)  # ② ③ ⑤ ⑥, and ④
    from_x = sees_x | masked[:, None]  # ①: a masked query in x sees everything in x
    from_s = sees_x & ~torch.eye(length, dtype=torch.bool)  # no shadow sees its own token
    both = torch.cat([from_x, from_s])
    return torch.cat([both, ~both], dim=1)


def wino_mask(length: int) -> Tensor:
    """WINO's mask for one block, bool [2L, 2L]: x sees all of x; s sees all of s, and all of x but its own token."""
    ones = torch.ones(length, length, dtype=torch.bool)
    own = torch.eye(length, dtype=torch.bool)
    return torch.cat([torch.cat([ones, ~ones], dim=1), torch.cat([~own, ones], dim=1)])


def reliable_keys(states: str) -> Tensor:
    """What a query outside the block sees of it under `outside="reliable"`: x for U, s for C and M. bool [2L]."""
    unmasked = torch.tensor([s == UNMASKED for s in states], dtype=torch.bool)
    return torch.cat([unmasked, ~unmasked])


def ordering_values(ordering: str, block_length: int) -> Tensor | None:
    """Reliability values of the orderings that do not look at the model; None for those that do."""
    if ordering == "l2r":
        return -torch.arange(block_length, dtype=torch.float64)
    if ordering == "bidirectional":
        return torch.zeros(block_length, dtype=torch.float64)
    return None
