"""How long a call takes and how much memory it needs: what `bench` and the experiment `cost` share.

Promises: what is compared is measured in turns, so that a busy moment of the machine meets both alike.
Does not know: what is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import torch

Times = dict[str, list[float]]
CPU = torch.device("cpu")


def seconds(call: Callable[[], Any], device: torch.device = CPU) -> float:
    """Wall time of a call; a GPU works on after a call has returned, and is waited for."""
    settle(device)
    began = time.perf_counter()
    call()
    settle(device)
    return time.perf_counter() - began


def settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def alternate(repeats: int, calls: Mapping[str, Callable[[], Any]], tick: Callable[[], None]) -> Times:
    """Seconds of each call, taken in turns after one warm-up; every second round goes the other way round."""
    times: Times = {name: [] for name in calls}
    for number in range(repeats + 1):
        for name in list(calls) if number % 2 else reversed(list(calls)):
            took = seconds(calls[name])
            if number:
                times[name].append(took)
            tick()
    return times


def ratio(times: Mapping[str, list[float]], of: str, to: str) -> float:
    """The median of the rounds' own ratios: what a busy moment did to one round is not carried to another.

    >>> ratio({"step": [3, 40, 3], "bare": [2, 20, 2]}, "step", "bare")
    1.5
    """
    return median(a / b for a, b in zip(times[of], times[to], strict=True))


def peak_during(call: Callable[[], Any], device: torch.device = CPU) -> tuple[int, int] | None:
    """Bytes before a call and the most during it: allocated on the GPU, or resident in this process (Linux only)."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        settle(device)
        return before, torch.cuda.max_memory_allocated(device)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the highest level so far
    except OSError:
        return None
    before = resident("VmRSS")
    call()
    return before, resident("VmHWM")


def resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])
