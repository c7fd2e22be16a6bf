"""LLaDA in bfloat16, against its construction written out, and the switches of its config."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import dard
from dard.models import Question, llada_moe
from dard.models.base import Frozen, answer
from tests.models.families import write_llada_chat, write_llada_moe
from tests.models.folders import change_config
from tests.models.test_families import asked

HEADS = 4


def rms(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def rotated(x: Tensor, positions: Tensor, theta: float = 500000.0) -> Tensor:
    """[heads, S, width] turned by its positions, in float32, and cast back."""
    width = x.shape[-1]
    turns = positions[:, None].float() * (1.0 / theta ** (torch.arange(0, width, 2).float() / width))
    angle = torch.cat([turns, turns], dim=-1)
    wide = x.float()
    half = torch.cat([-wide[..., width // 2 :], wide[..., : width // 2]], dim=-1)
    return (wide * angle.cos() + half * angle.sin()).to(x.dtype)


@torch.no_grad()
def literal(weights: dict[str, Tensor], layers: int, q: Question) -> Tensor:
    """Logits [S, vocab] of LLaDA, in the type of the weights, from the names a checkpoint has."""
    x = weights["model.transformer.wte.weight"][q.ids]
    for n in range(layers):
        w = {name: weights[f"model.transformer.blocks.{n}.{name}.weight"] for name in BLOCK}
        inner = rms(x, w["attn_norm"])
        query, key, value = (
            F.linear(inner, w[name]).view(len(q.ids), HEADS, -1).transpose(0, 1)
            for name in ("q_proj", "k_proj", "v_proj")
        )
        query, key = rotated(query, q.positions), rotated(key, q.positions)
        seen = F.scaled_dot_product_attention(query[None], key[None], value[None], attn_mask=q.mask[None, None])[0]
        x = x + F.linear(seen.transpose(0, 1).reshape(x.shape), w["attn_out"])
        inner = rms(x, w["ff_norm"])
        x = x + F.linear(F.silu(F.linear(inner, w["ff_proj"])) * F.linear(inner, w["up_proj"]), w["ff_out"])
    return F.linear(
        rms(x, weights["model.transformer.ln_f.weight"]), weights["model.transformer.ff_out.weight"]
    ).float()


BLOCK = (
    "q_proj",
    "k_proj",
    "v_proj",
    "attn_out",
    "attn_norm",
    "ff_norm",
    "ff_proj",
    "up_proj",
    "ff_out",
)


def weights_of(folder: Path, dtype: torch.dtype) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    found: dict[str, Tensor] = {}
    for file in folder.glob("*.safetensors"):
        found |= load_file(file)
    return {name: weight.to(dtype) for name, weight in found.items()}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_queries_and_keys_are_rotated_in_float32(dtype: str, tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m", layers=3)
    model: Any = dard.load_model(folder, dtype=dtype)
    weights = weights_of(folder, getattr(torch, dtype))
    for seed in range(4):
        q = asked(model, seed, 24)
        q = replace(q, rows=torch.arange(24), positions=q.positions * 11)  # far positions turn far
        expected = literal(weights, 3, q)
        found = model.logits(q.ids, q.positions, q.mask, q.rows)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5 if dtype == "float32" else 0)
    assert model.network.dtype == getattr(torch, dtype)


def test_a_llama_s_own_rotation_would_be_told_apart(tmp_path: Path) -> None:
    """In bfloat16 it moves the logits by more than a rounding, which the test above would see."""
    folder, _ = write_llada_chat(tmp_path / "m", layers=3)
    q = replace(asked(dard.load_model(folder), 0, 24), rows=torch.arange(24))
    q = replace(q, positions=q.positions * 11)
    full = dard.load_model(folder, dtype="bfloat16").logits(q.ids, q.positions, q.mask, q.rows)
    change_config(folder, rope_full_precision=False)
    half = dard.load_model(folder, dtype="bfloat16").logits(q.ids, q.positions, q.mask, q.rows)
    assert (full - half).abs().max() > 0.01


def test_a_kept_prefix_gives_the_same_bits(tmp_path: Path) -> None:
    """What is kept has the type of the weights, though keys are in float32 on their way."""
    model: Any = dard.load_model(write_llada_chat(tmp_path / "m", layers=2)[0], dtype="bfloat16")
    q = replace(asked(model, 1, 12), rows=torch.arange(6, 12))
    opening = answer(model, replace(q, frozen=Frozen(6)))
    later = answer(model, replace(q, frozen=Frozen(6, q)))
    torch.testing.assert_close(later.logits, opening.logits, atol=0.02, rtol=0)
    kept = next(iter(model.prefixes._kept.values()))
    assert all(part.dtype == torch.bfloat16 for pair in kept for part in pair)


def test_mmada_is_rotated_likewise(mmada_folder: Path) -> None:
    model: Any = dard.load_model(mmada_folder, dtype="bfloat16")
    q = replace(asked(model, 2), positions=torch.arange(9) * 37)
    expected = literal(weights_of(mmada_folder, torch.bfloat16), 1, q)[q.rows]
    torch.testing.assert_close(model.logits(q.ids, q.positions, q.mask, q.rows), expected, atol=1e-5, rtol=0)


# Switches.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale_logits", True),
        ("alibi", True),
        ("input_emb_norm", True),
        ("include_bias", True),
        ("include_qkv_bias", True),
        ("bias_for_layer_norm", True),
        ("layer_norm_type", "default"),
        ("attention_layer_norm", True),
        ("block_type", "sequential"),
        ("rope", False),
    ],
)
def test_a_switch_that_makes_another_network_is_refused_by_name(name: str, value: Any, tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    change_config(folder, **{name: value})
    with pytest.raises(dard.InputError, match=f"has {name} = {value}, which makes another network than there is here"):
        dard.load_model(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shared_expert_intermediate_size", 64),
        ("moe_router_score_function", "sigmoid"),
        ("moe_router_enable_expert_bias", True),
        ("qk_layernorm", False),
        ("partial_rotary_factor", 0.5),
    ],
)
def test_so_is_one_of_the_mixture_of_experts(name: str, value: Any, tmp_path: Path) -> None:
    folder, _ = write_llada_moe(tmp_path / "m")
    change_config(folder, **{name: value})
    with pytest.raises(dard.InputError, match=f"has {name} = {value}, which makes another network"):
        dard.load_model(folder)


def test_the_config_of_the_real_one_is_read(tmp_path: Path) -> None:
    """All keys that LLaDA-8B-Instruct has."""
    folder, _ = write_llada_chat(tmp_path / "m")
    change_config(folder, **REAL)
    assert dard.load_model(folder).num_layers == 1


REAL = {
    "activation_type": "silu",
    "alibi": False,
    "alibi_bias_max": 8.0,
    "attention_dropout": 0.0,
    "attention_layer_norm": False,
    "attention_layer_norm_with_affine": True,
    "bias_for_layer_norm": False,
    "block_group_size": 1,
    "block_type": "llama",
    "flash_attention": False,
    "include_bias": False,
    "include_qkv_bias": False,
    "input_emb_norm": False,
    "layer_norm_type": "rms",
    "layer_norm_with_affine": True,
    "mlp_ratio": 4,
    "precision": "amp_bf16",
    "rope": True,
    "rope_full_precision": True,
    "scale_logits": False,
}


# The mixture of experts.


@torch.no_grad()
def literal_moe(weights: dict[str, Tensor], layers: int, q: Question) -> Tensor:
    """Logits [S, vocab] of LLaDA-MoE, token by token and expert by expert."""
    x = weights["model.embed_tokens.weight"][q.ids]
    size = len(q.ids)
    for n in range(layers):
        w = {k.removeprefix(f"model.layers.{n}."): v for k, v in weights.items() if k.startswith(f"model.layers.{n}.")}
        inner = rms(x, w["input_layernorm.weight"])
        query, key, value = (F.linear(inner, w[f"self_attn.{c}_proj.weight"]).view(size, HEADS, -1) for c in "qkv")
        query, key = rms(query, w["self_attn.q_norm.weight"]), rms(key, w["self_attn.k_norm.weight"])
        query, key = (rotated(part.transpose(0, 1), q.positions, 50000.0) for part in (query, key))
        scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~q.mask, -torch.inf).softmax(-1)
        x = x + F.linear(
            (scores @ value.transpose(0, 1)).transpose(0, 1).reshape(x.shape), w["self_attn.o_proj.weight"]
        )
        inner = rms(x, w["post_attention_layernorm.weight"])
        for row in range(size):
            routed = F.linear(inner[row], w["mlp.gate.weight"]).softmax(-1)
            for expert in routed.topk(2).indices.tolist():
                gate, up, down = (w[f"mlp.experts.{expert}.{part}_proj.weight"] for part in ("gate", "up", "down"))
                x[row] += routed[expert] * F.linear(F.silu(F.linear(inner[row], gate)) * F.linear(inner[row], up), down)
    return F.linear(rms(x, weights["model.norm.weight"]), weights["lm_head.weight"])


def test_llada_moe_is_its_construction_written_out(tmp_path: Path) -> None:
    folder, _ = write_llada_moe(tmp_path / "m", layers=2)
    model: Any = dard.load_model(folder)
    weights = weights_of(folder, torch.float32)
    for seed in range(3):
        q = replace(asked(model, seed), rows=torch.arange(9))
        found = model.logits(q.ids, q.positions, q.mask, q.rows)
        torch.testing.assert_close(found, literal_moe(weights, 2, q), atol=1e-4, rtol=1e-4)


def test_its_mask_token_is_known_where_nothing_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = write_llada_moe(tmp_path / "m")
    values = json.loads((folder / "tokenizer_config.json").read_text())
    del values["mask_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(values))
    assert llada_moe.MASK == 156895
    monkeypatch.setattr(llada_moe, "MASK", 200)
    assert dard.load_model(folder).mask_id == 200


def test_a_key_that_is_missing_is_named_as_its_own(tmp_path: Path) -> None:
    folder, _ = write_llada_moe(tmp_path / "m")
    change_config(folder, expert_intermediate_size=None, dense_intermediate_size=64)
    with pytest.raises(dard.InputError, match="LLaDA-MoE checkpoint has no 'expert_intermediate_size'"):
        dard.load_model(folder)
