"""What several commands share: how a model is named and loaded, settings as flags, what is written, a bar."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.models import load_model, with_image, with_thinking

EVERY = 60  # seconds


def flag(field: str) -> str:
    return "--" + field.strip("_").replace("_", "-")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """A flag for every setting of every decoder; which decoder knows it is checked when it is used."""
    owners: dict[str, list[str]] = {}
    helps: dict[str, str] = {}
    former: dict[str, str] = {}
    for decoder in DECODERS.values():
        for name, allowed in decoder.Settings.allowed().items():
            owners.setdefault(name, []).append(decoder.name)
            helps.setdefault(name, f"{allowed.help}; {allowed.describe()}")
        former |= {old: name for old, name in decoder.Settings.names().items() if old != name}
    group = parser.add_argument_group("settings")
    for name, who in owners.items():
        known = "" if len(who) == len(DECODERS) else f" [{', '.join(who)}]"
        group.add_argument(flag(name), dest=name, metavar="VALUE", help=f"{helps[name]}{known}".replace("%", "%%"))
    for old, name in former.items():
        group.add_argument(flag(old), dest=name, help=argparse.SUPPRESS)


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    names = {name for decoder in DECODERS.values() for name in decoder.Settings.allowed()}
    return {name: value for name, value in vars(args).items() if name in names and value is not None}


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="embedded", help="a name from `models`, a folder, or a hub id")
    add_loading(parser)
    parser.add_argument(
        "--image", metavar="FILE", action="append", help="show the model a picture, if it takes one; may be repeated"
    )
    parser.add_argument("--squeeze", action="store_true", help="show it whole pictures, squeezed, not their middles")
    parser.add_argument("--think", action="store_true", help="tell the model to think first, if it can be told")


def add_loading(parser: argparse.ArgumentParser) -> None:
    """How models are loaded: what `load_model` takes, for every command and the page."""
    parser.add_argument("--device", help="cpu, cuda, cuda:1, mps")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), help="precision of the weights")
    parser.add_argument("--device-map", metavar="MAP", help="spread the model over several devices: auto, balanced")
    parser.add_argument("--quantise", type=int, metavar="BITS", help="store weights in 4 or 8 bits")
    parser.add_argument("--plain", action="store_true", help="take the prompt as it stands, also for a chat model")
    parser.add_argument(
        "--attention", metavar="HOW", help="bidirectional, or block:N; only where the model does not say"
    )
    parser.add_argument("--shift", action="store_const", const=True, help="the model predicts one position ahead")
    parser.add_argument(
        "--image-encoder", metavar="FOLDER", help="where the encoder of pictures is, in place of the hub (or a hub id)"
    )


def loading_options(args: argparse.Namespace) -> dict[str, Any]:
    names = ("device", "dtype", "device_map", "quantise", "attention", "shift", "image_encoder")
    return {"chat": False if args.plain else None, **{name: getattr(args, name) for name in names}}


def open_model(args: argparse.Namespace) -> Any:
    with loading_bar() as tell:
        model = load_model(args.model, progress=tell, **loading_options(args))
    model = with_thinking(model) if args.think else model
    return with_image(model, *args.image, fit="squeeze" if args.squeeze else "crop") if args.image else model


def progress_bar(count: ProgressColumn | None = None) -> Progress:
    """On standard error, and only there, so that standard output stays clean."""
    count = count or TextColumn("{task.completed}/{task.total}")
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def estimates(what: str) -> Callable[[int, int], None]:
    """Tells how far it is and what is left: on standard error, once a minute, where no terminal has a bar."""
    began = told = time.monotonic()
    first: int | None = None

    def tell(done: int, total: int) -> None:
        nonlocal told, first
        now = time.monotonic()
        if first is None:
            first = done  # what was there before
        elif now - told >= EVERY and done > first and not sys.stderr.isatty():
            left = (now - began) / (done - first) * (total - done)
            print(f"dard: {what}: {done} of {total}, about {minutes(left)} left", file=sys.stderr, flush=True)
            told = now

    return tell


def minutes(seconds: float) -> str:
    """
    >>> minutes(59), minutes(3600 * 30)
    ('1 min', '30 h')
    """
    return f"{seconds / 3600:.0f} h" if seconds > 7200 else f"{max(1, seconds / 60):.0f} min"


@contextmanager
def loading_bar() -> Iterator[Callable[[str, int, int], None]]:
    """How far a model is on its way, in bytes."""
    with progress_bar(DownloadColumn()) as bar:
        task = bar.add_task("loading", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total or None)


def save(trace: Any, path: str, new_folder: bool = False) -> None:
    try:
        if new_folder:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        trace.save(path)
    except OSError as error:
        raise InputError(f"trace cannot be written to {path!r}: {error.strerror}") from None


def add_output(parser: argparse.ArgumentParser, place: str) -> None:
    parser.add_argument("--trace", metavar=place, help="save what was recorded (.json or .json.gz)")
    parser.add_argument("--json", action="store_true", help="print the trace as JSON and nothing else")
    add_model(parser)
    add_settings(parser)
