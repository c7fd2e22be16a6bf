"""Canvases of noise, recorded with the real packages: DiffusionGemma's `generate` and its streamer in transformers, and
diffusers' DiffusionGemmaPipeline with its three schedulers, on small random networks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from diffusers import BlockRefinementScheduler, DiffusionGemmaPipeline, DiscreteDDIMScheduler, EntropyBoundScheduler
from transformers import TextDiffusionStreamer
from transformers.models.diffusion_gemma.generation_diffusion_gemma import EntropyBoundSampler

import dard
from dard.trace import Trace
from dard.trace.readers import Frames
from tests.gemma import CANVAS, gemma
from tests.helpers import nothing_said
from tests.tiny import word_tokenizer

PROMPTS = torch.tensor([[5, 6, 7], [9, 3, 11]])
TEXT = {"max_new_tokens": 2 * CANVAS, "max_denoising_steps": 6}


def run(network: Any, prompts: Any = PROMPTS[:1], seed: int = 1, **more: Any) -> Any:
    torch.manual_seed(seed)
    with nothing_said():
        return network.generate(prompts, **TEXT | more)


def recorded(network: Any, *args: Any, **more: Any) -> tuple[Any, Any]:
    with dard.record(network) as recording:
        out = run(network, *args, **more)
    return out, recording


def accepted_by(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """What transformers' sampler accepts from here on, pass by pass."""
    seen: list[torch.Tensor] = []
    accept = EntropyBoundSampler.accept_canvas

    def noted(self: Any, *args: Any) -> Any:
        out = accept(self, *args)
        seen.append(self.accepted_token_mask.clone())
        return out

    monkeypatch.setattr(EntropyBoundSampler, "accept_canvas", noted)
    return seen


