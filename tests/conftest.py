"""Shared by all tests: how they are spread over processes, what they may not touch, and the figures they measure.

The whole suite runs in several processes, a part of it in one. Tests of a file stay together, except where a browser
waits more than it works; those that measure something stay together, too, so that they are not in each other's way.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck
from hypothesis import settings as properties

MANY_THREADS = {"training", "tasks", "visual", "browser"}
CORES = os.cpu_count() or 1
PORT = 7860  # of `make app`, whose visitors must not meet a test's model

# The same examples everywhere, however long a machine takes for them.
properties.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
properties.load_profile("suite")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """So many processes for the whole suite; none beside the first for a part of it."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.keyword:
        return 0
    workers = min(4, max(2, CORES))
    os.environ["OMP_NUM_THREADS"] = str(max(1, CORES // workers))  # each gets its share, and what it starts
    return workers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "figure" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("measurements"))
        elif "browser" not in item.path.parts:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.flaky(reruns=1))  # the summary counts them: each is a defect to look at


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Takes what was measured, to be read at the end of the run: machines are noisy, so most of it is not asserted."""
    return lambda text: request.node.user_properties.append(("figure", text))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, ())]
    if told := [text for each in reports for name, text in each.user_properties if name == "figure"]:
        terminalreporter.section("figures")
        for text in told:
            terminalreporter.line(text)


@pytest.fixture(autouse=True, scope="session")
def nobody_takes_the_port_of_the_app() -> Iterator[None]:
    """Neither a server of this process nor a page that is started in another one."""
    bind, popen = socket.socket.bind, subprocess.Popen.__init__

    def bind_elsewhere(self: socket.socket, address: Any) -> None:
        assert address[1:2] != (PORT,), f"a test would serve on port {PORT}; give it a free one (tests/helpers.py)"
        bind(self, address)

    def start_elsewhere(self: Any, args: Any, *more: Any, **options: Any) -> None:
        words = [str(word) for word in ([args] if isinstance(args, str | os.PathLike) else args)]
        serves = "app" in words or any(Path(word).name == "app.py" for word in words)
        environment = options.get("env") or os.environ
        named = "--port" in words or environment.get("GRADIO_SERVER_PORT", str(PORT)) != str(PORT)
        assert named or not serves, f"a test would start the page on port {PORT}; give it a free one"
        popen(self, args, *more, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "bind", bind_elsewhere)
        patch.setattr(subprocess.Popen, "__init__", start_elsewhere)
        yield


@pytest.fixture(autouse=True, scope="module")
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """One thread where networks are tiny: more threads would only wait for each other."""
    before = torch.get_num_threads()
    if not MANY_THREADS & set(request.path.parts):
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
