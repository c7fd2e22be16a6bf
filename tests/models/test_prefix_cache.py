"""The prefix cache: in a block's later passes the prompt is as it was in the first, and nothing else is changed.

The reference has no cache: one long sequence in which the block's first pass stands beside the present one.
"""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import dard
from dard.checkup import literal as reference
from dard.checkup.literal import passes
from dard.decoders import DECODERS
from dard.decoding.loop import ask, finish
from dard.decoding.session import Session
from dard.models.backbone import BackboneModel
from dard.models.base import Frozen, Question, Soft, answer, answer_all
from dard.models.prefix import PrefixCache, name_of, size_of
from tests.decoders.follow import TINY_GAP, words
from tests.helpers import ALL_DECODERS, LOGITS_ALONE, without_times
from tests.models.families import ENCODERS, WRITERS, load_family
from tests.models.mixes import in_the_table, random_soft
from tests.models.test_interface import Letters
from tests.tiny import MASK_ID, VOCABULARY, random_model, random_network

PROMPT, BLOCK = 5, 6
OWN: dict[str, dict[str, Any]] = {
    "dard": {"tau_c": 0.3, "tau_u": 0.6},
    "wino": {"threshold": 0.4, "threshold_back": 0.6},
    "saber": {"n": 2},
    "standard": {"steps": 4},
    "threshold": {"threshold": 0.4, "factor": None},
    "entropy_bound": {"gamma": 1.5},
    "dapd": {"tau_max": 0.6},
    "remix": {"threshold": 0.6},
    "edit": {"threshold": 0.4, "edit_threshold": 0.3},
}


def fresh(seed: int, layers: int = 3) -> BackboneModel:
    """A model that keeps nothing yet."""
    model = copy.copy(random_model(seed, layers))
    model.prefixes = PrefixCache()
    return model


def session_of(model: Any, decoder: str = "dard", seed: int = 0, **changes: Any) -> Session:
    settings = {"gen_length": 2 * BLOCK, "block_length": BLOCK, "prefix_cache": "block"} | OWN[decoder] | changes
    return Session(model, words(seed, PROMPT), decoder, **settings)


def outcome(trace: dard.Trace) -> dict[str, Any]:
    """Everything a decode gave, without times and without how it was set."""
    body = without_times(trace)
    del body["settings"]
    return body


@contextmanager
def passes_of(model: BackboneModel) -> Iterator[list[int]]:
    """How many rows each forward pass of a model processed."""
    sizes: list[int] = []

    def note(module: Any, inputs: Any, values: dict[str, Any]) -> None:
        sizes.append(values["position_ids"].shape[1])

    hook = model.body.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield sizes
    finally:
        hook.remove()


# Against the reference.


def beside(opening: Question, now: Question, length: int) -> Question:
    """`[prompt | the rest at the opening | the rest now]`: the prompt sees the opening, the present sees the prompt."""
    before, size = len(opening.ids), len(opening.ids) + len(now.ids) - length
    mask = torch.zeros(size, size, dtype=torch.bool)
    mask[:before, :before] = opening.mask
    mask[before:, :length] = now.mask[length:, :length]
    mask[before:, before:] = now.mask[length:, length:]
    return Question(
        torch.cat([opening.ids, now.ids[length:]]),
        torch.cat([opening.positions, now.positions[length:]]),
        mask,
        now.rows + before - length,
    )


