"""The README's tables, made from the code. `python -m dard.tables` writes them; a test fails when they drift."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dard.decoders import DECODERS
from dard.models.registry import Card, rows
from dard.settings import Allowed, Settings

README = Path(__file__).resolve().parents[1] / "README.md"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "x | y"]]))
    | a | b |
    | --- | --- |
    | 1 | x \\| y |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    safe = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in safe)


def settings_table() -> str:
    """Every setting of every decoder; what all decoders know comes first."""
    common = set(Settings.allowed())
    rows = [setting_row("all", name, allowed, Settings) for name, allowed in Settings.allowed().items()]
    for decoder in DECODERS.values():
        for name, allowed in decoder.Settings.allowed().items():
            if name not in common:
                rows.append(setting_row(decoder.name, name, allowed, decoder.Settings))
    return table(["decoder", "setting", "default", "allowed", "meaning"], rows)


def setting_row(decoder: str, name: str, allowed: Allowed, kind: type[Settings]) -> list[str]:
    default = kind.__dataclass_fields__[name].default
    shown = "" if default is None else f"{default:.3g}" if isinstance(default, float) else str(default)
    symbol = f" ({allowed.symbol})" if allowed.symbol else ""
    return [decoder, f"`{name}`{symbol}", shown, allowed.describe(), allowed.help]


def models_table() -> str:
    """Every model known by name, and what else can be named."""
    headings = ["name", *next(iter(rows().values())).words(), "from"]
    return table(headings, [model_row(name, card) for name, card in rows().items()])


def model_row(name: str, card: Card) -> list[str]:
    origin = f"[{card.hub}]({card.link})" if card.link else card.origin
    return [f"`{name}`" if card.hub or card.folder else name, *card.words().values(), origin]


def results_table() -> str:
    """Every decoder at its most accurate setting in every small world, as recorded: accuracy, interval, passes."""
    from dard.experiments import load
    from dard.experiments.points import by_decoder, frontier, points
    from dard.folders import assets
    from dard.sweep import title_of
    from dard.tasks import TASKS

    lines: dict[str, list[str]] = {}
    for world in TASKS:
        for decoder, group in by_decoder(points(load(assets("results"), f"pareto-{world}"))).items():
            best = frontier(group)[-1]
            low, high = (f"{100 * bound:.0f}" for bound in best.interval)
            cell = f"{100 * best.accuracy:.0f} ({low}–{high}) in {best.passes:.1f}"
            lines.setdefault(title_of(decoder), []).append(cell)
    return table(["decoder", *TASKS], [[name, *cells] for name, cells in lines.items()])


TABLES = {"settings": settings_table, "models": models_table, "results": results_table}


def with_tables(text: str) -> str:
    """A text whose marked places hold the present tables."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        if begin in text and end in text:
            before, rest = text.split(begin, 1)
            text = f"{before}{begin}\n{make()}\n{end}{rest.split(end, 1)[1]}"
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
