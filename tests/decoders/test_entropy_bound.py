"""EB-Sampler against the literal reference."""

from __future__ import annotations

import pytest

from tests.decoders.follow import follow, template, words


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.5, 4.0, 1000.0])
def test_gamma_over_seeds_and_blocks(gamma: float) -> None:
    passes = []
    for seed, block_length in ((0, None), (1, 5), (2, 4)):
        seen = follow("entropy_bound", words(seed, 4), gen_length=11, block_length=block_length, seed=seed, gamma=gamma)
        passes.append(seen["steps"])
    if gamma == 0.0:
        assert passes == [11, 11, 11]
    if gamma == 1000.0:
        assert passes == [1, 3, 3]


def test_a_bound_in_between_takes_several_at_a_time() -> None:
    seen = follow("entropy_bound", words(0, 4), gen_length=12, seed=3, gamma=1.0, sharpness=1.5)
    assert 1 < seen["steps"] < 12, seen


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww"])
def test_templates_with_given_tokens(shape: str) -> None:
    follow("entropy_bound", template(1, shape), block_length=5, seed=1, gamma=1.0)


def test_many_bounds_on_sharp_models() -> None:
    """Close bounds, so that one token more or less is noticed."""
    passes = [
        follow("entropy_bound", words(seed, 3), gen_length=12, seed=seed, gamma=gamma, sharpness=2.0)["steps"]
        for seed in range(5)
        for gamma in (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2)
    ]
    assert len(set(passes)) > 4, passes


@pytest.mark.parametrize("order", ["confidence", "entropy", "margin"])
def test_orders(order: str) -> None:
    """With another order than entropy's the largest entropy need not be the last: the running one is left out."""
    passes = {
        follow("entropy_bound", words(seed, 3), gen_length=12, block_length=7, seed=seed, gamma=0.9, order=order)[
            "steps"
        ]
        for seed in range(5)
    }
    assert len(passes) > 1
