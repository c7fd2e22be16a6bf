"""The one sweep behind every table and figure: variants × samples, decoded in batches, one row for each pair.

Promises: the settings a run was made with follow from its variant, its item and the scope alone, so that whoever has a
results file can make any run in it again. All samples of a batch are decoded together. The time of a row is that of
its own steps, with its share of the forward passes; what it waited for others is nobody's decoding time. A batch gives
the same rows whenever, and in whichever process, it is run.
Does not know: files, progress, or what the rows are for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dard.core.errors import InputError
from dard.decoders import DECODERS, Decoder
from dard.decoding import loop
from dard.decoding.session import Session
from dard.models import Model, with_prefill
from dard.tasks import MASK, Item
from dard.tasks.base import Judge
from dard.trace import Trace
from dard.trace.metrics import measure as count

BATCH = 8
Row = dict[str, Any]
Key = tuple[str, int]


@dataclass(frozen=True)
class Variant:
    """One decoder with one choice of settings: a point of a chart, a line of a table."""

    name: str
    decoder: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(body: Mapping[str, Any]) -> Variant:
        """A variant as a results file has it; older files tell tokens per pass by a divisor."""
        settings, divisor = dict(body["settings"]), body.get("divisor")
        return Variant(body["name"], body["decoder"], settings | ({"per_pass": divisor} if divisor else {}))

    def includes(self, other: Variant) -> bool:
        """Whether the other is this one, perhaps with more settings."""
        return self.decoder == other.decoder and self.settings.items() <= other.settings.items()


# One token per pass: what every other way of decoding is compared with.
ONE_BY_ONE = Variant("Standard, one token per pass", "standard", {"per_pass": 1})


def variant_of(decoder: Decoder, settings: Mapping[str, Any]) -> Variant:
    """A point of a decoder's grid, named by its settings.

    >>> from dard.decoders import get_decoder
    >>> variant_of(get_decoder("wino"), {"threshold": 0.3}).name
    'WINO τ1=0.3'
    """
    if (decoder.name, dict(settings)) == (ONE_BY_ONE.decoder, ONE_BY_ONE.settings):
        return ONE_BY_ONE
    allowed = decoder.Settings.allowed()
    symbols = {name: allowed[name].symbol or name.replace("_", " ").strip() for name in settings}
    values = (f"{symbols[k]}={v:g}" if isinstance(v, float) else f"{symbols[k]}={v}" for k, v in settings.items())
    return Variant(" ".join([title_of(decoder.name), *values]), decoder.name, settings)


def title_of(decoder: str) -> str:
    """What a decoder is called in tables and legends; a name that is not known here stays a name."""
    known = DECODERS.get(decoder)
    return (known.title or known.name) if known else decoder


@dataclass(frozen=True)
class Scope:
    """The items of a run and how long their answers may be. `gen_length` is None for templates.

    `presets` are a benchmark's own settings: for every decoder ("all"), and for one by its name.

    >>> Scope([Item("The city of [MASK] [MASK] .", None, None)], None, None).masks
    2
    """

    items: Sequence[Item]
    gen_length: int | None
    block_length: int | None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def masks(self) -> int:
        """The most positions any item has to fill."""
        return max(
            item.prompt.count(MASK) if item.gen_length is None else self.gen_length or item.gen_length
            for item in self.items
        )

    def settings(self, variant: Variant, sample: int) -> dict[str, Any]:
        """The decoder's settings for one item: the scope's lengths and presets, then the variant's own values.

        The block length is always among them (nothing: the whole region), so that a model's own default plays no part.

        >>> Scope([Item("Q", 24, None)], 24, None).settings(Variant("half", "standard", {"per_pass": 2}), 0)
        {'block_length': None, 'gen_length': 24, 'per_pass': 2}
        """
        values: dict[str, Any] = {"block_length": self.block_length}
        own = self.items[sample].gen_length
        if own is not None:
            values["gen_length"] = self.gen_length or own
        presets = [self.presets.get(name, {}) for name in ("all", variant.decoder)]
        return {**values, **presets[0], **presets[1], **variant.settings}


def key_of(row: Mapping[str, Any]) -> Key:
    return row["variant"], row["sample"]


@dataclass(frozen=True)
class Job:
    """What a sweep works with."""

    model: Model
    task: Judge
    scope: Scope
    finish: Callable[[Sequence[Session]], None] = loop.finish  # who decodes, to the end
    each: Callable[[Session, Item], Row] | None = None  # what a row tells of every token, if it does

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
        scope = Scope(items, length, min(block, length) if block and length else block, getattr(task, "presets", {}))
        return Job(with_prefill(model, getattr(task, "prefill", "")), task, scope)

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
    """Rows of one batch. `also` tells more of a decode."""
    sessions = job.sessions(variant, samples, record)
    job.finish(sessions)
    measured, whole = getattr(job.task, "measure", None), getattr(job.task, "whole", False)
    rows = []
    for session, sample in zip(sessions, samples, strict=True):
        row = decode_row(session.trace)
        if whole:
            row["text"] = whole_text(session)
        verdict = job.task.score(job.scope.items[sample], row["text"])
        score = round(verdict.details[measured], 6) if measured else float(verdict.right)
        judged = {"score": score, "right": verdict.right, "details": dict(verdict.details)}
        heavy = {} if verdict.weight == 1 else {"weight": verdict.weight}
        tokens = {"each": job.each(session, job.scope.items[sample])} if job.each else {}
        rows.append({**judged, **heavy, **row, **also(session), **tokens})
    return rows


def decode_row(trace: Trace) -> Row:
    """What a row tells of a decode, whoever judges it."""
    counted = count(trace)
    filled = [token for token, given in zip(trace.tokens, trace.fixed, strict=True) if not given]
    return {
        "passes": trace.num_steps,
        "tokens": len(filled),
        "without_end": sum(token != trace.eos_id for token in filled),
        "revocations": counted.revocations,
        "ended_by": trace.ended_by,
        "text": trace.text,
        "seconds": round(counted.seconds, 6),
    }


def whole_text(session: Session) -> str:
    """All of the region, the marks of ends and masks left out: an end in the middle ends nothing."""
    model = session.model
    marks = {model.mask_id, model.eos_id, *getattr(model, "end_ids", ()), *getattr(model, "special_ids", ())}
    return model.decode([token for token in session.state.tokens if token not in marks])


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
    >>> from dard.results.sweep import ONE_BY_ONE
    >>> from dard.tasks import TASKS
    >>> job = Job.of(dard.load_model("embedded"), TASKS["places"], samples=2)
    >>> [(row["sample"], row["right"]) for rows in sweep(job, [ONE_BY_ONE, Variant("DARD", "dard")], 2) for row in rows]
    [(0, True), (1, True), (0, True), (1, True)]
    """
    warm = job.finish is not loop.finish  # who decodes elsewhere does not do so for the first time
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
