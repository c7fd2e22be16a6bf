"""A page of traces that a command writes and opens, and what is said of an answer; needs no torch."""

from __future__ import annotations

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path

from dard.core.errors import InputError
from dard.core.files import write_whole
from dard.trace import Trace
from dard.trace.answers import answer_life
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


def add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--answer", nargs="?", const="", metavar="PATTERN",
        help="say at which step the answer was first written and when it settled: what follows ####, is in \\boxed{} "
        "or in fenced code, or what a regular expression of your own finds, its first group if it has one",
    )  # fmt: skip


def told_answer(trace: Trace, pattern: str) -> str:
    """The life of the answer in a sentence, or that there is none."""
    life = answer_life(trace, pattern or None)
    if life is not None:
        return life.say
    sought = f"/{pattern[:60]}/" if pattern else "####, \\boxed{} or fenced code"
    return f"No answer was found by {sought} in what stands there at the end."
