"""The Watch tab: one browser component, joined to the service by one queued event and a few quick calls."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from dard.state import InputError
from visual.service import UPLOAD_AT_MOST, Studio, page_config

# `ask` goes through Gradio's queue, because it runs the model; `server.*` are quick answers that skip it.
CONNECT = """
const waiting = new Map();
let number = 0;
watch('reply', () => {
  const reply = props.reply;
  const heard = reply && waiting.get(reply.number);
  if (!heard) return;
  if (reply.kind === 'end') waiting.delete(reply.number);
  heard(reply);
});
const bridge = {
  ask(request, onReply) {
    number += 1;
    waiting.set(number, onReply);
    trigger('ask', { ...request, number });
  },
  call: (name, request) => server[name](request).catch(() => ({ kind: 'error', text: 'The server did not answer; try again.' })),
};
window.dardStudio.mountWatch(element.querySelector('.dw-root'), bridge, props.config);
"""


def build_watch(studio: Studio) -> None:
    """Place the tab's component and wire it."""

    def safely(action: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
        def call(request: Any) -> dict[str, Any]:
            try:
                return action(request if isinstance(request, dict) else {})
            except InputError as error:
                return {"kind": "error", "text": str(error)}

        call.__name__ = action.__name__
        return call

    def open_trace(request: dict[str, Any]) -> dict[str, Any]:
        data = request.get("data")
        if not isinstance(data, str) or len(data) > UPLOAD_AT_MOST * 4 // 3 + 4:
            raise InputError(f"trace file is missing or larger than {UPLOAD_AT_MOST >> 20} MB")
        try:
            return studio.open_trace(base64.b64decode(data, validate=True))
        except binascii.Error:
            raise InputError("trace file did not arrive whole; try again") from None

    def export(request: dict[str, Any]) -> dict[str, Any]:
        name, media, content = studio.export(request)
        return {"kind": "file", "name": name, "media": media, "data": base64.b64encode(content).decode()}

    def ask(event: gr.EventData) -> Iterator[Any]:
        """Everything that runs the model. Each answer carries the number of its question; the last one is `end`."""
        request = event._data if isinstance(event._data, dict) else {}
        number = request.get("number")
        sent = 0
        try:
            for reply in answers(request):
                sent += 1
                yield gr.HTML(reply={**reply, "number": number, "sent": sent})
        except InputError as error:
            yield gr.HTML(reply={"kind": "error", "text": str(error), "number": number, "sent": sent + 1})
        yield gr.HTML(reply={"kind": "end", "number": number, "sent": sent + 2})

    def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        action = request.get("action")
        if action == "advance":
            yield from studio.advance(request)
        elif action == "branch":
            yield studio.branch(request)
        elif action == "start":
            yield studio.start(request)
        else:
            raise InputError("action must be one of start, advance, branch")

    config = page_config(studio)
    config["limits"]["upload"] = UPLOAD_AT_MOST
    component = gr.HTML(
        html_template='<div class="dw-root"></div>',
        js_on_load=CONNECT,
        apply_default_css=False,
        server_functions=[safely(f) for f in (studio.life, studio.show, studio.stop, open_trace, export)],
        config=config,
        reply=None,
    )
    component.ask(
        ask,
        inputs=None,
        outputs=component,
        trigger_mode="multiple",
        show_progress="hidden",
        concurrency_id="model",
        concurrency_limit=1,
        api_visibility="private",
    )
