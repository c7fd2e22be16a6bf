"""Trace files of version 2, which 0.2 wrote: all masks were one packed text, so were the cells of all graphs, and
states were told by their letters alone.

Does not know: how such a file was written, only how it is read.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dard.trace.about import masked_states
from dard.trace.limits import MAX_GRAPH, MAX_GRAPH_BYTES, MAX_MASK_BYTES, TraceError
from dard.trace.masks import BlockMask, decoded, inflated
from dard.trace.records import Step


def declare_states(body: dict[str, Any]) -> None:
    """Of the states of masked decoding such a file had the letters."""
    if isinstance(about := body.setdefault("about", {}), dict):
        if not isinstance(letters := about.get("states", "MU"), str) or not re.fullmatch("M?C?U?", letters):
            raise TraceError("trace file is broken at about.states: it is none of the letters M, C and U")
        about["states"] = [asdict(kind) for kind in masked_states("MCU" if "C" in letters else "MU")]


def give_masks(steps: list[Step], text: Any) -> None:
    """Each step is a flag byte (bit 0: mask, bit 1: outside, bit 2: the mask is of the block alone), then the mask's
    bits, row-major, exclusive-ored with the previous one if that has the same size, then what the outside sees."""
    counts = [step.block[1] - step.block[0] for step in steps]
    most = sum(1 + sum(sizes_of(2 * count)) for count in counts)
    data = inflated(decoded(text, "masks"), "masks", min(most, MAX_MASK_BYTES))
    cursor, previous = 0, b""
    for step, count in zip(steps, counts, strict=True):
        flags = data[cursor] if cursor < len(data) else 255
        size = count if flags == 5 else 2 * count
        inside, outside = sizes_of(size)
        middle = cursor + 1 + inside * (flags & 1)
        end = middle + outside * (flags >> 1 & 1)
        if flags not in (0, 1, 2, 3, 5) or end > len(data):
            raise TraceError("trace file is broken at masks: it ends before the last step")
        if flags & 1:
            now = np.frombuffer(data[cursor + 1 : middle], np.uint8)
            previous = (now ^ np.frombuffer(previous, np.uint8) if inside == len(previous) else now).tobytes()
            mask = bits_of(previous, size * size).reshape(size, size)
            step._mask = BlockMask.of(mask, bits_of(data[middle:end], size) if flags & 2 else None)
        cursor = end
    if cursor != len(data):
        raise TraceError("trace file is broken at masks: it goes on after the last step")


def bits_of(data: bytes, count: int) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).view(bool)


def sizes_of(size: int) -> tuple[int, int]:
    """Bytes of a mask of so many rows, and of one row."""
    return -(-size * size // 8), -(-size // 8)


def give_cells(steps: list[Step], text: Any) -> None:
    """Each step is a byte, 1 or 0, and with 1 the cells of its graph."""
    sizes = [len(step.graph.positions) if step.graph else 0 for step in steps]
    most = sum(size * size for size in sizes if size <= MAX_GRAPH)
    data = inflated(decoded(text, "graphs"), "graphs", len(steps) + min(most, MAX_GRAPH_BYTES))
    cursor = 0
    for step, size in zip(steps, sizes, strict=True):
        kept = data[cursor : cursor + 1]
        cursor += 1
        if kept == b"\1" and step.graph and size <= MAX_GRAPH and cursor + size * size <= len(data):
            step.graph._cells = data[cursor : cursor + size * size]
            cursor += size * size
        elif kept != b"\0":
            raise TraceError("trace file is broken at graphs: not the packed graphs of these steps")
    if cursor != len(data):
        raise TraceError("trace file is broken at graphs: it goes on after the last step")
