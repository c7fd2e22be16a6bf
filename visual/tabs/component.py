"""A tab as one browser component, joined to the service by one queued event and a few quick calls."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr
from gradio.context import LocalContext

from dard.core.errors import InputError
from visual.payload import pack
from visual.server.endpoints import endpoints, refusal, until_refused
from visual.server.requests import Question
from visual.server.studio import Studio
from visual.server.visitors import continued, on_behalf_of

# What is sent at once, and may be lost: steps are asked for again by their number. Everything else waits for the answer
# after it, so the last of it comes with the end.
NEWS = frozenset({"steps", "waiting", "progress"})
ENDS_KEPT = 400  # last messages that can be asked for again
VISITORS_AT_ONCE = 64  # who runs the model; their passes are shared

# What is said of a question whose connection was lost before its end; whoever can goes on from where that was.
CUT = [
    {"kind": "error", "text": "The connection to the server was lost in the middle; ask again.", "cut": True},
    {"kind": "end"},
]
ENDS: OrderedDict[str, dict[str, Any]] = OrderedDict()  # by the unguessable names of their questions

ASKED_AGAIN: dict[str, float] = {}  # when somebody last waited for a question, by its name

# `ask` goes through Gradio's queue, because it runs the model; `server.*` are quick answers that skip it. The config is
# no prop: Gradio copies and compares all of these whenever one of them changes. What stands in quotes is an event to
# it, so `reply` does not: it would answer with the event's place in memory.
CONNECT = """
window.dardStudio.then(async (studio) => {
  const bridge = studio.connect((request) => trigger('ask', request), server);
  const [reply] = Object.keys({ reply: 0 });
  watch(reply, () => bridge.hear(props.reply));
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
        replies: Any
        held: list[dict[str, Any]] = []
        try:
            question = Question.of(request).question
        except InputError as error:
            question, replies = "", until_refused(iter([refusal(error)]))
        else:
            replies = until_refused(continued(asker(), messages(request, question)))
        try:
            for reply in replies:
                held.append(reply)
                if reply["kind"] in NEWS:
                    yield answer({"question": question, "replies": held})
                    held = []
        except GeneratorExit:  # Gradio ends what has lost its connection; its browser will ask what became of it
            replies.close()
            keep_end({"question": question, "replies": CUT})
            raise
        end = {"question": question, "replies": [*held, {"kind": "end"}]}
        keep_end(end)
        yield answer(end)

    def again(request: Any) -> Iterator[dict[str, Any]]:
        """The last message of a question, for a browser that waits for it; without answers if there is none yet."""
        question = Question.of(request).question
        waits_for(question)
        yield ENDS.get(question) or {"question": question, "replies": [] if under_way(question) else CUT}

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


def asker() -> str:
    """Whose question this thread answers, as the door said."""
    request: Any = LocalContext.request.get(None)
    request = getattr(request, "request", request)  # Gradio's own kind is around the one that came in
    return "" if request is None else request.scope.get("visitor", "")


def keep_end(end: dict[str, Any]) -> None:
    """The last message of a question, for whoever asks again."""
    ENDS[end["question"]] = end
    while len(ENDS) > ENDS_KEPT:
        ENDS.popitem(last=False)


def waits_for(question: str) -> None:
    """Somebody listens to this question, though not to the stream of answers."""
    ASKED_AGAIN.pop(question, None)
    ASKED_AGAIN[question] = time.monotonic()
    while len(ASKED_AGAIN) > ENDS_KEPT:
        del ASKED_AGAIN[next(iter(ASKED_AGAIN))]


def under_way(question: str) -> bool:
    """Whether a question waits for its turn, or is being answered; where nobody can tell, it may be."""
    queue = getattr(LocalContext.blocks.get(None), "_queue", None)
    if queue is None:
        return True
    asked = [getattr(event.data, "event_data", None) for event in [*queue.event_ids_to_events.values()]]
    return any(isinstance(each, dict) and each.get("question") == question for each in asked)


def end_with(question: Any, sentence: str) -> None:
    """Refuse a question that nobody will look at."""
    if isinstance(question, str):
        keep_end({"question": question[:100], "replies": [refusal(InputError(sentence)), {"kind": "end"}]})


def quick(name: str, replies: Callable[[Any], Iterator[dict[str, Any]]]) -> Callable[[Any], str]:
    """A call that has one answer, by its name in the browser."""

    def call(request: Any) -> str:
        with on_behalf_of(asker()):
            (reply,) = until_refused(replies(request))
            return pack(reply)

    call.__name__ = name
    return call


def answer(reply: dict[str, Any]) -> Any:
    """An answer on its way to the browser, packed into text: between two objects Gradio sends only the difference, and
    gets it wrong when a list becomes shorter."""
    return gr.HTML(reply=pack(reply))
