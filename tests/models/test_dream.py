"""Dream: the prediction for a position is read one position earlier, by a row that sees what was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dard
from dard.analysis.reach import reach
from dard.decoding.session import Session
from dard.models import Model, Question
from dard.models.mask_filling import KINDS
from dard.models.shifted import with_readers
from tests.models.families import write_dream


@pytest.fixture(scope="module")
def dream(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Any]:
    folder, network = write_dream(tmp_path_factory.mktemp("dream") / "dream", layers=3)
    return dard.load_model(folder), network


def plain(size: int, rows: list[int]) -> Question:
    everything = torch.ones(size, size, dtype=torch.bool)
    return Question(torch.arange(size) + 40, torch.arange(size), everything, torch.tensor(rows))


def test_with_everything_in_view_it_is_dream_s_own_shift(dream: tuple[Model, Any]) -> None:
    """Its sampler moves all logits one place to the right and keeps the first."""
    model, network = dream
    q = plain(8, list(range(8)))
    with torch.no_grad():
        own = network(input_ids=q.ids[None], attention_mask=q.mask[None, None], position_ids=q.positions[None]).logits
    shifted = torch.cat([own[:, :1], own[:, :-1]], dim=1)[0]
    torch.testing.assert_close(model.logits(q.ids, q.positions, q.mask, q.rows), shifted, atol=1e-4, rtol=1e-4)


def test_plain_decoding_needs_no_extra_rows() -> None:
    q = plain(6, [2, 3, 5])
    found = with_readers(q)
    assert len(found.ids) == 6 and found.rows.tolist() == [1, 2, 4]


def test_a_reader_holds_the_visible_token_and_stands_in_for_it() -> None:
    """x0 x1 s0 s1 at positions 4 5 4 5: the shadow of the second position sees the shadow of the first, not x0."""
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=torch.bool)
    q = Question(torch.tensor([7, 8, 9, 9]), torch.tensor([4, 5, 4, 5]), mask, torch.tensor([3, 1, 2]))
    found = with_readers(q)
    assert found.ids.tolist() == [7, 8, 9, 9, 9]  # one reader; x1 is read at x0, which has its mask
    assert found.positions.tolist() == [4, 5, 4, 5, 4]
    assert found.rows.tolist() == [4, 0, 2]  # nothing stands at position 3: s0 is read at itself
    assert found.mask[4].tolist() == [False, False, False, True, True]  # s0 is replaced by the reader itself
    assert torch.equal(found.mask[:4, :4], mask) and not found.mask[:4, 4:].any()


def test_readers_do_not_change_the_rest(dream: tuple[Model, Any]) -> None:
    """In several layers, too: what one row is told does not depend on which other rows are asked."""
    model, _ = dream
    session = Session(model, "the city [MASK][MASK][MASK] of [MASK][MASK]", tau_c=0.0, tau_u=1.0)
    session.step()
    q = session.decoder.ask(model, session.settings, session.state)
    assert len(with_readers(q).ids) > len(q.ids)
    together = model.logits(q.ids, q.positions, q.mask, q.rows)
    for number in range(len(q.rows)):
        alone = model.logits(q.ids, q.positions, q.mask, q.rows[number : number + 1])
        torch.testing.assert_close(together[number], alone[0], atol=1e-4, rtol=1e-4)


def test_what_cannot_reach_a_row_cannot_reach_its_prediction(dream: tuple[Model, Any]) -> None:
    """Through all layers, for any mask."""
    model, _ = dream
    generator = torch.Generator().manual_seed(0)
    mask = (torch.rand(12, 12, generator=generator) < 0.12) | torch.eye(12, dtype=torch.bool)
    ids = torch.randint(0, 200, (12,), generator=generator)
    positions = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7])
    hidden = ~reach(mask, model.num_layers)
    assert hidden.any(dim=1).all()
    for row in range(12):
        other = torch.where(hidden[row], (ids + 1) % 200, ids)
        wanted = torch.tensor([row])
        assert torch.equal(model.logits(ids, positions, mask, wanted), model.logits(other, positions, mask, wanted))


def test_what_its_files_say(dream: tuple[Model, Any]) -> None:
    model, _ = dream
    assert model.max_length == KINDS["Dream"].longest == 2048
    assert model.token_text(model.mask_id) == "<|mask|>"
    assert model.decode(model.encode_piece("the city, 5 of them!")) == "the city, 5 of them!"
    assert model.chat and "<|im_start|>user\nthe city<|im_end|>" in model.decode(model.encode("the city"))


def test_its_tokenizer_is_qwen2_s_without_its_code(tmp_path: Path) -> None:
    folder, _ = write_dream(tmp_path / "dream")
    (folder / "vocab.json").unlink()
    with pytest.raises(dard.InputError, match="tokenizer"):
        dard.load_model(folder)
