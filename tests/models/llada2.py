"""LLaDA2 twice: a checkpoint of random weights under the names the real ones have, and the network it is, written out.

The network is written from what the paper and the model's files say, position by position and expert by expert, and
imports nothing of ours and no network of transformers.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tests.models.folders import write_shards

MARKS = ["<|startoftext|>", "<|endoftext|>", "<role>", "</role>", "<|role_end|>", "<|mask|>"]
TEMPLATE = (
    "<role>SYSTEM</role>detailed thinking off<|role_end|>"
    "{% for m in messages %}<role>{{ {'user': 'HUMAN', 'assistant': 'ASSISTANT'}[m['role']] }}</role>"
    "{{ m['content'] }}{% if not (loop.last and continue_final_message) %}<|role_end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<role>ASSISTANT</role>{% endif %}"
)


def small_config(layers: int, vocabulary: int, **changes: Any) -> dict[str, Any]:
    """The keys config.json has, with small numbers: the first layer is dense if there are several, queries are twice as
    many as keys, and two of four groups of experts are looked into."""
    return {
        "architectures": ["LLaDA2MoeModelLM"],
        "auto_map": {
            "AutoConfig": "configuration_llada2_moe.LLaDA2MoeConfig",
            "AutoModel": "modeling_llada2_moe.LLaDA2MoeModel",
            "AutoModelForCausalLM": "modeling_llada2_moe.LLaDA2MoeModelLM",
        },
        "attention_dropout": 0.0,
        "embedding_dropout": 0.0,
        "first_k_dense_replace": int(layers > 1),
        "head_dim": 16,
        "hidden_act": "silu",
        "hidden_size": 32,
        "initializer_range": 0.02,
        "intermediate_size": 40,
        "max_position_embeddings": 32768,
        "max_window_layers": 28,
        "model_type": "llada2_moe",
        "moe_intermediate_size": 12,
        "moe_router_enable_expert_bias": True,
        "n_group": 4,
        "norm_head": False,
        "norm_topk_prob": True,
        "num_attention_heads": 4,
        "num_experts": 16,
        "num_experts_per_tok": 3,
        "num_hidden_layers": layers,
        "num_key_value_heads": 2,
        "num_shared_experts": 1,
        "output_dropout": 0.0,
        "output_router_logits": False,
        "partial_rotary_factor": 0.5,
        "rms_norm_eps": 1e-6,
        "rope_scaling": None,
        "rope_theta": 600000,
        "routed_scaling_factor": 2.5,
        "score_function": "sigmoid",
        "sliding_window": 4096,
        "tie_word_embeddings": False,
        "topk_group": 2,
        "torch_dtype": "bfloat16",
        "use_bias": False,
        "use_cache": False,
        "use_qk_norm": True,
        "use_qkv_bias": False,
        "use_rmsnorm": True,
        "use_sliding_window": False,
        "vocab_size": vocabulary,
        **changes,
    }


def random_checkpoint(config: dict[str, Any], seed: int, sharpness: float = 1.0) -> dict[str, Tensor]:
    """Weights under the names a checkpoint has; queries, keys and values are one matrix."""
    generator = torch.Generator().manual_seed(seed)
    width, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"], config["num_key_value_heads"]
    weights: dict[str, Tensor] = {}

    def add(name: str, *shape: int) -> None:
        weights[name] = torch.randn(shape, generator=generator) * 0.3 + (0.1 if len(shape) == 1 else 0)

    def mlp(name: str, inner: int) -> None:
        add(f"{name}.gate_proj.weight", inner, width)
        add(f"{name}.up_proj.weight", inner, width)
        add(f"{name}.down_proj.weight", width, inner)

    add("model.word_embeddings.weight", config["vocab_size"], width)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}"
        add(f"{layer}.input_layernorm.weight", width)
        add(f"{layer}.post_attention_layernorm.weight", width)
        add(f"{layer}.attention.query_key_value.weight", (queries + 2 * keys) * head, width)
        if config["use_qk_norm"]:
            add(f"{layer}.attention.query_layernorm.weight", head)
            add(f"{layer}.attention.key_layernorm.weight", head)
        add(f"{layer}.attention.dense.weight", width, queries * head)
        if n < config["first_k_dense_replace"]:
            mlp(f"{layer}.mlp", config["intermediate_size"])
            continue
        add(f"{layer}.mlp.gate.weight", config["num_experts"], width)
        add(f"{layer}.mlp.gate.expert_bias", config["num_experts"])
        for expert in range(config["num_experts"]):
            mlp(f"{layer}.mlp.experts.{expert}", config["moe_intermediate_size"])
        mlp(f"{layer}.mlp.shared_experts", config["moe_intermediate_size"] * config["num_shared_experts"])
    add("model.norm.weight", width)
    if not config["tie_word_embeddings"]:
        add("lm_head.weight", config["vocab_size"], width)
        weights["lm_head.weight"] *= sharpness
    return weights


class Literal:
    """The network: called as one of transformers is, with one row and a mask of whom may be seen by whom."""

    def __init__(self, config: dict[str, Any], weights: dict[str, Tensor]) -> None:
        self.config, self.weights = config, weights

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, position_ids: Tensor, attention_mask: Tensor, **_: Any) -> SimpleNamespace:
        x = self.weights["model.word_embeddings.weight"][input_ids[0]]
        for n in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{n}"
            inner = self.norm(x, f"{layer}.input_layernorm")
            x = x + self.attend(inner, position_ids[0], attention_mask[0, 0], f"{layer}.attention")
            inner = self.norm(x, f"{layer}.post_attention_layernorm")
            if n < self.config["first_k_dense_replace"]:
                x = x + self.mlp(inner, f"{layer}.mlp")
            else:
                x = x + torch.stack([self.routed(token, f"{layer}.mlp") for token in inner])
        head = "model.word_embeddings" if self.config["tie_word_embeddings"] else "lm_head"
        return SimpleNamespace(logits=self.linear(self.norm(x, "model.norm"), head)[None])

    def linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T

    def norm(self, x: Tensor, name: str) -> Tensor:
        size = (x**2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]
        return self.weights[f"{name}.weight"] * x / size.sqrt()

    def mlp(self, x: Tensor, name: str) -> Tensor:
        gate, up = self.linear(x, f"{name}.gate_proj"), self.linear(x, f"{name}.up_proj")
        return self.linear(gate * gate.sigmoid() * up, f"{name}.down_proj")

    def attend(self, x: Tensor, positions: Tensor, sees: Tensor, name: str) -> Tensor:
        """Query heads in groups, each with one key head; a head is normed, then its first half is rotated."""
        head, keys = self.config["head_dim"], self.config["num_key_value_heads"]
        queries = self.config["num_attention_heads"]
        heads = self.linear(x, f"{name}.query_key_value").reshape(len(x), queries + 2 * keys, head)
        out = []
        for number in range(queries):
            group = number // (queries // keys)
            q, k = heads[:, number], heads[:, queries + group]
            if self.config["use_qk_norm"]:
                q, k = self.norm(q, f"{name}.query_layernorm"), self.norm(k, f"{name}.key_layernorm")
            q, k = self.rotated(q, positions), self.rotated(k, positions)
            scores = (q @ k.T / math.sqrt(head)).masked_fill(~sees, -math.inf)
            out.append(scores.softmax(-1) @ heads[:, queries + keys + group])
        return self.linear(torch.cat(out, dim=-1), f"{name}.dense")

    def rotated(self, x: Tensor, positions: Tensor) -> Tensor:
        turned = int(self.config["head_dim"] * self.config["partial_rotary_factor"])
        x, half = x.clone(), turned // 2
        for i in range(half):
            angle = positions * self.config["rope_theta"] ** (-2 * i / turned)
            a, b = x[:, i].clone(), x[:, half + i].clone()
            x[:, i], x[:, half + i] = a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()
        return x

    def routed(self, x: Tensor, name: str) -> Tensor:
        """Groups are chosen by their two best, then experts among them; what they weigh is told without the bias."""
        score = self.linear(x, f"{name}.gate").sigmoid()
        chosen_by = (score + self.weights[f"{name}.gate.expert_bias"]).tolist()
        size = self.config["num_experts"] // self.config["n_group"]
        groups = {g: sum(sorted(chosen_by[g * size : (g + 1) * size])[-2:]) for g in range(self.config["n_group"])}
        kept = sorted(groups, key=lambda g: -groups[g])[: self.config["topk_group"]]
        experts = sorted((g * size + i for g in kept for i in range(size)), key=lambda e: -chosen_by[e])
        experts = experts[: self.config["num_experts_per_tok"]]
        shared = self.config["norm_topk_prob"] and len(experts) > 1  # one alone weighs what its score says
        total = sum(float(score[e]) for e in experts) + 1e-20 if shared else 1.0
        out = self.mlp(x, f"{name}.shared_experts")
        for e in experts:
            weight = float(score[e]) / total * self.config["routed_scaling_factor"]
            out = out + weight * self.mlp(x, f"{name}.experts.{e}")
        return out


def write_llada2_files(folder: Path, config: dict[str, Any], seed: int, sharpness: float = 1.0) -> Literal:
    """config.json, weights in shards, and code that must not run; the tokenizer is the caller's."""
    weights = random_checkpoint(config, seed, sharpness)
    folder.mkdir()
    write_shards(folder, weights)
    (folder / "config.json").write_text(json.dumps(config))
    for file in ("configuration_llada2_moe.py", "modeling_llada2_moe.py"):
        (folder / file).write_text("raise SystemExit('code of a checkpoint was run')")
    return Literal(config, weights)
