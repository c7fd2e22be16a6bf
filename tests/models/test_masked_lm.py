"""BERT and its kin: framed by [CLS] and [SEP] as their own tokenizer frames a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dard
from dard.core.prompt import initial_state
from dard.models import Model
from dard.models.checkpoint import load_tokenizer
from tests.models.families import write_bert, write_distilbert, write_modernbert, write_roberta

TEMPLATE = "The city of [MASK] is [MASK] and big."


@pytest.fixture(scope="module", params=[write_bert, write_distilbert, write_roberta, write_modernbert])
def bert(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Any]:
    folder, network = request.param(tmp_path_factory.mktemp("bert") / "m", layers=2)
    return dard.load_model(folder), network


def own_words(model: Any) -> str:
    """The template with the tokenizer's own mask token; the space before it belongs to it."""
    return TEMPLATE.replace(" [MASK]", model.tokenizer.mask_token)


def test_a_template_is_framed_as_the_tokenizer_does_it(bert: tuple[Any, Any]) -> None:
    model, _ = bert
    state = initial_state(model, TEMPLATE, 8, None)
    assert list(state.prompt + state.tokens) == model.tokenizer(own_words(model))["input_ids"]
    assert state.prompt == (model.tokenizer.cls_token_id,)
    assert state.fixed[-1] and state.tokens[-1] == model.eos_id == model.tokenizer.sep_token_id


def test_a_first_step_is_what_the_network_says_about_the_sentence(bert: tuple[Any, Any]) -> None:
    """One token per pass under a full mask: plain masked language modelling, by transformers itself."""
    model, network = bert
    inputs = model.tokenizer(own_words(model), return_tensors="pt")
    with torch.no_grad():
        probability = network(**inputs).logits[0].softmax(-1)
    trace = dard.decode(model, TEMPLATE, "standard", temperature=0)
    masks = [i for i, token in enumerate(inputs["input_ids"][0].tolist()) if token == model.mask_id]
    assert len(masks) == 2
    top = trace.steps[0].top["x"]
    for place in masks:
        (best, p), *_ = top.at(place - 1)  # the region begins after [CLS]
        allowed = probability[place].clone()
        allowed[model.mask_id] = 0
        assert best == int(allowed.argmax()) and abs(p - float(allowed.max())) < 2e-4


def test_the_end_mark_is_no_part_of_the_text(bert: tuple[Any, Any]) -> None:
    model, _ = bert
    trace = dard.decode(model, "the cat [MASK] on a dog")
    assert trace.text.startswith("the cat") and "[SEP]" not in trace.text


def test_a_continued_prompt_ends_with_the_mark_too(bert: tuple[Any, Any]) -> None:
    model, _ = bert
    state = initial_state(model, "the cat", 3, None)
    assert [*state.prompt, *state.tokens] == [
        *model.prefix,
        *model.encode("the cat"),
        *[model.mask_id] * 3,
        *model.suffix,
    ]
    assert state.states == "MMMU"


def test_the_frame_counts_for_the_length(bert: tuple[Any, Any]) -> None:
    model, _ = bert
    model.max_length = 64 if model.max_length == 8192 else model.max_length  # ModernBERT's is too long to fill here
    dard.decode(model, "[MASK] " * 62, "standard", steps=1)
    with pytest.raises(dard.InputError, match=r"make 65 tokens; this model takes at most 64"):
        dard.decode(model, "[MASK] " * 63)


def test_token_ids_are_taken_as_they_are(bert: tuple[Any, Any]) -> None:
    model, _ = bert
    state = initial_state(model, [2, 5, model.mask_id, 3], 8, None)
    assert state.prompt == () and state.tokens == (2, 5, model.mask_id, 3)


def test_a_tokenizer_without_the_marks_is_refused(tmp_path: Path) -> None:
    from tests.models.folders import write_tokenizer

    folder, _ = write_bert(tmp_path / "m")
    (folder / "tokenizer_config.json").unlink()
    write_tokenizer(folder)
    with pytest.raises(dard.InputError, match=r"'m' has no \[CLS\] or no \[SEP\] token"):
        dard.load_model(folder)


@pytest.mark.parametrize("write", [write_bert, write_distilbert])
def test_a_vocabulary_file_is_tokenizer_enough(write: Any, tmp_path: Path) -> None:
    """As in older checkpoints: vocab.txt alone."""
    folder, _ = write(tmp_path / "m")
    expected = dard.load_model(folder).encode("the cat sat")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    model = dard.load_model(folder)
    assert model.encode("the cat sat") == expected and model.token_text(model.mask_id) == "[MASK]"


@pytest.mark.parametrize(
    ("words", "config", "spelled"),
    [
        ("E V", None, True),
        ("E V", "{}", True),
        ("e v", None, True),  # lower-cased, as ever
        ("E ##v", None, False),  # small letters: too
        ("E V", '{"do_lower_case": true}', False),  # as told
    ],
)
def test_a_vocabulary_of_capitals_alone_is_not_lower_cased(
    words: str, config: str | None, spelled: bool, tmp_path: Path
) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words.split()]))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(config)
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer("E", add_special_tokens=False)["input_ids"] != [tokenizer.unk_token_id]) == spelled


def test_far_layers_of_modernbert_see_near_positions_only(tmp_path: Path) -> None:
    """A first step is what its own code says about a sentence that is longer than the window."""
    folder, network = write_modernbert(tmp_path / "m", layers=3, window=8)
    model = dard.load_model(folder)
    ids = model.tokenizer("the cat sat on a dog . " * 4 + "[MASK]", return_tensors="pt")["input_ids"]
    size = ids.shape[1]
    with torch.no_grad():
        expected = network(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
    everything = torch.ones(size, size, dtype=torch.bool)
    found = model.logits(ids[0], torch.arange(size), everything, torch.arange(size))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_roberta_counts_positions_from_behind_its_padding(tmp_path: Path) -> None:
    model: Any = dard.load_model(write_roberta(tmp_path / "m")[0])
    assert model.first_position == 2 and model.max_length == 64
    assert (model.prefix, model.suffix) == ((0,), (2,)) and model.token_text(model.mask_id) == "<mask>"
