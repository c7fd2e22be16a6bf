"""Overlap@K and RankDiff@K against a literal computation of the paper's definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dard
from dard.analysis.ranks import CONFIDENCE, LARGEST_K, LEFT_TO_RIGHT, compare_orders, overlap, rank_difference
from dard.decoding.session import Session
from dard.experiments import make_plan, run
from dard.experiments.ordering import means
from dard.experiments.points import Point
from tests.experiments.tiny_task import TinyTask, model


@given(st.permutations(range(8)), st.permutations(range(8)), st.integers(1, 8))
def test_the_metrics_are_the_papers(ranking: list[int], reference: list[int], k: int) -> None:
    rank = {i: ranking.index(i) + 1 for i in ranking}
    reference_rank = {i: reference.index(i) + 1 for i in reference}
    top = {i for i in ranking if rank[i] <= k}
    reference_top = {i for i in reference if reference_rank[i] <= k}
    assert overlap(ranking, reference, k) == len(top & reference_top) / k
    assert rank_difference(ranking, reference, k) == pytest.approx(
        sum(abs(rank[i] - reference_rank[i]) for i in top) / k
    )


@given(st.permutations(range(8)), st.integers(1, 8))
def test_an_ordering_agrees_with_itself(ranking: list[int], k: int) -> None:
    assert overlap(ranking, ranking, k) == 1 and rank_difference(ranking, ranking, k) == 0


def literal(prompt: str, gen_length: int, block_length: int) -> dict:
    """From every step of the trajectory, decode the rest one token per step anew and compare the orders."""
    sums = {name: [0.0] * LARGEST_K for name in ("conf", "l2r", "conf rank", "l2r rank")}
    steps = [0] * LARGEST_K
    options = {"gen_length": gen_length, "block_length": block_length}
    session = Session(model(), prompt, "standard", record=False, **options)
    while not session.finished:
        state = session.state
        masked = [i for i in state.block_range if state.states[i] == "M"]
        rest = session.at(len(session.steps))
        order = []
        while len(order) < len(masked):
            order += rest.step().decided
        session.step()
        confidence = {i: session.state.confidence[i] for i in masked}
        by_confidence = sorted(masked, key=lambda i: -confidence[i])
        for k in range(1, len(masked) + 1):
            steps[k - 1] += 1
            for name, ranking in (("conf", by_confidence), ("l2r", masked)):
                top = ranking[:k]
                sums[name][k - 1] += len(set(top) & set(order[:k])) / k
                sums[f"{name} rank"][k - 1] += sum(abs(ranking.index(i) - order.index(i)) for i in top) / k
    return {"sums": sums, "steps": steps}


@pytest.mark.parametrize("block_length", [8, 4])
def test_a_trajectory_is_compared_as_a_literal_reading_does(block_length: int) -> None:
    prompt = "w4 w9 w17"
    options = {"gen_length": 8, "block_length": block_length}
    session = Session(model(), prompt, "standard", record=False, **options)
    session.run()
    row, expected = compare_orders(session), literal(prompt, 8, block_length)
    assert row["steps"] == expected["steps"]
    assert row["overlap"][CONFIDENCE] == pytest.approx(expected["sums"]["conf"])
    assert row["overlap"][LEFT_TO_RIGHT] == pytest.approx(expected["sums"]["l2r"])
    assert row["rank_difference"][CONFIDENCE] == pytest.approx(expected["sums"]["conf rank"])
    assert row["rank_difference"][LEFT_TO_RIGHT] == pytest.approx(expected["sums"]["l2r rank"])


def test_the_surest_position_is_always_the_next_and_few_masks_leave_large_k_open() -> None:
    plan = make_plan("ordering", model(), TinyTask(), 4)
    for _ in run(plan):
        pass
    [variant], rows = plan.results.variants, plan.results.rows
    overlaps, differences = (
        means(Point(variant, rows, label=f"{metric} {CONFIDENCE}")) for metric in ("overlap", "rank_difference")
    )
    assert overlaps[0] == 1.0 and differences[0] == 0.0
    assert overlaps[5] == 1.0  # all six positions are both top sixes
    assert overlaps[6:] == [None] * 10
    table = plan.experiment.tables(plan.results)[0]
    assert table.rows[0][-2:] == ["–", "–"]


def test_two_certain_words_are_read_in_their_order() -> None:
    from dard.models.scripted import ScriptedModel

    def rule(position: int, visible: dict) -> dict:
        return {"late": 0.6} if position == 1 else {"early": 0.9}

    scripted = ScriptedModel(["start", "late", "early"], rule)
    session = Session(scripted, "start", "standard", record=False, gen_length=2)
    assert [step.decided for step in session.run().steps] == [[1], [0]]
    row = compare_orders(session)
    assert row["overlap"][LEFT_TO_RIGHT][0] == 1.0  # of two steps the second has one position left, which is right
    assert row["rank_difference"][LEFT_TO_RIGHT][:2] == [1.0, 1.0]
    assert dard.decode(scripted, "start", "standard", gen_length=2).num_steps == 2
