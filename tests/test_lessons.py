"""What the guided tour asks and answers is true of the embedded model with the settings each page shows.

A page's `claims` (tests/claims.py) are about the decode it shows, or about its `lane`. Every sentence of an answer has
one.
"""

from __future__ import annotations

from typing import Any

import pytest

import dard
from tests.claims import holds, unsaid
from visual.payload import header
from visual.server.cases import lessons
from visual.server.runs import lane_names

LESSONS = {lesson["title"]: lesson for lesson in lessons()}


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


def traces(model: Any, title: str) -> list[dard.Trace]:
    """The decodes a page shows, one per lane."""
    show = LESSONS[title]["show"]
    lanes = show.get("lanes") or [show]
    return [dard.decode(model, show["prompt"], lane["decoder"], **lane["settings"]) for lane in lanes]


def test_a_page_has_a_name_and_a_number_of_version_0_2_leads_to_one_page() -> None:
    names = [lesson["name"] for lesson in lessons()]
    assert len(set(names)) == len(names) and all(name.isalpha() and name.islower() for name in names)
    assert sorted(number for lesson in lessons() for number in lesson["was"]) == list(range(1, 13))


@pytest.mark.parametrize("title", LESSONS)
def test_a_page_points_into_its_own_decode(title: str, model: Any) -> None:
    lesson = LESSONS[title]
    found = traces(model, title)[lesson["reveal"].get("lane", 0)]
    for place in (lesson["show"], lesson["reveal"]):
        assert place["position"] < len(found.fixed) and not found.fixed[place["position"]]
    assert lesson["show"]["step"] <= found.num_steps


@pytest.mark.parametrize("title", LESSONS)
def test_what_a_page_says_is_true_of_what_it_shows(title: str, model: Any) -> None:
    lesson = LESSONS[title]
    found = traces(model, title)
    assert unsaid(lesson["answer"], lesson["claims"]) == []
    texts = " ".join([*lesson["text"], lesson["do"], lesson["question"], lesson["answer"]])
    for claim in lesson["claims"]:
        assert claim.get("says", "") in texts
        if set(claim) != {"says"}:  # a sentence about the page or about diffusion models in general
            trace = found[claim.get("lane", 0)]
            assert holds(claim, trace), f"{claim} of {trace.text!r}, {[step.states for step in trace.steps]}"


def test_no_shadow_sees_the_token_it_judges(model: Any) -> None:
    [trace] = traces(model, "A shadow to verify with")
    mask = trace.steps[1].mask
    assert mask is not None
    length = len(mask) // 2
    for position in range(length):
        assert not mask[length + position][position] and mask[length + position][length + position]


def test_lanes_of_one_decoder_are_told_apart_in_running_text(model: Any) -> None:
    show = LESSONS["Thresholds: speed against quality"]["show"]
    sessions = [dard.Session(model, show["prompt"], lane["decoder"], **lane["settings"]) for lane in show["lanes"]]
    names = lane_names(sessions)
    assert names == ["DARD τ_c 0.6 τ_u 0.8", "DARD τ_c 0.4 τ_u 0.5"]
    assert header(sessions[0].trace, names[0])["name"] == names[0]
