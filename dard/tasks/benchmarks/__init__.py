"""Benchmarks for real models, read from local files or the hub, and the protocols each can be asked by.

>>> sorted(BENCHMARKS)
['arc-c', 'countdown-numbers', 'gsm8k', 'math-500', 'mbpp', 'sudoku-grids']
"""

from __future__ import annotations

from pathlib import Path

from dard.core.errors import InputError
from dard.core.extras import need
from dard.tasks.benchmarks.base import OURS, Benchmark
from dard.tasks.benchmarks.choices import ArcChallenge
from dard.tasks.benchmarks.countdown import CountdownNumbers
from dard.tasks.benchmarks.files import find_data
from dard.tasks.benchmarks.mathematics import Gsm8k, Math500
from dard.tasks.benchmarks.programs import Mbpp
from dard.tasks.benchmarks.sudoku import SudokuGrids, generated

_ALL: tuple[type[Benchmark], ...] = (Gsm8k, Math500, Mbpp, CountdownNumbers, SudokuGrids, ArcChallenge)

BENCHMARKS: dict[str, type[Benchmark]] = {kind.name: kind for kind in _ALL}

__all__ = ["BENCHMARKS", "PRESETS", "Benchmark", "open_benchmark"]


# Each benchmark by its name, which is our protocol, and by that with the name of another protocol after it: gsm8k-wino.
PRESETS = {kind.name: (kind, OURS) for kind in _ALL} | {
    f"{kind.name}-{protocol.name}": (kind, protocol) for kind in _ALL for protocol in kind.protocols
}


def open_benchmark(name: str, data: str | Path | None = None, run_code: bool = False) -> Benchmark:
    """A benchmark with its records: from `data` (a file, or a folder laid out as on the hub), else from the hub."""
    try:
        kind, protocol = PRESETS[name]
    except (KeyError, TypeError):
        raise InputError(f"unknown benchmark {str(name)[:60]!r}; there are {', '.join(PRESETS)}") from None
    if kind.runs_code and not run_code:
        raise InputError(
            f"{name} runs the code a model writes, in a process with limits; allow it with --run-code (run_code=True)"
        )
    need(name, "benchmarks", *kind.packages)
    if kind is SudokuGrids and data is None:
        return kind(generated(), protocol)
    return kind(find_data(name, data, protocol.source or kind.source), protocol)
