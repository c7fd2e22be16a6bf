"""LLaDA-MoE-7B-A1B: a Qwen3-MoE under other config keys, though its model type is LLaDA's.

The names of its weights are Qwen3-MoE's own. (An OLMoE, from which it was made, norms queries and keys over all heads
together; LLaDA-MoE norms every head, as Qwen3 does.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import check_switches, load_network, load_tokenizer
from dard.models.loading import LoadOptions

# What a Qwen3-MoE has built in.
QWEN: dict[str, tuple[Any, ...]] = {
    "clip_qkv": (None,),
    "moe_router_enable_expert_bias": (False, None),
    "moe_router_score_function": ("softmax", None),
    "norm_topk_prob": (False, None),
    "partial_rotary_factor": (1,),
    "qk_layernorm": (True,),
    "rope_scaling": (None,),
    "shared_expert_intermediate_size": (None,),
}
MASK = 156895  # neither config nor tokenizer need name it

COMPARED = {
    "LLaDA-MoE": (
        "transformers' Qwen3-MoE, key by key without a mask (`tests/models/test_families.py`)",
        "7 B weights",
    ),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") in ("llada", "lladamoe") and "num_experts" in config


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> BackboneModel:
    network = load_network(folder, Qwen3MoeForCausalLM, moe_config(config), asked.placement)
    tokenizer = load_tokenizer(folder)
    if tokenizer.mask_token_id is None:
        config = {"mask_token_id": MASK} | config
    return BackboneModel.of(folder, config, network, tokenizer, asked)


def moe_config(config: dict[str, Any]) -> Qwen3MoeConfig:
    """LLaDA-MoE's config in Qwen3-MoE's words: routed experts, and a norm of every head's queries and keys."""
    check_switches("LLaDA-MoE", config, QWEN)
    try:
        layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
        dense = [layer for layer, routed in enumerate(config.get("moe_layer_freq") or [1] * layers) if not routed]
        return Qwen3MoeConfig(
            hidden_size=config["hidden_size"],
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=config.get("num_key_value_heads") or heads,
            head_dim=config["hidden_size"] // heads,
            intermediate_size=config.get("dense_intermediate_size") or config["expert_intermediate_size"],
            moe_intermediate_size=config["expert_intermediate_size"],
            mlp_only_layers=dense,
            num_experts=config["num_experts"],
            num_experts_per_tok=config["num_experts_per_tok"],
            norm_topk_prob=False,
            vocab_size=config["vocab_size"],
            max_position_embeddings=config.get("max_position_embeddings", 4096),
            rope_parameters={"rope_type": "default", "rope_theta": float(config["rope_theta"])},
            rms_norm_eps=config.get("rms_norm_eps", 1e-5),
            tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
            attention_bias=bool(config.get("attention_bias", False)),
            pad_token_id=config.get("pad_token_id"),
            bos_token_id=None,
            eos_token_id=config.get("eos_token_id"),
        )
    except KeyError as missing:
        raise InputError(f"config.json of this LLaDA-MoE checkpoint has no {missing.args[0]!r}") from None
