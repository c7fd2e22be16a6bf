"""Uniform noise decoded by us is transformers' `generate` under the same seed: tokens, passes, canvases, endings."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.models.diffusion_gemma import CanvasModel
from dard.trace import Trace
from tests.gemma import CANVAS, VOCABULARY, gemma
from tests.tiny import random_model, word_tokenizer

MORE = {"max_denoising_steps": 6}


@cache
def made(seed: int = 0, sharpness: float = 20.0) -> Any:
    return gemma(seed, sharpness)


def model(network: Any) -> CanvasModel:
    return CanvasModel(network, word_tokenizer(VOCABULARY), name="tiny-gemma")


def theirs(network: Any, prompt: list[int], seed: int, length: int, **more: Any) -> tuple[list[int], int]:
    """What `generate` writes, and in how many passes."""
    counted: list[int] = []
    hook = network.register_forward_hook(lambda *_: counted.append(1))
    forward = network.forward
    network.forward = lambda *a, **k: (counted.append(1), forward(*a, **k))[1]  # generate calls it past all hooks
    try:
        torch.manual_seed(seed)
        out = network.generate(torch.tensor([prompt]), max_new_tokens=length, **more)
    finally:
        del network.forward
        hook.remove()
    return out.sequences[0, len(prompt) :].tolist(), len(counted)


@settings(max_examples=12)
@given(
    made_of=st.tuples(st.integers(0, 2), st.sampled_from([5.0, 20.0, 60.0])),
    prompt=st.lists(st.integers(2, 59), min_size=1, max_size=20),  # longer than the sliding window, too
    seed=st.integers(0, 99),
    length=st.integers(1, 3 * CANVAS),
    bound=st.sampled_from([0.1, 1.0, 4.0]),
    stop=st.sampled_from([(0, 0.25), (1, 0.5), (1, 0.005), (2, 3.0)]),
    temperatures=st.sampled_from([(0.4, 0.8), (0.1, 1.5)]),
)
def test_tokens_and_passes_are_those_of_generate(
    made_of: Any, prompt: list[int], seed: int, length: int, bound: float, stop: Any, temperatures: Any
) -> None:
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import EntropyBoundSamplerConfig

    network = made(*made_of)
    common = {"max_denoising_steps": 5, "stability_threshold": stop[0], "confidence_threshold": stop[1]}
    common |= {"t_min": temperatures[0], "t_max": temperatures[1]}
    tokens, passes = theirs(network, prompt, seed, length, sampler_config=EntropyBoundSamplerConfig(bound), **common)
    trace = dard.decode(model(network), prompt, "renoise", gen_length=length, seed=seed, entropy_bound=bound, **common)
    assert trace.tokens == tokens and trace.num_steps == passes and trace.finished
    assert len(tokens) == math.ceil(length / CANVAS) * CANVAS


@pytest.mark.parametrize("padding", [None, 0])
def test_an_end_ends_the_text_as_generate_does(padding: int | None) -> None:
    network = gemma()
    whole, passes = theirs(network, [5, 6, 7], 1, 3 * CANVAS, **MORE)
    end = whole[CANVAS + 2]
    assert end not in whole[:CANVAS]
    network.generation_config.eos_token_id, network.generation_config.pad_token_id = end, padding
    tokens, fewer = theirs(network, [5, 6, 7], 1, 3 * CANVAS, **MORE)
    trace = dard.decode(model(network), [5, 6, 7], "renoise", gen_length=3 * CANVAS, seed=1, **MORE)
    assert trace.tokens[: len(tokens)] == tokens and trace.num_steps == fewer < passes and trace.finished
    assert set(trace.tokens[len(tokens) :]) == {end if padding is None else padding} and trace.eos_id == end
    assert len(trace.text.split()) == CANVAS + 2


def test_its_steps_are_what_a_recording_of_generate_has() -> None:
    network = gemma(0, 60.0)
    torch.manual_seed(4)
    with dard.record(network, word_tokenizer(VOCABULARY)) as recording:
        network.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=2 * CANVAS, **MORE)
    ours, seen = (
        dard.decode(model(network), [5, 6, 7], "renoise", gen_length=2 * CANVAS, seed=4, **MORE),
        recording.trace,
    )
    assert ours.text == seen.text and ours.about.states == seen.about.states
    for step, other in zip(ours.steps, seen.steps, strict=True):
        here = range(*step.block)
        assert (step.states, step.block, step.drafts) == (other.states, other.block, other.drafts)
        assert [step.tokens[i] for i in here] == [other.tokens[i] for i in here]
        assert step.events == other.events and step.why == other.why
        for name in ("entropy", "sum"):
            assert [step.columns[name][i] for i in here] == pytest.approx(
                [other.columns[name][i] for i in here], abs=1e-4
            )
        assert step.facts == pytest.approx(other.facts, abs=1e-5)


def test_a_step_is_pure_and_a_trace_is_a_file() -> None:
    """Undoing and going on from the middle give what a straight run gives."""
    session = dard.Session(model(made()), [5, 6, 7], "renoise", gen_length=2 * CANVAS, seed=3, **MORE)
    whole = session.run()
    for step in (8, 1, 5):
        branch = session.at(step)
        assert branch.run().tokens == whole.tokens
    session.undo()
    assert session.run().tokens == whole.tokens
    again = Trace.from_bytes(whole.to_bytes())
    assert again.finished and again.mask_id is None and again.to_bytes() == whole.to_bytes()
    assert session.at(3).trace.text == "" and len(session.at(8).trace.text.split()) == CANVAS  # noise is no text


def test_who_needs_a_mask_is_told_that_there_is_none() -> None:
    noisy = model(made())
    session = dard.Session(noisy, [5, 6, 7], "renoise", gen_length=CANVAS, **MORE)
    session.run()
    for asked in (
        lambda: dard.Session(noisy, [5, 6], "dard"),
        lambda: session.at(2).edit(1, token=5),
        lambda: session.at(2).hide(-1),
        lambda: list(dard.examine(session, 2, 1)),
        lambda: dard.diagnose(session, expected="w5"),
    ):
        with pytest.raises(dard.InputError, match="needs masks, which model 'tiny-gemma' does not know"):
            asked()
    with pytest.raises(dard.InputError, match="which model 'tiny-gemma' does not know: it begins as noise"):
        dard.Session(noisy, "w5 [MASK]", "renoise")
    with pytest.raises(dard.InputError, match="Entropy bound on noise needs a canvas of noise, which model"):
        dard.Session(random_model(0), [5, 6], "renoise")
    with pytest.raises(dard.InputError, match="gen_length = 0 is not allowed"):
        dard.Session(noisy, [5, 6], "renoise", gen_length=0)


def test_its_card_loads_such_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = word_tokenizer(VOCABULARY)
    tokenizer.chat_template = "{% for m in messages %}w9 {{ m['content'] }} w10{% endfor %}"
    made().save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr("dard.models.hub.download", lambda hub, tell: tmp_path)
    loaded = dard.load_model("diffusiongemma-26b-a4b-it")
    trace = dard.decode(loaded, "w5 w6", "renoise", gen_length=CANVAS, max_denoising_steps=2)
    assert trace.prompt_tokens == [9, 5, 6, 10] and trace.finished


def test_a_folder_is_loaded_with_its_own_settings(tmp_path: Path) -> None:
    network = gemma()
    network.generation_config.update(max_denoising_steps=3, t_max=0.9, eos_token_id=[9, 8])
    network.save_pretrained(tmp_path)
    word_tokenizer(VOCABULARY).save_pretrained(tmp_path)
    loaded = dard.load_model(str(tmp_path))
    trace = dard.decode(loaded, "w5 w6 w7", "renoise", gen_length=CANVAS, seed=2)
    assert (trace.settings["max_denoising_steps"], trace.settings["t_max"], trace.num_steps) == (3, 0.9, 3)
    assert loaded.eos_id == 9 and loaded.end_ids == (8,) and loaded.num_layers == 2
    assert trace.tokens == theirs(network, [5, 6, 7], 2, CANVAS)[0]