@pytest.mark.parametrize("sharpness", [5.0, 20.0, 60.0])
def test_a_recording_of_generate_is_its_output_and_changes_nothing(
    sharpness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = gemma(0, sharpness)
    own, alone = dict(vars(network)), run(network)
    accepted = accepted_by(monkeypatch)
    out, recording = recorded(network)
    assert torch.equal(out.sequences, alone.sequences) and dict(vars(network)).keys() == own.keys()
    assert all(vars(network)[name] is value for name, value in own.items())
    trace = recording.trace
    assert trace.prompt_tokens == [5, 6, 7] and trace.tokens == out.sequences[0, 3:].tolist() and trace.finished
    assert trace.mask_id is None and trace.num_steps == len(accepted)  # passes of the encoder are none
    for step, mask in zip(trace.steps, accepted, strict=True):
        begin, end = step.block
        if step.ended_by is None:
            assert [letter == "A" for letter in step.states[begin:end]] == mask[0].tolist()
            assert set(step.drafts) == {begin + i for i, each in enumerate(mask[0].tolist()) if not each}
        else:
            assert set(step.states[begin:end]) == {"U"}
    assert [step.block for step in trace.steps if step.ended_by] == [(0, CANVAS), (CANVAS, 2 * CANVAS)]
    assert all(0 <= c <= 1 for step in trace.steps for c in step.confidence if c is not None)
    assert Trace.from_bytes(trace.to_bytes()).to_bytes() == trace.to_bytes()


def test_numbers_are_those_of_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entropies at the pass's temperature, and which of them the bound let in."""
    network, seen = gemma(), []
    accept = EntropyBoundSampler.accept_canvas

    def noted(self: Any, canvas: Any, guess: Any, logits: Any, step: Any) -> Any:
        seen.append(torch.distributions.Categorical(logits=logits).entropy()[0])
        return accept(self, canvas, guess, logits, step)

    monkeypatch.setattr(EntropyBoundSampler, "accept_canvas", noted)
    _, recording = recorded(network)
    trace = recording.trace
    assert [round(step.facts["temperature"], 4) for step in trace.steps[:6]] == [
        0.8,
        0.7333,
        0.6667,
        0.6,
        0.5333,
        0.4667,
    ]
    for step, entropy in zip(trace.steps, seen, strict=True):
        begin, end = step.block
        assert step.columns["entropy"][begin:end] == pytest.approx(entropy.tolist(), abs=1e-5)
        assert step.facts["entropy_bound"] == 0.1 == trace.settings["entropy_bound"]
        for i in range(begin, end):
            if step.states[i] in "ND":
                assert step.columns["sum"][i] > 0.1  # type: ignore[operator]
            elif step.states[i] == "A":
                assert step.columns["sum"][i] <= 0.1 + 1e-6  # type: ignore[operator]
    assert "within the bound of 0.1" in trace.steps[0].why[trace.steps[0].decided[0]]


def test_the_canvases_are_those_the_network_was_given() -> None:
    network, given = gemma(), []
    network.register_forward_pre_hook(
        lambda m, a, kwargs: given.append(kwargs["decoder_input_ids"][0].tolist()), with_kwargs=True
    )
    _, recording = recorded(network)
    trace = recording.trace
    assert trace.start.tokens[:CANVAS] == given[0]
    for step in trace.steps[1:6]:
        assert step.tokens_before[:CANVAS] == given[step.index - 1]


def test_a_batch_whose_rows_end_apart_and_an_end_that_fills_up_with_padding() -> None:
    network = gemma(0, 60.0)
    soon = {"max_denoising_steps": 12, "stability_threshold": 0, "confidence_threshold": 0.25}
    whole, both = recorded(network, PROMPTS, **soon)
    assert len({step.index for trace in both.traces for step in trace.steps if step.ended_by}) > 2
    steps = [trace.num_steps for trace in both.traces]
    assert [trace.tokens for trace in both.traces] == whole.sequences[:, 3:].tolist()
    assert (2 * CANVAS / whole.tokens_per_forward).round().int().tolist() == steps, "as transformers counts passes"
    end = int(whole.sequences[0, 4])
    network.generation_config.eos_token_id, network.generation_config.pad_token_id = end, 0
    out, recording = recorded(network, PROMPTS, **soon)
    assert [trace.tokens for trace in recording.traces] == out.sequences[:, 3:].tolist()
    assert end in recording.trace.tokens and recording.trace.eos_id == end


def test_a_canvas_that_is_stable_and_sure_ends_early() -> None:
    network = gemma(0, 60.0)
    out, recording = recorded(network, max_denoising_steps=30, stability_threshold=0, confidence_threshold=0.2)
    trace = recording.trace
    assert 2 < trace.num_steps < 60 and trace.num_steps == round(float(2 * CANVAS / out.tokens_per_forward[0]))
    assert "stable and sure" in str(trace.ended_by) and trace.steps[-1].facts["mean_entropy"] < 0.2


def test_what_a_failed_run_did_is_kept_and_a_second_run_is_left_out() -> None:
    class Fails(Frames):
        def put_draft(self, value: Any = None, logits: Any = None) -> None:
            super().put_draft(value, logits)
            if len(self.canvases.rows[0][0].passes) == 3:
                raise ZeroDivisionError

    network = gemma()
    own = dict(vars(network))
    with pytest.raises(ZeroDivisionError), dard.record(network) as recording:
        run(network, streamer=Fails())
    assert recording.trace.num_steps == 3 and not recording.trace.finished and dict(vars(network)).keys() == own.keys()
    with dard.record(network) as twice, pytest.warns(UserWarning, match="another run of generate was left out"):
        first = network.generate(PROMPTS[:1], **TEXT)
        network.generate(PROMPTS[1:], **TEXT)
    assert twice.trace.tokens == first.sequences[0, 3:].tolist()


def test_a_named_mask_is_told_that_there_is_none() -> None:
    network = gemma()
    with dard.record(network, mask_id=4) as recording:
        run(network, max_new_tokens=8)
    with pytest.raises(dard.InputError, match=r"begins as noise.* leave mask_id out"):
        _ = recording.trace


@pytest.mark.parametrize("numbers", [False, True])
def test_a_streamer_is_told_drafts_and_canvases(numbers: bool) -> None:
    network, frames = gemma(), Frames(numbers=numbers)
    out, recording = recorded(network, streamer=frames)
    trace, whole = frames.trace, recording.trace
    assert torch.equal(out.sequences, run(network).sequences)
    assert trace.prompt_tokens == [5, 6, 7] and trace.tokens == whole.tokens and trace.finished
    for step, other in zip(trace.steps, whole.steps, strict=True):
        assert step.block == other.block
        assert all(step.read[i] == other.read[i] for i in range(*step.block) if other.states[i] != "A")
    assert {letter for step in trace.steps for letter in step.states} <= set("NDU")
    assert ("entropy" in trace.steps[0].columns) == numbers
    assert hasattr(TextDiffusionStreamer, "put_draft")  # the door has this name


class Processor:
    """As much of one as the pipeline asks for."""

    def __init__(self) -> None:
        self.tokenizer = word_tokenizer()

    def apply_chat_template(self, messages: Any, **more: Any) -> Any:
        return {"input_ids": PROMPTS[: len(messages)] if isinstance(messages[0], list) else PROMPTS[:1]}


def pipeline(scheduler: Any, sharpness: float = 20.0) -> Any:
    pipe = DiffusionGemmaPipeline(gemma(0, sharpness), scheduler, None)
    pipe.processor = Processor()
    pipe.set_progress_bar_config(disable=True)
    return pipe


SCHEDULERS = {
    "entropy bound": lambda: EntropyBoundScheduler(),
    "block refinement": lambda: BlockRefinementScheduler(),
    "discrete DDIM": lambda: DiscreteDDIMScheduler(),
    "DDIM with a corrector": lambda: DiscreteDDIMScheduler(corrector_steps=1),
}


@pytest.mark.parametrize("kind", SCHEDULERS)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("sharpness", [20.0, 1000.0])
def test_the_pipelines_callback_tells_its_canvases(
    kind: str, rows: int, sharpness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, accepted = pipeline(SCHEDULERS[kind](), sharpness), []
    step = type(pipe.scheduler).step

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = step(self, *args, **kwargs)
        exact = getattr(out, "accepted_index", getattr(self, "_committed", None))
        accepted.append(out.sampled_tokens == out.prev_sample if exact is None else exact.clone())
        return out

    monkeypatch.setattr(type(pipe.scheduler), "step", noted)
    frames = Frames(prompt=[5, 6, 7])
    values: dict[str, Any] = {"prompt": ["a", "b"][:rows], "gen_length": 2 * CANVAS, "num_inference_steps": 8}
    values |= {"generator": torch.Generator().manual_seed(3), "output_type": "seq", "eos_early_stop": False}
    with dard.record(pipe.model) as recording, nothing_said():
        out = pipe(**values, callback_on_step_end=frames.diffusers, callback_on_step_end_tensor_inputs=[*Frames.CANVAS])
        recording.finish(out)
    if rows == 1:
        assert [trace.tokens for trace in frames.traces] == out.sequences.tolist()
    frames.finish(out)
    for row, trace in enumerate(frames.traces):
        assert trace.tokens == out.sequences[row].tolist() == recording.traces[row].tokens and trace.finished
        assert trace.prompt_tokens == [5, 6, 7]
        for each, mask in zip(trace.steps, accepted, strict=True):
            begin, end = each.block
            if each.ended_by is None and "DDIM" not in kind:
                assert [letter == "A" for letter in each.states[begin:end]] == mask[row].tolist()
        same = frames.traces[row].num_steps == recording.traces[row].num_steps
        assert same or "corrector" in kind


def test_what_the_pipelines_callback_needs_is_advised() -> None:
    pipe = pipeline(EntropyBoundScheduler())
    values: dict[str, Any] = {"prompt": "a", "gen_length": CANVAS, "num_inference_steps": 2, "output_type": "seq"}
    for frames, asked in ((Frames(), None), (Frames(4), [*Frames.CANVAS])):
        with pytest.warns(UserWarning, match="needs no mask id"):
            pipe(**values, callback_on_step_end=frames.diffusers, callback_on_step_end_tensor_inputs=asked)
        with pytest.raises(dard.InputError, match=r"callback_on_step_end_tensor_inputs=\['canvas', 'logits'\]"):
            _ = frames.trace
