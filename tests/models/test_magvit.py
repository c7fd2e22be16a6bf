"""The image encoder: the published weights' names and sizes, and the codes of a literal reading of its description."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

import dard
from dard.models.images import as_pixels
from dard.models.magvit import Encoder, load_encoder

CPU = torch.device("cpu")
CHANNELS, BLOCKS = [32, 64, 64, 128, 128], [2, 1, 2, 1, 1]


def write_magvit(folder: Path, bits: int = 13, blocks: list[int] = BLOCKS) -> Path:
    """A small encoder in the layout of showlab/magvitv2, beside tensors of the other half and of the quantiser."""
    generator = torch.Generator().manual_seed(0)
    shapes = {name: w.shape for name, w in Encoder(32, CHANNELS, blocks, bits).state_dict().items()}
    weights = {f"encoder.{name}": torch.randn(shape, generator=generator) * 0.1 for name, shape in shapes.items()}
    weights |= {"decoder.conv_in.weight": torch.zeros(4, bits, 3, 3), "quantize.power_vals": 2 ** torch.arange(bits)}
    folder.mkdir()
    save_file(weights, folder / "pytorch_model.safetensors")
    (folder / "config.json").write_text('{"_class_name": "MAGViTv2"}')
    return folder


def literal_codes(w: dict[str, Tensor], x: Tensor, bits: int) -> list[int]:
    """The encoder spelled out over the weights by name."""

    def conv(name: str, x: Tensor, **options: int) -> Tensor:
        return F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], **options)

    def swish_of_norm(name: str, x: Tensor) -> Tensor:
        y = F.group_norm(x, 32, w[f"{name}.weight"], w[f"{name}.bias"], eps=1e-6)
        return y * torch.sigmoid(y)

    def residual(name: str, x: Tensor) -> Tensor:
        y = conv(f"{name}.conv1", swish_of_norm(f"{name}.norm1", x), padding=1)
        y = conv(f"{name}.conv2", swish_of_norm(f"{name}.norm2", y), padding=1)
        return y + (conv(f"{name}.nin_shortcut", x) if f"{name}.nin_shortcut.weight" in w else x)

    x = conv("encoder.conv_in", x, padding=1)
    for level, blocks in enumerate(BLOCKS):
        for block in range(blocks):
            x = residual(f"encoder.down.{level}.block.{block}", x)
        if level < len(BLOCKS) - 1:
            below = torch.zeros(1, x.shape[1], x.shape[2] + 1, x.shape[3] + 1)
            below[:, :, :-1, :-1] = x
            x = conv(f"encoder.down.{level}.downsample.conv", below, stride=2)
    x = residual("encoder.mid.block_1", x)
    name, (_, channels, height, width) = "encoder.mid.attn_1", x.shape
    y = F.group_norm(x, 32, w[f"{name}.norm.weight"], w[f"{name}.norm.bias"], eps=1e-6)
    q, k, v = (conv(f"{name}.{part}", y)[0].reshape(channels, -1) for part in "qkv")
    attention = torch.softmax(q.T @ k / channels**0.5, dim=1)
    x = x + conv(f"{name}.proj_out", (v @ attention.T).reshape(1, channels, height, width))
    x = residual("encoder.mid.block_2", x)
    x = conv("encoder.quant_conv", conv("encoder.conv_out", swish_of_norm("encoder.norm_out", x), padding=1))
    return [
        int("".join("1" if x[0, bit, i, j] > 0 else "0" for bit in range(bits)), 2)
        for i in range(height)
        for j in range(width)
    ]


def test_codes_are_those_of_the_description(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    folder = write_magvit(tmp_path / "magvit")
    pixels = torch.rand(1, 3, 64, 96, generator=torch.Generator().manual_seed(1)) * 2 - 1
    found = load_encoder(folder, CPU).codes(pixels)
    assert len(found) == 4 * 6 and len(set(found)) > 1 and max(found) < 8192
    assert found == literal_codes(load_file(folder / "pytorch_model.safetensors"), pixels, 13)


def test_the_published_size_has_the_published_number_of_weights() -> None:
    """The hub's file is 382 MB; its other half has 39,947,833 weights, the quantiser 8192 × 13 numbers."""
    with torch.device("meta"):
        encoder = Encoder(128, [128, 256, 256, 512, 512], [4, 3, 4, 3, 4], 13)
    own = sum(weight.numel() for weight in encoder.parameters())
    assert round(4 * (own + 39_947_833 + 8192 * 13) / 1e6) == 382
    names = set(encoder.state_dict())
    assert {"down.1.block.0.nin_shortcut.weight", "down.3.downsample.conv.bias", "mid.attn_1.proj_out.weight"} <= names
    assert not any(name.startswith("down.4.downsample") or "down.2.block.0.nin" in name for name in names)


def test_a_picture_becomes_a_square_of_values() -> None:
    image = Image.new("RGB", (40, 20), (255, 0, 0))
    pixels = as_pixels(image, 32)
    assert pixels.shape == (1, 3, 32, 32)
    assert torch.equal(pixels[0, 0], torch.ones(32, 32)) and torch.equal(pixels[0, 1], -torch.ones(32, 32))


@pytest.mark.parametrize("damage", ["gone", "rubbish", "other", "half"])
def test_broken_encoders_are_refused(damage: str, tmp_path: Path) -> None:
    folder = write_magvit(tmp_path / "magvit")
    file = folder / "pytorch_model.safetensors"
    if damage == "gone":
        file.unlink()
    elif damage == "rubbish":
        file.write_bytes(b"rubbish")
    elif damage == "other":
        save_file({"weight": torch.zeros(3)}, file)
    else:
        file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(dard.InputError, match="image encoder folder 'magvit'"):
        load_encoder(folder, CPU)
