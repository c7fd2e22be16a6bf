"""Tables as Markdown.

Promises: every cell is text already; a table looks the same in a file, a terminal and the page.
Does not know: where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A caption, the columns' headings and the rows. `variants` names what each row stands for, or is empty."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    variants: Sequence[str] = ()

    def markdown(self) -> str:
        r"""
        >>> print(Table("Two.", ["a", "b"], [["1", "x | y"]]).markdown())
        | a | b |
        | --- | --- |
        | 1 | x \| y |
        <BLANKLINE>
        Two.
        """
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = "\n".join(f"| {' | '.join(_escape(cell) for cell in line)} |" for line in lines)
        return f"{body}\n\n{self.caption}"


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


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
