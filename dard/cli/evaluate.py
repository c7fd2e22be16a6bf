"""`evaluate`: accuracy per task at several numbers of steps."""

from __future__ import annotations

import argparse
from pathlib import Path

from dard.cli import kinds
from dard.models import load_model
from dard.tasks import TASKS
from dard.training.evaluation import HEADER, evaluate
from dard.training.model_card import replace_figures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`evaluate`: measure a model on the small worlds."""
    parser.add_argument("--model", default="embedded", help="a name, a folder or a hub id")
    parser.add_argument("--tasks", type=kinds.tasks, default=tuple(TASKS), help="names separated by commas")
    parser.add_argument("--items", type=kinds.count, default=300, help="test items per task")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of items")
    parser.add_argument("--card", type=Path, help="model folder whose card gets the figures")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    kinds.report(HEADER)
    figures = evaluate(load_model(arguments.model), arguments.tasks, arguments.items, arguments.seed, kinds.report)
    if arguments.card is not None:
        replace_figures(arguments.card, figures)
    return 0
