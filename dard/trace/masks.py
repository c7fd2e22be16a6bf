"""The mask of a block and the cells of a graph as they are saved and sent: each a packed text, bounded on the way back.

A mask is rows of packed bits, [2B, 2B] with a last row for what queries outside see of the block, or without it;
[B, B] where a pass had no shadow. Rows and columns stand in the packing order: by the states before the step (M, C, U),
then by falling confidence, then by position, x before s. Each row is exclusive-ored with the one above it, all is
compressed by zlib and written in base64. That order makes a mask nearly blockwise constant, and nothing
else is read into it; `assets/web/data/masks.js` is the same in a browser. Does not know: steps, or whole files.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dard.trace.limits import TraceError

LARGEST_KEPT = 5_000_000  # cells of a mask that is kept unpacked while its step is looked at
Moment = tuple[str, Sequence[float | None]]  # a block's states and confidences before its pass


class Packed(NamedTuple):
    """Compressed rows, and the moment that tells their order."""

    data: bytes
    moment: Moment


class BlockMask:
    """A mask, held as bits until it is packed or as it was read until somebody looks at it."""

    def __init__(self, size: int, height: int, held: NDArray[np.uint8] | Packed) -> None:
        self.size, self.height, self._held = size, height, held

    @classmethod
    def of(cls, mask: NDArray[np.bool_], outside: NDArray[np.bool_] | None = None) -> BlockMask:
        rows = np.packbits(mask, axis=1)
        rows = rows if outside is None else np.vstack([rows, np.packbits(outside)])
        return cls(len(mask), len(rows), rows)

    @classmethod
    def read(cls, text: Any, moment: Moment, room: int) -> tuple[BlockMask, int]:
        """A mask from its text, at most `room` bytes of it, and how many there are. They also tell its shape."""
        count = len(moment[0])
        rows = {height * -(-size // 8): (size, height) for size, height in shapes(count)}
        data = decoded(text, "masks")
        length = len(inflated(data, "masks", min(room, max(rows))))
        if length not in rows:
            raise TraceError("trace file is broken at masks: not the packed mask of its step")
        return cls(*rows[length], Packed(data, moment)), length

    def pack(self, moment: Moment) -> str:
        """The mask as a text; from now on it is held like this."""
        if not isinstance(self._held, Packed) or self._held.moment != moment:
            order = packing_order(moment, self.size)
            rows = np.packbits(bits(self)[np.ix_(with_last(order, self.height), order)], axis=1)
            rows[1:] ^= rows[:-1].copy()
            self._held = Packed(zlib.compress(rows.tobytes(), 9), moment)
        return base64.b64encode(self._held.data).decode()

    @property
    def unpacked_bytes(self) -> int:
        return self.height * -(-self.size // 8)


def shapes(count: int) -> list[tuple[int, int]]:
    """Columns and rows that the mask of a block of so many positions can have."""
    return [(count, count), (2 * count, 2 * count), (2 * count, 2 * count + 1)]


def bits(mask: BlockMask) -> NDArray[np.bool_]:
    """All rows, in the order of positions, as an array that nobody may write to."""
    return kept_bits(mask) if mask.size * mask.height <= LARGEST_KEPT else made_bits(mask)


@lru_cache(maxsize=8)
def kept_bits(mask: BlockMask) -> NDArray[np.bool_]:
    """The same for a while: a step's many sentences ask for it."""
    return made_bits(mask)


def made_bits(mask: BlockMask) -> NDArray[np.bool_]:
    held, size, height = mask._held, mask.size, mask.height
    if isinstance(held, Packed):
        rows = np.frombuffer(zlib.decompress(held.data), np.uint8).reshape(height, -1)
        order = packing_order(held.moment, size)
        array = np.empty((height, size), dtype=bool)
        array[np.ix_(with_last(order, height), order)] = unpacked(np.bitwise_xor.accumulate(rows, axis=0), size)
    else:
        array = unpacked(held, size)
    array.flags.writeable = False
    return array


def unpacked(rows: NDArray[np.uint8], size: int) -> NDArray[np.bool_]:
    return np.unpackbits(rows, axis=1, count=size).view(bool)


def packing_order(moment: Moment, size: int) -> NDArray[np.int64]:
    """Which row and column of the mask comes first, second, …"""
    states, confidence = moment
    falling = np.array([-(value or 0.0) for value in confidence])
    order = np.lexsort((falling, np.array(["MCU".index(letter) for letter in states])))
    return order if size == len(order) else np.concatenate([order, order + len(order)])


def with_last(order: NDArray[np.int64], height: int) -> NDArray[np.int64]:
    """The same for rows, of which one may stand for the outside."""
    return np.append(order, np.arange(len(order), height))


def pack_cells(cells: bytes) -> str:
    """A graph's cells, a byte each."""
    return base64.b64encode(zlib.compress(cells, 9)).decode()


def read_cells(text: Any, size: int, room: int) -> bytes:
    """The cells of a graph of so many positions, of at most `room` bytes."""
    cells = inflated(decoded(text, "graphs"), "graphs", min(room, size * size))
    if len(cells) != size * size:
        raise TraceError("trace file is broken at graphs: not the packed cells of its graph")
    return cells


def decoded(text: Any, part: str) -> bytes:
    try:
        if not isinstance(text, str):
            raise ValueError
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise TraceError(f"trace file is broken at {part}: it is not base64") from None


def inflated(data: bytes, part: str, most: int) -> bytes:
    """What a packed part of a file holds, at most so many bytes."""
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, most + 1)
    except zlib.error:
        plain = b""
    if not inflate.eof or inflate.unused_data or len(plain) > most:
        raise TraceError(f"trace file is broken at {part}: what is packed there is none, or too large")
    return plain
