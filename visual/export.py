"""Traces as files to keep: the trace itself, and a self-contained page that replays it.

A replay is one HTML file with the viewer's scripts and styles inside and the payload as data. It loads nothing, sends
nothing and works from disk; a content security policy in the file says so to the browser. Nothing from a trace is
ever markup or script: it travels as JSON and enters the page as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dard.state import InputError
from dard.trace import Trace
from visual.payload import payload, sentence
from visual.web import script, style

MOST_LANES = 4
NOTEBOOK_HEIGHT = 760


def trace_json(trace: Trace, compress: bool = True) -> bytes:
    """The trace file; `Trace.from_bytes` reads it back."""
    return trace.to_bytes(compress=compress)


def replay_html(traces: Trace | Sequence[Trace] | Mapping[str, Trace], title: str | None = None) -> str:
    """One page that replays a trace, or up to four side by side. A mapping names them."""
    named = (
        [(None, traces)]
        if isinstance(traces, Trace)
        else list(traces.items() if isinstance(traces, Mapping) else ((None, t) for t in traces))
    )
    if not 1 <= len(named) <= MOST_LANES:
        raise InputError(f"a replay holds 1 to {MOST_LANES} traces, not {len(named)}")
    data = [payload(trace, None if name == trace.decoder else name, lives=True) for name, trace in named]
    first = named[0][1]
    heading = sentence(title or "DARD Studio replay", 200)
    names = ", ".join(str(body["name"]) for body in data)
    about = f"{names} on {data[0]['model']}" + (f" · {settings_line(data[0])}" if len(data) == 1 else "")
    code, looks = script("replay.js"), style("viewer.css", "replay.css")
    own = f"script-src {digest(code)}; style-src {digest(looks)}"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
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
<div class="top"><h1>{html.escape(heading)}</h1><p>{html.escape(about)}</p>
<button type="button" id="theme">Dark</button></div>
<p class="prompt"><bdi>{html.escape(sentence(first.prompt, 4000))}</bdi></p>
<div id="viewer"></div>
</div>
<script type="application/json" id="data">{embedded(data)}</script>
<script type="module">{code}</script>
</body>
</html>
"""


def notebook_html(trace: Trace) -> str:
    """The replay in a frame of its own, for `_repr_html_`: notebook and viewer cannot touch each other."""
    return (
        f'<iframe title="DARD decode" sandbox="allow-scripts" style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:0" '
        f'srcdoc="{html.escape(replay_html(trace))}"></iframe>'
    )


def settings_line(body: Mapping[str, Any]) -> str:
    shown = {"tau_c": "τc", "tau_u": "τu", "lambda_": "λ", "p0": "p₀"}
    return " · ".join(
        f"{shown.get(name, name)} {value:.3g}" if isinstance(value, float) else f"{shown.get(name, name)} {value}"
        for name, value in body["settings"].items()
        if value is not None
    )


def embedded(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return (
        json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
