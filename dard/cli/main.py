"""The command line: names a command, learns its arguments when that is named. Bad input ends with one sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from dard.core.errors import InputError
from dard.core.plugins import files_in, load_file


class Parser(argparse.ArgumentParser):
    """argparse that says one sentence and no usage text, and learns a command's arguments when that command is named.

    Most of them come from the decoders and need torch: help, and what needs no model, do not wait for it.
    """

    command: str | None = None  # the module that knows its arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.command is not None:
            module, self.command = self.command, None
            self.add_argument(
                "--load", action="append", metavar="FILE", help="a Python file that registers decoders or models"
            )
            for file in files_in(args or []):  # first: what it registers has arguments of its own
                load_file(file)
            import_module(module).add_arguments(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


COMMANDS: dict[str, str] = {
    "decode": "decode a prompt or a template with [MASK]s and show every step",
    "compare": "decode the same prompt with several decoders",
    "diagnose": "where a decode lost its answer, by whom, and what would have saved it",
    "doctor": "whether a model works on this machine: files, masks, language, every decoder, speed",
    "models": "the models known by name",
    "bench": "what a step costs, as ratios measured in one run",
    "experiment": "a table or figure of the paper, on any model; --list names them",
    "reproduce": "the paper's tables and figures at full size: what each takes, and running them",
    "lm-eval": "lm-evaluation-harness with a decoder of ours; every decode is kept",
    "evaluate": "accuracy per task at several numbers of steps",
    "train": "train the embedded model and write its folder",
    "app": "start the page",
    "failures": "the wrong answers of an experiment or of lm-eval, and the decode behind each",
    "view": "open trace files in the browser, without a model",
    "share": "put a trace into a dataset of the hub, and print the link that opens it",
    "gallery": "a recorded decode as a case of the gallery, for a pull request",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands, named as it was called: `dard`, or `python -m dard`."""
    parser = Parser(
        prog="dard" if Path(sys.argv[0]).stem == "dard" else "python -m dard",
        description="Decode with a diffusion language model, one visible step at a time.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, about in COMMANDS.items():
        # In full: half a --load would be read as one, and its file not be loaded.
        commands.add_parser(name, help=about, allow_abbrev=False).command = f"dard.cli.{name.replace('-', '_')}"
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    try:
        args = build_parser().parse_args(argv)
        return args.func(args) or 0
    except InputError as error:
        print(f"dard: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a full disk, wherever it shows
        where = f" ({error.filename})" if error.filename else ""
        print(f"dard: {error.strerror or error}{where}; what was written before stays", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dard: interrupted", file=sys.stderr)
        return 130
