"""How long a region may be, and a decode will take, and how much of it is kept: before it begins and while it goes on.

Promises: every figure comes from passes that this server has made with the same model; where there were none yet,
nothing is said of time. A run of seconds is not announced.
Does not know: who asks, or how it is shown.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.trace import Step

MINUTE = 60.0
POSITIONS = 1024  # of a region, at most
REMEMBERED = 32  # passes
BYTES_PER_POSITION = 200  # that a step keeps on the server; measured by tests/visual/test_long_runs.py

_PACES: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))


def region_at_most(asked: int | None = None) -> int:
    """How many positions may be decoded from this page: what is asked for, else what the environment says; the library
    has no such limit.

    >>> region_at_most(256)
    256
    """
    told = os.environ.get("DARD_POSITIONS", str(POSITIONS)) if asked is None else str(asked)
    if not told.isdecimal() or not 1 <= int(told) <= POSITIONS:
        raise InputError(
            f"DARD_POSITIONS = {told[:20]!r} is not allowed; a page decodes at most 1 to {POSITIONS} positions"
            if asked is None
            else f"--positions {asked} is not allowed; it must be a whole number from 1 to {POSITIONS}"
        )
    return int(told)


def heard(name: str, sessions: Sequence[Session]) -> None:
    """Remember what the last pass of a model took, by the tokens it looked at."""
    for session in sessions:
        if session.steps:
            _PACES[name].append(took(session.steps[-1]) / tokens(session))


def took(step: Step) -> float:
    return step.forward_seconds + step.other_seconds


def tokens(session: Session) -> int:
    return len(session.state.prompt) + len(session.state.tokens)


def seconds_per_pass(name: str, session: Session) -> float | None:
    """What a pass of this session will take, by those that were made with its model; None where there were none."""
    pace = _PACES[name]
    return tokens(session) * sum(pace) / len(pace) if pace else None


def most_passes(session: Session) -> int:
    """So many, if every pass decides one token; a decoder that is told how many steps to make makes no more."""
    free = session.state.fixed.count(False)
    steps = session.settings.as_dict().get("steps")
    return min(free, steps) if isinstance(steps, int) else free


def announced(name: str, sessions: Sequence[Session]) -> str | None:
    """What is said before a run that may take longer than a minute; lanes side by side share its passes."""
    paces = [seconds_per_pass(name, session) for session in sessions]
    passes = [most_passes(session) for session in sessions]
    known = [pace for pace in paces if pace is not None]
    if not known or len(known) < len(paces):
        return None
    seconds = sum(pace * count for pace, count in zip(known, passes, strict=True))
    if seconds < MINUTE:
        return None
    kept = sum(count * len(each.state.tokens) for count, each in zip(passes, sessions, strict=True))
    most = f"{max(passes):,} passes" if max(passes) > 1 else "one pass"
    return (
        f"This may take up to {lasting(seconds)}: at most {most}, about {lasting(max(known))} each as measured here, "
        f"and {size(kept * BYTES_PER_POSITION)} of the server's memory. Stop keeps what is there."
    )


def lasting(seconds: float) -> str:
    """A time in few words.

    >>> lasting(0.0312), lasting(4.21), lasting(75), lasting(1000), lasting(9000)
    ('31 ms', '4.2 s', '75 s', '17 min', '2.5 h')
    """
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes in few words.

    >>> size(2_000_000), size(200 * 1024 * 1000)
    ('2 MB', '205 MB')
    """
    return f"{max(1, round(count / 1e6))} MB"


class Progress:
    """How far sessions are: tokens decided of those to decide, and the time that is left at the pace so far."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self.began, self.first = time.monotonic(), self.decided

    @property
    def decided(self) -> int:
        return sum(decided(session) for session in self.sessions)

    def told(self) -> dict[str, Any]:
        of = sum(session.state.fixed.count(False) for session in self.sessions)
        done, spent = self.decided, time.monotonic() - self.began
        left = spent * (of - done) / (done - self.first) if done > self.first else None
        return {"decided": done, "of": of, "left": None if left is None else round(left, 1)}


def decided(session: Session) -> int:
    """The positions that hold a token and were not given."""
    blank = session.decoder.about.blank
    pairs = zip(session.state.states, session.state.fixed, strict=True)
    return sum(not fixed and state not in blank for state, fixed in pairs)
