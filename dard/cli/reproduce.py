"""`reproduce`: the paper's tables and figures, what each takes, and running them, resumable, over several GPUs."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch

from dard.cli import options
from dard.cli.experiment import INTERRUPTED, check_folder, show_grid
from dard.core.errors import InputError
from dard.decoding.session import Session
from dard.experiments import get_experiment, load, write_report
from dard.experiments.beside import beside_paper
from dard.experiments.cost import bare_pass
from dard.experiments.paper import PICTURES
from dard.experiments.reproduce import PASS, needs, reproduce, works
from dard.experiments.timing import seconds
from dard.results.sweep import Process


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="which tables and figures (default all; --list)")
    parser.add_argument("--list", action="store_true", help="say what each of them takes, and stop")
    parser.add_argument("--measure", action="store_true", help="with --list: at the speed of --model here")
    parser.add_argument("--budget", type=float, metavar="HOURS", help="stop after so long; the same command goes on")
    parser.add_argument("--small", action="store_true", help="the small counterparts, on the embedded model")
    parser.add_argument("--samples", type=int, help="items at most (default: the whole benchmark; with --small 8)")
    parser.add_argument("--out", default="reproduced", metavar="DIR", help="folder of the results")
    parser.add_argument("--run-code", action="store_true", help="allow mbpp to run what the model writes")
    options.add_model(parser)
    parser.set_defaults(func=run, model=None)


def run(args: argparse.Namespace) -> int:
    if args.samples is not None and args.samples < 1:
        raise InputError(f"samples = {args.samples} is not allowed; samples must be 1 or more")
    if args.budget is not None and not args.budget > 0:
        raise InputError(f"budget = {args.budget} is not allowed; budget must be hours above 0")
    todo = works(args.labels, args.small, args.samples)
    if args.list:
        show_needs(args)
        return 0
    models = list(dict.fromkeys(each.model for of in todo.values() for each in of))
    if not models:
        raise InputError("nothing of that can be run here; --list says what it needs")
    check_folder(args.out)
    process = Process.this()
    if process.count > 1 and args.device is None and torch.cuda.is_available():
        args.device = f"cuda:{process.local}"
    began = time.monotonic()
    for name in models:
        loaded = options.open_model(argparse.Namespace(**{**vars(args), "model": args.model or name}))
        mine = {label: tuple(each for each in of if each.model == name) for label, of in todo.items()}
        left = None if args.budget is None else 3600 * args.budget - (time.monotonic() - began)
        try:
            work_off(mine, loaded, args, process, left)
        except KeyboardInterrupt:
            print("dard: interrupted; the same command goes on from there", file=sys.stderr)
            return INTERRUPTED
    return report(todo, args)


def work_off(mine: dict[str, Any], model: Any, args: argparse.Namespace, process: Process, left: float | None) -> None:
    """Run with a bar, or with a line a minute."""
    with options.progress_bar() as bar:
        line = bar.add_task("", total=None)
        tell, now = options.estimates(""), None
        for each in reproduce(mine, model, args.out, budget=left, process=process, **tasks_options(args)):
            if each.work != now:
                now, tell = each.work, options.estimates(f"{each.label}, {each.work.task}")
            more = "" if math.isnan(each.left) else f", about {options.minutes(each.left)} left"
            told = f"{each.label}, {each.work.task}{more}"
            bar.update(line, description=told, completed=each.done, total=each.total)
            tell(each.done, each.total)


def tasks_options(args: argparse.Namespace) -> dict[str, Any]:
    return {"run_code": True} if args.run_code else {}


def report(todo: dict[str, Any], args: argparse.Namespace) -> int:
    """The tables of what is complete, beside the paper's; what is not is named. All that there is was merged."""
    missing, seen = [], set()
    for label, of in todo.items():
        for each in of:
            if each in seen:
                continue
            seen.add(each)
            folder, stem = Path(args.out) / each.folder, f"{each.experiment}-{each.task}"
            try:
                results = load(folder, stem)
            except InputError:
                missing.append(f"{label}: {each.task} not begun")
                continue
            if not results.complete:
                missing.append(f"{label}: {each.task} {len(results.rows)} of {results.total} rows")
                continue
            write_report(results, folder)
            experiment = get_experiment(each.experiment)
            for table in beside_paper(experiment, results) or experiment.tables(results):
                show_grid(table.columns, table.rows, caption=f"{label}. {table.caption}", caption_justify="left")
    for line in missing:
        print(f"dard: {line}; the same command goes on", file=sys.stderr)
    return 0


def show_needs(args: argparse.Namespace) -> None:
    """A line for every table and figure."""
    speed, where = PASS, "the paper's RTX A6000"
    if args.measure:
        model = options.open_model(argparse.Namespace(**{**vars(args), "model": args.model or "embedded"}))
        length = min(256, model.max_length - 8)
        session = Session(model, [5, 6, 7, 8], gen_length=length, block_length=getattr(model, "block_size", None))
        bare = bare_pass(session)
        bare()
        speed, where = min(seconds(bare, model.device) for _ in range(5)), f"{model.name} on {model.device}"
    lines = []
    for each in needs(args.labels or None, speed, args.samples):
        counts = [f"{each.passes:,}", f"{each.hours:.1f}"] if each.passes else ["–", "–"]
        lines.append([each.label, each.command, *counts, each.words])
    if not args.labels:
        lines += [[label, "app", "–", "–", "a picture without numbers; the page draws its like"] for label in PICTURES]
    caption = (
        f"Hours on one GPU at {1000 * speed:.1f} ms a bare pass ({where}), one sample at a time; samples share passes, "
        "and several GPUs share samples (accelerate launch -m dard reproduce …)."
    )
    show_grid(["of the paper", "command", "passes", "hours", "needs"], lines, caption=caption, caption_justify="left")
