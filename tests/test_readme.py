"""What the documentation says is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dard
from dard import Trace
from dard.decoders import DECODERS
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


EXAMPLES = {
    "sampler": "7 - 3 = 4 . 5 + 4 = 9 . The answer is 9 .\n",
    "decoder": "The city of Los Angeles is on the Southern California coast . 2\n",
    "model": "3 4 5 6 7\n",
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_three_examples_of_ones_own_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The very text of the README, and what it prints and writes."""
    monkeypatch.chdir(tmp_path)
    section = README.read_text(encoding="utf-8").split("\n## Your own sampler, ")[1].split("\n## ")[0]
    after = section.split(f"**Your own {kind}.**")[1]
    try:
        exec(after.split("```python\n")[1].split("```")[0], {"__name__": "example"})
    finally:
        DECODERS.pop("left", None)
    assert capsys.readouterr().out == EXAMPLES[kind]
    if kind == "sampler":
        trace = Trace.load("mine.json.gz")
        assert trace.finished and trace.num_steps == 24 and trace.steps[0].mask is not None
