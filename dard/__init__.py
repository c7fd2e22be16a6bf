"""DARD Studio's library: diffusion-LLM decoding, one visible step at a time.

    import dard
    model = dard.load_model("embedded")
    trace = dard.decode(model, "The city of [MASK] [MASK] is on the Southern California coast .", tau_c=0.4)
    trace.text, trace.num_steps, trace.ended_by

`Trace` and `InputError` need no torch; the rest is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dard.about import About, Column, Event, Path, Threshold
from dard.state import InputError
from dard.trace import Cause, Step, Trace, TraceError, Verdict

if TYPE_CHECKING:
    from dard.cause import causes, examine
    from dard.decoders import Decoder, register_decoder
    from dard.extras import widget
    from dard.models import load_model, register_model
    from dard.recording import Recording, record
    from dard.session import Session, compare, decode
    from dard.settings import Settings

__version__ = "0.2.0"
__all__ = [
    "About",
    "Cause",
    "Column",
    "Decoder",
    "Event",
    "InputError",
    "Path",
    "Recording",
    "Session",
    "Settings",
    "Step",
    "Threshold",
    "Trace",
    "TraceError",
    "Verdict",
    "causes",
    "compare",
    "decode",
    "examine",
    "load_model",
    "record",
    "register_decoder",
    "register_model",
    "widget",
]

_HOMES = {
    "Decoder": "dard.decoders",
    "Recording": "dard.recording",
    "Session": "dard.session",
    "Settings": "dard.settings",
    "causes": "dard.cause",
    "compare": "dard.session",
    "decode": "dard.session",
    "examine": "dard.cause",
    "load_model": "dard.models",
    "record": "dard.recording",
    "register_decoder": "dard.decoders",
    "register_model": "dard.models",
    "widget": "dard.extras",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dard' has no attribute {name!r}")
