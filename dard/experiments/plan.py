"""Choose and draw everything an experiment needs, and run nothing.

Promises: a plan that was made can be run: names, numbers and lengths are checked, and every item fits the model.
Does not know: files, progress.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dard.experiments.base import Experiment, Job
from dard.experiments.catalogue import find_task, get_experiment
from dard.experiments.results import FORMAT, VERSION, Results
from dard.experiments.spread import Process
from dard.experiments.variants import Scope, ScoredTask, Variant, settings_of
from dard.experiments.version import code_version, encoding, fingerprint, machine
from dard.models.base import Model
from dard.state import InputError, initial_state
from dard.tasks import Item

BATCH = 8
LIMITS = {  # smallest and largest
    "samples": (1, 100_000),
    "seed": (0, 2**31 - 1),
    "batch": (1, 1024),
    "gen_length": (1, 8192),
    "block_length": (1, 8192),
}


@dataclass
class Plan:
    """An experiment on a model and a task, with everything drawn. `results` grows as it runs."""

    experiment: Experiment
    job: Job
    results: Results

    def batches(self, process: Process) -> Iterator[tuple[Variant, range]]:
        """The cells of a process in the order they are run: a few samples under every variant, then the next few.

        So every point of a chart is there early and grows more exact, and all variants see the machine alike.
        """
        size = self.results.header["batch"]
        for number, first in enumerate(range(0, self.results.samples, size)):
            if process.owns(number):
                for variant in self.results.variants:
                    yield variant, range(first, min(first + size, self.results.samples))


def make_plan(
    experiment: str,
    model: Model,
    task: str | ScoredTask | None = None,
    samples: int | None = None,
    seed: int = 0,
    *,
    gen_length: int | None = None,
    block_length: int | None = None,
    batch: int | None = None,
    data: str | Path | None = None,
    run_code: bool = False,
    command: str | None = None,
) -> Plan:
    """A plan. What is not given is the experiment's or the task's default; bad input raises `InputError`.

    `data` and `run_code` are for benchmarks; `command` is what to type to get these results again.

    >>> import dard
    >>> plan = make_plan("mixing-ablation", dard.load_model("embedded"), "places", samples=3)
    >>> plan.results.total, [variant.name for variant in plan.results.variants]
    (15, ['Saber n=4', 'DARD w=0', 'DARD w=0.5', 'DARD w=1', 'DARD w=adaptive'])
    """
    chosen = get_experiment(experiment)
    samples = chosen.default_samples if samples is None else samples
    batch = BATCH if batch is None else batch
    check_numbers(samples=samples, seed=seed, batch=batch, gen_length=gen_length, block_length=block_length)
    wanted = task or chosen.default_task
    judge: ScoredTask = find_task(wanted, data=data, run_code=run_code) if isinstance(wanted, str) else wanted
    try:
        items = judge.test_items(samples, seed)
    except ValueError as error:
        raise InputError(str(error)) from None
    scope = make_scope(judge, items, gen_length, block_length)
    variants = chosen.grid(scope)
    check_room(model, scope, variants)
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "experiment": chosen.name,
        "title": chosen.title,
        "command": command,
        "model": model.name,
        "weights": fingerprint(model),
        "task": judge.name,
        "task_title": judge.title,
        "samples": samples,
        "seed": seed,
        "gen_length": scope.gen_length,
        "block_length": scope.block_length,
        "batch": min(batch, chosen.batch or batch),
        "code": code_version(),
        "machine": machine(model),
        "variants": [variant.as_dict() for variant in variants],
        "encoding": encoding(model, [item.prompt for item in items]),
        "items": [{"prompt": item.prompt, "gen_length": item.gen_length} for item in items],
    }
    return Plan(chosen, Job(model, judge, scope), Results(header))


def check_numbers(**values: Any) -> None:
    for name, value in values.items():
        low, high = LIMITS[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high):
            raise InputError(f"{name} = {value!r} is not allowed; {name} must be a whole number from {low} to {high}")


def make_scope(task: ScoredTask, items: Sequence[Item], gen_length: int | None, block_length: int | None) -> Scope:
    """The lengths that were asked for, else the task's own."""
    lengths = [item.gen_length for item in items if item.gen_length is not None]
    if not lengths and gen_length is not None:
        raise InputError(f"gen_length = {gen_length} is not allowed; the items of {task.name} are templates")
    length = gen_length or max(lengths, default=None)
    block = block_length or getattr(task, "block_length", None)
    return Scope(items, length, min(block, length) if block and length else block)


def check_room(model: Model, scope: Scope, variants: Sequence[Variant]) -> None:
    """Too long for the model is a sentence now, not in the middle of a run."""
    longest = max(variants, key=lambda variant: variant.settings.get("gen_length", 0))
    for item in scope.items:
        initial_state(model, item.prompt, settings_of(longest, item, scope).get("gen_length", 0), scope.block_length)
