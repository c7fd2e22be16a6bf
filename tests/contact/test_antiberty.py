"""A published masked model as its package brings it: AntiBERTy, 26 M weights, a vocab.txt of capitals and no more."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertForPreTraining

import dard

HEAVY = "E V Q L V E S G G G L V Q P G G S L R L S C A A S G F T F S S Y A M S W V R Q A P G K G L E W V"


def files() -> Path:
    spec = find_spec("antiberty")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "trained_models"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package keeps its vocabulary one folder above the weights."""
    folder = tmp_path_factory.mktemp("antiberty")
    for file in (files() / "vocab.txt", *(files() / "AntiBERTy_md_smooth").iterdir()):
        (folder / file.name).symlink_to(file)
    return dard.load_model(str(folder))


def masked(places: list[int]) -> str:
    return " ".join("[MASK]" if i in places else letter for i, letter in enumerate(HEAVY.split()))


def test_it_restores_what_every_antibody_has(model: Any) -> None:
    places = [7, 8, 21, 22, 35, 36]  # G G; C before the first loop and W behind it
    trace = dard.decode(model, masked(places))
    assert trace.finished and trace.text.split() == HEAVY.split()
    assert all(trace.steps[-1].confidence[i] > 0.5 for i in (21, 35))


def test_its_weights_are_recorded_in_the_class_it_was_trained_in(model: Any) -> None:
    """In transformers' class for pre-training, whose outputs call logits `prediction_logits`, as those of its own class
    do; its own, written for transformers 4, cannot be made with transformers 5."""
    network = BertForPreTraining(model.network.config).eval()
    network.bert.load_state_dict(model.network.bert.state_dict(), strict=False)
    network.cls.predictions.load_state_dict(model.network.cls.predictions.state_dict())
    x = torch.tensor([[*model.prefix, *model.encode(masked([20, 21])), *model.suffix]])
    with torch.no_grad(), dard.record(network, model.tokenizer) as recording:
        while left := (x == model.mask_id).nonzero()[:, 1].tolist():
            x[0, left[0]] = network(x).prediction_logits[0, left[0]].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1]]
    assert recording.trace.text.split()[:2] == HEAVY.split()[20:22]
    assert all(recording.trace.steps[-1].confidence[i] > 0.5 for i in (0, 1))


def test_what_it_cannot_spell_is_refused_without_proposing_it(model: Any) -> None:
    with pytest.raises(dard.InputError, match=r"'EVQL' \(write: E V Q L\)"):
        dard.decode(model, "EVQL [MASK]")
    with pytest.raises(dard.InputError, match=r"1 word outside the 25 words .*: 'e' \(close: E\)$"):
        dard.decode(model, "e [MASK]")
