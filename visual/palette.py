"""The colours of every picture: the one Python source of the Okabe–Ito palette, light and dark.

Colour means state or event and nothing else; selection, playhead and weights are ink. Each state also has a letter, a
shape and its own grey, so that a picture survives a black-and-white printer. Nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from dard.state import InputError

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Palette:
    """Colours as "#RRGGBB". `fill` and `rest` are a chip's background up to its confidence and beyond it."""

    page: str
    panel: str
    sunk: str
    ink: str
    ink2: str
    ink3: str
    line: str
    line2: str
    bar: str
    masked: str
    candidate: str
    candidate_fill: str
    candidate_rest: str
    candidate_on: str
    unmasked: str
    unmasked_fill: str
    unmasked_rest: str
    unmasked_on: str
    promoted: str
    promoted_text: str
    demoted: str
    demoted_text: str
    replaced: str
    replaced_text: str

    def state(self, letter: str) -> str:
        """The colour of M, C or U."""
        return {"M": self.masked, "C": self.candidate, "U": self.unmasked}[letter]

    def on(self, letter: str) -> str:
        """Text on a solid area of that state."""
        return {"M": self.ink2, "C": self.candidate_on, "U": self.unmasked_on}[letter]

    def fill(self, letter: str) -> str:
        return {"M": self.panel, "C": self.candidate_fill, "U": self.unmasked_fill}[letter]

    def rest(self, letter: str) -> str:
        return {"M": self.panel, "C": self.candidate_rest, "U": self.unmasked_rest}[letter]

    def dimmed(self, share: float) -> Palette:
        """The same colours, faded into the panel: what lies after the end of the text."""
        return Palette(**{field.name: mix(getattr(self, field.name), self.panel, share) for field in fields(self)})


LIGHT = Palette(
    page="#F7F8F8", panel="#FFFFFF", sunk="#F1F3F4", ink="#1A1F24", ink2="#55606A", ink3="#6B7580",
    line="#E4E7EA", line2="#C9CFD5", bar="#C3CAD0", masked="#7F8993",
    candidate="#E69F00", candidate_fill="#F9D58A", candidate_rest="#FFF6E2", candidate_on="#1A1F24",
    unmasked="#0072B2", unmasked_fill="#A9D2EC", unmasked_rest="#EAF4FA", unmasked_on="#FFFFFF",
    promoted="#009E73", promoted_text="#00755A", demoted="#D55E00", demoted_text="#B04A00",
    replaced="#CC79A7", replaced_text="#9A3F74",
)  # fmt: skip

DARK = Palette(
    page="#0E1215", panel="#151A1F", sunk="#1B2127", ink="#E9EDF0", ink2="#A9B3BC", ink3="#7C8791",
    line="#262D34", line2="#3D4751", bar="#4C5761", masked="#7C8791",
    candidate="#C98700", candidate_fill="#6E4D08", candidate_rest="#2A220F", candidate_on="#10140F",
    unmasked="#8ACDF3", unmasked_fill="#1F5E84", unmasked_rest="#132734", unmasked_on="#0C1A24",
    promoted="#2FC79B", promoted_text="#4AD6AD", demoted="#FF7F33", demoted_text="#FF9656",
    replaced="#E59CC6", replaced_text="#EBB0D2",
)  # fmt: skip

THEMES: dict[str, Palette] = {"light": LIGHT, "dark": DARK}


def get_palette(theme: str) -> Palette:
    """The palette of a theme.

    >>> get_palette("light").unmasked
    '#0072B2'
    """
    if not isinstance(theme, str) or theme not in THEMES:
        raise InputError(f"theme = {str(theme)[:40]!r} is not allowed; theme must be 'light' or 'dark'")
    return THEMES[theme]


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@lru_cache(maxsize=4096)
def mix(colour: str, other: str, share: float) -> str:
    """`colour` with a share of 0…1 of itself left, the rest `other`: a solid stand-in for transparency.

    >>> mix("#000000", "#FFFFFF", 0.5)
    '#808080'
    """
    parts = (round(a * share + b * (1 - share)) for a, b in zip(rgb(colour), rgb(other), strict=True))
    return "#{:02X}{:02X}{:02X}".format(*parts)
