"""LLaDA in bfloat16, against its construction written out, and the switches of its config."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import dard
from dard.models import Question
from dard.models.base import Frozen, answer
from tests.models.families import write_llada_chat
from tests.models.folders import change_config
from tests.models.test_families import asked

HEADS = 4


def rms(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def rotated(x: Tensor, positions: Tensor) -> Tensor:
    """[heads, S, width] turned by its positions, in float32, and cast back."""
    width = x.shape[-1]
    turns = positions[:, None].float() / 500000.0 ** (torch.arange(0, width, 2).float() / width)
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
