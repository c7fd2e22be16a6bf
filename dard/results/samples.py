"""The samples of a run, right and wrong, and the decode behind each: of an experiment, or of a run of lm-eval.

Promises: both kinds of files become the same `Sample`s, numbered in the order of their files, which is what `--open`
takes. A file is read with bounds; whatever is no results file is refused with one sentence that names it. A trace is
only ever looked for in the folder `traces` beside its file.
Does not know: terminals, pages, or how a decode is made or shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.results.file import Results, parse
from dard.results.runs import RUN, SAMPLES, TRACES
from dard.trace.diagnosis import KINDS

MAX_BYTES = 64 << 20
MAX_VARIANTS = 500
MAX_TEXT = 20_000
LOSING = tuple(kind for kind in KINDS if kind != "right")
TRACE = re.compile(r"[\w-]{1,100}\.json(\.gz)?")  # the name of a file in its folder traces


@dataclass(frozen=True)
class Sample:
    """One answer. It opens by its `trace`, a file beside its run's, or by decoding `prompt` again with `settings`."""

    number: int
    task: str
    item: str  # which one of the task's
    variant: str
    decoder: str
    text: str
    right: bool | None = None
    target: str | None = None
    passes: int | None = None
    revocations: int | None = None
    ended_by: str | None = None
    model: str = ""
    prompt: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    trace: str | None = None
    folder: str = ""  # the run's, where there are several
    kind: str | None = None  # what lost it, and in which step, where that was diagnosed
    lost: int | None = None

    @property
    def question(self) -> tuple[str, str]:
        """What is equal for answers to the same question."""
        return self.task, self.prompt or self.item

    @property
    def lost_by(self) -> str:
        return "" if self.kind is None else lost_by(self.kind, self.lost)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def lost_by(kind: str | None, step: int | None) -> str:
    """What lost an answer, and in which step.

    >>> lost_by("conflict", 2), lost_by("model", None)
    ('conflict, step 2', 'model')
    """
    return f"{kind}{f', step {step}' if step else ''}"


def _of_kind(kind: str) -> Callable[[Sample], bool]:
    return lambda s: s.kind == kind


def _last(value: int | None) -> int:
    return -1 if value is None else value


# The most striking first; a file's own order among equals.
SORTS: dict[str, Callable[[Sample], Any]] = {
    "number": lambda s: s.number,
    "revocations": lambda s: -_last(s.revocations),
    "passes": lambda s: -_last(s.passes),
    "ended": lambda s: s.ended_by or "~",
}
ONLY: dict[str, Callable[[Sample], bool]] = {
    "wrong": lambda s: s.right is False,
    "right": lambda s: s.right is True,
    "all": lambda s: True,
    **{kind: _of_kind(kind) for kind in LOSING},
}


def choose(
    samples: Sequence[Sample], only: str = "all", sort: str = "number", variant: str = "", text: str = ""
) -> list[Sample]:
    """The samples that are asked for, in the order that is asked for. `text` is looked for in question and answer.

    >>> few = [Sample(n, "t", str(n), "v", "dard", "", right=n > 1, revocations=n) for n in range(4)]
    >>> [sample.number for sample in choose(few, "right", "revocations")]
    [3, 2]
    """
    for name, value, known in (("only", only, ONLY), ("sort", sort, SORTS)):
        if value not in known:
            raise InputError(f"{name} = {str(value)[:40]!r} is not allowed; it must be one of {', '.join(known)}")
    kept = [s for s in samples if ONLY[only](s) and variant in ("", s.variant)]
    if text:
        kept = [s for s in kept if any(text.lower() in (each or "").lower() for each in (s.prompt, s.text, s.ended_by))]
    return sorted(kept, key=SORTS[sort])


def beside(samples: Sequence[Sample], chosen: Sequence[Sample], at_most: int = 3) -> list[list[Sample]]:
    """For each of the chosen, answers of other decoders to its question, one of each, the right ones first."""
    answers: dict[tuple[str, str], dict[tuple[str, str], Sample]] = {}
    for sample in sorted(samples, key=lambda s: s.right is not True):
        answers.setdefault(sample.question, {}).setdefault((sample.decoder, sample.folder), sample)
    others = []
    for sample in chosen:
        mine, each = (sample.decoder, sample.folder), answers[sample.question]
        others.append([other for who, other in each.items() if who != mine][:at_most])
    return others


def of_results(results: Results) -> list[Sample]:
    """The samples of an experiment, in the order of its rows."""
    header, scope = results.header, results.scope
    if len(results.variants) > MAX_VARIANTS:
        raise InputError(f"the results hold {len(results.variants)} variants; at most {MAX_VARIANTS} are read")
    known = {variant.name: variant for variant in results.variants}
    samples = []
    for number, row in enumerate(results.rows):
        variant, n = known[row["variant"]], row["sample"]
        told = _told(row, number) if "text" in row else {"text": ""}
        samples.append(
            Sample(
                number,
                _text(header, "task", 300),
                str(n),
                _text(row, "variant", 300),
                variant.decoder,
                **told,
                target=scope.items[n].answer,
                model=_text(header, "model", 300),
                prompt=scope.items[n].prompt,
                settings=scope.settings(variant, n),
            )
        )
    return samples


