"""Llama, Qwen2 and Qwen3 that were trained, or trained on, to fill masks with everything in view.

Qwen3-0.6B-diffusion-mdlm and other models of the dLLM project ("a2d": autoregressive to diffusion) are such models
under another model type; their own code only takes the causal mask away, which the explicit mask does here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from dard.models.asked import Asked
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import as_config, load_network, load_tokenizer

FAMILIES: dict[str, tuple[Any, Any]] = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}


def kind(config: dict[str, Any]) -> str:
    """The model type without dLLM's mark."""
    return str(config.get("model_type")).removeprefix("a2d-")


def matches(config: dict[str, Any]) -> bool:
    return kind(config) in FAMILIES


def load(folder: Path, config: dict[str, Any], asked: Asked) -> BackboneModel:
    settings, family = FAMILIES[kind(config)]
    network = load_network(folder, family, as_config(settings, config), asked.placement)
    return BackboneModel.of(folder, config, network, load_tokenizer(folder), asked)
