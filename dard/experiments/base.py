"""What every experiment is: a grid of variants, a measurement of samples, a table and a figure.

Promises: `measure` gives one row per sample and depends on nothing but its arguments; `tables` and `figure` read
results and nothing else, so they work on a file from another machine, and on results that are still coming in.
Does not know: files, progress, or how the samples are spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dard.experiments.results import Results, Row
from dard.experiments.tables import Table
from dard.experiments.variants import Scope, ScoredTask, Variant
from dard.models.base import Model

Figure = dict[str, Any]  # Plotly's JSON: {"data": […], "layout": {…}}


@dataclass(frozen=True)
class Job:
    """What a measurement works with."""

    model: Model
    task: ScoredTask
    scope: Scope


class Experiment(ABC):
    """One table or figure of the paper. `batch` limits how many samples are measured together; None: as asked.

    The default task is a small world in which what the experiment looks at happens often.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]  # the paper's table or figure
    shows: ClassVar[str]  # one sentence
    default_task: ClassVar[str] = "arithmetic"
    default_samples: ClassVar[int] = 100
    batch: ClassVar[int | None] = None

    @abstractmethod
    def grid(self, scope: Scope) -> list[Variant]:
        """The variants to run on these items."""

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        """One row per sample, without the names of the variant and the sample."""
        from dard.experiments.decoding import decode_and_score

        return decode_and_score(job, variant, samples)

    @abstractmethod
    def tables(self, results: Results) -> list[Table]:
        """The tables of what is known so far."""

    @abstractmethod
    def figure(self, results: Results) -> Figure:
        """The figure of what is known so far."""
