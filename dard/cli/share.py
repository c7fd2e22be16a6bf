"""`share`: a trace into a dataset of the hub, and the link that opens it."""

from __future__ import annotations

import argparse

from dard.trace import Trace
from dard.trace.readers import trace_name
from visual.contribute import share


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="the trace file")
    parser.add_argument("dataset", metavar="OWNER/NAME", help="a dataset of yours; it is made if it is not there")
    parser.add_argument("--name", help="what the trace is called there (default: as the file)")
    parser.add_argument(
        "--page",
        default="http://127.0.0.1:7860/",
        metavar="ADDRESS",
        help="the page that shall open it (default: yours)",
    )
    parser.add_argument("--dry-run", action="store_true", help="check it and print the link, and send nothing")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    name = args.name or trace_name(args.trace)
    sent = share(Trace.load(args.trace), args.dataset, name, args.page, args.dry_run)
    done = "would be put" if args.dry_run else "was put"
    print(f"{sent['file']} ({sent['bytes']:,} bytes) {done} into the dataset {args.dataset}.")
    print(sent["link"])
