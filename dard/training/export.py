"""Writes a trained network as a folder in LLaDA's on-disk format.

Promises: the folder loads through the same path as any LLaDA checkpoint, and its weights, read back, give the
network's own logits up to half precision.
Does not know: how the network was trained, or how good it is; the model card is written elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dard.training.network import Network, Shape
from dard.training.vocabulary import EOS, EOS_ID, MASK, MASK_ID, PAD, PAD_ID, UNK, build_tokenizer

_PREFIX = "model.transformer."
# What `read_back` and a comparison of words need.
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")
# One region for every question task, decoded as a single block.
GENERATION_DEFAULTS = {"gen_length": 24, "block_length": 24}


def config_of(shape: Shape) -> dict[str, Any]:
    """LLaDA's configuration keys."""
    return {
        "architectures": ["LLaDAModelLM"],
        "model_type": "llada",
        **asdict(shape),
        "n_kv_heads": shape.n_heads,
        "embedding_size": shape.vocab_size,
        "weight_tying": True,
        "include_bias": False,
        "mask_token_id": MASK_ID,
        "eos_token_id": EOS_ID,
        "pad_token_id": PAD_ID,
        "torch_dtype": "float16",
    }


def export(network: Network, folder: Path) -> None:
    """Write config, weights, tokenizer and generation defaults."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {_PREFIX + name: w.detach().to(torch.float16).contiguous() for name, w in network.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer().save(str(folder / "tokenizer.json"))
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": network.shape.max_sequence_length,
        "pad_token": PAD,
        "mask_token": MASK,
        "eos_token": EOS,
        "unk_token": UNK,
        "clean_up_tokenization_spaces": False,
    }
    _write_json(folder / "config.json", config_of(network.shape))
    _write_json(folder / "tokenizer_config.json", tokenizer_config)
    _write_json(folder / "generation_config.json", GENERATION_DEFAULTS)


def read_back(folder: Path) -> Network:
    """The network of an exported folder, in single precision."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network = Network(Shape(**{field.name: config[field.name] for field in fields(Shape)}))
    weights = load_file(folder / "model.safetensors")
    network.load_state_dict({name.removeprefix(_PREFIX): w.float() for name, w in weights.items()})
    return network


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
