"""The README: short, true where it promises something, and its way in works."""

from __future__ import annotations

import re

import dard
from dard.models.scripted import LOS_DIEGO
from tests.test_docs import ROOT
from visual.server.cases import gallery
from visual.server.studio import Studio

README = (ROOT / "README.md").read_text(encoding="utf-8")


def flat(text: str) -> str:
    """Without its line breaks."""
    return " ".join(text.split())


def test_it_is_short() -> None:
    assert len(README.encode()) <= 9000


def test_the_two_commands_stand_at_the_top_and_exist() -> None:
    top, makefile = README.split("## ")[0], (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("app", "test"):
        assert f"make {command}" in top and re.search(rf"^{command}:", makefile, re.M)


def test_every_page_of_the_documentation_is_linked() -> None:
    linked = set(re.findall(r"\]\((docs/\w+\.md)\)", README))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {"docs/reference.md"}


def test_the_first_thing_to_try_goes_as_told() -> None:
    text = flat(README.split("## The thing to try first")[1])
    assert "DARD (τ_c 0.4, τ_u 0.5)" in text and "revokes it, and decides it again: three passes" in text
    model = dard.load_model("embedded")
    session = dard.Session(model, LOS_DIEGO, tau_c=0.4, tau_u=0.5)
    trace = session.run()
    assert trace.num_steps == 3 and [len(step.demoted) for step in trace.steps] == [0, 1, 0]
    *_, verdict = dard.examine(session, 2, 4)
    assert [(cause.position, round(cause.without, 2), cause.state) for cause in verdict.deciding] == [(3, 0.48, "C")]
    case = gallery()[0]
    assert (case["prompt"], case["settings"]) == (LOS_DIEGO, {"tau_c": 0.4, "tau_u": 0.5})
    studio = Studio(("embedded",))
    studio.models.load("embedded")
    told = studio.knows({})
    page = flat((ROOT / "docs" / "page.md").read_text(encoding="utf-8"))
    for said in (text, page):
        assert f"{len(told['words'])} words and six small tasks" in said and len(told["worlds"]) == 6
    assert f"its {model.max_length} tokens" in page
