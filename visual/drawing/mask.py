"""The attention mask of a step, drawn on any canvas: by state with the paper's ①–⑥, or by position.

Mask and states are those of the step's forward pass, read from the trace; nothing is worked out again here.
"""

from __future__ import annotations

import numpy as np

from dard.state import CANDIDATE, MASKED, UNMASKED, InputError
from dard.trace import Step, Trace
from visual.drawing.canvas import Canvas
from visual.drawing.moments import clean, decoder_name
from visual.palette import DARK, Palette, mix

ORDERS = ("state", "position")
MASK_LEFT, MASK_TOP = 48, 36
HOLLOW = 6  # the smallest cell in which a hollow square can be seen
MOST_MASK = 2048  # rows of a mask that is still worth drawing
SIX = {
    "confidence": "unmasked + surer C", "entropy": "unmasked + surer C", "margin": "unmasked + surer C",
    "l2r": "unmasked + C to the left", "bidirectional": "unmasked + every C",
}  # fmt: skip


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
            for line in range(n + 1):
                at = line * cell
                canvas.line([(left + at, top), (left + at, top + side)], colours.sunk, thin)
                canvas.line([(left, top + at), (left + side, top + at)], colours.sunk, thin)
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
        for share, name in ((0.25, "x"), (0.75, "s")):
            canvas.text(left + side * share, y + 6, f"{name} keys", 11, colours.ink, anchor="m")
            canvas.text(x + 5, top + side * share, f"{name} queries", 11, colours.ink, anchor="m", up=True)
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
    present = {"given": any(given_here), "x unmasked": UNMASKED in free}
    present |= {"x candidate": CANDIDATE in free, "x mask": MASKED in free}
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
