"""Swapping candidates: what the mask promises for one layer, and what several layers make of it."""

from __future__ import annotations

import pytest
import torch

from dard.analysis.swaps import DEEP, KINDS, OUT_OF_REACH, OWN, SEEN, swap_all, swaps
from dard.decoding.session import Session
from dard.experiments.contamination import COLOURS, pooled
from dard.experiments.points import Point
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.results.sweep import Variant
from tests.tiny import random_model

PROMPTS = ("w4 w9 w17", "w8 w21", "w30 w31")


def rows(layers: int, **settings: object) -> list[dict]:
    network = random_model(3, layers=layers, sharpness=1.3)
    options = {"gen_length": 6, "tau_c": 0.2, "tau_u": 0.7} | settings
    return [swapped(Session(network, prompt, "dard", **options)) for prompt in PROMPTS]


def swapped(session: Session) -> dict:
    session.run()
    return swap_all(session)


def all_of(found: list[dict], kind: str) -> dict:
    return pooled(Point(Variant("v", "dard"), found, label=kind))


def test_in_one_layer_nothing_hidden_is_reached_or_changed() -> None:
    found = rows(layers=1)
    assert sum(row["verifications"] for row in found) > 0
    assert all(row["reachable"] == 0 for row in found)
    assert all_of(found, DEEP)["pairs"] == all_of(found, OWN)["pairs"] == 0
    hidden = all_of(found, OUT_OF_REACH)
    assert hidden["pairs"] > 0 and hidden["sum"] == 0.0 and hidden["largest"] == 0.0  # exactly, not nearly
    seen = all_of(found, SEEN)
    assert seen["pairs"] > 0 and seen["largest"] > 0


def test_in_several_layers_reached_verifications_do_change_and_the_others_still_do_not() -> None:
    found = rows(layers=3)
    assert 0 < sum(row["reachable"] for row in found) <= sum(row["verifications"] for row in found)
    deep = all_of(found, DEEP)
    assert deep["pairs"] > 0 and deep["largest"] > 0
    out_of_reach = all_of(found, OUT_OF_REACH)
    assert out_of_reach["largest"] == 0.0


def test_an_outside_that_sees_everything_lets_more_through() -> None:
    closed, opened = (rows(layers=3, outside=outside) for outside in ("reliable", "all"))
    assert sum(row["reachable"] for row in opened) >= sum(row["reachable"] for row in closed)


def test_los_diego_sees_what_it_sees_and_nothing_else() -> None:
    """ "Diego" is surer: the verification of "Los" sees it, its own verification must not see "Los"."""
    model = los_diego()
    row = swapped(Session(model, LOS_DIEGO, "dard", tau_c=0.4, tau_u=0.8))
    assert row["kinds"][SEEN]["pairs"] > 0
    assert row["kinds"][SEEN]["largest"] == pytest.approx(0.91, abs=0.02)  # Los: 0.04 beside Diego, 0.95 beside Angeles
    assert row["kinds"][OUT_OF_REACH]["largest"] == 0.0


def test_a_change_is_what_an_edited_forward_pass_gives() -> None:
    """Each measured change equals the one found by putting the second choice into the state by hand."""
    network = random_model(3, layers=3, sharpness=1.3)
    session = Session(network, PROMPTS[0], "dard", gen_length=8, tau_c=0.2, tau_u=0.7)
    compared = 0
    while not session.finished:
        state = session.state
        step = session.step()
        if step.mask is None:
            continue
        held = state.free("CU")
        question = session.decoder.ask(network, session.settings, state)

        def confidences(
            ids: torch.Tensor, question=question, held=held, state=state
        ) -> tuple[torch.Tensor, torch.Tensor]:
            logits = network.logits(ids, question.positions, question.mask, question.rows)[-len(held) :].double()
            logits[:, network.mask_id] = -torch.inf
            p = logits.softmax(-1)
            return p, p[range(len(held)), [state.tokens[i] for i in held]]

        for change in swaps(session, len(session.steps) - 1):
            p, before = confidences(question.ids)
            best = p[held.index(change.candidate)].topk(2).indices.tolist()
            second = next(token for token in best if token != state.tokens[change.candidate])
            ids = question.ids.clone()
            ids[len(state.prompt) + change.candidate] = second
            _, after = confidences(ids)
            row = held.index(change.position)
            assert change.amount == pytest.approx(abs(float(after[row] - before[row])), abs=1e-5)
            compared += 1
    assert compared > 0


def test_every_swap_is_of_exactly_one_kind() -> None:
    (row, *_) = rows(layers=2)
    assert set(row["kinds"]) == set(COLOURS) == set(KINDS)
