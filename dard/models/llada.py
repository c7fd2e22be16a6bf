"""LLaDA-8B-Instruct, LLaDA-8B-Base, LLaDA-1.5 and the embedded model: a Llama under other names.

Config keys and weight names are translated, then transformers loads a Llama. The logits are those of the published
modelling code, of which nothing is run. A switch of the config that makes another network is refused by its name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import check_switches, load_network, load_tokenizer
from dard.models.loading import LoadOptions

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

# What a Llama has built in.
LLAMA: dict[str, tuple[Any, ...]] = {
    "activation_type": ("silu", "swiglu"),
    "alibi": (False,),
    "attention_layer_norm": (False,),
    "bias_for_layer_norm": (False, None),
    "block_group_size": (1,),
    "block_type": ("llama",),
    "include_bias": (False,),
    "include_qkv_bias": (False, None),
    "input_emb_norm": (False,),
    "layer_norm_type": ("rms",),
    "layer_norm_with_affine": (True,),
    "multi_query_attention": (False, None),
    "rope": (True,),
    "scale_logits": (False,),
}

COMPARED = {
    "LLaDA, LLaDA-1.5, d3LLM-LLaDA": (
        "the construction written out, in float32, bfloat16 and float16 (`tests/models/test_llada.py`); a Llama of the "
        "same weights (`tests/models/test_checkpoint.py`); the embedded model, which has this format, in every test",
        "8 B weights; d3LLM's own decoding, which is not here",
    ),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") == "llada"


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> BackboneModel:
    return BackboneModel.of(folder, config, load_llama(folder, config, asked), load_tokenizer(folder), asked)


def load_llama(folder: Path, config: dict[str, Any], asked: LoadOptions) -> LlamaForCausalLM:
    network = load_network(folder, LlamaForCausalLM, llama_config(config), asked.placement, NAMES)
    if config.get("rope_full_precision", True):
        rotate_in_float32(network)
    return network


class Float32Rotary(LlamaRotaryEmbedding):
    """Sines and cosines in float32, whatever type the weights have; what they rotate becomes float32 with them."""

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(x[..., :0].float(), position_ids)  # only its type and its device are looked at


def attend_in_own_type(module: Any, *states: Tensor, **options: Any) -> Any:
    """The usual kernel, on queries, keys and values cast back to the type of the network; the mask comes after them."""
    own, mask = [state.to(module.config.dtype) for state in states[:3]], states[3:]
    return sdpa_attention_forward(module, *own, *mask, **options)


ALL_ATTENTION_FUNCTIONS.register("dard_float32_rotary", attend_in_own_type)


def rotate_in_float32(network: LlamaForCausalLM) -> None:
    """LLaDA rotates queries and keys in float32 and casts them back; a Llama rotates in the type of the weights, which
    in bfloat16 is enough to change many a most probable token. In float32 it is the same."""
    rotary = Float32Rotary(network.config).to(network.model.rotary_emb.inv_freq.device)
    network.model.rotary_emb = rotary
    network.set_attn_implementation("dard_float32_rotary")


def llama_config(config: dict[str, Any]) -> LlamaConfig:
    """LLaDA's config in Llama's words."""
    check_switches("LLaDA", config, LLAMA)
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
            pad_token_id=config.get("pad_token_id"),
            bos_token_id=None,
            eos_token_id=config.get("eos_token_id"),
        )
    except KeyError as missing:
        raise InputError(f"config.json of this LLaDA checkpoint has no {missing.args[0]!r}") from None
