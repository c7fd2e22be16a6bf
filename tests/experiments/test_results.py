"""The results file: what is refused, and with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dard import InputError
from dard.results.file import IDENTITY, Results, add_rows, load, read, resume
from dard.results.sweep import Process

STEM = "pareto-tiny"


def header(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(IDENTITY) | {
        "format": "dard-experiment",
        "version": 1,
        "experiment": "pareto",
        "model": "random",
        "task": "tiny",
        "seed": 0,
        "samples": 2,
        "variants": [{"name": "a", "decoder": "dard", "settings": {}, "divisor": None}],
        "items": [{"prompt": "p", "gen_length": 4}, {"prompt": "q", "gen_length": 4}],
    }
    return values | changes


def write(folder: Path, *lines: Any, name: str = f"{STEM}.jsonl", end: str = "\n") -> Path:
    path = folder / name
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end)
    return path


def row(sample: int, **values: Any) -> dict[str, Any]:
    return {"variant": "a", "sample": sample, **values}


def test_a_half_written_last_line_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, header(code={}, machine={}), row(0), '{"variant": "a", "sam', end="")
    assert [found["sample"] for found in load(tmp_path, STEM).rows] == [0]
    part = resume(Results(header(code={}, machine={})), tmp_path, Process())
    assert part is not None
    with part:
        add_rows(part, [row(1)])
    assert [found["sample"] for found in load(tmp_path, STEM).rows] == [0, 1]
    assert path.read_text().count("\n") == 3


def test_a_row_that_two_parts_hold_counts_once(tmp_path: Path) -> None:
    write(tmp_path, header(), row(0), row(1), name=f"{STEM}.part0.jsonl")
    write(tmp_path, header(), row(1), name=f"{STEM}.part1.jsonl")
    assert load(tmp_path, STEM).complete


def test_parts_of_different_runs_are_refused(tmp_path: Path) -> None:
    write(tmp_path, header(), row(0), name=f"{STEM}.part0.jsonl")
    write(tmp_path, header(seed=5), row(1), name=f"{STEM}.part1.jsonl")
    with pytest.raises(InputError, match="another run: it differs in seed"):
        load(tmp_path, STEM)


@pytest.mark.parametrize(
    "lines",
    [
        ["not json"],
        ['{"format": "other"}'],
        ["[1, 2]"],
        [header(version=7)],
        [header(), "{broken}"],
        [header(), {"sample": 1}],
        [header(), 7],
        [header(items=[3])],
        [header(variants=[{"name": "a", "evil": 1}])],
        [header(variants=None)],
        [{name: value for name, value in header().items() if name != "items"}],
    ],
)
def test_whatever_is_not_a_results_file_is_refused_in_one_sentence(tmp_path: Path, lines: list[Any]) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        read(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)


@pytest.mark.parametrize("stray", [{"variant": "b", "sample": 0}, row(2), row(-1)])
def test_a_row_outside_the_header_is_refused(tmp_path: Path, stray: dict[str, Any]) -> None:
    write(tmp_path, header(), stray)
    with pytest.raises(InputError, match="does not belong to its header"):
        load(tmp_path, STEM)


def test_no_results_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no results named"):
        load(tmp_path, STEM)
