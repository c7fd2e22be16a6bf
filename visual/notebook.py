"""The viewer as a notebook widget: what the page asks its server, it asks the kernel. Needs anywidget; no Gradio.

Promises: `step` and `selected` say where one looks and can be set, `trace` is what is looked at, also a branch made in
the browser; what arrives is checked as on the page, and bad input answers with its sentence.
Does not know: how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anywidget
import traitlets

from dard.session import Session
from dard.state import InputError
from dard.trace import Trace
from visual.payload import pack, shown
from visual.service import Lane, Studio, file
from visual.web import script, style


class Notebook(anywidget.AnyWidget):
    """A session, live, or a trace."""

    _esm = script("widget.js") + "\nexport default { render };"
    _css = style("viewer.css")
    step = traitlets.Int(0, help="the step in view").tag(sync=True)
    selected = traitlets.Int(-1, help="the position selected").tag(sync=True)
    _branch = traitlets.Int(0).tag(sync=True)
    _live = traitlets.Bool(False).tag(sync=True)

    def __init__(self, of: Session | Trace) -> None:
        if not isinstance(of, Session | Trace):
            raise InputError(f"widget takes a Session or a Trace, not {shown(type(of).__name__)}")
        self._studio = Studio(("notebook",))
        self._run = self._studio._new_run({})
        self._run.lanes.append(Lane("original", of) if isinstance(of, Session) else Lane("original", opened=of))
        super().__init__(_live=isinstance(of, Session))
        self.on_msg(self._heard)

    @property
    def trace(self) -> Trace:
        """What is in view, as far as it was decoded."""
        return self._run.lanes[self._branch].trace

    def _heard(self, _: Any, content: Any, __: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("id"), str):
            self.send({"id": content["id"], "packed": pack(self._answers(content.get("name"), content.get("data")))})

    def _answers(self, name: Any, data: Any) -> list[dict[str, Any]]:
        """What the page's server would say."""
        studio = self._studio

        def export(request: dict[str, Any]) -> dict[str, Any]:
            return file(*studio.export(request))

        def gif(request: dict[str, Any]) -> dict[str, Any]:
            return file("run.gif", "image/gif", studio.gif(request))

        calls = (studio.life, studio.show, studio.steps, studio.stop, studio.branch, studio.advance, export, gif)
        known: dict[str, Callable[..., Any]] = {call.__name__: call for call in calls}
        try:
            if not isinstance(name, str) or name not in known or not isinstance(data, dict):
                raise InputError(f"name must be one of {', '.join(known)}, and data an object")
            found = known[name]({**data, "run": self._run.key})
            return list(found) if isinstance(found, Iterator) else [found]
        except InputError as error:
            return [{"kind": "error", "text": str(error)}]
