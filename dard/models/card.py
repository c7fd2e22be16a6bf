"""A card: what a model is, what it needs and how it is used. Knows no model and loads none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dard.models.base import Model


@dataclass(frozen=True)
class Card:
    """One line of the model table.

    `folder` for a model that is part of the project, `hub` for one to be fetched, `load` for a registered one.
    `defaults` are settings of decoders; what is not there is the decoder's own default. `chat`: prompts are put into
    a conversation, or None if only the checkpoint can tell; `images`: pictures can go with the prompt; `think`: it can
    be told to think first; `noise`: it begins as noise and knows no mask. `tested`: what the tests have seen of it; a
    format is tested by small random checkpoints. `attention` and `shift` as in `load_model`, for a checkpoint whose
    files do not tell.
    """

    title: str
    parameters: str
    memory: str
    licence: str
    folder: Path | None = None
    hub: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    chat: bool | None = False
    images: bool = False
    think: bool = False
    noise: bool = False
    tested: str = "format tested, weights never seen here"
    load: Callable[[], Model] | None = None
    attention: str | None = None
    shift: bool | None = None

    @property
    def link(self) -> str | None:
        return f"https://huggingface.co/{self.hub}" if self.hub else None

    @property
    def origin(self) -> str:
        return self.hub or ("part of the project" if self.folder else "your own code" if self.load else "anywhere")

    def words(self) -> dict[str, str]:
        """The descriptive columns of the table."""
        prompt = {True: "chat", False: "plain", None: "as its tokenizer has it"}[self.chat]
        return {
            "what": self.title,
            "parameters": self.parameters,
            "memory": self.memory,
            "licence": self.licence,
            "tested": self.tested,
            "prompt": f"{prompt}, image" if self.images else prompt,
            "defaults": ", ".join(f"{name} {value}" for name, value in self.defaults.items()) or "the decoder's",
        }
