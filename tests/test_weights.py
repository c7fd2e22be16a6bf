"""The guidance weight w = (P + p0) / (P + D + p0) with K(i, j) = λ^|i − j| (paper, Eqs. 5 and 6)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dard
from dard.decoders.dard import LAMBDA
from dard.decoders.mixing import mixing_weights
from tests.tiny import scripted

POSITIONS = st.lists(st.integers(0, 30), max_size=6, unique=True)
DECAY = st.floats(0.01, 0.99)
PRIOR = st.floats(0.001, 10)


def test_the_default_decay_halves_every_eight_positions() -> None:
    assert abs(LAMBDA - 0.917) < 5e-4
    assert abs(LAMBDA**8 - 0.5) < 1e-12


def test_one_demoted_neighbour_gives_about_a_tenth() -> None:
    P, D, w = mixing_weights([3], [], [4], 0.917, 0.1)
    assert P == [0] and D[0] == pytest.approx(0.917)
    assert w[0] == pytest.approx(0.1 / 1.017)
    assert round(w[0], 2) == 0.10


def test_one_promoted_neighbour_or_no_change_gives_one() -> None:
    assert mixing_weights([3], [4], [], 0.917, 0.1)[2] == [1.0]
    assert mixing_weights([0, 7], [], [], 0.917, 0.1)[2] == [1.0, 1.0]


@given(st.lists(st.integers(0, 30), max_size=5, unique=True), POSITIONS, POSITIONS, DECAY, PRIOR)
def test_the_formula(masked: list[int], up: list[int], down: list[int], decay: float, p0: float) -> None:
    P, D, w = mixing_weights(masked, up, down, decay, p0)
    for n, i in enumerate(masked):
        big_p = math.fsum(decay ** abs(i - j) for j in up)
        big_d = math.fsum(decay ** abs(i - j) for j in down)
        assert P[n] == pytest.approx(big_p)
        assert D[n] == pytest.approx(big_d)
        assert w[n] == pytest.approx((big_p + p0) / (big_p + big_d + p0))
        assert 0 < w[n] <= 1


@given(POSITIONS, POSITIONS, st.integers(0, 30), DECAY, PRIOR)
def test_more_promotions_raise_it_and_more_demotions_lower_it(
    up: list[int], down: list[int], one_more: int, decay: float, p0: float
) -> None:
    w = mixing_weights([12], up, down, decay, p0)[2][0]
    assert mixing_weights([12], [*up, one_more], down, decay, p0)[2][0] >= w - 1e-12
    assert mixing_weights([12], up, [*down, one_more], decay, p0)[2][0] <= w + 1e-12


@given(st.integers(1, 20), DECAY)
def test_a_nearer_demotion_weighs_more(distance: int, decay: float) -> None:
    near = mixing_weights([0], [], [distance], decay, 0.1)[2][0]
    far = mixing_weights([0], [], [distance + 1], decay, 0.1)[2][0]
    assert near <= far


def test_a_decode_shows_w_about_a_tenth_beside_one_demoted_candidate() -> None:
    """Positions 0 and 1 become candidates, 2 stays masked; then 1 is demoted, right beside position 2."""

    def rule(position: int, visible: object) -> dict[str, float]:
        seen = dict(visible)  # type: ignore[call-overload]
        if position == 0:
            return {"a": 0.7}
        if position == 1:
            return {"c": 0.3} if seen.get(0) == "a" else {"b": 0.6}
        return {"d": 0.2}

    session = dard.Session(scripted(["a", "b", "c", "d"], rule), "[MASK] [MASK] [MASK]", tau_c=0.5, tau_u=0.8)
    first, second = session.step(), session.step()
    assert first.states == "CCM" and first.weights == [1.0, 1.0, 1.0]
    assert second.demoted == [1]
    assert second.weights[:2] == [None, None]
    assert second.weights[2] == pytest.approx(0.1 / (0.1 + LAMBDA), abs=1e-6)
    assert (second.score_p[2], second.score_d[2]) == (0.0, pytest.approx(LAMBDA, abs=1e-6))


@pytest.mark.parametrize("w", [0, 0.5, 1])
def test_a_constant_weight_replaces_the_adaptive_one(w: float) -> None:
    model = scripted(["a"], lambda position, visible: {"a": 0.6})
    trace = dard.decode(model, "[MASK] [MASK]", tau_c=0.5, tau_u=0.8, mixing=w)
    assert trace.steps[0].weights == [w, w]
