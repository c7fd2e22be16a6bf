"""Passes in this process, and as a ZeroGPU Space would run them: with everything that goes in and out pickled."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from copy import copy
from types import ModuleType
from typing import Any

import pytest
import torch
from PIL import Image

import dard
from dard.analysis.causes import some_causes
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import ALL_DECODERS, without_times
from tests.tiny import random_model
from visual.server import passes as module
from visual.server.passes import (
    LEAST_SECONDS,
    LOADED,
    MOST_SECONDS,
    borrowed,
    call,
    diagnoses,
    passes,
    remote_passes,
    seconds,
    with_pictures,
)


class Elsewhere:
    """A model that says it lives on a GPU."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.device = torch.device("cuda")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __reduce__(self) -> Any:
        raise AssertionError("a model must not travel")


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A Space that borrows GPUs; collects for how many seconds."""
    asked: list[int] = []
    spaces = ModuleType("spaces")

    def gpu(duration: Callable[..., int]) -> Callable[..., Any]:
        def mark(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
            def run(*arguments: Any) -> Iterator[Any]:
                asked.append(duration(*arguments))
                for made in function(*pickle.loads(pickle.dumps(arguments))):
                    yield pickle.loads(pickle.dumps(made))

            return run

        return mark

    spaces.GPU = gpu  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    borrowed.cache_clear()
    yield asked
    borrowed.cache_clear()


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_borrowed_passes_make_the_same_trace(space: list[int], decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(1, layers=2)
    monkeypatch.setitem(LOADED, "tiny", model)
    here = dard.decode(model, "w5 w6", decoder, gen_length=12, block_length=6)
    session = dard.Session(model, "w5 w6", decoder, gen_length=12, block_length=6)
    session.model = Elsewhere(model)  # type: ignore[assignment]
    made = list(passes("tiny", [session]))
    assert len(made) == here.num_steps and session.finished
    session.model = model
    assert without_times(session.trace) == without_times(here)
    assert space == [seconds("tiny", [session], 2 * 12)]


class Sighted(Elsewhere):
    """Takes pictures, but only where a GPU is."""

    offers = frozenset({"images"})
    prefix: tuple[int, ...] = ()

    def __copy__(self) -> Sighted:
        return Sighted(self._model)

    def with_image(self, *images: Any, fit: str = "crop") -> Any:
        assert pickled, "pictures were read outside the borrowed process"
        shown = copy(self)
        shown.prefix = tuple(image.width for image in images) + ((1,) if fit == "squeeze" else ())
        return shown


pickled: list[bool] = []


def test_pictures_are_read_beside_the_borrowed_gpu(space: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model = Sighted(random_model(1))
    monkeypatch.setitem(LOADED, "sighted", model)  # type: ignore[misc]
    loads = pickle.loads
    monkeypatch.setattr(pickle, "loads", lambda data: (pickled.append(True), loads(data))[1])
    shown: Any = with_pictures("sighted", model, [Image.new("RGB", (7, 5)), Image.new("RGB", (9, 5))], "squeeze")
    assert shown.prefix == (7, 9, 1) and model.prefix == () and space == [LEAST_SECONDS]


def test_sessions_of_different_lengths_end_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [dard.Session(los_diego(), LOS_DIEGO, name) for name in ("dard", "standard")]
    took_part = [len(made) for made in passes("los-diego", sessions)]
    assert all(session.finished for session in sessions)
    assert sum(took_part) == sum(len(session.steps) for session in sessions)


def test_no_more_passes_than_asked_for() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4)
    assert len(list(passes("los-diego", [session], 2))) == 2 and len(session.steps) == 2
    assert not list(passes("los-diego", [session], 0))


def test_the_time_asked_for_follows_the_settings_and_is_bounded() -> None:
    assert seconds("m", [], 1) < seconds("m", [], 200) < seconds("m", [], 10_000) == MOST_SECONDS


def test_work_stops_when_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.LOADED, "los-diego", los_diego())
    session = dard.Session(los_diego(), LOS_DIEGO, "standard", steps=1)
    assert len(list(remote_passes("los-diego", [session], 50))) == 1


def test_what_a_model_is_asked_about_a_session_is_the_same_elsewhere(
    space: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(1, layers=2)
    monkeypatch.setitem(LOADED, "tiny", model)
    session = dard.Session(model, "w5 w6", gen_length=12, block_length=6)
    session.step()
    here = call("tiny", some_causes, session.at(0), 1, 60.0, None)
    session.model = Elsewhere(model)  # type: ignore[assignment]
    there = call("tiny", some_causes, session.at(0), 1, 60.0, None)
    assert space == [LEAST_SECONDS] and there == here and here.causes


def test_a_diagnosis_is_the_same_beside_a_borrowed_gpu(space: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model = los_diego()
    monkeypatch.setitem(LOADED, "los-diego", model)
    session = dard.Session(model, LOS_DIEGO, "standard", steps=1)
    session.run()
    *_, (here, words) = diagnoses("los-diego", session, "San Diego")
    session.model = Elsewhere(model)  # type: ignore[assignment]
    ((there, known),) = diagnoses("los-diego", session, "San Diego")
    here.seconds = there.seconds = 0
    assert space == [MOST_SECONDS] and there == here and known == words and here.kind == "commit"
