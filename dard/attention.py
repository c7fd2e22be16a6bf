"""Attention masks over an original block x and its shadow block s, and what can reach what through depth.

A mask is a boolean tensor [2L, 2L]: rows are queries, columns are keys, the first L are x, the last L are s.
Both masks here are written exactly as the forward pass uses them; nothing in this module runs a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from dard.state import CANDIDATE, MASKED, UNMASKED

if TYPE_CHECKING:
    from dard.trace import Step

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


def with_outside(mask: Tensor, outside: Tensor) -> Tensor:
    """The block's mask with one more node that stands for everything outside, bool [2L + 1, 2L + 1].

    All outside queries see the same of the block and one another, and every query sees all of them: for the
    question of what reaches what they are one node. `outside` [2L] says what that node sees of the block.
    """
    size = mask.shape[0]
    full = torch.ones(size + 1, size + 1, dtype=torch.bool)
    full[:size, :size] = mask
    full[size, :size] = outside
    return full


def reach(mask: Tensor, layers: int) -> Tensor:
    """Which key's input can influence which query's output after `layers` layers: the boolean closure of `mask`.

    A layer lets a query look at its visible keys and keep what it had (the residual stream), so the closure is
    (mask or identity) to the power `layers`.

    >>> chain = torch.tensor([[1, 1, 0], [0, 1, 1], [0, 0, 1]]).bool()
    >>> reach(chain, 1)[0].tolist(), reach(chain, 2)[0].tolist()
    ([True, True, False], [True, True, True])
    """
    return reach_depth(mask, layers) > 0


def reach_depth(mask: Tensor, layers: int) -> Tensor:
    """The smallest number of layers after which the key reaches the query, 0 where `layers` do not suffice. uint8."""
    mask = torch.as_tensor(mask)
    if mask.dim() != 2 or mask.shape[0] != mask.shape[1] or mask.dtype != torch.bool:
        raise ValueError(f"mask must be a square boolean tensor, not {mask.dtype} of shape {tuple(mask.shape)}")
    if not 1 <= layers <= 255:
        raise ValueError(f"layers must be a whole number from 1 to 255, not {layers}")
    one = mask | torch.eye(mask.shape[0], dtype=torch.bool)
    factor, reached = one.float(), one
    depth = one.to(torch.uint8)
    for layer in range(2, layers + 1):
        further = (factor @ reached.float()) > 0
        new = further & ~reached
        if not new.any():
            break
        depth[new] = layer
        reached = further
    return depth


class Contamination(NamedTuple):
    """The verification of `position` hides the candidate token at `candidate`, yet it arrives after `layers`."""

    position: int
    candidate: int
    layers: int


def contaminated(step: Step, layers: int | None = None) -> list[Contamination]:
    """The verifications of a step that a candidate token can reach through depth although the mask hides it.

    A verification is read from the shadow s_i of a position that was C or U and not given. The candidate may be
    the position's own token: then its verifier hears of the very token it is to judge. `layers` defaults to the
    depth of the model that made the step.
    """
    mask = step.mask
    if mask is None:
        return []
    start, end = step.block
    length = end - start
    states = step.states_before[start:end]
    whole = torch.tensor(mask)
    if step.outside_keys is not None:
        whole = with_outside(whole, torch.tensor(step.outside_keys))
    depth = reach_depth(whole, layers or step.num_layers)
    verified = [i for i in range(length) if states[i] != MASKED and not step.fixed[start + i]]
    candidates = [i for i in range(length) if states[i] == CANDIDATE]
    return [
        Contamination(start + i, start + j, int(depth[length + i, j]))
        for i in verified
        for j in candidates
        if depth[length + i, j] > 0 and not mask[length + i, j]
    ]
