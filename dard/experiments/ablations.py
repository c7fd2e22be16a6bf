"""DARD with one thing changed, beside Saber: the paper's tables "attention mask design" and "logit mixing strategy"."""

from __future__ import annotations

from typing import ClassVar

from dard.experiments.base import Experiment
from dard.experiments.tables import PACE, columns
from dard.experiments.variants import Scope, Variant


class Ablation(Experiment):
    """The last variant is DARD as it is."""

    default_task = "sudoku-open"
    beside = Variant("Saber n=4", "saber", {"n": 4})  # the method's own default
    changed: ClassVar[list[Variant]]
    columns = columns("Method", "Acc. (%)", "Δ Acc.", "95 % interval", *PACE, "Δ Passes", "Revocations")
    caption = "{task_title}, {model}. Δ is relative to Saber on the same samples. Revocations are per sample."

    def grid(self, scope: Scope) -> list[Variant]:
        return [self.beside, *self.changed]


class MaskAblation(Ablation):
    name = "mask-ablation"
    title = "Attention mask design"
    paper = "the table “attention mask design”"
    shows = "what ordering the candidates by confidence is worth: all see all, left to right, entropy, margin"
    changed = [
        Variant(f"DARD {ordering}", "dard", {"ordering": ordering})
        for ordering in ("bidirectional", "l2r", "entropy", "margin", "confidence")
    ]


class MixingAblation(Ablation):
    name = "mixing-ablation"
    title = "Logit mixing"
    paper = "the table “logit mixing strategy”"
    shows = "what adapting w to the verification is worth, against w fixed at 0, 0.5 and 1"
    changed = [
        *(Variant(f"DARD w={w:g}", "dard", {"mixing": w}) for w in (0.0, 0.5, 1.0)),
        Variant("DARD w=adaptive", "dard", {"mixing": "adaptive"}),
    ]
