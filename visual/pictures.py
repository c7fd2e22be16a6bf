"""Pictures to keep: the current view as PNG and a whole run as GIF; the vector figures are in `visual.vector`.

Pure functions of a `Trace`: the same trace gives the same bytes on the same machine. No browser, no model and no
network are needed; the fonts are those of the machine, or Pillow's own where there are none.
"""

from __future__ import annotations

import io

from PIL import Image

from dard.state import InputError
from dard.trace import Trace
from visual.canvas import Canvas, Raster
from visual.drawing import HEAD, MASK_TOP, MaskPlan, Score, check_order, mask_legend, no_mask, row_height
from visual.moments import (
    Moment, check_position, check_size, check_step, clean, cut, decoder_name, moments, settings_words, status,
)  # fmt: skip
from visual.panels import Grid, Inspector, paragraph, wrapped
from visual.palette import Palette, get_palette, mix, rgb
from visual.vector import mask_svg, score_svg

__all__ = ["gif", "mask_svg", "png", "score_svg"]

MARGIN, GAP, PAD = 16, 10, 12
TITLE = 28  # a panel's heading
LEAST_WIDTH, MOST_WIDTH = 480, 3000
MOST_FRAMES = 200
LAST_FRAME = 3  # the last frame stays so many times longer
STILL_SCORE = 260  # height of the score in an animation
EVENTS_SHOWN = ("promoted", "demoted", "weakened", "replaced", "accepted", "edited")


def png(
    trace: Trace,
    step: int,
    selected: int | None = None,
    theme: str = "light",
    mask: str = "state",
    width: int = 1280,
    scale: int = 2,
) -> bytes:
    """The view after a step as a picture: tokens, score, mask and, for a selected position, the inspector.

    `width` is in page pixels, each `scale` × `scale` pixels of the picture.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    >>> png(trace, step=2, selected=3, width=900, scale=1)[:4]
    b'\\x89PNG'
    """
    colours = get_palette(theme)
    check_order(mask)
    check_size(trace)
    check_step(trace, step)
    check_range("width", width, LEAST_WIDTH, MOST_WIDTH)
    check_range("scale", scale, 1, 4)
    if selected is not None:
        check_position(trace, selected)
    found = moments(trace)
    view = View(Raster(1, 1, colours.page, scale), trace, found, step, selected, mask, width)
    sheet = Raster(width, view.height, colours.page, scale)
    view.draw(sheet, colours)
    return sheet.png()


