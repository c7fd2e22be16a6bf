"""Runs: what visitors look at, each with its lanes.

Promises: a run lives in memory under an unguessable name, so one visitor never meets another's; the oldest expire when
they are too many or take too much memory, or nobody asks for them, and never while they are computed. Whoever keeps
most loses first: what one visitor does pushes out nothing of the others'.
Does not know: requests, or what is told of a run.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dard.analysis.causes import at_step
from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.trace import Diagnosis, Layers, Trace, Verdict
from visual.server.visitors import VISITOR
from visual.server.weight import estimate, weight

RUNS_KEPT = 200
BYTES_KEPT = 512 << 20  # of memory, all of them together
BYTES_EACH = 24 << 20  # of one visitor, beside the newest
RUN_AT_MOST = 3 * 3600  # seconds after which one that nobody asks for expires
CAUSES_KEPT = 1000  # of a lane


class RunExpired(InputError):
    """A run that is not there, or not any more: whoever knows how it came about can make it again."""


class Search(Protocol):
    """A diagnosis on its way."""

    @property
    def expected(self) -> str: ...
    def go_on(self, seconds: float) -> tuple[Diagnosis, dict[int, str]]: ...


@dataclass
class Lane:
    """One line of a run: the original, a branch, or a trace that was opened from a file (then without a session)."""

    name: str
    session: Session | None = None
    opened: Trace | None = None
    causes: dict[tuple[int, int], Verdict] = field(default_factory=dict)  # by step and position, as they were asked for
    layers: dict[tuple[int, int], Layers] = field(default_factory=dict)  # the same
    diagnosis: Diagnosis | None = None
    words: dict[int, str] = field(default_factory=dict)  # that only the diagnosis speaks of
    search: Search | None = None  # what the diagnosis comes from

    @property
    def trace(self) -> Trace:
        if self.session is not None:
            trace = self.session.trace
            trace.causes, trace.layers = list(self.causes.values()), list(self.layers.values())
            trace.diagnosis = self.diagnosis
            trace.learn(self.session.model.token_text)
            trace.token_text = self.words | trace.token_text
            return trace
        assert self.opened is not None
        return self.opened

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
    visitor: str = field(default_factory=VISITOR.get)  # whose it is
    bytes: int = 0  # as of when it was last weighed
    grown: Callable[[Run], None] = lambda run: None  # called after it was computed

    def weigh(self) -> None:
        """How much memory it takes: what was decoded by samples, what came from a file in whole."""
        live = [lane.session for lane in self.lanes if lane.session is not None]
        steps = {id(step): step for session in live for step in session.steps}  # branches share theirs
        states = {id(state): state for session in live for state in session.states}
        known = [verdict for lane in self.lanes for verdict in lane.causes.values()]
        opened = {id(lane.opened): lane.opened for lane in self.lanes if lane.opened is not None}
        self.bytes = sum(estimate([*each]) for each in (steps.values(), states.values(), known))
        self.bytes += sum(weight(trace) for trace in opened.values())

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
            self.weigh()
            self.lock.release()
            self.grown(self)

    def branches(self) -> list[dict[str, Any]]:
        return [{"id": number, "name": lane.name} for number, lane in enumerate(self.lanes)]


class Runs:
    """The runs of all visitors."""

    def __init__(self) -> None:
        self.kept: dict[str, Run] = {}
        self._lock = threading.Lock()

    def new(self, model: str = "", *lanes: Lane) -> Run:
        run = Run(secrets.token_urlsafe(18), model, [*lanes], grown=self.make_room)
        run.weigh()
        with self._lock:
            self.kept[run.key] = run
        self.make_room(run)
        return run

    def find(self, key: str) -> Run:
        with self._lock:
            run = self.kept.get(key)
            if run is not None:
                run.touched = time.monotonic()
        if run is None:
            raise RunExpired("the server has forgotten this run; decode the prompt again")
        return run

    def forget(self, key: str) -> None:
        """A run that nobody looks at any more, unless it is being computed."""
        with self._lock:
            if key in self.kept and not self.kept[key].lock.locked():
                del self.kept[key]

    def make_room(self, latest: Run) -> None:
        """Runs that have no place any more go: of who keeps most, that which nobody has touched for longest. The latest
        stays, and what is being computed."""
        with self._lock:
            runs = sorted(self.kept.values(), key=lambda run: run.touched)
            idle = [run for run in runs if run is not latest and not run.lock.locked()]
            while gone := next((run for run in idle if run.touched < time.monotonic() - RUN_AT_MOST), None) or (
                self._one_too_many(idle)
            ):
                del self.kept[gone.key]
                idle.remove(gone)

    def _one_too_many(self, idle: list[Run]) -> Run | None:
        """The run to forget next, if all of them are too many or too large."""
        size, count = Counter[str](), Counter[str]()
        for run in self.kept.values():
            size[run.visitor] += run.bytes
            count[run.visitor] += 1
        visitors = [visitor for visitor in size if size[visitor] > BYTES_EACH]
        if size.total() > BYTES_KEPT:
            visitors = [visitor for visitor, _ in size.most_common()]
        if count.total() > RUNS_KEPT:
            visitors = [visitor for visitor, _ in count.most_common()]
        return next((run for visitor in visitors for run in idle if run.visitor == visitor), None)


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
