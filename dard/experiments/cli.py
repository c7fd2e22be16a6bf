"""The command `experiment`: arguments in, a progress bar, files out.

Promises: one clear sentence and exit code 2 for bad input; Ctrl-C leaves a file that the same command continues.
Does not know: how anything is measured or drawn. Heavy imports happen when the command runs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress as Bar
from rich.table import Table as Grid

from dard.state import InputError

if TYPE_CHECKING:
    from dard.experiments import Results

INTERRUPTED = 130


def add_experiment_arguments(
    parser: argparse.ArgumentParser,
    add_model: Callable[[argparse.ArgumentParser], None],
    open_model: Callable[[argparse.Namespace], Any],
    progress_bar: Callable[[], Bar],
) -> None:
    """`experiment`: one table or figure of the paper, on any model."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which experiment")
    parser.add_argument("--list", action="store_true", help="name the experiments and tasks, and stop")
    parser.add_argument(
        "--task", help="a small world of the embedded model, or a benchmark (default: the experiment's)"
    )
    parser.add_argument("--samples", type=int, help="items of the task (default 100; 10 for cost)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of items (default 0)")
    parser.add_argument("--out", default="results", metavar="DIR", help="folder of the results (default results)")
    parser.add_argument("--gen-length", type=int, help="room for the answer (default: the task's)")
    parser.add_argument("--block-length", type=int, help="positions decoded together (default: the task's)")
    parser.add_argument("--batch", type=int, help="samples that share their forward passes (default 8)")
    parser.add_argument("--data", metavar="PATH", help="a benchmark's file or folder, in place of the hub")
    parser.add_argument("--run-code", action="store_true", help="allow mbpp to run what the model writes")
    add_model(parser)
    parser.set_defaults(
        func=lambda args: show_list() if args.list else experiment_command(args, open_model, progress_bar)
    )


def show_list() -> None:
    from dard.experiments import EXPERIMENTS
    from dard.experiments.paper import PAPER
    from dard.tasks import TASKS
    from dard.tasks.benchmarks import PRESETS

    lines = [[e.name, e.shows, e.paper, e.default_task] for e in EXPERIMENTS.values()]
    show_grid(["name", "shows", "in the paper", "default task"], lines)
    show_grid(["of the paper", "small", "full size"], [[k, v.command or "–", v.needs] for k, v in PAPER.items()])
    console = Console(highlight=False)
    console.print(f"tasks of the embedded model: {', '.join(TASKS)}")
    console.print(f"benchmarks for real models: {', '.join(PRESETS)}")


def show_grid(columns: Any, rows: Any, **options: Any) -> None:
    grid = Grid(**options)
    for number, column in enumerate(columns):
        grid.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*row)
    Console(highlight=False).print(grid)


def experiment_command(
    args: argparse.Namespace, open_model: Callable[[argparse.Namespace], Any], progress_bar: Callable[[], Bar]
) -> int:
    """Run with a bar, then report. Ctrl-C stops it; what is done stays."""
    import torch

    from dard.experiments import find_task, get_experiment, load, make_plan, run
    from dard.experiments.plan import LIMITS, check_numbers
    from dard.experiments.sweep import Process

    if args.name is None:
        raise InputError("experiment needs a name; --list shows them")
    experiment, process = get_experiment(args.name), Process.this()
    # What can be refused is refused before a model is loaded.
    check_numbers(**{name: getattr(args, name) for name in LIMITS})
    check_folder(args.out)
    task = find_task(args.task or experiment.default_task, data=args.data, run_code=args.run_code)
    args.task, args.samples = task.name, args.samples or experiment.default_samples
    command = command_line(args)
    if process.count > 1 and args.device is None and torch.cuda.is_available():
        args.device = f"cuda:{process.local}"
    numbers = {name: getattr(args, name) for name in LIMITS}
    results = (plan := make_plan(args.name, open_model(args), task, command=command, **numbers)).results
    share = f" ({process.index + 1} of {process.count})" if process.count > 1 else ""
    try:
        with progress_bar() as bar:
            line = bar.add_task(f"{args.name}, {args.task}{share}", total=results.total)
            for progress in run(plan, args.out, process=process):
                bar.update(line, completed=progress.done)
    except KeyboardInterrupt:
        say(
            f"interrupted after {len(results.rows)} of {results.total} rows; "
            f"they are in {args.out}, and the same command goes on from there"
        )
        return INTERRUPTED
    finish(load(args.out, results.stem), args.out)
    return 0


def finish(results: Results, out: str) -> None:
    """Write the report and show its tables, once the last process has done its part."""
    from dard.experiments import get_experiment, write_report

    if not results.complete:
        return say(f"{len(results.rows)} of {results.total} rows are done; other processes are still at work")
    try:
        paths = write_report(results, out)
    except OSError as error:
        raise InputError(f"the report cannot be written to {out!r}: {error.strerror}") from None
    for table in get_experiment(results.header["experiment"]).tables(results):
        show_grid(table.columns, table.rows, caption=table.caption, caption_justify="left")
    Console(highlight=False).print(f"written: {', '.join(str(path) for path in paths)}", soft_wrap=True)


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
    for name in ("model", "task", "samples", "seed", "out", "gen_length", "block_length", "batch", "data", "device",
                 "dtype", "device_map", "quantise", "image"):  # fmt: skip
        if getattr(args, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    words += [word for file in args.load or () for word in ("--load", file)]
    return shlex.join(words + ["--plain"] * args.plain + ["--run-code"] * args.run_code)


def say(sentence: str) -> None:
    print(f"dard: {sentence}", file=sys.stderr)
