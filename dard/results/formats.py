"""Tables as Markdown, CSV and LaTeX.

Promises: LaTeX needs no package but booktabs and no letters but ASCII.
Does not know: what stands in a table.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable, Sequence

from dard.results.markdown import table

LETTERS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "λ": r"\lambda", "μ": r"\mu", "σ": r"\sigma",
    "τ": r"\tau", "Δ": r"\Delta", "−": "-", "×": r"\times", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "•": r"\bullet",
    "→": r"\to", "∞": r"\infty", "≈": r"\approx", "½": r"\tfrac12", "·": r"\cdot", "′": "'",
}  # fmt: skip
TEXT = {
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "‘": "`",
    "\u00a0": "~",
    "✓": "yes",
    "✗": "no",
}
SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\n": " ", "\"": "''",
}  # fmt: skip


def escaped(text: str) -> str:
    """A text as LaTeX sets it.

    >>> escaped("τ_u = 50 % − 1")
    '$\\\\tau$\\\\_u = 50 \\\\% $-$ 1'
    """
    return "".join(letter(each) for each in text)


def letter(each: str) -> str:
    if each in SPECIAL:
        return SPECIAL[each]
    if each in LETTERS:
        return f"${LETTERS[each]}$"
    if each in TEXT:
        return TEXT[each]
    if each.isascii():
        return each if each.isprintable() else ""
    plain = unicodedata.normalize("NFKD", each).encode("ascii", "ignore").decode()
    return plain or f"[U+{ord(each):04X}]"


def as_latex(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A table of booktabs; columns of numbers stand to the right."""
    numeric = [bool(rows) and all(is_number(row[n]) for row in rows) for n in range(len(columns))]
    lines = [" & ".join(map(escaped, line)) + r" \\" for line in [columns, *rows]]
    kinds = "".join("r" if each else "l" for each in numeric)
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            r"\begin{table}[t]",
            r"\centering",
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
            r"\end{table}",
        ]
    )


def is_number(cell: str) -> bool:
    text = cell.replace("−", "-").strip("+×%–•< ") or "0"
    try:
        float(text.split(" ")[0])
    except ValueError:
        return False
    return True


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[str]], _caption: str) -> str:
    """Commas and quotation marks; the caption is left out."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue().rstrip("\n")


def as_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    return f"{table(columns, rows)}\n\n{caption}" if caption else table(columns, rows)


FORMATS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]], str], str]] = {
    "md": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
}
