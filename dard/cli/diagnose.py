"""`diagnose`: a decode, and where it lost its answer, by whom, and what would have saved it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from dard.analysis.diagnosis import diagnosing
from dard.analysis.expected import checker
from dard.cli import options
from dard.cli.terminal import plain_console, printable_prompt
from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.decoding.session import Session
from dard.models.base import Model
from dard.trace import Diagnosis, Trace
from dard.trace.diagnosis_words import diagnosis_sentences

STAGES = {
    "states": "is it still winnable",
    "tokens": "whose tokens",
    "causes": "their causes",
    "settings": "settings",
    "revocations": "what was taken back",
}
MARKS = {True: "✓", False: "✗", None: "·"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", help="a prompt or a template, or a trace file (.json, .json.gz)")
    parser.add_argument("--decoder", default="dard", help=f"one of {', '.join(DECODERS)} (default dard)")
    parser.add_argument(
        "--expected",
        metavar="TEXT",
        help="what a right answer contains, or a /pattern/; without it the prompt's task judges",
    )
    parser.add_argument("--every", action="store_true", help="try every state, of a long decode too")
    parser.set_defaults(func=run)
    options.add_output(parser, "FILE")


def run(args: argparse.Namespace) -> None:
    if args.expected is not None:
        checker(args.expected)  # before a model is loaded
    source = Path(args.prompt) if args.prompt.endswith((".json", ".json.gz")) else None
    trace = Trace.load(source) if source else None
    model = options.open_model(args)
    with options.progress_bar() as bar:
        decode: Session | Trace = trace or decoded(model, args, bar)
        diagnosis = watched(decode, model, args.expected, args.every, bar)
    trace = trace or decode.trace  # type: ignore[union-attr]
    trace.diagnosis = diagnosis
    trace.learn(model.token_text)
    if diagnosis.stage != "done":  # it was interrupted
        diagnosis.sentences = diagnosis_sentences(trace, diagnosis)
    if args.trace:
        options.save(trace, args.trace)
    if args.json:
        sys.stdout.write(json.dumps(diagnosis.as_dict(), ensure_ascii=False) + "\n")
    else:
        show_diagnosis(plain_console(), trace, diagnosis)


def decoded(model: Model, args: argparse.Namespace, bar: Progress) -> Session:
    session = Session(model, args.prompt, args.decoder, **options.given_settings(args))
    free = sum(not given for given in session.state.fixed)
    task = bar.add_task(args.decoder, total=free)
    session.run(lambda step: bar.update(task, completed=free - step.states.count("M")))
    return session


def watched(run: Session | Trace, model: Model, expected: str | None, every: bool, bar: Progress) -> Diagnosis:
    """A diagnosis with a bar; who interrupts it keeps what is known."""
    task, diagnosis = bar.add_task(STAGES["states"], total=None), None
    try:
        for diagnosis in diagnosing(run, model if isinstance(run, Trace) else None, expected, every=every):
            tried = sum(mark is not None for mark in diagnosis.winnable)
            doing = STAGES.get(diagnosis.stage, "done")
            bar.update(
                task, description=f"{doing}: {diagnosis.passes} passes", completed=tried, total=len(diagnosis.winnable)
            )
    except KeyboardInterrupt:
        if diagnosis is None:
            raise
    if diagnosis is None:
        raise InputError("the diagnosis was stopped before anything was known")
    return diagnosis


def show_diagnosis(console: Console, trace: Trace, diagnosis: Diagnosis) -> None:
    console.print(f"[bold]text    [/bold] {printable_prompt(trace.text)}", highlight=False)
    console.print(f"[bold]winnable[/bold] {' '.join(MARKS[mark] for mark in diagnosis.winnable)}", highlight=False)
    for number, sentence in enumerate(diagnosis.sentences):
        console.print(sentence, style="bold" if number == 0 else "", highlight=False, markup=False)
    kind = f"Kind: {diagnosis.kind}. " if diagnosis.kind else ""
    work = f"{diagnosis.completions} completions, {diagnosis.passes} passes, {diagnosis.rows} rows"
    measured = f"Measured: {work}, {diagnosis.seconds:.1f} s."
    console.print(f"{kind}{measured}", style="dim", highlight=False)
