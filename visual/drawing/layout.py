"""How the parts stand together: the whole view of a step, and the frames of an animation."""

from __future__ import annotations

from PIL import Image

from dard.state import STATE_NAMES
from dard.trace import Trace
from visual.drawing.canvas import Canvas, Raster
from visual.drawing.inspector import Inspector
from visual.drawing.mask import MASK_TOP, MaskPlan, mask_legend, no_mask
from visual.drawing.moments import Moment, clean, cut, decoder_name, settings_words, status
from visual.drawing.score import HEAD, Score, row_height
from visual.drawing.tokens import Grid, paragraph, wrapped
from visual.palette import Palette

MARGIN, GAP, PAD = 16, 10, 12
TITLE = 28  # a panel's heading
STILL_SCORE = 260  # height of the score in an animation
EVENTS_SHOWN = ("promoted", "demoted", "weakened", "replaced", "accepted", "edited")


def heading(canvas: Canvas, x: float, y: float, name: str, note: str, colours: Palette) -> float:
    """A panel's title; returns where it ends."""
    canvas.text(x, y + 10, name, 12, colours.ink, bold=True)
    after = x + canvas.measure(name, 12, bold=True) + 8
    canvas.text(after, y + 10, note, 11, colours.ink2)
    return after + canvas.measure(note, 11)


def title_line(canvas: Canvas, x: float, y: float, width: float, trace: Trace, colours: Palette) -> None:
    """Decoder, model and settings, as many as fit."""
    at = x
    pieces = [(decoder_name(trace), True, 0.0), (" on ", False, 0.0), (cut(clean(trace.model), 60), True, 0.0)]
    for name, value in settings_words(trace):
        base, _, index = name.partition("_")
        pieces += [(f"  ·  {base}", False, 0.0), (index, False, 2.5), (" ", False, 0.0), (value, True, 0.0)]
    for text, bold, lower in pieces:
        size = 10 if lower else 13
        wide = canvas.measure(text, size, bold)
        if at + wide > x + width - 14:
            canvas.text(at, y, " …", 13, colours.ink2)
            return
        canvas.text(at, y + lower, text, size, colours.ink if bold else colours.ink2, bold)
        at += wide


def counts(trace: Trace, moment: Moment) -> str:
    free = [s for s, given in zip(moment.states, trace.fixed, strict=True) if not given]
    parts = [f"{free.count(letter)} {name}" for letter, name in STATE_NAMES.items()]
    when = f"after step {moment.index}" if moment.index else "before the first step"
    return " · ".join([when, *parts, f"{sum(trace.fixed)} given"])


def legend(canvas: Canvas, right: float, left: float, y: float, found: list[Moment], colours: Palette) -> None:
    """States, and the events this run has, from the right; what would not fit is left out."""
    seen = {event for moment in found for events in moment.events.values() for event in events}
    letters = {letter for moment in found for letter in moment.states}
    entries = [(letter, name) for letter, name in STATE_NAMES.items() if letter in letters]
    entries += [(event, event) for event in EVENTS_SHOWN if event in seen]
    if any(moment.revoked for moment in found):
        entries.append(("scar", "revoked before"))
    widths = [canvas.measure(name, 11) + (30 if kind == "scar" else 16) + 12 for kind, name in entries]
    while entries and sum(widths) > right - left:
        entries.pop()
        widths.pop()
    at = right - sum(widths) + 12
    for (kind, name), wide in zip(entries, widths, strict=True):
        icon = 14.0
        if kind in "MCU":
            canvas.badge(at + 6, y, 12, kind, colours)
        elif kind == "scar":
            canvas.rect((at, y - 6.5, 21, 13), colours.demoted_text, radius=3)
            canvas.text(at + 10.5, y, "×1", 9.5, colours.panel, bold=True, anchor="m")
            icon = 26
        else:
            canvas.mark(at + 6, y, 9, kind, colours)
        canvas.text(at + icon + 2, y, name, 11, colours.ink2)
        at += wide


