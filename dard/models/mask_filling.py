"""Llama and Qwen that were trained, or trained on, to fill masks, each seeing and predicting in its own way.

| model type | network | sees | predicts |
| --- | --- | --- | --- |
| a2d-llama, a2d-qwen2, a2d-qwen3 (the dLLM project: "autoregressive to diffusion") | as named | everything | in place |
| Dream (Dream, DiffuCoder, Dream-Coder) | Qwen2 | everything | one position ahead |
| sdar, sdar_moe (SDAR, TraDo) | Qwen3, Qwen3-MoE | its block and those before | in place |
| Fast_dLLM_Qwen (Fast-dLLM v2) | Qwen2 | its block and those before | one position ahead |
| llama, qwen2, qwen3, qwen3_moe | as named | what the user or the model's card says | as they say |

A checkpoint of the last line names a mask token and nothing else (Open-dLLM, Efficient-DLM): taken for another kind it
decodes wrongly without a word, so it is refused until someone says what it is. The published code of all of them only
replaces the causal mask, which the explicit mask does here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import (
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from dard.core.errors import InputError
from dard.models.backbone import BackboneModel
from dard.models.checkpoint import as_config, load_network, load_tokenizer
from dard.models.loading import LoadOptions

NETWORKS: dict[str, tuple[Any, Any]] = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "qwen3_moe": (Qwen3MoeConfig, Qwen3MoeForCausalLM),
}
NAMES = {r"^encoder\.": "model.", r"^diffusion_head\.": "lm_head."}  # Efficient-DLM's


MAY_BE_TOLD = ("attention", "shift")


@dataclass(frozen=True)
class Kind:
    """`block`: the config key with the block's size; without one it sees everything. `mask`: its mask token, where
    neither config nor tokenizer names one. `longest`: what it was trained on, where the config says more."""

    network: str
    shifted: bool = False
    block: str | None = None
    mask: str | None = None
    longest: int | None = None
    tokenizer: Any = AutoTokenizer


KINDS = {
    **{f"a2d-{network}": Kind(network) for network in NETWORKS},
    # Its folder names a tokenizer class of its own, which is Qwen2's; its config repeats Qwen2's 131,072 positions.
    "Dream": Kind("qwen2", shifted=True, longest=2048, tokenizer=Qwen2Tokenizer),
    "sdar": Kind("qwen3", block="block_size", mask="<|MASK|>"),
    "sdar_moe": Kind("qwen3_moe", block="block_size", mask="<|MASK|>"),
    "Fast_dLLM_Qwen": Kind("qwen2", shifted=True, block="bd_size", mask="|<MASK>|"),
}

PLAIN = "transformers' own class, key by key without a mask (`tests/models/test_families.py`)"
COMPARED = {
    "a2d (dLLM's Llama, Qwen2, Qwen3)": (PLAIN, "published weights, and a Llama or a Qwen2 of this kind"),
    "Dream, Dream-Coder, DiffuCoder, d3LLM-Dream": (
        "a Qwen2 and the shift of Dream's sampler (`tests/models/test_dream.py`)",
        "7.6 B weights; d3LLM's own decoding, which is not here",
    ),
    "SDAR, TraDo, SDAR-MoE": (
        "a Qwen3 or Qwen3-MoE on a sequence that ends with its block (`tests/models/test_blocks.py`)",
        "published weights; whether 4 B and 8 B name a block size by now",
    ),
    "Fast-dLLM v2": (
        "a Qwen2 one position ahead, on a sequence that ends with its block (`tests/models/test_blocks.py`)",
        "published weights",
    ),
    "Efficient-DLM": (
        f"{PLAIN}, under the names that SGLang's loader of such checkpoints reads",
        "published weights, whose names and attention could not be looked at: blocks of 32 are those of its training",
    ),
    "Open-dLLM, other mask-filling Llama and Qwen": (PLAIN, "published weights"),
}


def matches(config: dict[str, Any]) -> bool:
    return config.get("model_type") in KINDS | NETWORKS


def load(folder: Path, config: dict[str, Any], asked: LoadOptions) -> BackboneModel:
    kind = KINDS.get(config["model_type"])
    size = int(config.get(kind.block) or 0) if kind and kind.block else None
    # dLLM's block-diffusion checkpoints have the type of its others; only their name tells.
    hidden = kind is None or size == 0 or "bd3lm" in f"{asked.name} {config.get('_name_or_path')}".lower()
    if hidden and asked.attention is None:
        raise InputError(
            f"model folder {folder.name!r} holds a mask-filling {config['model_type']} whose files do not say how it "
            "was trained: some see everything, some only their block and those before, and some predict one position "
            "ahead; say attention = 'bidirectional' or 'block:N' (--attention), and shift = True (--shift) for the last"
        )
    kind = kind or Kind(config["model_type"])
    settings, family = NETWORKS[kind.network]
    known = as_config(settings, config)
    network = load_network(folder, family, known, asked.placement, NAMES)
    tokenizer = load_tokenizer(folder, kind.tokenizer)
    if tokenizer.mask_token is None and kind.mask in tokenizer.get_vocab():
        tokenizer.mask_token = kind.mask
    longest = min(kind.longest or known.max_position_embeddings, known.max_position_embeddings)
    shifted = kind.shifted if asked.shift is None else asked.shift
    return BackboneModel.of(
        folder,
        config,
        network,
        tokenizer,
        asked,
        max_length=longest,
        shifted=shifted,
        block_size=asked.block_size(size),
    )
