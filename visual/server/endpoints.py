"""The table of what may be asked, and by whom.

Promises: `@endpoint` above a method enters it, with what the question must hold, who may ask and whether it takes its
turn in the queue; Gradio's component, `gr.api` and its tools, the notebook and the tests for nonsense read `TABLE`, and
none has a list of its own.
Does not know: Gradio, or what any endpoint does.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Generator, Iterator
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

from pydantic import create_model

from dard.core.errors import InputError
from visual.payload import sentence
from visual.server.requests import Request
from visual.server.runs import RunExpired

PAGE = frozenset({"page"})
VIEWER = frozenset({"page", "notebook"})
PROGRAMS = frozenset({"program", "assistant"})


class Endpoint:
    """Something that may be asked. In its class it is a method that takes what was sent, or a checked request; what the
    function itself takes are the fields of that, or a `Request` that is written down as a class."""

    owner: type[Any]
    name: str

    def __init__(
        self, method: Callable[..., Any], by: frozenset[str], queue: bool, needs_model: bool, name: str | None
    ) -> None:
        self.method, self.by, self.queue, self.needs_model, self._name = method, by, queue, needs_model, name
        self.__doc__ = method.__doc__
        _, *parameters = signature(method, eval_str=True).parameters.values()
        kinds = {each.name: each.annotation for each in parameters}
        self._whole = "request" in kinds
        fields: Any = {
            each.name: (each.annotation, ... if each.default is each.empty else each.default) for each in parameters
        }
        self.request = kinds["request"] if self._whole else create_model(method.__name__, __base__=Request, **fields)

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.owner, self.name = owner, self._name or name
        TABLE.append(self)

    def __get__(self, room: Any, owner: type[Any] | None = None) -> Any:
        return self if room is None else partial(self.ask, room)

    def ask(self, room: Any, data: Any = None) -> Any:
        """The answer of the object that this is an endpoint of."""
        request = self.request.of(data)
        return self.method(room, request) if self._whole else self.method(room, **dict(request))

    def replies(self, room: Any, data: Any) -> Iterator[dict[str, Any]]:
        """The answer as messages, be it one or several."""
        answer = self.ask(room, data)
        for reply in answer if isinstance(answer, Iterator) else [answer]:
            yield reply.message() if isinstance(reply, File) else reply


TABLE: list[Endpoint] = []


def endpoint(
    by: frozenset[str] = PAGE, *, queue: bool = False, needs_model: bool = False, name: str | None = None
) -> Callable[[Callable[..., Any]], Endpoint]:
    """Enter a method into the table. `queue`: it runs a model, so it takes its turn; `needs_model`: one may have to be
    loaded first; `name`: what it is asked by, if not the method's."""
    return lambda method: Endpoint(method, by, queue, needs_model, name)


def endpoints(room: Any, asker: str) -> dict[str, Endpoint]:
    """What somebody may ask an object, by name."""
    return {each.name: each for each in TABLE if isinstance(room, each.owner) and asker in each.by}


class File(NamedTuple):
    """A file as an answer."""

    name: str
    media: str
    content: bytes

    def message(self) -> dict[str, Any]:
        """The file on its way to the browser."""
        data = base64.b64encode(self.content).decode()
        return {"kind": "file", "name": self.name, "media": self.media, "data": data}


def refusal(error: BaseException) -> dict[str, Any]:
    """What is answered instead: whatever happened, nobody waits for an answer that never comes."""
    if isinstance(error, InputError):
        return {"kind": "error", "text": sentence(str(error)), "expired": isinstance(error, RunExpired)}
    logging.getLogger(__name__).error("a question could not be answered", exc_info=error)
    told = f"The server could not do that ({type(error).__name__}); what is on screen is kept. Try again."
    return {"kind": "error", "text": told, "expired": False}


def until_refused(messages: Iterator[dict[str, Any]]) -> Generator[dict[str, Any], None, None]:
    """These messages; where they break off, the refusal is the last."""
    try:
        yield from messages
    except GeneratorExit:
        raise
    except BaseException as error:  # a decoder of others may raise what ends a thread
        yield refusal(error)
