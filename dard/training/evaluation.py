"""How often a model is right on each small world, one token per step and faster.

Promises: figures come from the project's own standard decoder, on held-out items only, the same items for every
speed.
Does not know: how the model was made; anything that `dard.load_model` accepts can be measured, if its vocabulary
has the words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dard.decoding import loop
from dard.decoding.session import Session
from dard.models.base import Model
from dard.tasks import MASK, TASKS, Item, Score, Task

# One token per step, then a half, a quarter and an eighth of the steps.
DIVISORS = (1, 2, 4, 8)
RIGHT = "right"


@dataclass(frozen=True)
class Figures:
    """Shares between 0 and 1 of one measure of one task, by divisor of the number of steps."""

    task: str
    measure: str
    items: int
    shares: dict[int, float]


def decode_items(model: Model, items: Sequence[Item], divisor: int) -> list[str]:
    """The texts that standard decoding writes for items in 1/`divisor` of their steps, on shared passes."""

    def begin(item: Item) -> Session:
        masks = item.gen_length or item.prompt.split().count(MASK)
        settings = {"steps": math.ceil(masks / divisor)}
        if item.gen_length is not None:
            settings |= {"gen_length": item.gen_length, "block_length": item.gen_length}
        return Session(model, item.prompt, "standard", record=False, **settings)

    sessions = [begin(item) for item in items]
    loop.finish(sessions)
    return [session.trace.text for session in sessions]


def measure_task(model: Model, task: Task, items: int, seed: int = 0) -> list[Figures]:
    """One `Figures` for being right and one for each detail the task's scorer gives."""
    chosen = task.test_items(items, seed)
    scores: dict[int, list[Score]] = {
        divisor: list(map(task.score, chosen, decode_items(model, chosen, divisor))) for divisor in DIVISORS
    }

    def shares(of: Callable[[Score], float]) -> dict[int, float]:
        return {divisor: sum(map(of, scored)) / len(scored) for divisor, scored in scores.items()}

    def detail(name: str) -> Callable[[Score], float]:
        return lambda score: score.details[name]

    figures = [Figures(task.name, RIGHT, items, shares(lambda score: float(score.right)))]
    figures += [Figures(task.name, name, items, shares(detail(name))) for name in scores[1][0].details]
    return figures


def evaluate(
    model: Model,
    tasks: Sequence[str] = tuple(TASKS),
    items: int = 300,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> list[Figures]:
    """Measure the named tasks one after the other, reporting each table row as it is known."""
    figures: list[Figures] = []
    for name in tasks:
        for measured in measure_task(model, TASKS[name], items, seed):
            figures.append(measured)
            report(row(measured))
    return figures


HEADER = (
    "| world | measure | items | one token per step | 1/2 of the steps | 1/4 | 1/8 |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


def row(figures: Figures) -> str:
    """One line of the table.

    >>> row(Figures("places", "right", 300, {1: 1.0, 2: 0.95, 4: 0.5, 8: 0.25}))
    '| places | right | 300 | 100.0 % | 95.0 % | 50.0 % | 25.0 % |'
    """
    shares = " | ".join(f"{100 * figures.shares[divisor]:.1f} %" for divisor in DIVISORS)
    return f"| {figures.task} | {figures.measure} | {figures.items} | {shares} |"


def table(figures: Sequence[Figures]) -> str:
    """All lines with their heading, in Markdown."""
    return "\n".join([HEADER, *(row(each) for each in figures)])
