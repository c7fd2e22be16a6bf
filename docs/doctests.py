"""Shows the examples in docstrings as code: Markdown would take `>>>` for a quotation. mkdocs.yml names this file."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n(?:.+(?:\n|$))*", re.M)


class Doctests(griffe.Extension):
    """Puts a fence around every example."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring:
            text = EXAMPLE.sub(lambda example: f"\n```pycon\n{example[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = text
