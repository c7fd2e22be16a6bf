"""Gradio's queue with a number of places for each room and each visitor.

Promises: who finds no place is told so before anything of theirs is queued; whoever decodes waits for no experiment,
and quick questions wait for neither; what nobody listens to leaves.
Does not know: what is asked.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastapi import HTTPException, Request
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Event, Queue
from gradio.utils import run_coro_in_background

from dard.core.errors import InputError
from visual.door import LISTENERS
from visual.tabs.component import ASKED_AGAIN, VISITORS_AT_ONCE, end_with


class RoomSize(NamedTuple):
    """How many questions a room holds, waiting or being answered, and how many of one visitor; what is said if it is
    full, or if they are too many."""

    most: int
    each: int
    full: str
    enough: str


def places_of_one() -> int:
    """How many places one visitor has where decodes are made; behind one address there may be a whole class."""
    told = os.environ.get("DARD_PLACES", "16")
    if not told.isdecimal() or not 1 <= int(told) <= 1000:
        raise InputError(f"DARD_PLACES = {told[:20]!r} is not allowed; it must be a whole number from 1 to 1000")
    return int(told)


ROOMS = {
    "model": RoomSize(
        2 * VISITORS_AT_ONCE,
        places_of_one(),
        "the page is full; try again in a moment",
        "so much is being decoded for your address already; try again when some of it is done",
    ),
    "lab": RoomSize(
        8,
        1,
        "8 experiments are running or waiting already; try again in some minutes",
        "an experiment of yours is running or waiting already; stop it, or wait for its end",
    ),
}
OTHER = RoomSize(256, 32, "the page is full; try again in a moment", "wait for the answers to what you asked already")
LISTENS_WITHIN = 15.0  # seconds after which an event must have a listener
LOOKS_EVERY = 2.0


class Places(Queue):
    """The queue of a page."""

    @classmethod
    def of(cls, queue: Queue) -> Places:
        """Another queue made this one."""
        queue.__class__ = cls
        assert isinstance(queue, Places)
        queue._silent = {}
        return queue

    _silent: dict[str, float]  # sessions without a listener, and since when

    async def push(self, body: PredictBodyInternal, request: Request, username: str | None) -> Any:
        """Enter a question, or refuse it in a sentence, which is also the last thing its page hears of it."""
        fn = self.blocks.fns.get(body.fn_index) if body.fn_index is not None else None
        room = ROOMS.get(getattr(fn, "concurrency_id", ""), OTHER)
        mine = request.scope.get("visitor", "")
        inside = [visitor for other, visitor in self._inside() if other is room]
        if len(inside) >= room.most or inside.count(mine) >= room.each:
            sentence = room.full if inside.count(mine) < room.each else room.enough
            asked = body.event_data
            end_with(asked.get("question") if isinstance(asked, dict) else None, sentence)
            raise HTTPException(429, sentence)
        return await super().push(body, request, username)

    def _events(self) -> Iterator[Event]:
        """Those that wait, and those that are being answered."""
        for queue in self.event_queue_per_concurrency_id.values():
            yield from queue.queue
        for job in self.active_jobs:
            yield from job or ()

    def _inside(self) -> Iterator[tuple[RoomSize, str]]:
        for event in self._events():
            yield ROOMS.get(event.concurrency_id, OTHER), event.request.scope.get("visitor", "")

    def listens(self, event_id: str | None) -> bool:
        """Whether anybody waits for the answer to an event; the first seconds it is taken for granted."""
        event = self.event_ids_to_events.get(event_id or "")
        return event is None or (event.alive and not self._unheard(event))

    @staticmethod
    def _unheard(event: Event) -> bool:
        asked = getattr(event.data, "event_data", None)
        question = asked.get("question") if isinstance(asked, dict) else None
        heard = ASKED_AGAIN.get(question, 0.0) if isinstance(question, str) else 0.0
        late = time.monotonic() - max(event.enqueue_time, heard) > LISTENS_WITHIN
        return late and not LISTENERS[event.session_hash] and not LISTENERS[event._id]

    def start(self) -> None:
        super().start()
        run_coro_in_background(self._look)

    async def _look(self) -> None:
        """Take out what nobody listens to, and what is left of sessions that are gone."""
        while not self.stopped:
            await asyncio.sleep(LOOKS_EVERY)
            for event in [*self._events()]:
                if self._unheard(event):
                    await self.clean_events(event_id=event._id)
            active = Counter(event.session_hash for event in self._events())
            for session in [*self.pending_event_ids_session]:
                if (
                    active[session]
                    or LISTENERS[session]
                    or any(LISTENERS[each] for each in self.pending_event_ids_session[session])
                ):
                    self._silent.pop(session, None)
                elif time.monotonic() - self._silent.setdefault(session, time.monotonic()) > LISTENS_WITHIN:
                    del self._silent[session], self.pending_event_ids_session[session]
                    if session in self.pending_messages_per_session:
                        del self.pending_messages_per_session[session]
