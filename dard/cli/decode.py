"""`decode`: a prompt or a template with [MASK]s, every step shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from dard.analysis.causes import examine
from dard.cli import options, pages
from dard.cli.terminal import plain_console, show_trace
from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.decoding.session import Session
from dard.trace import Verdict

CAUSES_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt")
    parser.add_argument("--decoder", default="dard", help=f"one of {', '.join(DECODERS)} (default dard)")
    parser.add_argument("--why", action="store_true", help="print the sentence of every transition")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every step, of a long decode too")
    parser.add_argument(
        "--causes", nargs="?", type=float, const=CAUSES_SECONDS, metavar="SECONDS",
        help="and which token made it: hide each in turn, for at most so many seconds a transition (default 5)",
    )  # fmt: skip
    pages.add_answer(parser)
    parser.set_defaults(func=run)
    options.add_output(parser, "FILE")


def run(args: argparse.Namespace) -> None:
    session = Session(options.open_model(args), args.prompt, args.decoder, **options.given_settings(args))
    free = sum(not given for given in session.state.fixed)
    with options.progress_bar() as bar:
        task = bar.add_task(args.decoder, total=free)
        session.run(lambda step: bar.update(task, completed=free - step.states.count("M")))
    trace = session.trace
    if args.causes is not None:
        trace.causes = list(transitions(session, args.causes))
        trace.learn(session.model.token_text)
    if args.trace:
        options.save(trace, args.trace)
    if args.json:
        sys.stdout.write(trace.to_bytes(compress=False).decode() + "\n")
    else:
        show_trace(plain_console(), trace, sentences=args.why or args.causes is not None, every=args.verbose)
        if args.answer is not None:
            sys.stdout.write(f"answer {pages.told_answer(trace, args.answer)}\n")


def transitions(session: Session, seconds: float) -> Iterator[Verdict]:
    """Every transition's verdict with its causes."""
    if not seconds > 0:
        raise InputError(f"--causes = {seconds:g} is not allowed; it must be a number of seconds above 0")
    wanted = [(step.index, position) for step in session.steps for position in step.why]
    with options.progress_bar() as bar:
        for number, position in bar.track(wanted, description="causes"):
            *_, verdict = examine(session, number, position, seconds=seconds)
            yield verdict
