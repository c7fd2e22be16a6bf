"""`dard doctor`: every check in its order, and an early end where nothing further makes sense.

Promises: a report comes back whatever is wrong; nothing is fetched before it is known to fit.
Does not know: what the checks look at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from dard.checkup import machine
from dard.checkup.answers import answers
from dard.checkup.decoders import POSITIONS, decoders
from dard.checkup.files import files, sentence
from dard.checkup.network import under_masks
from dard.checkup.numbers import activations, against_float32, weights
from dard.checkup.report import Check, Notes, Report, Stop
from dard.checkup.speed import speed
from dard.checkup.verdict import language
from dard.checkup.vocabulary import vocabulary
from dard.core.errors import InputError
from dard.models import find_card, load_model
from dard.models.base import Model
from dard.models.checkpoint import count_weights
from dard.models.hub import sizes
from dard.models.placement import read_placement

SMALL = 20_000_000  # weights, below which more threads only wait for each other


def doctor(
    model: str | Path | Model = "embedded",
    *,
    brief: bool = False,
    tell: Callable[[Check], None] | None = None,
    positions: int = POSITIONS,
    **loading: Any,
) -> Report:
    """Look at a model and the machine it is to run on: a name, a folder, a hub id, or a model that is loaded.

    `loading` is what `load_model` takes; `tell` hears of every check at once; `brief` leaves out the comparison of all
    decoders, over so many `positions`, and what is timed.

    >>> report = doctor("embedded", brief=True)
    >>> report.ok, report["mask"].mark
    (True, 'ok')
    """
    began, notes, stopped = time.perf_counter(), Notes(tell), None
    name = model if isinstance(model, str) else str(model) if isinstance(model, Path) else model.name
    try:
        with notes.about("machine"):
            machine.versions(notes)
        loaded = opened(notes, model, loading) if isinstance(model, str | Path) else model
        with few_threads(loaded):
            examined(notes, loaded, brief, positions)
    except Stop as reason:
        stopped = str(reason)
    return Report(name, notes.checks, stopped, time.perf_counter() - began)


def opened(notes: Notes, name: str | Path, loading: dict[str, Any]) -> Model:
    """The model of a name, after all that can be told before it is loaded, or fetched."""
    keys = ("device", "dtype", "device_map", "quantise")
    placement = read_placement(**{key: loading.get(key) for key in keys})
    card = find_card(str(name))
    folder = Path(name) if os.path.isdir(name) else card.folder if card else None
    hub = None if folder else (card.hub if card else str(name))
    known = 0 if folder is None else count_weights(folder)
    with notes.about("machine"):
        machine.device(notes, placement)
        if hub is not None and "/" in hub:
            known = before_fetching(notes, hub)
        machine.room(notes, str(name), known, placement)
        if notes.failed("memory") or notes.failed("disk"):
            raise Stop("there is no room for it here, so nothing was fetched or loaded")
    if folder is not None:
        with notes.about("files"):
            files(notes, folder)
            if notes.failed("config") or notes.failed("tensors"):
                raise Stop("its files cannot be loaded")
    with notes.about("files"):
        try:
            model = load_model(name, **loading)
        except InputError as error:
            notes.add("fail", "loading", sentence(error))
            raise Stop("it cannot be loaded") from None
        notes.add("ok", "loading", f"It was loaded as {type(model).__name__}, from {str(name)!r}.")
        return model


def before_fetching(notes: Notes, hub: str) -> int:
    """Room for a download of the hub that is not here yet; how many weights it holds, if the hub says so."""
    from huggingface_hub.constants import HF_HUB_CACHE

    try:
        needed, known = sizes(hub)
    except InputError as error:
        notes.add("note", "hub", sentence(error))
        return 0
    machine.disk(notes, Path(HF_HUB_CACHE), needed)
    return known


def examined(notes: Notes, model: Model, brief: bool, positions: int) -> None:
    """All that can be asked of a loaded model, the cheap checks first."""
    with notes.about("files"):
        weights(notes, model)
        if notes.failed("weights"):
            raise Stop("its weights are no numbers to compute with")
    with notes.about("tokens"):
        vocabulary(notes, model)
        if any(notes.failed(name) for name in ("size", "mask")):
            raise Stop("the network would be asked about tokens it does not have")
    with notes.about("network"):
        activations(notes, model)
        if notes.failed("finite"):
            against_float32(notes, model)
            raise Stop("what is not a number decides nothing")
        under_masks(notes, model)
        against_float32(notes, model)
    with notes.about("language"):
        language(notes, model)
    if brief:
        return
    with notes.about("decoders"):
        decoders(notes, model, positions)
    with notes.about("speed"):
        speed(notes, model)
    with notes.about("answers"):
        answers(notes, model)


@contextmanager
def few_threads(model: Model) -> Iterator[None]:
    """One thread for a small network on a CPU."""
    network: Any = getattr(model, "network", None)
    count = 0 if network is None else sum(weight.numel() for weight in network.parameters())
    before = torch.get_num_threads()
    if model.device.type == "cpu" and count < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
