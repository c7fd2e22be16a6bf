"""Results of one experiment: a header and rows, in memory and as JSON lines.

Promises: the first line says everything a row depends on; each further line is one row, one sample under one variant,
whole or not there at all: a last line that was cut off is dropped. A row is never written twice. Files of another
run are refused. Several processes write a part each, and reading joins the parts.
Does not know: what the rows mean.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dard.experiments.variants import Run, Scope, Variant, settings_of
from dard.state import InputError
from dard.tasks import Item

FORMAT = "dard-experiment"
VERSION = 1
# What must agree for rows to belong together, and how to say it.
IDENTITY = {
    "experiment": "experiment",
    "model": "model",
    "weights": "weights of the model",
    "task": "task",
    "samples": "number of samples",
    "seed": "seed",
    "gen_length": "generation length",
    "block_length": "block length",
    "batch": "batch",
    "variants": "grid of settings",
    "items": "prompts",
    "encoding": "encoding of the prompts",
}
# What must agree for new rows to be added to old ones (a complete file may be read with any code anywhere), and for
# them to be added to the same file: other processes may well run on other machines.
CODE = {"code": "version of the code"}
MACHINE = {"machine": "machine"}

Row = dict[str, Any]
Key = tuple[str, int]


def key_of(row: Mapping[str, Any]) -> Key:
    return row["variant"], row["sample"]


@dataclass
class Results:
    """A header and the rows there are so far."""

    header: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variants = [Variant.of(values) for values in self.header["variants"]]
        items = [Item(entry["prompt"], entry["gen_length"], None) for entry in self.header["items"]]
        self.scope = Scope(items, self.header["gen_length"], self.header["block_length"])

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
        return "".join(line_of(entry) for entry in (self.header, *self.rows))

    def of(self, variant: Variant | str) -> list[Row]:
        """The rows of one variant, by sample."""
        name = variant if isinstance(variant, str) else variant.name
        return sorted((row for row in self.rows if row["variant"] == name), key=lambda row: row["sample"])

    def started(self) -> list[Variant]:
        """The variants that have at least one row, in the order of the grid."""
        found = {row["variant"] for row in self.rows}
        return [variant for variant in self.variants if variant.name in found]

    def runs(self, variant: Variant | str) -> list[Run]:
        """The decodes behind a variant's point, each with what it takes to make it again."""
        name = variant if isinstance(variant, str) else variant.name
        chosen = next((one for one in self.variants if one.name == name), None)
        if chosen is None:
            raise InputError(f"these results have no variant {name[:80]!r}")
        items = self.scope.items
        return [
            Run(
                items[row["sample"]].prompt,
                chosen.decoder,
                settings_of(chosen, items[row["sample"]], self.scope),
                row["sample"],
                row,
            )
            for row in self.of(name)
        ]


def line_of(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def stem_of(header: Mapping[str, Any]) -> str:
    return f"{header['experiment']}-{header['task']}"


def part_path(folder: Path, stem: str, index: int, count: int) -> Path:
    return folder / (f"{stem}.jsonl" if count == 1 else f"{stem}.part{index}.jsonl")


def part_paths(folder: Path, stem: str) -> list[Path]:
    """All files of a run, the whole one first; one that was stopped before its header was whole holds nothing."""
    named = [folder / f"{stem}.jsonl", *sorted(folder.glob(f"{stem}.part*.jsonl"))]
    return [path for path in named if path.exists() and next(whole_lines(path), None)]


def load(folder: str | Path, stem: str) -> Results:
    """The results of a run from all of its files."""
    paths = part_paths(Path(folder), stem)
    if not paths:
        raise InputError(f"there are no results named {stem!r} in {str(folder)!r}")
    header, _ = read_part(paths[0])
    results = Results(header)
    collect(results, paths)
    return results


def collect(results: Results, paths: Iterable[Path]) -> None:
    """Add the rows of files whose headers agree with the results' own."""
    allowed = {variant.name for variant in results.variants}
    known = {key_of(row) for row in results.rows}
    for path in paths:
        header, rows = read_part(path)
        refuse_other(header, results.header, IDENTITY, path)
        for row in rows:
            if row["variant"] not in allowed or not 0 <= row["sample"] < results.samples:
                raise InputError(f"{path} holds a row that does not belong to its header")
            if key_of(row) not in known:
                known.add(key_of(row))
                results.rows.append(row)


def refuse_other(
    found: Mapping[str, Any], wanted: Mapping[str, Any], names: Mapping[str, str], path: Path | str
) -> None:
    """Refuse a header that disagrees, naming the first difference."""
    for name, words in names.items():
        if found.get(name) != wanted.get(name):
            shown = "" if name in ("variants", "items") else f" ({_short(found.get(name))}, not {_short(wanted[name])})"
            raise InputError(
                f"{path} holds results of another run: it differs in the {words}{shown}; choose another --out folder"
            )


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:120]


def read_part(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """The header and the whole rows of one file."""
    lines = whole_lines(path)
    try:
        header = json.loads(next(lines, "null"))
        rows = [json.loads(line) for line in lines]
        sound = all(isinstance(row["variant"], str) and isinstance(row["sample"], int) for row in rows)
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a results file: a line is not JSON, or is no row") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT or not sound:
        raise InputError(f'{path} is not a results file: its first line has no "format": "{FORMAT}"')
    if header.get("version") != VERSION:
        raise InputError(f"{path} has version {_short(header.get('version'))[:20]}; this program reads {VERSION}")
    missing = [name for name in IDENTITY if name not in header]
    if missing:
        raise InputError(f"{path} is not a results file: its header lacks {', '.join(missing)}")
    try:
        Results(header)
    except (TypeError, KeyError, AttributeError):
        raise InputError(f"{path} is not a results file: its header is broken") from None
    return header, rows


def whole_lines(path: Path) -> Iterator[str]:
    """The lines that end in a newline; what follows the last newline was cut off while it was written."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from (line for line in file if line.endswith("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


class Part:
    """The file this process appends to."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("ab")
            self._drop_cut_line()
        except OSError as error:
            raise InputError(f"results cannot be written to {str(path)!r}: {error.strerror}") from None
        if self._file.tell() == 0:
            self.add([header])

    def _drop_cut_line(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write lines and hand them to the system at once: what is interrupted afterwards stays."""
        self._file.write("".join(map(line_of, rows)).encode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()
