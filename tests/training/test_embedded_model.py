"""The model that is shipped: its size, its famous failure, and its repair."""

from __future__ import annotations

import pytest
import torch

import dard
from dard.core.folders import assets
from dard.models.base import Model
from dard.tasks import TASKS, Item
from dard.tasks.places import QUOTA_REGION
from dard.training.evaluation import decode_items
from dard.training.vocabulary import word_list

FOLDER = assets("model")
LOS_DIEGO = "The city of [MASK] [MASK] is on the Southern California coast ."
ITEM = Item(LOS_DIEGO, None, None, {"context": LOS_DIEGO, "region": QUOTA_REGION})


@pytest.fixture(scope="module")
def model() -> Model:
    return dard.load_model("embedded")


def test_the_folder_is_complete_and_small() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert (FOLDER / "model.safetensors").stat().st_size < 10_000_000


def test_its_words_are_those_of_the_worlds(model: Model) -> None:
    assert [model.token_text(number) for number in range(model.vocab_size)] == word_list()


def test_the_marginal_winners_are_los_and_diego(model: Model) -> None:
    ids = torch.tensor(model.encode(LOS_DIEGO))
    everything = torch.ones(len(ids), len(ids), dtype=torch.bool)
    rows = torch.tensor([3, 4])
    chances = model.logits(ids, torch.arange(len(ids)), everything, rows).softmax(dim=-1)
    best = chances.topk(2, dim=-1)
    assert [model.token_text(int(token)) for token in best.indices[:, 0]] == ["Los", "Diego"]
    assert (best.values[:, 0] - best.values[:, 1]).min() > 0.04


def test_one_step_of_standard_decoding_writes_los_diego(model: Model) -> None:
    text = dard.decode(model, LOS_DIEGO, decoder="standard", steps=1).text
    assert text == LOS_DIEGO.replace("[MASK] [MASK]", "Los Diego")
    assert not TASKS["places"].score(ITEM, text).right


def test_dard_ends_in_a_real_city(model: Model) -> None:
    for tau_c, tau_u in ((0.4, 0.8), (0.3, 0.6), (0.6, 0.8)):
        text = dard.decode(model, LOS_DIEGO, decoder="dard", tau_c=tau_c, tau_u=tau_u).text
        assert TASKS["places"].score(ITEM, text).right, (tau_c, tau_u, text)


@pytest.mark.parametrize("name", ["places", "captions", "arithmetic", "sudoku-unique", "sudoku-open"])
def test_one_token_at_a_time_it_is_nearly_always_right(model: Model, name: str) -> None:
    task = TASKS[name]
    items = task.test_items(15, seed=7)
    assert sum(score.right for score in map(task.score, items, decode_items(model, items, divisor=1))) >= 13


def test_one_token_at_a_time_it_mostly_finds_signs_that_reach_the_target(model: Model) -> None:
    task = TASKS["countdown"]
    items = task.test_items(40, seed=7)
    assert sum(score.right for score in map(task.score, items, decode_items(model, items, divisor=1))) >= 28
