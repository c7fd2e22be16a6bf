"""`Frames.diffusers` inside diffusers' own LLaDA2Pipeline and BlockRefinementScheduler, on a small random network."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from diffusers import BlockRefinementScheduler, LLaDA2Pipeline

import dard
from dard.trace.readers import Frames
from tests.helpers import nothing_said
from tests.test_recording import states_of
from tests.tiny import MASK_ID, random_network, word_tokenizer

PROMPTS = torch.tensor([[5, 6, 7, 8, 9], [11, 3, 30, 31, 4]])


def pipeline(seed: int = 0, tokenizer: Any = None) -> LLaDA2Pipeline:
    pipe = LLaDA2Pipeline(random_network(seed, sharpness=2.0), BlockRefinementScheduler(block_length=8), tokenizer)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def run(pipe: LLaDA2Pipeline, frames: Frames, prompts: Any = PROMPTS, **changes: Any) -> tuple[Any, Any]:
    """The pipeline's output, and what a recording of its network has."""
    values = {
        "input_ids": prompts,
        "gen_length": 20,
        "num_inference_steps": 4,
        "mask_token_id": MASK_ID,
        "output_type": "seq",
        "callback_on_step_end_tensor_inputs": [*Frames.TENSORS],
    }
    with dard.record(pipe.model, mask_id=MASK_ID) as recording:
        out = pipe(**values | changes, callback_on_step_end=frames.diffusers)
    return out, recording


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("editing", [None, 0.1])
def test_the_trace_is_the_pipelines_output(rows: int, editing: float | None) -> None:
    frames = Frames(MASK_ID, gen_length=20)
    out, recording = run(pipeline(), frames, PROMPTS[:rows], editing_threshold=editing)
    assert len(frames.traces) == rows
    for row, trace in enumerate(frames.traces):
        assert trace.prompt_tokens == PROMPTS[row].tolist() and trace.tokens == out.sequences[row].tolist()
        assert trace.finished and set(trace.start.states) == {"M"}
        seen = [state[:25] for state in states_of(recording.traces[row])]  # the network's, of whole blocks
        assert states_of(trace) == seen
        for step, other in zip(trace.steps, recording.traces[row].steps, strict=True):
            changed = [*step.decided, *step.replaced]
            assert [step.confidence[i] for i in changed] == pytest.approx(
                [other.confidence[i] for i in changed], abs=1e-5
            )
    replaced = [i for trace in frames.traces for step in trace.steps for i in step.replaced]
    assert bool(replaced) == (editing is not None)


def test_blocks_are_joined_and_without_a_length_the_trace_has_all_of_them() -> None:
    frames = Frames(MASK_ID)
    out, _ = run(pipeline(), frames, PROMPTS[:1], editing_threshold=None)
    trace = frames.trace
    assert len(trace.tokens) == 27 and trace.tokens[:20] == out.sequences[0].tolist()  # 5 + 27 are four blocks of 8
    blocks = [(5 + i) // 8 for step in trace.steps for i in step.decided]
    assert blocks == sorted(blocks) and set(blocks) == {0, 1, 2, 3}


@pytest.mark.parametrize("rows", [1, 2])
def test_an_early_end_leaves_masks_and_a_row_that_has_ended_waits_for_the_others(rows: int) -> None:
    prompts = PROMPTS[:rows]
    whole, _ = run(pipeline(), Frames(MASK_ID), prompts, editing_threshold=None)
    early = []
    for end in {*whole.sequences[0].tolist()} - {*prompts.flatten().tolist(), *whole.sequences[1:].flatten().tolist()}:
        frames = Frames(MASK_ID, gen_length=20, eos_id=end)
        out, _ = run(pipeline(), frames, prompts, editing_threshold=None, eos_token_id=end)
        assert [trace.tokens for trace in frames.traces] == out.sequences.tolist()
        early += [frames.traces] * (MASK_ID in frames.trace.tokens)
    assert early and all(end.eos_id in end.tokens and not end.finished for end, *_ in early)
    assert all(other.finished for _, *others in early for other in others)


def test_a_prompt_in_words_and_what_the_pipeline_hands_over_by_itself() -> None:
    """By itself it hands over block_x alone, after the first step: then the prompt's length must be told."""
    tokenizer = word_tokenizer()
    pipe = pipeline(tokenizer=tokenizer)
    more = {"prompt": "w5 w6 w7 w8 w9", "output_type": "text", "callback_on_step_end_tensor_inputs": None}
    told = Frames(MASK_ID, tokenizer, prompt_length=5, gen_length=20)
    out, _ = run(pipe, told, None, **more)
    assert told.trace.prompt == "w5 w6 w7 w8 w9" and told.trace.tokens == out.sequences[0].tolist()
    assert set(told.trace.start.states) == {"M"} and set(told.trace.steps[0].confidence) == {None}
    silent = Frames(MASK_ID)
    with pytest.warns(UserWarning, match="for the first time after the first step") as said:
        again, _ = run(pipe, silent, None, **more)
    assert len(said) == 1 and again.texts == out.texts
    with pytest.raises(dard.InputError, match=r"given block_x, .* or tell Frames the prompt_length"):
        _ = silent.trace


def test_the_advice_about_a_missing_canvas_is_taken_by_the_pipeline() -> None:
    frames = Frames(MASK_ID)
    with pytest.warns(UserWarning, match="was given transfer_index"):
        run(pipeline(), frames, callback_on_step_end_tensor_inputs=["transfer_index"])
    with pytest.raises(dard.InputError) as refused:
        _ = frames.trace
    named = [name for name in LLaDA2Pipeline._callback_tensor_inputs if repr(name) in str(refused.value)]
    assert sorted(named) == sorted(Frames.TENSORS)
    with nothing_said():
        run(pipeline(), better := Frames(MASK_ID), callback_on_step_end_tensor_inputs=named)
    assert better.trace.finished
