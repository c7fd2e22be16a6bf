"""The page, served. On a Space nothing is given, and the environment says it all."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from dard.core.errors import InputError
from dard.core.extras import need
from dard.decoding.scheduler import Scheduler
from dard.models import offers
from dard.models.placement import read_placement
from visual.page import build_page, launch_options
from visual.pinned import unlike_locked
from visual.server import selftest
from visual.server.passes import REMOTE, borrowed, on_zero_gpu
from visual.server.studio import Studio

FILES_WANTED = 16_384


def usual_models() -> str:
    """What a page offers where nothing is said; all but the first is fetched when it is first asked for."""
    return "embedded,bert-base-uncased" + (",llada-8b-instruct" if on_zero_gpu() else "")


def keep_memory_together() -> None:
    """Where memory is glibc's, its pools for threads never shrink: with one for each visitor's they only grow."""
    with suppress(AttributeError, OSError, TypeError):  # other systems have other ways
        most_pools = -8  # M_ARENA_MAX of malloc.h
        ctypes.CDLL(None).mallopt(most_pools, 2)


def open_many_files() -> None:
    """A connection is an open file, of which some systems let a program have 256 as long as it asks for no more."""
    with suppress(ImportError, OSError, ValueError):  # Windows counts them otherwise
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = resource.RLIM_INFINITY != soft < FILES_WANTED
        wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
        if few:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve(
    models: Sequence[str],
    loading: dict[str, Any],
    host: str,
    port: int,
    *,
    mcp: bool = False,
    serial: bool = False,
    hosts: Sequence[str] = (),
    positions: int | None = None,
) -> None:
    """Offer these models, or what the environment names, until the process ends."""
    keep_memory_together()
    open_many_files()
    sys.set_int_max_str_digits(640)  # the least: reading a number takes the square of its digits
    named = [name.strip() for name in os.environ.get("DARD_MODELS", usual_models()).split(",") if name.strip()]
    if where := {name: loading[name] for name in ("device", "dtype", "device_map", "quantise") if loading[name]}:
        read_placement(**where)  # what cannot be is said now, not to the first visitor
    studio = Studio(tuple(models or named or ["embedded"]), positions, **loading)
    if mcp:
        need("--mcp", "mcp", "mcp")
    Scheduler.together = not serial
    if "SPACE_ID" in os.environ and (other := unlike_locked()):
        print(f"dard: not what this version was tried with: {', '.join(other)}", file=sys.stderr)
    if on_zero_gpu():
        for function in (*REMOTE, selftest.remote_check):
            borrowed(function)
        for name in studio.models.names:  # what is loaded later would not be there in the process that has the GPU
            try:
                model: Any = studio.models.load(name)
                if "images" in offers(model) and hasattr(model, "encoder"):
                    model.encoder()
            except InputError as error:
                studio.models.missing[name] = (
                    f"{name} could not be loaded when this Space was started, which must be done anew: {error}"
                )
                print(f"dard: {studio.models.missing[name]}", file=sys.stderr)
    if "SPACE_ID" in os.environ:
        selftest.check(studio.models)
    told = os.environ.get("DARD_HOSTS", "").split(",")
    names = [each.strip().lower() for each in (*hosts, *told) if each.strip()]
    try:
        build_page(studio).launch(
            server_name=host, server_port=port, mcp_server=mcp, **launch_options(names, [host.lower()])
        )
    except (OSError, OverflowError):
        raise InputError(
            f"the page cannot be served at {host}:{port}, which may be in use; choose another with --port"
        ) from None
