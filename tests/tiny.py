"""Small random networks and their models, for tests that need a real attention but no weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dard.models.backbone import BackboneModel
from dard.models.scripted import Rule, ScriptedModel

MASK_ID, EOS_ID, UNKNOWN_ID = 0, 1, 2
VOCABULARY = 40


def llama_config(layers: int = 2, vocabulary: int = VOCABULARY, hidden: int = 32, **changes: Any) -> LlamaConfig:
    values: dict[str, Any] = {
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": vocabulary,
        "max_position_embeddings": 512,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": EOS_ID,
        "pad_token_id": None,
    }
    return LlamaConfig(**values | changes)


@cache
def random_network(seed: int, layers: int = 2, vocabulary: int = VOCABULARY, sharpness: float = 1.0) -> Any:
    """A random Llama whose predictions are sharp enough for thresholds to be crossed, in both directions."""
    torch.manual_seed(seed)
    network = LlamaForCausalLM(llama_config(layers, vocabulary))
    network.set_attn_implementation("sdpa")
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.dim() < 2:
                continue
            scale = {"embed": 1.0, "lm_head": 0.55 * sharpness, "self_attn": 0.35, "mlp": 0.2}
            kind = next(part for part in scale if part in name)
            weight.normal_(0.0, scale[kind])
    return network.eval()


def word_tokenizer(vocabulary: int = VOCABULARY) -> PreTrainedTokenizerFast:
    """One token per word: [MASK], [EOS], [UNK], w3, w4, …"""
    words = ["[MASK]", "[EOS]", "[UNK]"] + [f"w{i}" for i in range(3, vocabulary)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, mask_token="[MASK]", eos_token="[EOS]", unk_token="[UNK]"
    )


@cache
def random_model(seed: int, layers: int = 2, vocabulary: int = VOCABULARY, sharpness: float = 1.0) -> BackboneModel:
    network = random_network(seed, layers, vocabulary, sharpness)
    return BackboneModel(
        network, word_tokenizer(vocabulary), mask_id=MASK_ID, eos_id=None, name=f"random-{seed}", max_length=512
    )


def scripted(words: list[str], rule: Rule) -> ScriptedModel:
    """A scripted model with many idle words, so that what a rule leaves open adds next to nothing to each word."""
    return ScriptedModel([*words, *(f"idle{i}" for i in range(500))], rule)
