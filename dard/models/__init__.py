"""How a question is answered: models by name, by folder or by hub id, all behind one interface.

Promises: every query sees exactly the keys that its question allows.
Does not know: decoders, states, traces.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dard.core.errors import InputError
from dard.models.base import Answer, Model, Question, Soft, answer_all, check_needs, offers
from dard.models.registry import CARDS, Card, find_card, register, register_model

if TYPE_CHECKING:
    from dard.models.images import ImageSource

__all__ = [
    "CARDS",
    "Answer",
    "Card",
    "Model",
    "Question",
    "Soft",
    "answer_all",
    "check_needs",
    "load_model",
    "offers",
    "register",
    "register_model",
    "takes_images",
    "with_image",
    "with_prefill",
    "with_thinking",
]

HUB_ID = re.compile(r"^[\w.-]{1,96}/[\w.-]{1,96}$")


def load_model(
    name: str | Path,
    *,
    device: str | None = None,
    dtype: str | None = None,
    device_map: str | dict[str, Any] | None = None,
    quantise: int | None = None,
    chat: bool | None = None,
    image_encoder: str | Path | None = None,
    attention: str | None = None,
    shift: bool | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Model:
    """Load a model of the registry, a local checkpoint folder, or a hub id such as "owner/name".

    `device` and `dtype` default to float32 on the CPU, bfloat16 on the first GPU; `device_map` ("auto") spreads a
    model over several devices and `quantise` (4 or 8) stores weights in that many bits. `chat` False takes a prompt
    as it stands where the model would put it into a conversation; a template never is. `image_encoder` is the folder
    or hub id of the image encoder, for models that take images. `attention` ("bidirectional", or "block:N" for blocks
    of N tokens that never see a later one) and `shift` (it predicts one position ahead) say how a mask-filling Llama,
    Qwen2 or Qwen3 was trained, where its files and the registry do not. `progress(doing, done, total)` hears how many
    bytes have been fetched ("fetching") and put in their place ("loading"); an exception it raises ends a fetching.

    Nothing from a checkpoint is executed. Raises `InputError` (a `ValueError`) for anything that cannot be loaded.
    """
    text = str(name)
    card = find_card(text)
    if card is not None and card.load is not None:
        return card.load()
    if card is None and not os.path.isdir(text) and not HUB_ID.match(text):  # isdir is False for impossible names
        raise InputError(
            f"unknown model {text[:100]!r}; allowed are {', '.join(CARDS)}, a folder with a checkpoint, "
            "or a hub id of the form owner/name"
        )
    from dard.models.families import load_folder
    from dard.models.hub import download
    from dard.models.loading import LoadOptions
    from dard.models.placement import read_placement

    placement = replace(read_placement(device, dtype, device_map, quantise), tell=progress)
    encoder = None if image_encoder is None else str(image_encoder)
    if card is None:
        folder = Path(text) if os.path.isdir(text) else None
        shown = folder.name if folder else text
        asked = LoadOptions(placement, shown, chat, {}, encoder, attention, shift)
        return load_folder(folder or download(text, progress), asked)
    asked = LoadOptions(
        placement,
        text,
        card.chat if chat is None else chat,
        card.defaults,
        encoder,
        card.attention if attention is None else attention,
        card.shift if shift is None else shift,
    )
    return load_folder(card.folder or download(card.hub or text, progress), asked)


def takes_images(model: Model) -> bool:
    """Whether `with_image` can show this model a picture."""
    return "images" in offers(model)


def with_image(model: Model, *images: ImageSource, fit: str = "crop") -> Model:
    """The same model with pictures before every prompt: each a file's bytes, a path, or a Pillow image.

    `fit`: where a model needs a square, "crop" shows it the middle of a picture and "squeeze" all of it.
    """
    if not takes_images(model):
        able = ", ".join(name for name, card in CARDS.items() if card.images)
        raise InputError(f"model {model.name!r} takes no image; {able} does")
    return model.with_image(*images, **({} if fit == "crop" else {"fit": fit}))  # type: ignore[attr-defined]


def with_thinking(model: Model) -> Model:
    """The same model, told to think before it answers, as it was tuned to be told."""
    if "think" not in offers(model):
        raise InputError(f"model {model.name!r} knows no way to be told to think first")
    return model.with_thinking()  # type: ignore[attr-defined]


def with_prefill(model: Model, text: str) -> Model:
    """The same model, which finds its answer to every prompt begun with a text; a template stays as it is.

    >>> model = load_model("embedded")
    >>> model.decode(with_prefill(model, " The answer").encode("Q : Tom has 2 pens . A :"))
    'Q : Tom has 2 pens . A : The answer'
    """
    if not text:
        return model
    if "prefill" not in offers(model):
        raise InputError(f"model {model.name!r} knows no way to have its answer begun with {text[:40]!r}")
    return model.with_prefill(text)  # type: ignore[attr-defined]
