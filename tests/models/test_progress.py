"""Fetching and loading are told of in bytes; weights go straight where they belong; fetching can be ended."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import _snapshot_download as hub_code
from huggingface_hub.utils.tqdm import _create_progress_bar

import dard
from dard.models import checkpoint, placement
from dard.models.memory import NotEnoughMemory
from dard.models.placement import Placement
from dard.models.progress import fetching
from tests.models.families import SAID, WRITERS

Told = list[tuple[str, int, int]]


@pytest.mark.parametrize("family", list(WRITERS))
def test_loading_tells_of_every_weight(family: str, tmp_path: Path) -> None:
    folder, _ = WRITERS[family](tmp_path / family)
    told: Told = []
    model: Any = dard.load_model(folder, progress=lambda *news: told.append(news), **SAID.get(family, {}))
    assert {doing for doing, _, _ in told} == {"loading"}
    done = [count for _, count, _ in told]
    assert done == sorted(done) and len({total for _, _, total in told}) == 1
    assert done[-1] == told[-1][2] >= 0.9 * sum(4 * w.numel() for w in model.network.parameters())


def test_only_what_is_loaded_is_counted(tmp_path: Path) -> None:
    """Not what is made afterwards, nor what another thread makes meanwhile."""
    told: Told = []
    folder, _ = WRITERS["a2d"](tmp_path / "m")

    def hear(*news: Any) -> None:
        told.append(news)
        if len(told) == 1:
            other = threading.Thread(target=torch.nn.Linear, args=(200, 200))
            other.start()
            other.join()

    dard.load_model(folder, progress=hear)
    count = len(told)
    torch.nn.Linear(2, 2)
    assert len(told) == count and [total for _, _, total in told][-1] == told[-1][1] < 4 * 40_000


def bars_as_the_hub_makes_them(kind: Any) -> list[Any]:
    """One for what came over the network, one for what was written; and the bar over its threads' files."""
    common = {"cls": kind, "log_level": logging.INFO, "total": 0, "initial": 0, "unit": "B", "unit_scale": True}
    names = ("huggingface_hub.snapshot_download.transfer", "huggingface_hub.snapshot_download")
    bars = [_create_progress_bar(name=name, desc="bytes", **common) for name in names]
    hub_code.hf_thread_map(lambda file: bars[1].update(0), ["a", "b"], desc="files", max_workers=2, tqdm_class=kind)
    return bars


def test_fetching_tells_of_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    told: Told = []
    _, written = bars_as_the_hub_makes_them(fetching(lambda *news: told.append(news)))
    written.total = (written.total or 0) + 5000
    written.refresh()
    for size in (1000, 3000, 1000):
        written.update(size)
    written.set_description("done")
    written.close()
    assert told[-3:] == [("fetching", 1000, 5000), ("fetching", 4000, 5000), ("fetching", 5000, 5000)]
    assert capfd.readouterr() == ("", "")


def test_whoever_is_told_can_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(hub: str, allow_patterns: list[str], tqdm_class: Any) -> str:
        _, written = bars_as_the_hub_makes_them(tqdm_class)
        written.total = 10
        for _ in range(10):
            written.update(1)
        raise AssertionError("it went on")

    def enough(doing: str, done: int, total: int) -> None:
        if done >= 3:
            raise dard.InputError(f"enough after {done} of {total}")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(dard.InputError, match="enough after 3 of 10"):
        dard.load_model("owner/name", progress=enough)


def test_weights_go_straight_to_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With accelerate; without it they pass through the main memory, which must have room for them, too."""
    there = {"accelerate"}
    monkeypatch.setattr(placement, "has", lambda package: package in there)
    gpu, cpu = torch.device("cuda:0"), torch.device("cpu")
    asked: list[torch.device] = []

    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    straight = Placement(gpu, torch.bfloat16)
    assert straight.arguments() == {"dtype": torch.bfloat16, "device_map": {"": "cuda:0"}} and not straight.moves
    there.clear()
    assert Placement(gpu, torch.bfloat16).moves and "device_map" not in Placement(gpu, torch.bfloat16).arguments()
    assert not Placement(cpu, torch.float32).straight
    folder, network = WRITERS["a2d"](tmp_path / "m")
    monkeypatch.setattr(checkpoint, "check_room", lambda name, weights, device: asked.append(device))
    monkeypatch.setattr(type(network), "from_pretrained", full)
    for packages, devices in ((set(), {gpu, cpu}), ({"accelerate"}, {gpu})):
        there.clear()
        there.update(packages)
        asked.clear()
        with pytest.raises(NotEnoughMemory):
            checkpoint.load_network(folder, type(network), network.config, Placement(gpu, torch.bfloat16))
        assert set(asked) == devices
