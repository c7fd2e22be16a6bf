"""The inspector: one token at one step, with its sentence, its predictions, what it could see, and its life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from dard.state import CANDIDATE, MASKED, UNMASKED
from dard.trace import Trace
from visual.drawing.canvas import Canvas
from visual.drawing.moments import Moment, cut, sentence, thresholds, word
from visual.drawing.score import threshold_lines
from visual.drawing.tokens import paragraph, two, wrapped
from visual.palette import Palette, mix

PATHS: tuple[tuple[Literal["x", "s", "mix"], str], ...] = (("x", "x path"), ("s", "s path"), ("mix", "mix"))
TOP_ROWS = 5


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

    def _points(
        self,
        canvas: Canvas,
        across: Callable[[int], float],
        up: Callable[[float], float],
        last: int,
        colours: Palette,
    ) -> None:
        i, now = self.i, self.now.index
        places = [(across(m.index), up(m.confidence[i])) for m in self.found[1:]]
        if now > 1:
            canvas.line(places[:now], colours.ink, 1.5)
        if 0 < now < last:
            canvas.line(places[now - 1 :], colours.ink3, 1, (3, 2))
        radius = 4 if last <= 20 else 2.5 if last <= 80 else 1.3
        written, written_at, pale = None, -100.0, colours.dimmed(0.5)
        for moment, (x, y) in zip(self.found[1:], places, strict=True):
            shade = pale if moment.index > now else colours
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
