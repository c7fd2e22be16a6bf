"""`gallery add`: a recorded decode as a case of the gallery, for a pull request."""

from __future__ import annotations

import argparse

from dard.trace import Trace
from visual.contribute import CASE_AT_MOST, GALLERY, LICENCES, add_case


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="add")
    add = kinds.add_parser("add", help="a recorded decode as a case: two files, for a pull request", allow_abbrev=False)
    add.add_argument("trace", metavar="TRACE", help=f"the trace file, at most {CASE_AT_MOST >> 10} KB once packed")
    add.add_argument("--name", required=True, help="what its chip says, 3 to 30 characters")
    add.add_argument("--look", required=True, help="where to look, in one or two sentences")
    add.add_argument("--why", help="why it happens")
    add.add_argument("--licence", required=True, help=f"of prompt and answer: {', '.join(LICENCES)}")
    add.add_argument("--by", required=True, help="whose recording it is")
    add.add_argument("--step", type=int, help="the step it opens on (default 0)")
    add.add_argument("--select", type=int, metavar="POSITION", help="the position that is selected")
    add.add_argument("--model", metavar="NAME", help="a name or hub id, where the trace holds a folder's")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    names = ("name", "model", "look", "why", "licence", "by", "step", "select")
    case = {name: value for name in names if (value := getattr(args, name)) is not None}
    for path in add_case(Trace.load(args.trace), case, GALLERY):
        print(path)
