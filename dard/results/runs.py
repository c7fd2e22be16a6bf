"""The folder of one evaluation: what was run, one row for every sample, and every decode.

    run.json             what all rows depend on: "format" ("dard-run"), "version" (1), "harness" (name and version),
                         "model", "weights", "decoder", "settings", "batch", "code" and "machine" as in a results file,
                         and, once the harness has judged, "tasks" (their names) and "results" (their scores)
    samples.jsonl        one row for every sample, in the order of asking
    traces/HASH.json.gz  the decode of a prompt; HASH is that of its token ids. Decoded again (other noise, another
                         task): HASH-2.json.gz, HASH-3.json.gz

A row has the names that rows of experiments have: `score`, `right`, `details`, `passes`, `tokens`, `revocations`,
`ended_by`, `text`, `seconds`; and `task`, `sample` (the number of the document in its task), `prompt_hash`, `target`,
`trace` (the file in traces/) and `problem`, null or the sentence why it was not decoded (then `trace` is null, `text`
empty, `passes` 0). `score`, `right` and `target` are null until the harness has judged; `right` stays null where a
score is no share of 1. `text` is what the harness was given: cut at the strings it stops at.

Promises: a row that was written stays, also if the run is interrupted; a folder that holds a run is not written into.
Does not know: models, harnesses, or what a score means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.files import write_whole
from dard.results.file import lines_of
from dard.results.sweep import Row
from dard.trace import Trace

FORMAT, VERSION = "dard-run", 1
RUN, SAMPLES, TRACES = "run.json", "samples.jsonl", "traces"  # what a folder holds


class RunFolder:
    """A run that is being written."""

    def __init__(self, folder: str | Path, about: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.about = {"format": FORMAT, "version": VERSION, **about, "tasks": [], "results": None}
        self.rows: list[Row] = []
        self._decoded: Counter[str] = Counter()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise InputError(f"out = {str(folder)!r} is not allowed; it must be a folder that is new or empty")
            (self.folder / TRACES).mkdir()
            self._write()
        except OSError as error:
            raise InputError(f"out = {str(folder)!r} cannot be written: {error.strerror}") from None

    def keep(self, prompt_hash: str, trace: Trace) -> str:
        """Save a decode; the name of its file."""
        self._decoded[prompt_hash] += 1
        again = self._decoded[prompt_hash]
        name = f"{prompt_hash}.json.gz" if again == 1 else f"{prompt_hash}-{again}.json.gz"
        trace.save(self.folder / TRACES / name)
        return name

    def times(self, prompt_hash: str) -> int:
        """How often a prompt was decoded."""
        return self._decoded[prompt_hash]

    def add(self, rows: Iterable[Row]) -> None:
        """Rows that were not judged yet."""
        new = [{**row, "score": None, "right": None, "details": {}, "target": None} for row in rows]
        with (self.folder / SAMPLES).open("a", encoding="utf-8") as file:
            file.write(lines_of(new))
        self.rows += new

    def judge(self, verdicts: Mapping[tuple[str, int], Mapping[str, Any]], results: Mapping[str, Any]) -> None:
        """Complete the rows by what the harness says of each (task, sample), and write all anew."""
        for row in self.rows:
            row |= verdicts.get((row["task"], row["sample"]), {})
        self.about["tasks"] = list(dict.fromkeys(row["task"] for row in self.rows))
        self.about["results"] = dict(results)
        self._write()

    def _write(self) -> None:
        """Whoever reads never sees half of a file."""
        about = json.dumps(self.about, ensure_ascii=False, indent=2, default=str) + "\n"
        for name, text in ((RUN, about), (SAMPLES, lines_of(self.rows))):
            write_whole(self.folder / name, text)