def gif(trace: Trace, theme: str = "light", width: int = 960, frame_ms: int = 900) -> bytes:
    """The run as an animation: the tokens and the score, one frame per step, the last one longer.

    The layout is the same in every frame. A run of more than 200 steps, or a file above 4 MB (8 MB for more than 64
    positions), is thinned: frames are left out evenly, the first and the last never.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> gif(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8))[:6]
    b'GIF89a'
    """
    colours = get_palette(theme)
    check_size(trace)
    check_range("width", width, LEAST_WIDTH, MOST_WIDTH)
    check_range("frame_ms", frame_ms, 20, 60_000)
    found = moments(trace)
    strip = Strip(Raster(1, 1, colours.page, 1), trace, found, width)
    shared = gif_palette(colours)
    steps = thinned(list(range(trace.num_steps + 1)), MOST_FRAMES)
    sheet = Raster(width, strip.height, colours.page, 1)
    frames = {}
    for previous, step in zip([None, *steps], steps, strict=False):
        if previous is None:
            strip.draw(sheet, step, colours)
        else:
            strip.redraw(sheet, previous, step, colours)
        frames[step] = sheet.finished().quantize(palette=shared, dither=Image.Dither.NONE)
    limit = (4 if len(trace.start.tokens) <= 64 else 8) << 20
    while True:
        data = animation([frames[step] for step in steps], frame_ms)
        if len(data) <= limit:
            return data
        if len(steps) <= 2:
            raise InputError(f"the animation would be larger than {limit >> 20} MB; choose a smaller width")
        steps = thinned(steps, max(2, len(steps) * limit // (len(data) + limit // 8)))


def check_range(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"{name} = {str(value)[:40]} is not allowed; {name} must be a whole number from {low} to {high}"
        )


def thinned(steps: list[int], most: int) -> list[int]:
    """At most so many of the steps, evenly, with the first and the last.

    >>> thinned([0, 1, 2, 3, 4], 3)
    [0, 2, 4]
    """
    if len(steps) <= most:
        return steps
    return [steps[round(k * (len(steps) - 1) / (most - 1))] for k in range(most)]


def animation(frames: list[Image.Image], frame_ms: int) -> bytes:
    file = io.BytesIO()
    times = [frame_ms] * (len(frames) - 1) + [frame_ms * LAST_FRAME]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=False)
    return file.getvalue()


def gif_palette(colours: Palette) -> Image.Image:
    """One palette for all frames: every colour of the theme, and the shades between letters and what they stand on."""
    theme = [value for value in vars(colours).values() if isinstance(value, str)]
    wanted = dict.fromkeys(theme)
    faded = colours.dimmed(0.5)
    wanted.update(dict.fromkeys(vars(faded).values()))
    for letter, share in (("C", 0.34), ("U", 0.52)):
        wanted[mix(colours.state(letter), colours.panel, share)] = None
    for share in (0.45, 0.3, 0.135):
        wanted[mix(colours.demoted, colours.panel, share)] = None
    wanted[mix(colours.line2, colours.panel, 0.7)] = None
    grounds = (colours.panel, colours.page, colours.candidate_fill, colours.candidate_rest, colours.unmasked_fill,
               colours.unmasked_rest, colours.candidate, colours.unmasked, colours.sunk)  # fmt: skip
    shades = ((colours.ink, (0.8, 0.6, 0.4, 0.2)), (colours.ink2, (0.66, 0.33)))
    for ink, shares in shades:
        wanted.update(dict.fromkeys(mix(ink, ground, share) for ground in grounds for share in shares))
    for edge in (colours.candidate, colours.unmasked, colours.demoted, colours.promoted, colours.demoted_text):
        wanted.update(dict.fromkeys(mix(edge, colours.panel, share) for share in (0.75, 0.5, 0.25)))
    wanted.update(dict.fromkeys(mix(colours.unmasked_on, colours.unmasked, share) for share in (0.75, 0.5, 0.25)))
    flat = [part for colour in list(wanted)[:256] for part in rgb(colour)]
    image = Image.new("P", (1, 1))
    image.putpalette(flat + flat[:3] * (256 - len(flat) // 3))
    return image


# Parts that both pictures have.


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
    names = (("M", "masked"), ("C", "candidate"), ("U", "unmasked"))
    parts = [f"{free.count(letter)} {name}" for letter, name in names]
    when = f"after step {moment.index}" if moment.index else "before the first step"
    return " · ".join([when, *parts, f"{sum(trace.fixed)} given"])


def legend(canvas: Canvas, right: float, left: float, y: float, found: list[Moment], colours: Palette) -> None:
    """States, and the events this run has, from the right; what would not fit is left out."""
    seen = {event for moment in found for events in moment.events.values() for event in events}
    entries = [("M", "masked"), ("C", "candidate"), ("U", "unmasked")]
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

    def __init__(self, canvas: Canvas, trace: Trace, found: list[Moment], width: int) -> None:
        self.trace, self.found, self.width = trace, found, width
        self.maps: list[Image.Image] = []
        self.inner = width - 2 * MARGIN - 2 * PAD
        self.grid = Grid(canvas, trace, found, self.inner)
        length = len(trace.start.tokens)
        row = min(row_height(length), max(1.0, STILL_SCORE / length))
        self.score = Score(trace, found, self.inner, row, 110, lanes=False)
        self.sentences = [status(trace, moment.step) for moment in found]
        self.lines = max(len(wrapped(canvas, text, 13.5, self.inner - 90, 3)) for text in self.sentences)
        self.head = 34 + self.lines * 19 + 10
        self.widest = 60 + max(canvas.measure(counts(trace, moment), 11) for moment in found)
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
        return f"w at {i} = (P + p0) / (P + D + p0) = ({p:.2f} + {prior:.2f}) / ({p:.2f} + {d:.2f} + {prior:.2f}) = {w:.2f}"

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
