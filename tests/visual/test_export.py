"""The files the page hands out. That a replay works is tests/browser's business; here: what stands in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import re
import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace
from visual.export import gif, notebook_html, replay_html
from visual.web import WEB, script, style

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)> & "quoted" <!--'


def los() -> Trace:
    return dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)


def data_of(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_a_trace_file_reads_back() -> None:
    trace = los()
    assert Trace.from_bytes(trace.to_bytes()).text == trace.text
    assert Trace.from_bytes(trace.to_bytes(compress=False)).num_steps == trace.num_steps


def test_a_replay_needs_nothing_from_outside() -> None:
    page = replay_html(los()).replace("image.src = `data:", "").replace("url(#", "")  # what it makes itself
    outside = re.findall(r"""(?:src|href)\s*=|@import|url\(|https?://[^"'`\s]+|XMLHttpRequest|WebSocket""", page)
    assert set(outside) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\bfetch\(|sendBeacon|\bimport\(", script("shell/replay.js").replace("fetch?.(", ""))


def test_its_policy_names_exactly_its_own_script_and_style() -> None:
    page = replay_html(los())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1] and re.findall(r"(?:img|connect|frame|font)-src [^;]*", policy[1]) == [
        "img-src data:"
    ]
    script = re.search(r'<script type="module">(.*)</script>\n</body>', page, re.S)
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert script and style
    for kind, text in (("script", script[1]), ("style", style[1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]


def test_text_cannot_leave_its_place() -> None:
    trace = replace(los(), prompt=EVIL, model=EVIL, text=EVIL, token_text=dict.fromkeys(los().token_text, EVIL))
    page = replay_html({EVIL: trace}, title=EVIL)
    assert page.count("<script") == 2 + script("shell/replay.js").count("<script")
    assert "<img" not in page
    assert data_of(page)[0]["prompt"] == EVIL


def test_a_replay_holds_every_life() -> None:
    trace = dard.decode(los_diego(), "Los", "standard", gen_length=70, steps=2)
    (body,) = data_of(replay_html(trace))
    assert not body["asks"] and len(body["steps"]) == 2
    assert all(len(step["why"]) + len(step["annotation"]["why"]) == 70 for step in body["steps"])


def test_a_replay_opens_where_it_was_exported() -> None:
    page = replay_html(los(), state={"step": 2, "position": 4, "hideLater": True, "order": "position"})
    found = re.search(r'data-state="([^"]*)"', page)
    assert found and json.loads(html.unescape(found[1]))["step"] == 2


@pytest.mark.parametrize(
    "state",
    [
        [1],
        "step",
        {"<b>": 1},
        {"step": EVIL},
        {"step": float("nan")},
        {"step": 10**9},
        {"order": '"><img src=x>'},
        {"step": {"a": 1}},
        {chr(97 + n): n for n in range(26)},
        {5: 5},
    ],
)
def test_a_hostile_state_is_refused_in_one_sentence(state: Any) -> None:
    with pytest.raises(dard.InputError, match=r"^state[^\n<]*$"):
        replay_html(los(), state=state)


# Animations.


def drawn(width: int = 40, height: int = 30, colour: str = "white", kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(file, kind)
    return file.getvalue()


def test_frames_become_an_animation_that_keeps_its_colours() -> None:
    colours = ["#F7F8F8", "#FFFFFF", "#F1F3F4", "#E69F00", "#00755A"]
    animation = Image.open(io.BytesIO(gif([drawn(colour=colour) for colour in colours])))
    assert (animation.format, animation.size, animation.n_frames) == ("GIF", (40, 30), 5)
    for number, colour in enumerate(colours):
        animation.seek(number)
        assert animation.convert("RGB").getpixel((5, 5)) == tuple(bytes.fromhex(colour[1:]))
    assert animation.info["duration"] > 2000 and animation.info["loop"] == 0


def huge() -> bytes:
    """A file of some hundred bytes that says it holds a picture of 2.5 thousand million pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + chunk + drawn()[33:]


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "1 to 300 frames"),
        ([drawn(4, 4)] * 301, "1 to 300 frames"),
        ([b"not a picture"], "frame 1 is not a PNG"),
        ([drawn(), drawn(kind="GIF")], "frame 2 is not a PNG"),
        ([drawn(kind="JPEG")], "frame 1 is not a PNG"),
        ([drawn(), drawn(41, 30)], "frame 2 is 41 × 30"),
        ([drawn()[:-30]], "frame 1 is a broken PNG"),
        ([huge()], "frame 1 is not a PNG"),
        ([drawn(1000, 1000)] * 151, "too large"),
        ([drawn(4000, 3000)], "too large"),
        ([b"x" * (5 << 20)], "larger than 4 MB"),
    ],
)
def test_what_is_no_animation_is_refused_in_one_sentence(frames: list[bytes], words: str) -> None:
    with pytest.raises(dard.InputError) as error:
        gif(frames)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_several_traces_stand_side_by_side() -> None:
    traces = dard.compare(los_diego(), LOS_DIEGO)
    assert [body["name"] for body in data_of(replay_html(traces))] == ["DARD", "WINO", "Saber", "Standard"]
    assert [body["name"] for body in data_of(replay_html({"a": los(), "b": los()}))] == ["a", "b"]
    assert len(data_of(replay_html([los(), los()]))) == 2
    for wrong in ([], [los()] * 6):
        with pytest.raises(dard.InputError, match="1 to 5 traces"):
            replay_html(wrong)


def test_the_modules_never_parse_markup_or_code() -> None:
    assert "createViewer" in script("shell/viewer.js")
    for file in WEB.rglob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML\s*[+]?=|insertAdjacentHTML|document\.write|\beval\(|new Function", text
        ), file.name


def outermost(sheet: str) -> list[str]:
    """The selectors of rules that stand in no other one.

    >>> outermost(".a { .b { color: red; } } @media print { .c:is(.d, .e), .f { color: red; } }")
    ['.a', '.c:is(.d, .e)', '.f']
    """
    found, depth = [], 0
    for text, brace in re.findall(r"([^{}]*)([{}])", re.sub(r"/\*.*?\*/|@media [^{]*", "", sheet, flags=re.S)):
        selectors = text.split(";")[-1].strip()
        if brace == "{" and selectors and not depth:
            found += re.split(r",\s*(?![^(]*\))", selectors)
        depth += (1 if brace == "{" else -1) if selectors or depth else 0
    return found


def test_every_rule_of_the_style_is_scoped() -> None:
    selectors = outermost(style("styles/viewer.css"))
    assert len(selectors) > 20
    for selector in selectors:
        assert re.match(r"(body\.dark )?\.dv\b|@keyframes dv-", selector), selector


def test_a_notebook_gets_a_frame_of_its_own() -> None:
    text = notebook_html(los())
    assert text.startswith("<iframe") and 'sandbox="allow-scripts allow-downloads"' in text
    assert text.count('"') == 2 * len(re.findall(r'[\w-]+="', text))
