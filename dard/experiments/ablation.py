"""What ablations share: DARD with one thing changed, beside Saber, in the columns of the paper's tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import colour_of, figure
from dard.experiments.results import Results
from dard.experiments.summary import Point, points
from dard.experiments.tables import Table, percent, signed
from dard.experiments.variants import Scope, Variant

BESIDE = Variant("Saber n=4", "saber", {"n": 4})  # the method's own default


class Ablation(Experiment):
    """A table relative to Saber; the last variant is DARD as it is."""

    @abstractmethod
    def changed(self) -> Sequence[Variant]:
        """DARD with each change, and without."""

    def grid(self, scope: Scope) -> list[Variant]:
        return [BESIDE, *self.changed()]

    def tables(self, results: Results) -> list[Table]:
        found = points(results)
        reference = next((p for p in found if p.variant.name == BESIDE.name), None)
        rows = [ablation_row(p, reference) for p in found]
        columns = ["Method", "Acc. (%)", "Δ Acc.", "95 % interval", "Passes", "Δ Passes", "Revocations"]
        caption = (
            f"{results.header['task_title']}, {results.header['model']}. Δ is relative to Saber on the same samples. "
            "Revocations are per sample."
        )
        return [Table(caption, columns, rows, [p.variant.name for p in found])]

    def figure(self, results: Results) -> Figure:
        found = points(results)
        trace = {
            "type": "scatter",
            "mode": "markers+text",
            "x": [p.passes for p in found],
            "y": [100 * p.accuracy for p in found],
            "text": [p.variant.name.removeprefix("DARD ") for p in found],
            "textposition": "top center",
            "customdata": [p.variant.name for p in found],
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [100 * (p.high - p.accuracy) for p in found],
                "arrayminus": [100 * (p.accuracy - p.low) for p in found],
                "thickness": 1,
                "width": 3,
            },
            "marker": {"size": 11, "color": [colour_of(p.variant.decoder) for p in found]},
            "hovertemplate": "%{customdata}<br>%{y:.1f} % in %{x:.2f} passes<extra></extra>",
        }
        title = f"{self.title}: {results.header['task_title']}, {results.header['model']}"
        return figure([trace], title, "forward passes per sample", "accuracy (%)", showlegend=False)


def ablation_row(p: Point, reference: Point | None) -> list[str]:
    accuracy = passes = "–"
    if reference is not None and p is not reference:
        accuracy, passes = signed(100 * (p.accuracy - reference.accuracy)), signed(p.passes - reference.passes, 2)
    return [
        p.variant.name,
        percent(p.accuracy),
        accuracy,
        f"{percent(p.low)} – {percent(p.high)}",
        f"{p.passes:.2f}",
        passes,
        f"{p.revocations:.2f}",
    ]
