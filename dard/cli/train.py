"""`train`: make the embedded model and write its folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dard.cli import kinds
from dard.core.folders import assets
from dard.training.evaluation import table
from dard.training.pipeline import train


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`train`: make the embedded model."""
    parser.add_argument("--out", type=Path, default=assets("model"), help="folder of the finished model")
    parser.add_argument(
        "--work", type=Path, default=Path("training-work"), help="folder of the checkpoint; continued if present"
    )
    parser.add_argument("--start", type=Path, help="folder of a finished model whose weights training begins with")
    parser.add_argument("--minutes", type=kinds.minutes, default=90.0, help="budget of wall-clock time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--items", type=kinds.count, default=300, help="test items per task afterwards")
    parser.add_argument("--smoke", action="store_true", help="a few steps of a tiny network, to test the machinery")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    figures = train(
        arguments.out,
        arguments.work,
        arguments.minutes,
        seed=arguments.seed,
        items=arguments.items,
        smoke=arguments.smoke,
        start=arguments.start,
        report=kinds.report,
    )
    kinds.report(table(figures))
    return 0
