"""The score of a run, drawn on any canvas: rows are positions, columns steps, colours states.

Everything shown is read from the trace. A run of one token in one state is one bar; marks sit where something changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dard.state import CANDIDATE, MASKED, UNMASKED
from dard.trace import Step, Trace
from visual.drawing.canvas import Box, Canvas
from visual.drawing.moments import Moment, block_starts, state_map, thresholds, token_map, word
from visual.palette import Palette, mix

HEAD = 28  # height of the row of step numbers
LATER = {MASKED: 0.45, CANDIDATE: 0.34, UNMASKED: 0.52}  # how much is left of a colour for steps to come


@dataclass(frozen=True)
class Lane:
    """A column beside the score on the same rows."""

    title: str
    width: float


LANES = (Lane("confidence", 56), Lane("weight w", 48), Lane("pull", 64))
LANE_GAP = 9


class Score:
    """Position × step: where everything goes, then `draw`. `now` is the step that is framed; None shows a whole run."""

    def __init__(self, trace: Trace, found: list[Moment], width: float, row: float, labels: float, lanes: bool) -> None:
        self.trace, self.found, self.width, self.row = trace, found, width, row
        self.length, self.last = len(trace.start.tokens), trace.num_steps
        self.detailed = row >= 10
        self.left = labels if self.detailed else 30
        self.first = 0.5 if self.detailed else min(1.0, 0.5 + 0.02 * self.last)  # width of the start column
        weighted = any(w is not None for step in trace.steps for w in step.weights)  # only DARD mixes
        self.lanes = [lane for lane in LANES if lanes and (weighted or lane.title == "confidence")]
        beside = sum(lane.width + LANE_GAP for lane in self.lanes)
        self.map_width = width - self.left - beside - 2
        self.column = self.map_width / (self.last + self.first)
        self.height = HEAD + row * self.length + 4
        tokens = token_map(trace) if self.detailed else None
        self.runs = [run for run in stretches(state_map(trace), tokens) if not trace.fixed[run[0]]]

    def x(self, step: int) -> float:
        """Where a step's column begins, from the left edge of the score."""
        return self.left + max(0.0, step - 1 + self.first if step else 0.0) * self.column

    def draw(self, canvas: Canvas, x: float, y: float, colours: Palette, now: int | None, selected: int | None) -> None:
        """The whole score."""
        top = y + HEAD
        if selected is not None:
            tall = max(self.row, 4)
            centre = top + (selected + 0.5) * self.row
            canvas.rect((x, centre - tall / 2, self.width, tall), colours.sunk)
        self.draw_map(canvas, x, y, colours, now)
        self.draw_rest(canvas, x, y, colours, now, selected)

    def draw_map(self, canvas: Canvas, x: float, y: float, colours: Palette, now: int | None) -> None:
        """The bars alone; `now` = -1 shows all of them as yet to come."""
        top = y + HEAD
        for start in block_starts(self.trace):
            edge = top + start * self.row
            canvas.line([(x + self.left, edge), (x + self.left + self.map_width, edge)], colours.ink3, 0.7, (3, 2))
        self._bars(canvas, x, top, colours, now)
        if self.detailed:
            self._marks(canvas, x, top, colours, now)

    def draw_rest(
        self, canvas: Canvas, x: float, y: float, colours: Palette, now: int | None, selected: int | None
    ) -> None:
        """Everything around the bars, and the frame of the current step."""
        top = y + HEAD
        self._header(canvas, x, y, colours, now)
        self._labels(canvas, x, top, colours, now, selected)
        if self.lanes and now is not None:
            self._lanes(canvas, x, top, colours, self.found[now])
        if now is not None:
            frame = (x + self.x(now) - 1, top - 1.5, self.x(now + 1) - self.x(now) + 2, self.row * self.length + 3)
            canvas.rect(frame, None, colours.ink, 1.5, 3)

    def _header(self, canvas: Canvas, x: float, y: float, colours: Palette, now: int | None) -> None:
        canvas.text(x, y + 9, "step", 11, colours.ink2)
        every = next((n for n in (1, 2, 5, 10, 20, 50, 100) if n * self.column >= 24), 200)
        while every * self.column < 24:
            every *= 2
        for step in range(self.last + 1):
            middle = x + (self.x(step) + self.x(step + 1)) / 2
            if step == now:
                wide = max(16, min(self.column - 4, 26), 8 + canvas.measure(str(step), 11, bold=True))
                canvas.rect((middle - wide / 2, y + 1, wide, 16), colours.ink, radius=4)
                canvas.text(middle, y + 9, str(step), 11, colours.panel, bold=True, anchor="m")
            elif step % every == 0 and (now is None or abs(step - now) * self.column > 24) and middle > x + 30:
                canvas.text(middle, y + 9, str(step), 11, colours.ink2, anchor="m")
            moment = self.found[step].step
            if moment is not None and moment.demoted:
                canvas.mark(middle, y + 22.5, 7, "demoted", colours)

    def _labels(
        self, canvas: Canvas, x: float, top: float, colours: Palette, now: int | None, selected: int | None
    ) -> None:
        moment = self.found[self.last if now is None else now]
        if not self.detailed:
            every = next(n for n in (8, 16, 32, 64, 128, 256, 512, 1024) if n * self.row >= 20)
            for i in range(0, self.length, every):
                canvas.text(x + 26, top + i * self.row + 4, str(i), 10, colours.ink3, anchor="r")
            return
        size = 12 if self.row >= 15 else 10.5
        for i in range(self.length):
            middle = top + (i + 0.5) * self.row
            canvas.text(x + 18, middle, str(i), 10 if self.row >= 12 else 9, colours.ink3, anchor="r")
            text, lost = label(self.trace, moment, i)
            colour = (
                colours.ink2 if self.trace.fixed[i] else colours.ink3 if moment.states[i] == MASKED else colours.ink
            )
            shown = canvas.fit(text, self.left - 30, size, i == selected, True)
            canvas.text(x + 24, middle, shown, size, colour, i == selected, True)
            if lost:
                wide = canvas.measure(shown, size, i == selected, True)
                canvas.line([(x + 24, middle), (x + 24 + wide, middle)], colours.demoted, 1.2)

    def _bars(self, canvas: Canvas, x: float, top: float, colours: Palette, now: int | None) -> None:
        pad = 2 if self.row >= 15 else 1 if self.detailed else 0.5 if self.row >= 5 else 0
        solid: dict[str, list[Box]] = {}
        never: list[tuple[float, float, float]] = []
        for i in range(self.length):
            y = top + i * self.row
            if self.trace.fixed[i]:
                if self.detailed:
                    middle = y + self.row / 2
                    ends = [(x + self.left + 2, middle), (x + self.left + self.map_width - 2, middle)]
                    canvas.line(ends, colours.line2, 1)
                else:
                    box = (x + self.left, y, self.map_width, self.row)
                    solid.setdefault(mix(colours.line2, colours.panel, 0.7), []).append(box)
        names: list[tuple[float, float, float, str, str]] = []
        for i, first, last in self.runs:
            letter = self.found[first].states[i]
            again = letter == MASKED and self.found[first].revoked.get(i, 0) > 0
            y = top + i * self.row
            for a, b, later in split(first, last, now):
                left, right = x + self.x(a) + (a == first) * 0.8, x + self.x(b + 1) - (b == last) * 0.8
                if not self.detailed:
                    left, right = x + self.x(a), x + self.x(b + 1)
                box = (left, y + pad, max(0.5, right - left), self.row - 2 * pad)
                share = LATER[letter] if later else 1.0
                if letter != MASKED:
                    fill = mix(colours.state(letter), colours.panel, share)
                    if self.detailed:
                        canvas.rect(box, fill, radius=2.5)
                    else:
                        solid.setdefault(fill, []).append(box)
                elif again and self.detailed:
                    canvas.hatch(box, mix(colours.demoted, colours.panel, share))
                elif again:
                    solid.setdefault(mix(colours.demoted, colours.panel, 0.3 * share), []).append(box)
                    if a == first:
                        dot = (left - 1, y - 0.5, 2.5, max(2.5, self.row))
                        solid.setdefault(mix(colours.demoted, colours.panel, share), []).append(dot)
                elif self.detailed:
                    never.append((left + 2, right - 2, y + self.row / 2))
            if self.detailed and letter != MASKED and self.row >= 11:
                names.append(
                    (
                        float(i),
                        self.x(first),
                        self.x(last + 1),
                        letter,
                        word(self.trace, self.found[first].tokens[i], 40),
                    )
                )
        for fill in sorted(solid):
            canvas.rects(solid[fill], fill)
        for left, right, middle in never:
            if right > left:
                canvas.line([(left, middle), (right, middle)], colours.line2, 1, (2, 3))
        self._names(canvas, x, top, colours, names, now)

    def _names(
        self,
        canvas: Canvas,
        x: float,
        top: float,
        colours: Palette,
        names: list[tuple[float, float, float, str, str]],
        now: int | None,
    ) -> None:
        """A token is written once, into the widest bar of its life."""
        lives: list[list[tuple[float, float, float, str, str]]] = []
        for bar in names:
            if lives and lives[-1][-1][0] == bar[0] and lives[-1][-1][2] == bar[1] and lives[-1][-1][4] == bar[4]:
                lives[-1].append(bar)
            else:
                lives.append([bar])
        playhead = float("inf") if now is None else self.x(now + 1)
        size = 11 if self.row >= 15 else 9
        for life in lives:
            i, start, end, letter, text = max(life, key=lambda bar: round(bar[2] - bar[1]))
            if start < playhead < end:  # a bar that fades in the middle has two backgrounds
                past = playhead - start
                fits = canvas.measure(text, size) <= past - 9
                start, end = (start, playhead) if fits or past >= end - playhead else (playhead, end)
            shown = canvas.fit(text, end - start - 9, size)
            later = start >= playhead
            colour = colours.ink if later else colours.on(letter)
            if shown and (shown == text or end - start > 30):
                canvas.text(x + start + 6, top + (i + 0.5) * self.row, shown, size, colour)

    def _marks(self, canvas: Canvas, x: float, top: float, colours: Palette, now: int | None) -> None:
        size = 8 if self.row >= 15 else 6.5
        edge = self.row / 2 - 6 if self.row >= 18 else 0
        pale = colours.dimmed(0.45)
        for moment in self.found[1:]:
            faded = pale if now is not None and moment.index > now else colours
            for i, events in moment.events.items():
                for event in events:
                    up = -edge if event == "promoted" else edge
                    at = (x + self.x(moment.index), top + (i + 0.5) * self.row + up)
                    if event == "replaced":
                        canvas.polygon([(at[0], at[1] - 4), (at[0] + 4, at[1]), (at[0], at[1] + 4), (at[0] - 4, at[1])],
                                       faded.replaced, colours.panel)  # fmt: skip
                    else:
                        canvas.mark(*at, size, event, faded, colours.panel)

    def _lanes(self, canvas: Canvas, x: float, top: float, colours: Palette, moment: Moment) -> None:
        at = x + self.left + self.map_width + LANE_GAP + 2
        tall = max(1.0, min(10, self.row - 6)) if self.detailed else self.row
        step = moment.step
        middles = [top + (i + 0.5) * self.row for i in range(self.length)]
        for lane in self.lanes:
            if lane.title != "pull":
                canvas.text(at, top - 19, lane.title, 11, colours.ink2)
            canvas.rect((at, top - 0.5, lane.width, self.row * self.length + 1), None, colours.line)
            if lane.title == "confidence":
                solid: dict[str, list[Box]] = {}
                for i, middle in enumerate(middles):
                    if not self.trace.fixed[i] and moment.confidence[i] > 0:
                        faint = moment.states[i] == MASKED
                        fill = mix(colours.masked, colours.panel, 0.45) if faint else colours.state(moment.states[i])
                        solid.setdefault(fill, []).append(
                            (at, middle - tall / 2, moment.confidence[i] * lane.width, tall)
                        )
                for fill in sorted(solid):
                    canvas.rects(solid[fill], fill)
                threshold_lines(canvas, self.trace, at, lane.width, top, self.row * self.length, colours)
            elif lane.title == "weight w":
                for i, middle in enumerate(middles):
                    value = step.weights[i] if step else None
                    if value is None:
                        continue
                    end = at + 3 + value * (lane.width - 6)
                    if self.detailed:
                        canvas.line([(at + 3, middle), (at + lane.width - 3, middle)], colours.line2, 1)
                        canvas.line([(at + 3, middle), (max(end, at + 3.5), middle)], colours.ink, 2)
                        canvas.circle(end, middle, 3.2, colours.ink)
                    else:
                        canvas.rects(
                            [(at, middle - tall / 2, value * lane.width, tall)], mix(colours.bar, colours.panel, 0.55)
                        )
                        canvas.rects([(at + value * lane.width - 1.5, middle - tall / 2, 1.5, tall)], colours.ink)
            else:
                self._pull(canvas, at, lane.width, top, tall, colours, step)
            at += lane.width + LANE_GAP

    def _pull(
        self, canvas: Canvas, at: float, width: float, top: float, tall: float, colours: Palette, step: Step | None
    ) -> None:
        """D to the left and P to the right, for the positions that were masked."""
        centre = at + width / 2
        canvas.text(centre, top - 19, "pull", 11, colours.ink2, anchor="m")
        canvas.text(at + 8, top - 19, "D", 11, colours.demoted_text, anchor="m")
        canvas.text(at + width - 8, top - 19, "P", 11, colours.promoted_text, anchor="m")
        if step is not None:
            pairs = [(p or 0.0, d or 0.0) for p, d in zip(step.score_p, step.score_d, strict=True)]
            unit = (width / 2 - 4) / max(1.0, *(max(pair) for pair in pairs)) if pairs else 1.0
            for i, (p, d) in enumerate(pairs):
                y = top + (i + 0.5) * self.row - tall / 2
                if p:
                    canvas.rects([(centre, y, p * unit, tall)], colours.promoted)
                if d:
                    canvas.rects([(centre - d * unit, y, d * unit, tall)], colours.demoted)
        canvas.line([(centre, top), (centre, top + self.row * self.length)], colours.ink3, 1)


