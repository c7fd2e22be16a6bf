"""The one loop: sessions in company make the steps they make alone, and share forward passes where that pays."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

import dard
from dard.decoders import get_decoder
from dard.decoders.base import Decision, plain_question
from dard.decoding import loop
from dard.models.base import Answer, Question
from dard.tasks import TASKS
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model
from visual.server.cases import gallery


@pytest.fixture(scope="module")
def model() -> Any:
    return dard.load_model("embedded")


class Counting:
    """A model that counts its forward passes and what they hold."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.passes: list[list[int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        self.passes.append([len(question.ids) for question in questions])
        return self.inner.answer(questions)


def same(together: Sequence[dard.Session], alone: Sequence[dard.Session]) -> None:
    for one, other in zip(together, alone, strict=True):
        assert [(s.tokens, s.states) for s in one.steps] == [(s.tokens, s.states) for s in other.steps]


def test_the_gallery_is_decoded_alike_together_and_one_by_one(model: Any) -> None:
    def sessions() -> list[dard.Session]:
        return [dard.Session(model, case["prompt"], case["decoder"], **case["settings"]) for case in gallery()]

    together, alone = sessions(), sessions()
    loop.finish(together)
    for session in alone:
        session.run()
    same(together, alone)


def decoded_alike(model: Any, count: int, seed: int = 0) -> int:
    """All decoders on items of all test sets, eight sessions at a time; how many runs were compared."""
    compared = 0
    for task in TASKS.values():
        for name in ALL_DECODERS:
            items = task.test_items(count, seed)
            for first in range(0, count, 8):

                def sessions(part: Sequence[Any] = items[first : first + 8], name: str = name) -> list[dard.Session]:
                    lengths = [{} if item.gen_length is None else {"gen_length": item.gen_length} for item in part]
                    pairs = zip(part, lengths, strict=True)
                    return [dard.Session(model, item.prompt, name, record=False, **own) for item, own in pairs]

                together, alone = sessions(), sessions()
                loop.finish(together)
                for session in alone:
                    session.run()
                same(together, alone)
                compared += len(alone)
    return compared


def test_the_test_sets_are_decoded_alike_together_and_one_by_one(model: Any) -> None:
    assert decoded_alike(model, 3) == 3 * len(ALL_DECODERS) * len(TASKS)


@pytest.mark.long
def test_whole_test_sets_are_decoded_alike_together_and_one_by_one(model: Any) -> None:
    assert decoded_alike(model, 200) == 200 * len(ALL_DECODERS) * len(TASKS)


def test_a_comparison_makes_one_forward_pass_per_step(model: Any) -> None:
    counting = Counting(model)
    item = TASKS["arithmetic"].test_items(1)[0]
    traces = dard.compare(counting, item.prompt, gen_length=item.gen_length)
    assert len(counting.passes) == max(trace.num_steps for trace in traces.values())
    assert len(counting.passes[0]) == 4


def test_questions_that_would_be_mostly_padding_go_apart() -> None:
    counting = Counting(random_model(0))
    long = dard.Session(counting, [5] * 60, "standard", gen_length=4, steps=1)
    short = [dard.Session(counting, [5], "standard", gen_length=2, steps=1) for _ in range(3)]
    loop.finish([*short, long])
    assert counting.passes == [[64], [3, 3, 3]]


def test_a_pass_that_fails_leaves_nothing_behind() -> None:
    class Failing(Counting):
        def answer(self, questions: Sequence[Question]) -> list[Answer]:
            if len(self.passes) == 1:
                raise RuntimeError("CUDA out of memory")
            return super().answer(questions)

    failing = Failing(random_model(0))
    sessions = [dard.Session(failing, [5, 6], "standard", gen_length=6), dard.Session(failing, [5] * 40, gen_length=6)]
    with pytest.raises(dard.InputError, match="does not fit into the memory"):
        loop.finish(sessions)
    assert [len(session.steps) for session in sessions] == [0, 0]


def test_so_many_passes_and_no_more(model: Any) -> None:
    session = dard.Session(model, "The city of [MASK] [MASK] is on the Southern California coast .", "standard")
    assert [len(made) for made in loop.passes([session], 1)] == [1] and not session.finished
    assert [len(made) for made in loop.passes([session], 0)] == []
    assert [len(made) for made in loop.passes([session])] == [1] and session.finished


# A stranger's decoder or model that does not keep to its part.


def question(row: int = 2, ids: Sequence[int] = (5, 6, 0)) -> Question:
    return Question(torch.tensor(ids), torch.arange(3), torch.ones(3, 3, dtype=torch.bool), torch.tensor([row]))


