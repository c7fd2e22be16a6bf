"""The models known by name. Loading is elsewhere.

`register_model` adds a model of your own, which then goes by its name wherever a model can be named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dard.folders import assets
from dard.models.base import Model
from dard.models.card import Card
from dard.plugins import load_packages
from dard.state import InputError

EMBEDDED = assets("model")
LONG = {"gen_length": 256, "block_length": 128}  # the paper's
SHORT = {"gen_length": 32, "block_length": 32}


def brought_along(folder: Path) -> dict[str, Any]:
    """The settings a trained model of the project was saved with; none while there is no such model."""
    try:
        return dict(json.loads((folder / "generation_config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


LLADA = {"tau_c": 0.6, "tau_u": 0.8, **LONG}  # the paper's thresholds
MMADA = {"tau_c": 0.4, "tau_u": 0.9, **LONG}
EIGHT_B = "17 GB in bfloat16, 6 GB in 4 bits"

CARDS: dict[str, Card] = {
    "embedded": Card(
        "the project's own small model: places, captions, arithmetic, Sudoku, countdown",
        parameters="1.2 million",
        memory="below 1 GB, no GPU",
        licence="Apache-2.0",
        folder=EMBEDDED,
        defaults={"tau_c": 0.6, "tau_u": 0.8, **brought_along(EMBEDDED)},
    ),
    "llada-8b-instruct": Card(
        "LLaDA instruction model", "8 B", EIGHT_B, "MIT", hub="GSAI-ML/LLaDA-8B-Instruct", defaults=LLADA, chat=True
    ),
    "llada-8b-base": Card("LLaDA base model", "8 B", EIGHT_B, "MIT", hub="GSAI-ML/LLaDA-8B-Base", defaults=LLADA),
    "llada-1.5": Card(
        "LLaDA after preference tuning", "8 B", EIGHT_B, "MIT", hub="GSAI-ML/LLaDA-1.5", defaults=LLADA, chat=True
    ),
    "mmada-8b-mixcot": Card(
        "MMaDA: LLaDA that reads pictures and reasons",
        "8 B",
        "18 GB in bfloat16, 7 GB in 4 bits",
        "MIT",
        hub="Gen-Verse/MMaDA-8B-MixCoT",
        defaults=MMADA,
        chat=True,
        images=True,
        think=True,
    ),
    "dream-7b-instruct": Card(
        "Dream instruction model, a Qwen2 that predicts one position ahead",
        "7.6 B",
        "17 GB in bfloat16, 6 GB in 4 bits",
        "Apache-2.0",
        hub="Dream-org/Dream-v0-Instruct-7B",
        defaults=LLADA,
        chat=True,
    ),
    "open-dcoder-0.5b": Card(
        "Open-dLLM for code, a small Qwen2 that predicts one position ahead; runs on a CPU",
        "0.5 B",
        "3 GB in float32, 1.5 GB in bfloat16",
        "Apache-2.0",
        hub="fredzzp/open-dcoder-0.5B",
        defaults={"tau_c": 0.6, "tau_u": 0.8, "gen_length": 64, "block_length": 32},
        attention="bidirectional",
        shift=True,
    ),
    "qwen3-0.6b-diffusion-mdlm": Card(
        "a small Qwen3 turned into a diffusion model; runs on a CPU",
        "0.6 B",
        "3 GB in float32, 1.5 GB in bfloat16",
        "Apache-2.0",
        hub="dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1",
        defaults={"tau_c": 0.6, "tau_u": 0.8, "gen_length": 64, "block_length": 32},
        chat=True,
    ),
    "bert-base-uncased": Card(
        "BERT, a masked language model: templates in plain English",
        "110 M",
        "1 GB, no GPU",
        "Apache-2.0",
        hub="google-bert/bert-base-uncased",
        defaults={"tau_c": 0.4, "tau_u": 0.8, **SHORT},
    ),
    "distilbert-base-uncased": Card(
        "DistilBERT, BERT at half the depth",
        "67 M",
        "1 GB, no GPU",
        "Apache-2.0",
        hub="distilbert/distilbert-base-uncased",
        defaults={"tau_c": 0.4, "tau_u": 0.8, **SHORT},
    ),
}

ANY_OTHER = "a hub id or a folder"
READABLE = (
    "LLaDA, LLaDA-MoE, MMaDA, Dream, SDAR, Fast-dLLM v2, BERT, DistilBERT, RoBERTa, ModernBERT, "
    "and mask-filling Llama, Qwen2 and Qwen3"
)
OTHER = Card(
    f"any checkpoint of these families: {READABLE}",
    parameters="any",
    memory="2 GB per billion parameters in bfloat16, and a tenth more",
    licence="its own",
    chat=None,
)


def rows() -> dict[str, Card]:
    """All lines of the model table: the names, and what else can be named."""
    return {**CARDS, ANY_OTHER: OTHER}


def find_card(name: str) -> Card | None:
    """The card of a name or of a hub id written out."""
    return CARDS.get(name) or next((card for card in CARDS.values() if card.hub == name), None)


def register_model(name: str, load: Callable[[], Model], *, title: str = "", **card: Any) -> None:
    """Make a model of your own known by a name. `load` is called when it is first wanted; `card` fills its card.

    >>> from dard.models.scripted import los_diego
    >>> register_model("los-diego", los_diego, title="knows two cities")
    >>> import dard
    >>> dard.load_model("los-diego").name
    'los-diego'
    >>> del CARDS["los-diego"]
    """
    known = CARDS.get(name)
    if not name or (known is not None and known.load is None):
        raise InputError(f"name = {name[:60]!r} is not allowed for a model of your own; {', '.join(CARDS)} are taken")
    words = {"parameters": "?", "memory": "?", "licence": "?"} | card
    CARDS[name] = Card(title or name, load=load, **words)


register = register_model  # its name in 0.1
load_packages("dard.models", lambda entry: register_model(entry.name, lambda: entry.load()()))
