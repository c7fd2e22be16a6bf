"""Traces as files to keep: the trace itself, a self-contained page that replays it, and an animation.

Pictures are made in the browser, of what it shows; only frames of an animation are put together here. A replay is one
HTML file with the viewer's scripts and styles inside and the payload as data. It loads nothing, sends nothing and works
from disk; a content security policy in the file says so to the browser. Nothing from a trace is ever markup or script:
it travels as base64 and enters the page as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from dard.core.errors import InputError
from dard.trace import Trace, json_schema
from dard.trace.about import EVENTS
from dard.trace.limits import MAX_FILE_BYTES, MAX_GRAPH, MAX_GRAPH_BYTES, MAX_MASK_BYTES
from visual.payload import MAX_CELLS, pack, payload, sentence
from visual.web import script, style

MOST_LANES = 5
NOTEBOOK_HEIGHT = 760
THEME = '<button type="button" id="theme">Dark</button>'
# Of an animation: frames, bytes and pixels of one of them, and pixels of all, which is also what they take in memory.
MOST_FRAMES, MOST_FRAME_BYTES, MOST_FRAME_PIXELS, MOST_PIXELS = 300, 4 << 20, 8_000_000, 150_000_000
FRAME_MS, LAST_FRAME_MS = 900, 2700
MOST_GIF_BYTES = 8_000_000
NEAR = 6  # colours that differ by less in red, green and blue may stand for each other


def replay_html(
    traces: Trace | Sequence[Trace] | Mapping[str, Trace],
    title: str | None = None,
    state: Mapping[str, Any] | None = None,
    answer: str | None = None,
) -> str:
    """One page that replays a trace, or up to five side by side. A mapping names them. `answer` is a pattern for where
    the answer stands, if not the usual ones.

    `state` is what the page opens on, as `viewer.js` has it: {"step": 3, "position": 4}, for example.
    """
    named = (
        [(None, traces)]
        if isinstance(traces, Trace)
        else list(traces.items() if isinstance(traces, Mapping) else ((None, t) for t in traces))
    )
    if not 1 <= len(named) <= MOST_LANES:
        raise InputError(f"a replay holds 1 to {MOST_LANES} traces, not {len(named)}")
    data = [payload(trace, None if name == trace.decoder else name, lives=True, answer=answer) for name, trace in named]
    first = named[0][1]
    heading = sentence(title or "DARD Studio replay", 200)
    names = ", ".join(str(body["name"]) for body in data)
    about = names + (f" on {model}" if (model := data[0]["model"]) else "")
    about += f" · {line}" if len(data) == 1 and (line := settings_line(data[0])) else ""
    body = f"""<div class="top"><h1>{html.escape(heading)}</h1><p>{html.escape(about)}</p>{THEME}</div>
<p class="prompt"><bdi>{html.escape(sentence(first.prompt, 4000))}</bdi></p>
<div id="viewer" data-title="{html.escape(heading if title else "")}"
data-state="{html.escape(opened_at(state))}"></div>"""
    return page_html(heading, body, data, "shell/replay.js")


def open_html() -> str:
    """A page that is only a file and shows any trace: dropped on it, chosen, named in its address, or sent by another
    window. It is served by nobody and asks nobody but the address it is given."""
    body = f"""<div class="top"><h1 id="title">DARD Studio</h1><p id="about"></p>
<span id="tools"></span>{THEME}</div>
<p class="prompt" id="prompt"></p><p class="notice" id="notice" role="alert" hidden></p>
<p class="drop">Drop trace files here (.json, .json.gz), or press Open. They are read in this page and sent nowhere.</p>
<div id="viewer" data-title="" data-state="{{}}"></div>"""
    return page_html("DARD Studio", body, reader(), "shell/open.js", allowed="connect-src http: https:; ")


def reader() -> dict[str, Any]:
    """What a browser needs to read a trace file as strictly as `Trace.load` does."""
    most = {"file": MAX_FILE_BYTES, "masks": MAX_MASK_BYTES, "cells": MAX_CELLS}
    most |= {"graph": MAX_GRAPH, "graphs": MAX_GRAPH_BYTES}
    events = {name: asdict(event) for name, event in EVENTS.items()}
    return {"schema": json.loads(json_schema()), "events": events, "limits": most}


def page_html(
    heading: str,
    body: str,
    data: Any,
    entry: str,
    sheets: Sequence[str] = ("styles/viewer.css", "styles/replay.css"),
    allowed: str = "",
    scripts: Sequence[str] = (),
) -> str:
    """A page of one file. `body` is markup and `data` is not; `scripts` are texts that `entry` may add as scripts."""
    code, looks = script(entry), style(*sheets)
    styles = "'unsafe-inline'" if scripts else digest(looks)  # a chart library sets styles of its own
    own = f"script-src {' '.join(map(digest, (code, *scripts)))}; style-src {styles}"
    added = f"""<script type="text/plain" id="data">{pack(data)}</script>
<script type="module">{code}</script>"""
    return document(heading, body, looks, f"{allowed}{own}; img-src data:", added)


def document(heading: str, body: str, looks: str, allowed: str, added: str = "") -> str:
    """An HTML file that may do nothing but what is allowed to it."""
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{html.escape(heading)}</title>
<style>{looks}</style>
</head>
<body>
<div class="page">
{body}
</div>
{added}
</body>
</html>
"""


