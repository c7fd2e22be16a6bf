"""Which candidate may see which during verification (the paper's table "attention mask design")."""

from __future__ import annotations

from collections.abc import Sequence

from dard.experiments.ablation import Ablation
from dard.experiments.variants import Variant

ORDERINGS = ("bidirectional", "l2r", "entropy", "margin", "confidence")


class MaskAblation(Ablation):
    name = "mask-ablation"
    title = "Attention mask design"
    paper = "the table “attention mask design”"
    default_task = "sudoku-open"
    shows = "what ordering the candidates by confidence is worth: all see all, left to right, entropy, margin"

    def changed(self) -> Sequence[Variant]:
        return [Variant(f"DARD {ordering}", "dard", {"ordering": ordering}) for ordering in ORDERINGS]
