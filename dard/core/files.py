"""Files that are whole or as they were, and files that one process writes at a time."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from dard.core.errors import InputError

try:
    import fcntl
except ImportError:  # Windows locks what is open for writing by itself
    fcntl = None  # type: ignore[assignment]


def write_whole(path: str | Path, data: bytes | str) -> None:
    """Write a file beside its place, then move it there: a full disk or a stop leaves what was there as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", "whole")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('note.txt', 'whole')]
    """
    place = Path(os.path.realpath(path))  # a link stays one
    if place.exists() and not place.is_file():  # a pipe or a device holds nothing that could be lost
        with place.open("wb") as out:
            out.write(data.encode() if isinstance(data, str) else data)
        return
    number, beside = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=".new")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~umask())
        os.replace(beside, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def umask() -> int:
    """What new files of this process are not allowed, which can only be read by setting it."""
    kept = os.umask(0o077)
    os.umask(kept)
    return kept


def open_alone(path: Path) -> IO[bytes]:
    """A file to append to, which no other process appends to until it is closed; refused if one does."""
    file = path.open("ab")
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise InputError(
                f"another process is writing to {str(path)!r}; wait until it has ended, or choose another folder"
            ) from None
        except OSError:  # a file system without locks
            pass
    return file