class Strip:
    """The frames of the animation: title, sentence, tokens, score."""

    def __init__(self, canvas: Canvas, trace: Trace, found: list[Moment], steps: list[int], width: int) -> None:
        self.trace, self.found, self.width = trace, found, width
        self.maps: list[Image.Image] = []
        self.inner = width - 2 * MARGIN - 2 * PAD
        self.grid = Grid(canvas, trace, found, self.inner)
        length = len(trace.start.tokens)
        row = min(row_height(length), max(1.0, STILL_SCORE / length))
        self.score = Score(trace, found, self.inner, row, 110, lanes=False)
        self.sentences = {step: status(trace, found[step].step) for step in steps}
        self.lines = max(len(wrapped(canvas, text, 13.5, self.inner - 90, 3)) for text in self.sentences.values())
        self.head = 34 + self.lines * 19 + 10
        self.widest = 60 + max(canvas.measure(counts(trace, found[step]), 11) for step in steps)
        self.tokens = TITLE + 8 + self.grid.height + PAD
        self.height = self.head + self.tokens + GAP + PAD + self.score.height + PAD + MARGIN

    def draw(self, canvas: Raster, step: int, colours: Palette) -> None:
        """A whole frame."""
        inner, left = self.width - 2 * MARGIN, MARGIN + PAD
        title_line(canvas, MARGIN, 19, inner, self.trace, colours)
        canvas.rect((MARGIN, self.head, inner, self.tokens), colours.panel, colours.line, 1, 8)
        legend(canvas, left + self.inner, left + self.widest + 20, self.head + 16, self.found, colours)
        self.grid.draw(canvas, left, self.head + TITLE + 8, self.found[step], None, colours)
        self._moving(canvas, step, colours)

    def redraw(self, canvas: Raster, before: int, step: int, colours: Palette) -> None:
        """Turn a drawn frame into another one: only what changes is drawn again."""
        found = self.found
        self.grid.redraw(canvas, MARGIN + PAD, self.head + TITLE + 8, found[before], found[step], colours)
        self._moving(canvas, step, colours)

    def _moving(self, canvas: Raster, step: int, colours: Palette) -> None:
        inner, left = self.width - 2 * MARGIN, MARGIN + PAD
        canvas.rect((0, 30, self.width, self.head - 30), colours.page)
        status_line(canvas, MARGIN, 34, inner, self.lines, step, self.trace, self.sentences[step], colours)
        canvas.rect((left, self.head + 4, self.widest + 10, TITLE - 6), colours.panel)
        heading(canvas, left, self.head + 6, "Tokens", counts(self.trace, self.found[step]), colours)
        top = self.head + self.tokens + GAP
        canvas.rect((MARGIN, top, inner, self.height - top - MARGIN), colours.panel, colours.line, 1, 8)
        if self.score.detailed:
            self.score.draw(canvas, left, top + PAD, colours, step, None)
        else:
            self._joined_map(canvas, left, top + PAD, step, colours)
            self.score.draw_rest(canvas, left, top + PAD, colours, step, None)

    def _joined_map(self, canvas: Raster, x: float, y: float, step: int, colours: Palette) -> None:
        """Thousands of bars are drawn twice in all, as past and as future, and joined at the current step."""
        if not self.maps:
            for now in (self.trace.num_steps, -1):
                sheet = Raster(self.inner, self.score.height, colours.panel, 1)
                self.score.draw_map(sheet, 0, 0, colours, now)
                self.maps.append(sheet.image)
        past, later = self.maps
        edge = round(self.score.x(step + 1) * canvas.k)
        corner = (round(x * canvas.k), round(y * canvas.k))
        canvas.image.paste(later, corner)
        canvas.image.paste(past.crop((0, 0, edge, past.height)), corner)


