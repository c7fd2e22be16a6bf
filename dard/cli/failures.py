"""`failures`: the wrong answers of an experiment or of lm-eval, and the decode behind each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dard.cli import options, pages
from dard.cli.terminal import NOT_DIAGNOSED, plain_console, sample_cells, show_samples
from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.results.diagnoses import Diagnoses
from dard.results.formats import FORMATS
from dard.results.samples import ONLY, SORTS, Sample, choose, lost_by, open_folder, trace_file
from dard.trace import Diagnosis, Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="results of an experiment or of lm-eval, or a folder of them")
    parser.add_argument("--only", choices=ONLY, default="wrong", help="which samples are listed (default wrong)")
    parser.add_argument("--sort", choices=SORTS, default="number", help="what comes first (default: as in the file)")
    parser.add_argument("--variant", default="", metavar="NAME", help="only those of this variant")
    parser.add_argument("--text", default="", help="only those with this in the prompt, the answer or the ending")
    parser.add_argument("--most", type=int, default=40, metavar="N", help="how many lines (default 40)")
    parser.add_argument("--json", action="store_true", help="print all of them as JSON lines and nothing else")
    parser.add_argument("--format", choices=FORMATS, help="print the listed ones as a table in this format")
    parser.add_argument(
        "--open", type=int, nargs="+", metavar="N", help="open the decodes of these numbers, up to four side by side"
    )
    parser.add_argument(
        "--diagnose", action="store_true",
        help="say of each where it was lost and how; what is known is kept beside the results, and gone on from",
    )  # fmt: skip
    pages.add_page(parser)
    options.add_model(parser)
    parser.set_defaults(func=run, model=None)


def run(args: argparse.Namespace) -> None:
    """The samples of a run as a table, or the decodes of some of them in the browser."""
    samples = open_folder(args.folder)
    if args.open:
        return pages.show_page(decodes_of(samples, args), args)
    chosen = choose(samples, args.only, args.sort, args.variant, args.text)
    known = diagnoses(chosen, args) if args.diagnose else None
    if args.json:
        rows = [sample.as_dict() | ({"diagnosis": told(known.of(sample))} if known else {}) for sample in chosen]
        sys.stdout.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        kinds = {s.number: kind_of(known.of(s)) if known else s.lost_by for s in chosen if known or s.kind}
        if args.format:
            print(FORMATS[args.format](*sample_cells(samples, chosen[: args.most], kinds), ""))
        else:
            show_samples(plain_console(), samples, chosen[: args.most], len(chosen), kinds)


def told(diagnosis: Diagnosis | str | None) -> Any:
    return diagnosis.as_dict() if isinstance(diagnosis, Diagnosis) else diagnosis


def kind_of(diagnosis: Diagnosis | str | None) -> str:
    """What lost an answer, and in which step."""
    if not isinstance(diagnosis, Diagnosis):
        return NOT_DIAGNOSED
    return lost_by(diagnosis.kind, diagnosis.lost)


def diagnoses(chosen: Sequence[Sample], args: argparse.Namespace) -> Diagnoses:
    """Those of all chosen samples; whoever interrupts keeps what there is."""
    known, model = Diagnoses.beside(args.folder), opener(args)
    with options.progress_bar() as bar:
        task = bar.add_task("diagnosing", total=len(chosen))
        try:
            for sample in chosen:
                known.make(sample, model)
                bar.advance(task)
        except KeyboardInterrupt:
            pass
    return known


def opener(args: argparse.Namespace) -> Callable[[str], Any]:
    """The models of samples by name, each loaded once; or the one that was named."""
    models: dict[str, Any] = {}

    def model(name: str) -> Any:
        name = args.model or name
        if name not in models:
            models[name] = options.open_model(argparse.Namespace(**{**vars(args), "model": name}))
        return models[name]

    return model


def decodes_of(samples: Sequence[Any], args: argparse.Namespace) -> dict[str, Trace]:
    """The traces of samples by their numbers: from their files, or decoded again by the model of their run."""
    traces: dict[str, Trace] = {}
    model = opener(args)
    for number in args.open:
        if not 0 <= number < len(samples):
            raise InputError(f"--open {number} is not allowed; the samples are numbered from 0 to {len(samples) - 1}")
        sample = samples[number]
        if (file := trace_file(sample)) is not None:
            trace = Trace.load(file)
        elif sample.prompt is None:
            raise InputError(f"--open {number}: there is no decode of it ({sample.ended_by})")
        else:
            trace = Session(model(sample.model), sample.prompt, sample.decoder, **sample.settings).run()
        traces[f"{number}: {sample.variant}"] = trace
    return traces
