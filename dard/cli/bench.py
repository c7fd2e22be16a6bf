"""`bench`: what a step costs, as ratios measured in one run; or simulated visitors of a page."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from rich.table import Table

from dard.cli import options
from dard.cli.terminal import plain_console
from dard.core.errors import InputError
from dard.experiments.bench import run_bench


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--small", action="store_true", help="a model of a second's work, to try the command")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--visitors", type=int, metavar="N", help="send so many simulated visitors to a page instead")
    parser.add_argument("--decodes", type=int, default=200, help="which they make together (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="of what they do")
    parser.add_argument("--serial", action="store_true", help="let the page run one visitor after the other")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    if args.visitors is not None:
        try:
            from tests.visitors import soak
        except ModuleNotFoundError:
            raise InputError("--visitors needs a checkout: the simulated visitors are a tool of its tests") from None
        report = soak(args.visitors, args.decodes, args.seed, args.serial)
        if args.json:
            sys.stdout.write(json.dumps(asdict(report), indent=2) + "\n")
        for name, value in () if args.json else report.rows():
            print(f"{name}: {value}")
        if report.wrong or report.lost or report.stuck:
            raise InputError("not all visitors were served right")
        return
    with options.progress_bar() as bar:
        results = run_bench(small=args.small, repeats=args.repeats, bar=bar)
    if args.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
        return
    table = Table(title=results["setup"], title_justify="left")
    for heading in ("", "what", "measured", "bar", "holds"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("measured", "bar") else "left")
    for row in results["rows"]:
        holds = {True: "yes", False: "no", None: ""}[row["holds"]]
        table.add_row(row["key"], row["what"], row["shown"], row["bar_shown"], holds)
    plain_console().print(table)
