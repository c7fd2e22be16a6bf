"""What the documentation says is what the code does."""

from __future__ import annotations

import re

import dard
from dard.models.scripted import LOS_DIEGO
from dard.tables import README, with_tables
from visual.service import Studio, gallery


def test_tables_are_those_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run `python -m dard.tables`"


def test_the_two_commands_stand_at_the_top_and_exist() -> None:
    top = README.read_text(encoding="utf-8").split("## ")[0]
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for command in ("app", "test"):
        assert f"make {command}" in top and re.search(rf"^{command}:", makefile, re.M)


def test_the_first_thing_to_try_goes_as_told() -> None:
    text = README.read_text(encoding="utf-8").split("## The thing to try first")[1]
    assert "DARD (τ_c 0.4, τ_u 0.5)" in text and "revokes it, and decides it again: three passes" in text
    model = dard.load_model("embedded")
    trace = dard.decode(model, LOS_DIEGO, tau_c=0.4, tau_u=0.5)
    assert trace.num_steps == 3 and [len(step.demoted) for step in trace.steps] == [0, 1, 0]
    case = gallery()[0]
    assert (case["prompt"], case["settings"]) == (LOS_DIEGO, {"tau_c": 0.4, "tau_u": 0.5})
    known = Studio(("embedded",))
    known.model("embedded")
    told = known.knows({})
    assert f"{len(told['words'])} words and six small worlds" in text and len(told["worlds"]) == 6
    assert f"its {model.max_length} tokens" in text


def test_every_place_in_contributing_exists() -> None:
    text = (README.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for place in re.findall(r"`((?:dard|visual|assets|tests)/[\w/.]+)`", text):
        assert (README.parent / place).exists(), place
