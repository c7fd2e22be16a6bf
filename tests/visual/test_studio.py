"""The service behind the page: runs, branches, files, and what it refuses."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.tasks import TASKS
from tests.tiny import random_model
from visual.server import models, runs
from visual.server import studio as module
from visual.server.opening import page_config
from visual.server.programs import Programs, told
from visual.server.requests import DecodeRequest
from visual.server.studio import Studio
from visual.start import usual_models

SUM = "Q : Tom has 7 apples . He gets 5 more and loses 3 . How many apples ? A :"
ASKED = {"prompt": LOS_DIEGO, "decoder": "dard", "settings": {"tau_c": 0.4, "tau_u": 0.8}}


@pytest.fixture
def studio() -> Studio:
    studio = Studio(("los-diego",), positions=256)
    studio.models.loaded["los-diego"] = los_diego()
    return studio


def all_steps(studio: Studio, view: dict[str, Any]) -> list[dict[str, Any]]:
    *replies, made = studio.advance({"run": view["run"]})
    steps = [found["step"] for reply in replies for found in reply["steps"]]
    told = studio.show({"run": view["run"]})["payload"]["steps"]
    assert made["kind"] == "made" and made["lanes"] == [{"branch": 0, "steps": len(told), "finished": True}]
    return steps


def test_a_run_starts_without_a_step_and_ends_where_decode_ends(studio: Studio) -> None:
    view = studio.start(ASKED)
    assert view["payload"]["steps"] == [] and not view["finished"]
    steps = all_steps(studio, view)
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    assert len(steps) == trace.num_steps
    assert studio.show({"run": view["run"]})["finished"]
    assert all_steps(studio, view) == []


def test_a_graph_is_asked_for_by_its_step(studio: Studio) -> None:
    studio.models.loaded["los-diego"] = dard.load_model("embedded")
    view = studio.start({"prompt": LOS_DIEGO, "decoder": "dapd"})
    all_steps(studio, view)
    assert studio.graph({"run": view["run"], "step": 1})["cells"]
    assert not studio.graph({"run": view["run"], "step": 77})["cells"]
    for step in (0, -1, "1", True, None, 10**9):
        with pytest.raises(dard.InputError, match="step must be a whole number from 1"):
            studio.graph({"run": view["run"], "step": step})


def test_one_step_is_exactly_one(studio: Studio) -> None:
    view = studio.start(ASKED)
    reply, made = studio.advance({"run": view["run"], "steps": 1})
    assert [found["step"]["index"] for found in reply["steps"]] == [1]
    assert made["lanes"] == [{"branch": 0, "steps": 1, "finished": False}]


def test_steps_are_told_again_from_any_number_on(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    view = studio.start(ASKED)
    steps = all_steps(studio, view)
    for since in range(len(steps) + 1):
        again = studio.steps({"run": view["run"], "branch": 0, "since": since})
        assert [found["step"] for found in again["steps"]] == steps[since:]
    assert studio.steps({"run": view["run"], "since": 99})["steps"] == []
    monkeypatch.setattr(module, "STEPS_AT_ONCE", 2)
    assert [found["step"]["index"] for found in studio.steps({"run": view["run"], "since": 1})["steps"]] == [2, 3]
    for bad in ({}, {"since": -1}, {"since": "1"}, {"since": 0, "branch": 5}, {"since": 0, "run": "guess"}):
        with pytest.raises(dard.InputError):
            studio.steps({"run": view["run"], **bad})


def test_lanes_in_lock_step_end_with_how_many_steps_each_has(studio: Studio) -> None:
    lanes = [{"decoder": "dard", "settings": ASKED["settings"]}, {"decoder": "standard", "settings": {"steps": 1}}]
    view = studio.compare({"prompt": LOS_DIEGO, "lanes": lanes})
    *replies, made = studio.passes({"run": view["run"]})
    numbers = [
        [found["step"]["index"] for r in replies for found in r["steps"] if found["branch"] == n] for n in (0, 1)
    ]
    assert numbers == [list(range(1, lane["steps"] + 1)) for lane in made["lanes"]]
    assert len(made["table"]) == 2 and all(lane["finished"] for lane in made["lanes"])


def test_traces_from_files_are_lanes_beside_live_ones(studio: Studio) -> None:
    mine = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    other = dard.decode(random_model(3), "w5 w6 w7", gen_length=6)
    files = [studio.open_trace({"data": trace.to_bytes(), "name": "mine"})["run"] for trace in (mine, other)]
    opened = [{"opened": key} for key in files]
    live = {"decoder": "standard", "settings": {}}
    view = studio.compare({"prompt": LOS_DIEGO, "lanes": [opened[0], live, opened[1]]})
    assert [body["name"] for body in view["payloads"]] == ["mine", "Standard", "mine (3)"]
    assert [len(body["steps"]) for body in view["payloads"]] == [mine.num_steps, 0, other.num_steps]
    *replies, made = studio.passes({"run": view["run"]})
    assert {found["branch"] for reply in replies for found in reply["steps"]} == {1}
    assert [lane["branch"] for lane in made["lanes"]] == [1] and "table" not in view
    rows = made["table"]
    assert [row["passes"] for row in rows] == [mine.num_steps, 2, other.num_steps]
    standard = dard.decode(los_diego(), LOS_DIEGO, decoder="standard")
    changed = sum(a != b for a, b in zip(mine.tokens, standard.tokens, strict=True))
    assert [row["changed"] for row in rows] == [changed, 0, None]  # nothing to count another model's tokens against
    alone = studio.compare({"lanes": opened})
    assert [row["passes"] for row in alone["table"]] == [mine.num_steps, other.num_steps]
    assert len(studio.export({"run": alone["run"], "kind": "lanes"})[2]) > len(studio.export({"run": alone["run"]})[2])
    for bad in ([{"opened": "guess"}], [{"opened": 5}], [{"opened": files[0]}] * 6):
        with pytest.raises(dard.InputError):
            studio.compare({"lanes": bad})


def test_a_branch_leaves_the_original_alone(studio: Studio) -> None:
    view = studio.start(ASKED)
    all_steps(studio, view)
    before = studio.show({"run": view["run"], "branch": 0})["payload"]
    branch = studio.branch({"run": view["run"], "step": 1, "position": 3, "token": "San", "state": "U"})
    assert branch["branch"] == 1 and branch["branches"][1]["name"] == "step 1, position 3: San, unmasked"
    list(studio.advance({"run": view["run"], "branch": 1}))
    assert studio.show({"run": view["run"], "branch": 0})["payload"] == before


def test_stop_ends_a_run_after_its_step(studio: Studio) -> None:
    view = studio.start(ASKED)
    going = studio.advance({"run": view["run"]})
    next(going)
    studio.stop({"run": view["run"]})
    assert [reply["kind"] for reply in going] == ["made"]


def test_every_export_has_its_kind_of_content(studio: Studio) -> None:
    view = studio.start(ASKED)
    all_steps(studio, view)
    expected = {
        "trace": ("trace.json.gz", b"\x1f\x8b"),
        "html": ("step-2.html", b"<!doctype html>"),
        "lanes": ("step-2.html", b"<!doctype html>"),
    }
    for kind, (named, start) in expected.items():
        name, media, content = studio.export({"run": view["run"], "kind": kind, "state": {"step": 2}, "title": "Los"})
        assert name == named and "/" in media and content.startswith(start)
    assert b"<title>Los</title>" in content
    for bad in ({"kind": "exe"}, {"state": {"step": "2"}}, {"kind": "html", "state": {"<b>": 1}}, {"title": 5}):
        with pytest.raises(dard.InputError):
            studio.export({"run": view["run"], **bad})


def test_frames_that_are_none_are_refused(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANIMATION_AT_MOST", 3 << 20)
    cases = [
        ({}, "frames must be a list"),
        ({"frames": "PNG"}, "frames must be a list"),
        ({"frames": ["AAAA"] * 301}, "at most 300"),
        ({"frames": [None]}, "a frame is missing"),
        ({"frames": [{"a": 1}]}, "a frame is missing"),
        ({"frames": ["<svg onload=alert(1)>"]}, "did not arrive whole"),
        ({"frames": ["ü"]}, "did not arrive whole"),
        ({"frames": ["AAAA"]}, "not a PNG"),
        ({"frames": ["A" * (2 << 20)] * 2}, "larger than 3 MB together"),
    ]
    for request, words in cases:
        with pytest.raises(dard.InputError) as error:
            studio.gif(request)
        assert words in str(error.value) and "\n" not in str(error.value)


def test_a_trace_file_opens_and_cannot_go_on(studio: Studio) -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    view = studio.open_trace({"data": trace.to_bytes()})
    assert len(view["payload"]["steps"]) == trace.num_steps and not view["live"]
    with pytest.raises(dard.InputError, match="opened from a file"):
        next(studio.advance({"run": view["run"]}))


def test_the_oldest_runs_are_forgotten(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "RUNS_KEPT", 2)
    first, *_ = [studio.start(ASKED) for _ in range(3)]
    with pytest.raises(dard.InputError, match="forgotten"):
        studio.show({"run": first["run"]})


def test_large_runs_and_those_nobody_asks_for_are_forgotten(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(view: dict[str, Any]) -> bool:
        return view["run"] in studio.runs.kept

    large = studio.start(ASKED)
    all_steps(studio, large)
    small = studio.start(ASKED)
    assert studio.runs.kept[large["run"]].bytes > 2 * studio.runs.kept[small["run"]].bytes > 0
    monkeypatch.setattr(runs, "BYTES_EACH", studio.runs.kept[large["run"]].bytes)
    newest = studio.start(ASKED)
    assert [known(view) for view in (large, small, newest)] == [False, True, True]
    monkeypatch.undo()
    studio.runs.kept[small["run"]].touched -= runs.RUN_AT_MOST
    studio.runs.kept[newest["run"]].touched -= runs.RUN_AT_MOST
    studio.show({"run": newest["run"]})
    with studio.runs.kept[small["run"]].working():
        studio.start(ASKED)
        assert known(small)  # somebody waits for it
    studio.start(ASKED)
    assert known(small)  # it has only just ended
    studio.runs.kept[small["run"]].touched -= runs.RUN_AT_MOST
    studio.start(ASKED)
    assert [known(view) for view in (small, newest)] == [False, True]


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
    if words not in ("unknown model", "prompt must be text"):
        assert studio.check(request_)["text"] == str(error.value)


def test_what_a_run_would_take_is_told_before_it_is_asked_for(studio: Studio) -> None:
    reply = studio.check(ASKED)
    assert (reply["sizes"], reply["limit"]) == ([(0, 12)], 512) and "text" not in reply
    lanes = [{"decoder": "dard", "settings": {"gen_length": n}} for n in (7, 7)]
    assert studio.check({"prompt": "The city of", "lanes": lanes})["sizes"] == [(3, 7), (3, 7)]
    lanes[0]["settings"] = {"gen_length": 8}
    assert "same gen_length" in studio.check({"prompt": "The city of", "lanes": lanes})["text"]
    assert studio.check({**ASKED, "image": "x"}) == {"kind": "checked"}


def test_all_unknown_words_are_told_in_their_order(studio: Studio) -> None:
    names = [f"word{number}" for number in range(40)]
    reply = studio.check({"prompt": "The [MASK]" + " ".join([*names, *names]) + "[MASK]last"})
    assert reply["unknown"] == (*names, "last") and "sizes" not in reply


def test_a_model_that_is_not_loaded_is_not_loaded_to_tell() -> None:
    studio = Studio(("embedded",))
    assert studio.check(ASKED) == {"kind": "checked"}
    assert studio.knows({}) == {"kind": "knows", "words": [], "worlds": []}
    assert not studio.models.loaded


def test_what_a_model_knows_is_what_its_vocabulary_says(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    assert studio.knows({})["words"] == los_diego().words and studio.knows({})["worlds"] == []
    monkeypatch.setattr(module, "WORDS_AT_MOST", 5)
    assert studio.knows({})["words"] == []
    monkeypatch.undo()
    studio = Studio(("embedded",))
    model = studio.models.load("embedded")
    known = studio.knows({"model": "embedded"})
    assert known["words"] == [model.token_text(number) for number in range(model.vocab_size)]
    assert len(known["worlds"]) == len(TASKS)
    for world in known["worlds"]:
        length = {} if world["gen_length"] is None else {"gen_length": world["gen_length"]}
        assert "sizes" in studio.check({"prompt": world["prompt"], "settings": length}), world


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


def arriving(monkeypatch: pytest.MonkeyPatch) -> tuple[Studio, threading.Event, list[str]]:
    """A studio whose model is fetched, byte by byte, until it is let in; and how that ended."""
    let_in, ended = threading.Event(), []

    def slowly(name: str, progress: Any, **_: Any) -> Any:
        try:
            for number in range(2000):
                progress("fetching", number * 10**8, 16 * 10**9)
                if let_in.wait(0.005):
                    progress("loading", 10**9, 2 * 10**9)
                    ended.append("loaded")
                    return los_diego()
        except dard.InputError as error:
            ended.append(str(error))
            raise
        raise AssertionError("nobody ended it")

    monkeypatch.setattr("visual.server.models.load_model", slowly)
    return Studio(("llada-8b-instruct",)), let_in, ended


def test_a_visitor_hears_how_far_a_model_is(monkeypatch: pytest.MonkeyPatch) -> None:
    studio, let_in, ended = arriving(monkeypatch)
    news = studio.models.waiting("", "q")
    begin = models.Arrival("llada-8b-instruct").text
    assert begin.startswith("Loading llada-8b-instruct (8 B parameters, 17 GB in bfloat16")
    next(news)
    assert re.fullmatch(r"Fetching llada-8b-instruct: \d+\.\d of 16\.0 GB …", next(news)["text"])
    let_in.set()
    list(news)
    assert ended == ["loaded"] and studio.models.load("llada-8b-instruct").name == "los-diego"
    assert not list(studio.models.waiting("", "q"))


def test_a_download_ends_when_the_last_one_who_waits_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    studio, _, ended = arriving(monkeypatch)
    one, other = (studio.models.waiting("", question) for question in ("one", "other"))
    next(one), next(other)
    assert studio.stop({"loading": "one"})["kind"] == "stopped"
    with pytest.raises(dard.InputError, match="llada-8b-instruct was left; what has been fetched of it is kept"):
        list(one)
    assert next(other)["kind"] == "waiting" and not ended
    studio.stop({"loading": "other"})
    with pytest.raises(dard.InputError, match="was left"):
        list(other)
    for _ in range(100):
        if ended:
            break
        time.sleep(0.05)
    assert ended and ended[0].startswith("nobody waits for model llada-8b-instruct any more")
    assert not studio.models.loaded


def test_what_goes_wrong_on_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, **_: Any) -> Any:
        raise dard.InputError("the hub cannot be reached")

    monkeypatch.setattr("visual.server.models.load_model", fail)
    with pytest.raises(dard.InputError, match="the hub cannot be reached"):
        list(Studio(("llada-8b-instruct",)).models.waiting(""))


# Causes.


def second_step(studio: Studio) -> dict[str, Any]:
    view = studio.start(ASKED)
    all_steps(studio, view)
    return {"run": view["run"], "step": 2, "position": 3}


def test_causes_are_found_once_and_kept_with_the_run(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = second_step(studio)
    monkeypatch.setattr(module, "CAUSES_SECONDS", 0)  # one pass at a time
    replies = [studio.causes({**asked, "tried": 0})]
    while replies[-1]["verdict"]["left"]:
        replies.append(studio.causes({**asked, "tried": len(replies[-1]["verdict"]["causes"])}))
    assert [len(reply["verdict"]["causes"]) for reply in replies[:3]] == [0, 1, 2]
    cause = replies[-1]["verdict"]["causes"][0]
    assert (cause["position"], cause["state"], cause["shown"]) == (4, "C", False)
    assert cause["without"] == pytest.approx(0.51, abs=0.01) and "Diego" in replies[-1]["words"].values()
    monkeypatch.setattr(module, "call", None)  # what is known is not asked for again
    assert studio.causes({**asked, "tried": 0}) == replies[-1]
    assert studio.show(asked)["payload"]["causes"] == [replies[-1]["verdict"]]
    saved = dard.Trace.from_bytes(studio.export({"run": asked["run"], "kind": "trace"})[2])
    assert [(verdict.step, verdict.position) for verdict in saved.causes] == [(2, 3)]


def test_a_trace_without_a_model_has_only_the_causes_it_was_saved_with(studio: Studio) -> None:
    asked = second_step(studio)
    studio.causes({**asked, "tried": 0})
    opened = studio.open_trace({"data": studio.export({"run": asked["run"], "kind": "trace"})[2]})
    assert studio.causes({**asked, "run": opened["run"], "tried": 0})["verdict"]["annotation"]["say"]
    for refused in ({"position": 4, "tried": 0}, {"step": 1, "tried": 0}):
        with pytest.raises(dard.InputError, match="has no model behind it; decode its prompt to see its causes"):
            studio.causes({**asked, "run": opened["run"], **refused})
    with pytest.raises(dard.InputError, match="to see its attention"):
        studio.attention({**asked, "run": opened["run"]})


def test_a_hidden_token_makes_a_branch_that_says_so(studio: Studio) -> None:
    asked = second_step(studio)
    studio.causes({**asked, "tried": 0})
    studio.causes({**asked, "step": 1, "tried": 0})
    for hide, name in (({"hide": "all"}, "all"), ({"hide": "check", "check": 3}, "position 3")):
        view = studio.branch({**asked, "position": 4, **hide})
        assert view["branches"][-1]["name"] == f"step 2: Diego at 4 hidden from {name}"
        assert len(view["payload"]["steps"]) == 2 and "by hand" in view["payload"]["steps"][-1]["annotation"]["say"]
        assert [verdict["step"] for verdict in view["payload"]["causes"]] == [1]  # what came before is shared
    edits = [{"step": 2, "position": 4, "hide": "all"}]
    assert studio.start({**ASKED, "edits": edits})["branches"][-1]["name"] == "step 2: Diego at 4 hidden from all"
    for bad in ({"hide": "nobody"}, {"hide": "check"}, {"hide": "check", "check": 0}, {"hide": "all", "step": 0}):
        with pytest.raises(dard.InputError):
            studio.branch({**asked, "position": 4, **bad})


def test_what_cannot_be_explained_is_refused_with_a_sentence(studio: Studio) -> None:
    asked = second_step(studio)
    with pytest.raises(dard.InputError, match="position 0 is given by the template"):
        studio.causes({**asked, "position": 0, "tried": 0})
    with pytest.raises(dard.InputError, match="does not offer"):
        studio.attention(asked)
    settings = ASKED["settings"]
    programs, asked = Programs(studio), {"prompt": LOS_DIEGO, "settings": settings}
    found = programs.causes({**asked, "step": 2, "position": 3, "seconds": 5})
    assert found["causes"][0]["position"] == 4 and found["note"].startswith("'Diego' at 4 alone decides this")
    for step, position, seconds in ((99, 3, 5), (2, 99, 5), (2, 3, 0), (2, 3, 1e9), ("2", 3, 5)):
        with pytest.raises(dard.InputError):
            programs.causes({**asked, "step": step, "position": position, "seconds": seconds})


def test_the_page_offers_a_second_model_that_is_fetched_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert usual_models() == "embedded,bert-base-uncased"
    studio = Studio(tuple(usual_models().split(",")))
    unknown = {"prompt": "The city of [MASK] is in France ."}
    assert studio.check(unknown) == {"kind": "checked"}  # nothing is loaded for this
    studio.models.load("embedded")
    assert studio.check(unknown)["instead"] == "bert-base-uncased"
    with pytest.raises(dard.InputError, match="hub cannot be reached and model 'google-bert/bert-base-uncased' is not"):
        list(studio.models.waiting("bert-base-uncased"))
    assert studio.decode(DecodeRequest(prompt=LOS_DIEGO)).finished


def test_an_answer_without_room_is_told_to_programs_as_cut_off() -> None:
    studio = Studio(("embedded",))
    trace = studio.decode(DecodeRequest(prompt=SUM, decoder="standard", settings={"gen_length": 16}))
    assert told(trace)[-1] == "The answer is cut off: the region ends before it does."
    run = studio.compare({"prompt": SUM, "lanes": [{"decoder": "standard", "settings": {"gen_length": 16}}]})
    *_, last = studio.passes({"run": run["run"]})
    assert [row["right"] for row in last["table"]] == ["cut off"]
