"""Rows of results as a pandas frame, for questions of one's own.

Promises: a line for every row of every run in a folder, or for every token of those that were kept with `--tokens`.
Does not know: experiments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.results.file import Results
from dard.results.file import load as load_run

ABOUT = ("experiment", "task", "model", "samples", "seed")


def stems(folder: Path) -> list[str]:
    """The runs in a folder, by the names of their files."""
    names = {file.name.partition(".part")[0].removesuffix(".jsonl") for file in folder.glob("*.jsonl")}
    return sorted(names)


def load(folder: str | Path, tokens: bool = False) -> Any:
    """All rows of a folder's results; `tokens`: one line per token instead.

    Columns are those of the rows, with `details.` and `set.` before what is nested; `experiment`, `task`, `model` and
    `decoder` say where a row is from.
    """
    import pandas

    place = Path(folder)
    runs = [load_run(place, stem) for stem in stems(place)]
    if not runs:
        raise InputError(f"there are no results in {str(folder)!r}")
    lines = [line for run in runs for line in (token_lines(run) if tokens else row_lines(run))]
    if tokens and not lines:
        raise InputError(f"the results in {str(folder)!r} were kept without their tokens; run them with --tokens")
    return pandas.DataFrame(lines)


def about(run: Results) -> dict[str, Any]:
    return {name: run.header[name] for name in ABOUT}


def flat(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}.{key}": value for key, value in values.items()}


def row_lines(run: Results) -> Iterator[dict[str, Any]]:
    """A line for every row, without the settings of its seed and the tokens."""
    variants = {variant.name: variant for variant in run.variants}
    for row in run.rows:
        variant, item = variants[row["variant"]], run.scope.items[row["sample"]]
        plain = {key: value for key, value in row.items() if key not in ("details", "each")}
        told = {"decoder": variant.decoder, **flat("set", variant.settings), **flat("details", row.get("details", {}))}
        yield {**about(run), **plain, **told, "prompt": item.prompt}


def token_lines(run: Results) -> Iterator[dict[str, Any]]:
    """A line for every token of the rows that have them; `answer_right` is the whole answer's."""
    variants = {variant.name: variant for variant in run.variants}
    for row in run.rows:
        each = row.get("each")
        if each:
            variant = variants[row["variant"]]
            same = {"variant": row["variant"], "decoder": variant.decoder, "sample": row["sample"]}
            for values in zip(*each.values(), strict=True):
                line = dict(zip(each, values, strict=True))
                yield {**about(run), **same, "answer_right": row["right"], "passes": row["passes"], **line}
