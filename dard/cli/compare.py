"""`compare`: the same prompt with several decoders."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from dard.cli import options
from dard.cli.terminal import plain_console, show_comparison
from dard.core.errors import InputError
from dard.decoding.loop import passes
from dard.decoding.session import COMPARED, comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt")
    parser.add_argument("--decoders", default=",".join(COMPARED), help="names with commas between")
    parser.add_argument("--set", action="append", default=[], metavar="DECODER.SETTING=VALUE", help="one decoder's own")
    parser.set_defaults(func=run)
    options.add_output(parser, "FOLDER")


def run(args: argparse.Namespace) -> None:
    decoders = [name.strip() for name in args.decoders.split(",") if name.strip()]
    own = own_settings(args.set, decoders)
    sessions = comparison(options.open_model(args), args.prompt, decoders, own, **options.given_settings(args))
    with options.progress_bar() as bar:
        task = bar.add_task("compare", total=len(sessions))
        for _ in passes(list(sessions.values())):
            bar.update(task, completed=sum(session.finished for session in sessions.values()))
    traces = {name: session.trace for name, session in sessions.items()}
    for name, trace in traces.items() if args.trace else ():
        options.save(trace, f"{args.trace}/{name}.json.gz", new_folder=True)
    if args.json:
        bodies = {name: trace.as_dict() for name, trace in traces.items()}
        sys.stdout.write(json.dumps(bodies, ensure_ascii=False) + "\n")
    else:
        show_comparison(plain_console(), traces)


def own_settings(items: Sequence[str], decoders: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`dard.tau_c=0.5` and the like, by decoder."""
    own: dict[str, dict[str, Any]] = {}
    for item in items:
        name, _, rest = item.partition(".")
        field, equals, value = rest.partition("=")
        if not equals or name not in decoders:
            raise InputError(
                f"--set {item[:60]!r} is not of the form DECODER.SETTING=VALUE with a decoder of {', '.join(decoders)}"
            )
        own.setdefault(name, {})[field] = value
    return own
