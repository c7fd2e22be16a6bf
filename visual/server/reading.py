"""Files that visitors bring are read a few at a time: one of them may take a second and a hundred megabytes.

Promises: at most so many are read together; some wait for their turn, and who comes when these are many is told so.
Does not know: what kind of file it is.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from traceback import clear_frames

from dard.core.errors import InputError
from dard.trace.limits import Room

FILES_AT_ONCE = 2
FILES_WAITING = 6
# Of a trace: a page is everybody's, so it has less room than the library.
PAGE = Room(unpacked=32 << 20, records=300_000, entries=4_000_000, named=500_000, positions=4096)

_turns = threading.BoundedSemaphore(FILES_AT_ONCE)
_places = threading.BoundedSemaphore(FILES_AT_ONCE + FILES_WAITING)


@contextmanager
def a_file() -> Iterator[None]:
    """While a file is read, and what is made of it is kept."""
    if not _places.acquire(blocking=False):
        raise InputError("the page is reading the files of others; try again in a moment")
    try:
        with _turns:
            yield
    except Exception as error:
        clear_frames(error.__traceback__)  # there hangs all that was read of it
        raise
    finally:
        _places.release()
        give_back()


def give_back() -> None:
    """What was freed goes back to the system at once, where memory is glibc's."""
    with suppress(AttributeError, OSError, TypeError):  # other systems have other ways
        ctypes.CDLL(None).malloc_trim(0)
