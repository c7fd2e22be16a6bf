"""DAPD against the literal reference, and what its graph says."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.decoders.follow import follow, template, words
from tests.tiny import random_model


@pytest.mark.parametrize(("variant", "sharp"), [("staged", 3.0), ("direct", 40.0)])
def test_variants_over_thresholds_layers_and_blocks(variant: str, sharp: float) -> None:
    seen: Counter[str] = Counter()
    for number, (tau_min, tau_max) in enumerate([(0.01, 0.15), (0.2, 0.6), (0.3, 0.3), (0.0, 1.0)]):
        for seed, block_length in ((0, None), (1, 5), (2, 4)):
            seen += follow(
                "dapd", words(seed, 4), gen_length=11, block_length=block_length, seed=seed, layers=2 + number,
                sharpness=(2.0, sharp)[number % 2], variant=variant, tau_min=tau_min, tau_max=tau_max,
                layer_ratio=(0.3, 0.5, 0.01, 1.0)[number],
            )  # fmt: skip
    assert seen["waits"] > 30 and seen["through"] > 5 and seen["too close"] < 0.1 * seen["steps"], seen


@pytest.mark.parametrize("shape", ["ww__w_w____w", "w_w_w_w_w_ww", "______wwwwww"])
def test_templates_with_given_tokens(shape: str) -> None:
    """The share of the answer that is written counts its masks only."""
    for block_length in (None, 5):
        follow("dapd", template(1, shape), block_length=block_length, seed=1, tau_min=0.1, tau_max=0.9, sharpness=2.0)


def test_two_masks_never_go_together() -> None:
    for seed in range(5):
        trace = dard.decode(random_model(seed), template(seed, "w_w_w"), "dapd", tau_min=0.99, tau_max=0.99)
        assert [len(step.decided) for step in trace.steps] == [1, 1]
        assert trace.steps[0].graph is not None
        (blocked,) = trace.steps[0].graph.blocked.values()
        assert blocked == (trace.steps[0].decided[0], 1.0)


@pytest.mark.parametrize("rest", [1e-8, 2.5e-8, 4.5e-8, 7e-8, 2e-7, 1e-3, 0.4])
def test_confidence_is_a_softmax_in_float32(rest: float) -> None:
    """What counts as certain is what float32 calls 1, also where rounding a finer probability would not."""
    model = random_model(0)
    session = dard.Session(model, words(0, 4), "dapd", gen_length=2, variant="direct")
    question = session.decoder.ask(model, session.settings, session.state)
    (answer,) = model.answer([question])
    answer.logits[:] = -40.0
    answer.logits[:, 5:7] = torch.tensor([0.0, math.log(rest)])
    expected = float(torch.softmax(answer.logits[0], dim=-1)[5])
    decision = session.decoder.decide(model, session.settings, session.state, question, answer)
    assert decision.confidence[0] == pytest.approx(expected, abs=6e-8) and (decision.confidence[0] == 1) == (
        expected == 1
    )


@pytest.mark.parametrize("sharpness", [8.0, 20.0])
def test_direct_goes_as_published_where_probabilities_round_to_one(sharpness: float) -> None:
    """24 models against the reference, which takes the softmax of the whole row in float32, rounding and all."""
    seen: Counter[str] = Counter()
    for seed in range(24):
        seen += follow("dapd", words(seed, 4), gen_length=12, seed=seed, sharpness=sharpness, variant="direct")
    assert seen["through"] > 100 and seen["too close"] < 0.1 * seen["steps"], seen


def test_the_graph_says_who_kept_whom_waiting() -> None:
    """Every verdict can be read off the cells, the order and the limit of the file."""
    verdicts = Counter()
    for seed in range(6):
        made = dard.decode(random_model(seed), words(seed, 4), "dapd", gen_length=14, block_length=9, tau_max=0.5)
        for step in dard.Trace.from_bytes(made.to_bytes()).steps:
            graph = step.graph
            assert graph is not None and graph.cells is not None
            assert set(graph.positions) == {i for i in range(*step.block) if step.states_before[i] == "M"}
            accepted: list[int] = []
            for row, i in enumerate(graph.positions):
                above = [k for k in accepted if graph.cells[row, k] > 255 * graph.limit]
                assert (i in graph.blocked) == bool(above)
                if above:
                    by, value = graph.blocked[i]
                    assert graph.positions.index(by) in above and value > graph.limit
                    assert abs(value * 255 - max(graph.cells[row, k] for k in above)) <= 1
                else:
                    accepted.append(row)
                verdicts["waits" if i in graph.blocked else "accepted"] += 1
            assert step.happened("waits") == sorted(i for i in graph.blocked if step.states[i] == "M")
    assert min(verdicts.values()) > 50


def test_a_model_without_attention_is_refused_in_one_sentence() -> None:
    with pytest.raises(dard.InputError, match=r"^DAPD needs attention, which model 'los-diego' does not offer; it off"):
        dard.Session(los_diego(), LOS_DIEGO, "dapd")
