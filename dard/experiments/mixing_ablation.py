"""How much the prediction of masked tokens listens to the candidates (the paper's table "logit mixing strategy")."""

from __future__ import annotations

from collections.abc import Sequence

from dard.experiments.ablation import Ablation
from dard.experiments.variants import Variant

MIXINGS: tuple[float | str, ...] = (0.0, 0.5, 1.0, "adaptive")


class MixingAblation(Ablation):
    name = "mixing-ablation"
    title = "Logit mixing"
    paper = "the table “logit mixing strategy”"
    default_task = "sudoku-open"
    shows = "what adapting w to the verification is worth, against w fixed at 0, 0.5 and 1"

    def changed(self) -> Sequence[Variant]:
        return [
            Variant(f"DARD w={mixing if mixing == 'adaptive' else f'{mixing:g}'}", "dard", {"mixing": mixing})
            for mixing in MIXINGS
        ]
