"""Small things several test files need."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import dard
from dard.decoders import DECODERS

ALL_DECODERS = ("dard", "wino", "saber", "standard", "threshold", "entropy_bound", "dapd", "remix", "edit")
LOGITS_ALONE = tuple(name for name in ALL_DECODERS if not DECODERS[name].needs)

Answer = TypeVar("Answer")


def aside(call: Callable[..., Answer], *arguments: Any) -> Answer:
    """A call in a thread of its own: where a browser test ran before, this one has an event loop that never ends."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *arguments).result()


@contextmanager
def nothing_said() -> Iterator[None]:
    """No warning of ours. (Made an error it would not be seen: who warns in the middle of a sampler goes on.)"""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    assert not [each for each in said if str(each.message).startswith("dard")]


def body_of(trace: dard.Trace) -> dict[str, Any]:
    """The trace as its file holds it."""
    return json.loads(trace.to_bytes(compress=False))


def without_times(trace: dard.Trace) -> dict[str, Any]:
    body = body_of(trace)
    for step in body["steps"]:
        step.pop("forward_seconds", None)
        step.pop("other_seconds", None)
        step.pop("peak_bytes", None)
    return body


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def serving(page: Any, **options: Any) -> Iterator[str]:
    """A Gradio page on a free port: left to itself Gradio takes the one that `make app` serves visitors on."""
    _, url, _ = page.launch(prevent_thread_lock=True, quiet=True, server_port=free_port(), **options)
    try:
        yield url
    finally:
        page.close()


@contextmanager
def started(command: Sequence[str], folder: Path, **environment: str) -> Iterator[str]:
    """A command that serves the page, run in a folder; yields its address once it answers, and ends it."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRADIO_", "SPACE", "DARD_"))}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**kept, "GRADIO_SERVER_PORT": str(port), "JUPYTER_PORT": str(port), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(480):
            assert process.poll() is None, process.stdout and process.stdout.read()
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                time.sleep(0.25)
        else:
            raise AssertionError("the page did not answer within two minutes")
        yield url
    finally:
        process.terminate()
        process.wait(20)
