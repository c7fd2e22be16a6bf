"""Other people's samplers, recorded as they run.

Promises: the sampler gets what it would get without; what was not measured is None.
Does not know: the sampler's rule.
"""

from __future__ import annotations

from dard.recording.canvases import CanvasRecording
from dard.recording.hooks import Recording, record

__all__ = ["CanvasRecording", "Recording", "record"]
