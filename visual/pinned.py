"""Whether what is installed is what was tried: a Space installs requirements.txt, whose packages bring others.

Promises: what differs from requirements.lock is named, and nothing is ended by it. Where there is no lock, as in an
installed package, nothing is said.
Does not know: torch, whose builds differ.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.markers import Marker

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
ENTRY = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([^ ;\\]+)(?: ; ([^\\]+?))? \\$", re.M)


def unlike_locked(lock: Path = LOCK) -> list[str]:
    """The packages of the lock that are installed in another version, or not at all.

    >>> unlike_locked(Path("nowhere"))
    []
    """
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    found = []
    for name, wanted, where in ENTRY.findall(text):
        if where and not Marker(where).evaluate():
            continue
        try:
            there = version(name)
        except PackageNotFoundError:
            there = "nothing"
        if there != wanted:
            found.append(f"{name} {there} in place of {wanted}")
    return found
