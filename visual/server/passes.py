"""Where the forward passes of a page run: in this process, or, on a ZeroGPU Space, in one that borrows a GPU.

Promises: `passes` makes the same steps in either place, and each session holds its new step when that is reported, and
perhaps further ones. Here all runs of a model under way share its passes.
Does not know: Gradio, or who is watching.

A ZeroGPU Space has no GPU of its own. A function marked with `spaces.GPU` runs in a forked process that holds one for a
limited time; what goes in and what comes out is pickled, and nothing else that it changes is seen here. So a session
travels without its model and its past, the model is found in the memory that was forked, and only new steps come back.
The sessions of one call share its passes; other visitors' are calls of their own, because each is counted against the
time that the visitor it is made for may borrow.
"""

from __future__ import annotations

import copy
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from dard.analysis.diagnosis import Diagnosing
from dard.analysis.finished import finished
from dard.core.errors import InputError
from dard.core.state import DecodeState
from dard.decoding import loop
from dard.decoding.scheduler import Scheduler
from dard.decoding.session import Session
from dard.models import with_image
from dard.models.base import Model
from dard.trace import Diagnosis, Step
from visual.server.visitors import HEARD

# Models by the name they were loaded under; a forked process inherits them.
LOADED: dict[str, Model] = {}
# By the same names, who makes the passes of a model.
SCHEDULERS: defaultdict[str, Scheduler] = defaultdict(Scheduler)

LEAST_SECONDS, MOST_SECONDS = 15, 120  # how long a GPU may be asked for
SECONDS_PER_PASS = 0.25  # of an 8 B model and 512 positions, with room to spare
MOST_SECONDS_OF_PASSES = round(MOST_SECONDS / SECONDS_PER_PASS)

Answer = TypeVar("Answer")
Made = list[tuple[int, Step, DecodeState]]


def on_zero_gpu() -> bool:
    """Whether this is a Space whose GPUs are borrowed."""
    return bool(os.environ.get("SPACES_ZERO_GPU"))


def passes(
    name: str, sessions: Sequence[Session], most: int | None = None, background: bool = False
) -> Iterator[list[Session]]:
    """Make at most so many passes (all that are left: None) of the model with this name. Yields who took part."""
    if not on_zero_gpu() or sessions[0].model.device.type == "cpu":
        yield from SCHEDULERS[name].passes(sessions, most, background)
        return
    bound = max(2 * len(session.state.tokens) for session in sessions)
    for made in borrowed(remote_passes)(name, list(sessions), bound if most is None else min(most, bound)):
        for number, step, state in made:
            sessions[number].take(step, state)
        yield [sessions[number] for number, _, _ in made]


def finish(name: str, sessions: Sequence[Session], most: int | None = None, background: bool = False) -> None:
    """The same for whoever does not watch, as long as somebody waits for it."""
    for _ in passes(name, sessions, most, background):
        if not HEARD.get()():
            raise InputError("nobody waits for this decode any more")


def call(name: str, function: Callable[..., Answer], session: Session, *arguments: Any) -> Answer:
    """What a function makes of a session where it stands, in either place."""
    if not on_zero_gpu() or session.model.device.type == "cpu":
        return function(session, *arguments)
    (answer,) = borrowed(remote_call)(name, [function, session, *arguments], "")
    return answer


def remote_call(name: str, what: list[Any], _: str) -> Iterator[Any]:
    """The same beside the GPU, on a copy of the session."""
    function, session, *arguments = what
    session.model = LOADED[name]
    yield function(session, *arguments)


def remote_passes(name: str, sessions: list[Session], most: int) -> Iterator[Made]:
    """What runs beside the GPU, on copies of the sessions."""
    for session in sessions:
        session.model = LOADED[name]
    numbers = {id(session): number for number, session in enumerate(sessions)}
    for made in loop.passes(sessions, most):
        yield [(numbers[id(session)], session.steps[-1], session.state) for session in made]


def diagnoses(name: str, session: Session, expected: str | None) -> Iterator[tuple[Diagnosis, dict[int, str]]]:
    """The diagnosis of a session as it grows, and the words it speaks of."""
    if not on_zero_gpu() or session.model.device.type == "cpu":
        yield from diagnosed(session, expected)
        return
    past = [(step, session.at(step.index).state) for step in session.steps]
    yield from borrowed(remote_diagnosis)(name, [session.at(0), past, expected], MOST_SECONDS_OF_PASSES)


def remote_diagnosis(name: str, what: list[Any], _: int) -> Iterator[tuple[Diagnosis, dict[int, str]]]:
    """The same beside the GPU, on a copy of the session that gets its past back; it ends in time."""
    session, past, expected = what
    session.model, end = LOADED[name], time.monotonic() + MOST_SECONDS - LEAST_SECONDS
    for step, state in past:
        session.take(step, state)
    for known, words in diagnosed(session, expected):
        if known.stage == "done" or time.monotonic() > end:
            yield known, words
            return


def diagnosed(session: Session, expected: str | None) -> Iterator[tuple[Diagnosis, dict[int, str]]]:
    search = Diagnosing(finished(session), expected, False)
    yield from ((known, search.done.trace.token_text) for known in search.run())


def with_pictures(name: str, model: Model, images: list[Any], fit: str) -> Model:
    """The model of this name with pictures in view. Where a GPU is borrowed, their reading happens beside it."""
    if not on_zero_gpu() or model.device.type == "cpu":
        return with_image(model, *images, fit=fit)
    shown = copy.copy(model)
    (shown.prefix,) = borrowed(remote_pictures)(name, images, fit)  # type: ignore[attr-defined]
    return shown


def remote_pictures(name: str, images: list[Any], fit: str) -> Iterator[tuple[int, ...]]:
    """What runs beside the GPU: the tokens that pictures become."""
    yield with_image(LOADED[name], *images, fit=fit).prefix  # type: ignore[attr-defined]


def seconds(name: str, sessions: list[Any], most: int | str) -> int:
    """How long to ask for a GPU, from the settings of what is to be decoded; for a few pictures the least will do.

    >>> seconds("llada-8b-instruct", [], 400)
    100
    """
    passes = most if isinstance(most, int) else 0
    return round(min(MOST_SECONDS, max(LEAST_SECONDS, SECONDS_PER_PASS * passes)))


@cache
def borrowed(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """One of `REMOTE`, marked so that it runs where a GPU is. A Space looks for such marks when it starts."""
    import spaces  # installed on ZeroGPU Spaces, and only there

    mark: Any = spaces.GPU(duration=seconds)
    return mark(function)


REMOTE = (remote_passes, remote_call, remote_diagnosis, remote_pictures)
