"""The table of what may be asked: who reads it, that nobody has a list of their own, and what nonsense is answered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.visitors import unpacked
from visual.notebook import Notebook
from visual.page import as_function
from visual.server.endpoints import TABLE, Endpoint, endpoints, until_refused
from visual.server.lab import Lab
from visual.server.programs import Programs
from visual.server.studio import Studio
from visual.tabs.component import quick

ROOT = Path(__file__).resolve().parents[2]
VIEWER = {
    "advance", "answer", "attention", "branch", "causes", "diagnose", "export", "gif", "graph", "layers", "life",
    "show", "steps", "stop",
}  # fmt: skip
# What links, notebooks, programs and assistants know by these names.
NAMES = {
    "page": VIEWER | {"check", "compare", "knows", "open_image", "open_trace", "passes", "recorded", "start", "tries"},
    "lab": {"experiment", "lab_file", "lab_open", "lab_recorded", "lab_runs", "lab_stop", "plotly"},
    "notebook": VIEWER,
    "program": {"causes", "compare", "decode", "diagnose", "explain", "health", "step"},
}


def test_everybody_may_ask_what_they_could_ask_before() -> None:
    studio = Studio()
    lab, programs = Lab(studio.models.load), Programs(studio)
    assert {"page": {*endpoints(studio, "page")}, "lab": {*endpoints(lab, "page")}}.items() <= NAMES.items()
    assert endpoints(studio, "notebook").keys() == NAMES["notebook"]
    for asker in ("program", "assistant"):
        assert endpoints(programs, asker).keys() == NAMES["program"]
        assert not endpoints(studio, asker) and not endpoints(lab, asker)
    assert len(TABLE) == sum(len(NAMES[who]) for who in ("page", "lab", "program"))
    assert all(each.__doc__ for each in TABLE)


def literal_names(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """What is listed in brackets, by line: texts, and attributes of something."""
    for node in ast.walk(tree):
        listed = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = [each.value if isinstance(each, ast.Constant) else getattr(each, "attr", None) for each in listed]
        yield getattr(node, "lineno", 0), [name for name in names if isinstance(name, str)]


def test_nobody_else_lists_what_may_be_asked() -> None:
    """Three names that stand together; two may be keys of an answer."""
    calls = {each.name for each in TABLE}
    listed = {
        f"{path.relative_to(ROOT)}:{line} {names}"
        for path in (ROOT / "visual").rglob("*.py")
        for line, names in literal_names(ast.parse(path.read_text(encoding="utf-8")))
        if len(calls.intersection(names)) > 2
    }
    assert listed == set()


# Nonsense.

DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]
NONSENSE: dict[str, Any] = {
    "a list": [1, "x", None],
    "an object": {"a": 1},
    "true": True,
    "below": -(10**9),
    "huge": 10**4000,
    "endless": float("inf"),
    "no number": float("nan"),
    "long": "x" * 100_000,
    "half a character": "\ud800",
    "deep": DEEP,
}
# What the things in a list may have, and one that makes sense.
INSIDE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "lanes": ({"decoder": "dard"}, {"decoder", "settings", "opened"}),
    "edits": ({"step": 1, "position": 3}, {"step", "position", "token", "state", "hide", "check"}),
    "files": ({"name": "", "folder": "", "rows": ""}, {"name", "folder", "rows", "run"}),
}
# A lane may leave everything out; settings are for those that are compared, and for a run that begins.
SENSE = {("compare", "lanes", "an object inside"), *((name, "settings", "an object") for name in ("compare", "step"))}


@pytest.fixture(scope="module")
def studio() -> Studio:
    made = Studio(("los-diego",))
    made.models.loaded["los-diego"] = los_diego()
    return made


def good(each: Endpoint, run: str) -> dict[str, Any]:
    """A question with everything in it that must be there."""
    values: dict[str, Any] = {
        "run": run, "prompt": LOS_DIEGO, "step": 1, "position": 3, "since": 0, "tried": 0, "frames": [],
        "name": "Los Diego", "lanes": [{"decoder": "dard"}], "experiment": "mixing-ablation", "task": "places",
        "lab": "none", "stem": "none", "variant": "", "kind": "html", "files": [],
    }  # fmt: skip
    if each.name.startswith(("lab", "exp")):
        values |= {"kind": "rows", "model": "los-diego"}
    return {name: values[name] for name in each.request.model_fields if name in values}


def nonsense(each: Endpoint, sense: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Questions in which one thing makes no sense, or is not there though it must be."""
    for field, about in each.request.model_fields.items():
        if about.is_required():
            yield field, "missing", {name: value for name, value in sense.items() if name != field}
        for kind, value in NONSENSE.items():
            yield field, kind, {**sense, field: value}
            if field in INSIDE:
                item, inner = INSIDE[field]
                yield field, f"{kind} inside", {**sense, field: [value]}
                for name in sorted(inner):
                    yield field, f"{kind} as {name}", {**sense, field: [{**item, name: value}]}


def check_sentence(text: Any, *where: Any) -> None:
    text.encode()
    assert 0 < len(text) < 1000 and "\n" not in text and "could not do that" not in text, (*where, text)


def test_nonsense_is_refused_in_one_sentence(studio: Studio) -> None:
    accepted = set()
    for room in (studio, Lab(studio.models.load), Programs(studio)):
        for each in (each for each in TABLE if isinstance(room, each.owner)):
            run = studio.start({"prompt": LOS_DIEGO})["run"]
            for field, kind, data in nonsense(each, good(each, run)):
                *_, reply = until_refused(each.replies(room, data))
                if isinstance(reply, dict) and reply.get("kind") in ("error", "checked") and "text" in reply:
                    check_sentence(reply["text"], each.name, field, kind)
                else:
                    accepted.add((each.name, field, kind))
    assert accepted == SENSE


def wild(each: Endpoint) -> Iterator[dict[str, Any]]:
    """Questions in which nothing makes sense."""
    if each.request.model_fields:
        yield from (dict.fromkeys(each.request.model_fields, value) for value in NONSENSE.values())


def test_it_is_refused_at_every_door(studio: Studio) -> None:
    """What they are built of; test_visitors.py knocks at them from outside."""
    programs, widget = Programs(studio), Notebook(dard.Session(los_diego(), LOS_DIEGO))
    for room in (studio, Lab(studio.models.load)):
        for each in endpoints(room, "page").values():
            for data in wild(each):
                reply = unpacked(quick(each.name, partial(each.replies, room))(data))
                check_sentence(reply["text"], each.name, data)
    for each in endpoints(widget._studio, "notebook").values():
        for data in wild(each):
            (reply,) = widget._answers(each.name, data)
            check_sentence(reply["text"], each.name, data)
    for each in endpoints(programs, "program").values():
        for data in wild(each):
            with pytest.raises(gr.Error) as error:
                as_function(each, programs)(*data.values())
            check_sentence(error.value.message, each.name, data)


def test_whatever_goes_wrong_is_told_in_one_sentence(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "session", None)
    data = {"prompt": LOS_DIEGO}
    (reply,) = until_refused(endpoints(studio, "page")["start"].replies(studio, data))
    assert reply["text"].startswith("The server could not do that (TypeError); what is on screen is kept.")
    with pytest.raises(gr.Error, match="could not do that"):
        as_function(endpoints(Programs(studio), "program")["decode"], Programs(studio))(LOS_DIEGO)
