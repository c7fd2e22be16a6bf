"""What a thread is busy with, so that another one can tell that it does not come back, and of whom that is the fault.

Promises: whoever calls code of others says so here; nothing is measured, and nothing is ended, by this.
Does not know: what is done about it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

DECIDES_WITHIN = 60.0  # seconds for what a decoder asks, and for what it decides: neither runs a model
ANSWERS_WITHIN = 1800.0  # for a forward pass: a large model on a processor may well take minutes

BUSY: dict[int, Busy] = {}  # by the number of the thread


class Busy(NamedTuple):
    """What is being done, since when, and how long it may take."""

    what: str
    since: float
    most: float
    of: Any = None  # whose code it is, where it is somebody's alone

    @property
    def overdue(self) -> bool:
        return time.monotonic() - self.since > self.most


@contextmanager
def busy(what: str, most: float, of: Any = None) -> Iterator[None]:
    """The code inside is somebody else's.

    >>> with busy("decoder 'mine': step 3", 60.0):
    ...     BUSY[threading.get_ident()].what, BUSY[threading.get_ident()].overdue
    ("decoder 'mine': step 3", False)
    """
    thread = threading.get_ident()
    around = BUSY.get(thread)
    BUSY[thread] = Busy(what, time.monotonic(), most, of)
    try:
        yield
    finally:
        BUSY.pop(thread, None)
        if around:
            BUSY[thread] = around
