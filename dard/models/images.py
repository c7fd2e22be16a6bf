"""Opens pictures that come from anywhere. A broken, strange or huge file ends with one sentence, not with the program.

The size is checked before a single pixel is decoded, so a small file that unpacks to gigabytes is refused too.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from dard.core.errors import InputError

MEGAPIXELS_AT_MOST = 20
FITS = ("crop", "squeeze")
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")

ImageSource = bytes | str | Path | Image.Image


def open_image(source: ImageSource) -> Image.Image:
    """An RGB picture from the bytes of a file, the path of one, or a Pillow image."""
    try:
        if isinstance(source, Image.Image):
            image = source
        else:
            file = io.BytesIO(source) if isinstance(source, bytes) else source
            image = Image.open(file, formats=FORMATS)
        check_size(*image.size)
        return ImageOps.exif_transpose(image).convert("RGB")  # here the pixels are decoded
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"image is far above {MEGAPIXELS_AT_MOST} megapixels, the most that is allowed") from None
    except FileNotFoundError:
        raise InputError(f"there is no image file {str(source)[:100]!r}") from None
    except Exception:  # decoders of broken files raise whatever comes to hand
        raise InputError(f"image is broken or of an unknown kind; allowed are {', '.join(FORMATS)} files") from None


def check_size(width: int, height: int) -> None:
    if width * height > MEGAPIXELS_AT_MOST * 1_000_000:
        raise InputError(
            f"image of {width} × {height} pixels is {width * height / 1e6:.1f} megapixels large; "
            f"at most {MEGAPIXELS_AT_MOST} are allowed"
        )


def as_pixels(image: Image.Image, side: int, fit: str = "crop") -> Tensor:
    """A picture made square, as float32 [1, 3, side, side] from −1 to 1: its middle, or all of it, squeezed.

    >>> as_pixels(Image.new("RGB", (60, 40)), 8).shape
    torch.Size([1, 3, 8, 8])
    """
    if fit not in FITS:
        raise InputError(f"fit = {str(fit)[:40]!r} is not allowed; write {' or '.join(FITS)}")
    width, height = image.size
    scale = side / min(width, height)
    wide, high = (side, side) if fit == "squeeze" else (max(side, int(width * scale)), max(side, int(height * scale)))
    left, top = round((wide - side) / 2), round((high - side) / 2)
    square = image.resize((wide, high), Image.Resampling.BICUBIC).crop((left, top, left + side, top + side))
    values = torch.from_numpy(np.array(square, dtype=np.float32))
    return (values / 127.5 - 1).permute(2, 0, 1)[None].contiguous()
