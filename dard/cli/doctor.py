"""`doctor`: whether a model works on this machine, check by check."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dard.checkup.doctor import doctor
from dard.checkup.report import SIGNS, Check, Report
from dard.cli import options
from dard.cli.terminal import plain_console, printable_prompt

STYLES = {"ok": "#009E73", "note": "#E69F00", "fail": "bold #D55E00", "skipped": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", default="embedded", metavar="MODEL", help="a name from `models`, a folder, or a hub id"
    )
    parser.add_argument("--brief", action="store_true", help="without the comparison of all decoders and the timing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON and nothing else")
    options.add_loading(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """0: everything was tried, and nothing failed; 1: something is wrong."""
    console = plain_console()
    tell = None if args.json else lambda check: console.print(line(check))
    report = doctor(args.model, brief=args.brief, tell=tell, **options.loading_options(args))
    if args.json:
        sys.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=1) + "\n")
    else:
        show_end(console, report)
    return 0 if report.ok else 1


def line(check: Check) -> Table:
    """A mark, what was looked at, and the sentence."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(width=9, style="dim")
    grid.add_column(width=24)
    grid.add_column(overflow="fold")
    sign = Text(SIGNS[check.mark], STYLES[check.mark])
    grid.add_row(sign, check.part, printable_prompt(check.name), Text(printable_prompt(check.sentence)))
    return grid


def show_end(console: Console, report: Report) -> None:
    counts = ", ".join(f"{len(report.marked(mark))} {SIGNS[mark]}" for mark in SIGNS)
    console.print(Text(f"{report.model}: {counts}, in {report.seconds:.1f} s.", "bold"))
    for check in report.failed:
        console.print(Text(f"✗ {check.part}, {check.name}: {printable_prompt(check.sentence)}", STYLES["fail"]))
    if report.stopped:
        console.print(Text(f"Stopped there: {report.stopped}.", STYLES["fail"]))
