"""A Space's self-test: what it finds is told, in either place, and stops nothing."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import dard
from visual.server import selftest
from visual.server.passes import borrowed
from visual.server.programs import Programs
from visual.server.studio import Studio


def test_what_works_and_what_does_not_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    studio = Studio(("embedded", "bert-base-uncased"))
    assert Programs(studio).health()["self_test"] == {}
    selftest.check(studio.models)
    told = Programs(studio).health()["self_test"]
    assert list(told) == ["embedded"] and told["embedded"]["ok"] and not told["embedded"]["wrong"]
    model: Any = dard.load_model("embedded")
    model.mask_id = 2
    monkeypatch.setitem(studio.models.loaded, "embedded", model)
    monkeypatch.setitem(selftest.LOADED, "embedded", model)
    selftest.check(studio.models)
    told = Programs(studio).health()["self_test"]["embedded"]
    assert not told["ok"] and "tokens, mask: The mask is token 2" in told["wrong"][0]
    assert "dard: embedded: tokens, mask" in capsys.readouterr().err


def test_a_model_that_cannot_be_had_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    studio = Studio(("nobody/nothing",))
    monkeypatch.setattr(
        "visual.server.models.load_model", lambda *_, **__: (_ for _ in ()).throw(dard.InputError("it is gone"))
    )
    selftest.check(studio.models)
    assert studio.models.checked["nobody/nothing"]["wrong"] == ["it is gone"]


def test_where_a_gpu_is_borrowed_it_runs_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what the borrowing raises is told."""
    asked: list[int] = []

    def gpu(duration: Any) -> Any:
        def mark(function: Any) -> Any:
            def beside(name: str, sessions: list[Any], most: int) -> Any:
                asked.append(duration(name, sessions, most))
                raise RuntimeError("no GPU was free")

            return beside

        return mark

    spaces = ModuleType("spaces")
    spaces.GPU = gpu  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    borrowed.cache_clear()
    studio = Studio(("embedded",))
    studio.models.loaded["embedded"] = SimpleNamespace(device=SimpleNamespace(type="cuda"))  # type: ignore[assignment]
    selftest.check(studio.models)
    borrowed.cache_clear()
    assert asked == [60] and studio.models.checked["embedded"]["wrong"] == ["no GPU was free"]
