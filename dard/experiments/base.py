"""What every experiment is: a grid of variants, what is told of each decode, and the columns of a table.

Promises: `measure` gives one row per sample and depends on nothing but its arguments; `tables` and `figure` read
results and nothing else, so they work on a file from another machine, and on results that are still coming in.
Does not know: files, progress, or how the samples are spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from dard.experiments.figures import ACCURACY, COLOURS, PASSES, Figure, colour_of, figure, spots
from dard.experiments.points import Point, points
from dard.experiments.results import Results
from dard.experiments.sweep import Job, Row, decode_and_score
from dard.experiments.tables import PACE, Columns, Table, columns
from dard.experiments.variants import Scope, Variant, title_of
from dard.session import Session


class Experiment(ABC):
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
    beside: ClassVar[Variant | None] = None  # what the other variants are compared with
    columns: ClassVar[Columns]
    caption: ClassVar[str]

    @abstractmethod
    def grid(self, scope: Scope) -> list[Variant]:
        """The variants to run on these items."""

    def also(self, session: Session) -> Row:
        """What a row tells of a finished decode beyond its score and its cost."""
        return {}

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        """One row per sample, without the names of the variant and the sample."""
        return decode_and_score(job, variant, samples, self.record, self.also)

    def tables(self, results: Results) -> list[Table]:
        """The tables of what is known so far."""
        caption = self.caption.format_map(results.header)
        return [Table.of(points(results, self.beside), self.columns, caption)]

    def summary(self, results: Results) -> list[Table]:
        """What the decodes behind other numbers were like, where the file tells."""
        if not all("score" in row for row in results.rows):
            return []
        told = columns("Variant", "Samples", "Acc. (%)", "95 % interval", *PACE, "Tokens/s")
        caption = "The decodes behind these numbers: {task_title}, {model}."
        return [Table.of(points(results), told, caption.format_map(results.header))]

    def figure(self, results: Results) -> Figure:
        """The figure of what is known so far; by default accuracy over passes.

        Colours tell decoders apart, or the groups of the only one.
        """
        found = points(results)
        groups = list(dict.fromkeys(map(self.group, found)))
        several = len({p.variant.decoder for p in found}) > 1
        traces = []
        for number, name in enumerate(groups):
            some = [p for p in found if self.group(p) == name]
            colour = colour_of(some[0].variant.decoder) if several else COLOURS[number % len(COLOURS)]
            traces.append(spots(some, self.label, colour, name=name))
        return figure(results, traces, PASSES, ACCURACY)

    def group(self, p: Point) -> str:
        return title_of(p.variant.decoder)

    def label(self, p: Point) -> str:
        return p.variant.name.removeprefix(f"{self.group(p)} ")
