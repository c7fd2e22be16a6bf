"""Our numbers beside the paper's, line by line, where a run is of the same model and benchmark.

Promises: a line stands there only if the run has the variant; nothing is compared across models.
Does not know: how results are made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dard.decoders import get_decoder
from dard.experiments.base import COLUMNS, Experiment, Table, signed
from dard.experiments.points import Point, frontier, points
from dard.experiments.published import Line, Published, published_for
from dard.results.file import Results
from dard.results.sweep import Variant

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def beside_paper(experiment: Experiment, results: Results, anyway: bool = False) -> list[Table]:
    """A table for every one of the paper's that this run is a run of; `anyway`: also if it is of another model or
    benchmark."""
    header = results.header
    found = published_for(experiment.name, *(() if anyway else (header["model"], header["task"])))
    tables = (beside(experiment, results, each) for each in found)
    return [table for table in tables if table.rows]


def beside(experiment: Experiment, results: Results, paper: Published) -> Table:
    """A row for each number of the paper that the run has, too."""
    ours = points(results, experiment.beside)
    lined = experiment.lines(ours)
    cells = {**COLUMNS, **getattr(experiment, "columns", {})}
    rows = []
    for line in paper.lines:
        p = matching(line, lined)
        for heading, value in line.values.items() if p is not None else ():
            assert p is not None
            own = number(cells[heading](p))
            digits = len(f"{value:g}".partition(".")[2])
            told = ["–", "–"] if own is None else [f"{own:.{max(digits, 1)}f}", signed(own - value, max(digits, 1))]
            rows.append(
                [p.variant.name + (f", {line.label}" if line.label else ""), heading, told[0], f"{value:g}", told[1]]
            )
    lengths = ", ".join(f"{name} {count}" for name, count in paper.scope.items())
    caption = (
        f"Beside the paper's {paper.label} ({paper.model}, {paper.tasks[0]}, {lengths}; one run, temperature 0, "
        "RTX A6000). Times and memory carry over between machines as ratios only."
    )
    return Table(caption, ["Variant", "What", "Ours", "Paper", "Difference"], rows)


def matching(line: Line, lined: list[Point]) -> Point | None:
    """The point of a line: of the same settings, or the most accurate of the decoder's, if the line names none."""
    same = [p for p in lined if p.variant.decoder == line.decoder and p.label in (line.label, "•")]
    same = same or [p for p in lined if p.variant.decoder == line.decoder and not line.label]
    if line.settings:
        return next((p for p in same if includes(p.variant, line.settings)), None)
    return frontier(same)[-1] if same and not line.label else next(iter(same), None)


def includes(variant: Variant, wanted: Mapping[str, Any]) -> bool:
    """Whether a variant has these settings, its own or by default; a whole region is a block of its length."""
    defaults = get_decoder(variant.decoder).Settings().as_dict()
    have = defaults | dict(variant.settings)
    if have["block_length"] is None:
        have["block_length"] = have["gen_length"]
    return all(have.get(name) == value for name, value in wanted.items())


def number(cell: str) -> float | None:
    """The number of a cell.

    >>> number("34.6"), number("4.7 %"), number("–"), number("−1.5")
    (34.6, 4.7, None, -1.5)
    """
    found = NUMBER.search(cell.replace("−", "-"))
    return float(found[0]) if found else None
