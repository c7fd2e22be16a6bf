"""The one sweep behind every table and figure: variants × samples, decoded in batches, one row for each pair.

Promises: all samples of a batch are decoded together, and no other variant's samples are among them, so that the wall
time of a batch is this variant's own. A batch gives the same rows whenever, and in whichever process, it is run.
Does not know: files, progress, or what the rows are for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dard import driver
from dard.experiments.variants import Scope, Variant
from dard.metrics import measure as count
from dard.models.base import Model
from dard.session import Session
from dard.state import InputError
from dard.tasks.base import Judge

BATCH = 8
Row = dict[str, Any]
Key = tuple[str, int]


def key_of(row: Mapping[str, Any]) -> Key:
    return row["variant"], row["sample"]


@dataclass(frozen=True)
class Job:
    """What a sweep works with."""

    model: Model
    task: Judge
    scope: Scope

    @staticmethod
    def of(
        model: Model,
        task: Judge,
        samples: int,
        seed: int = 0,
        gen_length: int | None = None,
        block_length: int | None = None,
    ) -> Job:
        """Items of a task with the lengths that are asked for, else the task's own."""
        try:
            items = task.test_items(samples, seed)
        except ValueError as error:
            raise InputError(str(error)) from None
        lengths = [item.gen_length for item in items if item.gen_length is not None]
        if not lengths and gen_length is not None:
            raise InputError(f"gen_length = {gen_length} is not allowed; the items of {task.name} are templates")
        length = gen_length or max(lengths, default=None)
        block = block_length or getattr(task, "block_length", None)
        return Job(model, task, Scope(items, length, min(block, length) if block and length else block))

    def sessions(self, variant: Variant, samples: Sequence[int], record: bool = False) -> list[Session]:
        """A session for each sample, before its first step."""
        scope = self.scope
        return [
            Session(self.model, scope.items[n].prompt, variant.decoder, record=record, **scope.settings(variant, n))
            for n in samples
        ]


def decode_and_score(
    job: Job,
    variant: Variant,
    samples: Sequence[int],
    record: bool = False,
    also: Callable[[Session], Row] = lambda session: {},
) -> list[Row]:
    """Rows of one batch; the wall time is divided among them by their passes. `also` tells more of a decode."""
    sessions = job.sessions(variant, samples, record)
    began = time.perf_counter()
    driver.finish(sessions)
    each_pass = (time.perf_counter() - began) / sum(len(session.steps) for session in sessions)
    measured = getattr(job.task, "measure", None)
    rows = []
    for session, sample in zip(sessions, samples, strict=True):
        trace = session.trace
        verdict = job.task.score(job.scope.items[sample], trace.text)
        filled = [token for token, given in zip(trace.tokens, trace.fixed, strict=True) if not given]
        rows.append(
            {
                "score": round(verdict.details[measured], 6) if measured else float(verdict.right),
                "right": verdict.right,
                "passes": trace.num_steps,
                "tokens": len(filled),
                "without_end": sum(token != trace.eos_id for token in filled),
                "revocations": count(trace).revocations,
                "ended_by": trace.ended_by,
                "text": trace.text,
                "seconds": round(each_pass * trace.num_steps, 6),
                **also(session),
            }
        )
    return rows


@dataclass(frozen=True)
class Process:
    """This process among `count` that share the batches; `local` is its number on this machine, which is its GPU."""

    index: int = 0
    count: int = 1
    local: int = 0

    @staticmethod
    def this(environment: Mapping[str, str] = os.environ) -> Process:
        """The place of this process, from the variables that accelerate and torchrun set.

        >>> Process.this({"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0"})
        Process(index=2, count=4, local=0)
        """
        defaults = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
        try:
            index, count, local = (int(environment.get(name, default)) for name, default in defaults.items())
        except ValueError:
            raise InputError("RANK, WORLD_SIZE and LOCAL_RANK must be whole numbers, as accelerate sets them") from None
        if not 0 <= index < count or local < 0:
            raise InputError(
                f"RANK = {index} is not allowed; with WORLD_SIZE = {count} it must be from 0 to {count - 1}"
            )
        return Process(index, count, local)


def sweep(
    job: Job,
    variants: Sequence[Variant],
    samples: int,
    measure: Callable[[Job, Variant, Sequence[int]], list[Row]] = decode_and_score,
    *,
    batch: int = BATCH,
    process: Process = Process(),  # noqa: B008 (it cannot change)
    known: Collection[Key] = (),
) -> Iterator[list[Row]]:
    """Rows of every variant on every sample that are not `known`, batch by batch; of several processes, this one's.

    A few samples go under every variant, then the next few: so every point of a chart is there early and grows more
    exact, and all variants see the machine alike.

    >>> import dard
    >>> from dard.experiments.variants import ONE_BY_ONE
    >>> from dard.tasks import TASKS
    >>> job = Job.of(dard.load_model("embedded"), TASKS["places"], samples=2)
    >>> [(row["sample"], row["right"]) for rows in sweep(job, [ONE_BY_ONE, Variant("DARD", "dard")], 2) for row in rows]
    [(0, True), (1, True), (0, True), (1, True)]
    """
    warm = False
    for first in range(process.index * batch, samples, process.count * batch):
        chosen = range(first, min(first + batch, samples))
        for variant in variants:
            missing = [sample for sample in chosen if (variant.name, sample) not in known]
            if not missing:
                continue
            if not warm:  # the first pass of a process pays for loading kernels, which is nobody's decoding time
                job.sessions(variant, chosen[:1])[0].step()
                warm = True
            # The whole batch is run even if only a part is missing: in other company a row might differ by a rounding.
            rows = zip(chosen, measure(job, variant, chosen), strict=True)
            yield [{"variant": variant.name, "sample": n, **row} for n, row in rows if n in missing]
