"""The command `app`: arguments in, the page served. On a Space nothing is given, and the environment says it all."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from contextlib import suppress
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from dard.__main__ import add_loading, loading_options
from dard.conductor import Conductor
from dard.extras import need
from dard.models import CARDS, offers
from dard.state import InputError
from visual.page import build_page, launch_options
from visual.passes import borrowed, finding, look, on_zero_gpu, work
from visual.service import Studio


def add_app_arguments(parser: argparse.ArgumentParser) -> None:
    """`app`: the page, on the models that are named."""
    parser.add_argument(
        "--model",
        action="append",
        help=f"offer this model; may be repeated ({', '.join(CARDS)}, a folder, a hub id). "
        "Default: the names in the environment variable DARD_MODELS, separated by commas, or embedded",
    )
    add_loading(parser)
    parser.add_argument("--serial", action="store_true", help="one visitor's run after the other, for comparison")
    parser.add_argument("--mcp", action="store_true", help="offer the named endpoints to assistants too, as MCP tools")
    everywhere = "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1"
    parser.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", everywhere))
    parser.add_argument("--port", type=int, default=os.environ.get("GRADIO_SERVER_PORT", "7860"))
    parser.set_defaults(func=app_command)


def usual_models() -> str:
    """What a page offers where nothing is said: on a Space also what it can fetch when it is first asked for."""
    if "SPACE_ID" not in os.environ:
        return "embedded"
    return "embedded,bert-base-uncased" + (",llada-8b-instruct" if on_zero_gpu() else "")


def keep_memory_together() -> None:
    """Where memory is glibc's, its pools for threads never shrink: with one for each visitor's they only grow."""
    with suppress(AttributeError, OSError, TypeError):  # other systems have other ways
        most_pools = -8  # M_ARENA_MAX of malloc.h
        ctypes.CDLL(None).mallopt(most_pools, 2)


def app_command(args: argparse.Namespace) -> None:
    keep_memory_together()
    named = [name.strip() for name in os.environ.get("DARD_MODELS", usual_models()).split(",") if name.strip()]
    loading = loading_options(args)
    if where := {name: loading[name] for name in ("device", "dtype", "device_map", "quantise") if loading[name]}:
        from dard.models.placement import read_placement

        read_placement(**where)  # what cannot be is said now, not to the first visitor
    studio = Studio(tuple(args.model or named or ["embedded"]), **loading)
    if args.mcp:
        need("--mcp", "mcp", "mcp")
    Conductor.together = not args.serial
    if on_zero_gpu():
        borrowed(work), borrowed(look), borrowed(finding)
        for name in studio.models:  # what is loaded later would not be there in the process that has the GPU
            try:
                model: Any = studio.model(name)
                if "images" in offers(model) and hasattr(model, "encoder"):
                    model.encoder()
            except InputError as error:
                studio.missing[name] = (
                    f"{name} could not be loaded when this Space was started, which must be done anew: {error}"
                )
                print(f"dard: {studio.missing[name]}", file=sys.stderr)
    try:
        build_page(studio).launch(server_name=args.host, server_port=args.port, mcp_server=args.mcp, **launch_options())
    except (OSError, OverflowError):
        raise InputError(
            f"the page cannot be served at {args.host}:{args.port}, which may be in use; choose another with --port"
        ) from None
