"""The one question to a model, and what a foreign model must bring."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

import dard
from dard.models import Model, Question, answer_all
from tests.helpers import LOGITS_ALONE
from tests.tiny import MASK_ID, VOCABULARY, random_model, random_network


def question(seed: int, size: int, rows: int) -> Question:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(size, size, generator=generator) < 0.6
    return Question(
        ids=torch.randint(0, VOCABULARY, (size,), generator=generator),
        positions=torch.randint(0, 30, (size,), generator=generator),
        mask=mask | torch.eye(size, dtype=torch.bool),
        rows=torch.randint(0, size, (rows,), generator=generator),
    )


def test_logits_are_those_of_a_full_forward_at_the_rows() -> None:
    for seed in range(4):
        network, q = random_network(seed), question(seed, 11, 5)
        with torch.no_grad():
            full = network(
                input_ids=q.ids[None], position_ids=q.positions[None], attention_mask=q.mask[None, None]
            ).logits[0]
        found = random_model(seed).logits(q.ids, q.positions, q.mask, q.rows)
        torch.testing.assert_close(found, full[q.rows], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 3, 0])
def test_the_head_runs_on_the_requested_rows_only(rows: int) -> None:
    model, q = random_model(0), question(1, 12, rows)
    shapes: list[tuple[int, ...]] = []
    hook = model.head.register_forward_pre_hook(lambda module, inputs: shapes.append(tuple(inputs[0].shape)))
    try:
        answer = model.logits(q.ids, q.positions, q.mask, q.rows)
    finally:
        hook.remove()
    assert answer.shape == (rows, VOCABULARY)
    assert [shape[:-1] for shape in shapes] == [(rows,)]


def test_a_batch_answers_as_single_questions_do() -> None:
    model = random_model(2, 3)
    questions = [question(seed, size, rows) for seed, (size, rows) in enumerate([(5, 2), (17, 6), (1, 1), (9, 9)])]
    together = model.answer(questions)
    for q, found in zip(questions, together, strict=True):
        alone = model.logits(q.ids, q.positions, q.mask, q.rows)
        torch.testing.assert_close(found.logits, alone, atol=1e-5, rtol=1e-5)
    for a, b in zip(answer_all(model, questions), together, strict=True):
        assert torch.equal(a.logits, b.logits)


def test_answers_may_be_overwritten() -> None:
    model, q = random_model(0), question(1, 6, 3)
    first = model.logits(q.ids, q.positions, q.mask, q.rows)
    kept = first.clone()
    first.zero_()
    assert torch.equal(model.logits(q.ids, q.positions, q.mask, q.rows), kept)


def test_a_model_takes_tokens_apart_and_together() -> None:
    model = random_model(0)
    assert model.encode("w5 w7") == [5, 7]
    assert model.decode([5, 7]) == "w5 w7"
    assert model.token_text(MASK_ID) == "[MASK]"
    assert isinstance(model, Model)


def test_unknown_words_are_named_with_close_matches() -> None:
    with pytest.raises(dard.InputError) as caught:
        random_model(0).encode("w5 w77 zebra w77 w3")
    sentence = str(caught.value)
    assert "prompt holds 2 words outside the 40 words of model 'random-0'" in sentence
    assert "'w77' (close: w7" in sentence and "'zebra'" in sentence and "w5" not in sentence.split("close")[0]
    with pytest.raises(dard.InputError, match=r"'France'$"):  # neither Francisco nor rain is close to it
        dard.load_model("embedded").encode("The city of France")
    with pytest.raises(dard.InputError, match=r"and 3 more$"):
        random_model(0).encode(" ".join(f"word{i}" for i in range(8)))


@pytest.mark.parametrize(
    ("prompt", "hint"),
    [
        ("The city of [MASK] [MASK] is in Arkansas.", "'Arkansas.' (write: Arkansas .)"),
        ("Countdown : 8 and 10 and 8 make 88 . Answer :", "'10' (write: 1 0), '88' (write: 8 8)"),
        ("7 +5= 1 2 .", "'+5=' (write: + 5 =)"),
    ],
)
def test_words_that_only_lack_spaces_are_written_apart(prompt: str, hint: str) -> None:
    with pytest.raises(dard.InputError) as caught:
        dard.load_model("embedded").encode(prompt)
    assert hint in str(caught.value)


class Letters:
    """A foreign model: no network, no batch, no `encode_piece`, written from the documentation alone."""

    name, vocab_size, num_layers, max_length = "letters", 28, 1, 64
    mask_id, eos_id, device = 26, None, torch.device("cpu")

    def encode(self, prompt: str) -> list[int]:
        return [ord(letter) - ord("a") for letter in prompt.replace(" ", "")]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.token_text(token) for token in ids)

    def token_text(self, token: int) -> str:
        return "_" if token == self.mask_id else "!" if token == 27 else chr(ord("a") + token)

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        """The alphabet goes on: surer next to a visible letter than far from one."""
        answer = torch.zeros(len(rows), self.vocab_size)
        for number, row in enumerate(rows.tolist()):
            for key in mask[row].nonzero()[:, 0].tolist():
                distance = int(positions[row] - positions[key])
                if ids[key] != self.mask_id and distance:
                    answer[number, int(ids[key] + distance) % 26] += 4.0 / abs(distance)
        return answer


@pytest.mark.parametrize("decoder", LOGITS_ALONE)
def test_a_foreign_model_of_thirty_lines_decodes(decoder: str) -> None:
    assert isinstance(Letters(), Model)
    trace = dard.decode(Letters(), "a [MASK][MASK][MASK] e [MASK]", decoder)
    assert trace.text == "abcdef" and trace.finished
    assert dard.Trace.from_bytes(trace.to_bytes()).text == "abcdef"
    assert dard.decode(Letters(), "abc", decoder, gen_length=4, block_length=3).text == "defg"


def test_foreign_models_can_be_compared_and_branched() -> None:
    traces = dard.compare(Letters(), "a [MASK] c")
    assert {trace.text for trace in traces.values()} == {"abc"}
    session = dard.Session(Letters(), "a [MASK][MASK]")
    assert session.edit(1, token="x", state="U").run().text[1] in "xb"
