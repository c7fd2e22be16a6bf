"""LLaDA-8B-Instruct, LLaDA-8B-Base, LLaDA-1.5 and the embedded model: a Llama under other names.

Config keys and weight names are translated, then transformers loads a Llama. The logits are those of the published
modelling code, of which nothing is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import LlamaConfig, LlamaForCausalLM

from dard.models.asked import Asked
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import load_network, load_tokenizer
from dard.state import InputError

NAMES = {
    r"^model\.transformer\.wte\.": "model.embed_tokens.",
    r"^model\.transformer\.ln_f\.": "model.norm.",
    r"^model\.transformer\.ff_out\.": "lm_head.",
    r"^model\.transformer\.blocks\.(\d+)\.q_proj\.": r"model.layers.\1.self_attn.q_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.k_proj\.": r"model.layers.\1.self_attn.k_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.v_proj\.": r"model.layers.\1.self_attn.v_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.attn_out\.": r"model.layers.\1.self_attn.o_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.ff_proj\.": r"model.layers.\1.mlp.gate_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.up_proj\.": r"model.layers.\1.mlp.up_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.ff_out\.": r"model.layers.\1.mlp.down_proj.",
    r"^model\.transformer\.blocks\.(\d+)\.attn_norm\.": r"model.layers.\1.input_layernorm.",
    r"^model\.transformer\.blocks\.(\d+)\.ff_norm\.": r"model.layers.\1.post_attention_layernorm.",
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "llada"


def load(folder: Path, config: dict[str, Any], asked: Asked) -> BackboneModel:
    network = load_network(folder, LlamaForCausalLM, llama_config(config), asked.placement, NAMES)
    return BackboneModel.of(folder, config, network, load_tokenizer(folder), asked)


def llama_config(config: dict[str, Any]) -> LlamaConfig:
    """LLaDA's config in Llama's words."""
    try:
        return LlamaConfig(
            hidden_size=config["d_model"],
            num_hidden_layers=config["n_layers"],
            num_attention_heads=config["n_heads"],
            num_key_value_heads=config.get("n_kv_heads") or config["n_heads"],
            intermediate_size=config["mlp_hidden_size"],
            vocab_size=config.get("embedding_size") or config["vocab_size"],
            max_position_embeddings=config.get("max_sequence_length", 4096),
            rope_parameters={"rope_type": "default", "rope_theta": float(config.get("rope_theta", 500000.0))},
            rms_norm_eps=config.get("rms_norm_eps", 1e-5),
            tie_word_embeddings=bool(config.get("weight_tying", False)),
            attention_bias=bool(config.get("include_qkv_bias", False)),
            pad_token_id=config.get("pad_token_id"),
            bos_token_id=None,
            eos_token_id=config.get("eos_token_id"),
        )
    except KeyError as missing:
        raise InputError(f"config.json of this LLaDA checkpoint has no {missing.args[0]!r}") from None
