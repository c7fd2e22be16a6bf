"""From nothing to a model folder: train, export, evaluate, write the card.

Promises: the folder is written only after training has ended, and loads with `dard.load_model`.
Does not know: the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dard.models import load_model
from dard.tasks import TASKS
from dard.training.evaluation import Figures, evaluate
from dard.training.export import export
from dard.training.loop import SMOKE, Budget, Recipe, run
from dard.training.model_card import write_card

_SMOKE_STEPS = 40
_SMOKE_ITEMS = 2


def train(
    out: Path,
    work: Path,
    minutes: float,
    seed: int = 0,
    items: int = 300,
    smoke: bool = False,
    start: Path | None = None,
    report: Callable[[str], None] = print,
) -> list[Figures]:
    """Train for so many minutes (continuing from `work`), write the model to `out`, and return its figures.

    With `start`, the folder of a finished model, training begins with that model's weights.

    With `smoke` a tiny network takes a few steps and two items of each world are measured: it tests the
    machinery in seconds and learns nothing.
    """
    recipe = replace(SMOKE if smoke else Recipe(), seed=seed)
    budget = Budget(steps=_SMOKE_STEPS) if smoke else Budget(minutes=minutes)
    trained = run(recipe, budget, work, report, start=start)
    export(trained.network, out)
    report(f"wrote {out}; evaluating")
    figures = evaluate(load_model(out), tuple(TASKS), _SMOKE_ITEMS if smoke else items, report=report)
    write_card(out, trained, figures)
    return figures
