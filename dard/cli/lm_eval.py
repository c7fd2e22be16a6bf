"""`lm-eval`: lm-evaluation-harness with a decoder of ours; every decode is kept."""

from __future__ import annotations

import argparse

from dard.core.extras import need


def add_arguments(parser: argparse.ArgumentParser) -> None:
    def hand_over(args: argparse.Namespace) -> None:
        need("lm-eval", "lm-eval", "lm_eval")
        from dard.harness.lm import run

        run(args.arguments)

    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="as lm-eval takes them")
    parser.prefix_chars = "\0"  # they are all its own, --help included
    parser.set_defaults(func=hand_over)
