"""Causes: every bar against a forward pass of its own, the verdict of every decoder, and what is said of it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

import dard
from dard.analysis.causes import attention, before
from dard.analysis.reach import block_depth
from dard.checkup.literal import passes, shadows
from dard.decoders.base import block_places
from dard.decoding.loop import ask
from dard.models.base import Answer, Question, answer_all
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace, TraceError
from dard.trace.words import causes_note
from tests.helpers import ALL_DECODERS, without_times
from tests.test_session import session_of
from tests.tiny import MASK_ID, random_model

CITY = "The city of [MASK] [MASK] is on the Southern California coast ."


def city() -> dard.Session:
    session = dard.Session(dard.load_model("embedded"), CITY, tau_c=0.4, tau_u=0.5)
    session.run()
    return session


def verdict_of(session: dard.Session, step: int, position: int, **options: Any) -> dard.Verdict:
    *_, verdict = dard.examine(session, step, position, **options)
    return verdict


def literal(
    session: dard.Session, step: int, position: int, token: int, changed: tuple[int, bool] | None
) -> dict[str, float]:
    """What each path gives a token, from one pass of the whole network with the head on every row."""
    state, settings, model = session.at(step - 1).state, session.settings, session.model
    prompt, tokens, letters = list(state.prompt), list(state.tokens), list(state.states)
    sees = plain = shadows.dard_visibility(letters, list(state.reliability), settings.ordering, settings.outside)
    if changed is not None and changed[1]:

        def sees(query: passes.Node, key: passes.Node) -> bool:
            if query == ("s", position) and key[1] == changed[0] and key[0] != "out":
                return key[0] == "x"
            return plain(query, key)

    elif changed is not None:
        kept = prompt if changed[0] < 0 else tokens
        kept[changed[0]] = model.mask_id
    block = state.block_range
    x, s = passes.shadow_pass(model.network, prompt, tokens, block, model.mask_id, sees)

    def p(row: torch.Tensor) -> torch.Tensor:
        row = row.clone()
        row[model.mask_id] = -math.inf
        return passes.probabilities(row)

    shadow = s[position - block.start]
    if letters[position] != "M":
        return {"s": float(p(shadow)[token])}
    moved = {i: float(p(s[i - block.start])[state.tokens[i]]) for i in block if letters[i] == "C"}
    big_p = sum(settings.lambda_ ** abs(position - i) for i, c in moved.items() if c > settings.tau_u)
    big_d = sum(settings.lambda_ ** abs(position - i) for i, c in moved.items() if c <= settings.tau_c)
    w = (big_p + settings.p0) / (big_p + big_d + settings.p0)
    rows = {"x": x[position], "s": shadow, "mix": w * x[position] + (1 - w) * shadow}
    return {name: float(p(row)[token]) for name, row in rows.items()}


@pytest.mark.parametrize("make", [city, lambda: ran(session_of(seed=3, tau_c=0.15, tau_u=0.3))], ids=["city", "random"])
def test_every_bar_is_what_a_pass_of_its_own_gives(make: Any) -> None:
    session = make()
    kinds = set()
    for step in session.steps:
        if step.mask is None:
            continue
        for position in session.at(step.index - 1).state.free():
            verdict = verdict_of(session, step.index, position)
            assert verdict.paths == pytest.approx(literal(session, step.index, position, verdict.token, None), abs=1e-4)
            assert verdict.actual == verdict.paths[verdict.path]
            for cause in verdict.causes:
                again = literal(session, step.index, position, verdict.token, (cause.position, cause.shown))
                assert cause.paths == pytest.approx(again, abs=1e-4)
                assert cause.without == cause.paths[verdict.path]
                kinds.add((verdict.path, cause.shown))
    assert kinds == {("mix", False), ("s", False), ("s", True)}


def ran(session: dard.Session) -> dard.Session:
    session.run()
    return session


def test_los_is_the_cause_of_los_diego() -> None:
    session = city()
    trace = without_times(session.trace)
    first, *others = dard.causes(session, 2, 4)
    assert (first.position, session.trace.word(86)) == (3, "Los")
    verdict = verdict_of(session, 2, 4)
    assert (round(verdict.actual, 3), round(first.without, 3), first.state) == (0.001, 0.478, "C")
    assert all(abs(other.without - verdict.actual) <= 0.001 for other in others)
    assert len(others) == 10 and not verdict.left
    assert without_times(session.trace) == trace  # asking changes nothing
    told = session.trace
    told.causes = [verdict]
    assert told.why(told.steps[1], 4).endswith("; without 'Los' at 3 it would have had 0.48 and stayed a candidate.")
    assert causes_note(told, verdict) == (
        "'Los' at 3 alone decides this: without it 'Diego' would have had 0.478 and stayed a candidate. "
        "Hiding any other token leaves it at 0.001 to 0.002."
    )


def test_a_close_call_and_a_candidate_that_the_mask_hid() -> None:
    session = city()
    verdict, told = verdict_of(session, 2, 3), session.trace
    assert len(verdict.deciding) == 7
    shown = [cause for cause in verdict.causes if cause.shown]
    assert [(cause.position, cause.state) for cause in shown] == [(4, "M")] and shown[0].without < 0.001
    told.causes = [verdict]
    assert ";" not in told.why(told.steps[1], 3)  # none of the seven decides it alone
    note = causes_note(told, verdict)
    assert note.startswith("A close call: 0.502. Without any one of 'the' at 7, 'on' at 6, 'coast' at 10 or 4 more")
    assert note.endswith("Had the mask not hidden 'Diego' at 4, 'Los' would have had 0.000 and been revoked.")


def test_where_a_rank_decides_nothing_is_called_close() -> None:
    """Several tokens, each of which would have changed the order: no threshold was near, or there is none."""
    several = 0
    for decoder in ("dapd", "standard", "saber"):
        session = ran(session_of(decoder))
        told = session.trace
        for step in session.steps:
            for position in step.decided:
                verdict = verdict_of(session, step.index, position)
                note = causes_note(told, verdict)
                assert "close call" not in note
                if len(verdict.deciding) > 1:
                    assert note.startswith(f"Several tokens decide this, at {verdict.actual:.3f}. Without any one of ")
                    several += 1
    assert several


def test_causes_are_asked_of_a_session() -> None:
    trace: Any = city().trace
    for question in (dard.causes, lambda *place: list(dard.examine(*place))):
        with pytest.raises(
            dard.InputError, match=r"^causes are asked of the Session .*, not of a Trace; .*trace.verdict"
        ):
            question(trace, 2, 4)
        with pytest.raises(
            dard.InputError, match=r"^causes are asked of the Session .*, not of a Trace; .*trace.verdict"
        ):
            question(trace)
        with pytest.raises(
            dard.InputError, match=r"^step = None is not allowed; step must be a whole number from 1 to "
        ):
            question(city())
        with pytest.raises(dard.InputError, match=r"^position = None is not allowed; position must be a whole number"):
            question(city(), 2)


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_every_decoder_is_asked_by_its_own_rule(decoder: str) -> None:
    session = ran(session_of(decoder))
    seen = 0
    for step in session.steps:
        for position in step.decided:
            verdict = verdict_of(session, step.index, position)
            if position not in step.accepted:  # accepted as it stood: the verdict itself was another
                assert verdict.state == step.states[position] or position in step.demoted
            table = dict(step.paths[verdict.path].at(position))
            assert table[verdict.token] == pytest.approx(verdict.actual, abs=6e-5)
            held = {i for i, token in enumerate(step.tokens_before) if token != MASK_ID}
            assert {c.position for c in verdict.causes} <= held | {-3, -2, -1}
            assert {c.position for c in verdict.causes} >= {-3, -2, -1}  # the prompt is in everybody's view
            seen += len(verdict.causes)
    assert seen


def test_the_branch_without_a_token_is_what_its_cause_says() -> None:
    session = city()
    for check, confidence in ((None, 0.478), (4, 0.498)):  # what all others saw of it still reaches a single query
        branch = session.at(1).hide(3, check)
        branch.step()
        assert branch.steps[1].confidence[4] == pytest.approx(confidence, abs=1e-3)
        assert branch.steps[1].hidden == (3, check)
        whom = "everyone in this pass" if check is None else "the prediction of position 4"
        assert f"'Los' at 3 was hidden from {whom}, by hand" in branch.trace.why(branch.steps[1], 4)
        again = Trace.from_bytes(branch.trace.to_bytes())
        assert again.steps[1].hidden == (3, check)
        branch.run()
        assert all(step.hidden is None for step in branch.steps[2:])
    assert all(step.hidden is None for step in session.steps)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: dard.causes(s, 0, 4), "step = 0 is not allowed; step must be a whole number from 1 to 3"),
        (lambda s: dard.causes(s, 9, 4), "step = 9 is not allowed"),
        (lambda s: dard.causes(s, 2, 12), "position = 12 is not allowed; position must be a whole number from 0 to 11"),
        (lambda s: dard.causes(s, 2, 0), "position 0 is given by the template"),
        (lambda s: s.hide(3), "this decode is finished after 3 steps; hide a token at an earlier one"),
        (lambda s: s.at(0).hide(3), "position 3 is masked: there is no token to hide"),
        (lambda s: s.at(1).hide(-1), "position = -1 is not allowed; position must be a whole number from 0 to 11"),
        (lambda s: s.at(1).hide(0, check=0), "position 0 is given by the template"),
    ],
)
def test_what_cannot_be_asked_is_refused(call: Any, sentence: str) -> None:
    with pytest.raises(dard.InputError, match=re.escape(sentence)):
        call(city())


def test_a_position_that_a_step_did_not_look_at_has_no_verdict() -> None:
    session = ran(session_of("standard"))
    later = session.steps[0].block[1]
    with pytest.raises(dard.InputError, match=f"step 1 did not look at position {later}"):
        dard.causes(session, 1, later)


class Counting:
    """A model that counts its passes, and takes one question at a time."""

    def __init__(self, model: Any, offers: frozenset[str]) -> None:
        self.model, self.offers, self.asked = model, offers, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def answer(self, questions: list[Question]) -> list[Answer]:
        self.asked.append(len(questions))
        return self.model.answer(questions)


def test_time_runs_out_and_it_goes_on_from_there() -> None:
    """One question at a time: the verdict, then the most attended token first; the rest is left, and made up later."""
    session = city()
    whole = verdict_of(session, 2, 3)
    weights = attention(session.at(1))
    session.model = Counting(session.model, frozenset({"attention"}))
    order = [[c.position for c in v.causes] + v.left for v in dard.examine(session, 2, 3)]
    assert all(sorted(places) == sorted(order[0]) for places in order) and len(order) == len(whole.causes) + 1
    first, then, *_ = (v for v in dard.examine(session, 2, 3))
    assert not first.causes and first.share is not None and then.share is not None and then.share < first.share
    seen = weights[:, 12 + 3].mean(axis=0)  # the shadow of position 3
    hidings = [c.position for c in whole.causes if not c.shown]
    share = {p: float(seen[p] + seen[12 + p]) for p in hidings}
    assert [p for p in first.left if p in share] == sorted(share, key=lambda p: -share[p])
    out_of_time = verdict_of(session, 2, 3, seconds=0)
    assert not out_of_time.causes and len(out_of_time.left) == len(whole.causes)
    assert f"{len(whole.causes)} tokens were not tried, with " in causes_note(session.trace, out_of_time)
    found = verdict_of(session, 2, 3, known=then)
    assert [(c.position, c.shown) for c in found.causes] == [(c.position, c.shown) for c in whole.causes]
    for one, other in zip(found.causes, whole.causes, strict=True):
        assert one.without == pytest.approx(other.without, abs=1e-5)


def test_whoever_listens_can_stop_it_and_keeps_what_is_there() -> None:
    session = city()
    session.model = Counting(session.model, frozenset())
    heard: list[int] = []

    def stop(verdict: dard.Verdict) -> bool:
        heard.append(len(verdict.causes))
        return len(verdict.causes) == 2

    assert len(dard.causes(session, 2, 3, on_batch=stop)) == 2
    assert heard == [0, 1, 2] and session.model.asked == [1, 1, 1]


def test_hidings_of_a_verdict_share_their_passes() -> None:
    session = city()
    session.model = Counting(session.model, session.model.offers)
    assert len(dard.causes(session, 2, 4, shown=False)) == 11
    assert session.model.asked == [12]


def test_hiding_a_word_of_a_kept_prompt_is_hiding_it_from_what_was_kept() -> None:
    plain, kept = (ran(session_of(seed=3, prefix_cache=how)) for how in ("off", "block"))
    for session in (plain, kept):
        found = {c.position: c.without for c in dard.causes(session, 1, 1)}
        assert {-3, -2, -1} <= set(found)
    later = {c.position: c.without for c in dard.causes(kept, 2, 1)}
    branch = kept.at(1).hide(-2)
    verdict = verdict_of(kept, 2, 1)
    *_, after = before(branch, 1)
    if after.token == verdict.token:
        assert after.actual == pytest.approx(later[-2], abs=1e-4)
    assert "a token of the prompt, 2 from its end, was hidden from everyone" in branch.step().why.get(
        1, branch.trace.why(branch.steps[-1], 1)
    )


def test_causes_travel_with_the_trace_and_are_checked_there() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    trace = session.run()
    trace.causes = [verdict_of(session, 2, 3)]
    again = Trace.from_bytes(trace.to_bytes())
    assert again.causes == trace.causes and again == trace
    assert again.why(again.steps[1], 3) == trace.why(trace.steps[1], 3)
    body = trace.as_dict()
    for change, sentence in [
        ({"step": 9}, "there is no step 9"),
        ({"position": 12}, "outside or twice"),
        ({"actual": 1.5}, "less than or equal to 1"),
        ({"left": [3, 3]}, "outside or twice"),
        ({"left": [-1]}, "before the prompt"),
        ({"state": "X"}, "is not declared"),
        ({"more": 1}, "Unexpected keyword argument"),
    ]:
        broken = {**body, "causes": [{**body["causes"][0], **change}]}
        with pytest.raises(TraceError, match=sentence):
            Trace.from_bytes(json.dumps(broken).encode())


def test_a_verdict_on_a_token_that_another_path_hardly_thinks_of() -> None:
    """Tables hold the five most probable tokens; the one that was chosen is among those of its own path."""
    session = dard.Session(random_model(0, 2, 200), [5, 6, 7], gen_length=12, tau_c=0.3, tau_u=0.6)
    session.run()
    rare = [
        (step, i) for step in session.steps for i in step.decided
        if any(step.tokens[i] not in dict(table.at(i)) for table in step.paths.values() if i in table.positions)
    ]  # fmt: skip
    assert rare
    for step, position in rare[:3]:
        verdict = verdict_of(session, step.index, position, shown=False)
        assert verdict.token == step.tokens[position]
        assert verdict.actual == pytest.approx(step.confidence[position], abs=1e-4)


def test_a_token_hidden_by_hand_is_recorded_as_hidden() -> None:
    """Its column is closed and its shadow's open in its place, which is the same pass: bit by bit nobody sees it."""
    session = ran(session_of(seed=3, tau_c=0.15, tau_u=0.3, gen_length=10, block_length=10))
    here = session.at(1)
    place = next(i for i in here.state.free() if here.state.states[i] != "M")
    free = next(i for i in here.state.free() if i != place)
    everyone, one = here.hide(place), here.hide(place, free)
    before = here.step()
    step, single = everyone.step(), one.step()
    size = len(before.states)
    assert before.mask is not None and step.mask is not None and single.mask is not None
    assert before.mask[:, place].any() and not step.mask[:, place].any()
    assert (step.mask[:, size + place] == before.mask[:, [place, size + place]].any(axis=1)).all()
    others = [k for k in range(2 * size) if k not in (place, size + place)]
    assert (step.mask[:, others] == before.mask[:, others]).all()
    assert step.outside_keys is not None and not step.outside_keys[place] and step.outside_keys[size + place]
    assert place not in step.visible(free) and not single.mask[size + free, place]
    assert (block_depth(step) == 0)[[k for k in range(2 * size) if k != place], place].all()
    state, model = everyone.at(1).state, session.model
    asked, plain = (ask(session.decoder, model, session.settings, each) for each in (state, here.at(1).state))
    mask, inside = plain.mask.clone(), block_places(state)
    mask[inside[:, None], inside] = torch.from_numpy(step.mask.copy())
    outside = [k for k in range(len(mask)) if k not in inside]
    mask[torch.tensor(outside)[:, None], inside] = torch.from_numpy(step.outside_keys.copy())
    again, was = answer_all(model, [replace(plain, mask=mask), asked])
    torch.testing.assert_close(again.logits, was.logits)
    looks = attention(everyone.at(1))
    assert looks[:, :, place].max() == 0 and looks[:, :, size + place].max() > 0


def test_what_was_hidden_by_hand_is_said_of_causes_and_seen_by_no_decoder() -> None:
    session = city()
    for check, whom in ((None, "everyone in this pass"), (4, "the prediction of position 4")):
        branch = session.at(1).hide(3, check)
        step = branch.step()
        assert 3 not in step.visible(4)
        note = causes_note(branch.trace, verdict_of(branch, 2, 4))
        assert f"'Los' at 3 was hidden from {whom}, by hand." in note and "the mask not hidden 'Los'" not in note
    assert "Had 'Los' at 3 not been hidden, 'Diego' would have had 0.001 and been revoked." in note
    plain = ran(session_of("standard"))
    place = next(i for i in plain.at(1).state.free() if plain.at(1).state.states[i] != "M")
    free = next(i for i in plain.at(1).state.free() if plain.at(1).state.states[i] == "M")
    step = plain.at(1).hide(place).step()
    assert step.mask is None and place not in step.visible(free)
