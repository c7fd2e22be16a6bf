"""Writes small checkpoints to disk, in Llama's and in LLaDA's format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from tests.tiny import MASK_ID, word_tokenizer

LLAMA_TO_LLADA = [
    (r"^model\.embed_tokens\.", "model.transformer.wte."),
    (r"^model\.norm\.", "model.transformer.ln_f."),
    (r"^lm_head\.", "model.transformer.ff_out."),
    (r"^model\.layers\.(\d+)\.self_attn\.o_proj\.", r"model.transformer.blocks.\1.attn_out."),
    (r"^model\.layers\.(\d+)\.self_attn\.(q|k|v)_proj\.", r"model.transformer.blocks.\1.\2_proj."),
    (r"^model\.layers\.(\d+)\.mlp\.gate_proj\.", r"model.transformer.blocks.\1.ff_proj."),
    (r"^model\.layers\.(\d+)\.mlp\.up_proj\.", r"model.transformer.blocks.\1.up_proj."),
    (r"^model\.layers\.(\d+)\.mlp\.down_proj\.", r"model.transformer.blocks.\1.ff_out."),
    (r"^model\.layers\.(\d+)\.input_layernorm\.", r"model.transformer.blocks.\1.attn_norm."),
    (r"^model\.layers\.(\d+)\.post_attention_layernorm\.", r"model.transformer.blocks.\1.ff_norm."),
]


def llada_name(name: str) -> str:
    for pattern, replacement in LLAMA_TO_LLADA:
        name, found = re.subn(pattern, replacement, name)
        if found:
            return name
    raise AssertionError(f"no LLaDA name for {name}")


def llada_config(config: Any) -> dict[str, Any]:
    """The keys LLaDA's own config.json has; its code files are named, as they are on the hub, and never run."""
    return {
        "model_type": "llada",
        "architectures": ["LLaDAModelLM"],
        "auto_map": {"AutoConfig": "configuration_llada.LLaDAConfig", "AutoModel": "modeling_llada.LLaDAModelLM"},
        "d_model": config.hidden_size,
        "n_layers": config.num_hidden_layers,
        "n_heads": config.num_attention_heads,
        "n_kv_heads": config.num_key_value_heads,
        "mlp_hidden_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
        "embedding_size": config.vocab_size,
        "max_sequence_length": config.max_position_embeddings,
        "rope_theta": config.rope_parameters["rope_theta"],
        "rms_norm_eps": config.rms_norm_eps,
        "weight_tying": False,
        "mask_token_id": MASK_ID,
        "eos_token_id": 1,
    }


def write_shards(folder: Path, weights: dict[str, torch.Tensor], shards: int = 2) -> None:
    """Safetensors in several files with their index, as large checkpoints come."""
    names = sorted(weights)
    where: dict[str, str] = {}
    for number in range(shards):
        file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name].contiguous().clone() for name in names[number::shards]}
        save_file(part, folder / file, metadata={"format": "pt"})
        where |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 0}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def write_tokenizer(folder: Path, *, bare: bool = True) -> None:
    tokenizer = word_tokenizer()
    if bare:
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    else:
        tokenizer.save_pretrained(folder)


def write_llada(folder: Path, network: Any, **changes: Any) -> Path:
    folder.mkdir()
    weights = {llada_name(name): weight for name, weight in network.state_dict().items()}
    write_shards(folder, weights)
    (folder / "config.json").write_text(json.dumps(llada_config(network.config) | changes))
    (folder / "configuration_llada.py").write_text("raise SystemExit('code of a checkpoint was run')")
    (folder / "modeling_llada.py").write_text("raise SystemExit('code of a checkpoint was run')")
    write_tokenizer(folder)
    return folder


def write_llama(folder: Path, network: Any, *, bare: bool = True, **changes: Any) -> Path:
    folder.mkdir()
    write_shards(folder, dict(network.state_dict()))
    config = network.config.to_dict() | {"mask_token_id": MASK_ID, "architectures": [type(network).__name__]}
    (folder / "config.json").write_text(json.dumps(config | changes))
    write_tokenizer(folder, bare=bare)
    return folder


def change_config(folder: Path, **changes: Any) -> None:
    """Set keys of config.json; a value of None takes the key out."""
    config = json.loads((folder / "config.json").read_text()) | changes
    config = {key: value for key, value in config.items() if key not in changes or value is not None}
    (folder / "config.json").write_text(json.dumps(config))
