"""Small things several test files need."""

from __future__ import annotations

import json
from typing import Any

import dard

ALL_DECODERS = ("dard", "wino", "saber", "standard", "threshold", "entropy_bound")


def body_of(trace: dard.Trace) -> dict[str, Any]:
    """The trace as its file holds it."""
    return json.loads(trace.to_bytes(compress=False))


def without_times(trace: dard.Trace) -> dict[str, Any]:
    body = body_of(trace)
    for step in body["steps"]:
        step.pop("forward_seconds", None)
        step.pop("other_seconds", None)
        step.pop("peak_bytes", None)
    return body
