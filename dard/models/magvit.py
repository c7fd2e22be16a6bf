"""The encoder of MAGVIT-v2: a picture to a grid of whole numbers, one per 16 × 16 pixels.

Convolutions halve the picture four times and leave 13 channels. Quantisation needs no table: the signs of the channels
are the bits of the code, the first channel being the highest, which makes 8192 codes. Module names are those of the
weights in `showlab/magvitv2`; widths and depths are read off the weights. The decoder half is not here.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from dard.core.errors import InputError

REPOSITORY = "showlab/magvitv2"
WEIGHTS = "pytorch_model.safetensors"


def norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(32, channels, eps=1e-6)


class Residual(nn.Module):
    """x + conv(silu(norm(conv(silu(norm(x)))))), with a 1 × 1 convolution on x where the channels change."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = norm(before), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = norm(after), nn.Conv2d(after, after, 3, padding=1)
        self.nin_shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv1(F.silu(self.norm1(x)))
        return self.nin_shortcut(x) + self.conv2(F.silu(self.norm2(inner)))


class Attention(nn.Module):
    """Every place of the grid looks at every other, with one head."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = norm(channels)
        self.q, self.k, self.v, self.proj_out = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm(x)
        query, key, value = (part(inner).flatten(2).transpose(1, 2) for part in (self.q, self.k, self.v))
        seen = F.scaled_dot_product_attention(query, key, value)
        return x + self.proj_out(seen.transpose(1, 2).reshape(x.shape))


class Halve(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x, (0, 1, 0, 1)))  # right and below only


class Level(nn.Module):
    """Residual blocks at one resolution, then half of it; the last level keeps it."""

    def __init__(self, before: int, after: int, blocks: int, last: bool) -> None:
        super().__init__()
        self.block = nn.Sequential(*(Residual(after if n else before, after) for n in range(blocks)))
        self.downsample = nn.Identity() if last else Halve(after)

    def forward(self, x: Tensor) -> Tensor:
        return self.downsample(self.block(x))


class Middle(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.block_1, self.attn_1 = Residual(channels, channels), Attention(channels)
        self.block_2 = Residual(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.block_2(self.attn_1(self.block_1(x)))


class Encoder(nn.Module):
    """`channels` and `blocks` per level, and the channels of the first convolution; `bits` of a code."""

    def __init__(self, first: int, channels: list[int], blocks: list[int], bits: int) -> None:
        super().__init__()
        self.conv_in = nn.Conv2d(3, first, 3, padding=1)
        before = [first, *channels[:-1]]
        last = len(channels) - 1
        self.down = nn.Sequential(
            *(Level(before[n], channels[n], blocks[n], last=n == last) for n in range(len(channels)))
        )
        self.mid = Middle(channels[-1])
        self.norm_out, self.conv_out = norm(channels[-1]), nn.Conv2d(channels[-1], bits, 3, padding=1)
        self.quant_conv = nn.Conv2d(bits, bits, 1)
        self.bits = bits

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels [1, 3, height, width] to channels [1, bits, height / 16, width / 16]."""
        x = self.mid(self.down(self.conv_in(pixels)))
        return self.quant_conv(self.conv_out(F.silu(self.norm_out(x))))

    @torch.no_grad()
    def codes(self, pixels: Tensor) -> list[int]:
        """The codes of a picture, row by row."""
        positive = self(pixels)[0] > 0
        powers = 2 ** torch.arange(self.bits - 1, -1, -1, device=positive.device)
        return (positive * powers[:, None, None]).sum(dim=0).flatten().tolist()


def load_encoder(folder: Path, device: torch.device) -> Encoder:
    """The encoder of a folder in the format of `showlab/magvitv2`, in float32: a code hangs on signs."""
    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError):
        raise InputError(f"image encoder folder {folder.name!r} has no readable {WEIGHTS}") from None
    own = {name.removeprefix("encoder."): w.float() for name, w in weights.items() if name.startswith("encoder.")}
    try:
        levels = 1 + max(int(level[1]) for name in own if (level := re.match(r"down\.(\d+)\.", name)))
        channels = [own[f"down.{n}.block.0.conv1.weight"].shape[0] for n in range(levels)]
        blocks = [
            sum(bool(re.match(rf"down\.{n}\.block\.\d+\.conv1\.weight", name)) for name in own) for n in range(levels)
        ]
        encoder = Encoder(own["conv_in.weight"].shape[0], channels, blocks, own["quant_conv.weight"].shape[0])
        encoder.load_state_dict(own)
    except (KeyError, ValueError, RuntimeError):
        raise InputError(f"image encoder folder {folder.name!r} does not hold the weights of MAGVIT-v2") from None
    return encoder.eval().to(device)