def status_line(
    canvas: Canvas, x: float, y: float, width: float, lines: int, step: int, trace: Trace, text: str, colours: Palette
) -> None:
    """The step counter, a rule, and the step's sentence."""
    middle = y + lines * 19 / 2
    canvas.text(x + 26, middle, str(step), 18, colours.ink, bold=True, anchor="r")
    canvas.text(x + 30, middle + 1, f"/ {trace.num_steps}", 12, colours.ink2)
    canvas.rect((x + 70, y, 3, lines * 19), colours.ink)
    paragraph(canvas, x + 84, y, text, 13.5, width - 84, lines, colours, 19)


class View:
    """The whole picture: title, prompt, sentence, tokens, then score, inspector and mask."""

    def __init__(
        self,
        canvas: Canvas,
        trace: Trace,
        found: list[Moment],
        step: int,
        selected: int | None,
        order: str,
        width: int,
    ) -> None:
        self.trace, self.found, self.step, self.selected = trace, found, step, selected
        self.width, self.inner = width, width - 2 * MARGIN
        self.moment = found[step]
        self.grid = Grid(canvas, trace, found, self.inner - 2 * PAD)
        self.sentence = status(trace, self.moment.step)
        self.lines = len(wrapped(canvas, self.sentence, 13.5, self.inner - 84, 4))
        columns = self._columns(width)
        self.columns = columns
        self.note = self._weight_note()
        self.inspector = None
        if selected is not None:
            self.inspector = Inspector(canvas, trace, found, step, selected, columns[1] - 2 * PAD)
        self.missing = no_mask(trace, self.moment.step)
        self.plan = None
        self.cell = 0.0
        mask_height = 60.0
        if self.moment.step is not None and not self.missing:
            self.plan = MaskPlan(trace, self.moment.step, order)
            self.cell = self.plan.cell(min(columns[2] - 2 * PAD, 560))
            mask_height = MASK_TOP + 2 * self.plan.length * self.cell + 8 + 100
        self.tokens_top = 34 + 34 + self.lines * 19 + 14
        self.tokens_height = TITLE + 8 + self.grid.height + PAD
        inspector_height = self.inspector.height if self.inspector else 0.0
        length, note = len(trace.start.tokens), 44 if self.note else 0
        row = row_height(length)
        if length <= 16 and not self.stacked:  # a short run fills the height its neighbours need anyway
            row = max(row, min(30.0, (max(inspector_height - TITLE, mask_height) - HEAD - note - 8) // length))
        self.score = Score(trace, found, columns[0] - 2 * PAD, row, 110, lanes=columns[0] > 420)
        score_height = self.score.height + note
        self.heights = [part + PAD + TITLE for part in (score_height, inspector_height - TITLE + 6, mask_height)]
        if self.stacked:
            total = sum(h + GAP for h, used in zip(self.heights, (1, self.inspector, 1), strict=True) if used)
        else:
            self.heights = [max(self.heights)] * 3
            total = self.heights[0] + GAP
        self.height = self.tokens_top + self.tokens_height + total + MARGIN

    @property
    def stacked(self) -> bool:
        return self.width < 1000

    def _columns(self, width: int) -> list[float]:
        """Widths of score, inspector and mask."""
        if self.stacked:
            return [self.inner] * 3
        mask = 366.0 if width <= 1440 else 480.0
        rest = self.inner - mask - GAP
        if self.selected is None:
            return [rest, 0.0, mask]
        return [(rest - GAP) * 0.605, (rest - GAP) * 0.395, mask]

    def _weight_note(self) -> str:
        """How w came about, for the selected position if it has one."""
        step = self.moment.step
        if step is None or self.trace.decoder != "dard":
            return ""
        weighted = [i for i, w in enumerate(step.weights) if w is not None]
        if not weighted:
            return "No position was masked in this pass, so no weight was needed."
        i = self.selected if self.selected in weighted else weighted[0]
        w, p, d = step.weights[i], step.score_p[i], step.score_d[i]
        prior = self.trace.settings.get("p0")
        if w is None or p is None or d is None or not isinstance(prior, int | float):
            return ""
        if self.trace.settings.get("mixing") != "adaptive":
            return f"w at {i} is {w:.2f}: mixing is set to one number for all positions."
        if not p and not d:
            return f"w at {i} is {w:.2f}: nothing was promoted or demoted, so masked positions trust the x path."
        numbers = f"({p:.2f} + {prior:.2f}) / ({p:.2f} + {d:.2f} + {prior:.2f})"
        return f"w at {i} = (P + p0) / (P + D + p0) = {numbers} = {w:.2f}"

    def draw(self, canvas: Canvas, colours: Palette) -> None:
        title_line(canvas, MARGIN, 20, self.inner, self.trace, colours)
        canvas.rect((MARGIN, 34, self.inner, 26), colours.panel, colours.line2, 1, 6)
        prompt = canvas.fit(clean(self.trace.prompt[:1000]), self.inner - 20, 12.5, mono=True)
        canvas.text(MARGIN + 10, 47, prompt, 12.5, colours.ink, mono=True)
        status_line(canvas, MARGIN, 68, self.inner, self.lines, self.step, self.trace, self.sentence, colours)
        left, top = MARGIN + PAD, self.tokens_top
        canvas.rect((MARGIN, top, self.inner, self.tokens_height), colours.panel, colours.line, 1, 8)
        end = heading(canvas, left, top + 6, "Tokens", counts(self.trace, self.moment), colours)
        legend(canvas, left + self.inner - 2 * PAD, end + 20, top + 16, self.found, colours)
        self.grid.draw(canvas, left, top + TITLE + 8, self.moment, self.selected, colours)
        x, y = float(MARGIN), top + self.tokens_height + GAP
        for k, paint in enumerate((self._score, self._inspector, self._mask)):
            if k == 1 and self.inspector is None:
                continue
            canvas.rect((x, y, self.columns[k], self.heights[k]), colours.panel, colours.line, 1, 8)
            paint(canvas, x + PAD, y, self.columns[k] - 2 * PAD, self.heights[k], colours)
            if self.stacked:
                y += self.heights[k] + GAP
            else:
                x += self.columns[k] + GAP

    def _score(self, canvas: Canvas, x: float, y: float, width: float, height: float, colours: Palette) -> None:
        end = heading(canvas, x, y + 6, "Score", "position × step", colours)
        right = x + width
        for kind, name in (("again", "masked again"), ("never", "never decided")):
            right -= canvas.measure(name, 11)
            if right - 24 < end + 12:
                break
            canvas.text(right, y + 16, name, 11, colours.ink2)
            if kind == "again":
                canvas.hatch((right - 20, y + 11, 16, 10), colours.demoted)
            else:
                canvas.line([(right - 24, y + 16), (right - 4, y + 16)], colours.line2, 1, (2, 3))
            right -= 36
        self.score.draw(canvas, x, y + TITLE + 4, colours, self.step, self.selected)
        if self.note:
            line = y + height - PAD - 34
            canvas.line([(x, line), (x + width, line)], colours.line, 1)
            paragraph(canvas, x, line + 4, self.note, 11.5, width, 2, colours, 16)

    def _inspector(self, canvas: Canvas, x: float, y: float, width: float, height: float, colours: Palette) -> None:
        assert self.inspector is not None
        self.inspector.draw(canvas, x, y + 8, height - 8 - PAD, colours)

    def _mask(self, canvas: Canvas, x: float, y: float, width: float, height: float, colours: Palette) -> None:
        if self.plan is None:
            heading(canvas, x, y + 6, "Mask", "", colours)
            paragraph(canvas, x, y + TITLE + 4, self.missing, 12, width, 4, colours, 17)
            return
        start, end = self.plan.step.block
        whole = self.plan.length == len(self.trace.start.tokens)
        note = f"step {self.step} · by {self.plan.order}" + ("" if whole else f" · block {start}–{end - 1}")
        heading(canvas, x, y + 6, "Mask", note, colours)
        top = y + TITLE + 4
        self.plan.draw(canvas, x, top, self.cell, colours, self.selected)
        below = top + MASK_TOP + 2 * self.plan.length * self.cell + 8
        mask_legend(canvas, x, below, min(width, 420), self.plan, self.cell, colours)
