"""The fast path from logits to predictions against the plain one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.decoders.predict import mix_, predict, probability_of, top_values


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(0, 5), width=st.integers(2, 6000), k=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_top_values_are_those_of_a_full_sort(rows: int, width: int, k: int, seed: int) -> None:
    values = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))
    top, index = top_values(values, k)
    expected = values.sort(dim=-1, descending=True).values[:, :k]
    assert torch.equal(top, expected)
    assert torch.equal(values.gather(1, index), expected)


@pytest.mark.parametrize("vocabulary", [7, 600, 12_345])
@pytest.mark.parametrize("mask_counts", [False, True])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_predictions_equal_a_plain_softmax(vocabulary: int, mask_counts: bool, precision: torch.dtype) -> None:
    logits = torch.randn(300, vocabulary, generator=torch.Generator().manual_seed(1)) * 3
    logits[::3, 4] = 30.0  # the mask token is the favourite here
    plain = logits.clone()
    if not mask_counts:
        plain[:, 4] = -torch.inf
    p = plain.double().softmax(dim=-1)
    log_p = plain.double().log_softmax(dim=-1)
    entropy = -(p * log_p.nan_to_num(neginf=0.0)).sum(dim=-1)
    tokens = torch.randint(5, vocabulary, (300,), generator=torch.Generator().manual_seed(2))
    held = p.gather(1, tokens[:, None])[:, 0]
    p[:, 4] = 0.0
    work = logits.clone()
    found = predict(work, mask_id=4, mask_counts=mask_counts, precision=precision, top=5, entropy=True)
    assert torch.equal(found.token, p.argmax(dim=-1))
    assert not (found.token == 4).any()
    torch.testing.assert_close(found.probability.double(), p.amax(dim=-1), atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(found.top_probability.double(), p.topk(5).values, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(found.entropy.double(), entropy, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(probability_of(work, tokens, found).double(), held, atol=1e-6, rtol=1e-4)


def test_no_rows_make_an_empty_prediction() -> None:
    found = predict(torch.empty(0, 50), mask_id=0, top=5, entropy=True)
    assert found.token.shape == (0,) and found.top_token.shape[0] == 0


def test_mixing_is_the_weighted_sum_in_float32() -> None:
    x, s = torch.randn(7, 500), torch.randn(7, 500)
    w = torch.linspace(0, 1, 7)
    expected = w[:, None] * x + (1 - w)[:, None] * s
    torch.testing.assert_close(mix_(x.clone(), s, w), expected)


def test_a_temperature_draws_from_the_softmax_and_reports_its_plain_probability() -> None:
    """arg max of logits − T · log(−log u) with T = 1 is a draw from the softmax itself."""
    logits = torch.tensor([[0.0, 1.0, 2.0, 0.5]]).repeat(20_000, 1)
    p = torch.tensor([[1.0, 2.0, 0.5]]).softmax(dim=-1)[0]
    found = predict(logits, mask_id=0, temperature=1.0, generator=torch.Generator().manual_seed(3))
    share = torch.bincount(found.token, minlength=4)[1:] / 20_000
    torch.testing.assert_close(share, p, atol=0.015, rtol=0)
    torch.testing.assert_close(found.probability, p[found.token - 1])


def test_a_prediction_can_be_asked_for_some_of_its_positions() -> None:
    logits = torch.eye(4, 9)[:, :9] * 9
    known = predict(logits.clone(), mask_id=8, positions=[3, 5, 6, 9])
    assert known.tokens_at([9, 5]) == {9: 3, 5: 1} and list(known.confidence_at([6])) == [6]
    assert known.tokens_at([3, 5, 6, 9]) == predict(logits.clone(), mask_id=8).tokens_at([3, 5, 6, 9])
    with pytest.raises(
        dard.InputError, match=r"^a prediction of 4 rows at positions \[3, 5, 6, 9\] was asked for .*\[4\];"
    ):
        known.tokens_at([4])
    with pytest.raises(dard.InputError, match=r"^a prediction of 4 rows was asked for positions \[5\]; .* positions=…"):
        predict(logits.clone(), mask_id=8).tokens_at([5])
