"""The files the page hands out. That a replay works is tests/browser's business; here: what stands in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace
from visual.export import embedded, notebook_html, replay_html, trace_json
from visual.web import WEB, script, style

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)> & "quoted" <!--'


def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


def data_of(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_a_trace_file_reads_back() -> None:
    trace = los()
    assert Trace.from_bytes(trace_json(trace)).text == trace.text
    assert Trace.from_bytes(trace_json(trace, compress=False)).num_steps == trace.num_steps


def test_a_replay_needs_nothing_from_outside() -> None:
    page = replay_html(los())
    outside = re.findall(r"""(?:src|href)\s*=|@import|url\(|https?://[^"'`\s]+|XMLHttpRequest|WebSocket""", page)
    assert set(outside) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\bfetch\(|sendBeacon|\bimport\(", script("replay.js").replace("fetch?.(", ""))


def test_its_policy_names_exactly_its_own_script_and_style() -> None:
    page = replay_html(los())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    script = re.search(r'<script type="module">(.*)</script>\n</body>', page, re.S)
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert script and style
    for kind, text in (("script", script[1]), ("style", style[1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]


def test_text_cannot_leave_its_place() -> None:
    trace = los().model_copy(
        update={"prompt": EVIL, "model": EVIL, "text": EVIL, "token_text": dict.fromkeys(los().token_text, EVIL)}
    )
    page = replay_html({EVIL: trace}, title=EVIL)
    assert page.count("<script") == 2 + script("replay.js").count("<script")
    assert "<img" not in page
    assert data_of(page)[0]["prompt"] == EVIL
    assert "<" not in embedded([EVIL]) and ">" not in embedded([EVIL])


def test_several_traces_stand_side_by_side() -> None:
    traces = dard.compare(los_diego(), LOS_DIEGO)
    assert [body["name"] for body in data_of(replay_html(traces))] == ["DARD", "WINO", "Saber", "Standard"]
    assert [body["name"] for body in data_of(replay_html({"a": los(), "b": los()}))] == ["a", "b"]
    assert len(data_of(replay_html([los(), los()]))) == 2
    for wrong in ([], [los()] * 5):
        with pytest.raises(dard.InputError, match="1 to 4 traces"):
            replay_html(wrong)


def test_the_modules_never_parse_markup_or_code() -> None:
    assert "createViewer" in script("viewer.js")
    for file in WEB.glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            file.name
        )


def test_every_rule_of_the_style_is_scoped() -> None:
    bare = re.sub(r"/\*.*?\*/", "", style("viewer.css"), flags=re.S)
    for selectors in re.findall(r"([^{}]+)\{[^}]*\}", bare):
        for selector in re.split(r",(?![^(]*\))", selectors):
            assert re.match(r"\s*(body\.dark )?\.dv\b", selector), selector


def test_a_notebook_gets_a_frame_of_its_own() -> None:
    text = notebook_html(los())
    assert text.startswith("<iframe") and 'sandbox="allow-scripts"' in text
    assert text.count('"') == 2 * len(re.findall(r'[\w-]+="', text))