def notebook_html(trace: Trace) -> str:
    """The replay in a frame of its own, for `_repr_html_`: notebook and viewer cannot touch each other."""
    return (
        f'<iframe title="DARD decode" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:0" srcdoc="{html.escape(replay_html(trace))}"></iframe>'
    )


def opened_at(state: Mapping[str, Any] | None) -> str:
    """A viewer's state as JSON. The viewer itself makes it fit its trace; here it is only kept small and plain.

    >>> opened_at({"step": 3, "order": "position"})
    '{"step": 3, "order": "position"}'
    """
    state = {} if state is None else state
    plain = isinstance(state, Mapping) and all(
        isinstance(name, str) and re.fullmatch("[A-Za-z]{1,20}", name) for name in state
    )
    if not plain or len(state) > 20:
        raise InputError("state must be an object of at most 20 names, each of at most 20 letters")
    for name, value in state.items():
        whole = isinstance(value, int) and abs(value) < 1_000_000
        if not (whole or (isinstance(value, str) and re.fullmatch("[A-Za-z0-9]{0,20}", value))):
            raise InputError(f"state.{name} must be a whole number, true, false or a word of at most 20 letters")
    return json.dumps(dict(state))


def gif(frames: Sequence[bytes]) -> bytes:
    """PNGs of one size as an animation that goes round, the last frame longer; every second is left out until it is
    small enough to be sent around.

    >>> white, black = (Image.new("RGB", (8, 8), colour) for colour in ("white", "black"))
    >>> files = [io.BytesIO() for _ in range(2)]
    >>> white.save(files[0], "PNG"), black.save(files[1], "PNG")
    (None, None)
    >>> gif([file.getvalue() for file in files])[:6]
    b'GIF89a'
    """
    if not 1 <= len(frames) <= MOST_FRAMES:
        raise InputError(f"an animation has 1 to {MOST_FRAMES} frames, not {len(frames)}")
    size: tuple[int, int] | None = None
    counted: Counter[Any] = Counter()
    for number, frame in enumerate(frames, 1):
        image = opened(frame, number)
        size = size or image.size
        if image.size != size:
            raise InputError(
                f"frame {number} is {image.width} × {image.height}, but the first is {size[0]} × {size[1]}"
            )
        pixels = size[0] * size[1]
        if pixels > MOST_FRAME_PIXELS or pixels * len(frames) > MOST_PIXELS:
            raise InputError(
                f"{len(frames)} frames of {size[0]} × {size[1]} are too large; one may have "
                f"{MOST_FRAME_PIXELS // 1_000_000} million pixels, and all together {MOST_PIXELS // 1_000_000} million"
            )
        for count, colour in loaded(image, number).getcolors(1 << 16) or ():
            counted[colour] += count
    palette = Image.new("P", (1, 1))
    palette.putpalette(chosen(counted))
    made = [
        loaded(opened(frame, number), number).quantize(palette=palette, dither=Image.Dither.NONE)
        for number, frame in enumerate(frames, 1)
    ]
    animation = put_together(made)
    while len(animation) > MOST_GIF_BYTES and len(made) > 2:
        made = [*made[:-1:2], made[-1]]
        animation = put_together(made)
    return animation


def put_together(made: Sequence[Image.Image]) -> bytes:
    file = io.BytesIO()
    times = [FRAME_MS] * (len(made) - 1) + [LAST_FRAME_MS]
    made[0].save(file, "GIF", save_all=True, append_images=made[1:], duration=times, loop=0, optimize=False)
    return file.getvalue()


def chosen(counted: Counter[tuple[int, int, int]]) -> list[int]:
    """At most 256 colours for a picture of these, the commonest first, without near twins: those are shades at the
    edges of letters, and would take the place of a rare colour that means something."""
    kept = np.empty((0, 3), dtype=np.int16)
    for colour, _ in counted.most_common(1 << 14):
        if len(kept) == 256:
            break
        if not len(kept) or np.abs(kept - colour).max(axis=1).min() >= NEAR:
            kept = np.vstack([kept, np.array([colour], dtype=np.int16)])
    return [int(part) for part in kept.flatten()]


def opened(frame: bytes, number: int) -> Image.Image:
    """A PNG of which nothing but the header has been read."""
    if len(frame) > MOST_FRAME_BYTES:
        raise InputError(f"frame {number} is larger than {MOST_FRAME_BYTES >> 20} MB")
    try:
        return Image.open(io.BytesIO(frame), formats=["PNG"])
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise InputError(f"frame {number} is not a PNG") from None


def loaded(image: Image.Image, number: int) -> Image.Image:
    try:
        return image.convert("RGB")
    except (OSError, SyntaxError, ValueError):
        raise InputError(f"frame {number} is a broken PNG") from None


def settings_line(body: Mapping[str, Any]) -> str:
    symbols = body["about"]["symbols"]
    return " · ".join(
        f"{symbols.get(name, name)} {value:.3g}" if isinstance(value, float) else f"{symbols.get(name, name)} {value}"
        for name, value in body["settings"].items()
        if value is not None
    )


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
