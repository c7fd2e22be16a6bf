"""Vector figures for papers: the attention mask of a step and the score of a run, as SVG.

Text stays text, nothing is referenced from outside the file, and equal neighbours are merged so that a region of 256
positions stays small. What a figure shows is also its title, for those who cannot see it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from dard.state import InputError
from dard.trace import Trace
from visual.drawing.canvas import Box, Canvas, Point
from visual.drawing.mask import MASK_LEFT, MASK_TOP, MaskPlan, check_order, mask_legend, no_mask
from visual.drawing.moments import check_size, check_step, clean, cut, moments, title
from visual.drawing.score import Score, label, row_height
from visual.palette import Palette, get_palette

MOST_BYTES = 6_000_000
SANS_FAMILY = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MONO_FAMILY = "Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
MARGIN = 12


def score_svg(trace: Trace, theme: str = "light") -> str:
    """The score of a whole run: rows are positions, columns steps, colours states.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> svg = score_svg(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4))
    >>> svg.startswith("<svg ") and ">Diego</text>" in svg
    True
    """
    colours = get_palette(theme)
    check_size(trace)
    found = moments(trace)
    length = len(trace.start.tokens)
    row = row_height(length)
    sheet = Vector(colours.panel, "score")
    longest = max(sheet.measure(cut(label(trace, found[-1], i)[0], 30), 12, mono=True) for i in range(length))
    labels = 36 + longest
    columns = min(44 * (trace.num_steps + 0.5), 640)
    left = labels if row >= 10 else 30
    score = Score(trace, found, max(columns, 90) + left + 2, row, labels, lanes=False)
    score.draw(sheet, MARGIN, MARGIN, colours, None, None)
    width = max(score.width + 2 * MARGIN, 440)
    used = score_legend(sheet, MARGIN, MARGIN + score.height + 8, width - 2 * MARGIN, colours)
    height = MARGIN + score.height + 8 + used + MARGIN
    return sheet.finished(
        width, height, f"Score of {title(trace)}: the state of {length} positions over {trace.num_steps} steps"
    )


def mask_svg(trace: Trace, step: int, order: str = "state", theme: str = "light") -> str:
    """The attention mask of a step's forward pass: rows are queries, columns keys, x before s.

    `order` is "state" (grouped M, C, U with the paper's ①–⑥) or "position".

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> svg = mask_svg(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4), step=2)
    >>> "s queries" in svg and "viewBox" in svg
    True
    """
    colours = get_palette(theme)
    check_order(order)
    check_size(trace)
    check_step(trace, step)
    record = trace.steps[step - 1] if step else None
    sheet = Vector(colours.panel, f"mask-{step}-{order}")
    missing = no_mask(trace, record)
    if missing or record is None:
        sheet.text(MARGIN, 24, missing, 12, colours.ink)
        return sheet.finished(2 * MARGIN + sheet.measure(missing, 12) * 1.05, 48, missing)
    plan = MaskPlan(trace, record, order)
    cell = max(1.0, plan.cell(MASK_LEFT + 482))
    side = 2 * plan.length * cell
    plan.draw(sheet, MARGIN, MARGIN, cell, colours, None)
    width = max(MASK_LEFT + side, 372) + 2 * MARGIN
    used = mask_legend(sheet, MARGIN, MARGIN + MASK_TOP + side + 8, width - 2 * MARGIN, plan, cell, colours)
    height = MARGIN + MASK_TOP + side + 8 + used + MARGIN
    return sheet.finished(width, height, f"Attention mask of step {step} of {title(trace)}")


def score_legend(canvas: Canvas, x: float, y: float, width: float, colours: Palette) -> float:
    """States and events. Returns the height used."""
    entries = [("C", "candidate"), ("U", "unmasked"), ("never", "never decided"), ("again", "masked again")]
    entries += [(name, name) for name in ("promoted", "weakened", "demoted", "replaced", "accepted")]
    at, used = x, 0.0
    for kind, name in entries:
        wide = 20 + canvas.measure(name, 11)
        if at + wide > x + width:
            at, used = x, used + 17
        middle = y + used + 8
        if kind in "CU":
            canvas.rect((at, middle - 5, 16, 10), colours.state(kind), radius=2)
        elif kind == "never":
            canvas.line([(at, middle), (at + 16, middle)], colours.line2, 1, (2, 3))
        elif kind == "again":
            canvas.hatch((at, middle - 5, 16, 10), colours.demoted)
        elif kind == "replaced":
            canvas.diamond(at + 8, middle, 4.5, colours.replaced)
        else:
            canvas.mark(at + 8, middle, 9, kind, colours)
        canvas.text(at + 20, middle, name, 11, colours.ink2)
        at += wide + 12
    return used + 17


class Vector(Canvas):
    """Collects SVG elements. Text widths are estimated, so a figure is the same on every machine."""

    def __init__(self, background: str, name: str) -> None:
        self.background, self.name = background, name
        self.parts: list[str] = []
        self.definitions: list[str] = []

    def finished(self, width: float, height: float, name: str) -> str:
        size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={quoteattr(SANS_FAMILY)}>'
        shared = ["<defs>", *self.definitions, "</defs>"] if self.definitions else []
        page = f'<rect width="{number(width)}" height="{number(height)}" fill="{self.background}"/>'
        svg = "\n".join([head, f"<title>{escape(name)}</title>", *shared, page, *self.parts, "</svg>"]) + "\n"
        if len(svg) > MOST_BYTES:
            raise InputError(
                f"the figure would be {len(svg) // 1_000_000} MB; at most {MOST_BYTES // 1_000_000} MB are written"
            )
        return svg

    def rect(
        self,
        box: Box,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1,
        radius: float = 0,
        dash: tuple[float, float] | None = None,
    ) -> None:
        x, y, w, h = box
        if w <= 0 or h <= 0:
            return
        if outline:  # SVG strokes lie on the edge, ours inside the box
            x, y, w, h = x + width / 2, y + width / 2, max(0.1, w - width), max(0.1, h - width)
        corner = f' rx="{number(min(radius, w / 2, h / 2))}"' if radius else ""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
        self.parts.append(f"<rect {place}{corner}{paint(fill, outline, width, dash)}/>")

    def rects(self, boxes: Iterable[Box], fill: str) -> None:
        self.parts.append(f'<path d="{outlines(boxes)}" fill="{fill}"/>')

    def frames(self, boxes: Iterable[Box], colour: str, width: float = 1) -> None:
        inner = ((x + width / 2, y + width / 2, w - width, h - width) for x, y, w, h in boxes)
        self.parts.append(f'<path d="{outlines(inner)}"{paint(None, colour, width, None)}/>')

    def line(
        self, points: Sequence[Point], colour: str, width: float = 1, dash: tuple[float, float] | None = None
    ) -> None:
        self.parts.append(f'<path d="{corners(points)}"{paint(None, colour, width, dash)}/>')

    def polygon(self, points: Sequence[Point], fill: str | None, outline: str | None = None, width: float = 1) -> None:
        stroke = f' stroke="{outline}" stroke-width="{number(2 * width)}" paint-order="stroke"' if outline else ""
        self.parts.append(f'<path d="{corners(points)}z" fill="{fill or "none"}"{stroke}/>')

    def circle(self, x: float, y: float, radius: float, fill: str | None, outline: str | None = None) -> None:
        place = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        self.parts.append(f"<circle {place}{paint(fill, outline, 1, None)}/>")

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
        place = f'x="{number(x)}" y="{number(y + 0.355 * size)}"'
        if up:
            place = f'transform="translate({number(x + 0.355 * size)} {number(y)}) rotate(-90)"'
        style = f' font-size="{number(size)}" fill="{colour}"'
        style += ' font-weight="700"' if bold else ""
        style += f" font-family={quoteattr(MONO_FAMILY)}" if mono else ""
        style += {"l": "", "m": ' text-anchor="middle"', "r": ' text-anchor="end"'}[anchor]
        style += f' stroke="{halo}" stroke-width="2.8" paint-order="stroke"' if halo else ""
        self.parts.append(f"<text {place}{style}>{escape(clean(text))}</text>")

    def measure(self, text: str, size: float, bold: bool = False, mono: bool = False) -> float:
        return size * sum(advance(character, mono) for character in text) * (1.06 if bold and not mono else 1)

    def cells(
        self, x: float, y: float, size: float, seen: NDArray[np.bool_], colours: Sequence[str], blocked: str
    ) -> None:
        """Stripes in the columns' colours, then what is blocked on top. Most rows repeat but for their own token, so a
        row that occurs in several places is defined once and used again, and own tokens are put in separately."""
        n = len(colours)
        rows, own = np.arange(n), np.arange(n) % (n // 2)
        base = seen.copy()
        base[rows, own], base[rows, own + n // 2] = True, False
        group = [
            f'<g transform="translate({number(x)} {number(y)}) scale({number(size)})" shape-rendering="crispEdges">'
        ]
        for colour, first, last in stripes(colours):
            group.append(f'<path d="M{first} 0h{last - first}v{n}h{first - last}z" fill="{colour}"/>')
        places: dict[bytes, list[tuple[int, int]]] = {}
        for row in range(n):
            runs = places.setdefault(np.packbits(base[row]).tobytes(), [])
            if runs and runs[-1][1] == row:
                runs[-1] = (runs[-1][0], row + 1)
            else:
                runs.append((row, row + 1))
        for count, runs in enumerate(places.values()):
            gaps = stripes([bool(value) for value in base[runs[0][0]]])
            spans = [(first, last) for visible, first, last in gaps if not visible]
            if not spans:
                continue
            if len(runs) == 1:
                top, bottom = runs[0]
                group.append(f'<path d="{blocks(spans, top, bottom - top)}" fill="{blocked}"/>')
                continue
            name = f"{self.name}-{count}"
            self.definitions.append(f'<path id="{name}" d="{blocks(spans, 0, 1)}" fill="{blocked}"/>')
            for top, bottom in runs:
                group += [f'<use href="#{name}" y="{row}"/>' for row in range(top, bottom)]
        hidden = [(float(own[r]), float(r), 1.0, 1.0) for r in rows if not seen[r, own[r]]]
        if hidden:
            group.append(f'<path d="{outlines(hidden)}" fill="{blocked}"/>')
        for colour in sorted(set(colours)):
            shown = [int(r) for r in rows if seen[r, own[r] + n // 2] and colours[own[r] + n // 2] == colour]
            if shown:
                boxes = [(float(own[r] + n // 2), float(r), 1.0, 1.0) for r in shown]
                group.append(f'<path d="{outlines(boxes)}" fill="{colour}"/>')
        self.parts += [*group, "</g>"]


def number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def paint(fill: str | None, outline: str | None, width: float, dash: tuple[float, float] | None) -> str:
    text = f' fill="{fill or "none"}"'
    if outline:
        text += f' stroke="{outline}"' + (f' stroke-width="{number(width)}"' if width != 1 else "")
    return text + (f' stroke-dasharray="{number(dash[0])} {number(dash[1])}"' if dash else "")


def corners(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def outlines(boxes: Iterable[Box]) -> str:
    return "".join(f"M{number(x)} {number(y)}h{number(w)}v{number(h)}h-{number(w)}z" for x, y, w, h in boxes)


def blocks(spans: Iterable[tuple[int, int]], top: int, height: int) -> str:
    return "".join(f"M{first} {top}h{last - first}v{height}h{first - last}z" for first, last in spans)


def stripes(values: Sequence[object]) -> list[tuple[object, int, int]]:
    """Runs of equal neighbours: (value, first, one after the last).

    >>> stripes("aab")
    [('a', 0, 2), ('b', 2, 3)]
    """
    found: list[tuple[object, int, int]] = []
    for place, value in enumerate(values):
        if found and found[-1][0] == value:
            found[-1] = (value, found[-1][1], place + 1)
        else:
            found.append((value, place, place + 1))
    return found


def advance(character: str, mono: bool) -> float:
    """An estimate of a character's width in ems, near Helvetica's and Courier-like fonts'."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0 if not mono else 1.2
    if mono:
        return 0.602
    if character in "ijl.,:;|!'()[]tfrI ":
        return 0.29
    if character in "mwMW@%…—":
        return 0.88
    return 0.69 if character.isupper() else 0.56
