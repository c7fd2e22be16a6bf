"""The tables of the documentation, made from the code. `python -m dard.cli.tables` writes them; a test fails when they
drift. Works in a checkout only.
"""

from __future__ import annotations

import importlib
import tomllib
from collections import Counter
from pathlib import Path

from dard.cli.main import COMMANDS
from dard.core.folders import assets
from dard.core.settings import Allowed, Settings
from dard.decoders import DECODERS
from dard.experiments import EXPERIMENTS, load
from dard.experiments.failures import RIGHT, in_all, kind_of
from dard.experiments.points import by_decoder, frontier, points
from dard.models.families import ADAPTERS
from dard.models.registry import Card, rows
from dard.results.markdown import table
from dard.results.samples import LOSING
from dard.results.sweep import title_of
from dard.tasks import TASKS
from visual.server.endpoints import TABLE
from visual.server.programs import Programs

ROOT = Path(__file__).resolve().parents[2]


def texts() -> list[Path]:
    """Every file that can hold a table."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def rooms_table() -> str:
    """The rooms of the library, each with what its docstring opens with: a room imports only from those above it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(each for each in project["tool"]["importlinter"]["contracts"] if "dard.core" in each["layers"])
    lines = []
    for layer in reversed(contract["layers"]):
        for name in layer.split(" | "):
            if name.startswith("dard."):
                lines.append([f"`{name.replace('.', '/')}/`", opening(name)])
    return table(["room", "what"], lines)


def commands_table() -> str:
    """Every command."""
    return table(["command", "what it does"], [[f"`dard {name}`", about] for name, about in COMMANDS.items()])


def endpoints_table() -> str:
    """What programs may ask of a page, with the arguments in their order."""
    lines = []
    for each in TABLE:
        if each.owner is Programs:
            fields = each.request.model_fields
            needed, other = ([f"`{n}`" for n in fields if fields[n].is_required() == is_] for is_ in (True, False))
            lines.append([f"`/{each.name}`", ", ".join(needed), ", ".join(other), opening_of(each.method.__doc__)])
    return table(["endpoint", "needs", "takes", "answer"], lines)


def experiments_table() -> str:
    """Every experiment, and what it answers to in the paper."""
    lines = [[f"`{name}`", each.shows, each.paper, f"`{each.default_task}`"] for name, each in EXPERIMENTS.items()]
    return table(["name", "shows", "in the paper", "default task"], lines)


def decoders_table() -> str:
    """Every decoder of the project, and how its file begins."""
    headings = ["decoder", "is called", "in a few words", "its file opens with"]
    return table(headings, [[f"`{d.name}`", d.title, d.rule, opening(type(d).__module__)] for d in DECODERS.values()])


def opening(module: str) -> str:
    """The first paragraph of a module's docstring, on one line."""
    return opening_of(importlib.import_module(module).__doc__)


def opening_of(docstring: str | None) -> str:
    """Its first paragraph, on one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


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


def families_table() -> str:
    """Every family of checkpoints, with what it was compared, and what of it never ran here."""
    lines = [[name, *told] for adapter in ADAPTERS for name, told in adapter.COMPARED.items()]
    return table(["family", "compared with", "never ran here"], lines)


def results_table() -> str:
    """Every decoder at its most accurate setting in every small world, as recorded: accuracy, interval, passes."""
    lines: dict[str, list[str]] = {}
    for world in TASKS:
        for decoder, group in by_decoder(points(load(assets("results"), f"pareto-{world}"))).items():
            best = frontier(group)[-1]
            low, high = (f"{100 * bound:.0f}" for bound in best.interval)
            cell = f"{100 * best.accuracy:.0f} ({low}–{high}) in {best.passes:.1f}"
            lines.setdefault(title_of(decoder), []).append(cell)
    return table(["decoder", *TASKS], [[name, *cells] for name, cells in lines.items()])


def kinds_table() -> str:
    """What lost the wrong answers of every small world, as recorded: all decoders with all of their settings."""
    lines = []
    for world in TASKS:
        rows = load(assets("results"), f"failures-{world}").rows
        kinds = Counter(map(kind_of, rows))
        wrong = len(rows) - kinds[RIGHT]
        lines.append([world, f"{wrong} of {len(rows)}", *(str(kinds[kind]) for kind in LOSING)])
    return table(["world", "wrong runs", *LOSING], lines)


LOSSES = ("Decoder", "Wrong", "Conflict (%)", "Commit (%)", "Ending (%)", "One token (%)", "Came back (%)")


def losing_table() -> str:
    """What lost those of each decoder on open Sudokus: shares in % with their intervals."""
    whole = in_all(points(load(assets("results"), "failures-sudoku-open")))
    lines = [dict(zip(whole.columns, line, strict=True)) for line in whole.rows]
    return table([name.lower() for name in LOSSES], [[line[name] for name in LOSSES] for line in lines])


TABLES = {
    "rooms": rooms_table,
    "commands": commands_table,
    "experiments": experiments_table,
    "endpoints": endpoints_table,
    "decoders": decoders_table,
    "settings": settings_table,
    "models": models_table,
    "families": families_table,
    "results": results_table,
    "kinds": kinds_table,
    "losing": losing_table,
}


def with_tables(text: str) -> str:
    """A text whose marked places hold the present tables."""
    for name, make in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        if begin in text and end in text:
            before, rest = text.split(begin, 1)
            text = f"{before}{begin}\n{make()}\n{end}{rest.split(end, 1)[1]}"
    return text


if __name__ == "__main__":
    for path in texts():
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
