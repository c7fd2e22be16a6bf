"""The token grid and the inspector of one token, drawn on a canvas."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dard.state import CANDIDATE, MASKED, UNMASKED
from dard.trace import Step, Trace
from visual.canvas import Box, Canvas
from visual.drawing import symbol_text, threshold_lines
from visual.moments import Moment, block_starts, cut, sentence, thresholds, word
from visual.palette import Palette, mix

ATOM = re.compile(r"'[^']{1,48}'|τ_[a-z]|[^\s']+|'")
PATHS: tuple[tuple[Literal["x", "s", "mix"], str], ...] = (("x", "x path"), ("s", "s path"), ("mix", "mix"))
TOP_ROWS = 5


# Paragraphs.


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


# The token grid.


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
        over, under = (1, 2) if self.style is COMPACT else (7, 1)
        for i in self.changed(before, after):
            left, top, wide, tall = self.boxes[i]
            ground = (x + left, y + top - over, wide + self.style.gap, tall + over + under)
            canvas.rect(ground, colours.panel)
            self.chip(canvas, x, y, after, i, colours.dimmed(0.5) if i > after.end else colours, False)

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


# The inspector.


class Inspector:
    """One token at one step: its sentence, the predictions, what it could see, its life."""

    HEAD, LEADING, SENTENCE = 30, 18, 12.5

    def __init__(
        self, canvas: Canvas, trace: Trace, found: list[Moment], now: int, position: int, width: float
    ) -> None:
        self.trace, self.found, self.now, self.i, self.width = trace, found, found[now], position, width
        self.text = sentence(trace, self.now.step, position)
        self.lines = max(3, len(wrapped(canvas, self.text, self.SENTENCE, width, 8)))
        self.height = self.HEAD + self.lines * self.LEADING + 8 + 134 + 70 + 160

    def draw(self, canvas: Canvas, x: float, y: float, height: float, colours: Palette) -> None:
        """A height above its own is given to the life line."""
        now, i = self.now, self.i
        at = x
        letter, given = now.states[i], self.trace.fixed[i]
        if not given:
            canvas.badge(x + 9, y + 12, 16, letter, colours)
            at = x + 25
        text = "[MASK]" if letter == MASKED else word(self.trace, now.tokens[i])
        place = f"position {i}"
        room = x + self.width - at - canvas.measure(place, 11) - 92
        shown = canvas.fit(text, room, 17, True, True)
        canvas.text(at, y + 12, shown, 17, colours.ink, True, True)
        end = at + canvas.measure(shown, 17, True, True) + 10
        if now.revoked.get(i):
            canvas.text(end, y + 13, f"revoked ×{now.revoked[i]}", 11, colours.demoted_text)
        elif given:
            canvas.text(end, y + 13, "given", 11, colours.ink2)
        canvas.text(x + self.width, y + 12, place, 11, colours.ink2, anchor="r")
        paragraph(canvas, x, y + self.HEAD, self.text, self.SENTENCE, self.width, 8, colours, self.LEADING)
        below = y + self.HEAD + self.lines * self.LEADING + 8
        self._predictions(canvas, x, below, colours)
        self._context(canvas, x, below + 134, colours)
        self._life(canvas, x, below + 204, min(220.0, 110 + max(0.0, height - self.height)), colours)

    def _section(self, canvas: Canvas, x: float, y: float, name: str, left: str, right: str, colours: Palette) -> None:
        canvas.text(x, y + 7, name, 11, colours.ink, bold=True)
        canvas.text(x + canvas.measure(name, 11, bold=True) + 6, y + 7, left, 11, colours.ink2)
        canvas.text(x + self.width, y + 7, right, 11, colours.ink2, anchor="r")

    def _predictions(self, canvas: Canvas, x: float, y: float, colours: Palette) -> None:
        step, i = self.now.step, self.i
        tables = {path: step.top[path].at(i) if step and path in step.top else [] for path, _ in PATHS}
        used = [path for path, _ in PATHS if tables[path]]
        deciding = ("mix" if "mix" in used else used[-1]) if used else None
        if step and step.states_before[i] != MASKED and "s" in used:
            deciding = "s"
        reasons = {
            "mix": "the mix decides (was masked)",
            "s": "the shadow decides (was decided)",
            "x": "the x path decides",
        }
        note = reasons[deciding] if deciding else "given: not predicted" if self.trace.fixed[i] else "none recorded"
        self._section(canvas, x, y, "Predictions", f"top {TOP_ROWS}", note, colours)
        labels, gap, row, head = 78.0, 11.0, 16.0, 27.0
        column = (self.width - labels - 2 * gap - 3) / 3
        top = y + 18
        rows = [token for token, _ in tables[deciding][:TOP_ROWS]] if deciding else []
        for k, (path, name) in enumerate(PATHS):
            left = x + labels + k * (column + gap)
            decides = path == deciding
            ground = colours.sunk if decides else colours.panel
            if decides:
                canvas.rect((left - 4, top - 1, column + 7, head + row * TOP_ROWS + 4), colours.sunk, radius=4)
            weight = step.weights[i] if step and path == "mix" and decides else None
            shown = name if weight is None else f"{name}  w {weight:.2f}"
            canvas.text(left, top + 7, shown, 11, colours.ink if decides else colours.ink2, bold=decides)
            base = top + head
            canvas.line([(left + 0.5, base - 1), (left + 0.5, base + row * TOP_ROWS)], colours.line2)
            if not tables[path]:
                canvas.text(left + column / 2, base + row * 2.5, "not used", 11, colours.ink3, anchor="m")
                continue
            threshold_lines(canvas, self.trace, left, column, base - 1, row * TOP_ROWS + 1, colours)
            found = dict(tables[path])
            for r, token in enumerate(rows):
                if token in found:
                    first = decides and r == 0 and self.now.states[i] != MASKED
                    fill = colours.state(self.now.states[i]) if first else colours.bar
                    self._bar(canvas, left, base + r * row, column, found[token], fill, ground, first, colours)
        for r, token in enumerate(rows):
            shown = canvas.fit(word(self.trace, token), labels - 8, 12, r == 0, True)
            colour = colours.ink if r == 0 else colours.ink2
            canvas.text(x + labels - 7, top + head + (r + 0.5) * row, shown, 12, colour, r == 0, True, "r")

    def _bar(
        self,
        canvas: Canvas,
        left: float,
        y: float,
        column: float,
        p: float,
        fill: str,
        ground: str,
        first: bool,
        colours: Palette,
    ) -> None:
        wide = max(1.0, p * column)
        canvas.rect((left + 1, y + 2, wide, 11), fill, radius=1)
        if p > 0.6:
            colour = colours.on(self.now.states[self.i]) if first else colours.ink
            canvas.text(left + wide - 3, y + 8, two(p), 10.5, colour, first, anchor="r")
        else:
            canvas.text(left + wide + 4, y + 8, two(p), 10.5, colours.ink, first, halo=ground)

    def _context(self, canvas: Canvas, x: float, y: float, colours: Palette) -> None:
        """What the two queries of this token saw in the forward pass of the step."""
        self._section(canvas, x, y, "Visible context", "", "filled: sees the token · dashed: its mask", colours)
        step, i = self.now.step, self.i
        if step is None or step.mask is None or not step.block[0] <= i < step.block[1]:
            reason = "no step yet" if step is None else "no shadow in this step: everything was visible"
            if step is not None and not step.block[0] <= i < step.block[1]:
                reason = "this position is outside the block of this step"
            canvas.text(x, y + 28, reason, 11, colours.ink3)
            return
        start, end = step.block
        labels = 78.0
        cell = (self.width - labels) / (end - start)
        for r, path in enumerate(("x", "s")):
            top = y + 18 + r * 22
            canvas.text(x + labels - 8, top + 9, f"{path} query", 11, colours.ink2, anchor="r")
            seen = set(step.visible(i, "x" if path == "x" else "s"))
            for j in range(start, end):
                left, letter = x + labels + (j - start) * cell, step.states_before[j]
                box = (left, top, cell - 2 if cell > 5 else cell, 18.0)
                if j in seen:
                    given = mix(colours.ink3, colours.panel, 0.55)
                    fill = (
                        given if self.trace.fixed[j] else colours.line2 if letter == MASKED else colours.state(letter)
                    )
                    canvas.rects([box], fill)
                    if cell > 12 and not self.trace.fixed[j]:
                        ink = colours.ink if letter == MASKED else colours.on(letter)
                        canvas.text(left + cell / 2 - 1, top + 9, letter, 9, ink, bold=True, anchor="m")
                elif cell > 5:
                    canvas.rect(box, None, colours.line2, 1, 0, (2, 2))
                if j == i and cell > 5:
                    canvas.rect((left - 1.5, top - 1.5, box[2] + 3, 21), None, colours.ink, 1.5)

    def _life(self, canvas: Canvas, x: float, y: float, height: float, colours: Palette) -> None:
        """Confidence over all steps, on bands that say which state it means."""
        self._section(canvas, x, y, "Life line", "", "confidence over steps", colours)
        top, left = y + 20, x + 22
        width, last = self.width - 26, len(self.found) - 1
        lines = [value for value, _ in thresholds(self.trace)]
        bands = [(UNMASKED, lines[1], 1.0), (CANDIDATE, lines[0], lines[1]), (MASKED, 0.0, lines[0])] if (
            self.trace.decoder == "dard" and len(lines) == 2
        ) else []  # fmt: skip

        def across(step: int) -> float:
            return left + 10 + (step / last if last else 0.0) * (width - 20)

        def up(value: float) -> float:
            return top + 16 + (1 - value) * (height - 20)

        canvas.rect((left, top, width, height), colours.sunk)
        for letter, low, high in bands:
            above = top if letter == UNMASKED else up(high)
            bottom = top + height if letter == MASKED else up(low)
            if bottom > above:
                canvas.rect(
                    (left, above, width, bottom - above), colours.sunk if letter == MASKED else colours.rest(letter)
                )
            if bottom - above >= 12:
                canvas.badge(x + 8, (above + bottom) / 2, 12, letter, colours)
        for value in lines:
            canvas.line([(left, up(value)), (left + width, up(value))], colours.ink3, 0.8, (2, 2))
        canvas.line([(across(self.now.index), top), (across(self.now.index), top + height)], colours.ink, 1.5)
        if not self.trace.fixed[self.i]:
            self._points(canvas, across, up, last, colours)
        every = next((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if n * (width - 20) >= 22 * last), 2000)
        for step in range(0, last + 1, every):
            bold = step == self.now.index
            canvas.text(
                across(step), top + height + 9, str(step), 10, colours.ink if bold else colours.ink3, bold, anchor="m"
            )

    def _points(self, canvas: Canvas, across, up, last: int, colours: Palette) -> None:  # type: ignore[no-untyped-def]
        i, now = self.i, self.now.index
        places = [(across(m.index), up(m.confidence[i])) for m in self.found[1:]]
        if now > 1:
            canvas.line(places[:now], colours.ink, 1.5)
        if 0 < now < last:
            canvas.line(places[now - 1 :], colours.ink3, 1, (3, 2))
        radius = 4 if last <= 20 else 2.5 if last <= 80 else 1.3
        written, written_at = None, -100.0
        for moment, (x, y) in zip(self.found[1:], places, strict=True):
            shade = colours.dimmed(0.5) if moment.index > now else colours
            letter = moment.states[i]
            if letter == CANDIDATE:
                canvas.diamond(x, y, radius + 1, shade.candidate, colours.panel)
            elif letter == UNMASKED:
                canvas.circle(x, y, radius, shade.unmasked)
            else:
                canvas.rect((x - radius, y - radius, 2 * radius, 2 * radius), colours.panel, shade.masked, 1.2)
            token = moment.tokens[i] if letter != MASKED else None
            if token is not None and token != written and x - written_at > 44:
                text = cut(word(self.trace, token), 14)
                half = canvas.measure(text, 11, mono=True) / 2
                middle = min(max(x, across(0) + half - 8), across(last) - half + 8)
                high = y - 12 if y - 12 > up(1.0) - 12 else y + 13
                canvas.text(middle, high, text, 11, shade.ink, mono=True, anchor="m", halo=colours.panel)
                written_at = x
            written = token
