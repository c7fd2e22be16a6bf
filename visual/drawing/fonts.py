"""Fonts and letters: whatever the machine has, with Pillow's embedded font as the last resort.

A character that no font has is spelled ("tau" for τ) or shown as an empty box. Sizes are device pixels.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

SANS = ("LiberationSans-Regular.ttf", "Arial.ttf", "arial.ttf", "DejaVuSans.ttf", "NotoSans-Regular.ttf")
SANS_BOLD = ("LiberationSans-Bold.ttf", "Arial Bold.ttf", "arialbd.ttf", "DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf")
MONO = ("LiberationMono-Regular.ttf", "Menlo.ttc", "consola.ttf", "DejaVuSansMono.ttf", "NotoSansMono-Regular.ttf")
MONO_BOLD = ("LiberationMono-Bold.ttf", "consolab.ttf", "DejaVuSansMono-Bold.ttf", "NotoSansMono-Bold.ttf")
OTHER_SCRIPTS = (
    "DejaVuSans.ttf", "NotoSansCJK-Regular.ttc", "wqy-zenhei.ttc", "PingFang.ttc", "msyh.ttc", "NotoEmoji-Regular.ttf",
)  # fmt: skip
SPELLED = {
    "τ": "tau", "λ": "lambda", "γ": "gamma", "μ": "mu", "₀": "0", "×": "x", "·": ".", "…": "...", "–": "-", "—": "-",
    "↵": "\\n", "␣": "_", "→": "->", "≤": "<=", "≥": ">=", "▁": "_", "Ġ": "_",
}  # fmt: skip


def load_font(name: str, size: int) -> ImageFont.FreeTypeFont | None:
    try:
        return ImageFont.truetype(name, size, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return None


@lru_cache(maxsize=8)
def chain(bold: bool, mono: bool) -> tuple[str, ...]:
    """The fonts of this machine to look for a character in, best first; "" is Pillow's embedded one."""
    first = (MONO_BOLD if bold else MONO) if mono else (SANS_BOLD if bold else SANS)
    found = next(([name] for name in first if load_font(name, 12)), [])
    return (*found, *(name for name in OTHER_SCRIPTS if name not in found and load_font(name, 12)), "")


@lru_cache(maxsize=400)
def font_at(name: str, size: int) -> ImageFont.FreeTypeFont:
    font = load_font(name, size) if name else None
    return font or ImageFont.load_default(size)  # type: ignore[return-value]


@lru_cache(maxsize=20_000)
def has(name: str, character: str) -> bool:
    """Whether a font has a character: it then draws something else than for a code that is none."""
    font = font_at(name, 24)
    drawn, missing = font.getmask(character), font.getmask("\ufffe")
    return drawn.size != missing.size or bytes(drawn) != bytes(missing)


@lru_cache(maxsize=20_000)
def home(character: str, bold: bool, mono: bool) -> tuple[str, str]:
    """The font to draw a character with, and what to draw in its place if there is none."""
    fonts = chain(bold, mono)
    if character == " ":
        return fonts[0], character
    for name in fonts:
        if has(name, character):
            return name, character
    if character in SPELLED:
        return fonts[0], SPELLED[character]
    plain = unicodedata.normalize("NFKD", character)[0]
    if plain != character and any(has(name, plain) for name in fonts):
        return home(plain, bold, mono)
    return fonts[0], "" if unicodedata.combining(character) else character


@lru_cache(maxsize=5_000)
def runs(text: str, size: int, bold: bool, mono: bool) -> tuple[tuple[ImageFont.FreeTypeFont, str], ...]:
    """A text cut into pieces that each have one font."""
    parts: list[list[str]] = []
    for character in text[:4000]:
        name, shown = home(character, bold, mono)
        if parts and parts[-1][0] == name:
            parts[-1][1] += shown
        else:
            parts.append([name, shown])
    return tuple((font_at(name, max(1, size)), part) for name, part in parts)


@lru_cache(maxsize=20_000)
def stretch(text: str, size: int, bold: bool, mono: bool) -> float:
    """The width of a text."""
    return float(sum(font.getlength(part) for font, part in runs(text, size, bold, mono)))


@lru_cache(maxsize=2_000)
def stamp(text: str, size: int, bold: bool, mono: bool) -> tuple[float, Image.Image]:
    """A text's width and its letters as a mask, half a size in from the left, baseline at five quarters. The same words
    come again and again in an animation, and drawing letters is its most expensive part."""
    wide = stretch(text, size, bold, mono)
    letters = Image.new("L", (int(wide) + size + 2, size * 7 // 4), 0)
    draw = ImageDraw.Draw(letters)
    pen = float(size // 2)
    for font, part in runs(text, size, bold, mono):
        draw.text((round(pen), size * 5 // 4), part, 255, font, "ls")
        pen += font.getlength(part)
    return wide, letters
