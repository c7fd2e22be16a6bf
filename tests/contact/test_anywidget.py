"""The notebook's widget, a real one of anywidget: whatever the viewer may ask the page's server, it answers too."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import anywidget
import pytest

import dard
from dard.core.folders import assets
from dard.models.scripted import LOS_DIEGO, los_diego
from visual.notebook import Notebook
from visual.server.endpoints import endpoints
from visual.server.studio import Studio

CITY = "The city of [MASK] [MASK] is on the Southern California coast ."


def asked(widget: Notebook, name: Any, data: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What comes back over the widget's own channel."""
    sent: list[Any] = []
    assert isinstance(widget, anywidget.AnyWidget) and widget.comm is not None
    with monkeypatch.context() as patch:
        patch.setattr(type(widget.comm), "publish_msg", lambda comm, kind, data=None, **more: sent.append(data))
        message = {"method": "custom", "content": {"id": "one", "name": name, "data": data}}
        widget.comm.handle_msg({"content": {"data": message}, "buffers": []})
    (answer,) = [each["content"] for each in sent if each.get("method") == "custom"]
    assert answer["id"] == "one"
    return json.loads(gzip.decompress(base64.b64decode(answer["packed"])))


# One good question of every kind; a kind that is missing here fails the test below.
GOOD: dict[str, dict[str, Any]] = {
    "advance": {}, "causes": {"step": 2, "position": 4, "tried": 0},
    "branch": {"step": 2, "position": 3, "hide": "all"}, "attention": {"step": 2}, "life": {"position": 3},
    "graph": {"step": 2}, "layers": {"step": 2, "position": 4}, "show": {}, "steps": {"since": 1},
    "stop": {}, "export": {"kind": "trace"}, "diagnose": {"expected": "San Diego"},
    "answer": {"pattern": "San Diego|Los Angeles"},
}  # fmt: skip


def test_whatever_the_page_may_ask_a_widget_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    live = dard.widget(dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5))
    assert endpoints(Studio(), "notebook").keys() == GOOD.keys() | {"gif"}  # which wants pictures of the browser
    heard = {name: asked(live, name, data, monkeypatch) for name, data in GOOD.items()}
    assert [name for name, found in heard.items() for each in found if each.get("kind") == "error"] == []
    (causes,) = heard["causes"]
    assert causes["verdict"]["causes"][0]["position"] == 3 and "Los" in causes["verdict"]["annotation"]["because"]
    assert heard["attention"][0]["layers"] == 6 and heard["attention"][0]["weights"]
    assert heard["graph"] == [{"step": 2, "cells": ""}]  # this decoder looks at none
    assert heard["branch"][0]["branches"][-1]["name"] == "step 2: Los at 3 hidden from all"
    (gif,) = asked(live, "gif", {"frames": ["x"]}, monkeypatch)
    assert "frame" in gif["text"]


def test_a_graph_comes_to_a_widget_too(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = dard.decode(dard.load_model("embedded"), CITY, decoder="dapd")
    (found,) = asked(dard.widget(trace), "graph", {"step": 1}, monkeypatch)
    assert found["cells"]


def test_what_the_viewer_asks_for_is_on_the_one_list() -> None:
    """A name that only the browser's part knows would be refused."""
    viewers = endpoints(Studio(), "notebook")
    texts = {path.name: path.read_text(encoding="utf-8") for path in assets("web").rglob("*.js")}
    wanted = {name for text in texts.values() for name in re.findall(r"viewer\.(?:ask|order)\('(\w+)'", text)}
    assert {"life", "graph", "causes", "attention", "export", "gif"} <= wanted <= viewers.keys()


def test_a_widget_answers_as_the_page_does() -> None:
    trace = dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    still = dard.widget(trace)
    assert isinstance(still, Notebook) and still.trace is trace and not still._live
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    live = dard.widget(session)
    told, made = live._answers("advance", {"steps": 1})
    assert told["steps"][0]["step"]["index"] == 1 and made["lanes"][0]["steps"] == len(session.steps) == 1
    assert live._answers("branch", {"step": 1, "position": 3, "token": "San", "state": "U"})[0]["branch"] == 1
    live._branch = 1
    assert live.trace is not session.trace and live.trace.word(live.trace.tokens[3]) == "San"
    assert live._answers("export", {"kind": "trace"})[0]["name"] == "dard-trace.json.gz"
    bad: list[tuple[Any, Any]] = [
        ("start", {}), ("_view", {}), (5, {}), ("show", None), ("show", {"branch": 9}), ("advance", {"steps": "1"}),
        ("life", {"position": 99}), ("gif", {"frames": ["x"]}),
    ]  # fmt: skip
    for name, data in bad:
        [answer] = live._answers(name, data)
        assert answer["kind"] == "error" and answer["text"]
    assert still._answers("advance", {})[0]["kind"] == "error"
    with pytest.raises(dard.InputError, match="Session or a Trace"):
        dard.widget("a prompt")  # type: ignore[arg-type]
