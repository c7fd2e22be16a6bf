"""Results of one experiment: a header and rows, in memory and as JSON lines.

Promises: the first line says everything a row depends on; each further line is one row, one sample under one variant,
whole or not there at all: a last line that was cut off is dropped. A row is never written twice. Files of another
run are refused. Several processes write a part each, and reading joins the parts.
Does not know: what the rows mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dard.core.errors import InputError
from dard.core.files import open_alone, write_whole
from dard.results.sweep import Process, Row, Scope, Variant, key_of
from dard.tasks import Item

FORMAT = "dard-experiment"
VERSION = 1
# What these must be for anything to be made of the rows.
KINDS = {"experiment": str, "model": str, "task": str, "samples": int, "seed": int, "variants": list, "items": list}
# What must agree for rows to belong together.
IDENTITY = (
    "experiment", "model", "weights", "task", "samples", "seed", "gen_length", "block_length", "batch", "variants",
    "items", "encoding",
)  # fmt: skip
GROWS = ("samples", "items", "encoding", "variants")  # what a run may have had less of before it was extended


@dataclass
class Results:
    """A header and the rows there are so far."""

    header: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variants = [Variant.of(values) for values in self.header["variants"]]
        items = [Item(entry["prompt"], entry["gen_length"], entry.get("answer")) for entry in self.header["items"]]
        lengths = self.header["gen_length"], self.header["block_length"]
        self.scope = Scope(items, *lengths, self.header.get("presets", {}))

    @property
    def stem(self) -> str:
        """The name of its files."""
        return f"{self.header['experiment']}-{self.header['task']}"

    @property
    def samples(self) -> int:
        return self.header["samples"]

    @property
    def total(self) -> int:
        return len(self.variants) * self.samples

    @property
    def complete(self) -> bool:
        return len(self.rows) == self.total

    def jsonl(self) -> str:
        """The results as their file holds them."""
        return lines_of([self.header, *self.rows])

    def of(self, variant: Variant | str) -> list[Row]:
        """The rows of one variant, by sample."""
        name = variant if isinstance(variant, str) else variant.name
        return sorted((row for row in self.rows if row["variant"] == name), key=lambda row: row["sample"])

    def join(self, parts: Mapping[Path, Results]) -> None:
        """Add the rows of parts of the same run."""
        rows = {key_of(row): row for row in self.rows}
        for path, part in parts.items():
            refuse_other(part.header, self.header, same_of(part.header, self.header), path)
            for row in part.rows:
                rows.setdefault(key_of(row), row)
        self.rows[:] = rows.values()


def same_of(part: Mapping[str, Any], whole: Mapping[str, Any]) -> tuple[str, ...]:
    """What must agree between a part and a whole: less where the part is the whole's beginning, with fewer items or
    variants."""
    count, encodings = len(part["items"]), "encodings"
    begins = count <= len(whole["items"]) and part["items"] == whole["items"][:count]
    alike = part.get(encodings) == (whole.get(encodings) or [])[:count] or part["encoding"] == whole["encoding"]
    if begins and alike and all(variant in whole["variants"] for variant in part["variants"]):
        return tuple(name for name in IDENTITY if name not in GROWS)
    return IDENTITY


def lines_of(entries: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def load(folder: str | Path, stem: str) -> Results:
    """The results of a run from all of its files."""
    parts = read_parts(Path(folder), stem)
    if not parts:
        raise InputError(f"there are no results named {stem!r} in {str(folder)!r}")
    results = Results(max(parts.values(), key=lambda part: part.total).header)  # the first of the largest
    results.join(parts)
    return results


def read_parts(folder: Path, stem: str) -> dict[Path, Results]:
    """All files of a run, the whole one first; one that was stopped before its header was whole holds nothing."""
    paths = [folder / f"{stem}.jsonl", *sorted(folder.glob(f"{stem}.part*.jsonl"))]
    return {path: read(path) for path in paths if path.exists() and b"\n" in path.read_bytes()}


def read(path: Path) -> Results:
    """The header and the rows of one file."""
    try:
        return parse(path.read_text(encoding="utf-8"), path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a results file: {error}") from None


def parse(text: str, path: str | Path) -> Results:
    """The header and the rows of a file's text; what follows the last newline was cut off while it was written."""
    try:
        header, *rows = [json.loads(line) for line in text.split("\n")[:-1]]
        if header["format"] != FORMAT:
            raise ValueError(f'it has no "format": "{FORMAT}"')
        for name in IDENTITY:
            header[name]
        for name, kind in KINDS.items():
            if type(header[name]) is not kind:
                raise ValueError(f"{name} = {_short(header[name])[:40]} is not allowed")
        results, names = Results(header, rows), {values["name"] for values in header["variants"]}
        places = range(len(results.scope.items))
        own = all(row["variant"] in names and type(row["sample"]) is int and row["sample"] in places for row in rows)
    except KeyError as error:
        raise InputError(f"{path} is not a results file: it lacks {error}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a results file: {error}") from None
    if header.get("version") != VERSION:
        raise InputError(f"{path} has version {_short(header.get('version'))[:20]}; this program reads {VERSION}")
    if not own:
        raise InputError(f"{path} holds a row that does not belong to its header")
    return results


def refuse_other(header: Mapping[str, Any], wanted: Mapping[str, Any], names: Iterable[str], path: Path) -> None:
    """Refuse a header that disagrees, naming the first difference."""
    for name in names:
        if header.get(name) != wanted[name]:
            both = f" ({_short(header.get(name))}, not {_short(wanted[name])})"
            shown = "" if name in ("variants", "items") else both
            raise InputError(
                f"{path} holds results of another run: it differs in {name}{shown}; choose another --out folder"
            )


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:120]


def resume(results: Results, folder: Path, process: Process) -> IO[bytes] | None:
    """Read the rows that are there; the file to append to, or None if nothing is missing."""
    own = folder / (f"{results.stem}.jsonl" if process.count == 1 else f"{results.stem}.part{process.index}.jsonl")
    results.join(read_parts(folder, results.stem))
    if results.complete:
        return None
    file = open_part(own)
    try:
        parts = read_parts(folder, results.stem)  # once more: now nobody else writes
        results.join(parts)
        for path, part in parts.items():
            # A complete file may be read with any code anywhere; other processes may well run on other machines.
            refuse_other(part.header, results.header, ("code", "machine") if path == own else ("code",), path)
        whole = own.read_bytes().rfind(b"\n") + 1
        file.truncate(whole)  # a line that was cut off is dropped
        if own in parts and parts[own].total < results.total:
            extend(file, own, [results.header, *parts[own].rows])
        else:
            add_rows(file, [] if whole else [results.header])
    except BaseException:
        file.close()
        raise
    return file


def extend(file: IO[bytes], own: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """The rows under a header that promises more; until all is written, what was there stands beside it."""
    kept = own.with_name(f"{own.name}.before")
    write_whole(kept, own.read_bytes())
    file.truncate(0)
    add_rows(file, lines)
    kept.unlink()


def open_part(path: Path) -> IO[bytes]:
    """A file to append rows to, for this process alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open_alone(path)
    except OSError as error:
        raise InputError(f"results cannot be written to {str(path)!r}: {error.strerror}") from None


def add_rows(file: IO[bytes], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write lines and hand them to the system at once: what is interrupted afterwards stays."""
    try:
        file.write(lines_of(rows).encode())
        file.flush()
    except OSError as error:
        raise InputError(f"results cannot be written to {file.name!r}: {error.strerror}") from None
