"""DARD under several generation and block lengths (the paper's table "generation length and block length").

The paper's grid on answers of 256 tokens; on shorter answers the task's own length and twice that (less would cut
answers off), each with its halves and quarters as blocks. A template is its own region: only its blocks vary.
"""

from __future__ import annotations

from dard.experiments.base import Experiment, Figure
from dard.experiments.figures import figure
from dard.experiments.results import Results
from dard.experiments.summary import Point, points
from dard.experiments.tables import Table, percent
from dard.experiments.variants import Scope, Variant

PAPER = {128: (128, 64), 256: (256, 128, 64)}
PALETTE = ("#0072B2", "#D55E00", "#009E73")


class Lengths(Experiment):
    name = "lengths"
    title = "Generation and block length"
    paper = "the table “generation length and block length”"
    shows = "how accuracy and passes change with the room for the answer and the size of the blocks"

    def grid(self, scope: Scope) -> list[Variant]:
        length = scope.gen_length
        if length is None:
            blocks = sorted({max(1, scope.masks // part) for part in (1, 2, 4)}, reverse=True)
            return [
                Variant("block: the whole template", "dard", {"block_length": None}),
                *(Variant(f"block {block}", "dard", {"block_length": block}) for block in blocks),
            ]
        pairs = PAPER if length in PAPER else {each: (each, each // 2, each // 4) for each in (length, 2 * length)}
        return [
            Variant(f"generation {total}, block {block}", "dard", {"gen_length": total, "block_length": block})
            for total, blocks in pairs.items()
            for block in blocks
            if block > 0
        ]

    def tables(self, results: Results) -> list[Table]:
        rows = [
            [
                str(p.variant.settings.get("gen_length", "template")),
                str(p.variant.settings.get("block_length") or "whole"),
                percent(p.accuracy),
                f"{percent(p.low)} – {percent(p.high)}",
                f"{p.passes:.2f}",
            ]
            for p in points(results)
        ]
        columns = ["Gen. length", "Block length", "Acc. (%)", "95 % interval", "Passes"]
        caption = f"DARD on {results.header['task_title']}, {results.header['model']}, {results.samples} samples."
        return [Table(caption, columns, rows, [v.name for v in results.started()])]

    def figure(self, results: Results) -> Figure:
        groups: dict[str, list[Point]] = {}
        for p in points(results):
            length = p.variant.settings.get("gen_length")
            groups.setdefault("template" if length is None else f"generation {length}", []).append(p)
        traces = [
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": name,
                "x": [p.passes for p in group],
                "y": [100 * p.accuracy for p in group],
                "text": [f"block {p.variant.settings.get('block_length') or 'whole'}" for p in group],
                "textposition": "top center",
                "customdata": [p.variant.name for p in group],
                "marker": {"size": 11, "color": PALETTE[number % len(PALETTE)]},
                "hovertemplate": "%{customdata}<br>%{y:.1f} % in %{x:.2f} passes<extra></extra>",
            }
            for number, (name, group) in enumerate(groups.items())
        ]
        title = f"{self.title}: {results.header['task_title']}, {results.header['model']}"
        return figure(traces, title, "forward passes per sample", "accuracy (%)")
