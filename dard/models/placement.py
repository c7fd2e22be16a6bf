"""Where weights go and in which precision: the loading options a user can give, checked.

Promises one sentence for every option that cannot be honoured here. Knows nothing of any model family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from dard.core.errors import InputError
from dard.core.extras import has, need
from dard.models.progress import Tell

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
BITS = (4, 8)


@dataclass(frozen=True)
class Placement:
    """`device_map` spreads a model over several devices; `quantise` is the bits of a weight, None for all of them;
    `tell` hears how far loading is."""

    device: torch.device
    dtype: torch.dtype
    device_map: Any = None
    quantise: int | None = None
    tell: Tell | None = None

    def arguments(self) -> dict[str, Any]:
        """What `from_pretrained` is told."""
        told: dict[str, Any] = {"dtype": self.dtype}
        if self.device_map is not None:
            told["device_map"] = self.device_map
        elif self.straight or self.quantise:
            told["device_map"] = {"": str(self.device)}
        if self.quantise:
            told["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=self.quantise == 4,
                load_in_8bit=self.quantise == 8,
                bnb_4bit_compute_dtype=self.dtype,
                bnb_4bit_quant_type="nf4",
            )
        return told

    @property
    def straight(self) -> bool:
        """Whether weights are read straight into the memory of a device. That takes accelerate; without it they pass
        through the main memory, where there must be room for them, too."""
        return self.device.type != "cpu" and has("accelerate")

    @property
    def moves(self) -> bool:
        """Whether the loaded network still has to be moved to the device; transformers places the others itself."""
        return self.device_map is None and not self.quantise and not self.straight

    def bytes_for(self, weights: int) -> int:
        """Bytes that many weights take."""
        return weights * (self.quantise or 8 * self.dtype.itemsize) // 8


def read_placement(
    device: str | None = None, dtype: str | None = None, device_map: Any = None, quantise: int | None = None
) -> Placement:
    """The options of `load_model`. Without any: float32 on the CPU, bfloat16 on the first GPU.

    >>> read_placement(dtype="float16").dtype
    torch.float16
    """
    if device_map is not None and device is not None:
        raise InputError(f"device = {device!r} and device_map = {device_map!r} exclude each other; give one of them")
    if device_map is not None and not isinstance(device_map, str | dict):
        raise InputError(f"device_map = {device_map!r} is not allowed; write 'auto', 'balanced' or a dictionary")
    target = read_device(device)
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"dtype = {str(dtype)[:40]!r} is not allowed; write float32, bfloat16 or float16")
    precision = DTYPES[dtype] if dtype else (torch.float32 if target.type == "cpu" else torch.bfloat16)
    if quantise is not None and (quantise not in BITS or isinstance(quantise, bool)):
        raise InputError(f"quantise = {quantise!r} is not allowed; write 4 or 8 (bits), or nothing")
    if quantise is not None:
        need(f"quantise = {quantise}", "large", "bitsandbytes", "accelerate")
    if device_map is not None:
        need(f"device_map = {device_map!r}", "large", "accelerate")
    return Placement(target, precision, device_map, quantise)


def read_device(device: str | None) -> torch.device:
    cards = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    offered = ["cpu", *cards, *(["mps"] if torch.backends.mps.is_available() else [])]
    if device is None:
        return torch.device("cuda" if cards else "cpu")
    wanted = "cuda:0" if device == "cuda" else device
    if wanted not in offered:
        raise InputError(f"device = {str(device)[:40]!r} is not allowed; this machine offers {', '.join(offered)}")
    return torch.device(device)
