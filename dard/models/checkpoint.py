"""Reads a checkpoint folder in Llama's or in LLaDA's on-disk format, without running any code from it.

LLaDA is a Llama with other names: its config keys and weight names are translated, then transformers loads it.
A checkpoint that lacks a weight is refused; transformers alone would go on with random numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging as transformers_logging

from dard.models.backbone import BackboneModel
from dard.state import InputError

# transformers substitutes \1 only, so every pattern has at most one group.
LLADA_NAMES = {
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


def is_llada(config: dict[str, Any]) -> bool:
    return {"d_model", "n_layers", "mlp_hidden_size"} <= config.keys()


def llada_config(config: dict[str, Any]) -> LlamaConfig:
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


def load_folder(
    folder: Path, *, name: str | None = None, device: str | None = None, dtype: str | None = None
) -> BackboneModel:
    """The model in a folder. `dtype` and `device` default to float32 on the CPU, bfloat16 on the first GPU."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"model folder {folder.name!r} has no readable config.json ({error})") from None
    if not isinstance(config, dict):
        raise InputError(f"config.json of model folder {folder.name!r} is not an object")
    try:
        target = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise InputError(f"device = {device!r} is not allowed; write cpu, cuda or cuda:N") from None
    precision = getattr(torch, dtype, None) if dtype else (torch.float32 if target.type == "cpu" else torch.bfloat16)
    if not isinstance(precision, torch.dtype):
        raise InputError(f"dtype = {dtype!r} is not allowed; write float32, bfloat16 or float16")
    options: dict[str, Any] = {}
    family: Any = AutoModelForCausalLM
    if is_llada(config):
        options = {"config": llada_config(config), "key_mapping": LLADA_NAMES}
        family = LlamaForCausalLM
    transformers_logging.disable_progress_bar()  # a second bar in the middle of ours
    transformers_logging.set_verbosity_error()  # it warns of every model type it has no code for, LLaDA's included
    try:
        if not options:
            options = {"config": AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)}
        network, info = family.from_pretrained(
            folder,
            **options,
            dtype=precision,
            attn_implementation="sdpa",
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"model folder {folder.name!r} could not be loaded: {first[:300]}") from None
    wrong = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if wrong:
        raise InputError(
            f"model folder {folder.name!r} lacks {len(wrong)} weights or has them in another shape, "
            f"the first being {wrong[0]}"
        )
    tokenizer = load_tokenizer(folder)
    mask_id = config.get("mask_token_id", tokenizer.mask_token_id)
    if mask_id is None:
        raise InputError(f"model folder {folder.name!r} names no mask token (mask_token_id in config.json)")
    eos_id = config.get("eos_token_id", tokenizer.eos_token_id)
    defaults = folder / "generation_config.json"
    return BackboneModel(
        network.to(target),
        tokenizer,
        mask_id=int(mask_id),
        eos_id=eos_id[0] if isinstance(eos_id, list) else eos_id,
        name=name or folder.name,
        max_length=int(network.config.max_position_embeddings),
        defaults=json.loads(defaults.read_text(encoding="utf-8")) if defaults.exists() else {},
    )


def load_tokenizer(folder: Path) -> Any:
    """The folder's tokenizer; a bare tokenizer.json is enough."""
    try:
        if (folder / "tokenizer_config.json").exists():
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if (folder / "tokenizer.json").exists():
            return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    except Exception as error:  # the tokenizers library raises bare Exceptions
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"the tokenizer of model folder {folder.name!r} is broken: {first[:300]}") from None
    raise InputError(f"model folder {folder.name!r} has no tokenizer.json")
