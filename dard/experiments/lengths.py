"""DARD under several generation and block lengths (the paper's table "generation length and block length").

The paper's grid on answers of 256 tokens; on shorter answers the task's own length and twice that (less would cut
answers off), each with its halves and quarters as blocks. A template is its own region: only its blocks vary.
"""

from __future__ import annotations

from dard.experiments.base import PACE, Experiment, columns
from dard.experiments.points import Point
from dard.results.sweep import Scope, Variant

PAPER = {128: (128, 64), 256: (256, 128, 64)}


def length_of(p: Point) -> str:
    return str(p.variant.settings.get("gen_length", "template"))


def block_of(p: Point) -> str:
    return str(p.variant.settings["block_length"] or "whole")


class Lengths(Experiment):
    name = "lengths"
    title = "Generation and block length"
    paper = "the table “generation length and block length”"
    shows = "how accuracy and passes change with the token budget and the size of the blocks"
    columns = {"Gen. length": length_of, "Block length": block_of, **columns("Acc. (%)", "95 % interval", *PACE)}
    caption = "DARD on {task_title}, {model}, {samples} samples."

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

    def group(self, p: Point) -> str:
        return f"generation {length_of(p)}" if "gen_length" in p.variant.settings else "template"

    def label(self, p: Point) -> str:
        return f"block {block_of(p)}"
