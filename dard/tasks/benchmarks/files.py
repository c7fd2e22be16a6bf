"""Benchmark records from local files or the hub.

Promises: a file is data and is never executed; whatever cannot be read is refused with one sentence.
Does not know: what the fields mean.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.extras import need

Record = Mapping[str, Any]
KINDS = (".jsonl", ".json", ".parquet", ".csv")


@dataclass(frozen=True)
class Source:
    """A file of a dataset repository on the hub."""

    repository: str
    file: str


def read_records(path: Path) -> list[Record]:
    """All records of a JSONL, JSON (a list), Parquet or CSV file."""
    try:
        if path.suffix == ".jsonl":
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        elif path.suffix == ".json":
            records = json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".csv":
            # Digits stay text: a puzzle may begin with zeros.
            with path.open(encoding="utf-8", newline="") as file:
                records = list(csv.DictReader(file))
        elif path.suffix == ".parquet":
            records = read_parquet(path)
        else:
            raise InputError(f"data {str(path)!r} is not of a known kind; there are {', '.join(KINDS)}")
    except OSError as error:
        raise InputError(f"data {str(path)!r} cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"data {str(path)!r} is broken: {str(error)[:200]}") from None
    if not isinstance(records, list) or not records or not all(isinstance(record, dict) for record in records):
        raise InputError(f"data {str(path)!r} holds no records")
    return records


def read_parquet(path: Path) -> list[dict[str, Any]]:
    need(f"data {str(path)!r}", "benchmarks", "pyarrow")
    import pyarrow.parquet  # type: ignore[import-untyped]

    return pyarrow.parquet.read_table(path).to_pylist()


def find_data(name: str, data: str | Path | None, source: Source | None) -> list[Record]:
    """Records of the given file, of the hub's file in the given folder, or of the hub itself."""
    if data is not None:
        path = Path(data)
        if path.is_dir():
            if source is None:
                raise InputError(f"data {str(path)!r} is a folder; {name} needs a file")
            path = path / source.file
        if not path.is_file():
            raise InputError(f"data {str(path)!r} does not exist")
        return read_records(path)
    if source is None:
        raise InputError(f"{name} is not on the hub in a usual place; give its file with data")
    return read_records(download(source))


def download(source: Source) -> Path:
    """The local copy of a file on the hub, fetched if it is not there yet."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(source.repository, source.file, repo_type="dataset"))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"data {source.repository}/{source.file} could not be fetched from the hub: {first[:200]}"
        ) from None
