"""Trace files of version 1 in the shape of version 2.

Version 1 had one field for each of DARD's columns and events, and nothing about what they mean: that comes from the
decoder of the name in the file, where one is known. Nothing is checked here; that is the reader's business.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dard.about import About, Column, Path
from dard.state import InputError

COLUMNS = {"confidence": "confidence", "weights": "w", "score_p": "P", "score_d": "D"}
EVENTS = ("decided", "promoted", "weakened", "demoted", "replaced", "accepted", "edited", "forced")


def upgrade(body: dict[str, Any]) -> dict[str, Any]:
    """The same trace; what is not as version 1 had it is left for the reader to refuse."""
    about = describe(body)
    steps = body.get("steps")
    upgraded = [step_of(step) for step in steps] if isinstance(steps, list) else steps
    return {**body, "version": 2, "about": asdict(about), "steps": upgraded}


def describe(body: dict[str, Any]) -> About:
    from dard.decoders import get_decoder

    settings = body.get("settings")
    try:
        return get_decoder(str(body.get("decoder"))).describe(settings if isinstance(settings, dict) else {})
    except InputError:
        columns = [Column("w", range=(0, 1)), Column("P", mirror="D"), Column("D")]
        return About(columns, [Path(name, name) for name in ("x", "s", "mix")], states="MCU")


def step_of(step: Any) -> Any:
    if not isinstance(step, dict):
        return step
    kept = {name: value for name, value in step.items() if name not in (*COLUMNS, *EVENTS, "top")}
    columns = {new: step[old] for old, new in COLUMNS.items() if old in step}
    for name in ("w", "P", "D"):
        if isinstance(columns.get(name), list) and not any(value is not None for value in columns[name]):
            del columns[name]
    paths = step.get("top", {})
    if isinstance(paths, dict) and "x" in paths and "w" in columns:
        paths = {**paths, "mix": paths.get("mix", paths["x"])}  # it was left out where it was the x path
    events = {name: step[name] for name in EVENTS if step.get(name)}
    return {**kept, "columns": columns, "paths": paths, "events": events}