def row_height(length: int) -> float:
    """Tall enough for a label while that stays on one page."""
    return 23 if length <= 16 else 15 if length <= 32 else 11 if length <= 64 else max(0.5, 512 / length)


def label(trace: Trace, moment: Moment, position: int) -> tuple[str, bool]:
    """What stands at a position, and whether it is a word that was taken back."""
    if moment.states[position] != MASKED:
        return word(trace, moment.tokens[position]), False
    if position in moment.ghosts:
        return word(trace, moment.ghosts[position]), True
    return "· · ·", False


def stretches(states: NDArray[np.str_], tokens: NDArray[np.int64] | None) -> Iterator[tuple[int, int, int]]:
    """(position, first step, last step) of every run of one state, and of one token if tokens are given."""
    changes = states[1:] != states[:-1]
    if tokens is not None:
        changes |= tokens[1:] != tokens[:-1]
    for position in range(states.shape[1]):
        edges = [0, *(int(k) + 1 for k in np.flatnonzero(changes[:, position])), states.shape[0]]
        for first, after in pairwise(edges):
            yield position, first, after - 1


def split(first: int, last: int, now: int | None) -> Iterator[tuple[int, int, bool]]:
    """A run cut at the current step: (first, last, whether it lies ahead)."""
    if now is None or last <= now:
        yield first, last, False
    elif first > now:
        yield first, last, True
    else:
        yield first, now, False
        yield now + 1, last, True


def threshold_lines(
    canvas: Canvas, trace: Trace, x: float, width: float, top: float, height: float, colours: Palette
) -> None:
    """Dashed lines at the thresholds with their symbols above; symbols that would touch are left out."""
    previous = -100.0
    for value, symbol in thresholds(trace):
        at = x + value * width
        canvas.line([(at, top), (at, top + height)], colours.ink3, 0.8, (2, 2))
        if at - previous >= 13:
            symbol_text(canvas, at, top - 7, symbol, 10, colours.ink2)
            previous = at


def symbol_text(canvas: Canvas, x: float, y: float, symbol: str, size: float, colour: str) -> None:
    """A centred symbol such as τ_c with its index set lower."""
    base, _, index = symbol.partition("_")
    wide = canvas.measure(base, size)
    small = canvas.measure(index, size * 0.8)
    left = x - (wide + small) / 2
    canvas.text(left, y, base, size, colour)
    if index:
        canvas.text(left + wide, y + size * 0.2, index, size * 0.8, colour)
