"""What can reach what through several layers although the mask of a single one hides it.

Needs numpy and a trace, no torch and no model. A mask is a boolean array [2L, 2L] as in `dard.decoders.masks`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dard.core.state import CANDIDATE, MASKED
from dard.trace import Step

Mask = NDArray[np.bool_]


def with_outside(mask: Mask, outside: Mask) -> Mask:
    """The block's mask with one more node that stands for everything outside, bool [2L + 1, 2L + 1].

    All outside queries see the same of the block and one another, and every query sees all of them: for the
    question of what reaches what they are one node. `outside` [2L] says what that node sees of the block.
    """
    size = len(mask)
    full = np.ones((size + 1, size + 1), dtype=bool)
    full[:size, :size] = mask
    full[size, :size] = outside
    return full


def reach_depth(mask: Mask, layers: int) -> NDArray[np.uint8]:
    """The smallest number of layers after which the key reaches the query, 0 where `layers` do not suffice.

    A layer lets a query look at its visible keys and keep what it had (the residual stream), so what is reached is
    the boolean power (mask or identity) to the `layers`.
    """
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or mask.dtype != bool:
        raise ValueError(f"mask must be a square boolean array, not {mask.dtype} of shape {mask.shape}")
    if not 1 <= layers <= 255:
        raise ValueError(f"layers must be a whole number from 1 to 255, not {layers}")
    reached = mask | np.eye(len(mask), dtype=bool)
    factor, depth = reached.astype(np.float32), reached.astype(np.uint8)
    for layer in range(2, layers + 1):
        further = (factor @ reached.astype(np.float32)) > 0
        new = further & ~reached
        if not new.any():
            break
        depth[new] = layer
        reached = further
    return depth


def reach(mask: Any, layers: int) -> Any:
    """Which key's input can influence which query's output after so many layers: the boolean closure of a mask, which
    is an array or a tensor, and so is what comes back.

    >>> chain = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], bool)
    >>> reach(chain, 1)[0].tolist(), reach(chain, 2)[0].tolist()
    ([True, True, False], [True, True, True])
    """
    reached = reach_depth(np.asarray(mask), layers) > 0
    return reached if isinstance(mask, np.ndarray) else mask.new_tensor(reached)


def block_depth(step: Step, layers: int | None = None) -> NDArray[np.uint8] | None:
    """`reach_depth` of a step's block, uint8 [2B, 2B], also by way of what is outside; None without a shadow.

    `layers` defaults to the depth of the model that made the step.
    """
    mask, outside = step.mask, step.outside_keys
    if mask is None or step.plain:  # of a recording it is not known what goes by way of the outside
        return None
    whole = mask if outside is None else with_outside(mask, outside)
    return reach_depth(whole, layers or step.num_layers)[: len(mask), : len(mask)]


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
    mask, depth = step.mask, block_depth(step, layers)
    if mask is None or depth is None:
        return []
    start, end = step.block
    length = end - start
    states = step.states_before[start:end]
    verified = [i for i in range(length) if states[i] != MASKED and not step.fixed[start + i]]
    candidates = [i for i in range(length) if states[i] == CANDIDATE]
    return [
        Contamination(start + i, start + j, int(depth[length + i, j]))
        for i in verified
        for j in candidates
        if depth[length + i, j] > 0 and not mask[length + i, j]
    ]
