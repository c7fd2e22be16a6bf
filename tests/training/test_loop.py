"""Schedule, budget, resuming, and a whole run in small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dard.core.errors import InputError
from dard.tasks import TASKS
from dard.training.evaluation import DIVISORS, Figures
from dard.training.export import MODEL_FILES, export
from dard.training.loop import SMOKE, Budget, factor, run
from dard.training.model_card import BEGIN, replace_figures
from dard.training.pipeline import train


def silent(line: str) -> None:
    pass


def test_the_schedule_rises_and_then_falls_to_zero() -> None:
    values = [factor(used / 100, 0.1) for used in range(101)]
    assert values[0] == 0 and values[10] == 1 and values[-1] == 0
    assert values[:11] == sorted(values[:11]) and values[10:] == sorted(values[10:], reverse=True)
    assert factor(1.3, 0.1) == 0


def test_a_budget_is_minutes_or_steps() -> None:
    assert Budget(minutes=2).used(60, 999) == 0.5
    assert Budget(steps=10).used(999, 5) == 0.5
    for wrong in ({}, {"minutes": 1, "steps": 1}, {"minutes": 0}, {"steps": -1}):
        with pytest.raises(ValueError, match="budget"):
            Budget(**wrong)  # type: ignore[arg-type]


def test_an_interrupted_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    budget = Budget(steps=6)
    whole = run(SMOKE, budget, tmp_path / "whole", silent)
    part = run(SMOKE, budget, tmp_path / "parts", silent, stop_after=2)
    assert part.steps == 2
    rest = run(SMOKE, budget, tmp_path / "parts", silent)
    assert rest.steps == whole.steps == 6 and rest.tokens == whole.tokens
    for (name, one), other in zip(whole.network.state_dict().items(), rest.network.state_dict().values(), strict=True):
        assert torch.equal(one, other), name


def test_another_recipe_does_not_continue_a_checkpoint(tmp_path: Path) -> None:
    run(SMOKE, Budget(steps=1), tmp_path, silent)
    with pytest.raises(ValueError, match="another recipe"):
        run(replace(SMOKE, seed=1), Budget(steps=1), tmp_path, silent)


def test_a_run_can_begin_with_the_weights_of_a_model(tmp_path: Path) -> None:
    first = run(SMOKE, Budget(steps=2), tmp_path / "first", silent)
    folder = tmp_path / "model"
    export(first.network, folder)
    second = run(SMOKE, Budget(steps=3), tmp_path / "second", silent, stop_after=0, start=folder)
    assert second.started and not first.started
    for (name, one), other in zip(
        first.network.state_dict().items(), second.network.state_dict().values(), strict=True
    ):
        assert torch.equal(one.half().float(), other), name
    # A checkpoint goes before the model, and remembers what the run began with.
    third = run(SMOKE, Budget(steps=3), tmp_path / "second", silent)
    assert third.started and third.steps == 3


def test_a_model_of_another_shape_or_other_words_is_refused_as_a_start(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    export(run(SMOKE, Budget(steps=1), tmp_path / "first", silent).network, folder)
    with pytest.raises(ValueError, match="another shape"):
        run(replace(SMOKE, layers=1), Budget(steps=1), tmp_path / "second", silent, start=folder)
    words = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(words.replace("Angeles", "Angels"), encoding="utf-8")
    with pytest.raises(ValueError, match="other words"):
        run(SMOKE, Budget(steps=1), tmp_path / "second", silent, start=folder)
    for name in MODEL_FILES:
        (folder / name).unlink()
        with pytest.raises(InputError, match=f"no model to start from: there is no {name}"):
            run(SMOKE, Budget(steps=1), tmp_path / "second", silent, start=folder)
        (folder / name).touch()


def test_a_run_in_small_writes_a_model_that_decodes_and_a_card(tmp_path: Path) -> None:
    out = tmp_path / "model"
    figures = train(out, tmp_path / "work", minutes=1, smoke=True, report=silent)
    assert {found.task for found in figures} == set(TASKS)
    assert all(set(found.shares) == set(DIVISORS) for found in figures)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "frequencies were chosen" in card and BEGIN in card
    assert all(found.task in card for found in figures)
    assert sum(path.stat().st_size for path in out.iterdir()) < 10_000_000

    replace_figures(out, [Figures("places", "right", 1, dict.fromkeys(DIVISORS, 0.123))])
    changed = (out / "README.md").read_text(encoding="utf-8")
    assert "12.3 %" in changed and changed.split(BEGIN)[0] == card.split(BEGIN)[0]