def mine(**parts: Any) -> type[dard.Decoder]:
    """A decoder that commits its first mask, but for the parts that are given."""

    def decide(self: Any, model: Any, settings: Any, state: Any, question: Question, answer: Answer) -> Any:
        decision = Decision()
        decision.commit(state.free("M")[:1], {state.free("M")[0]: 5})
        return decision

    def ask(self: Any, model: Any, settings: Any, state: Any) -> Question:
        return plain_question(model, state, state.free("M"))

    def instead(value: Any) -> Any:
        return lambda self, model, settings, state, *rest: value() if callable(value) else value

    changed = {name: instead(value) for name, value in parts.items()}
    return type("Mine", (dard.Decoder,), {"name": "mine", "ask": ask, "decide": decide} | changed)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, None),
        ({"ask": None}, "step 1 asked NoneType; ask must return a Question"),
        ({"decide": None}, "step 1 decided NoneType; decide must return a Decision"),
        (
            {"decide": lambda: Decision(tokens={999: 5}, states={999: "U"})},
            "step 1 gives tokens at position 999; positions are ints from 0 to 19",
        ),
        ({"decide": lambda: Decision(confidence={-1: 0.5})}, "step 1 gives confidence at position -1; positions are"),
        (
            {"decide": lambda: Decision(tokens={3: 40}, states={3: "U"})},
            "step 1 puts token 40 at position 3; the ids of model 'random-0' are ints from 0 to 39",
        ),
        (
            {"decide": lambda: Decision(tokens={3: 5}, states={3: "C"})},
            "puts position 3 into state 'C'; its states are M",
        ),
        ({"decide": lambda: Decision(states={3: "U"})}, "position 3 into state 'U', but the mask token is there"),
        ({"decide": lambda: Decision(tokens=[3])}, "gives tokens as list; they must be a dict by position"),  # type: ignore[arg-type]
        ({"decide": lambda: Decision(confidence={3: math.nan})}, "position 3 the confidence nan; it must be a finite"),
        ({"decide": lambda: Decision(confidence={3: torch.tensor(0.5)})}, "the confidence tensor(0.5000); it must"),
        ({"ask": lambda: question(row=99)}, "step 1 asked for row 99 of a question whose rows go from 0 to 2"),
        (
            {"ask": lambda: question(ids=[5, 6, 99])},
            "step 1 asked for token 99 of a question whose ids go from 0 to 39",
        ),
        ({"ask": lambda: replace(question(), rows=[1])}, "a question whose rows are a list; a tensor [1] was expected"),
        (
            {"ask": lambda: replace(question(), mask=torch.ones(3, 2))},
            "a question whose mask are a tensor [3, 2]; a tensor [3, 3] was expected",
        ),
        (
            {"decide": Decision},
            "step 500 changed no token and no state, nor did the 499 before it, and 20 masks are left: every decide",
        ),
    ],
)
def test_a_decoder_that_misbehaves_is_told_in_one_sentence(parts: dict[str, Any], sentence: str | None) -> None:
    session = dard.Session(Uniform(), [5, 6], mine(**parts), gen_length=20, record=False)
    if sentence is None:
        session.run()
        assert session.finished
        return
    with pytest.raises(dard.InputError) as refused:
        session.run()
    assert str(refused.value).startswith("decoder 'mine': ") and sentence in str(refused.value)
    assert len(session.steps) < 600


