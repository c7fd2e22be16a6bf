"""A small random DiffusionGemma, of transformers' own classes."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion

VOCABULARY, CANVAS = 64, 8


def config(**changes: Any) -> Any:
    text = {
        "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "global_head_dim": 16,
        "moe_intermediate_size": 16, "num_experts": 4, "top_k_experts": 2, "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"], "eos_token_id": 1, "pad_token_id": 0,
    }  # fmt: skip
    vision = {
        "model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 16,
    }  # fmt: skip
    own = {"canvas_length": CANVAS, "image_token_id": 60}
    return DiffusionGemmaConfig(text_config=text | changes, vision_config=vision, **own)


def gemma(seed: int = 0, sharpness: float = 20.0) -> Any:
    """Random weights; the larger `sharpness`, the surer its predictions."""
    torch.manual_seed(seed)
    network = DiffusionGemmaForBlockDiffusion(config()).eval()
    network.lm_head.weight.data.mul_(sharpness)
    return network
