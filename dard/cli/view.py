"""`view`: trace files in the browser, without a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from dard.cli import pages
from dard.core.errors import InputError
from dard.trace import Trace
from dard.trace.readers import TokenizerFile, load, trace_name
from visual.export import open_html


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE",
        help="a trace, or states or steps of another program (JSON, torch.save); several become lanes of one page",
    )  # fmt: skip
    parser.add_argument("--mask-id", type=int, metavar="ID", help="the mask token of states that do not name it")
    parser.add_argument("--tokenizer", metavar="FOLDER", help="where the tokenizer.json is that knows their words")
    parser.add_argument(
        "--prompt-length", type=int, metavar="N", help="tokens of the prompt, if states begin after a step"
    )
    parser.add_argument("--block-size", type=int, metavar="N", help="tokens of a block, if steps count anew in each")
    parser.add_argument("--row", type=int, metavar="N", help="of a batch only this row, counted from 0")
    pages.add_answer(parser)
    parser.add_argument("--page", metavar="FILE.html", help="write a page that opens any trace, without a server")
    pages.add_page(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    """Show the traces of files, all of which are read before anything is written; or write the page that opens any."""
    pages.check_page(args)
    if (args.page is None) != bool(args.files) or (args.page and args.out):
        raise InputError("view takes trace files, or --page FILE.html alone for a page that opens any trace")
    if args.page:
        pages.write_page(Path(args.page), open_html())
        return
    stems = [trace_name(file) for file in args.files]
    names = stems if len(set(stems)) == len(stems) else args.files
    traces: dict[str, Trace] = {}
    for name, file in zip(names, args.files, strict=True):
        rows = load_traces(file, args)
        traces |= {name if len(rows) == 1 else f"{name}, row {row}": trace for row, trace in enumerate(rows)}
    if args.answer is not None:
        for name, trace in traces.items():
            print(f"{name}: {pages.told_answer(trace, args.answer)}")
    pages.show_page(traces, args, args.answer or None)


def load_traces(file: str, args: argparse.Namespace) -> list[Trace]:
    """The traces of a file: one, or those of the rows of a batch."""
    try:
        words = None if args.tokenizer is None else TokenizerFile(args.tokenizer)
        told = {"mask_id": args.mask_id, "prompt_length": args.prompt_length, "block_size": args.block_size}
        rows = load(file, words=words, **told)
    except InputError as error:
        raise InputError(f"{file!r}: {error}") from None
    if args.row is None:
        return rows
    if not 0 <= args.row < len(rows):
        raise InputError(f"--row {args.row} is not allowed; {file!r} has rows 0 to {len(rows) - 1}")
    return [rows[args.row]]
