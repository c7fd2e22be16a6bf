"""The experiment `causes`: what is told of a revocation is what its passes say."""

from __future__ import annotations

import pytest

import dard
from dard.analysis.ranks import rank_correlation
from dard.analysis.swaps import authors
from dard.experiments.catalogue import get_experiment

CITY = "The city of [MASK] [MASK] is on the Southern California coast ."


def test_los_is_the_author_of_the_first_case() -> None:
    session = dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5)
    session.run()
    (found,) = get_experiment("causes").also(session)["revoked"]
    assert (found["step"], found["position"], found["main"], found["kind"]) == (2, 4, 3, "unmasked")
    assert found["effect"] == pytest.approx(0.477, abs=1e-3)
    assert (found["alone"], found["hidden"], found["kept_out"], found["in_vain"]) == (True, False, False, False)
    assert found["rho"]["confidence"] is not None and -1 <= found["rho"]["attention"] <= 1
    shown = authors(session, session.steps[1], 3)  # it stayed; the candidate it did not see would have revoked it
    assert (shown["main"], shown["kind"], shown["hidden"], shown["kept_out"]) == (4, "candidate", True, True)


def test_a_model_without_attention_has_no_rank_of_it() -> None:
    from dard.models.scripted import LOS_DIEGO, los_diego

    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    session.run()
    (first, *_) = get_experiment("causes").also(session)["revoked"]
    assert (first["main"], first["kind"], first["rho"]["attention"]) == (4, "candidate", None)


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == 1
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == -1
    assert rank_correlation([1, 1, 1], [3, 2, 1]) is None
    assert rank_correlation([1, 2], [1, 2]) is None