class Uniform:
    """A model without weights that thinks all tokens alike."""

    name, vocab_size, num_layers, max_length = "random-0", 40, 1, 512
    mask_id, eos_id, device = 0, None, torch.device("cpu")

    def encode(self, prompt: str) -> list[int]:
        return [int(word) for word in prompt.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(map(str, ids))

    def token_text(self, token: int) -> str:
        return str(token)

    def logits(self, ids: Any, positions: Any, mask: Any, rows: Any) -> Any:
        return torch.zeros(len(rows), self.vocab_size)


@pytest.mark.parametrize("shape", [(20, 39), (19, 40), (1, 20, 40), None])
def test_a_model_with_logits_of_another_shape_is_told_what_was_expected(shape: tuple[int, ...] | None) -> None:
    class Other(Uniform):
        def logits(self, *_: Any) -> Any:
            return None if shape is None else torch.zeros(shape)

    got = "type NoneType" if shape is None else f"shape {list(shape)}"
    said = f"decoder 'standard': step 1 got logits of {got} from model 'random-0'; [20, 40] was expected"
    with pytest.raises(dard.InputError, match=re.escape(said)):
        dard.decode(Other(), [5, 6], "standard", gen_length=20)


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize(("value", "kind"), [(math.nan, "NaN"), (math.inf, "infinite"), (-math.inf, "infinite")])
def test_logits_that_are_no_numbers_give_no_answer(decoder: str, value: float, kind: str) -> None:
    model = copy.copy(random_model(0))
    answer = model.answer

    def broken(questions: Sequence[Question]) -> list[Answer]:
        answers = answer(questions)
        for each in answers:  # one token of a row, or all of a row: some are ruled out by -inf, as the mask is
            each.logits[-1, 7 if value > 0 or math.isnan(value) else slice(None)] = value
        return answers

    model.answer = broken  # type: ignore[method-assign]
    said = (
        rf"^decoder '{decoder}': step 1 got logits that are {kind} \(row \d+ of \d+\) from model 'random-0' in float32"
    )
    with pytest.raises(dard.InputError, match=said):
        dard.decode(model, [5, 6], decoder, gen_length=6)


def test_half_precision_that_overflows_is_told_what_to_try() -> None:
    class Half(Uniform):
        def logits(self, *arguments: Any) -> Any:
            return (super().logits(*arguments) + 60_000).half() * 2

    with pytest.raises(dard.InputError, match=r"in float16, .*: load the model with dtype bfloat16 or float32$"):
        dard.decode(Half(), [5, 6], "standard", gen_length=6)


def test_ids_beyond_the_vocabulary_are_refused() -> None:
    class Beyond(Uniform):
        mask_id = 40

    with pytest.raises(dard.InputError, match=r"^model 'random-0' has mask_id = 40; its ids go from 0 to 39$"):
        dard.Session(Beyond(), [5, 6], "standard")
    Beyond.mask_id = None  # type: ignore[assignment]
    with pytest.raises(dard.InputError, match=r"^model 'random-0' has mask_id = None; its ids go from 0 to 39$"):
        dard.Session(Beyond(), [5, 6], "standard")
    with pytest.raises(dard.InputError, match=r"^prompt holds token id 41; this model's ids go from 0 to 39$"):
        dard.Session(Uniform(), "5 41", "standard")
    wrong: list[tuple[str, Any, str]] = [
        ("eos_id", 99, r"has eos_id = 99; its ids go from 0 to 39$"),
        ("vocab_size", "40", r"has vocab_size = '40'; it must be a whole number of at least 1$"),
        ("encode", lambda *_: ["a"], r"^prompt holds token id 'a'; this model's ids go from 0 to 39$"),
        ("token_text", lambda *_: None, r"writes token 0 as None; token_text gives a str$"),
    ]
    for name, value, sentence in wrong:
        strange = type("Strange", (Uniform,), {name: value})()
        with pytest.raises(dard.InputError, match=sentence):
            dard.Session(strange, "5 6", "standard")


def test_what_is_no_model_is_told_so() -> None:
    whole: Any = torch.nn.Linear(2, 2)
    with pytest.raises(
        dard.InputError, match=r"^model is a Linear, which has no name; give what dard.load_model retur"
    ):
        dard.decode(whole, [5, 6])

    class Counts(Uniform):
        def logits(self, *_: Any) -> Any:
            return torch.zeros(20, self.vocab_size, dtype=torch.int64)

    with pytest.raises(dard.InputError, match=r"'standard': step 1 got logits of torch.int64 from model .*floats"):
        dard.decode(Counts(), [5, 6], "standard", gen_length=20)


def test_a_model_that_answers_too_few_questions_is_told_so() -> None:
    class Few(Uniform):
        offers = frozenset({"batch"})

        def answer(self, questions: Sequence[Question]) -> list[Answer]:
            return [Answer(torch.zeros(len(q.rows), 40)) for q in questions[1:]]

    with pytest.raises(dard.InputError, match=r"^model 'random-0' gave 0 answers to 1 questions$"):
        dard.decode(Few(), [5, 6], "standard")


def test_after_commit_after_steps_the_masks_that_are_left_take_a_step_each() -> None:
    """As the setting's text says: it is no cap on the passes, which its former name, max_steps, promised."""
    trace = dard.decode(random_model(0), [5, 6], gen_length=20, commit_after=1)
    assert trace.ended_by == "cap"
    assert trace.num_steps == 1 + trace.steps[0].states.count("M") > 2
    formerly = dard.decode(random_model(0), [5, 6], gen_length=20, max_steps=1)
    assert formerly.settings == trace.settings and formerly.text == trace.text
    with pytest.raises(dard.InputError, match=r"^'max_steps' is the former name of 'commit_after'; give one of them$"):
        dard.decode(random_model(0), [5, 6], max_steps=1, commit_after=1)
    assert dard.compare(random_model(0), [5, 6], ["dard"], gen_length=20, max_steps=1)["dard"].text == trace.text
    assert (
        "masks that are left are filled in further steps" in get_decoder("dard").Settings.allowed()["commit_after"].help
    )
