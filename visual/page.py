"""The whole page: brand, tabs, and the named endpoints for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import gradio as gr
from gradio.context import LocalContext
from starlette.middleware import Middleware

from visual.door import Door
from visual.payload import packed_bytes
from visual.places import Places
from visual.server.endpoints import Endpoint, endpoints, refusal
from visual.server.programs import Programs
from visual.server.studio import Studio
from visual.server.visitors import on_behalf_of
from visual.tabs.compare import build_compare
from visual.tabs.component import VISITORS_AT_ONCE, asker
from visual.tabs.lab import build_lab
from visual.tabs.learn import build_learn
from visual.tabs.watch import build_watch
from visual.web import script, style

# Gradio sums up the last 10,000 questions in a table after each of them, for a page that is not offered here.
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(sys.maxsize))

# A promise of what assets/web/shell/tabs.js exports.
BOOT = """
window.dardStudio = (async () => {
  const bytes = Uint8Array.from(atob('%s'), (character) => character.charCodeAt(0));
  const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const script = await new Response(code, { headers: { 'Content-Type': 'text/javascript' } }).blob();
  return (await import(URL.createObjectURL(script))).tabs;
})();
"""
QUEUED_AT_MOST = 1000  # of all rooms; each has its own limit (places.py)
BRAND = "<div><b>DARD</b><span>watch a diffusion language model decode</span></div>"


def build_page(studio: Studio) -> gr.Blocks:
    """The page of a studio. `launch_options` says how it must be launched."""
    with gr.Blocks(title="DARD Studio", analytics_enabled=False) as page:
        gr.HTML(BRAND, elem_id="brand", js_on_load=None)
        with gr.Tabs():
            with gr.Tab("Watch", id="watch"):
                build_watch(studio)
            with gr.Tab("Compare", id="compare"):
                build_compare(studio)
            with gr.Tab("Lab", id="lab"):
                build_lab(studio)
            with gr.Tab("Learn", id="learn"):
                build_learn(studio)
        build_api(studio)
    page.queue(max_size=QUEUED_AT_MOST, default_concurrency_limit=8)
    Places.of(page._queue)
    return page


def launch_options(hosts: Sequence[str] = (), own: Sequence[str] = ()) -> dict[str, Any]:
    """The page's scripts and styles, inline: nothing is loaded from elsewhere, and there is no unstyled moment.

    They go into `head`, not `css`: Gradio rewrites the latter and loses every shorthand that holds a variable. The
    scripts are packed, because Gradio parses `head` as HTML before it goes on; these are made ready meanwhile.

    `hosts`: names that the page answers to, is asked by and may be framed by beside its `own`.
    """
    boot = BOOT % packed_bytes(f"{script('shell/tabs.js')}\nexport {{ tabs }};".encode())
    return {
        "head": f"<style>{style('styles/viewer.css', 'styles/page.css')}</style><script>{boot}</script>",
        "run_history": False,
        "footer_links": ["api"],
        "app_kwargs": {"middleware": [Middleware(Door, names=hosts, own=own)]},
        "state_session_capacity": 100,
        "max_threads": 2 * VISITORS_AT_ONCE,  # each who runs the model waits in one, and quick calls need some too
    }


def build_api(studio: Studio) -> None:
    """Endpoints for programs, by name, which are also an assistant's tools. Settings are JSON objects."""
    programs = Programs(studio)
    for each in endpoints(programs, "program").values():
        queue: dict[str, Any] = {"concurrency_limit": None}
        if each.queue:
            queue = {"concurrency_id": "model", "concurrency_limit": VISITORS_AT_ONCE}
        gr.api(as_function(each, programs), api_name=each.name, **queue)


def listened() -> Callable[[], bool]:
    """Whether anybody still waits for the answer that this thread makes; a queue of another kind does not tell."""
    blocks, event = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    queue = getattr(blocks, "_queue", None)
    return lambda: not isinstance(queue, Places) or queue.listens(event)


def as_function(endpoint: Endpoint, programs: Programs) -> Callable[..., Any]:
    """An endpoint with a parameter for each field of its request: Gradio tells programs what a function takes."""

    def call(*values: Any) -> Any:
        try:
            with on_behalf_of(asker(), listened()):
                return endpoint.ask(programs, dict(zip(parameters, values, strict=False)))
        except BaseException as error:  # reaches a program as one sentence
            raise gr.Error(refusal(error)["text"], print_exception=False) from None

    fields = sorted(endpoint.request.model_fields.items(), key=lambda field: not field[1].is_required())
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = {
        name: Parameter(name, kind, default=Parameter.empty if field.is_required() else field.default)
        for name, field in fields
    }
    answer = endpoint.method.__annotations__["return"]
    call.__name__, call.__doc__ = endpoint.name, endpoint.__doc__
    call.__signature__ = Signature([*parameters.values()], return_annotation=answer)  # type: ignore[attr-defined]
    call.__annotations__ = {name: field.annotation for name, field in fields} | {"return": answer}
    return call
