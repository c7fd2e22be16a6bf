"""Running text with tokens in it, and the token grid."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dard.state import MASKED
from dard.trace import Trace
from visual.drawing.canvas import Box, Canvas
from visual.drawing.moments import Moment, block_starts, cut, word
from visual.drawing.score import symbol_text
from visual.palette import Palette

# A quoted token may itself hold quotation marks: it ends at the first one that something separates from the rest.
ATOM = re.compile(r"(?<![^\s(])'.{1,48}?'(?=[\s,;.:()]|$)|τ_[a-z]|[^\s']+|'")


@dataclass(frozen=True)
class Atom:
    """A piece of a paragraph that is not broken: a word, a quoted token, a symbol."""

    text: str
    kind: str  # word, token or symbol
    space: bool  # whether a blank stands before it
    width: float


def atoms(canvas: Canvas, text: str, size: float, room: float) -> list[Atom]:
    found = []
    for match in ATOM.finditer(text):
        piece, space = match.group(), match.start() > 0 and text[match.start() - 1].isspace()
        if piece[0] == "'" and len(piece) > 2:
            piece = canvas.fit(piece[1:-1], room - 8, size * 0.94, mono=True)
            found.append(Atom(piece, "token", space, canvas.measure(piece, size * 0.94, mono=True) + 6))
        elif piece.startswith("τ_"):
            wide = canvas.measure("τ", size) + canvas.measure(piece[2:], size * 0.8)
            found.append(Atom(piece, "symbol", space, wide))
        else:
            piece = canvas.fit(piece, room, size)
            found.append(Atom(piece, "word", space, canvas.measure(piece, size)))
    return found


def wrapped(canvas: Canvas, text: str, size: float, width: float, most: int) -> list[list[tuple[float, Atom]]]:
    """Lines of (x, atom), at most so many; the last ends in an ellipsis if there was more."""
    blank = canvas.measure("x x", size) - 2 * canvas.measure("x", size)
    lines: list[list[tuple[float, Atom]]] = [[]]
    at = 0.0
    for atom in atoms(canvas, text, size, width):
        gap = blank if atom.space and lines[-1] else 0.0
        if at + gap + atom.width > width and lines[-1]:
            if len(lines) == most:
                lines[-1].append((min(at, width - 10), Atom("…", "word", False, 10)))
                return lines
            lines.append([])
            at, gap = 0.0, 0.0
        lines[-1].append((at + gap, atom))
        at += gap + atom.width
    return lines


def paragraph(
    canvas: Canvas,
    x: float,
    y: float,
    text: str,
    size: float,
    width: float,
    most: int,
    colours: Palette,
    leading: float = 18,
) -> None:
    """Text from y downwards; quoted tokens in monospace on a sunk ground."""
    for row, line in enumerate(wrapped(canvas, text, size, width, most)):
        middle = y + (row + 0.5) * leading
        for at, atom in line:
            if atom.kind == "token":
                canvas.rect((x + at, middle - size * 0.68, atom.width, size * 1.36), colours.sunk, radius=3)
                canvas.text(x + at + 3, middle, atom.text, size * 0.94, colours.ink, mono=True)
            elif atom.kind == "symbol":
                symbol_text(canvas, x + at + atom.width / 2, middle, atom.text, size, colours.ink)
            else:
                canvas.text(x + at, middle, atom.text, size, colours.ink)


@dataclass(frozen=True)
class ChipStyle:
    height: float
    size: float
    least: float
    padding: float
    gap: float
    line_gap: float
    letters: int


LARGE = ChipStyle(44, 14, 74, 7, 4, 9, 24)
MEDIUM = ChipStyle(36, 12, 64, 6, 3, 8, 18)
COMPACT = ChipStyle(19, 11, 0, 4, 2, 3, 10)


class Grid:
    """Chips in reading order. A chip is as wide as the longest token its position ever holds: nothing moves."""

    def __init__(self, canvas: Canvas, trace: Trace, found: list[Moment], width: float) -> None:
        length = len(trace.start.tokens)
        self.trace, self.found = trace, found
        self.style = LARGE if length <= 20 else MEDIUM if length <= 64 else COMPACT
        self.starts = set(block_starts(trace))
        self.boxes: list[Box] = []
        style = self.style
        tokens: list[set[int]] = [set() for _ in range(length)]
        for moment in found:
            for i, token in enumerate(moment.tokens):
                tokens[i].add(token)
        widths: dict[int, float] = {}
        for token in set().union(*tokens):
            shown = "·" * 2 if token == trace.mask_id else cut(word(trace, token), style.letters)
            widths[token] = canvas.measure(shown, style.size, mono=True)
        x, y = 0.0, 0.0
        for i in range(length):
            wide = max(widths[token] for token in tokens[i]) + 2 * style.padding
            wide = max(wide, 22 if trace.fixed[i] else style.least)
            if i in self.starts and x:
                x += 8
            if x and x + wide > width:
                x, y = 0.0, y + style.height + style.line_gap
            self.boxes.append((x, y, min(wide, width), style.height))
            x += wide + style.gap
        self.height = y + style.height

    def draw(self, canvas: Canvas, x: float, y: float, moment: Moment, selected: int | None, colours: Palette) -> None:
        faded = colours.dimmed(0.5)
        order = [i for i in range(len(self.boxes)) if i != selected]
        for i in [*order, *([] if selected is None else [selected])]:  # its ring may touch the neighbours
            self.chip(canvas, x, y, moment, i, faded if i > moment.end else colours, i == selected)

    def changed(self, before: Moment, after: Moment) -> list[int]:
        """The chips that look different at two moments."""
        return [i for i in range(len(self.boxes)) if look(before, i) != look(after, i)]

    def redraw(self, canvas: Canvas, x: float, y: float, before: Moment, after: Moment, colours: Palette) -> None:
        """Turn a drawn moment into another. A chip's ground reaches to its neighbours, and no chip draws beyond it."""
        faded = colours.dimmed(0.5)
        over, under = (1, 2) if self.style is COMPACT else (7, 1)
        for i in self.changed(before, after):
            left, top, wide, tall = self.boxes[i]
            ground = (x + left, y + top - over, wide + self.style.gap, tall + over + under)
            canvas.rect(ground, colours.panel)
            self.chip(canvas, x, y, after, i, faded if i > after.end else colours, False)

    def chip(
        self, canvas: Canvas, x: float, y: float, moment: Moment, i: int, colours: Palette, selected: bool
    ) -> None:
        left, top, wide, tall = self.boxes[i]
        left, top = left + x, top + y
        style, compact = self.style, self.style is COMPACT
        letter, confidence = moment.states[i], min(1.0, max(0.0, moment.confidence[i]))
        revoked = moment.revoked.get(i, 0)
        if i in self.starts:
            edge = left - (style.gap + 8) / 2 if self.boxes[i][0] else left - 4
            canvas.line([(edge, top - 1), (edge, top + tall + 1)], colours.ink3, 1.2)
        line = top + (tall / 2 if compact else tall * 0.34)
        if self.trace.fixed[i]:
            text = canvas.fit(word(self.trace, moment.tokens[i]), wide - 4, style.size, mono=True)
            canvas.text(left + 4, line, text, style.size, colours.ink2, mono=True)
            if not compact:
                canvas.text(left + 4, top + tall * 0.74, str(i), 10, colours.ink3)
        else:
            radius = 3 if compact else 5
            if letter == MASKED:
                border = colours.line2 if compact else colours.masked
                canvas.rect((left, top, wide, tall), colours.panel, border, 1, radius, (3, 2))
            else:
                canvas.rect((left, top, wide, tall), colours.rest(letter), None, 1, radius)
                if confidence * wide >= 2:
                    canvas.rect((left, top, wide * confidence, tall), colours.fill(letter), None, 1, radius)
                    if radius < confidence * wide < wide - radius:  # the fill ends straight
                        cut_box = (left + wide * confidence - radius, top, radius, tall)
                        canvas.rect(cut_box, colours.fill(letter))
                canvas.rect((left, top, wide, tall), None, colours.state(letter), 1, radius)
            self._content(canvas, left, top, wide, line, moment, i, colours)
        if selected:
            off = 3 if compact else 4
            box = (left - off, top - off, wide + 2 * off, tall + 2 * off)
            canvas.rect(box, None, colours.ink, 2, 5 if compact else 8)
        if revoked:
            self._scar(canvas, left, top, wide, revoked, colours)

    def _content(
        self,
        canvas: Canvas,
        left: float,
        top: float,
        wide: float,
        line: float,
        moment: Moment,
        i: int,
        colours: Palette,
    ) -> None:
        style, compact, letter = self.style, self.style is COMPACT, moment.states[i]
        room = wide - 2 * style.padding + 1
        events = moment.events.get(i, [])
        if letter != MASKED:
            text = canvas.fit(cut(word(self.trace, moment.tokens[i]), style.letters), room, style.size, mono=True)
            canvas.text(left + style.padding, line, text, style.size, colours.ink, mono=True)
        elif i in moment.ghosts:
            text = canvas.fit(cut(word(self.trace, moment.ghosts[i]), style.letters), room, style.size, mono=True)
            canvas.text(left + style.padding, line, text, style.size, colours.ink3, mono=True)
            end = left + style.padding + canvas.measure(text, style.size, mono=True)
            canvas.line([(left + style.padding, line), (end, line)], colours.demoted, 1.5)
        elif compact:
            canvas.text(left + wide / 2, line, "·", style.size, colours.ink3, mono=True, anchor="m")
        else:
            canvas.text(left + style.padding, line, "· · ·", style.size, colours.ink3, mono=True)
        if compact:
            for k, event in enumerate(events[-1:]):
                canvas.mark(left + wide - 4 - 8 * k, top + style.height - 1.5, 6, event, colours, colours.panel)
            return
        low = top + style.height * 0.72
        canvas.badge(left + style.padding + 6, low, 12, letter, colours)
        number = two(moment.confidence[i]) if moment.confidence[i] else ""  # 0: not looked at yet
        dim = colours.ink2 if letter == MASKED else colours.ink
        canvas.text(left + style.padding + 15, low, number, 11 if style is LARGE else 10.5, dim)
        for k, event in enumerate(reversed(events)):
            canvas.mark(left + wide - 9 - 12 * k, low, 9, event, colours)

    def _scar(self, canvas: Canvas, left: float, top: float, wide: float, revoked: int, colours: Palette) -> None:
        if self.style is COMPACT:
            corner = [(left + wide - 5, top - 1), (left + wide + 1, top - 1), (left + wide + 1, top + 5)]
            canvas.polygon(corner, colours.demoted)
            return
        text = f"×{revoked}"
        badge = canvas.measure(text, 9.5, bold=True) + 7
        canvas.zigzag(left + 5, top, max(6, wide - badge - 10), colours.demoted)
        canvas.rect((left + wide - badge + 2, top - 6, badge, 13), colours.demoted_text, radius=3)
        canvas.text(left + wide - badge / 2 + 2, top + 0.5, text, 9.5, colours.panel, bold=True, anchor="m")


def look(moment: Moment, i: int) -> tuple[object, ...]:
    """All that a chip shows."""
    shown = (moment.tokens[i], moment.states[i], moment.confidence[i], moment.ghosts.get(i), moment.revoked.get(i))
    return (*shown, moment.events.get(i), i > moment.end)


def two(value: float) -> str:
    """Two decimals without the leading zero.

    >>> two(0.574), two(0.999), two(0.004)
    ('.57', '1.0', '<.01')
    """
    return "1.0" if value >= 0.995 else "<.01" if value < 0.005 else f"{value:.2f}"[1:]
