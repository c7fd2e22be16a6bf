"""A sheet to draw on, in logical pixels, and the shapes of the visual language (badges, marks, scars).

`Canvas` says which strokes there are; `Raster` makes them with Pillow, `visual.vector.Vector` as SVG. A picture drawn
on one looks the same on the other.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from dard.state import InputError
from visual.drawing.fonts import runs, stamp, stretch
from visual.palette import Palette, rgb

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x, y, width, height
MOST_PIXELS = 16_000_000
SMOOTH = 2  # shapes are drawn so many times larger, then averaged


class Canvas(ABC):
    """Strokes in logical pixels; y grows downwards, text stands with its middle at y."""

    @abstractmethod
    def rect(
        self,
        box: Box,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1,
        radius: float = 0,
        dash: tuple[float, float] | None = None,
    ) -> None:
        """A rectangle; the outline lies inside the box."""

    @abstractmethod
    def rects(self, boxes: Iterable[Box], fill: str) -> None:
        """Many rectangles of one colour."""

    @abstractmethod
    def frames(self, boxes: Iterable[Box], colour: str, width: float = 1) -> None:
        """Many hollow rectangles of one colour."""

    @abstractmethod
    def line(
        self, points: Sequence[Point], colour: str, width: float = 1, dash: tuple[float, float] | None = None
    ) -> None: ...

    @abstractmethod
    def polygon(
        self, points: Sequence[Point], fill: str | None, outline: str | None = None, width: float = 1
    ) -> None: ...

    @abstractmethod
    def circle(self, x: float, y: float, radius: float, fill: str | None, outline: str | None = None) -> None: ...

    @abstractmethod
    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: str,
        bold: bool = False,
        mono: bool = False,
        anchor: str = "l",
        halo: str | None = None,
        up: bool = False,
    ) -> None:
        """`anchor` is l, m or r; `halo` is drawn around the letters; `up` turns the text to read upwards."""

    @abstractmethod
    def measure(self, text: str, size: float, bold: bool = False, mono: bool = False) -> float:
        """How wide a text will be."""

    @abstractmethod
    def cells(
        self, x: float, y: float, size: float, seen: NDArray[np.bool_], colours: Sequence[str], blocked: str
    ) -> None:
        """A square matrix: column j has its colour where `seen`, and `blocked` elsewhere. Rows r and L + r are the two
        queries of one position."""

    def fit(self, text: str, width: float, size: float, bold: bool = False, mono: bool = False) -> str:
        """As much of a text as fits, with an ellipsis where it was cut; empty if not even one letter does."""
        if self.measure(text, size, bold, mono) <= width:
            return text
        low, high = 0, min(len(text), 2000)
        while low < high:
            middle = (low + high + 1) // 2
            if self.measure(text[:middle] + "…", size, bold, mono) <= width:
                low = middle
            else:
                high = middle - 1
        return text[:low].rstrip() + "…" if low else ""

    # The visual language.

    def badge(self, x: float, y: float, size: float, letter: str, colours: Palette) -> None:
        """A state around (x, y): colour, shape and letter."""
        half = size / 2
        if letter == "M":
            self.rect(
                (x - half + 0.5, y - half + 0.5, size - 1, size - 1), colours.panel, colours.masked, 1.2, 1.5, (2, 1.6)
            )
        elif letter == "C":
            self.diamond(x, y, half + 1.2, colours.candidate)
        else:
            self.circle(x, y, half, colours.unmasked)
        self.text(x, y, letter, size * 0.68, colours.on(letter), bold=True, anchor="m")

    def diamond(self, x: float, y: float, r: float, fill: str, outline: str | None = None) -> None:
        self.polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], fill, outline)

    def mark(self, x: float, y: float, size: float, event: str, colours: Palette, halo: str | None = None) -> None:
        """An event around (x, y)."""
        r = size / 2
        if event == "promoted":
            self.polygon([(x, y - r * 0.9), (x + r, y + r * 0.8), (x - r, y + r * 0.8)], colours.promoted, halo, 1)
        elif event == "demoted":
            self.polygon([(x - r, y - r * 0.8), (x + r, y - r * 0.8), (x, y + r * 0.9)], colours.demoted, halo, 1)
        elif event == "weakened":
            hollow = [
                (x - r * 0.9, y - r * 0.7),
                (x + r * 0.9, y - r * 0.7),
                (x, y + r * 0.8),
                (x - r * 0.9, y - r * 0.7),
            ]
            self.polygon(hollow[:3], halo or colours.panel)
            self.line([*hollow, hollow[1]], colours.demoted, max(1, size * 0.14))
        elif event == "replaced":
            for way, dy in ((1, -0.42), (-1, 0.42)):
                yy = y + dy * r
                self.line([(x - r * way, yy), (x + r * 0.3 * way, yy)], colours.replaced, max(1, size * 0.16))
                tip = [(x + r * 0.1 * way, yy - r * 0.45), (x + r * way, yy), (x + r * 0.1 * way, yy + r * 0.45)]
                self.polygon(tip, colours.replaced)
        elif event == "accepted":
            hook = [(x - r * 0.9, y), (x - r * 0.25, y + r * 0.65), (x + r * 0.9, y - r * 0.65)]
            if halo:
                self.circle(x, y, r * 1.25, halo)
            self.line(hook, colours.ink2, max(1.2, size * 0.18))
        else:
            self.rect((x - r * 0.6, y - r * 0.6, r * 1.2, r * 1.2), colours.ink)

    def numbered(self, x: float, y: float, number: int, colours: Palette) -> None:
        """A circled number."""
        self.circle(x, y, 6.5, None, colours.ink)
        self.text(x, y, str(number), 9.5, colours.ink, bold=True, anchor="m")

    def zigzag(self, x: float, y: float, width: float, colour: str) -> None:
        count = max(2, int(width / 3))
        self.line([(x + 3 * k, y + (1.5 if k % 2 else -1.5)) for k in range(count + 1)], colour, 1.3)

    def hatch(self, box: Box, colour: str, gap: float = 5) -> None:
        """Slanted lines inside a box, and its outline: masked again."""
        x, y, w, h = box
        start = x - h
        while start < x + w:
            left, right = max(start, x), min(start + h, x + w)
            if right > left:
                self.line([(left, y + h - (left - start)), (right, y + h - (right - start))], colour, 1)
            start += gap
        self.rect(box, None, colour, 1)


class Raster(Canvas):
    """A Pillow image of `width` × `height` logical pixels, `scale` device pixels each."""

    def __init__(self, width: float, height: float, background: str, scale: int = 2) -> None:
        self.size = (round(width * scale), round(height * scale))
        if self.size[0] * self.size[1] > MOST_PIXELS:
            raise InputError(
                f"the picture would be {self.size[0]} × {self.size[1]} pixels; at most "
                f"{MOST_PIXELS // 1_000_000} million pixels are drawn, so choose a smaller scale or width"
            )
        self.k = scale * SMOOTH
        self.image = Image.new("RGB", (self.size[0] * SMOOTH, self.size[1] * SMOOTH), background)
        self.draw = ImageDraw.Draw(self.image)

    def finished(self) -> Image.Image:
        return self.image.reduce(SMOOTH)

    def png(self, description: str) -> bytes:
        """The file's bytes; the description goes along for those who cannot see the picture."""
        file, notes = io.BytesIO(), PngInfo()
        notes.add_itxt("Description", description)
        self.finished().save(file, "PNG", pnginfo=notes)
        return file.getvalue()

    def _edges(self, box: Box) -> tuple[int, int, int, int]:
        """Device pixels, the last ones included; never empty."""
        x, y, w, h = box
        left, top = round(x * self.k), round(y * self.k)
        return left, top, max(left, round((x + w) * self.k) - 1), max(top, round((y + h) * self.k) - 1)

    def rect(
        self,
        box: Box,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1,
        radius: float = 0,
        dash: tuple[float, float] | None = None,
    ) -> None:
        if box[2] <= 0 or box[3] <= 0:
            return
        edges, thick = self._edges(box), max(1, round(width * self.k))
        round_by = min(radius, box[2] / 2, box[3] / 2) * self.k
        solid = None if dash else outline
        if fill or solid:  # with neither, Pillow would draw an outline of its own
            self.draw.rounded_rectangle(edges, round_by, fill, solid, thick if solid else 0)
        if dash and outline:
            x, y, w, h = box
            e = width / 2
            for a, b in (
                ((x + radius, y + e), (x + w - radius, y + e)),
                ((x + radius, y + h - e), (x + w - radius, y + h - e)),
                ((x + e, y + radius), (x + e, y + h - radius)),
                ((x + w - e, y + radius), (x + w - e, y + h - radius)),
            ):
                self.line([a, b], outline, width, dash)

    def rects(self, boxes: Iterable[Box], fill: str) -> None:
        for box in boxes:
            self.draw.rectangle(self._edges(box), fill)

    def frames(self, boxes: Iterable[Box], colour: str, width: float = 1) -> None:
        for box in boxes:
            self.draw.rectangle(self._edges(box), None, colour, max(1, round(width * self.k)))

    def line(
        self, points: Sequence[Point], colour: str, width: float = 1, dash: tuple[float, float] | None = None
    ) -> None:
        for (x0, y0), (x1, y1) in dashes(points, dash) if dash else pairwise(points):
            if x0 == x1 or y0 == y1:
                half = width / 2
                left, top = min(x0, x1) - half * (x0 == x1), min(y0, y1) - half * (y0 == y1)
                self.draw.rectangle(
                    self._edges((left, top, max(abs(x1 - x0), width), max(abs(y1 - y0), width))), colour
                )
            else:
                ends = [(x0 * self.k, y0 * self.k), (x1 * self.k, y1 * self.k)]
                self.draw.line(ends, colour, max(1, round(width * self.k)))

    def polygon(self, points: Sequence[Point], fill: str | None, outline: str | None = None, width: float = 1) -> None:
        corners = [(x * self.k, y * self.k) for x, y in points]
        if outline:
            self.draw.line([*corners, *corners[:2]], outline, max(1, round(2 * width * self.k)), joint="curve")
        if fill:
            self.draw.polygon(corners, fill)

    def circle(self, x: float, y: float, radius: float, fill: str | None, outline: str | None = None) -> None:
        edges = tuple(round(value * self.k) for value in (x - radius, y - radius, x + radius, y + radius))
        self.draw.ellipse(edges, fill, outline, self.k if outline else 0)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: str,
        bold: bool = False,
        mono: bool = False,
        anchor: str = "l",
        halo: str | None = None,
        up: bool = False,
    ) -> None:
        if not text:
            return
        pixels = max(1, round(size * self.k))
        wide, letters = stamp(text, pixels, bold, mono)
        shift = wide * {"l": 0, "m": 0.5, "r": 1}[anchor]
        if up:
            turned = letters.transpose(Image.Transpose.ROTATE_90)
            corner = (round(x * self.k) - turned.width // 2, round(y * self.k + shift) - turned.height + pixels // 2)
            self.image.paste(rgb(colour), corner, turned)
            return
        left, base = round(x * self.k - shift), round((y + 0.355 * size) * self.k)
        if halo:
            pen, stroke = float(left), round(1.4 * self.k)
            for font, part in runs(text, pixels, bold, mono):
                self.draw.text((round(pen), base), part, halo, font, "ls", stroke_width=stroke, stroke_fill=halo)
                pen += font.getlength(part)
        self.image.paste(rgb(colour), (left - pixels // 2, base - pixels * 5 // 4), letters)

    def measure(self, text: str, size: float, bold: bool = False, mono: bool = False) -> float:
        return stretch(text, max(1, round(size * self.k)), bold, mono) / self.k

    def cells(
        self, x: float, y: float, size: float, seen: NDArray[np.bool_], colours: Sequence[str], blocked: str
    ) -> None:
        columns = np.array([rgb(colour) for colour in colours], dtype=np.uint8)
        pixels = np.where(seen[:, :, None], columns[None], np.array(rgb(blocked), dtype=np.uint8))
        side = round(size * len(colours) * self.k)
        image = Image.fromarray(pixels).resize((side, side), Image.Resampling.NEAREST)
        self.image.paste(image, (round(x * self.k), round(y * self.k)))


def dashes(points: Sequence[Point], dash: tuple[float, float]) -> Iterator[tuple[Point, Point]]:
    """A line cut into dashes."""
    on, off = dash
    for (x0, y0), (x1, y1) in pairwise(points):
        length = float(np.hypot(x1 - x0, y1 - y0))
        at = 0.0
        while at < length:
            a, b = at / length, min(1.0, (at + on) / length)
            yield (x0 + (x1 - x0) * a, y0 + (y1 - y0) * a), (x0 + (x1 - x0) * b, y0 + (y1 - y0) * b)
            at += on + off
