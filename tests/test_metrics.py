"""What a trace is counted as: one measure, and everybody shows its numbers."""

from __future__ import annotations

import re

import pytest

import dard
from dard.cli import main as command_line
from dard.cli import options
from dard.results.sweep import Job, Scope, Variant, decode_and_score
from dard.tasks import Item
from dard.trace import Step, Trace
from dard.trace.metrics import measure
from dard.trace.records import Start
from tests.experiments.tiny_task import TinyTask
from tests.tiny import random_model
from visual.server.studio import Studio

PROMPT = "w5 w6 w7"
SETTINGS = {"gen_length": 12, "tau_c": 0.3, "tau_u": 0.6, "verify": "argmax", "block_length": None}


def replacing() -> Trace:
    return dard.decode(random_model(3, sharpness=1.2), PROMPT, **SETTINGS)


def made_of(*moments: tuple[list[int], str, dict[str, list[int]]]) -> Trace:
    """A trace of two positions, from tokens, states and events after each step; 0 is the mask."""
    steps = [
        Step(index, (0, 2), tokens, states, columns={"confidence": [0.5, 0.5]}, events=events)
        for index, (tokens, states, events) in enumerate(moments, 1)
    ]
    start = Start([0, 0], "MM", [0.0, 0.0])
    return Trace("none", 1, "hand", {}, "?", [], 0, None, [False, False], start, steps, {}, "")


def test_a_revocation_is_a_return_to_masked_and_a_replacement_is_counted_apart() -> None:
    found = measure(
        made_of(
            ([5, 6], "CC", {"decided": [0, 1]}),
            ([5, 0], "UM", {"promoted": [0], "demoted": [1]}),  # the first pass's 6 was for nothing
            ([7, 8], "CC", {"weakened": [0], "replaced": [0], "decided": [1]}),  # so was its 5
            ([7, 0], "UM", {"promoted": [0], "demoted": [1]}),  # and this pass's 8
            ([7, 8], "UU", {"decided": [1]}),
        )
    )
    assert (found.passes, found.revocations, found.replacements) == (5, 2, 1)
    assert found.flip_flops == 1  # position 1 was decided three times
    assert found.wasted_passes == 2  # the first and the third
    assert found.tokens_per_pass == 2 / 5 and found.changed is None


def test_what_a_trace_says_follows_from_its_states() -> None:
    trace = replacing()
    pairs = [
        (before, after, old, new)
        for step in trace.steps
        for before, after, old, new in zip(
            step.states_before, step.states, step.tokens_before, step.tokens, strict=True
        )
    ]
    found = measure(trace)
    assert found.revocations == sum(before != "M" and after == "M" for before, after, _, _ in pairs)
    assert found.replacements == sum("M" not in (before, after) and old != new for before, after, old, new in pairs)
    assert found.revocations and found.replacements > found.revocations


def test_changed_counts_where_the_results_differ() -> None:
    one, other = made_of(([5, 6], "UU", {"decided": [0, 1]})), made_of(([5, 7], "UU", {"decided": [0, 1]}))
    assert measure(one, other).changed == 1 and measure(one, one).changed == 0


def test_terminal_page_and_experiments_show_the_same_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = random_model(3, sharpness=1.2)
    expected = measure(replacing())

    monkeypatch.setattr(options, "open_model", lambda args: model)
    asked = [word for name, value in SETTINGS.items() if value for word in (f"--{name.replace('_', '-')}", str(value))]
    assert command_line.main(["compare", PROMPT, "--decoders", "dard", *asked]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if re.match(r"\W*dard\b", line))
    assert [cell.strip() for cell in re.split(r"[│┃|]", line)][2:5:2] == [
        str(expected.passes),
        str(expected.revocations),
    ]

    studio = Studio(("random",))
    studio.models.loaded["random"] = model
    lanes = [{"decoder": "dard", "settings": SETTINGS}]
    run = studio.compare({"prompt": PROMPT, "lanes": lanes})["run"]
    *_, last = studio.passes({"run": run})
    (row,) = last["table"]
    assert (row["passes"], row["revocations"]) == (expected.passes, expected.revocations)
    assert (row["replacements"], row["wasted_passes"]) == (expected.replacements, expected.wasted_passes)

    job = Job(model, TinyTask(), Scope([Item(PROMPT, 12, None)], 12, None))
    (scored,) = decode_and_score(job, Variant("argmax", "dard", SETTINGS), [0])
    assert (scored["passes"], scored["revocations"]) == (expected.passes, expected.revocations)
