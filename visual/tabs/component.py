"""A tab as one browser component, joined to the service by one queued event and a few quick calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr

from dard.core.errors import InputError
from visual.payload import pack
from visual.server.endpoints import endpoints, refusal, until_refused
from visual.server.requests import Question
from visual.server.studio import Studio

# What is sent at once, and may be lost: steps are asked for again by their number. Everything else waits for the answer
# after it, so the last of it comes with the end.
NEWS = frozenset({"steps", "waiting", "progress"})
ENDS_KEPT = 100  # last messages that can be asked for again
VISITORS_AT_ONCE = 64  # who runs the model; their passes are shared

# `ask` goes through Gradio's queue, because it runs the model; `server.*` are quick answers that skip it. The config is
# no prop: Gradio copies and compares all of these whenever one of them changes.
CONNECT = """
window.dardStudio.then(async (studio) => {
  const bridge = studio.connect((request) => trigger('ask', request), server);
  watch('reply', () => bridge.hear(props.reply));
  studio[props.mount](element.querySelector('.dw-root'), bridge, await studio.unpack('%s'));
});
"""


def build_component(
    studio: Studio,
    mount: str,
    config: dict[str, Any],
    room: Any = None,
    queue: str = "model",
    at_once: int = VISITORS_AT_ONCE,
) -> None:
    """Place a tab's component. `mount` names the function that builds it in the browser out of `config`; `room` answers
    what it asks, by default the studio, so many `at_once` of the questions that take their turn in `queue`."""
    room = room or studio
    offered = endpoints(room, "page")
    queued = {name: each for name, each in offered.items() if each.queue}
    ends: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def messages(request: dict[str, Any], question: str) -> Iterator[dict[str, Any]]:
        """What is answered: first, as long as it takes to load a model, how far that is."""
        action = request.get("action")
        if not isinstance(action, str) or action not in queued:
            raise InputError(f"action must be one of {', '.join(queued)}")
        each = queued[action]
        asked: Any = each.request.of(request)
        if each.needs_model:
            yield from studio.models.waiting(asked.model, question)
        yield from each.replies(room, asked)

    def ask(event: gr.EventData) -> Iterator[Any]:
        """Answers, each message with the question it belongs to, so that no one takes another's; the last is `end`.

        A browser that is busy may see only the last of several messages, and a connection may lose that one too.
        """
        request = event._data if isinstance(event._data, dict) else {}
        held: list[dict[str, Any]] = []
        try:
            question = Question.of(request).question
        except InputError as error:
            question, replies = "", iter([refusal(error)])
        else:
            replies = until_refused(messages(request, question))
        for reply in replies:
            held.append(reply)
            if reply["kind"] in NEWS:
                yield answer({"question": question, "replies": held})
                held = []
        end = {"question": question, "replies": [*held, {"kind": "end"}]}
        ends[question] = end
        while len(ends) > ENDS_KEPT:
            ends.popitem(last=False)
        yield answer(end)

    def again(request: Any) -> Iterator[dict[str, Any]]:
        """The last message of a question, for a browser that waits for it; without answers if there is none yet."""
        question = Question.of(request).question
        yield ends.get(question) or {"question": question, "replies": []}

    calls = {name: partial(each.replies, room) for name, each in offered.items() if not each.queue}
    component = gr.HTML(
        html_template='<div class="dw-root"></div>',
        js_on_load=CONNECT % pack(config),
        apply_default_css=False,
        server_functions=[quick("again", again), *(quick(name, call) for name, call in calls.items())],
        mount=mount,
        reply="",
    )
    component.ask(
        ask,
        inputs=None,
        outputs=component,
        trigger_mode="multiple",
        show_progress="hidden",
        concurrency_id=queue,
        concurrency_limit=at_once,
        api_visibility="private",
    )


def quick(name: str, replies: Callable[[Any], Iterator[dict[str, Any]]]) -> Callable[[Any], str]:
    """A call that has one answer, by its name in the browser."""

    def call(request: Any) -> str:
        (reply,) = until_refused(replies(request))
        return pack(reply)

    call.__name__ = name
    return call


def answer(reply: dict[str, Any]) -> Any:
    """An answer on its way to the browser, packed into text: between two objects Gradio sends only the difference, and
    gets it wrong when a list becomes shorter."""
    return gr.HTML(reply=pack(reply))
