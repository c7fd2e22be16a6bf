"""Run a plan: batch after batch, resumable, with progress as it goes.

Promises: `run` gives control back after every batch of samples, so that whoever drives it can show progress and stop;
what was yielded is in the file already. A second run of the same plan reads what is there and does only what is
missing, in the same batches, so that an interrupted run ends with the same rows as one that was not.
Does not know: command lines, pages, or what an experiment measures.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dard.experiments.decoding import open_sessions
from dard.experiments.plan import Plan
from dard.experiments.results import (
    CODE,
    MACHINE,
    Part,
    Row,
    collect,
    key_of,
    part_path,
    part_paths,
    read_part,
    refuse_other,
    stem_of,
)
from dard.experiments.spread import Process
from dard.experiments.variants import Variant


@dataclass(frozen=True)
class Progress:
    """After a batch: how many rows there are of how many, and the new ones."""

    done: int
    total: int
    rows: list[Row]


def run(
    plan: Plan,
    out: str | Path | None = None,
    stop: threading.Event | None = None,
    process: Process | None = None,
) -> Iterator[Progress]:
    """Run what is missing, yielding after every batch, until all is done or `stop` is set.

    With `out`, rows that are already in that folder count as done, and new ones are written there before they are
    yielded. The first `Progress` says how much was there. With a `process`, only its share of the batches is run.
    """
    process = process or Process()
    results, part = plan.results, None
    if out is not None:
        part = resume(plan, Path(out), process)
    known = {key_of(row) for row in results.rows}
    warm = False
    try:
        yield Progress(len(results.rows), results.total, list(results.rows))
        for variant, samples in plan.batches(process):
            missing = {sample for sample in samples if (variant.name, sample) not in known}
            if not missing:
                continue
            if stop is not None and stop.is_set():
                return
            if not warm:  # the first pass of a process pays for loading kernels, which is nobody's decoding time
                open_sessions(plan.job, variant, samples[:1])[0].step()
                warm = True
            # The whole batch is run even if only a part is missing: in other company a row might differ by a rounding.
            rows = named(variant, samples, plan.experiment.measure(plan.job, variant, samples), missing)
            if part is not None:
                part.add(rows)
            results.rows += rows
            yield Progress(len(results.rows), results.total, rows)
    finally:
        if part is not None:
            part.close()


def named(variant: Variant, samples: Sequence[int], found: Sequence[Row], missing: set[int]) -> list[Row]:
    pairs = zip(samples, found, strict=True)
    return [{"variant": variant.name, "sample": sample, **row} for sample, row in pairs if sample in missing]


def resume(plan: Plan, folder: Path, process: Process) -> Part | None:
    """Read the rows that are there; the file to append to, or None if nothing is missing."""
    results, stem = plan.results, stem_of(plan.results.header)
    paths = part_paths(folder, stem)
    collect(results, paths)
    if results.complete:
        return None
    own = part_path(folder, stem, process.index, process.count)
    for path in paths:
        header, _ = read_part(path)
        refuse_other(header, results.header, CODE, path)
        if path == own:
            refuse_other(header, results.header, MACHINE, path)
    return Part(own, results.header)
