"""Many decodes of one model at the same time: all that are under way go on together, one forward pass after another.

Promises: a session makes the same steps in company and alone; who comes joins the next pass, ahead of those who are
already on their way, and who leaves is in no further one; a pass holds no more tokens than the device has room for, and
where that was too much, half; what fails for one fails for nobody else, whatever it raises, and also where it never
returns: who listens sees to it that the thread lives and comes back. Those in the background fill what is left.
Does not know: who is watching, the page, or any decoder's rule.

The passes are made by one thread, which ends when there was nothing to do for a while. Sessions of one model may come
with copies of it that share its weights, such as one that has seen a picture.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from dard.core.errors import InputError
from dard.decoding import loop, watch
from dard.decoding.session import Session
from dard.models.memory import NotEnoughMemory, free_memory

BYTES_PER_LOGIT = 8  # a float32 and what is made of it
ROOM = 0.5  # the share of a device's free memory that a pass may fill
AHEAD = 8  # rounds that nobody has heard of yet, after which a job waits for its listener
LOOKS_EVERY = 1.0  # seconds of silence after which a listener looks after the thread
UNHEARD_AT_MOST = 600.0  # seconds without a listener after which a job ends
PATIENCE = 10  # seconds without work after which the thread ends; a new one costs torch a new pool of threads


class Abandoned(BaseException):
    """Raised in a thread that did not come back in time: another one has taken its place."""


@dataclass(eq=False)
class Job:
    """Sessions that go on side by side: nobody makes the next step before all have made this one."""

    sessions: Sequence[loop.Stepping]
    left: int | None  # passes; None: to the end
    background: bool
    news: SimpleQueue[list[Any] | Exception | None] = field(default_factory=SimpleQueue)
    pending: list[loop.PendingQuestion] = field(default_factory=list)  # what this round still has to put to the model
    due: int = 0  # steps that make up this round
    moved: list[loop.Stepping] = field(default_factory=list)
    since: float = 0.0  # when the round began
    turns: int = 0  # the number of the pass it was last in; 0 for a newcomer
    heard: float = field(default_factory=time.monotonic)  # when there was last something new
    over: bool = False
    fresh: bool = True  # a round is to begin

    def begin_round(self) -> None:
        """Ask what comes next; without anything to ask the job is over."""
        self.fresh = False
        going = [session for session in self.sessions if not session.finished]
        self.due, self.moved, self.since = len(going), [], time.perf_counter()
        if self.left == 0 or not going:
            return self.end()
        try:
            self.pending = [loop.pending(session) for session in going]
        except Abandoned:
            raise
        except BaseException as error:
            self.end(told(error, going[0]))

    def end(self, error: Exception | None = None) -> None:
        self.over = True
        self.news.put(error)

    def took(self, session: loop.Stepping) -> None:
        """A session has made its step; the last one of a round ends the round."""
        self.moved.append(session)
        if len(self.moved) == self.due:
            self.left = None if self.left is None else self.left - 1
            self.heard = time.monotonic()
            self.news.put(self.moved)
            self.fresh = True

    @property
    def unheard(self) -> bool:
        """Whether its listener is gone for good."""
        return self.news.qsize() >= AHEAD and time.monotonic() - self.heard > UNHEARD_AT_MOST


class Scheduler:
    """The passes of one model.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> sessions = [Session(los_diego(), LOS_DIEGO, name) for name in ("dard", "standard")]
    >>> [len(moved) for moved in Scheduler().passes(sessions)]
    [2, 2, 1, 1]
    """

    together = True  # without it one job after the other is made to its end, for comparison

    def __init__(self) -> None:
        self.waited = 0.0  # seconds the last round of anybody spent waiting for others
        self._jobs: list[Job] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._turn = 0
        self._batch: list[tuple[Job, loop.PendingQuestion]] = []  # the pass that is being made
        self._open: list[tuple[Job, loop.PendingQuestion]] = []  # the questions of this turn without a step yet
        self._most = loop.TOKENS_AT_MOST

    @property
    def jobs(self) -> int:
        """How many are under way."""
        return sum(not job.over for job in list(self._jobs))

    def passes(
        self, sessions: Sequence[Session], most: int | None = None, background: bool = False
    ) -> Iterator[list[Session]]:
        """Go on until every session is finished, or for so many passes. Yields who made a step, after each.

        Whoever stops listening leaves. In the background one goes on while the others leave room.
        """
        job = Job(sessions, most, background)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
            if self._thread is None:
                self._most = min(loop.TOKENS_AT_MOST, room(sessions[0]))
                self._begin()
        try:
            while isinstance(news := self._news(job), list):
                if job.news.qsize() == AHEAD - 1:
                    with self._changed:
                        self._changed.notify()
                yield news
            if news is not None:
                raise news
        finally:
            with self._changed:
                job.over = True

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
        self._thread.start()

    def _news(self, job: Job) -> list[Any] | Exception | None:
        """What comes next; meanwhile the thread that makes it is looked after."""
        while True:
            try:
                return job.news.get(timeout=LOOKS_EVERY)
            except Empty:
                with self._changed:
                    self._look_after()

    def _look_after(self) -> None:
        """Begin again where the thread has died, or does not come back from code of somebody else."""
        if self._thread is None or not self._thread.is_alive():
            return self._begin()
        number = self._thread.ident or 0
        work = watch.BUSY.get(number)
        if work is None or not work.overdue:
            return
        whose = [job for job in self._jobs if any(session is work.of for session in job.sessions)]
        for job in whose or [job for job, _ in self._batch]:
            if not job.over:
                job.end(InputError(f"{work.what} did not come back within {work.most:g} seconds, and was given up"))
        for job, question in self._open:
            job.pending.append(question)
        self._open = []
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), ctypes.py_object(Abandoned))
        self._begin()

    def _loop(self) -> None:
        try:
            while self._round():
                pass
        except Abandoned:
            pass

    def _round(self) -> bool:
        """The next pass of whoever wants one; False when the thread shall end."""
        with self._changed:
            if threading.current_thread() is not self._thread:
                return False
            for job in self._jobs:
                job.over |= job.unheard
            self._jobs = [job for job in self._jobs if not job.over]
            fresh = [job for job in self._jobs if job.fresh]
        for job in fresh:
            job.begin_round()
        with self._changed:
            if threading.current_thread() is not self._thread:
                return False
            self._jobs = [job for job in self._jobs if not job.over]
            self._open = batch = self._next_batch()
            idle = not batch and not any(job.fresh for job in self._jobs)
            if idle and not self._changed.wait(PATIENCE) and not self._jobs:
                self._thread = None
                return False
        self._move(list(batch))
        return True

    def _next_batch(self) -> list[tuple[Job, loop.PendingQuestion]]:
        """Who takes part in the next pass: who wants one step, newcomers, who has waited longest, the background."""
        jobs = [job for job in self._jobs if job.news.qsize() < AHEAD] if self.together else self._jobs[:1]
        batch: list[tuple[Job, loop.PendingQuestion]] = []
        for job in sorted(jobs, key=lambda job: (job.background, job.left != 1, job.turns)):
            for question in list(job.pending):
                if loop.can_join([each for _, each in batch], question, self._most):
                    job.pending.remove(question)
                    batch.append((job, question))
        now = time.perf_counter()
        self.waited = max((now - job.since for job, _ in batch), default=0.0)
        self._turn += 1
        return batch

    def _move(self, batch: list[tuple[Job, loop.PendingQuestion]]) -> None:
        """One forward pass, and what everybody makes of it; in halves where it fails as a whole."""
        if not batch:
            return
        try:
            self._batch = batch
            made = list(loop.shared([question for _, question in batch]))
        except Abandoned:
            raise
        except BaseException as error:
            if len(batch) == 1:
                with self._changed:
                    self._open = [each for each in self._open if each is not batch[0]]
                    batch[0][0].end(told(error, batch[0][1].session))
                return
            if isinstance(error, NotEnoughMemory):
                self._most = max(1, loop.padded([question for _, question in batch]) // 2)
            half = len(batch) // 2
            self._move(batch[:half])
            self._move(batch[half:])
            return
        for each, (session, step, state) in zip(batch, made, strict=True):
            job = each[0]
            with self._changed:  # who leaves now finds the step complete, or not there
                if threading.current_thread() is not self._thread:
                    return
                self._open = [other for other in self._open if other is not each]
                if not job.over:
                    session.take(step, state)
                    job.turns = self._turn
                    job.took(session)


def told(error: BaseException, session: loop.Stepping) -> Exception:
    """What a listener is told: what would end their thread, too, is made a sentence."""
    if isinstance(error, Exception):
        return error
    return InputError(
        f"{loop.told(session.decoder, session.state)} raised {type(error).__name__}, which ends nothing here"
    )


def room(session: Session) -> int:
    """How many tokens a pass may hold by the free memory of its device: every one could need its logits."""
    free = free_memory(session.model.device)
    if free is None:
        return loop.TOKENS_AT_MOST
    return max(1, int(ROOM * free / (BYTES_PER_LOGIT * session.model.vocab_size)))
