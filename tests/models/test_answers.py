"""What a question can ask for beyond logits: attention, layers and soft inputs, on every family.

Attention is compared with what transformers itself gives out of an eager copy of the network, a layer's logits with the
same network without its later layers, soft inputs with a network whose embedding table holds the mixes.
"""

from __future__ import annotations

import copy
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import dard
from dard.decoding.loop import ask
from dard.models import Question, Soft, answer_all, check_needs, offers
from dard.models.base import Answer, Frozen, answer
from dard.models.forward import mean_weights
from dard.models.layers import stack_of
from tests.models.families import ENCODERS, SHIFTED, WRITERS, load_family, places
from tests.models.mixes import in_the_table, random_soft
from tests.models.test_families import alone, asked, in_blocks
from tests.models.test_interface import Letters
from tests.tiny import random_model

Family = tuple[str, Any, Any]
LAYERS = 3


def load(name: str, layers: int, factory: pytest.TempPathFactory) -> Family:
    return load_family(name, factory.mktemp("family"), layers)


@pytest.fixture(scope="module", params=list(WRITERS))
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return load(request.param, LAYERS, tmp_path_factory)


@pytest.fixture(scope="module", params=list(WRITERS))
def one_layer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    return load(request.param, 1, tmp_path_factory)


def eager_attention(network: Any, q: Question) -> Tensor:
    """[layers, S, S] as transformers computes it, head by head; its eager kernel adds the mask to the scores."""
    eager = copy.deepcopy(network.base_model)
    eager.set_attn_implementation("eager")
    mask = torch.zeros(q.mask.shape).masked_fill(~q.mask, torch.finfo(torch.float32).min)
    with torch.no_grad():
        given = eager(
            input_ids=q.ids[None],
            position_ids=places(network, q.positions)[None],
            attention_mask=mask[None, None],
            output_attentions=True,
        )
    return torch.stack([layer[0].mean(dim=0) for layer in given.attentions])


# Attention.


def test_attention_is_what_an_eager_network_gives_out(family: Family) -> None:
    _, model, network = family
    q = replace(asked(model, 1), attention=(2, 0))
    found = answer(model, q)
    assert found.attention is not None and found.attention.dtype == torch.float32
    torch.testing.assert_close(
        found.attention, eager_attention(network, in_blocks(model, q))[[2, 0]], atol=1e-5, rtol=1e-4
    )
    assert not found.attention[:, ~in_blocks(model, q).mask].any()
    torch.testing.assert_close(found.attention.sum(dim=-1), torch.ones(2, 9))


def test_to_ask_for_attention_changes_no_bit_of_the_logits(family: Family) -> None:
    _, model, _ = family
    q = asked(model, 2)
    assert torch.equal(answer(model, replace(q, attention=(0, 1, 2))).logits, answer(model, q).logits)
    assert answer(model, q).attention is None


def test_in_a_batch_everybody_gets_what_they_asked_for_without_padding(family: Family) -> None:
    _, model, network = family
    wanted: list[tuple[int, ...]] = [(1,), (), (2, 0, 2), (0,)]
    questions = [
        replace(asked(model, seed, size), attention=layers)
        for seed, (size, layers) in enumerate(zip((9, 14, 11, 14), wanted, strict=True))
    ]
    for q, found in zip(questions, answer_all(model, questions), strict=True):
        if q.attention:
            assert found.attention is not None and found.attention.shape == (len(q.attention), len(q.ids), len(q.ids))
            expected = eager_attention(network, in_blocks(model, q))[list(q.attention)]
            torch.testing.assert_close(found.attention, expected, atol=1e-5, rtol=1e-4)
        else:
            assert found.attention is None


