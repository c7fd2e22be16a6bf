"""Pictures from anywhere: what is read, and one sentence for everything else."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

import dard
from dard.models.images import open_image


def file_of(kind: str, size: tuple[int, int] = (30, 20)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, (10, 200, 30)).save(file, kind)
    return file.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be as large as it likes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def refused(source: object) -> str:
    with pytest.raises(dard.InputError) as caught:
        open_image(source)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_common_kinds_are_read(kind: str, tmp_path: Path) -> None:
    assert open_image(file_of(kind)).size == (30, 20)
    (tmp_path / "picture").write_bytes(file_of(kind))
    assert open_image(tmp_path / "picture").mode == open_image(str(tmp_path / "picture")).mode == "RGB"


def test_a_pillow_image_is_taken_and_transparency_dropped() -> None:
    assert open_image(Image.new("RGBA", (3, 4))).mode == "RGB"


@pytest.mark.parametrize("content", [b"", b"not a picture", file_of("PNG")[:60], file_of("JPEG")[:300], bomb(50, 50)])
def test_a_broken_picture(content: bytes) -> None:
    assert refused(content) == "image is broken or of an unknown kind; allowed are PNG, JPEG, WEBP, GIF, BMP files"


def test_other_kinds_are_not_opened() -> None:
    assert "unknown kind" in refused(file_of("TIFF"))


def test_a_picture_that_is_too_large_is_refused_before_it_is_decoded() -> None:
    assert refused(bomb(5000, 4001)) == ("image of 5000 × 4001 pixels is 20.0 megapixels large; at most 20 are allowed")
    assert "at most 20 are allowed" in refused(Image.new("L", (5000, 4001)))
    assert open_image(Image.new("L", (5000, 4000))).size == (5000, 4000)


def test_a_bomb_is_refused() -> None:
    assert refused(bomb(60_000, 60_000)) == "image is far above 20 megapixels, the most that is allowed"


def test_a_file_that_is_not_there() -> None:
    assert refused("no/such/picture.png") == "there is no image file 'no/such/picture.png'"
