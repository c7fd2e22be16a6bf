"""The experiments and the tasks by name."""

from __future__ import annotations

from pathlib import Path

from dard.experiments.ablations import MaskAblation, MixingAblation
from dard.experiments.base import Experiment
from dard.experiments.budgets import Budgets
from dard.experiments.causes import Causes
from dard.experiments.contamination import Contamination
from dard.experiments.cost import Cost
from dard.experiments.endings import Endings
from dard.experiments.lengths import Lengths
from dard.experiments.ordering import Ordering
from dard.experiments.pareto import Pareto
from dard.experiments.thresholds import Thresholds
from dard.experiments.weight_statistics import WeightStatistics
from dard.state import InputError
from dard.tasks import TASKS
from dard.tasks.base import Judge
from dard.tasks.benchmarks import PRESETS, open_benchmark

_ALL: tuple[type[Experiment], ...] = (
    Pareto, MaskAblation, MixingAblation, WeightStatistics, Ordering, Thresholds, Lengths, Budgets, Cost, Contamination,
    Endings, Causes,
)  # fmt: skip

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment() for experiment in _ALL}


def get_experiment(name: str) -> Experiment:
    try:
        return EXPERIMENTS[name]
    except (KeyError, TypeError):
        raise InputError(f"unknown experiment {str(name)[:60]!r}; there are {', '.join(EXPERIMENTS)}") from None


def find_task(name: str, data: str | Path | None = None, run_code: bool = False) -> Judge:
    """A small world, or a benchmark with its data from a file, a folder or the hub."""
    if name in PRESETS:
        return open_benchmark(name, data=data, run_code=run_code)
    if name not in TASKS:
        raise InputError(
            f"unknown task {str(name)[:60]!r}; there are {', '.join(TASKS)} (small worlds of the embedded model) "
            f"and {', '.join(PRESETS)} (benchmarks)"
        )
    if data is not None:
        raise InputError(f"{name} makes its own items; data is for {', '.join(PRESETS)}")
    return TASKS[name]
