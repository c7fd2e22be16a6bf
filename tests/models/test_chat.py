"""A chat model answers a turn of a conversation; templates, and prompts of those who wish it, stay bare."""

from __future__ import annotations

from pathlib import Path

import pytest

import dard
from dard.core.prompt import initial_state
from dard.models.checkpoint import turn_end
from tests.models.families import qwen_tokenizer, write_a2d, write_bert, write_llada_chat


def test_a_prompt_becomes_a_turn(tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    model = dard.load_model(folder)
    state = initial_state(model, "the city", 3, None)
    assert model.decode(state.prompt) == (
        "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nthe city<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert state.tokens == (model.mask_id,) * 3


def test_a_template_is_never_wrapped(tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    model = dard.load_model(folder)
    state = initial_state(model, "the city of [MASK] is", 3, None)
    assert state.prompt == () and model.decode(state.tokens) == "the city of<|mdm_mask|> is"


def test_chat_can_be_turned_off(tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    model = dard.load_model(folder, chat=False)
    assert not model.chat and model.decode(model.encode("the city")) == "the city"


def test_thinking_is_off_where_a_template_knows_it(tmp_path: Path) -> None:
    model = dard.load_model(write_a2d(tmp_path / "m")[0])
    assert model.decode(model.encode("the")).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_chat_without_a_template_is_refused(tmp_path: Path) -> None:
    folder, _ = write_bert(tmp_path / "m")
    assert not dard.load_model(folder).chat
    with pytest.raises(dard.InputError, match="chat = True is not allowed for model 'm'"):
        dard.load_model(folder, chat=True)


def test_the_end_of_the_turn_ends_the_text(tmp_path: Path) -> None:
    model = dard.load_model(write_llada_chat(tmp_path / "m")[0])
    (turn_end,) = model.end_ids
    session = dard.Session(model, "the", gen_length=3)
    for position, token in enumerate((5, turn_end, 6)):
        session = session.edit(position, token=token, state="U")
    assert session.trace.text == model.token_text(5)


def test_sampling_settings_of_other_samplers_are_not_taken_over(tmp_path: Path) -> None:
    model = dard.load_model(write_a2d(tmp_path / "m")[0])
    assert not {"temperature", "steps"} & set(model.defaults)


def test_a_template_whose_marks_are_no_tokens_does_not_count(tmp_path: Path) -> None:
    """LLaDA-8B-Base as it is on the hub."""
    folder, _ = write_llada_chat(tmp_path / "m", base=True)
    model = dard.load_model(folder)
    assert model.tokenizer.chat_template and not model.chat
    assert model.decode(model.encode("the city")) == "the city" and len(model.encode("the city")) < 8
    with pytest.raises(dard.InputError) as caught:
        dard.load_model(folder, chat=True)
    assert str(caught.value) == (
        "chat = True is not allowed for model 'm': its tokenizer has a chat template with <|start_header_id|>, "
        "which is no token of its vocabulary"
    )


QUESTIONS_ALONE = "{% for m in messages %}{{ m['content'] }}{{ '<|im_end|>' if m['role'] == 'user' }}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "end"),
    [
        ("{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>\n{% endfor %}", "<|im_end|>"),
        (QUESTIONS_ALONE, "<|im_end|>"),
        ("{% for m in messages %}{{ m['content'] }}<|no_token|>{% endfor %}", None),
        ("{% for m in messages %}{{ m['content'] }}\n{% endfor %}", None),
        ("{{ raise_exception('no') }}", None),
    ],
)
def test_what_ends_a_turn_is_read_off_the_template(template: str, end: str | None) -> None:
    tokenizer = qwen_tokenizer("<|mask|>")
    tokenizer.chat_template = template
    assert turn_end(tokenizer) == (None if end is None else tokenizer.get_vocab()[end])
