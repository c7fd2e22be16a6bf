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
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dard.state import InputError
from dard.trace import Trace
from visual.payload import payload, sentence

WEB = Path(__file__).resolve().parent.parent / "assets" / "web"
MODULES = ("dom.js", "unpack.js", "grid.js", "score.js", "inspector.js", "mask.js", "viewer.js")  # imports point left
MOST_LANES = 4
NOTEBOOK_HEIGHT = 760

IMPORT = re.compile(r"^import \{([^}]*)\} from './([\w.]+)';$", re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.M)


def trace_json(trace: Trace, compress: bool = True) -> bytes:
    """The trace file; `Trace.from_bytes` reads it back."""
    return trace.to_bytes(compress=compress)


@cache
def viewer_script(*more: str) -> str:
    """The viewer's modules, and more that stand on them, as one script that defines `createViewer`."""
    parts = ["const modules = {};"]
    for name in (*MODULES, *more):
        text = (WEB / name).read_text(encoding="utf-8")
        names = EXPORT.findall(text)
        text = EXPORT.sub("", IMPORT.sub(lambda found: f"const {{{found[1]}}} = modules['{found[2]}'];", text))
        parts.append(f"modules['{name}'] = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();")
    parts.append("const { createViewer } = modules['viewer.js'];")
    return "\n".join(parts)


@cache
def viewer_style(*more: str) -> str:
    return "\n".join((WEB / name).read_text(encoding="utf-8") for name in ("viewer.css", *more))


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
    style, script = viewer_style("replay.css"), viewer_script("replay.js")
    own = f"script-src {digest(script)}; style-src {digest(style)}"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{html.escape(heading)}</title>
<style>{style}</style>
</head>
<body>
<div class="page">
<div class="top"><h1>{html.escape(heading)}</h1><p>{html.escape(about)}</p>
<button type="button" id="theme">Dark</button></div>
<p class="prompt"><bdi>{html.escape(sentence(first.prompt, 4000))}</bdi></p>
<div id="viewer"></div>
</div>
<script type="application/json" id="data">{embedded(data)}</script>
<script type="module">{script}</script>
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
