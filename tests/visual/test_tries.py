"""How a prompt ends under many settings, and a run that begins with its passes made: for the map and for drags."""

from __future__ import annotations

from typing import Any

import pytest

import dard
from dard.models.scripted import LOS_DIEGO
from tests.tiny import random_model
from visual.server import studio as module
from visual.server.requests import PASSES_AT_ONCE, TRIES_AT_MOST
from visual.server.studio import Studio

PAIRS = [{"tau_c": c / 10, "tau_u": u / 10} for c in (2, 4, 5) for u in (5, 6, 9)]


@pytest.fixture
def studio() -> Studio:
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = dard.load_model("embedded")
    return studio


def every(studio: Studio, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """All tries, asked for until they are there, as the page does."""
    found: list[dict[str, Any]] = []
    while len(found) < len(asked["tries"]):
        found += studio.tries({**asked, "tries": asked["tries"][len(found) :]})["found"]
    return found


def test_a_try_ends_as_a_decode_with_its_settings_does(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED_SECONDS", 0)
    monkeypatch.setattr(module, "TRIED_TOGETHER", 4)
    asked = {"prompt": LOS_DIEGO, "decoder": "dard", "settings": {"p0": 0.2}, "tries": PAIRS}
    assert len(studio.tries(asked)["found"]) == 4, "the first few in any case, and no more when the time is over"
    for pair, outcome in zip(PAIRS, every(studio, asked), strict=True):
        trace = dard.decode(studio.models.load("embedded"), LOS_DIEGO, p0=0.2, **pair)
        assert outcome["passes"] == trace.num_steps and outcome["finished"]
        assert outcome["text"] in trace.text and outcome["right"] == ("Los Angeles" in trace.text)


def test_a_try_that_takes_too_many_passes_says_so_and_keeps_nothing(studio: Studio) -> None:
    studio.models.loaded["embedded"] = random_model(0)
    prompt = "[MASK] " * (PASSES_AT_ONCE + 6)
    asked = {"prompt": prompt, "decoder": "standard", "tries": [{"steps": PASSES_AT_ONCE + 6}, {"steps": 3}]}
    long, short = every(studio, asked)
    assert (long["passes"], long["finished"], long["right"]) == (PASSES_AT_ONCE, False, None)
    assert (short["passes"], short["finished"]) == (3, True)
    assert not studio.runs.kept


def test_tries_are_bounded_and_refused_in_one_sentence(studio: Studio) -> None:
    for tries in ([], [{}] * (TRIES_AT_MOST + 1), [1], "x", [{"tau_c": 0.9, "tau_u": 0.1}], [{"tau_x": 1}]):
        with pytest.raises(dard.InputError):
            studio.tries({"prompt": LOS_DIEGO, "tries": tries})


def test_a_run_begins_with_its_passes_made_and_takes_the_place_of_another(studio: Studio) -> None:
    before = studio.start({"prompt": LOS_DIEGO})
    now = studio.start({"prompt": LOS_DIEGO, "settings": PAIRS[0], "steps": PASSES_AT_ONCE, "instead": before["run"]})
    trace = dard.decode(studio.models.load("embedded"), LOS_DIEGO, **PAIRS[0])
    assert [step["states"] for step in now["payload"]["steps"]] == [step.states for step in trace.steps]
    assert now["finished"] and set(studio.runs.kept) == {now["run"]}
    some = studio.start({"prompt": LOS_DIEGO, "settings": PAIRS[4], "steps": 1})
    assert len(some["payload"]["steps"]) == 1 and not some["finished"]


def test_a_run_that_is_computed_is_not_forgotten(studio: Studio) -> None:
    run = studio.start({"prompt": LOS_DIEGO})["run"]
    with studio.runs.kept[run].working():
        studio.start({"prompt": LOS_DIEGO, "instead": run})
    assert run in studio.runs.kept
