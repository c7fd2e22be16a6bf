"""The models known by name. A card says what a model is and where it comes from; loading is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass(frozen=True)
class Card:
    """One line of the model table. `folder` for a model that is part of the project, `hub` for one to be fetched."""

    title: str
    parameters: str
    memory: str
    licence: str
    folder: Path | None = None
    hub: str | None = None

    def words(self) -> dict[str, str]:
        """The descriptive columns of the table."""
        return {
            "what": self.title,
            "parameters": self.parameters,
            "memory": self.memory,
            "licence": self.licence,
        }


CARDS: dict[str, Card] = {
    "embedded": Card(
        "the project's own small model: places, captions, arithmetic, Sudoku, countdown",
        parameters="a few million",
        memory="below 1 GB, no GPU",
        licence="Apache-2.0",
        folder=ASSETS / "model",
    ),
    "llada-8b-instruct": Card(
        "LLaDA instruction model", "8 B", "17 GB in bfloat16", "MIT", hub="GSAI-ML/LLaDA-8B-Instruct"
    ),
    "llada-8b-base": Card("LLaDA base model", "8 B", "17 GB in bfloat16", "MIT", hub="GSAI-ML/LLaDA-8B-Base"),
    "llada-1.5": Card("LLaDA after preference tuning", "8 B", "17 GB in bfloat16", "MIT", hub="GSAI-ML/LLaDA-1.5"),
}
