"""The commands `train` and `evaluate`: arguments in, functions called, tables printed.

Promises: each command sets `func`, which takes the parsed arguments and returns an exit code.
Does not know: how anything is computed. Heavy imports happen when a command runs, so that help stays quick.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dard.folders import assets
from dard.tasks import TASKS


def _positive(kind: type[int] | type[float], text: str) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be above 0")
    return number


def _count(text: str) -> int:
    return int(_positive(int, text))


def _minutes(text: str) -> float:
    return _positive(float, text)


def _tasks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in TASKS:
            raise argparse.ArgumentTypeError(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    return names


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """`train`: make the embedded model."""
    parser.add_argument("--out", type=Path, default=assets("model"), help="folder of the finished model")
    parser.add_argument(
        "--work", type=Path, default=Path("training-work"), help="folder of the checkpoint; continued if present"
    )
    parser.add_argument("--start", type=Path, help="folder of a finished model whose weights training begins with")
    parser.add_argument("--minutes", type=_minutes, default=90.0, help="budget of wall-clock time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--items", type=_count, default=300, help="test items per task afterwards")
    parser.add_argument("--smoke", action="store_true", help="a few steps of a tiny network, to test the machinery")
    parser.set_defaults(func=_train)


def add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    """`evaluate`: measure a model on the small worlds."""
    parser.add_argument("--model", default="embedded", help="a name, a folder or a hub id")
    parser.add_argument("--tasks", type=_tasks, default=tuple(TASKS), help="names separated by commas")
    parser.add_argument("--items", type=_count, default=300, help="test items per task")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of items")
    parser.add_argument("--card", type=Path, help="model folder whose card gets the figures")
    parser.set_defaults(func=_evaluate)


def _train(arguments: argparse.Namespace) -> int:
    from dard.training.evaluation import table
    from dard.training.pipeline import train

    figures = train(
        arguments.out,
        arguments.work,
        arguments.minutes,
        seed=arguments.seed,
        items=arguments.items,
        smoke=arguments.smoke,
        start=arguments.start,
        report=_report,
    )
    _report(table(figures))
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    import dard
    from dard.training.card import replace_figures
    from dard.training.evaluation import HEADER, evaluate

    _report(HEADER)
    figures = evaluate(dard.load_model(arguments.model), arguments.tasks, arguments.items, arguments.seed, _report)
    if arguments.card is not None:
        replace_figures(arguments.card, figures)
    return 0


def _report(line: str) -> None:
    # Training runs for hours into a log file: each line must be there when it is written.
    print(line, flush=True)
