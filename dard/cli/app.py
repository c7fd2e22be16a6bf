"""`app`: the page, on the models that are named."""

from __future__ import annotations

import argparse
import os

from dard.cli import options
from dard.models import CARDS
from visual.start import serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`app`: the page, on the models that are named."""
    parser.add_argument(
        "--model",
        action="append",
        help=f"offer this model; may be repeated ({', '.join(CARDS)}, a folder, a hub id). "
        "Default: the names in the environment variable DARD_MODELS, separated by commas, or embedded, and "
        "bert-base-uncased, which is fetched when it is first asked for",
    )
    options.add_loading(parser)
    parser.add_argument(
        "--positions", type=int, metavar="N", help="decode at most so many (default: what DARD_POSITIONS says, or 1024)"
    )
    parser.add_argument("--serial", action="store_true", help="one visitor's run after the other, for comparison")
    parser.add_argument("--mcp", action="store_true", help="offer the named endpoints to assistants too, as MCP tools")
    everywhere = "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1"
    parser.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", everywhere))
    parser.add_argument("--port", type=int, default=os.environ.get("GRADIO_SERVER_PORT", "7860"))
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="a host name this page answers to, is asked by and may be framed by beside its own (*.example.org); may "
        "be repeated. DARD_HOSTS names some, too, separated by commas",
    )  # fmt: skip
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> None:
    """Serve it."""
    loading = options.loading_options(args)
    more = {"mcp": args.mcp, "serial": args.serial, "hosts": args.allow_host, "positions": args.positions}
    serve(args.model or (), loading, args.host, args.port, **more)
