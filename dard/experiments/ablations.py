"""DARD with one thing changed, beside Saber: the paper's tables "attention mask design" and "logit mixing strategy"."""

from __future__ import annotations

from dard.experiments.base import PACE, Experiment, columns
from dard.results.sweep import Variant

SABER = Variant("Saber n=4", "saber", {"n": 4})  # the method's own default
ORDERINGS = ("bidirectional", "l2r", "entropy", "margin", "confidence")


class Ablation(Experiment):
    """The last variant is DARD as it is."""

    default_task = "sudoku-open"
    beside = SABER
    columns = columns("Method", "Acc. (%)", "Δ Acc.", "95 % interval", *PACE, "Δ Passes", "Revocations")
    caption = "{task_title}, {model}. Δ is relative to Saber on the same samples. Revocations are per sample."


class MaskAblation(Ablation):
    name = "mask-ablation"
    title = "Attention mask design"
    paper = "the table “attention mask design”"
    shows = "what ordering the candidates by confidence is worth: all see all, left to right, entropy, margin"
    variants = [SABER, *(Variant(f"DARD {name}", "dard", {"ordering": name}) for name in ORDERINGS)]


class MixingAblation(Ablation):
    name = "mixing-ablation"
    title = "Logit mixing"
    paper = "the table “logit mixing strategy”"
    shows = "what adapting w to the verification is worth, against w fixed at 0, 0.5 and 1"
    variants = [
        SABER,
        *(Variant(f"DARD w={w:g}", "dard", {"mixing": w}) for w in (0.0, 0.5, 1.0)),
        Variant("DARD w=adaptive", "dard", {"mixing": "adaptive"}),
    ]
