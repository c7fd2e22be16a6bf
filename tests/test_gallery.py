"""Every gallery case still shows what its text says, on the embedded model with the settings it names.

A case's `shows` is a list of claims (tests/claims.py) about its own decode, or, with `versus`, about another decode of
the same prompt. Every sentence of `look` has one. What others recorded is looked at in tests/test_contribute.py.
"""

from __future__ import annotations

from typing import Any

import pytest

import dard
from tests.claims import holds, unsaid
from visual.server.cases import GALLERY, gallery

CASES = {case["name"]: case for case in gallery() if case["model"] == "embedded"}


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


@pytest.mark.parametrize("name", CASES)
def test_a_case_shows_what_it_says(name: str, model: Any) -> None:
    case = CASES[name]
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert unsaid(case["look"], case["shows"]) == []
    for claim in case["shows"]:
        other = claim.get("versus")
        shown = dard.decode(model, case["prompt"], other["decoder"], **other["settings"]) if other else trace
        assert holds(claim, shown), f"{claim} of {shown.text!r}, {[step.states for step in shown.steps]}"
        assert claim.get("says", "") in f"{case['look']} {case['why']}"


def test_the_first_case_is_los_diego() -> None:
    assert next(iter(CASES)) == "Los Diego"


@pytest.mark.parametrize("name", CASES)
def test_a_comparison_of_a_case_shows_what_is_said_of_others(name: str, model: Any) -> None:
    """Compare opens with the case itself and the decodes its text speaks of, whatever was compared before."""
    case = CASES[name]
    told = [{"decoder": case["decoder"], "settings": case["settings"]}]
    told += [claim["versus"] for claim in case["shows"] if "versus" in claim]
    for lane in case["lanes"]:
        own = [one for one in told if one["decoder"] == lane["decoder"]]
        assert not own or lane == own[0]
    assert len({lane["settings"].get("gen_length") for lane in case["lanes"]}) == 1


@pytest.mark.parametrize("name", CASES)
def test_a_case_points_into_its_own_decode(name: str, model: Any) -> None:
    case = CASES[name]
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert 0 <= case.get("step", 0) <= trace.num_steps and 0 <= case["select"] < len(trace.fixed)
    assert 20 < len(case["look"]) <= 240


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_trace_is_the_case(name: str, model: Any) -> None:
    case = CASES[name]
    path = next(p for p in GALLERY.glob("*.json") if f'"{name}"' in p.read_text(encoding="utf-8"))
    recorded = dard.Trace.load(path.with_suffix(".trace.json.gz"))
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert (recorded.prompt, recorded.settings, recorded.text) == (trace.prompt, trace.settings, trace.text)
    assert [(s.tokens, s.states) for s in recorded.steps] == [(s.tokens, s.states) for s in trace.steps]
