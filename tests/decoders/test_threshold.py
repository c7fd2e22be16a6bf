"""Fast-dLLM's threshold and factor rules against the literal reference."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.decoders.follow import follow, template, words


def test_thresholds_over_seeds_and_blocks() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        for threshold, block_length in ((0.0, None), (0.4, None), (0.5, 5), (0.9, 4), (1.0, 9)):
            seen += follow(
                "threshold", words(seed, 4), gen_length=11, block_length=block_length, seed=seed, threshold=threshold
            )
    assert 0 < seen["forced"] < seen["MU"] and seen["too close"] < 0.05 * seen["steps"], seen


@pytest.mark.parametrize("factor", [0.01, 0.8, 1.0, 1.7, 100])
def test_factor_rule(factor: float) -> None:
    for seed in range(3):
        follow("threshold", words(seed, 4), gen_length=11, block_length=6, seed=seed, factor=factor, sharpness=1.3)


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww"])
def test_templates_with_given_tokens(shape: str) -> None:
    follow("threshold", template(1, shape), block_length=5, seed=1, threshold=0.4)