class Frosty:
    """A network whose prompt stays as it was in the first pass after `thaw`; takes the place of a real one."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.thaw()

    def thaw(self) -> None:
        self.opening: Question | None = None

    def __call__(self, input_ids: Tensor, position_ids: Tensor, attention_mask: Tensor, use_cache: bool) -> Any:
        size = input_ids.shape[1]
        now = Question(input_ids[0], position_ids[0], attention_mask[0, 0], torch.arange(PROMPT, size))
        if self.opening is None:
            self.opening = now
        long = beside(self.opening, now, PROMPT)
        logits = passes.all_logits(self.network, long.ids.tolist(), long.positions.tolist(), long.mask)
        nobody = torch.full((PROMPT, logits.shape[-1]), torch.nan)
        return SimpleNamespace(logits=torch.cat([nobody, logits[long.rows]])[None])


@pytest.mark.parametrize("decoder", LOGITS_ALONE)
def test_every_decoder_agrees_with_its_reference_under_a_frozen_prompt(decoder: str) -> None:
    compared = 0
    for seed in range(4):
        network = Frosty(random_network(seed, 3))
        region = [MASK_ID] * (2 * BLOCK)
        moments = getattr(reference, decoder)(
            network, words(seed, PROMPT), region, MASK_ID, block_length=BLOCK, **OWN[decoder]
        )
        session = session_of(fresh(seed), decoder, seed)
        for moment in moments:
            if moment.closest < TINY_GAP:
                break
            step = session.step()
            assert (step.tokens, step.states, step.ended_by) == (moment.tokens, moment.states, moment.ended_by)
            assert step.confidence == pytest.approx(moment.confidence, abs=1e-4)
            compared += 1
            if moment.ended_by:
                network.thaw()
    assert compared > 12


@pytest.mark.parametrize("family", list(WRITERS))
def test_every_family_agrees_with_the_long_sequence_or_keeps_nothing(family: str, tmp_path: Path) -> None:
    model: Any = load_family(family, tmp_path, layers=2)[1]
    prompt = [5, 6, 7, 8] * ((getattr(model, "block_size", None) or 4) // 4)
    for decoder in ("dard", "wino", "standard"):
        session = Session(model, prompt, decoder, gen_length=6, prefix_cache="block")
        first, length = session.state, len(prompt)
        later = replace(first, tokens=(model.mask_id, 9, 10, *first.tokens[3:]), states="MUC" + first.states[3:])
        opening, now = (session.decoder.ask(model, session.settings, state) for state in (first, later))
        asked = ask(session.decoder, model, session.settings, replace(later, opening=first))
        q = now if family in ENCODERS else beside(opening, now, length)
        expected = model.logits(q.ids, q.positions, q.mask, q.rows)
        answer(model, ask(session.decoder, model, session.settings, first))
        with passes_of(model) as sizes:
            torch.testing.assert_close(answer(model, asked).logits, expected, atol=1e-4, rtol=1e-4)
        assert len(sizes) == 1


# Soft inputs and attention.


def softly(opening: Question, now: Question, length: int) -> Question:
    """The long sequence with the mixes of both passes; those of the present prefix are frozen away."""
    long, before = beside(opening, now, length), len(opening.ids)
    assert opening.soft is not None and now.soft is not None
    late = now.soft.positions >= length
    soft = Soft(
        torch.cat([opening.soft.positions, now.soft.positions[late] + before - length]),
        torch.cat([opening.soft.ids, now.soft.ids[late]]),
        torch.cat([opening.soft.weights, now.soft.weights[late]]),
    )
    return replace(long, soft=soft)


def with_network(model: BackboneModel, network: Any) -> BackboneModel:
    changed = copy.copy(model)
    changed.network, changed.body, changed.head = network, network.base_model, network.get_output_embeddings()
    return changed


@pytest.mark.parametrize("family", ["llada", "mmada", "dream", "a2d"])
def test_mixes_of_the_opening_are_kept_under_their_own_name(family: str, tmp_path: Path) -> None:
    """Openings that differ in nothing but their mixes, all of them kept before the first later question comes."""
    model: Any = dard.load_model(WRITERS[family](tmp_path / family, layers=2)[0])
    size, length, vocabulary = 10, 4, model.vocab_size
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, vocabulary, (size,), generator=generator)
    everything = torch.ones(size, size, dtype=torch.bool)
    plain = Question(ids, torch.arange(size), everything, torch.arange(length + 1, size), frozen=Frozen(length))
    first = random_soft(vocabulary, [1, 6], seed=0)
    softs = [
        first,
        replace(first, weights=random_soft(vocabulary, [1, 6], seed=1).weights),
        replace(first, ids=first.ids.roll(1, dims=0)),
        replace(first, positions=torch.tensor([2, 6])),
        replace(first, positions=torch.tensor([1, 7])),
    ]
    openings = [replace(plain, soft=soft) for soft in softs]
    now = replace(plain, ids=ids.roll(1), soft=random_soft(vocabulary, [3, 5, 8], seed=2))
    for opening in [plain, *openings]:
        answer(model, opening)
    for opening in openings:
        with passes_of(model) as sizes:
            found = answer(model, replace(now, frozen=Frozen(length, opening))).logits
        network, long, used = in_the_table(model.network, softly(opening, now, length))
        expected = answer(with_network(model, network), long).logits
        found[:, used] = expected[:, used] = 0
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
        assert len(sizes) == 1


def test_the_attention_of_a_frozen_question_is_that_of_the_rows_it_computes() -> None:
    model = fresh(1)
    session = session_of(model, seed=1)
    opening = replace(ask(session.decoder, model, session.settings, session.state), attention=(0, 2))
    whole = answer(model, replace(opening, frozen=None)).attention
    found = answer(model, opening).attention
    assert found is not None and whole is not None
    torch.testing.assert_close(found, whole)
    session.step()
    now = replace(ask(session.decoder, model, session.settings, session.state), attention=(2, 0))
    later = answer(model, now).attention
    assert now.frozen is not None and now.frozen.opening is not None and later is not None
    before = len(opening.ids)
    rows = torch.arange(before, before + len(now.ids) - PROMPT)
    long = replace(beside(opening, now, PROMPT), attention=(2, 0), frozen=None)
    expected = answer(model, long).attention
    assert expected is not None
    torch.testing.assert_close(later[:, PROMPT:], expected[:, rows][:, :, torch.cat([torch.arange(PROMPT), rows])])
    assert not later[:, :PROMPT].any()


# What is the same with and without.


def test_it_is_off_by_default_and_then_nothing_is_asked_of_it() -> None:
    for name, decoder in ((name, DECODERS[name]) for name in ALL_DECODERS):
        assert decoder.Settings().prefix_cache == "off"
        session = session_of(fresh(0), name, prefix_cache="off")
        while not session.finished:
            assert ask(decoder, session.model, session.settings, session.state).frozen is None
            session.step()
        assert not session.model.prefixes._kept
    with pytest.raises(dard.InputError, match="prefix_cache must be 'off' or 'block'"):
        session_of(fresh(0), prefix_cache="always")


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_in_one_layer_nothing_changes_because_keys_and_values_see_nobody(decoder: str) -> None:
    for seed in range(3):
        model = fresh(seed, layers=1)
        frozen = session_of(model, decoder, seed).run()
        plain = session_of(model, decoder, seed, prefix_cache="off").run()
        assert [step.states for step in frozen.steps] == [step.states for step in plain.steps]
        assert frozen.tokens == plain.tokens and frozen.text == plain.text


def test_through_several_layers_it_changes_results() -> None:
    pairs = [
        (session_of(fresh(s), seed=s).run(), session_of(fresh(s), seed=s, prefix_cache="off").run()) for s in (0, 1)
    ]
    assert any(frozen.tokens != plain.tokens for frozen, plain in pairs)
    for frozen, plain in pairs:  # but not in the first step, which is the opening
        assert frozen.steps[0].tokens == plain.steps[0].tokens
        assert frozen.steps[0].confidence == pytest.approx(plain.steps[0].confidence, abs=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_a_prompt_that_sees_only_itself_can_be_kept_without_any_change(layers: int) -> None:
    model, generator = fresh(2, layers), torch.Generator().manual_seed(layers)
    size = PROMPT + 9
    mask = (torch.rand(size, size, generator=generator) < 0.6) | torch.eye(size, dtype=torch.bool)
    mask[:PROMPT, PROMPT:] = False
    ids = [torch.randint(0, VOCABULARY, (size,), generator=generator) for _ in range(2)]
    ids[1][:PROMPT] = ids[0][:PROMPT]
    opening, now = (Question(each, torch.arange(size), mask, torch.arange(PROMPT, size)) for each in ids)
    kept = answer(model, replace(now, frozen=Frozen(PROMPT, replace(opening, frozen=Frozen(PROMPT)))))
    torch.testing.assert_close(kept.logits, answer(model, now).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("decoder", LOGITS_ALONE)
def test_a_model_that_keeps_nothing_ignores_it(decoder: str) -> None:
    traces = [
        dard.decode(Letters(), "abc", decoder, gen_length=6, block_length=3, prefix_cache=how)
        for how in ("off", "block")
    ]
    assert outcome(traces[0]) == outcome(traces[1])


def test_a_template_has_no_prompt_to_keep() -> None:
    model = fresh(0)
    for how in ("off", "block"):
        dard.decode(model, [5, MASK_ID, MASK_ID, 6], prefix_cache=how)
    assert not model.prefixes._kept


# When it is computed, and what for.


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_only_the_number_of_processed_rows_changes(decoder: str) -> None:
    """The first pass of a block goes over everything, the others leave the prompt out; the head's rows stay."""
    model = fresh(1)
    session = session_of(model, decoder, 1)
    while not session.finished:
        plain = session.decoder.ask(model, session.settings, session.state)
        question = ask(session.decoder, model, session.settings, session.state)
        assert torch.equal(question.ids, plain.ids) and torch.equal(question.mask, plain.mask)
        assert torch.equal(question.positions, plain.positions) and torch.equal(question.rows, plain.rows)
        begins = not session.steps or session.steps[-1].ended_by is not None
        with passes_of(model) as sizes:
            session.step()
        assert sizes == [len(plain.ids) - (0 if begins else PROMPT)]
    assert sum(step.ended_by is not None for step in session.steps) == 2


