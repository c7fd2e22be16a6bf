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

from dard.core.errors import InputError
from dard.core.release import __version__ as __version__
from dard.trace import Cause, Diagnosis, Step, Trace, TraceError, Verdict
from dard.trace.about import About, Column, Event, Path, Threshold
from dard.trace.answers import answer_life

if TYPE_CHECKING:
    from dard.analysis.causes import causes, examine
    from dard.analysis.diagnosis import diagnose, diagnosing
    from dard.analysis.layers import layers
    from dard.checkup.doctor import doctor
    from dard.core.settings import Settings
    from dard.decoders import Decoder, register_decoder
    from dard.decoding.session import Session, compare, decode
    from dard.models import load_model, register_model
    from dard.recording import Recording, record
    from visual.widget import widget

__all__ = [
    "About",
    "Cause",
    "Column",
    "Decoder",
    "Diagnosis",
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
    "answer_life",
    "causes",
    "compare",
    "decode",
    "diagnose",
    "diagnosing",
    "doctor",
    "examine",
    "layers",
    "load_model",
    "record",
    "register_decoder",
    "register_model",
    "widget",
]

_HOMES = {
    "Decoder": "dard.decoders",
    "Recording": "dard.recording",
    "Session": "dard.decoding.session",
    "Settings": "dard.core.settings",
    "causes": "dard.analysis.causes",
    "compare": "dard.decoding.session",
    "decode": "dard.decoding.session",
    "diagnose": "dard.analysis.diagnosis",
    "diagnosing": "dard.analysis.diagnosis",
    "doctor": "dard.checkup.doctor",
    "examine": "dard.analysis.causes",
    "layers": "dard.analysis.layers",
    "load_model": "dard.models",
    "record": "dard.recording",
    "register_decoder": "dard.decoders",
    "register_model": "dard.models",
    "widget": "visual.widget",
}


def _as_viewer(trace: Trace) -> str:
    """In a notebook a trace shows itself as the viewer."""
    from visual.export import notebook_html

    return notebook_html(trace)


Trace._repr_html_ = _as_viewer  # type: ignore[attr-defined]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Modules that a script may name after `import dard` alone.
_MODULES = ("attention", "decoders", "models", "readers", "settings")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"dard.{name}")
    raise AttributeError(f"module 'dard' has no attribute {name!r}")
