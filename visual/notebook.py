"""The viewer as a notebook widget: what the page asks its server, it asks the kernel. Needs anywidget; no Gradio.

Promises: `step` and `selected` say where one looks and can be set, `trace` is what is looked at, also a branch made in
the browser; what arrives is checked as on the page, and bad input answers with its sentence.
Does not know: how anything is drawn.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.trace import Trace
from visual.payload import pack, shown
from visual.server.endpoints import endpoints, refusal, until_refused
from visual.server.runs import Lane
from visual.server.studio import Studio
from visual.web import script, style


class Notebook(anywidget.AnyWidget):
    """A session, live, or a trace."""

    _esm = script("shell/widget.js") + "\nexport default { render };"
    _css = style("styles/viewer.css")
    step = traitlets.Int(0, help="the step in view").tag(sync=True)
    selected = traitlets.Int(-1, help="the position selected").tag(sync=True)
    _branch = traitlets.Int(0).tag(sync=True)
    _live = traitlets.Bool(False).tag(sync=True)

    def __init__(self, of: Session | Trace) -> None:
        if not isinstance(of, Session | Trace):
            raise InputError(f"widget takes a Session or a Trace, not {shown(type(of).__name__)}")
        self._studio = Studio(("notebook",))
        lane = Lane("original", of) if isinstance(of, Session) else Lane("original", opened=of)
        self._run = self._studio.new_run("", lane)
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
        known = endpoints(self._studio, "notebook")
        if not isinstance(name, str) or name not in known or not isinstance(data, dict):
            return [refusal(InputError(f"name must be one of {', '.join(known)}, and data an object"))]
        return list(until_refused(known[name].replies(self._studio, {**data, "run": self._run.key})))
