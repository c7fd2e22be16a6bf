"""Every gallery case still shows what its text says, on the embedded model with the settings it names.

A case's `shows` is a list of claims. A claim is about the case's own decode, or, with `versus`, about another decode of
the same prompt. `step` and `position` say where.
"""

from __future__ import annotations

from typing import Any

import pytest

import dard
from dard.attention import contaminated
from dard.tasks.judge import judge
from visual.service import ASSETS, gallery

CASES = {case["name"]: case for case in gallery()}


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


def holds(claim: dict[str, Any], trace: dard.Trace) -> bool:
    """Whether one claim is true of a trace."""
    step = trace.steps[claim["step"] - 1] if "step" in claim else None
    position = claim.get("position", 0)
    checks = {
        "token": lambda wanted: step is not None and trace.word(step.tokens[position]) == wanted,
        "state": lambda wanted: step is not None and step.states[position] == wanted,
        "event": lambda wanted: step is not None and position in getattr(step, wanted),
        "weight_below": lambda wanted: step is not None and (step.weights[position] or 0) < wanted,
        "contaminated": lambda wanted: step is not None and wanted in [list(found) for found in contaminated(step)],
        "right": lambda wanted: judge(trace.prompt, trace.text) is wanted,
        "has": lambda wanted: wanted in trace.text,
        "ended_by": lambda wanted: (trace.ended_by or "").startswith(wanted),
        "passes": lambda wanted: trace.num_steps == wanted,
    }
    found = [check(claim[name]) for name, check in checks.items() if name in claim]
    assert found, f"a claim must claim something: {claim}"
    return all(found)


@pytest.mark.parametrize("name", CASES)
def test_a_case_shows_what_it_says(name: str, model: Any) -> None:
    case = CASES[name]
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert case["shows"], "a case without claims cannot fail"
    for claim in case["shows"]:
        other = claim.get("versus")
        shown = dard.decode(model, case["prompt"], other["decoder"], **other["settings"]) if other else trace
        assert holds(claim, shown), f"{claim} of {shown.text!r}, {[step.states for step in shown.steps]}"


def test_the_first_case_is_los_diego() -> None:
    assert next(iter(CASES)) == "Los Diego"


@pytest.mark.parametrize("name", CASES)
def test_a_case_points_into_its_own_decode(name: str, model: Any) -> None:
    case = CASES[name]
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert 0 <= case.get("step", 0) <= trace.num_steps and 0 <= case["select"] < len(trace.fixed)
    assert 20 < len(case["look"]) <= 240


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_trace_is_the_case(name: str, model: Any) -> None:
    case = CASES[name]
    path = next(p for p in (ASSETS / "gallery").glob("*.json") if f'"{name}"' in p.read_text(encoding="utf-8"))
    recorded = dard.Trace.load(path.with_suffix(".trace.json.gz"))
    trace = dard.decode(model, case["prompt"], case["decoder"], **case["settings"])
    assert (recorded.prompt, recorded.settings, recorded.text) == (trace.prompt, trace.settings, trace.text)
    assert [(s.tokens, s.states) for s in recorded.steps] == [(s.tokens, s.states) for s in trace.steps]
