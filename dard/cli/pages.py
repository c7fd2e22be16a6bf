"""A page of traces that a command writes and opens."""

from __future__ import annotations

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path

from dard.core.errors import InputError
from dard.core.files import write_whole
from dard.trace import Trace
from visual.export import replay_html


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE.html", help="keep the page in this file, in place of a temporary one")
    parser.add_argument("--no-open", action="store_true", help="only write the page and print where it is")


def check_page(args: argparse.Namespace) -> None:
    for name in ("out", "page"):
        value = getattr(args, name, None)
        if value is not None and not value.endswith(".html"):
            raise InputError(f"--{name} {value!r} is not allowed; the name of a page ends in .html")


def show_page(traces: dict[str, Trace], args: argparse.Namespace, answer: str | None = None) -> None:
    """Write the page that replays the traces, and open it; `answer` is a pattern for where the answer stands."""
    check_page(args)
    page = replay_html(traces if len(traces) > 1 else next(iter(traces.values())), answer=answer)
    path = write_page(Path(args.out or Path(tempfile.mkdtemp(prefix="dard-")) / "replay.html"), page)
    if not args.no_open and not webbrowser.open(path.as_uri()):
        print("dard: no browser was found; open that file in one", file=sys.stderr)


def write_page(path: Path, page: str) -> Path:
    """Write a page and say where it is."""
    try:
        write_whole(path, page)
    except OSError as error:
        raise InputError(f"the page cannot be written: {error}") from None
    print(path.resolve())
    return path.resolve()
