"""The service behind the page: runs, branches, files, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from visual import service
from visual.service import Studio, page_config

ASKED = {"prompt": LOS_DIEGO, "decoder": "dard", "settings": {"tau_c": 0.4, "tau_u": 0.8}}


@pytest.fixture
def studio() -> Studio:
    studio = Studio(("los-diego",))
    studio._loaded["los-diego"] = los_diego()
    return studio


def all_steps(studio: Studio, view: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for reply in studio.advance({"run": view["run"]}) for step in reply["steps"]]


def test_a_run_starts_without_a_step_and_ends_where_decode_ends(studio: Studio) -> None:
    view = studio.start(ASKED)
    assert view["payload"]["steps"] == [] and not view["finished"]
    steps = all_steps(studio, view)
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    assert len(steps) == trace.num_steps
    assert studio.show({"run": view["run"]})["finished"]
    assert all_steps(studio, view) == []


def test_one_step_is_exactly_one(studio: Studio) -> None:
    view = studio.start(ASKED)
    replies = list(studio.advance({"run": view["run"], "steps": 1}))
    assert [reply["steps"][0]["i"] for reply in replies] == [1]


def test_a_branch_leaves_the_original_alone(studio: Studio) -> None:
    view = studio.start(ASKED)
    all_steps(studio, view)
    before = studio.show({"run": view["run"], "branch": 0})["payload"]
    branch = studio.branch({"run": view["run"], "step": 1, "position": 3, "token": "San", "state": "U"})
    assert branch["branch"] == 1 and branch["branches"][1]["name"] == "step 1: 3 → San, unmasked"
    list(studio.advance({"run": view["run"], "branch": 1}))
    assert studio.show({"run": view["run"], "branch": 0})["payload"] == before


def test_stop_ends_a_run_after_its_step(studio: Studio) -> None:
    view = studio.start(ASKED)
    going = studio.advance({"run": view["run"]})
    next(going)
    studio.stop({"run": view["run"]})
    assert list(going) == []


def test_every_export_has_its_kind_of_content(studio: Studio) -> None:
    view = studio.start(ASKED)
    all_steps(studio, view)
    begins = {
        "trace": b"\x1f\x8b",
        "html": b"<!doctype html>",
        "png": b"\x89PNG",
        "gif": b"GIF8",
        "mask": b"<",
        "score": b"<",
    }
    for kind, start in begins.items():
        name, media, content = studio.export({"run": view["run"], "kind": kind, "step": 2, "position": 4})
        assert content.startswith(start) and "/" in media and name.startswith("dard-dard-")


def test_a_trace_file_opens_and_cannot_go_on(studio: Studio) -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    view = studio.open_trace(trace.to_bytes())
    assert len(view["payload"]["steps"]) == trace.num_steps and not view["live"]
    with pytest.raises(dard.InputError, match="opened from a file"):
        next(studio.advance({"run": view["run"]}))


def test_the_oldest_runs_are_forgotten(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "RUNS_KEPT", 2)
    first, *_ = [studio.start(ASKED) for _ in range(3)]
    with pytest.raises(dard.InputError, match="forgotten"):
        studio.show({"run": first["run"]})


def test_answers_are_plain_json(studio: Studio) -> None:
    view = studio.start(ASKED)
    for answer in (view, *studio.advance({"run": view["run"]}), studio.life({"run": view["run"], "position": 4})):
        assert json.loads(json.dumps(answer, allow_nan=False)) == json.loads(json.dumps(answer))
    json.dumps(page_config(studio), allow_nan=False)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({}, "prompt must be text"),
        ({"prompt": 5}, "prompt must be text"),
        ({"prompt": "x" * 5000}, "at most 4000"),
        ({"prompt": "  "}, "prompt is empty"),
        ({"prompt": LOS_DIEGO, "decoder": "<img>"}, "unknown decoder"),
        ({"prompt": LOS_DIEGO, "decoder": ["dard"]}, "decoder must be text"),
        ({"prompt": LOS_DIEGO, "model": "../../etc"}, "unknown model"),
        ({"prompt": LOS_DIEGO, "settings": "tau_c"}, "settings must be an object"),
        ({"prompt": LOS_DIEGO, "settings": {"tau_c": float("nan")}}, "tau_c"),
        ({"prompt": LOS_DIEGO, "settings": {"__class__": 1}}, "not a setting"),
        ({"prompt": LOS_DIEGO, "settings": {"record": False}}, "not a setting"),
        ({"prompt": "The city", "settings": {"gen_length": 400}}, "at most 256"),
    ],
)
def test_bad_starts_are_refused_in_one_sentence(studio: Studio, request_: dict[str, Any], words: str) -> None:
    with pytest.raises(dard.InputError) as error:
        studio.start(request_)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run": "guess"}, "forgotten"),
        ({"run": None}, "run must be text"),
        ({"branch": 7}, "branch"),
        ({"branch": True}, "branch"),
        ({"step": -1}, "step"),
        ({"step": 99}, "step"),
        ({"position": "4"}, "position"),
        ({"position": 0}, "given by the template"),
        ({"token": "two words"}, "two"),
        ({"token": {"a": 1}}, "token"),
        ({"state": "X"}, "state"),
    ],
)
def test_bad_branches_are_refused_and_nothing_is_lost(studio: Studio, change: dict[str, Any], words: str) -> None:
    view = studio.start(ASKED)
    all_steps(studio, view)
    edit = {"run": view["run"], "branch": 0, "step": 1, "position": 3, "token": "San", "state": "U"}
    with pytest.raises(dard.InputError) as error:
        studio.branch({**edit, **change})
    assert words in str(error.value)
    assert len(studio.show({"run": view["run"]})["branches"]) == 1
