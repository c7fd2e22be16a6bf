"""Shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

MANY_THREADS = {"training", "tasks", "visual", "browser"}


@pytest.fixture(autouse=True, scope="module")
def one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """One thread where networks are tiny: more threads would only wait for each other."""
    before = torch.get_num_threads()
    if not MANY_THREADS & set(request.path.parts):
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
