"""What happened in a decode: as records, as a file, and in sentences.

Promises: a trace describes itself, and its file format is the only thing that passes from the algorithms to whatever
shows them. Imports no torch.
Does not know: decoders (they enter what they say of themselves in `words.SPEAKERS`), models, or who is looking.
"""

from __future__ import annotations

from dard.trace import readers as readers
from dard.trace.about import About, Column, Event, Path, StateKind, Threshold
from dard.trace.diagnosis import Attempt, Diagnosis
from dard.trace.layers import LayerRow, Layers
from dard.trace.limits import TraceError
from dard.trace.records import Cause, Step, Verdict
from dard.trace.trace import Trace, json_schema

__all__ = [
    "About",
    "Attempt",
    "Cause",
    "Column",
    "Diagnosis",
    "Event",
    "LayerRow",
    "Layers",
    "Path",
    "StateKind",
    "Step",
    "Threshold",
    "Trace",
    "TraceError",
    "Verdict",
    "json_schema",
]
