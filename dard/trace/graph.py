"""How strongly positions depend on one another, as a rule went through them in a step.

Does not know: the rule, or where the numbers come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dard.trace.limits import MAX_GRAPH, MAX_LENGTH, STRICT, Position, Positions, Share


@dataclass
class Graph:
    """How strongly some positions depend on one another, as a rule went through them in a step.

    `positions` are in the rule's order. A cell above `limit` keeps the row's position waiting if the column's position
    was accepted before it: `blocked` has, by who had to wait, the strongest of those and its cell.
    """

    positions: Positions
    limit: Share
    blocked: Annotated[dict[Position, tuple[Position, Share]], Field(max_length=MAX_LENGTH)]

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        self._cells: bytes | None = None

    @classmethod
    def of(
        cls, positions: list[int], cells: NDArray[np.floating], limit: float, blocked: dict[int, tuple[int, float]]
    ) -> Graph:
        """A graph with its cells [n, n] from 0 to 1; those of a very large one are left out.

        >>> Graph.of([4, 2], np.array([[0, 0.301], [1, 0]]), 0.3, {}).cells
        array([[  0,  77],
               [255,   0]], dtype=uint8)
        """
        rounded = {i: (by, round(value, 6)) for i, (by, value) in blocked.items()}
        graph = cls(positions, round(limit, 6), rounded)
        if len(positions) <= MAX_GRAPH:
            below = math.floor(255 * graph.limit)  # a byte is on the same side of the limit as its number
            bytes_ = np.rint(255 * cells)
            bytes_ = np.where(cells > limit, np.maximum(bytes_, below + 1), np.minimum(bytes_, below))
            graph._cells = bytes_.astype(np.uint8).tobytes()
        return graph

    @property
    def cells(self) -> NDArray[np.uint8] | None:
        """How strongly the row's position depends on the column's, [n, n], 255 for 1; None where it was not kept."""
        size = len(self.positions)
        return None if self._cells is None else np.frombuffer(self._cells, np.uint8).reshape(size, size)
