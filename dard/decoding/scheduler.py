"""Many decodes of one model at the same time: all that are under way go on together, one forward pass after another.

Promises: a session makes the same steps in company and alone; who comes joins the next pass, ahead of those who are
already on their way, and who leaves is in no further one; a pass holds no more tokens than the device has room for, and
where that was too much, half; what fails for one fails for nobody else. Those in the background fill what is left.
Does not know: who is watching, the page, or any decoder's rule.

The passes are made by one thread, which ends when there was nothing to do for a while. Sessions of one model may come
with copies of it that share its weights, such as one that has seen a picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from dard.decoding import loop
from dard.decoding.session import Session
from dard.models.memory import NotEnoughMemory, free_memory

BYTES_PER_LOGIT = 8  # a float32 and what is made of it
ROOM = 0.5  # the share of a device's free memory that a pass may fill
AHEAD = 8  # rounds that nobody has heard of yet, after which a job waits for its listener
PATIENCE = 10  # seconds without work after which the thread ends; a new one costs torch a new pool of threads


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
    over: bool = False

    def begin_round(self) -> None:
        """Ask what comes next; without anything to ask the job is over."""
        going = [session for session in self.sessions if not session.finished]
        self.due, self.moved, self.since = len(going), [], time.perf_counter()
        if self.left == 0 or not going:
            return self.end()
        try:
            self.pending = [loop.pending(session) for session in going]
        except Exception as error:
            self.end(error)

    def end(self, error: Exception | None = None) -> None:
        self.over = True
        self.news.put(error)

    def took(self, session: loop.Stepping) -> None:
        """A session has made its step; the last one of a round ends the round."""
        self.moved.append(session)
        if len(self.moved) == self.due:
            self.left = None if self.left is None else self.left - 1
            self.news.put(self.moved)
            self.begin_round()


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
        job.begin_round()
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
            if self._thread is None:
                self._most = min(loop.TOKENS_AT_MOST, room(sessions[0]))
                self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
                self._thread.start()
        try:
            while isinstance(news := job.news.get(), list):
                if job.news.qsize() == AHEAD - 1:
                    with self._changed:
                        self._changed.notify()
                yield news
            if news is not None:
                raise news
        finally:
            with self._changed:
                job.over = True

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._jobs = [job for job in self._jobs if not job.over]
                batch = self._next_batch()
                if not batch and not self._changed.wait(PATIENCE) and not self._jobs:
                    self._thread = None
                    return
            self._move(batch)

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
            made = list(loop.shared([question for _, question in batch]))
        except Exception as error:
            if len(batch) == 1:
                batch[0][0].end(error)
                return
            if isinstance(error, NotEnoughMemory):
                self._most = max(1, loop.padded([question for _, question in batch]) // 2)
            half = len(batch) // 2
            self._move(batch[:half])
            self._move(batch[half:])
            return
        for (job, _), (session, step, state) in zip(batch, made, strict=True):
            with self._changed:  # who leaves now finds the step complete, or not there
                if not job.over:
                    session.take(step, state)
                    job.turns = self._turn
                    job.took(session)


def room(session: Session) -> int:
    """How many tokens a pass may hold by the free memory of its device: every one could need its logits."""
    free = free_memory(session.model.device)
    if free is None:
        return loop.TOKENS_AT_MOST
    return max(1, int(ROOM * free / (BYTES_PER_LOGIT * session.model.vocab_size)))
