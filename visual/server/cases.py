"""The gallery's cases and the lessons of the guided tour, as they are written in assets.

Promises: cases in the order of their file names, each with what Compare shows of it; lessons with their prompts.
Does not know: the server, or a model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dard.core.errors import InputError
from dard.core.folders import assets
from dard.decoders import DECODERS
from dard.decoding.session import COMPARED
from visual.payload import shown
from visual.server.requests import COMPARED_AT_MOST

GALLERY, LEARN = assets("gallery"), assets("learn")


def gallery() -> list[dict[str, Any]]:
    """The cases of assets/gallery, in the order of their file names, with what Compare shows of each. They happen on
    the embedded model, but those that were contributed with a model's name and a licence."""
    paths = sorted(GALLERY.glob("*.json"))
    cases = [{"model": "embedded", **json.loads(path.read_text(encoding="utf-8"))} for path in paths]
    return [{**case, "lanes": lanes_of(case) if case["decoder"] in DECODERS else []} for case in cases]


def recording(path: Path) -> Path:
    """The trace file beside a case's text."""
    return path.with_suffix(".trace.json.gz")


def recorded_case(name: str) -> bytes:
    """The trace file of a case."""
    for path in GALLERY.glob("*.json"):
        if json.loads(path.read_text(encoding="utf-8"))["name"] == name:
            return recording(path).read_bytes()
    raise InputError(f"there is no gallery case {shown(name)!r}")


def lanes_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The decoders of a comparison on a case's prompt: as the case itself is decoded, as its claims about others say,
    or with the same region."""
    decodes = [case, *(claim["versus"] for claim in case["shows"] if "versus" in claim)]
    region = pick(case["settings"], "gen_length", "block_length")
    own = COMPARED if case["decoder"] in COMPARED else ()
    names = list(dict.fromkeys([*own, *(one["decoder"] for one in decodes), *COMPARED]))
    own_lanes = {
        name: next((pick(one, "decoder", "settings") for one in decodes if one["decoder"] == name), None)
        for name in names[:COMPARED_AT_MOST]
    }
    return [lane or {"decoder": name, "settings": region} for name, lane in own_lanes.items()]


def pick(case: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: case[name] for name in names if name in case}


def lessons() -> list[dict[str, Any]]:
    """The lessons of the guided tour, each with its prompt written out."""
    prompts = json.loads((LEARN / "prompts.json").read_text(encoding="utf-8"))
    tour = json.loads((LEARN / "lessons.json").read_text(encoding="utf-8"))
    for lesson in tour:
        lesson["show"]["prompt"] = prompts[lesson["show"].get("prompt", "city")]
    return tour
