"""The folder of one evaluation: what was run, one row for every sample, and every decode.

    run.json             what all rows depend on: "format" ("dard-run"), "version" (1), "harness" (name and version),
                         "model", "weights", "decoder", "settings", "batch", "code" and "machine" as in a results file,
                         and, once the harness has judged, "tasks" (their names) and "results" (their scores)
    samples.jsonl        one row for every sample, in the order of asking; while several processes share a run, each
                         writes a samples.partN.jsonl of its own
    traces/HASH.json.gz  the decode of a prompt; HASH is that of its token ids. Decoded again (other noise, another
                         task): HASH-2.json.gz, HASH-3.json.gz

A row has the names that rows of experiments have: `score`, `right`, `details`, `passes`, `tokens`, `revocations`,
`ended_by`, `text`, `seconds`; and `task`, `sample` (the number of the document in its task), `prompt_hash`, `target`,
`trace` (the file in traces/) and `problem`, null or the sentence why it was not decoded (then `trace` is null, `text`
empty, `passes` 0). `score`, `right` and `target` are null until the harness has judged; `right` stays null where a
score is no share of 1. `text` is what the harness was given: cut at the strings it stops at.

Promises: a row that was written stays, also if the run is interrupted, and the same run goes on from there; a folder
that holds another run, or one that was judged, is not written into.
Does not know: models, harnesses, or what a score means.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.files import open_alone, write_whole
from dard.results.file import add_rows, lines_of
from dard.results.sweep import Process, Row
from dard.trace import Trace

FORMAT, VERSION = "dard-run", 1
RUN, SAMPLES, TRACES = "run.json", "samples.jsonl", "traces"  # what a folder holds


IDENTITY = ("harness", "model", "weights", "decoder", "settings", "batch")  # what must agree for a run to go on
ARRIVES = 600.0  # seconds that the process that begins a run is waited for
Key = tuple[str, int, int]  # the task, the number of the document, and how often it was asked before


class RunFolder:
    """A run that is being written, by this process among those that share it."""

    def __init__(self, folder: str | Path, about: Mapping[str, Any], process: Process = Process()) -> None:  # noqa: B008
        self.folder, self.process = Path(folder), process
        self.about = {"format": FORMAT, "version": VERSION, **about, "tasks": [], "results": None}
        self.asked: list[Key] = []
        self._there: dict[Key, Row] = {}
        self._decoded: Counter[str] = Counter()
        self._asked: Counter[tuple[str, int]] = Counter()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._begin()
            self._own = open_alone(self._place)
        except OSError as error:
            raise InputError(f"out = {str(folder)!r} cannot be written: {error.strerror}") from None
        self._own.truncate(self._place.read_bytes().rfind(b"\n") + 1)  # a line that was cut off is dropped
        self.read()

    @property
    def _place(self) -> Path:
        """Where this process writes its rows."""
        return self.folder / (SAMPLES if self.process.count == 1 else part_name(self.process.index))

    def _begin(self) -> None:
        """Begin a run, or go on with the same one."""
        began = time.monotonic()
        while self.process.index and not (self.folder / RUN).exists():  # the first process begins it
            if time.monotonic() - began > ARRIVES:
                raise InputError(f"out = {str(self.folder)!r}: the first process has not begun the run")
            time.sleep(0.1)
        there = [path for path in self.folder.iterdir() if not path.name.startswith(".")]
        if there and not self._is_the_same():
            raise InputError(
                f"out = {str(self.folder)!r} is not allowed; it must be a folder that is new or empty, or hold the "
                "same run, which was interrupted"
            )
        (self.folder / TRACES).mkdir(exist_ok=True)
        if not there:
            self._write_about()

    def _is_the_same(self) -> bool:
        try:
            known = json.loads((self.folder / RUN).read_text(encoding="utf-8"))
            wanted = json.loads(json.dumps(self.about, default=str))
            same = all(known.get(name) == wanted[name] for name in IDENTITY if name in wanted)
            sources = [each.get("code", {}).get("sources") for each in (known, wanted)]
            return bool(same and known["results"] is None and known["format"] == FORMAT and sources[0] == sources[1])
        except (OSError, ValueError, KeyError, AttributeError):
            return False

    def read(self) -> None:
        """What all processes have written so far; a last line that was cut off is not there."""
        for file in sorted(self.folder.glob("samples*.jsonl")):
            text = file.read_bytes()
            for line in text[: text.rfind(b"\n") + 1].splitlines():
                row = json.loads(line)
                self._there.setdefault((row["task"], row["sample"], row.get("repeat", 0)), row)

    @property
    def rows(self) -> list[Row]:
        """The rows of what was asked, in that order, as far as they are there."""
        return [self._there[key] for key in self.asked if key in self._there]

    def ask(self, task: str, sample: int) -> Key:
        """The name of a question among all that are asked."""
        self._asked[task, sample] += 1
        key = task, sample, self._asked[task, sample] - 1
        self.asked.append(key)
        return key

    def row(self, key: Key) -> Row | None:
        return self._there.get(key)

    def again(self, prompt_hash: str) -> int:
        """How often a prompt was asked before; whoever asks has it once more."""
        self._decoded[prompt_hash] += 1
        return self._decoded[prompt_hash] - 1

    def keep(self, prompt_hash: str, before: int, trace: Trace) -> str:
        """Save the decode of a prompt that was asked so often before; the name of its file."""
        name = f"{prompt_hash}-{before + 1}.json.gz" if before else f"{prompt_hash}.json.gz"
        trace.save(self.folder / TRACES / name)
        return name

    def add(self, rows: Mapping[Key, Row]) -> None:
        """Rows that were not judged yet."""
        new = {
            key: {**row, "score": None, "right": None, "details": {}, "target": None}
            | ({"repeat": key[2]} if key[2] else {})
            for key, row in rows.items()
        }
        add_rows(self._own, new.values())
        self._there |= new

    def settle(self) -> None:
        """All rows in one file, in the order of asking; the first process does it for all."""
        if self.process.index == 0:
            write_whole(self.folder / SAMPLES, lines_of(self.rows))
        if self.process.count == 1:  # what was opened is no longer the file of that name
            self._own.close()
            self._own = open_alone(self._place)

    def is_at_work(self, index: int) -> bool:
        """Whether the process of that number may still write its rows; one that has not begun may."""
        file = self.folder / part_name(index)
        if not file.exists():
            return True
        try:
            open_alone(file).close()
        except InputError:
            return True
        return False

    def judge(self, verdicts: Mapping[tuple[str, int], Mapping[str, Any]], results: Mapping[str, Any]) -> None:
        """Complete the rows by what the harness says of each (task, sample), and write all anew, in one file."""
        rows = self.rows
        for row in rows:
            row |= verdicts.get((row["task"], row["sample"]), {})
        self.about["tasks"] = list(dict.fromkeys(row["task"] for row in rows))
        self.about["results"] = dict(results)
        self.settle()
        self._write_about()
        for file in self.folder.glob("samples.part*.jsonl"):
            file.unlink()

    def _write_about(self) -> None:
        """Whoever reads never sees half of a file."""
        write_whole(self.folder / RUN, json.dumps(self.about, ensure_ascii=False, indent=2, default=str) + "\n")


def part_name(index: int) -> str:
    return f"samples.part{index}.jsonl"
