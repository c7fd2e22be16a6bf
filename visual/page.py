"""The whole page: brand, tabs, and the named endpoints for programs."""

from __future__ import annotations

import os
import sys
from typing import Any

import gradio as gr

from dard.session import COMPARED
from dard.state import InputError
from visual.payload import packed_bytes
from visual.service import Studio, said
from visual.tabs.compare import build_compare
from visual.tabs.component import VISITORS_AT_ONCE
from visual.tabs.lab import build_lab
from visual.tabs.learn import build_learn
from visual.tabs.watch import build_watch
from visual.web import script, style

# Gradio sums up the last 10,000 questions in a table after each of them, for a page that is not offered here.
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(sys.maxsize))

# A promise of what assets/web/tabs.js exports.
BOOT = """
window.dardStudio = (async () => {
  const bytes = Uint8Array.from(atob('%s'), (character) => character.charCodeAt(0));
  const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const script = await new Response(code, { headers: { 'Content-Type': 'text/javascript' } }).blob();
  return (await import(URL.createObjectURL(script))).tabs;
})();
"""
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
    page.queue(max_size=2 * VISITORS_AT_ONCE, default_concurrency_limit=8)
    return page


def launch_options() -> dict[str, Any]:
    """The page's scripts and styles, inline: nothing is loaded from elsewhere, and there is no unstyled moment.

    They go into `head`, not `css`: Gradio rewrites the latter and loses every shorthand that holds a variable. The
    scripts are packed, because Gradio parses `head` as HTML before it goes on; these are made ready meanwhile.
    """
    boot = BOOT % packed_bytes(f"{script('tabs.js')}\nexport {{ tabs }};".encode())
    return {
        "head": f"<style>{style('viewer.css', 'page.css')}</style><script>{boot}</script>",
        "run_history": False,
        "footer_links": ["api"],
        "state_session_capacity": 100,
        "max_threads": 2 * VISITORS_AT_ONCE,  # each who runs the model waits in one, and quick calls need some too
    }


def build_api(studio: Studio) -> None:
    """Endpoints for programs, by name: decode, compare, step, explain, causes, health. Settings are JSON objects."""

    def decode(prompt: str, decoder: str = "dard", model: str = "", settings: dict | None = None) -> dict:
        """Decode a prompt or template to the end. Returns the trace as JSON (see the README for its fields)."""
        with plain_errors():
            trace = studio.decode(prompt, decoder, model or studio.models[0], settings or {})
            return trace.as_dict()

    def compare(prompt: str, decoders: list | None = None, model: str = "", settings: dict | None = None) -> dict:
        """Decode the same prompt with several decoders. Returns their traces by name."""
        with plain_errors():
            traces = studio.compare(prompt, decoders or list(COMPARED), model or studio.models[0], settings or {})
            return {name: trace.as_dict() for name, trace in traces.items()}

    def step(
        prompt: str = "", decoder: str = "dard", model: str = "", settings: dict | None = None, run: str = ""
    ) -> dict:
        """One step. Without `run` it begins a decode; pass the returned `run` to go on."""
        with plain_errors():
            return studio.step(prompt, decoder, model or studio.models[0], settings or {}, run)

    def explain(
        prompt: str,
        decoder: str = "dard",
        model: str = "",
        settings: dict | None = None,
        step: int = 0,
        position: int = -1,
    ) -> list[str]:
        """Decode a prompt and say in sentences what happened and why: of every change, or only of those in a step (from
        1) or at a position (from 0). With both, why that position was as it was after that step."""
        with plain_errors():
            trace = studio.decode(prompt, decoder, model or studio.models[0], settings or {})
            return said(trace, step or None, None if position == -1 else position)

    def causes(
        prompt: str,
        step: int,
        position: int,
        decoder: str = "dard",
        model: str = "",
        settings: dict | None = None,
        seconds: float = 10,
    ) -> dict:
        """Who made the verdict of a step (from 1) on a position: what it would have been without each token."""
        with plain_errors():
            return studio.explain(prompt, decoder, model or studio.models[0], settings or {}, step, position, seconds)

    def health() -> dict:
        """What is loaded, on which device, and how much memory it takes."""
        return studio.health()

    gr.api(health, api_name="health", concurrency_limit=None)
    for endpoint in (decode, compare, step, explain, causes):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=VISITORS_AT_ONCE)


class plain_errors:
    """Bad input reaches a program as one sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, InputError):
            raise gr.Error(str(error), print_exception=False) from None
