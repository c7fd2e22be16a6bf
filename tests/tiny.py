"""Small random networks and their models, for tests that need a real attention but no weights."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import dard
from dard.models.backbone import BackboneModel
from dard.models.scripted import Rule, ScriptedModel
from tests.helpers import body_of

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


class NumberWords:
    """Stands in for a tokenizer of a large vocabulary."""

    unk_token_id = None
    all_special_ids: tuple[int, ...] = ()

    def decode(self, ids: list[int], **options: Any) -> str:
        return " ".join(f"tok{i}" for i in ids)


def scattered(token: int) -> int:
    """A small id as an id of a vocabulary of 126464."""
    return (token * 61 + 17) % 126_464


@cache
def long_trace() -> dard.Trace:
    """A decode of 60 steps in one block of 256 with about 20 changes a step, five times what filling it takes.

    The model has 2048 words; their ids are scattered over 126464 afterwards, because logits over so many words for
    so many rows would take a minute.
    """
    torch.manual_seed(0)
    network = LlamaForCausalLM(llama_config(2, 2048))
    scale = {"embed": 1.0, "lm_head": 0.75, "self_attn": 0.1, "mlp": 0.2}
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.dim() == 2:
                weight.normal_(0.0, next(value for part, value in scale.items() if part in name))
    model = BackboneModel(network, NumberWords(), mask_id=MASK_ID, eos_id=None, name="random", max_length=512)
    session = dard.Session(model, list(range(100, 116)), gen_length=256, tau_c=0.4, tau_u=0.6)
    session.run(lambda step: session.cancel() if step.index == 60 else None)
    body = body_of(session.trace)
    body["mask_id"] = scattered(MASK_ID)
    body["prompt_tokens"] = [scattered(t) for t in body["prompt_tokens"]]
    body["token_text"] = {str(scattered(int(t))): text for t, text in body["token_text"].items()}
    for moment in (body["start"], *body["steps"]):
        moment["tokens"] = [scattered(t) for t in moment["tokens"]]
        for table in moment.get("paths", {}).values():
            table["ids"] = [scattered(t) for t in table["ids"]]
    return dard.Trace.from_bytes(json.dumps(body).encode())


def written(prompt: str, answer: str) -> dard.Trace:
    """A decode in two passes that writes this answer, whatever it is."""
    words, start = answer.split(), len(prompt.split())
    model = scripted(
        sorted({*prompt.split(), *words} - {"[EOS]"}),
        lambda position, _: {words[position - start]: 0.9 - 0.01 * (position - start)} if position >= start else {},
    )
    return dard.decode(model, prompt, "standard", gen_length=len(words), steps=2)
