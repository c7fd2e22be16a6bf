"""What the documentation says is what the code does."""

from __future__ import annotations

import re

from dard.tables import README, with_tables


def test_tables_are_those_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run `python -m dard.tables`"


def test_the_two_commands_stand_at_the_top_and_exist() -> None:
    top = README.read_text(encoding="utf-8").split("## ")[0]
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for command in ("app", "test"):
        assert f"make {command}" in top and re.search(rf"^{command}:", makefile, re.M)


def test_every_place_in_contributing_exists() -> None:
    text = (README.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for place in re.findall(r"`((?:dard|visual|assets|tests)/[\w/.]+)`", text):
        assert (README.parent / place).exists(), place
