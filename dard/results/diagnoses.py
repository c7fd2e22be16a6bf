"""Diagnoses of many samples, kept beside their results, so that whoever stops can go on later.

Promises: a sample that has been diagnosed is not diagnosed again, unless its answer or its settings changed; a file
that was cut short loses its last line and nothing else.
Does not know: how models are loaded, terminals, or what a diagnosis is made of.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dard.analysis.diagnosis import diagnose
from dard.analysis.expected import LONGEST
from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.models.base import Model
from dard.results.samples import Sample, trace_file
from dard.tasks.judge import judge
from dard.trace import Diagnosis, Trace

FILE = "diagnoses.ndjson"
MAX_BYTES = 64 << 20
READER = TypeAdapter(Diagnosis)


def name_of(sample: Sample) -> str:
    """What a sample is known by: everything that its diagnosis depends on."""
    told = [sample.model, sample.decoder, sample.task, sample.item, sample.prompt, dict(sample.settings), sample.text]
    return hashlib.sha256(json.dumps([*told, sample.trace, sample.target], default=str).encode()).hexdigest()[:24]


@dataclass
class Diagnoses:
    """Those of a folder, by the samples' names; `None` where a sample could not be diagnosed, with the reason."""

    file: Path
    known: dict[str, Diagnosis | str]

    @classmethod
    def beside(cls, place: str | Path) -> Diagnoses:
        """What is kept beside results; a line that cannot be read is left out."""
        folder = Path(place)
        file = (folder.parent if folder.is_file() else folder) / FILE
        known: dict[str, Diagnosis | str] = {}
        if file.exists():
            if file.stat().st_size > MAX_BYTES:
                raise InputError(f"{file} is larger than {MAX_BYTES >> 20} MB")
            for line in file.read_text("utf-8", errors="replace").splitlines():
                try:
                    row = json.loads(line)
                    told = row["diagnosis"]
                    known[row["sample"]] = told if isinstance(told, str) else READER.validate_json(json.dumps(told))
                except (ValueError, KeyError, TypeError, ValidationError, RecursionError):
                    continue
        return cls(file, known)

    def of(self, sample: Sample) -> Diagnosis | str | None:
        return self.known.get(name_of(sample))

    def make(self, sample: Sample, model: Callable[[str], Model]) -> Diagnosis | str:
        """The diagnosis of a sample, from the file or made now and written there; a sentence where there is none."""
        name = name_of(sample)
        if name not in self.known:
            told: Any
            try:
                diagnosis = diagnosed(sample, model)
                self.known[name], told = diagnosis, diagnosis.as_dict()
            except InputError as error:
                self.known[name] = told = str(error)[:500]
            try:
                with self.file.open("a", encoding="utf-8") as out:
                    out.write("\n" + json.dumps({"sample": name, "diagnosis": told}, ensure_ascii=False))
            except OSError as error:
                raise InputError(f"{self.file} cannot be written: {error.strerror}") from None
        return self.known[name]


def diagnosed(sample: Sample, model: Callable[[str], Model]) -> Diagnosis:
    """Where a sample's task judges, it does; else its target is what is expected, if it is a short text."""
    file = trace_file(sample)
    if file is None and sample.prompt is None:
        raise InputError(f"there is no decode of it ({sample.ended_by})")
    run: Trace | Session
    if file is not None:
        run = Trace.load(file)
    else:
        run = Session(model(sample.model), sample.prompt or "", sample.decoder, record=False, **sample.settings)
        run.run()
    target = " ".join((sample.target or "").split())
    own = judge(run.prompt, "") is not None or not 0 < len(target) <= LONGEST
    return diagnose(run, None if isinstance(run, Session) else model(sample.model), None if own else target)
