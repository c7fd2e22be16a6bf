"""A diagnosis on its way, a part at a time, so that nobody's turn takes long: where the answer of a lane was lost.

Promises: each part begins where the one before ended; what is known after it is a whole record. Where a GPU is borrowed
it is one part, as long as one may be borrowed for.
Does not know: who asks, or what is told of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.trace import Diagnosis
from visual.server.passes import diagnoses


class Search:
    """The search for one lane, by what was expected."""

    def __init__(self, model: str, session: Session, expected: str) -> None:
        self.expected = expected
        self._parts: Iterator[tuple[Diagnosis, dict[int, str]]] = diagnoses(model, session, expected or None)
        self._known: tuple[Diagnosis, dict[int, str]] | None = None
        self._lock = threading.Lock()

    def go_on(self, seconds: float) -> tuple[Diagnosis, dict[int, str]]:
        """What is known after so many seconds more, and the words in it."""
        if not self._lock.acquire(blocking=False):
            raise InputError("this run is being diagnosed already; stop it first")
        try:
            end = time.monotonic() + seconds
            for known in self._parts:
                self._known = known
                if time.monotonic() >= end:
                    break
            if self._known is None:
                raise InputError("the diagnosis was ended before anything was known; ask again")
            if self._known[0].stage == "done":
                self._parts = iter(())  # what it worked with is no longer needed
            return self._known
        finally:
            self._lock.release()
