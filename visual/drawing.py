"""The two maps of a trace, drawn on any canvas: the score (position × step) and the attention mask.

Everything shown is read from the trace. A position's bar is one colour per state; marks sit where something changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dard.state import CANDIDATE, MASKED, UNMASKED, InputError
from dard.trace import Step, Trace
from visual.canvas import Box, Canvas
from visual.moments import Moment, block_starts, clean, decoder_name, state_map, thresholds, token_map, word
from visual.palette import DARK, Palette, mix

ORDERS = ("state", "position")
HEAD = 28  # height of the row of step numbers
LATER = {MASKED: 0.45, CANDIDATE: 0.34, UNMASKED: 0.52}  # how much is left of a colour for steps to come
MASK_LEFT, MASK_TOP = 48, 36
HOLLOW = 6  # the smallest cell in which a hollow square can be seen
MOST_MASK = 2048  # rows of a mask that is still worth drawing
SIX = {
    "confidence": "unmasked + surer C", "entropy": "unmasked + surer C", "margin": "unmasked + surer C",
    "l2r": "unmasked + C to the left", "bidirectional": "unmasked + every C",
}  # fmt: skip


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
        beside = sum(lane.width + LANE_GAP for lane in LANES) if lanes else 0
        self.lanes = lanes
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
        pad = 2 if self.detailed else 0
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
        size = 11 if self.row >= 15 else 9.5
        for life in lives:
            i, start, end, letter, text = max(life, key=lambda bar: bar[2] - bar[1])
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
        for moment in self.found[1:]:
            faded = colours.dimmed(0.45) if now is not None and moment.index > now else colours
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
        for lane in LANES:
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
        for first, after in zip(edges, edges[1:], strict=False):
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


# The mask.


def check_order(order: str) -> None:
    if not isinstance(order, str) or order not in ORDERS:
        raise InputError(f"order = {str(order)[:40]!r} is not allowed; order must be 'state' or 'position'")


def no_mask(trace: Trace, step: Step | None) -> str:
    """Why there is no mask to show; empty if there is one."""
    if step is None:
        return "No step has run yet, so no attention mask was used."
    if step.mask is None:
        return (
            f"Step {step.index} of {decoder_name(trace)} ran without a shadow block: every query saw every key, "
            "and there is no 2L×2L mask to show."
        )
    if step.mask.shape[0] > MOST_MASK:
        raise InputError(
            f"a mask of {step.mask.shape[0]} rows is too large for a picture; at most {MOST_MASK} are drawn"
        )
    return ""


class MaskPlan:
    """The mask of a step in drawing order. Groups run M, C, U; candidates from the most to the least reliable."""

    def __init__(self, trace: Trace, step: Step, order: str) -> None:
        check_order(order)
        mask = step.mask
        assert mask is not None
        self.trace, self.step, self.order = trace, step, order
        self.start, end = step.block
        self.length = end - self.start
        self.states = step.states_before[self.start : end]
        index = list(range(self.length))
        self.groups: list[tuple[str, int, int]] = []
        if order == "state":
            # The most reliable candidate sees the fewest others, whatever the ordering was.
            candidates = [i for i in index if self.states[i] == CANDIDATE]
            sees = {i: int(mask[i, candidates].sum()) for i in candidates}
            index = []
            for letter in (MASKED, CANDIDATE, UNMASKED):
                members = [i for i in range(self.length) if self.states[i] == letter]
                members.sort(key=lambda i: (sees.get(i, 0), i))
                if members:
                    self.groups.append((letter, len(index), len(index) + len(members)))
                index += members
        self.index = index
        both = np.array(index + [i + self.length for i in index])
        self.seen = mask[np.ix_(both, both)]

    def cell(self, width: float) -> float:
        """The side of a cell in a figure of that width."""
        side = (width - MASK_LEFT - 2) / (2 * self.length)
        return min(16.0, float(int(side))) if side >= 2 else max(0.25, int(side * 4) / 4)

    def draw(self, canvas: Canvas, x: float, y: float, cell: float, colours: Palette, selected: int | None) -> None:
        n, side = 2 * self.length, 2 * self.length * cell
        left, top = x + MASK_LEFT, y + MASK_TOP
        hollow = cell >= HOLLOW
        canvas.cells(left, top, cell, self.seen, self._colours(colours, hollow), colours.sunk)
        if cell >= 3:
            thin = 1 if hollow else 0.5
            for k in range(n + 1):
                canvas.line([(left + k * cell, top), (left + k * cell, top + side)], colours.sunk, thin)
                canvas.line([(left, top + k * cell), (left + side, top + k * cell)], colours.sunk, thin)
        if hollow:
            faint = mix(colours.ink3, colours.sunk, 0.75)
            inset = max(1.5, cell * 0.22)
            inner = cell - 2 * inset
            places = np.argwhere(self.seen[:, self.length :]) * cell + inset
            boxes = [(left + side / 2 + float(c), top + float(r), inner, inner) for r, c in places]
            canvas.frames(boxes, faint, 0.8)
        self._brackets(canvas, left, top, cell, colours)
        for a, b in (((left + side / 2, top - 4), (left + side / 2, top + side)),
                     ((left - 4, top + side / 2), (left + side, top + side / 2))):  # fmt: skip
            canvas.line([a, b], colours.ink, 1.2)
        for k, name in ((0.25, "x"), (0.75, "s")):
            canvas.text(left + side * k, y + 6, f"{name} keys", 11, colours.ink, anchor="m")
            canvas.text(x + 5, top + side * k, f"{name} queries", 11, colours.ink, anchor="m", up=True)
        if selected is not None and 0 <= selected - self.start < self.length:
            row = self.index.index(selected - self.start)
            for r in (row, row + self.length):
                canvas.rect((left - 1.5, top + r * cell - 1.5, side + 3, max(1.0, cell) + 3), None, colours.ink, 1.5)

    def _colours(self, colours: Palette, hollow: bool) -> list[str]:
        dark = colours == DARK
        given = mix(colours.unmasked, colours.sunk, 0.5 if dark else 0.42)
        x = [
            given if self.trace.fixed[self.start + i]
            else colours.line2 if self.states[i] == MASKED else colours.state(self.states[i])
            for i in self.index
        ]  # fmt: skip
        shadow = colours.sunk if hollow else mix(colours.ink3, colours.sunk, 0.3 if dark else 0.2)
        return x + [shadow] * self.length

    def _brackets(self, canvas: Canvas, left: float, top: float, cell: float, colours: Palette) -> None:
        half = self.length * cell
        if not self.groups:
            every = next(n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if n * cell >= 18)
            for i in range(0, self.length, every):
                for side in (0.0, half):
                    at = side + (i + 0.5) * cell
                    canvas.text(left + at, top - 9, str(self.start + i), 10, colours.ink3, anchor="m")
                    canvas.text(left - 6, top + at, str(self.start + i), 10, colours.ink3, anchor="r")
            return
        numbered = self.trace.decoder == "dard"
        for side in (0, 1):
            centres = [side * half + (a + b) / 2 * cell for _, a, b in self.groups]
            rows = spread(centres, 14.5, side * half + 7, (side + 1) * half - 7)
            columns = spread(centres, 9, side * half + 4, (side + 1) * half - 4)
            for (letter, a, b), row, column in zip(self.groups, rows, columns, strict=True):
                begin, size = side * half + a * cell, (b - a) * cell
                trim = min(1.0, size / 4)
                canvas.rect((left + begin + trim, top - 6.5, size - 2 * trim, 3), colours.state(letter))
                canvas.rect((left - 6.5, top + begin + trim, 3, size - 2 * trim), colours.state(letter))
                canvas.text(left + column, top - 13, letter, 10, colours.ink2, bold=True, anchor="m")
                canvas.text(left - 13, top + row, letter, 10, colours.ink2, bold=True, anchor="m")
                if numbered:
                    canvas.numbered(left - 26, top + row, "MCU".index(letter) + 1 + 3 * side, colours)
                if a and cell >= 1:
                    canvas.line([(left + begin, top), (left + begin, top + 2 * half)], colours.panel, 2)
                    canvas.line([(left, top + begin), (left + 2 * half, top + begin)], colours.panel, 2)


def spread(centres: list[float], gap: float, low: float, high: float) -> list[float]:
    """The same places, pushed apart until neighbours are `gap` away, inside the bounds where there is room.

    >>> spread([0.0, 1.0, 50.0], 10, 0, 60)
    [0.0, 10.0, 50.0]
    """
    places: list[float] = []
    for centre in centres:
        places.append(max(centre, places[-1] + gap if places else low))
    limit = high
    for k in reversed(range(len(places))):
        places[k] = min(places[k], limit)
        limit = places[k] - gap
    return places


def who_sees_what(trace: Trace) -> list[tuple[int, str, str]]:
    """The rules of the mask in words: (number in the paper or 0, whose query, what it sees)."""
    if trace.decoder != "dard":
        return [(0, "x queries", "everything in x"), (0, "s queries", "all of s, and all of x but their own token")]
    surer = SIX.get(clean(str(trace.settings.get("ordering"))), "unmasked + some C")
    return [
        (1, "M in x", "everything in x"), (4, "M in s", "unmasked only"), (2, "C in x", surer),
        (5, "C in s", "the same, not itself"), (3, "U in x", "unmasked only"), (6, "U in s", "the same, not itself"),
    ]  # fmt: skip


def mask_legend(
    canvas: Canvas, x: float, y: float, width: float, plan: MaskPlan, cell: float, colours: Palette
) -> float:
    """The colours, then the rules. Returns the height used."""
    dark = colours == DARK
    given = mix(colours.unmasked, colours.sunk, 0.5 if dark else 0.42)
    pale = None if cell >= HOLLOW else mix(colours.ink3, colours.sunk, 0.3 if dark else 0.2)
    entries = [
        (given, None, "given"), (colours.unmasked, None, "x unmasked"), (colours.candidate, None, "x candidate"),
        (colours.line2, None, "x mask"), (pale, colours.ink3, "s mask"), (colours.sunk, colours.line2, "blocked"),
    ]  # fmt: skip
    given_here = plan.trace.fixed[plan.start : plan.start + plan.length]
    free = {letter for letter, fixed in zip(plan.states, given_here, strict=True) if not fixed}
    present = {
        "given": any(given_here), "x unmasked": UNMASKED in free, "x candidate": CANDIDATE in free, "x mask": MASKED in free
    }  # fmt: skip
    at, used = x, 0.0
    for fill, outline, name in entries:
        if not present.get(name, True):
            continue
        wide = 14 + canvas.measure(name, 11)
        if at + wide > x + width:
            at, used = x, used + 16
        canvas.rect((at, y + used + 3, 10, 10), fill, outline)
        canvas.text(at + 14, y + used + 8, name, 11, colours.ink2)
        at += wide + 9
    used += 22
    rules = who_sees_what(plan.trace)
    columns = 2 if rules[0][0] else 1
    canvas.line([(x, y + used), (x + width, y + used)], colours.line, 1)
    used += 6
    for k, (number, who, what) in enumerate(rules):
        left, row = x + (k % columns) * width / columns, y + used + (k // columns) * 17 + 8
        if number:
            canvas.numbered(left + 7, row, number, colours)
        begin = left + (20 if number else 0)
        canvas.text(begin, row, who, 11, colours.ink, bold=True)
        after = begin + canvas.measure(who, 11, bold=True) + 5
        room = left + width / columns - after
        canvas.text(after, row, canvas.fit(what, room, 11), 11, colours.ink2)
    return used + -(-len(rules) // columns) * 17 + 4
