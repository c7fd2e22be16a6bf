"""A tab as one browser component, joined to the service by one queued event and a few quick calls."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import gradio as gr

from dard.state import InputError
from visual.payload import pack
from visual.service import UPLOAD_AT_MOST, Forgotten, Studio, decoded, file, text

# What is sent at once, and may be lost: steps are asked for again by their number. Everything else waits for the answer
# after it, so the last of it comes with the end.
NEWS = frozenset({"steps", "waiting", "progress"})
ENDS_KEPT = 100  # last messages that can be asked for again
VISITORS_AT_ONCE = 64  # who runs the model; their passes are shared
QUESTION_AT_MOST = 100  # characters of its name, which the browser makes unguessable
# What may have to load a model first.
LOADING = frozenset({"start", "compare", "experiment"})

Action = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]
Call = Callable[[dict[str, Any]], dict[str, Any]]

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
    actions: dict[str, Action],
    calls: tuple[Call, ...] | None = None,
    queue: str = "model",
    at_once: int = VISITORS_AT_ONCE,
) -> None:
    """Place a tab's component. `mount` names the function that builds it in the browser out of `config`, `actions` what
    it may ask for that runs the model, so many `at_once` in `queue`; `calls` are quick, by default those of the viewer,
    which may also ask about a run what only its model can tell."""

    def open_trace(request: dict[str, Any]) -> dict[str, Any]:
        name = text(request, "name", 200, "from a file")
        return studio.open_trace(decoded(request.get("data"), "trace file", UPLOAD_AT_MOST), name)

    def open_image(request: dict[str, Any]) -> dict[str, Any]:
        return studio.open_image(decoded(request.get("data"), "image file", UPLOAD_AT_MOST))

    def export(request: dict[str, Any]) -> dict[str, Any]:
        return file(*studio.export(request))

    def gif(request: dict[str, Any]) -> dict[str, Any]:
        return file("run.gif", "image/gif", studio.gif(request))

    if calls is None:
        actions = {**actions, "causes": once(studio.causes), "attention": once(studio.attention)}
    ends: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def ask(event: gr.EventData) -> Iterator[Any]:
        """Answers, each message with the question it belongs to, so that no one takes another's; the last is `end`.

        A browser that is busy may see only the last of several messages, and a connection may lose that one too.
        """
        request = event._data if isinstance(event._data, dict) else {}
        question = ""
        held: list[dict[str, Any]] = []
        try:
            question = text(request, "question", QUESTION_AT_MOST)
            action = request.get("action")
            if not isinstance(action, str) or action not in actions:
                raise InputError(f"action must be one of {', '.join(actions)}")
            waiting = studio.waiting(request) if action in LOADING else ()
            for reply in chain(waiting, actions[action](request)):
                held.append(reply)
                if reply["kind"] in NEWS:
                    yield answer({"question": question, "replies": held})
                    held = []
        except InputError as error:
            held.append(refusal(error))
        except Exception as error:  # whatever it is, the page must not wait for an answer that never comes
            logging.getLogger(__name__).exception("an action of the page failed")
            sentence = f"The server could not do that ({type(error).__name__}); what is on screen is kept. Try again."
            held.append({"kind": "error", "text": sentence})
        end = {"question": question, "replies": [*held, {"kind": "end"}]}
        ends[question] = end
        while len(ends) > ENDS_KEPT:
            ends.popitem(last=False)
        yield answer(end)

    def again(request: dict[str, Any]) -> dict[str, Any]:
        """The last message of a question, for a browser that waits for it; without answers if there is none yet."""
        question = text(request, "question", QUESTION_AT_MOST)
        return ends.get(question) or {"question": question, "replies": []}

    viewer_calls = (
        studio.life,
        studio.graph,
        studio.show,
        studio.steps,
        studio.stop,
        studio.recorded,
        studio.knows,
        studio.check,
        open_trace,
        open_image,
        export,
        gif,
    )
    component = gr.HTML(
        html_template='<div class="dw-root"></div>',
        js_on_load=CONNECT % pack(config),
        apply_default_css=False,
        server_functions=[safely(call) for call in (again, *(viewer_calls if calls is None else calls))],
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


def answer(reply: dict[str, Any]) -> Any:
    """An answer on its way to the browser, packed into text: between two objects Gradio sends only the difference, and
    gets it wrong when a list becomes shorter."""
    return gr.HTML(reply=pack(reply))


def refusal(error: InputError) -> dict[str, Any]:
    return {"kind": "error", "text": str(error), "forgotten": isinstance(error, Forgotten)}


def safely(action: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], str]:
    """Bad input answers with its sentence."""

    def call(request: Any) -> str:
        try:
            return pack(action(request if isinstance(request, dict) else {}))
        except InputError as error:
            return pack(refusal(error))

    call.__name__ = action.__name__
    return call


def once(action: Callable[[dict[str, Any]], dict[str, Any]]) -> Action:
    """An action with a single answer."""

    def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield action(request)

    return answers
