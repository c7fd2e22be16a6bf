"""What an experiment is: variants, what is told of each decode, the columns of a table, the traces of a figure.

Promises: `measure` gives one row per sample and depends on nothing but its arguments; `tables` and `figure` read
results and nothing else, so they work on a file from another machine, and on results that are still coming in. Every
cell of a table is text already; what a heading stands for is said once, here or in the experiment that is alone in it.
Does not know: files, progress, or how the samples are spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar

from dard.decoding.session import Session
from dard.experiments.figures import ACCURACY, COLOURS, PASSES, Figure, Trace, colour_of, figure, spots
from dard.experiments.points import Point, points, split
from dard.results.file import Results
from dard.results.markdown import table
from dard.results.sweep import Job, Row, Scope, Variant, decode_and_score, title_of

Columns = Mapping[str, Callable[[Point], str]]  # by heading
TIMED_FROM = 20  # samples; the speed of fewer is noise


@dataclass(frozen=True)
class Table:
    """A caption, the columns' headings and the rows. `variants` names what each row stands for, or is empty."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    variants: Sequence[str] = ()

    @staticmethod
    def of(points: Sequence[Point], columns: Columns, caption: str) -> Table:
        """A line for every point."""
        rows = [[cell(p) for cell in columns.values()] for p in points]
        return Table(caption, list(columns), rows, [p.variant.name for p in points])

    def markdown(self) -> str:
        return f"{table(self.columns, self.rows)}\n\n{self.caption}"


def percent(share: float) -> str:
    """
    >>> percent(0.346)
    '34.6'
    """
    return f"{100 * share:.1f}"


def part_of(part: float, whole: float) -> str:
    return percent(part / whole) if whole else "–"


def signed(number: float, digits: int = 1) -> str:
    """
    >>> signed(-1.84), signed(0.0), signed(2)
    ('−1.8', '+0.0', '+2.0')
    """
    rounded = round(number, digits) + 0.0
    return f"{'−' if rounded < 0 else '+'}{abs(rounded):.{digits}f}"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def against(cell: Callable[[Point, Point], str]) -> Callable[[Point], str]:
    """A cell that compares a point with the one beside it; that one itself has none."""
    return lambda p: "–" if p.beside is None or p.beside is p else cell(p, p.beside)


def pace(p: Point) -> str:
    """Tokens per second; of few samples they are noise."""
    return f"{p.tokens_per_second:.0f}" if p.samples >= TIMED_FROM else "–"


def speed(p: Point) -> str:
    """Tokens per second as a multiple of the point beside it; of few samples they are noise."""
    known = p.samples >= TIMED_FROM and p.beside is not None and p.beside.tokens_per_second
    return f"×{p.tokens_per_second / known:.2f}" if known else "–"


COLUMNS: Columns = {
    "Variant": lambda p: p.variant.name,
    "Method": lambda p: p.variant.name,
    "Samples": lambda p: str(p.samples),
    "Acc. (%)": lambda p: percent(p.accuracy),
    "Δ Acc.": against(lambda p, other: signed(100 * (p.accuracy - other.accuracy))),
    "95 % interval": lambda p: " – ".join(map(percent, p.interval)),
    "Gain (%)": against(lambda p, other: signed(100 * (p.accuracy / other.accuracy - 1)) if other.accuracy else "–"),
    "Passes": lambda p: f"{p.passes:.2f}",
    "Δ Passes": against(lambda p, other: signed(p.passes - other.passes, 2)),
    "Fewer": against(lambda p, other: f"×{other.passes / p.passes:.1f}"),
    "Tokens/pass": lambda p: number(p.per_pass()),
    "without end": lambda p: number(p.per_pass("without_end")),
    "Revocations": lambda p: f"{p.mean('revocations'):.2f}",
    "Tokens/s": pace,
    "Speed": speed,
}

# Tokens per forward pass in both countings: all filled positions, and those that are not the end of text.
PACE = ("Passes", "Tokens/pass", "without end")


def columns(*headings: str) -> Columns:
    return {heading: COLUMNS[heading] for heading in headings}


class Experiment:
    """One table or figure of the paper. `batch` limits how many samples are measured together; None: as asked.

    The default task is a small world in which what the experiment looks at happens often. Captions are filled in from
    the header of the results. With `record` a decode keeps its masks and predictions for `also`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]  # the paper's table or figure
    shows: ClassVar[str]  # one sentence
    default_task: ClassVar[str] = "arithmetic"
    default_samples: ClassVar[int] = 100
    batch: ClassVar[int | None] = None
    record: ClassVar[bool] = False
    variants: ClassVar[Sequence[Variant]]  # what is run, unless `grid` says so of the items
    beside: ClassVar[Variant | None] = None  # what the other variants are compared with
    columns: ClassVar[Columns]
    caption: ClassVar[str]
    labels: ClassVar[Sequence[str]] = ()  # a variant has a line for each, if there are any
    summary: ClassVar[bool] = False  # a second table: what the decodes behind the numbers of the first were like
    chart: ClassVar[tuple[str, ...]] = (PASSES, ACCURACY)  # the names of the axes, and the figure's own title
    layout: ClassVar[Mapping[str, Any]] = {}

    def grid(self, scope: Scope) -> Sequence[Variant]:
        """The variants to run on these items."""
        return self.variants

    def also(self, session: Session) -> Row:
        """What a row tells of a finished decode beyond its score and its cost."""
        return {}

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        """One row per sample, without the names of the variant and the sample."""
        return decode_and_score(job, variant, samples, self.record, self.also)

    def lines(self, points: list[Point]) -> list[Point]:
        """What has a line in the table."""
        return split(points, self.labels) if self.labels else points

    def table(self, results: Results) -> Table:
        ours = points(results, self.beside)
        told = {**results.header, "rows": len(results.rows)}
        return Table.of(self.lines(ours), self.columns, self.caption.format_map(told))

    def tables(self, results: Results) -> list[Table]:
        """The tables of what is known so far."""
        if not self.summary or any("score" not in row for row in results.rows):  # files of 0.1 do not tell
            return [self.table(results)]
        told = columns("Variant", "Samples", "Acc. (%)", "95 % interval", *PACE, "Tokens/s")
        caption = "The decodes behind these numbers: {task_title}, {model}."
        return [self.table(results), Table.of(points(results), told, caption.format_map(results.header))]

    def figure(self, results: Results) -> Figure:
        """The figure of what is known so far."""
        return figure(results, self.traces(points(results, self.beside)), *self.chart, **self.layout)

    def traces(self, points: list[Point]) -> list[Trace]:
        """What is drawn; by default accuracy over passes. Colours tell decoders apart, or groups of the only one."""
        groups = dict.fromkeys(map(self.group, points))
        several = len({p.variant.decoder for p in points}) > 1
        drawn = []
        for name, colour in zip(groups, cycle(COLOURS), strict=False):
            some = [p for p in points if self.group(p) == name]
            drawn.append(spots(some, self.label, colour_of(some[0].variant.decoder) if several else colour, name=name))
        return drawn

    def group(self, p: Point) -> str:
        return title_of(p.variant.decoder)

    def label(self, p: Point) -> str:
        return p.variant.name.removeprefix(f"{self.group(p)} ")