def of_evaluation(rows: Sequence[Mapping[str, Any]], run: Mapping[str, Any], folder: str = "") -> list[Sample]:
    """The samples of a run of lm-eval: `rows` as its samples.jsonl has them, `run` as its run.json."""
    decoder = str(run.get("decoder") or "decoder")[:100]
    samples = []
    for number, row in enumerate(rows):
        trace, problem = row.get("trace"), row.get("problem")
        if trace is not None and not (isinstance(trace, str) and TRACE.fullmatch(trace)):
            raise InputError(f"row {number + 1}: trace = {str(trace)[:60]!r} is not the name of a file in traces")
        told = _told(row, number) | ({"ended_by": f"not decoded: {str(problem)[:MAX_TEXT]}"} if problem else {})
        samples.append(
            Sample(
                number,
                _text(row, "task", 300),
                str(row.get("sample"))[:100],
                f"{decoder}, {folder}" if folder else decoder,
                decoder,
                **told,
                target=None if row.get("target") is None else str(row["target"])[:MAX_TEXT],
                model=str(run.get("model", ""))[:300],
                trace=trace,
                folder=folder,
            )
        )
    return samples


def _text(row: Mapping[str, Any], name: str, at_most: int) -> str:
    value = row.get(name)
    if not isinstance(value, str) or len(value) > at_most:
        raise InputError(
            f"{name} = {str(value)[:40]!r} is not allowed; it must be text of at most {at_most} characters"
        )
    return value


def _told(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """What either kind of row tells of an answer."""
    for name, kind in (("right", bool), ("passes", int), ("revocations", int), ("ended_by", str)):
        if row.get(name) is not None and type(row[name]) is not kind:
            raise InputError(f"row {number + 1}: {name} = {str(row[name])[:40]!r} is not allowed")
    told = {name: row.get(name) for name in ("right", "passes", "revocations", "ended_by")}
    found = row.get("diagnosis") or {"kind": None}
    if (
        not isinstance(found, dict)
        or found.get("kind") not in (*KINDS, None)
        or type(found.get("lost") or 0) is not int
    ):
        raise InputError(f"row {number + 1}: diagnosis = {str(found)[:40]!r} is not allowed")
    told |= {"kind": found.get("kind"), "lost": found.get("lost")}
    return {**told, "text": _text(row, "text", MAX_TEXT), "ended_by": (told["ended_by"] or "")[:100] or None}


def read(rows: bytes, run: bytes = b"", name: str = "the file") -> tuple[list[Sample], Results | None]:
    """The samples in a file's bytes, with an experiment's results if it is one. `run` is the run.json beside it."""
    try:
        if len(rows) > MAX_BYTES:
            raise InputError(f"it is larger than {MAX_BYTES >> 20} MB")
        text = rows.decode("utf-8")
        first = json.loads(text.split("\n", 1)[0])
        if isinstance(first, dict) and "format" in first:
            results = parse(text, name)
            return of_results(results), results
        entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        about = json.loads(run.decode("utf-8")) if run else {}
        if not all(isinstance(entry, dict) for entry in [*entries, about]):
            raise InputError("a line of it is no object")
        return of_evaluation(entries, about), None
    except InputError as error:
        words = str(error)
        raise InputError(words if words.startswith(name) else f"{name} is not a results file: {words}") from None
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{name} is not a results file: {str(error)[:100] or type(error).__name__}") from None


def trace_file(sample: Sample) -> Path | None:
    """Where the trace of a sample from a folder is; None for one that is decoded again."""
    return None if sample.trace is None else Path(sample.folder) / TRACES / sample.trace


def joined(parts: Mapping[str, Sequence[Sample]]) -> list[Sample]:
    """The samples of several files, by their folders' names, numbered through."""
    several = len(parts) > 1
    every = [(folder, sample) for folder, samples in parts.items() for sample in samples]
    return [
        replace(s, number=n, folder=folder, variant=f"{s.variant}, {folder}" if several and folder else s.variant)
        for n, (folder, s) in enumerate(every)
    ]


def open_folder(path: str | Path) -> list[Sample]:
    """The samples of a results file, of a folder with some, of a run of lm-eval, or of a folder with several runs."""
    place = Path(path)
    runs = [place] if place.is_file() else sorted(place.rglob(SAMPLES)) or sorted(place.glob("*.jsonl"))
    if not runs:
        raise InputError(
            f"{str(path)!r} holds no results: neither {SAMPLES} of an evaluation nor an experiment's .jsonl"
        )
    parts = {}
    for file in runs:
        try:
            if file.stat().st_size > MAX_BYTES:
                raise InputError(f"{file} is larger than {MAX_BYTES >> 20} MB")
            beside_it = file.with_name(RUN)
            about = beside_it.read_bytes() if file.name == SAMPLES and beside_it.exists() else b""
            parts[str(file.parent) if file.name == SAMPLES else file.stem] = read(file.read_bytes(), about, str(file))[
                0
            ]
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
    return joined(parts)
