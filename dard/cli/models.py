"""`models`: those known by name."""

from __future__ import annotations

import argparse
import json
import sys

from rich.table import Column, Table

from dard.cli.terminal import plain_console
from dard.models.registry import rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    if args.json:
        listed = [
            {"name": name, **card.words(), "defaults": dict(card.defaults), "hub": card.hub, "link": card.link}
            for name, card in rows().items()
        ]
        sys.stdout.write(json.dumps(listed, indent=2) + "\n")
        return
    table = Table(show_header=False, show_lines=True)
    for name, card in rows().items():
        details = Table.grid("", Column(overflow="fold"), padding=(0, 1))
        for heading, text in {**card.words(), "from": card.link or card.origin}.items():
            details.add_row(heading, text)
        table.add_row(name, details)
    plain_console().print(table)
