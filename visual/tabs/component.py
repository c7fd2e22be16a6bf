"""A tab as one browser component, joined to the service by one queued event and a few quick calls."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import gradio as gr

from dard.state import InputError
from visual.service import UPLOAD_AT_MOST, Studio

REPEATED = 8  # how many of the latest answers a message holds
# What may have to load a model first.
LOADING = frozenset({"start", "compare", "experiment"})

Action = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]
Call = Callable[[dict[str, Any]], dict[str, Any]]

# `ask` goes through Gradio's queue, because it runs the model; `server.*` are quick answers that skip it.
CONNECT = """
const waiting = new Map();
let number = 0;
watch('reply', () => {
  const message = JSON.parse(props.reply || 'null');
  const heard = message && waiting.get(message.number);
  if (!heard) return;
  for (const reply of message.replies) {
    if (reply.sent <= heard.sent) continue;
    heard.sent = reply.sent;
    if (reply.kind === 'end') waiting.delete(message.number);
    heard.onReply(reply);
  }
});
const silence = { kind: 'error', text: 'The server did not answer; try again.' };
const bridge = {
  ask(request, onReply) {
    number += 1;
    waiting.set(number, { onReply, sent: 0 });
    trigger('ask', { ...request, number });
  },
  call: (name, request) => server[name](request).catch(() => silence),
};
window.dardStudio[props.mount](element.querySelector('.dw-root'), bridge, props.config);
"""


def build_component(
    studio: Studio,
    mount: str,
    config: dict[str, Any],
    actions: dict[str, Action],
    calls: tuple[Call, ...] | None = None,
    queue: str = "model",
) -> None:
    """Place a tab's component. `mount` names the function that builds it in the browser out of `config`, `actions` what
    it may ask for that runs the model, one at a time in `queue`; `calls` are quick, by default those of the viewer."""

    def open_trace(request: dict[str, Any]) -> dict[str, Any]:
        return studio.open_trace(uploaded(request, "trace file"))

    def open_image(request: dict[str, Any]) -> dict[str, Any]:
        return studio.open_image(uploaded(request, "image file"))

    def export(request: dict[str, Any]) -> dict[str, Any]:
        name, media, content = studio.export(request)
        return {"kind": "file", "name": name, "media": media, "data": base64.b64encode(content).decode()}

    def ask(event: gr.EventData) -> Iterator[Any]:
        """Each answer carries the number of its question, and its own, so that no two are alike; the last is `end`.

        A browser that is busy may see only the last of several answers, so each message repeats the latest ones.
        """
        request = event._data if isinstance(event._data, dict) else {}
        latest: deque[dict[str, Any]] = deque(maxlen=REPEATED)

        def message(reply: dict[str, Any]) -> Any:
            latest.append({**reply, "sent": latest[-1]["sent"] + 1 if latest else 1})
            return answer({"number": request.get("number"), "replies": list(latest)})

        try:
            action = request.get("action")
            if not isinstance(action, str) or action not in actions:
                raise InputError(f"action must be one of {', '.join(actions)}")
            waiting = studio.waiting(request) if action in LOADING else ()
            for reply in chain(waiting, actions[action](request)):
                yield message(reply)
        except InputError as error:
            yield message({"kind": "error", "text": str(error)})
        except Exception as error:  # whatever it is, the page must not wait for an answer that never comes
            logging.getLogger(__name__).exception("an action of the page failed")
            sentence = f"The server could not do that ({type(error).__name__}); what is on screen is kept. Try again."
            yield message({"kind": "error", "text": sentence})
        yield message({"kind": "end"})

    viewer_calls = (studio.life, studio.show, studio.stop, studio.recorded, open_trace, open_image, export)
    component = gr.HTML(
        html_template='<div class="dw-root"></div>',
        js_on_load=CONNECT,
        apply_default_css=False,
        server_functions=[safely(call) for call in (viewer_calls if calls is None else calls)],
        mount=mount,
        config=config,
        reply="",
    )
    component.ask(
        ask,
        inputs=None,
        outputs=component,
        trigger_mode="multiple",
        show_progress="hidden",
        concurrency_id=queue,
        concurrency_limit=1,
        api_visibility="private",
    )


def uploaded(request: dict[str, Any], what: str) -> bytes:
    """The bytes of a file that was sent as text."""
    data = request.get("data")
    if not isinstance(data, str) or len(data) > UPLOAD_AT_MOST * 4 // 3 + 4:
        raise InputError(f"{what} is missing or larger than {UPLOAD_AT_MOST >> 20} MB")
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise InputError(f"{what} did not arrive whole; try again") from None


def answer(reply: dict[str, Any]) -> Any:
    """An answer on its way to the browser, as text: between two objects Gradio sends only the difference, and gets it
    wrong when a list becomes shorter."""
    return gr.HTML(reply=json.dumps(reply, separators=(",", ":")))


def safely(action: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Bad input answers with its sentence."""

    def call(request: Any) -> dict[str, Any]:
        try:
            return action(request if isinstance(request, dict) else {})
        except InputError as error:
            return {"kind": "error", "text": str(error)}

    call.__name__ = action.__name__
    return call


def once(action: Callable[[dict[str, Any]], dict[str, Any]]) -> Action:
    """An action with a single answer."""

    def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield action(request)

    return answers
