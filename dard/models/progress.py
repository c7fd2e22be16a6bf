"""How far a model is on its way: fetching and loading, in bytes. Knows nothing of who is told.

Whoever is told may raise an exception while a model is fetched, which ends the fetching; what has arrived is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from tqdm.auto import tqdm

Tell = Callable[[str, int, int], None]  # "fetching" or "loading", bytes done, bytes in all as far as known


def fetching(tell: Tell) -> type[tqdm]:
    """A progress bar for `huggingface_hub` that draws nothing and tells of bytes instead."""

    class Told(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.counts_bytes = options.get("unit") == "B"
            options.pop("name", None)
            super().__init__(*arguments, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.counts_bytes:
                tell("fetching", int(self.n), int(self.total or 0))

    return Told


@contextmanager
def loading(tell: Tell | None, total: int) -> Iterator[None]:
    """Tell of every weight that this thread puts in its place."""
    done, me = 0, threading.get_ident()

    def note(module: nn.Module, name: str, weight: nn.Parameter | None) -> None:
        nonlocal done
        if weight is not None and weight.device.type != "meta" and threading.get_ident() == me:
            done += weight.numel() * weight.element_size()
            if tell is not None:
                tell("loading", min(done, total), total)

    hook = register_module_parameter_registration_hook(note)
    try:
        yield
        if tell is not None:
            tell("loading", total, total)  # a file may hold more than the network needs
    finally:
        hook.remove()