def test_an_edit_begins_the_block_again() -> None:
    model = fresh(1)
    session = session_of(model, seed=1)
    session.step()
    session.step()
    everything = PROMPT + 3 * BLOCK
    position = session.state.free("M")[0]
    branch = session.edit(position, token=9, state="U")
    with passes_of(model) as sizes:
        branch.step()
        session.step()
        branch.step()
    assert sizes == [everything, everything - PROMPT, everything - PROMPT]
    alone = session_of(fresh(1), seed=1)
    alone.step()
    alone.step()
    assert outcome(alone.edit(position, token=9, state="U").run()) == outcome(branch.run())


def test_a_branch_and_an_undone_step_go_on_as_the_original_did() -> None:
    session = session_of(fresh(1), seed=1)
    whole = outcome(session.run())
    for step in range(len(session.steps)):
        assert outcome(session.at(step).run()) == whole
    session.undo()
    session.undo()
    assert outcome(session.run()) == whole


def test_a_prefix_that_was_forgotten_is_computed_again_and_gives_the_same() -> None:
    alone = {name: outcome(session_of(fresh(0), name).run()) for name in ("dard", "standard", "wino")}
    model = fresh(0)
    model.prefixes = PrefixCache(room=0)  # keeps the newest alone
    sessions = {name: session_of(model, name) for name in alone}
    while going := [session for session in sessions.values() if not session.finished]:
        for session in going:
            session.step()
            assert len(model.prefixes._kept) == 1
    assert {name: outcome(session.trace) for name, session in sessions.items()} == alone


