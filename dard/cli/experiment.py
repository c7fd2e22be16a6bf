"""The command `experiment`: arguments in, a progress bar, files out.

Promises: one clear sentence and exit code 2 for bad input; Ctrl-C leaves a file that the same command continues.
Does not know: how anything is measured or drawn.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.table import Table as Grid

from dard.cli import options
from dard.cli.terminal import plain_console
from dard.core.errors import InputError
from dard.core.extras import need
from dard.core.files import write_whole
from dard.experiments import EXPERIMENTS, find_task, get_experiment, load, make_plan, write_report
from dard.experiments import run as run_plan
from dard.experiments.base import Table
from dard.experiments.beside import beside_paper
from dard.experiments.catalogue import FIGURES, write_figures
from dard.experiments.choice import Choice
from dard.experiments.logs import LOGS, check_log, numbers
from dard.experiments.paired import paired, spread
from dard.experiments.paper import PAPER
from dard.experiments.plan import LIMITS, check_numbers
from dard.results.formats import FORMATS
from dard.results.sweep import Process
from dard.tasks import TASKS
from dard.tasks.benchmarks import PRESETS

INTERRUPTED = 130
ENDINGS = {"md": "tables.md", "csv": "csv", "latex": "tex"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`experiment`: one table or figure of the paper, on any model."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which experiment")
    parser.add_argument("--list", action="store_true", help="name the experiments and tasks, and stop")
    parser.add_argument("--task", help="a small world of the embedded model, or a benchmark (default: its own)")
    parser.add_argument("--samples", type=int, help="items of the task (default 100; 20 for budgets, 10 for cost)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of items (default 0)")
    parser.add_argument("--out", default="results", metavar="DIR", help="folder of the results (default results)")
    parser.add_argument("--gen-length", type=int, help="tokens of the answer at most (default: the task's)")
    parser.add_argument("--block-length", type=int, help="positions decoded together (default: the task's)")
    parser.add_argument("--batch", type=int, help="samples that share their forward passes (default 8)")
    parser.add_argument("--decoders", metavar="NAMES", help="only these of its decoders, with commas between")
    parser.add_argument(
        "--variants",
        action="append",
        metavar="VARIANT",
        help="these in place of its own, such as 'dard tau_u=0.7'; may be repeated (with --decoders: beside theirs)",
    )
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="for all decoders that know it")
    parser.add_argument("--seeds", type=int, default=1, help="decoding seeds of every variant (with a temperature)")
    parser.add_argument("--tokens", action="store_true", help="keep what became of every token")
    parser.add_argument(
        "--paired", nargs="?", const="", metavar="VARIANT", help="also test every variant against one, item by item"
    )
    parser.add_argument("--format", choices=FORMATS, help="print the tables so, and write them beside the results")
    parser.add_argument("--figure", choices=FIGURES, action="append", help="write the figure so, too; may be repeated")
    parser.add_argument("--log", choices=LOGS, help="tell accuracy and passes to it, as they come")
    parser.add_argument("--data", metavar="PATH", help="a benchmark's file or folder, in place of the hub")
    parser.add_argument("--run-code", action="store_true", help="allow mbpp to run what the model writes")
    options.add_model(parser)
    parser.set_defaults(func=run)


def show_list() -> None:
    lines = [[e.name, e.shows, e.paper, e.default_task] for e in EXPERIMENTS.values()]
    show_grid(["name", "shows", "in the paper", "default task"], lines)
    show_grid(["of the paper", "small", "full size"], [[k, v.command or "–", v.needs] for k, v in PAPER.items()])
    print(f"tasks of the embedded model: {', '.join(TASKS)}")
    print(f"benchmarks for real models: {', '.join(PRESETS)}")


def show_grid(columns: Iterable[str], rows: Iterable[Sequence[str]], **options: Any) -> None:
    grid = Grid(**options)
    for number, column in enumerate(columns):
        grid.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*row)
    plain_console().print(grid)


def run(args: argparse.Namespace) -> int:
    """Run with a bar, then report. Ctrl-C stops it; what is done stays."""
    if args.list:
        show_list()
        return 0
    if args.name is None:
        raise InputError("experiment needs a name; --list shows them")
    experiment, process = get_experiment(args.name), Process.this()
    # What can be refused is refused before a model is loaded.
    check_folder(args.out)
    check_log(args.log)
    if args.figure:
        need("--figure", "figures", "kaleido")
    args.samples = experiment.default_samples if args.samples is None else args.samples
    check_numbers(**(limits := {name: getattr(args, name) for name in LIMITS}))
    choice = Choice.of(args.decoders, args.variants, args.set, args.seeds)
    task = find_task(args.task or experiment.default_task, data=args.data, run_code=args.run_code)
    args.task = task.name
    command = command_line(args)
    if process.count > 1 and args.device is None and torch.cuda.is_available():
        args.device = f"cuda:{process.local}"
    more: dict[str, Any] = {"command": command, "choice": choice, "tokens": args.tokens}
    results = (plan := make_plan(args.name, options.open_model(args), task, **more, **limits)).results
    log = LOGS[args.log](Path(args.out), results) if args.log else None
    share = f" ({process.index + 1} of {process.count})" if process.count > 1 else ""
    try:
        with options.progress_bar() as bar:
            line = bar.add_task(f"{args.name}, {args.task}{share}", total=results.total)
            tell = options.estimates(f"{args.name}, {args.task}{share}")
            for progress in run_plan(plan, args.out, process=process):
                bar.update(line, completed=progress.done)
                tell(progress.done, progress.total)
                if log is not None and progress.rows:
                    log.write(numbers(results), progress.done)
    except KeyboardInterrupt:
        done = f"interrupted after {len(results.rows)} of {results.total} rows"
        print(f"dard: {done}; they are in {args.out}, and the same command goes on from there", file=sys.stderr)
        return INTERRUPTED
    finally:
        if log is not None:
            log.close()
    results = load(args.out, results.stem)
    if not results.complete:  # the last process writes the report
        done = f"{len(results.rows)} of {results.total} rows are done"
        print(f"dard: {done}; other processes are still at work", file=sys.stderr)
        return 0
    paths = [*write_report(results, args.out), *write_figures(results, args.out, args.figure or ())]
    tables = [*experiment.tables(results), *beside_paper(experiment, results)]
    tables += [table for table in [spread(results)] if table is not None]
    tables += [paired(results, args.paired)] if args.paired is not None else []
    show_tables(tables, args.format)
    if args.format:
        paths.append(Path(args.out) / f"{results.stem}.{ENDINGS[args.format]}")
        write_whole(paths[-1], "\n\n".join(FORMATS[args.format](t.columns, t.rows, t.caption) for t in tables) + "\n")
    print(f"written: {', '.join(map(str, paths))}", file=sys.stderr if args.format else sys.stdout)
    return 0


def show_tables(tables: Sequence[Table], how: str | None) -> None:
    """In a format, or for reading."""
    for table in tables:
        if how:
            print(FORMATS[how](table.columns, table.rows, table.caption), end="\n\n")
        else:
            show_grid(table.columns, table.rows, caption=table.caption, caption_justify="left")


def check_folder(folder: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(0, "no permission")
    except OSError as error:
        raise InputError(f"--out {folder!r} cannot be written: {error.strerror}") from None


def command_line(args: argparse.Namespace) -> str:
    """The command with its choices spelled out, so that it means the same when defaults change."""
    words = ["python", "-m", "dard", "experiment", args.name]
    given = {"model": args.model, **vars(args)}
    for name in [name for name in given if name not in ("name", "command", "list", "func")]:
        values = given[name] if isinstance(given[name], list) else [given[name]]
        for value in values:
            flag = [f"--{name.replace('_', '-')}"]
            words += flag if value is True else [] if value in (None, False) else [*flag, str(value)]
    return shlex.join(words)
