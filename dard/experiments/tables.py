"""Tables as Markdown, and the columns they are made of.

Promises: every cell is text already; a table looks the same in a file, a terminal and the page. What a heading stands
for is said once, here or in the experiment that is alone in having it.
Does not know: where the rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dard.experiments.points import Point
from dard.tables import table

Columns = Mapping[str, Callable[[Point], str]]  # by heading


@dataclass(frozen=True)
class Table:
    """A caption, the columns' headings and the rows. `variants` names what each row stands for, or is empty."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    variants: Sequence[str] = ()

    @staticmethod
    def of(found: Sequence[Point], columns: Columns, caption: str) -> Table:
        """A line for every point."""
        rows = [[cell(p) for cell in columns.values()] for p in found]
        return Table(caption, list(columns), rows, [p.variant.name for p in found])

    def markdown(self) -> str:
        return f"{table(self.columns, self.rows)}\n\n{self.caption}"


def percent(share: float) -> str:
    """
    >>> percent(0.346)
    '34.6'
    """
    return f"{100 * share:.1f}"


def signed(number: float, digits: int = 1) -> str:
    """
    >>> signed(-1.84), signed(0.0), signed(2)
    ('−1.8', '+0.0', '+2.0')
    """
    rounded = round(number, digits) + 0.0
    return f"{'−' if rounded < 0 else '+'}{abs(rounded):.{digits}f}"


def against(cell: Callable[[Point, Point], str]) -> Callable[[Point], str]:
    """A cell that compares a point with the one beside it; that one itself has none."""
    return lambda p: "–" if p.beside is None or p.beside is p else cell(p, p.beside)


def speed(p: Point) -> str:
    """Tokens per second as a multiple of the point beside it."""
    known = p.beside is not None and p.beside.tokens_per_second
    return f"×{p.tokens_per_second / known:.2f}" if known else "–"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


COLUMNS: Columns = {
    "Variant": lambda p: p.variant.name,
    "Method": lambda p: p.variant.name,
    "Samples": lambda p: str(p.samples),
    "Acc. (%)": lambda p: percent(p.accuracy),
    "Δ Acc.": against(lambda p, other: signed(100 * (p.accuracy - other.accuracy))),
    "95 % interval": lambda p: " – ".join(map(percent, p.interval)),
    "Gain (%)": against(lambda p, other: signed(100 * (p.accuracy / other.accuracy - 1)) if other.accuracy else "–"),
    "Passes": lambda p: f"{p.passes:.2f}",
    "Δ Passes": against(lambda p, other: signed(p.passes - other.passes, 2)),
    "Fewer": against(lambda p, other: f"×{other.passes / p.passes:.1f}"),
    "Tokens/pass": lambda p: number(p.per_pass()),
    "without end": lambda p: number(p.per_pass("without_end")),
    "Revocations": lambda p: f"{p.mean('revocations'):.2f}",
    "Tokens/s": lambda p: f"{p.tokens_per_second:.0f}",
    "Speed": speed,
}

# Tokens per forward pass in both countings: all filled positions, and those that are not the end of text.
PACE = ("Passes", "Tokens/pass", "without end")


def columns(*headings: str) -> Columns:
    return {heading: COLUMNS[heading] for heading in headings}
