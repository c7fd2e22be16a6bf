"""The models known by name. Loading is elsewhere.

`register_model` adds a model of your own, which then goes by its name wherever a model can be named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.folders import assets
from dard.core.plugins import load_packages
from dard.models.base import Model
from dard.models.card import Card

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
SMALL = {"tau_c": 0.6, "tau_u": 0.8, "gen_length": 64, "block_length": 32}
BERT = {"tau_c": 0.4, "tau_u": 0.8, **SHORT}
MMADA = {"tau_c": 0.4, "tau_u": 0.9, **LONG}
EIGHT_B = "17 GB in bfloat16, 6 GB in 4 bits"


def in_blocks(size: int) -> dict[str, Any]:
    """Settings for a block-causal model, on which the cache is exact."""
    return {"tau_c": 0.6, "tau_u": 0.8, "gen_length": 128, "block_length": size, "prefix_cache": "block"}


# As published for LLaDA2.0's own generate, and for LLaDA2.1 where quality counts; generate makes 2,048 positions where
# nothing is said, of which a page decodes no more than these.
LLADA2 = dict(in_blocks(32), gen_length=256, threshold=0.95)
EDITED = dict(LLADA2, threshold=0.7, edit_threshold=0.5, max_post_steps=16)
SIXTEEN_B = "33 GB in bfloat16, 11 GB in 4 bits"
HUNDRED_B = "206 GB in bfloat16, 61 GB in 4 bits; several GPUs by device_map"

CARDS: dict[str, Card] = {
    "embedded": Card(
        "the project's own small model: places, captions, arithmetic, Sudoku, countdown",
        parameters="1.2 million",
        memory="below 1 GB, no GPU",
        licence="Apache-2.0",
        folder=EMBEDDED,
        defaults={"tau_c": 0.6, "tau_u": 0.8, **brought_along(EMBEDDED)},
        tested="all of it, in every test run",
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
        EIGHT_B,
        "Apache-2.0",
        hub="Dream-org/Dream-v0-Instruct-7B",
        defaults=LLADA,
        chat=True,
    ),
    "dream-coder-7b-instruct": Card(
        "Dream for code",
        "7.6 B",
        EIGHT_B,
        "Apache-2.0",
        hub="Dream-org/Dream-Coder-v0-Instruct-7B",
        defaults=LLADA,
        chat=True,
    ),
    "diffucoder-7b-instruct": Card(
        "DiffuCoder, Dream's construction trained for code",
        "7.6 B",
        EIGHT_B,
        "Apple AMLR",
        hub="apple/DiffuCoder-7B-Instruct",
        defaults=LLADA,
        chat=True,
    ),
    "llada-moe-7b-a1b-instruct": Card(
        "LLaDA with routed experts, of which 1 B weights work at a time",
        "7 B",
        "16 GB in bfloat16",
        "Apache-2.0",
        hub="inclusionAI/LLaDA-MoE-7B-A1B-Instruct",
        defaults=LLADA,
        chat=True,
    ),
    "llada2.0-mini": Card(
        "LLaDA2.0: routed experts, of which 1.4 B weights work at a time, in blocks of 32",
        "16 B",
        SIXTEEN_B,
        "Apache-2.0",
        hub="inclusionAI/LLaDA2.0-mini",
        defaults=LLADA2,
        chat=True,
        attention="block:32",
    ),
    "llada2.1-mini": Card(
        "LLaDA2.1: LLaDA2.0 that was trained to edit what it wrote (decoder edit)",
        "16 B",
        SIXTEEN_B,
        "Apache-2.0",
        hub="inclusionAI/LLaDA2.1-mini",
        defaults=EDITED,
        chat=True,
        attention="block:32",
    ),
    "llada2.1-flash": Card(
        "LLaDA2.1, the large one",
        "103 B",
        HUNDRED_B,
        "Apache-2.0",
        hub="inclusionAI/LLaDA2.1-flash",
        defaults=EDITED,
        chat=True,
        attention="block:32",
    ),
    "diffusiongemma-26b-a4b-it": Card(
        "DiffusionGemma: canvases of 256 random tokens and no mask, for decoders of noise",
        "26 B, of which 4 B work at a time",
        "52 GB in bfloat16",
        "Apache-2.0",
        hub="google/diffusiongemma-26B-A4B-it",
        defaults={"gen_length": 256},
        chat=True,
        noise=True,
    ),
    "sdar-1.7b-chat": Card(
        "SDAR, block-causal: no block of 4 sees a later one",
        "1.7 B",
        "4 GB in bfloat16",
        "Apache-2.0",
        hub="JetLM/SDAR-1.7B-Chat",
        defaults=in_blocks(4),
        chat=True,
        attention="block:4",
    ),
    "sdar-4b-chat": Card(
        "SDAR, block-causal in blocks of 4, which its files do not say",
        "4 B",
        "9 GB in bfloat16",
        "Apache-2.0",
        hub="JetLM/SDAR-4B-Chat",
        defaults=in_blocks(4),
        chat=True,
        attention="block:4",
    ),
    "sdar-8b-chat": Card(
        "SDAR, the largest without experts",
        "8.2 B",
        EIGHT_B,
        "Apache-2.0",
        hub="JetLM/SDAR-8B-Chat",
        defaults=in_blocks(4),
        chat=True,
        attention="block:4",
    ),
    "sdar-30b-a3b-chat": Card(
        "SDAR with routed experts, of which 3 B weights work at a time",
        "30.5 B",
        "62 GB in bfloat16, 19 GB in 4 bits",
        "Apache-2.0",
        hub="JetLM/SDAR-30B-A3B-Chat",
        defaults=in_blocks(4),
        chat=True,
        attention="block:4",
    ),
    "trado-4b-instruct": Card(
        "TraDo, SDAR after reinforcement learning, in blocks of 4",
        "4 B",
        "9 GB in bfloat16",
        "MIT",
        hub="Gen-Verse/TraDo-4B-Instruct",
        defaults=in_blocks(4),
        chat=True,
        attention="block:4",
    ),
    "fast-dllm-v2-1.5b": Card(
        "Fast-dLLM v2, block-causal in blocks of 32, predicts one position ahead",
        "1.5 B",
        "4 GB in bfloat16",
        "Apache-2.0",
        hub="Efficient-Large-Model/Fast_dLLM_v2_1.5B",
        defaults=in_blocks(32),
        chat=True,
        attention="block:32",
    ),
    "fast-dllm-v2-7b": Card(
        "Fast-dLLM v2, the larger one",
        "7.6 B",
        EIGHT_B,
        "Apache-2.0",
        hub="Efficient-Large-Model/Fast_dLLM_v2_7B",
        defaults=in_blocks(32),
        chat=True,
        attention="block:32",
    ),
    "efficient-dlm-4b": Card(
        "Efficient-DLM, a Qwen3 trained on in blocks of 32, not tuned to chat",
        "4 B",
        "10 GB in bfloat16",
        "CC BY-NC 4.0",
        hub="nvidia/Efficient-DLM-4B",
        defaults=dict(in_blocks(32), threshold=0.9),
        attention="block:32",
        shift=False,
    ),
    "efficient-dlm-8b": Card(
        "Efficient-DLM, the larger one",
        "8.2 B",
        EIGHT_B,
        "CC BY-NC 4.0",
        hub="nvidia/Efficient-DLM-8B",
        defaults=dict(in_blocks(32), threshold=0.9),
        attention="block:32",
        shift=False,
    ),
    "d3llm-llada": Card(
        "d3LLM: LLaDA distilled to decide more at a time",
        "8 B",
        EIGHT_B,
        "see its page",
        hub="d3LLM/d3LLM_LLaDA",
        defaults=LLADA,
        chat=True,
    ),
    "d3llm-dream": Card(
        "d3LLM: Dream distilled to decide more at a time",
        "7.6 B",
        EIGHT_B,
        "see its page",
        hub="d3LLM/d3LLM_Dream",
        defaults=LLADA,
        chat=True,
    ),
    "open-dcoder-0.5b": Card(
        "Open-dLLM for code, a small Qwen2 that predicts one position ahead; runs on a CPU",
        "0.5 B",
        "3 GB in float32, 1.5 GB in bfloat16",
        "Apache-2.0",
        hub="fredzzp/open-dcoder-0.5B",
        defaults=SMALL,
        attention="bidirectional",
        shift=True,
    ),
    "qwen3-0.6b-diffusion-mdlm": Card(
        "a small Qwen3 turned into a diffusion model; runs on a CPU",
        "0.6 B",
        "3 GB in float32, 1.5 GB in bfloat16",
        "Apache-2.0",
        hub="dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1",
        defaults=SMALL,
        chat=True,
    ),
    "bert-base-uncased": Card(
        "BERT, a masked language model: templates in plain English",
        "110 M",
        "1 GB, no GPU",
        "Apache-2.0",
        hub="google-bert/bert-base-uncased",
        defaults=BERT,
    ),
    "distilbert-base-uncased": Card(
        "DistilBERT, BERT at half the depth",
        "67 M",
        "1 GB, no GPU",
        "Apache-2.0",
        hub="distilbert/distilbert-base-uncased",
        defaults=BERT,
    ),
    "roberta-base": Card(
        "RoBERTa, a masked language model of bytes and pieces",
        "125 M",
        "1 GB, no GPU",
        "MIT",
        hub="FacebookAI/roberta-base",
        defaults=BERT,
    ),
    "modernbert-base": Card(
        "ModernBERT, a masked language model for long texts",
        "149 M",
        "1 GB, no GPU",
        "Apache-2.0",
        hub="answerdotai/ModernBERT-base",
        defaults=BERT,
    ),
}

ANY_OTHER = "a hub id or a folder"
READABLE = (
    "LLaDA, LLaDA-MoE, LLaDA2, MMaDA, Dream, SDAR, Fast-dLLM v2, DiffusionGemma, BERT, DistilBERT, RoBERTa, "
    "ModernBERT, and mask-filling Llama, Qwen2, Qwen3 and Qwen3-MoE"
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