def test_a_row_that_sees_nothing_looks_nowhere() -> None:
    model = random_model(0)
    q = Question(torch.arange(4) + 5, torch.arange(4), torch.eye(4, dtype=torch.bool), torch.tensor([0]), (0,))
    q.mask[2, 2] = False
    found = answer(model, q).attention
    assert found is not None and found[0].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_query_heads_may_share_a_key_head() -> None:
    """As where the fused kernel itself takes grouped heads: the first two look at the first key head."""
    query, key = torch.randn(4, 5, 8), torch.randn(2, 6, 8)
    mask = torch.rand(1, 5, 6) < 0.7
    one_by_one = [mean_weights(query[[head]], key[[head // 2]], mask, 0.5) for head in range(4)]
    torch.testing.assert_close(mean_weights(query, key, mask, 0.5), torch.stack(one_by_one).mean(dim=0))


def test_threads_do_not_watch_each_other() -> None:
    model = random_model(3, layers=4)
    questions = [asked(model, seed, 9 + seed) for seed in range(6)]
    questions = [replace(q, attention=(n % 4, 3) if n % 2 else ()) for n, q in enumerate(questions)]
    expected = [answer(model, q) for q in questions]
    wrong: list[int] = []

    def ask_again(number: int) -> None:
        for _ in range(20):
            found, known = answer(model, questions[number]), expected[number]
            same = found.attention is known.attention is None or (
                found.attention is not None
                and known.attention is not None
                and torch.equal(found.attention, known.attention)
            )
            if not same or not torch.equal(found.logits, known.logits):
                wrong.append(number)

    threads = [threading.Thread(target=ask_again, args=(number,)) for number in range(len(questions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Soft inputs.


def test_a_mix_is_a_token_whose_embedding_is_the_mix(one_layer: Family) -> None:
    """Row by row as in the network's own words; Dream's are read by readers, which must hold the mix, too."""
    name, model, network = one_layer
    shift = int(name in SHIFTED)
    for seed in range(3):
        q = replace(asked(model, seed), rows=torch.arange(9), soft=random_soft(model.vocab_size, [1, 4, 6, 8], seed))
        changed, plain, used = in_the_table(network, q)
        found = answer(model, q).logits
        found[:, used] = 0
        for row in range(9):
            expected = alone(changed, plain, row, shift, model.block_size)
            expected[used] = 0
            torch.testing.assert_close(found[row], expected, atol=1e-4, rtol=1e-4)


def test_mixes_go_through_all_layers_and_may_stand_in_a_batch(family: Family) -> None:
    _, model, network = family
    places: list[list[int]] = [[0, 3], [], [2, 5, 10], [13]]
    questions = [
        replace(
            asked(model, seed, size),
            attention=(2,),
            soft=random_soft(model.vocab_size, where, seed) if where else None,
        )
        for seed, (size, where) in enumerate(zip((9, 14, 11, 14), places, strict=True))
    ]
    for q, found in zip(questions, answer_all(model, questions), strict=True):
        own, plain, _ = in_the_table(network, q) if q.soft else (network, q, [])
        assert found.attention is not None
        torch.testing.assert_close(
            found.attention[0], eager_attention(own, in_blocks(model, plain))[2], atol=1e-5, rtol=1e-4
        )


def test_a_mix_of_one_token_is_that_token(family: Family) -> None:
    _, model, _ = family
    q = asked(model, 4)
    places = torch.tensor([7, 0, 3])
    rest = torch.tensor([[5, 6]]).expand(3, 2)
    soft = Soft(places, torch.cat([rest, q.ids[places][:, None]], dim=1), torch.tensor([[0.0, 0.0, 1.0]]).expand(3, 3))
    blank = q.ids.clone()
    blank[places] = model.mask_id
    assert torch.equal(answer(model, replace(q, ids=blank, soft=soft)).logits, answer(model, q).logits)


@pytest.mark.parametrize(
    ("places", "ids", "weights", "sentence"),
    [
        ([1, 2], [[3], [4]], [[1.0], [0.5]], "weights of a soft input must be 0 or more and sum to 1"),
        ([1], [[3, 4]], [[1.5, -0.5]], "weights of a soft input must be 0 or more and sum to 1"),
        ([1], [[3, 4]], [[float("nan"), 1.0]], "weights of a soft input must be 0 or more and sum to 1"),
        ([1, 1], [[3], [4]], [[1.0], [1.0]], "positions of a soft input must differ"),
        ([1, 2], [[3, 4]], [[0.5, 0.5]], r"2 positions needs ids and weights \[2, m\], not \[1, 2\] and \[1, 2\]"),
    ],
)
def test_what_is_no_mix_is_refused(places: Any, ids: Any, weights: Any, sentence: str) -> None:
    with pytest.raises(dard.InputError, match=sentence):
        Soft(torch.tensor(places), torch.tensor(ids), torch.tensor(weights))


# Layers.


def without_later_layers(model: Any, layer: int) -> Any:
    """The model cut off behind a layer: final norm and head follow it."""
    short = copy.copy(model)
    short.network, short.body, short.head = copy.deepcopy((model.network, model.body, model.head))
    del stack_of(short.body)[layer + 1 :]  # type: ignore[attr-defined]
    short.body.config.num_hidden_layers = layer + 1
    return short


def test_a_layers_logits_are_those_of_the_network_that_ends_there(family: Family) -> None:
    _, model, _ = family
    q = replace(asked(model, 1), layers=(2, 0, 1))
    found = answer(model, q)
    assert found.layers is not None and found.layers.shape == (3, len(q.rows), model.vocab_size)
    assert found.layers.dtype == torch.float32 and torch.equal(found.layers[0], found.logits)
    for place, layer in enumerate(q.layers):
        literal = answer(without_later_layers(model, layer), replace(q, layers=())).logits
        torch.testing.assert_close(found.layers[place], literal, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(found.layers[1], found.logits, atol=0.1)


def test_to_ask_for_layers_changes_no_bit_and_leaves_no_watch_behind(family: Family) -> None:
    _, model, _ = family
    q = asked(model, 2)
    plain = answer(model, q)
    assert plain.layers is None and torch.equal(answer(model, replace(q, layers=(0, 2))).logits, plain.logits)
    assert not any(layer._forward_hooks for layer in stack_of(model.body))


def test_in_a_batch_everybody_gets_their_own_layers() -> None:
    model = random_model(0, LAYERS)
    wanted: list[tuple[int, ...]] = [(1,), (), (2, 0), (0,)]
    sizes = (9, 14, 11, 14)
    questions = [
        replace(asked(model, seed, size), layers=layers, attention=layers[:1])
        for seed, (size, layers) in enumerate(zip(sizes, wanted, strict=True))
    ]
    for q, found in zip(questions, answer_all(model, questions), strict=True):
        alone = answer(model, q).layers
        assert (found.layers is None) == (alone is None) == (not q.layers)
        if found.layers is not None:
            torch.testing.assert_close(found.layers, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("steps", [0, 1])
def test_the_last_layer_says_what_was_said_behind_a_frozen_prompt_too(steps: int) -> None:
    model = random_model(0, LAYERS)
    session = dard.Session(model, [5, 6, 7], "standard", gen_length=6, steps=3, prefix_cache="block")
    for _ in range(steps):
        session.step()
    question = ask(session.decoder, model, session.settings, session.state)
    assert question.frozen is not None and (question.frozen.opening is None) == (steps == 0)
    found = answer(model, replace(question, layers=(LAYERS - 1,)))
    assert found.layers is not None and torch.equal(found.layers[0], found.logits)


def test_threads_do_not_watch_each_others_layers() -> None:
    model = random_model(3, layers=4)
    questions = [replace(asked(model, seed, 9), layers=(seed % 4,)) for seed in range(4)]
    expected = [answer(model, q).layers for q in questions]
    wrong: list[int] = []

    def ask_again(number: int) -> None:
        for _ in range(20):
            if not torch.equal(answer(model, questions[number]).layers, expected[number]):  # type: ignore[arg-type]
                wrong.append(number)

    threads = [threading.Thread(target=ask_again, args=(number,)) for number in range(len(questions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# What a model offers.


def test_what_the_families_offer(one_layer: Family) -> None:
    name, model, _ = one_layer
    own = {"mmada": {"freeze", "images"}}.get(name, set() if name in ENCODERS else {"freeze"})
    own |= {"think"} if model.chat and name not in ("llada", "llada2") else set()  # whose template knows of no thinking
    assert offers(model) == {"attention", "layers", "soft", "batch", "prefill"} | own
    check_needs(model, frozenset({"attention", "soft"}), "anybody")


def test_a_model_of_logits_alone_is_asked_for_nothing_else() -> None:
    q = asked(Letters(), 0)
    assert offers(Letters()) == frozenset() and answer(Letters(), q).attention is None
    with pytest.raises(dard.InputError) as caught:
        answer(Letters(), replace(q, attention=(0,), soft=random_soft(26, [1], 0)))
    assert str(caught.value) == (
        "a question needs attention and soft inputs, which model 'letters' does not offer; it offers nothing but logits"
    )


@pytest.mark.parametrize("layer", [-1, 2])
def test_a_layer_that_is_not_there(layer: int) -> None:
    model = random_model(0)
    with pytest.raises(dard.InputError, match=rf"logits of layer {layer} is not there; 'random-0' has layers 0 to 1"):
        answer(model, replace(asked(model, 0), layers=(0, layer)))
    with pytest.raises(dard.InputError, match=rf"layer {layer} is not there; 'random-0' has layers 0 to 1"):
        answer(model, replace(asked(model, 0), attention=(0, layer)))


class Half(Letters):
    """Offers attention, one question at a time; notes what it was asked."""

    offers = frozenset({"attention"})

    def __init__(self) -> None:
        self.heard: list[list[Question]] = []

    def answer(self, questions: list[Question]) -> list[Answer]:
        self.heard.append(questions)
        (q,) = questions
        return [Answer(self.logits(q.ids, q.positions, q.mask, q.rows), q.mask[None].float())]


def test_a_model_is_asked_in_the_way_it_offers() -> None:
    model = Half()
    first = replace(asked(model, 0), attention=(0,))
    found = answer_all(model, [first, replace(asked(model, 1), frozen=Frozen(2))])
    assert [len(each) for each in model.heard] == [1, 1] and model.heard[1][0].frozen is None
    assert found[0].attention is not None and torch.equal(found[0].attention[0].bool(), first.mask)
    with pytest.raises(
        dard.InputError, match=r"needs soft inputs, which model 'letters' does not offer; it offers attention$"
    ):
        answer(model, replace(first, soft=random_soft(26, [1], 0)))


def test_attention_is_refused_where_it_cannot_be_watched() -> None:
    model = copy.copy(random_model(0))
    model.body = copy.deepcopy(model.body)
    model.body.set_attn_implementation("eager")
    with pytest.raises(dard.InputError, match="attention cannot be read off this network"):
        answer(model, replace(asked(model, 0), attention=(0,)))
