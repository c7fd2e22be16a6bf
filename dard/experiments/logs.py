"""An experiment under way, told to TensorBoard or to Weights & Biases: accuracy and passes of every variant so far.

Promises: the packages are asked for before anything is run, and imported when they are used.
Does not know: how an experiment runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from dard.core.extras import need
from dard.experiments.points import points
from dard.results.file import Results


class Log(Protocol):
    """Takes numbers by name, as they are after so many rows."""

    def write(self, numbers: Mapping[str, float], rows: int) -> None: ...
    def close(self) -> None: ...


class TensorBoard:
    """A folder that `tensorboard --logdir` shows."""

    def __init__(self, folder: Path, results: Results) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(folder / "tensorboard" / results.stem))

    def write(self, numbers: Mapping[str, float], rows: int) -> None:
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, rows)
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


class Wandb:
    """A run of the project `dard`; the environment says where to, as WANDB_MODE=offline does."""

    def __init__(self, folder: Path, results: Results) -> None:
        import wandb

        about = {name: results.header[name] for name in ("experiment", "model", "task", "samples", "seed", "command")}
        self.run: Any = wandb.init(project="dard", name=results.stem, config=about, dir=str(folder))

    def write(self, numbers: Mapping[str, float], rows: int) -> None:
        self.run.log(dict(numbers), step=rows)

    def close(self) -> None:
        self.run.finish()


LOGS: dict[str, Callable[[Path, Results], Log]] = {"tensorboard": TensorBoard, "wandb": Wandb}


def check_log(kind: str | None) -> None:
    """Refuse a log whose package is not installed."""
    if kind is not None:
        need(f"--log {kind}", "log", kind)


def numbers(results: Results) -> dict[str, float]:
    """What there is to tell of the rows so far."""
    found: dict[str, float] = {}
    for p in points(results):
        found[f"{p.variant.name}/passes"] = p.passes
        if all("score" in row for row in p.rows):
            found[f"{p.variant.name}/accuracy"] = 100 * p.accuracy
    return found
