"""Models by name, by folder or by hub id."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dard.models.base import Model, Question, answer_all
from dard.models.registry import CARDS, Card
from dard.state import InputError

__all__ = ["CARDS", "Card", "Model", "Question", "answer_all", "load_model"]

HUB_ID = re.compile(r"^[\w.-]{1,96}/[\w.-]{1,96}$")


def load_model(name: str | Path, *, device: str | None = None, dtype: str | None = None) -> Model:
    """Load a model of the registry, a local checkpoint folder, or a hub id such as "owner/name".

    Nothing from a checkpoint is executed. Raises `InputError` (a `ValueError`) for anything that cannot be loaded.
    """
    from dard.models.checkpoint import load_folder

    text = str(name)
    card = CARDS.get(text)
    if card is not None and card.folder is not None:
        return load_folder(card.folder, name=text, device=device, dtype=dtype)
    if card is None and os.path.isdir(text):  # False for names no file system takes
        return load_folder(Path(text), device=device, dtype=dtype)
    if card is None and not HUB_ID.match(text):
        raise InputError(
            f"unknown model {text[:100]!r}; allowed are {', '.join(CARDS)}, a folder with a checkpoint, "
            "or a hub id of the form owner/name"
        )
    return load_folder(download(card.hub if card and card.hub else text), name=text, device=device, dtype=dtype)


def download(hub: str) -> Path:
    """The local folder of a hub repository, fetched if it is not there yet."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub, allow_patterns=["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"model {hub!r} could not be fetched from the hub: {first[:200]}") from None
