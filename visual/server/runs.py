"""Runs: what visitors look at, each with its lanes.

Promises: a run lives in memory under an unguessable name, so one visitor never meets another's; the oldest expire when
they are too many or too large together, or nobody asks for them, and never while they are computed.
Does not know: requests, or what is told of a run.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dard.analysis.causes import at_step
from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.trace import Layers, Trace, Verdict

RUNS_KEPT = 200
CELLS_KEPT = 2_000_000  # positions × steps of all of them
RUN_AT_MOST = 3 * 3600  # seconds after which one that nobody asks for expires
CAUSES_KEPT = 1000  # of a lane


class RunExpired(InputError):
    """A run that is not there, or not any more: whoever knows how it came about can make it again."""


@dataclass
class Lane:
    """One line of a run: the original, a branch, or a trace that was opened from a file (then without a session)."""

    name: str
    session: Session | None = None
    opened: Trace | None = None
    causes: dict[tuple[int, int], Verdict] = field(default_factory=dict)  # by step and position, as they were asked for
    layers: dict[tuple[int, int], Layers] = field(default_factory=dict)  # the same

    @property
    def trace(self) -> Trace:
        if self.session is not None:
            trace = self.session.trace
            trace.causes, trace.layers = list(self.causes.values()), list(self.layers.values())
            trace.learn(self.session.model.token_text)
            return trace
        assert self.opened is not None
        return self.opened

    @property
    def cells(self) -> int:
        """Positions × steps."""
        if self.session is not None:
            return len(self.session.steps) * len(self.session.state.tokens)
        return len(self.trace.steps) * len(self.trace.tokens)

    def known_before(self, step: int) -> dict[str, Any]:
        """The causes and layers that a branch shares: those of the steps before one."""
        kept: dict[str, dict[tuple[int, int], Any]] = {"causes": self.causes, "layers": self.layers}
        return {name: {key: told for key, told in every.items() if key[0] < step} for name, every in kept.items()}

    def keep(self, told: Verdict | Layers) -> None:
        """A verdict with its causes, or what the layers said; of too many the first goes."""
        kept: dict[tuple[int, int], Any] = self.causes if isinstance(told, Verdict) else self.layers
        kept[told.step, told.position] = told
        if len(kept) > CAUSES_KEPT:
            del kept[next(iter(kept))]

    def live(self, wish: str) -> Session:
        """The session; `wish`: what cannot be had without a model."""
        if self.session is None:
            raise InputError(f"this trace was opened from a file and has no model behind it; decode its prompt {wish}")
        return self.session

    def at_step(self, step: int, wish: str) -> Session:
        """The session as it stood before it made a step."""
        return at_step(self.live(wish), step)


@dataclass
class Run:
    """What one visitor is looking at."""

    key: str
    model: str = ""  # the name under which the page offers it
    lanes: list[Lane] = field(default_factory=list)
    reference: Trace | None = None  # one token per step, for the table of a comparison
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopping: threading.Event = field(default_factory=threading.Event)
    touched: float = field(default_factory=time.monotonic)

    @property
    def cells(self) -> int:
        """How large it is."""
        return sum(lane.cells for lane in self.lanes)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Only one computation at a time; whoever comes second is told."""
        if not self.lock.acquire(blocking=False):
            raise InputError("this run is being computed already; stop it first")
        self.stopping.clear()
        try:
            yield
        finally:
            self.touched = time.monotonic()
            self.lock.release()

    def branches(self) -> list[dict[str, Any]]:
        return [{"id": number, "name": lane.name} for number, lane in enumerate(self.lanes)]


class Runs:
    """The runs of all visitors."""

    def __init__(self) -> None:
        self.kept: dict[str, Run] = {}
        self._lock = threading.Lock()

    def new(self, model: str = "", *lanes: Lane) -> Run:
        run = Run(secrets.token_urlsafe(18), model)
        with self._lock:
            self.kept[run.key] = run
            self._expire()
        run.lanes.extend(lanes)  # only now: however large it is, it is not the one that goes
        return run

    def find(self, key: str) -> Run:
        with self._lock:
            run = self.kept.get(key)
            if run is not None:
                run.touched = time.monotonic()
        if run is None:
            raise RunExpired("the server has forgotten this run; decode the prompt again")
        return run

    def _expire(self) -> None:
        """Runs that have no place any more go, those first that nobody has touched for longest; what is being computed
        stays."""
        cells, oldest = 0, time.monotonic() - RUN_AT_MOST
        runs = sorted(self.kept.values(), key=lambda run: run.touched, reverse=True)
        for number, run in enumerate(runs):
            full = number >= RUNS_KEPT or cells + run.cells > CELLS_KEPT
            if (full or run.touched < oldest) and not run.lock.locked():
                del self.kept[run.key]
            else:
                cells += run.cells


def lane_names(sessions: list[Session]) -> list[str]:
    """A name per session: its decoder, and what sets it apart where a decoder comes twice."""
    names: list[str] = []
    for session in sessions:
        twins = [other for other in sessions if other.decoder is session.decoder]
        own = session.settings.as_dict()
        differs = [k for k in own if any(other.settings.as_dict()[k] != own[k] for other in twins)]
        allowed = session.settings.allowed()
        names.append(" ".join([session.decoder.title, *(f"{allowed[k].symbol or k} {own[k]}" for k in differs)]))
    return names


def apart(names: list[str]) -> list[str]:
    """Names of lanes, of which none comes twice.

    >>> apart(["DARD", "DARD", "mine"])
    ['DARD', 'DARD (2)', 'mine']
    """
    return [name if name not in names[:n] else f"{name} ({n + 1})" for n, name in enumerate(names)]
