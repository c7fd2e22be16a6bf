"""The browser's part: which way its imports point, how long its files are, and that no style is left over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from visual.web import IMPORT, WEB, beside, style

ROOT = Path(__file__).parents[2]
ROOMS = ("data", "draw", "panels", "shell")  # each may import what stands before it
SCRIPTS = sorted(WEB.glob("*/*.js"))
CLASS = r"\.(d[flvwx]-[\w-]+)"


def test_every_module_stands_in_a_room() -> None:
    assert {path.parent.name for path in WEB.rglob("*.*")} == {*ROOMS, "styles"}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    for path in (path for path in SCRIPTS if path.parent.name == room):
        text = path.read_text(encoding="utf-8")
        wanted = [beside(f"{room}/{path.name}", found[2]) for found in IMPORT.finditer(text)]
        assert len(wanted) == len(re.findall(r"^import\b", text, re.M)), f"{path.name} imports otherwise"
        for name in wanted:
            assert (WEB / name).is_file(), name
            assert ROOMS.index(name.split("/")[0]) <= ROOMS.index(room), f"{path.name} imports {name}"


def test_no_module_imports_itself_by_way_of_others() -> None:
    wanted = {
        name: {beside(name, found[2]) for found in IMPORT.finditer((WEB / name).read_text(encoding="utf-8"))}
        for name in (path.relative_to(WEB).as_posix() for path in SCRIPTS)
    }
    while free := [name for name, others in wanted.items() if not others & set(wanted)]:
        for name in free:
            del wanted[name]
    assert not wanted


def test_every_script_is_checked_and_formatted() -> None:
    """By tsc and Biome, but for what is written by a program."""
    types, biome = (json.loads((ROOT / name).read_text(encoding="utf-8")) for name in ("tsconfig.json", "biome.json"))
    options = types["compilerOptions"]
    assert options["checkJs"] and options["strict"] and "exclude" not in types
    assert types["include"] == [f"assets/web/{room}" for room in ROOMS]
    left_out = {name for name in biome["files"]["includes"] if name.startswith("!")}
    assert left_out == {"!assets/web/data/schema.d.ts", "!tests/web/drawn.json"}
    assert not [path.name for path in SCRIPTS if "@ts-" in path.read_text(encoding="utf-8")]


def test_no_file_is_long() -> None:
    for path in WEB.rglob("*.*"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 450, path.name
        if path.suffix == ".css":
            assert max(map(len, lines)) <= 120, path.name


def known(texts: list[str]) -> set[str]:
    """Classes that are written in these texts, or made of a beginning in one and a word there, or one in quotes."""
    quoted = {word for text in texts for word in re.findall(r"'([\w-]+)'", text)}
    return {name for text in texts for name in re.findall(r"(?<![\w-])d[flvwx]-[\w-]+", text)} | {
        begun + word
        for text in texts
        for begun in set(re.findall(r"(?<![\w-])(d[flvwx]-(?:\w+-)*)\$\{", text))
        for word in quoted | set(re.findall(r"[\w-]+", text))
    }


def test_every_class_of_the_styles_is_used() -> None:
    assert known(["h('i', { class: `dv-key dv-key-${kind}` })", "entry('U')"]) >= {"dv-key", "dv-key-U"}
    texts = [path.read_text(encoding="utf-8") for path in [*SCRIPTS, *(ROOT / "visual").rglob("*.py")]]
    sheets = re.sub(r"/\*.*?\*/", "", style("styles/viewer.css", "styles/page.css", "styles/replay.css"), flags=re.S)
    assert sorted(set(re.findall(CLASS, sheets)) - known(texts)) == []
