"""A task for random networks: prompts of a few words, and a judge that is arbitrary but always the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from dard.models.backbone import BackboneModel
from dard.tasks import Item, Score
from tests.tiny import random_model

GEN_LENGTH = 6


class TinyTask:
    name = "tiny"
    title = "Tiny"

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        rng = np.random.default_rng(seed)
        return [Item(" ".join(f"w{n}" for n in rng.integers(3, 40, 5)), GEN_LENGTH, None) for _ in range(count)]

    def score(self, item: Item, text: str) -> Score:
        return Score(sum(map(ord, text)) % 2 == 0, {"half": 0.5})


class TinyTemplates(TinyTask):
    name = "tiny-templates"

    def test_items(self, count: int, seed: int = 0) -> list[Item]:
        return [Item(f"{item.prompt} [MASK] [MASK] w3 [MASK]", None, None) for item in super().test_items(count, seed)]


def model() -> BackboneModel:
    return random_model(3, layers=2, sharpness=1.3)


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as far as they must be the same in every run."""
    return [
        {name: value for name, value in row.items() if "seconds" not in name and "memory" not in name} for row in rows
    ]