def test_memory_is_bounded_and_the_least_used_goes_first() -> None:
    model = fresh(0)
    session_of(model, seed=0).step()
    one = size_of(next(iter(model.prefixes._kept.values())))
    assert one == 3 * 2 * PROMPT * 32 * 4  # layers, keys and values, tokens, width, bytes
    model.prefixes = PrefixCache(room=2 * one)
    sessions = [session_of(model, seed=seed) for seed in range(3)]
    sessions[0].step()
    sessions[1].step()
    sessions[0].step()  # used again, so the next one drives the second out
    sessions[2].step()
    with passes_of(model) as sizes:
        sessions[0].step()
        sessions[2].step()
        sessions[1].step()
    rest = 3 * BLOCK
    assert sizes == [rest, rest, PROMPT + rest, rest]
    assert model.prefixes._used == 2 * one


def test_whatever_a_prefix_is_computed_from_is_in_its_name() -> None:
    q = Question(torch.arange(6), torch.arange(6), torch.ones(6, 6, dtype=torch.bool), torch.tensor([5]))
    blind = q.mask.clone()
    blind[5, 0] = False
    others = [
        (q, 3),
        (replace(q, ids=q.ids + 1), 2),
        (replace(q, positions=q.positions + 1), 2),
        (replace(q, mask=blind), 2),
        (Question(q.ids[:5], q.positions[:5], q.mask[:5, :5], q.rows), 2),
        (replace(q, soft=random_soft(9, [1, 4], seed=0)), 2),
        (replace(q, soft=random_soft(9, [1, 4], seed=0, width=4)), 2),
    ]
    assert len({name_of(*each) for each in [(q, 2), *others]}) == 8
    assert name_of(replace(q, rows=torch.tensor([3, 4])), 2) == name_of(q, 2)


# Several at once.


def mixed(model: BackboneModel) -> list[Session]:
    """Prompts of one length under several decoders and settings, on one model."""
    sessions = [session_of(model, decoder, seed) for decoder in ("dard", "wino", "standard") for seed in (0, 1)]
    return [*sessions, session_of(model, "dard", 0, outside="all"), session_of(model, "dard", 0, prefix_cache="off")]


def test_sessions_do_not_mix_in_turns_together_or_in_threads() -> None:
    alone = [outcome(mixed(fresh(0))[number].run()) for number in range(len(mixed(fresh(0))))]
    in_turns, together, threaded = mixed(fresh(0)), mixed(fresh(0)), mixed(fresh(0))
    while going := [session for session in in_turns if not session.finished]:
        for session in going:
            session.step()
    finish(together)
    threads = [threading.Thread(target=session.run) for session in threaded]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sessions in (in_turns, together, threaded):
        assert [outcome(session.trace) for session in sessions] == alone


def test_a_batch_with_a_frozen_prefix_is_asked_one_by_one() -> None:
    model = fresh(0)
    sessions = mixed(model)
    for session in sessions:
        session.step()
    questions = [ask(s.decoder, model, s.settings, s.state) for s in sessions]
    for question, found in zip(questions, answer_all(model, questions), strict=True):
        assert torch.equal(found.logits, answer(model, question).logits)


def test_a_session_travels_without_what_was_kept() -> None:
    model = fresh(1)
    session = session_of(model, seed=1)
    session.step()
    session.step()
    parcel = pickle.dumps(session)
    assert b"torch" not in parcel
    elsewhere: Session = pickle.loads(parcel)
    elsewhere.model = fresh(1)
    elsewhere.run()
    session.run()
    assert elsewhere.state == session.state
