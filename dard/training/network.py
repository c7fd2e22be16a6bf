"""The embedded model's network: a small Llama without a causal mask.

Promises: given the same weights, the same logits as `transformers.LlamaForCausalLM` driven with a full boolean
4-D mask and positions from 0; a test holds it to that. It exists because it trains about twice as fast on two
CPU cores: only hidden positions pay for the head, and rotary tables are made once.
Does not know: words, tasks, shadow blocks. Inference goes through the same loader as LLaDA.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; the names follow LLaDA's configuration file."""

    vocab_size: int
    d_model: int = 128
    n_layers: int = 6
    n_heads: int = 4
    mlp_hidden_size: int = 352
    max_sequence_length: int = 128
    rope_theta: float = 100.0
    rms_norm_eps: float = 1e-5

    @property
    def head_size(self) -> int:
        return self.d_model // self.n_heads


class RmsNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotary_tables(shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosines and sines [max_sequence_length, head_size], both halves alike as in Llama."""
    exponents = torch.arange(0, shape.head_size, 2).float() / shape.head_size
    frequencies = 1.0 / shape.rope_theta**exponents
    angles = torch.outer(torch.arange(shape.max_sequence_length).float(), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Block(nn.Module):
    """One layer: attention, then a gated MLP, each on a normalised copy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, hidden = shape.d_model, shape.mlp_hidden_size
        self.shape = shape
        self.attn_norm = RmsNorm(width, shape.rms_norm_eps)
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.attn_out = nn.Linear(width, width, bias=False)
        self.ff_norm = RmsNorm(width, shape.rms_norm_eps)
        self.ff_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.ff_out = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, bias: Tensor) -> Tensor:
        rows, length, width = x.shape
        heads, size = self.shape.n_heads, self.shape.head_size
        normal = self.attn_norm(x)
        q = self.q_proj(normal).view(rows, length, heads, size).transpose(1, 2)
        k = self.k_proj(normal).view(rows, length, heads, size).transpose(1, 2)
        v = self.v_proj(normal).view(rows, length, heads, size).transpose(1, 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        scores = q @ k.transpose(-1, -2) * size**-0.5 + bias
        mixed = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(rows, length, width)
        x = x + self.attn_out(mixed)
        normal = self.ff_norm(x)
        return x + self.ff_out(F.silu(self.ff_proj(normal)) * self.up_proj(normal))


class Network(nn.Module):
    """Embedding, layers, final norm; the head is the embedding (tied)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.wte = nn.Embedding(shape.vocab_size, shape.d_model)
        layers = [Block(shape) for _ in range(shape.n_layers)]
        self.blocks = nn.ModuleList(layers)
        self.ln_f = RmsNorm(shape.d_model, shape.rms_norm_eps)
        self.cos: Tensor
        self.sin: Tensor
        cos, sin = rotary_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.apply(_initialise)
        for block in layers:
            # Layers write to a shared stream; smaller first writes keep its size even at the start.
            for writer in (block.attn_out, block.ff_out):
                nn.init.normal_(writer.weight, std=0.02 / (2 * shape.n_layers) ** 0.5)

    def forward(self, ids: Tensor, real: Tensor) -> Tensor:
        """Hidden states [rows, length, width] after the final norm; `real` is False at padding, which no one sees."""
        length = ids.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        bias = torch.zeros(real.shape).masked_fill(~real, -1e9)[:, None, None, :]
        x = self.wte(ids)
        for block in self.blocks:
            x = block(x, cos, sin, bias)
        return self.ln_f(x)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits [..., vocab] of hidden states."""
        return hidden @ self.wte.weight.T


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
