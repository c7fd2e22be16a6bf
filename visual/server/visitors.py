"""On whose behalf something is done, and whether anybody still waits for it.

Promises: code of the server asks here who the visitor is and never takes a name along; a generator is continued on
behalf of whoever began it, in whichever thread.
Does not know: how visitors are told apart, or Gradio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

VISITOR: ContextVar[str] = ContextVar("VISITOR", default="")  # nobody in particular: a notebook, a test
HEARD: ContextVar[Callable[[], bool]] = ContextVar("HEARD", default=lambda: True)

Some = TypeVar("Some")


@contextmanager
def on_behalf_of(visitor: str, heard: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """What is done inside is done for a visitor; `heard` tells whether the answer still has a listener."""
    names = VISITOR.set(visitor), HEARD.set(heard)
    try:
        yield
    finally:
        VISITOR.reset(names[0])
        HEARD.reset(names[1])


def continued(visitor: str, messages: Iterator[Some]) -> Iterator[Some]:
    """These messages, each made on behalf of a visitor.

    >>> list(continued("somebody", (VISITOR.get() for _ in range(2))))
    ['somebody', 'somebody']
    """
    while True:
        with on_behalf_of(visitor):
            try:
                message = next(messages)
            except StopIteration:
                return
        yield message
