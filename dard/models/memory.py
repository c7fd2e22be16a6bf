"""Memory of a device: what is free, what a model takes, and a clear sentence when it runs out.

Running out of memory is an `InputError`: the sentence says what to try, and whatever was there before stays, because a
step changes nothing until it is complete. Knows nothing of checkpoints or decoders.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dard.core.errors import InputError

GB = 1_000_000_000
SLACK = 1.1  # weights are not all a forward pass needs


class NotEnoughMemory(InputError):
    """The device has too little memory for what was asked."""


@dataclass(frozen=True)
class MemoryReport:
    """In bytes. `weights` of the model, `peak` since the start, `free` and `total` of the
    device; None where it cannot be told."""

    device: str
    weights: int
    peak: int | None
    free: int | None
    total: int | None


def free_memory(device: torch.device) -> int | None:
    """Bytes that can still be had on a device; None where it cannot be told."""
    return memory_of(device)[0]


def memory_of(device: torch.device) -> tuple[int | None, int | None]:
    """Free and total bytes of a device."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # torch's own, unused
        return free + reserved, total
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        kilobytes = dict(re.findall(r"^(MemAvailable|MemTotal): +(\d+) kB$", text, re.M))
        return 1024 * int(kilobytes["MemAvailable"]), 1024 * int(kilobytes["MemTotal"])
    except (OSError, KeyError):
        return None, None


def memory_report(model: Any) -> MemoryReport:
    """What a model takes on its device. A model without weights takes nothing."""
    device = model.device
    network = getattr(model, "network", None)
    weights = 0 if network is None else sum(w.numel() * w.element_size() for w in network.parameters())
    return MemoryReport(str(device), weights, peak_bytes(device), *memory_of(device))


def peak_bytes(device: torch.device) -> int | None:
    """The most memory in use so far: what torch had of a GPU, what the process had of the computer."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def check_room(name: str, weights: int, device: torch.device) -> None:
    """Refuse weights that cannot fit, before they are read: on a CPU the system would end the whole program."""
    free = free_memory(device)
    if free is not None and weights * SLACK > free:
        raise NotEnoughMemory(
            f"model {name!r} needs about {weights * SLACK / GB:.1f} GB and {device} has {free / GB:.1f} GB free; "
            "try quantise=4 or 8, dtype='bfloat16', device_map='auto', or a smaller model such as "
            "qwen3-0.6b-diffusion-mdlm"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """CUDA has an exception of its own; the CPU's and MPS's allocators only say it in words."""
    words = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )


@contextmanager
def memory_guard(doing: str, device: torch.device) -> Iterator[None]:
    """Turn running out of memory into one sentence that says what to try; `doing` says what was under way.

    >>> with memory_guard("a step over 640 positions of model 'm'", torch.device("cpu")):
    ...     raise torch.OutOfMemoryError("CUDA out of memory.")
    Traceback (most recent call last):
    ...
    dard.models.memory.NotEnoughMemory: a step over 640 positions of model 'm' does not fit into the memory of cpu; \
try a shorter generation (gen_length, block_length), quantise=4 or 8, or a smaller model
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise NotEnoughMemory(
            f"{doing} does not fit into the memory of {device}; try a shorter generation (gen_length, block_length), "
            "quantise=4 or 8, or a smaller model"
        ) from None
