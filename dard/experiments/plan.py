"""Choose and draw everything an experiment needs; run it batch after batch, resumable, with progress as it goes.

Promises: a plan that was made can be run: names, numbers and lengths are checked, and every item fits the model. `run`
gives control back after every batch of samples, so that whoever drives it can show progress and stop; what was yielded
is in the file already. A second run of the same plan reads what is there and does only what is missing, in the same
batches, so that an interrupted run ends with the same rows as one that was not.
Does not know: command lines, pages, or what an experiment measures.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.prompt import initial_state
from dard.experiments.base import Experiment
from dard.experiments.catalogue import find_task, get_experiment
from dard.experiments.choice import Choice
from dard.models.base import Model
from dard.results.file import FORMAT, VERSION, Results, add_rows, resume
from dard.results.provenance import code_version, encoding, fingerprint, machine
from dard.results.sweep import BATCH, Job, Process, Row, key_of, sweep
from dard.results.tokens import each_token
from dard.tasks.base import Judge

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


@dataclass(frozen=True)
class Progress:
    """After a batch: how many rows there are of how many, and the new ones."""

    done: int
    total: int
    rows: list[Row]


def make_plan(
    experiment: str,
    model: Model,
    task: str | Judge | None = None,
    samples: int | None = None,
    seed: int = 0,
    *,
    gen_length: int | None = None,
    block_length: int | None = None,
    batch: int | None = None,
    data: str | Path | None = None,
    run_code: bool = False,
    command: str | None = None,
    choice: Choice = Choice(),  # noqa: B008 (it cannot change)
    tokens: bool = False,
) -> Plan:
    """A plan. What is not given is the experiment's or the task's default; bad input raises `InputError`.

    `data` and `run_code` are for benchmarks; `command` is what to type to get these results again. A `choice` says
    which variants are run and what they are told; `tokens` keeps what became of every token.

    >>> import dard
    >>> plan = make_plan("mixing-ablation", dard.load_model("embedded"), "places", samples=3)
    >>> plan.results.total, [variant.name for variant in plan.results.variants]
    (15, ['Saber n=4', 'DARD w=0', 'DARD w=0.5', 'DARD w=1', 'DARD w=adaptive'])
    """
    chosen = get_experiment(experiment)
    samples = chosen.default_samples if samples is None else samples
    batch = BATCH if batch is None else batch
    lengths = choice.lengths()
    gen_length, block_length = lengths.get("gen_length", gen_length), lengths.get("block_length", block_length)
    check_numbers(samples=samples, seed=seed, batch=batch, gen_length=gen_length, block_length=block_length)
    wanted = task or chosen.default_task
    judge: Judge = find_task(wanted, data=data, run_code=run_code) if isinstance(wanted, str) else wanted
    job = Job.of(model, judge, samples, seed, gen_length, block_length)
    scope = job.scope
    job = replace(job, each=each_token) if tokens else job
    variants = choice.apply(chosen.grid(scope))
    longest = max(variants, key=lambda variant: variant.settings.get("gen_length", 0))
    for n, item in enumerate(scope.items):  # too long for the model is a sentence now, not in the middle of a run
        initial_state(job.model, item.prompt, scope.settings(longest, n).get("gen_length", 0), scope.block_length)
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
        "presets": scope.presets,
        "batch": min(batch, chosen.batch or batch),
        "code": code_version(),
        "machine": machine(model),
        "variants": [asdict(variant) for variant in variants],
        "encoding": encoding(job.model, [item.prompt for item in scope.items]),
        "encodings": [encoding(job.model, [item.prompt])[:8] for item in scope.items],
        "items": [{"prompt": i.prompt, "gen_length": i.gen_length, "answer": i.answer} for i in scope.items],
    }
    return Plan(chosen, job, Results(header))


def check_numbers(**values: Any) -> None:
    for name, value in values.items():
        low, high = LIMITS[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high):
            raise InputError(f"{name} = {value!r} is not allowed; {name} must be a whole number from {low} to {high}")


def run(
    plan: Plan,
    out: str | Path | None = None,
    stop: threading.Event | None = None,
    process: Process = Process(),  # noqa: B008 (it cannot change)
) -> Iterator[Progress]:
    """Run what is missing, yielding after every batch, until all is done or `stop` is set.

    With `out`, rows that are already in that folder count as done, and new ones are written there before they are
    yielded. The first `Progress` says how much was there. With a `process`, only its share of the batches is run.
    """
    results = plan.results
    file = None if out is None else resume(results, Path(out), process)
    yield Progress(len(results.rows), results.total, list(results.rows))
    batches = sweep(
        plan.job,
        results.variants,
        results.samples,
        plan.experiment.measure,
        batch=results.header["batch"],
        process=process,
        known={key_of(row) for row in results.rows},
    )
    try:
        while not (stop and stop.is_set()) and (rows := next(batches, None)):
            if file is not None:
                add_rows(file, rows)
            results.rows += rows
            yield Progress(len(results.rows), results.total, rows)
    finally:
        if file is not None:
            file.close()
