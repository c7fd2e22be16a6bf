"""What holds for every family: a checkpoint as it is on the hub, through the door a user takes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch

import dard
from dard.core.state import DecodeState
from dard.decoding.session import Session
from dard.models import Model, Question
from dard.models.base import answer_all
from tests.helpers import ALL_DECODERS
from tests.models.families import SHIFTED, WRITERS, load_family, places

PROMPTS = {"mmada": "w5 w7 [MASK] [MASK] w9 [MASK]"}
TEMPLATE = "the city of [MASK] [MASK] is big [MASK]"


@pytest.fixture(scope="module", params=list(WRITERS))
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Model, Any]:
    """A model of one layer, and the network its weights came from."""
    return load_family(request.param, tmp_path_factory.mktemp("family"))


def asked(model: Model, seed: int, size: int = 9) -> Question:
    """Any tokens at shuffled positions under any mask in which a row sees itself."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(size, size, generator=generator) < 0.5
    return Question(
        ids=torch.randint(0, model.vocab_size, (size,), generator=generator),
        positions=torch.randperm(size, generator=generator) + 3,
        mask=mask | torch.eye(size, dtype=torch.bool),
        rows=torch.tensor([0, 4, 8, 4]),
    )


def in_blocks(model: Any, q: Question) -> Question:
    """The question without what a model of blocks hides: for every key, whether its block is later than the query's."""
    size = getattr(model, "block_size", None)
    if size is None:
        return q
    sees = [
        [bool(m) and int(b) // size <= int(a) // size for m, b in zip(row, q.positions, strict=True)]
        for row, a in zip(q.mask, q.positions, strict=True)
    ]
    return replace(q, mask=torch.tensor(sees))


def alone(network: Any, q: Question, row: int, shift: int, block: int | None = None) -> torch.Tensor:
    """What a one-layer network says at a row, made without any mask: only the keys the row sees are there at all. In a
    model of blocks that is nothing of a later block, neither than the row's nor than that of the row that is read."""
    at = q.positions // (block or 1000)
    keys = (q.mask[row] & (at <= at[row])).nonzero()[:, 0]
    place = q.positions[keys] == q.positions[row] - shift
    read = int(place.nonzero()[0, 0]) if place.any() else int((keys == row).nonzero()[0, 0])
    near = at[keys] <= at[keys[read]]
    read, keys = int(near[:read].sum()), keys[near]
    everything = torch.ones(1, 1, len(keys), len(keys), dtype=torch.bool)
    with torch.no_grad():
        logits = network(
            input_ids=q.ids[keys][None],
            position_ids=places(network, q.positions[keys])[None],
            attention_mask=everything,
        )
    return logits.logits[0, read]


def test_logits_are_those_of_the_network_over_the_visible_keys_alone(family: tuple[str, Model, Any]) -> None:
    name, model, network = family
    assert isinstance(model, Model) and model.num_layers == 1
    for seed in range(3):
        q = asked(model, seed)
        found = model.logits(q.ids, q.positions, q.mask, q.rows)
        assert found.dtype == torch.float32 and found.shape == (4, model.vocab_size)
        for number, row in enumerate(q.rows.tolist()):
            expected = alone(network, q, row, int(name in SHIFTED), model.block_size)
            torch.testing.assert_close(found[number], expected, atol=1e-4, rtol=1e-4)


def test_a_batch_answers_as_single_questions_do(family: tuple[str, Model, Any]) -> None:
    _, model, _ = family
    questions = [asked(model, seed, size) for seed, size in ((0, 9), (1, 14), (2, 11))]
    for q, found in zip(questions, answer_all(model, questions), strict=True):
        torch.testing.assert_close(found.logits, model.logits(q.ids, q.positions, q.mask, q.rows), atol=1e-4, rtol=1e-4)


def in_any_state(session: Session, seed: int) -> DecodeState:
    """The session's state with any tokens and states in the places of its masks."""
    draw = random.Random(seed)
    state, mask_id = session.state, session.model.mask_id
    letters = ["U" if given else draw.choice(session.decoder.states) for given in state.fixed]
    tokens = [
        token if given else mask_id if letter == "M" else draw.randrange(session.model.vocab_size)
        for token, given, letter in zip(state.tokens, state.fixed, letters, strict=True)
    ]
    sure = tuple(draw.random() for _ in tokens)
    return replace(state, tokens=tuple(tokens), states="".join(letters), confidence=sure, reliability=sure)


@pytest.mark.parametrize("decoder", ["dard", "wino"])
def test_a_token_never_changes_its_own_shadow(decoder: str, family: tuple[str, Model, Any]) -> None:
    """In one layer: the prediction at s_i is the same whatever x_i is, in every mix of states."""
    name, model, _ = family
    session = Session(model, PROMPTS.get(name, TEMPLATE) + " [MASK]" * 5, decoder)
    found = 0
    for seed in range(4):
        state = in_any_state(session, seed)
        q = session.decoder.ask(model, session.settings, state)
        size = len(state.prompt) + len(state.tokens)
        shadows = [row for row in q.rows.tolist() if row >= size]
        found += len(shadows)
        for row in shadows:
            own = int((q.positions[:size] == q.positions[row]).nonzero()[0, 0])
            other = q.ids.clone()
            other[own] = (q.ids[own] + 1) % model.vocab_size
            wanted = torch.tensor([row])
            before = model.logits(q.ids, q.positions, q.mask, wanted)
            assert torch.equal(before, model.logits(other, q.positions, q.mask, wanted)), (row, state.states)
    assert found


@pytest.mark.parametrize("decoder", ALL_DECODERS)
def test_a_template_is_decoded_to_its_end(decoder: str, family: tuple[str, Model, Any]) -> None:
    name, model, _ = family
    prompt = PROMPTS.get(name, TEMPLATE)
    trace = dard.decode(model, prompt, decoder)
    assert trace.finished and model.mask_id not in trace.tokens
    given = [token for token, fixed in zip(trace.tokens, trace.fixed, strict=True) if fixed]
    assert given == [token for token in trace.start.tokens if token != model.mask_id]
    again = dard.Trace.from_bytes(trace.to_bytes())
    assert again.text == trace.text and again.prompt_tokens == trace.prompt_tokens


def test_a_prompt_is_continued(family: tuple[str, Model, Any]) -> None:
    name, model, _ = family
    trace = dard.decode(
        model, "w5 w7" if name == "mmada" else "the city of", gen_length=4, block_length=model.block_size or 2
    )
    free = [token for token, fixed in zip(trace.tokens, trace.fixed, strict=True) if not fixed]
    assert trace.finished and len(free) == 4


def test_words_are_listed_only_where_a_token_is_a_word(family: tuple[str, Any, Any]) -> None:
    """Only the tokenizer written for MMaDA knows whole words and nothing else."""
    name, model, _ = family
    assert bool(model.words) == (name == "mmada")
    for word in model.words[5:9]:
        assert model.encode_piece(word) == [model.words.index(word)]
