"""`dard.record` on real transformers networks whose `generate` calls `self.forward(...)`, past every hook."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, LlamaForCausalLM

import dard
from dard.recording import measuring
from dard.recording.arguments import token_ids
from tests.helpers import nothing_said
from tests.samplers import MASK, Network
from tests.test_recording import canvas, prompts, states_of
from tests.tiny import MASK_ID, llama_config

Call = Callable[..., Any]


class Blocks(LlamaForCausalLM):
    """Generates in blocks as LLaDA2's modelling file does: a window that grows, written into, through self.forward."""

    @torch.no_grad()
    def generate(self, inputs: Tensor, gen_length: int = 8, block: int = 4, fail: int | None = None) -> Tensor:
        x = torch.full((len(inputs), inputs.shape[1] + gen_length), MASK_ID)
        x[:, : inputs.shape[1]] = inputs
        for end in range(inputs.shape[1] + block, x.shape[1] + 1, block):
            window = x[:, :end]
            while bool((masked := window == MASK_ID).any()):
                logits = self.forward(window, attention_mask=torch.ones_like(window)).logits
                p, guess = logits.softmax(-1).where(masked[..., None], 0).max(-1)
                window[p == p.amax(-1, keepdim=True)] = guess[p == p.amax(-1, keepdim=True)]
                if fail == int((x != MASK_ID).sum()):
                    raise ZeroDivisionError
        return x


def blocks() -> Blocks:
    torch.manual_seed(0)
    return Blocks(llama_config()).eval()


def counted(network: nn.Module) -> list[tuple[int, ...]]:
    """The shapes of the passes that a hook of someone else sees."""
    seen: list[tuple[int, ...]] = []
    network.register_forward_hook(lambda module, args, output: seen.append(tuple(args[0].shape)))
    return seen


def test_every_pass_through_forward_is_seen_once_and_the_network_is_left_as_it_was() -> None:
    network, ids = blocks(), torch.tensor([[5, 6, 7], [8, 9, 10]])
    alone = network.generate(ids)
    seen, own = counted(network), dict(vars(network))
    with nothing_said(), dard.record(network, mask_id=MASK_ID) as recording:
        out = network.generate(ids)
    assert torch.equal(out, alone) and [trace.tokens for trace in recording.traces] == out[:, 3:].tolist()
    assert all(step.confidence[i] is not None for step in recording.trace.steps for i in step.decided)
    assert len(seen) == recording.trace.num_steps == 8
    assert dict(vars(network)) == own and "forward" not in own
    network.generate(ids)
    assert len(seen) == 8  # past every hook, as before


def test_a_generate_that_fails_leaves_its_passes_and_the_network() -> None:
    network, ids = blocks(), torch.tensor([[5, 6, 7]])
    own = dict(vars(network))
    with pytest.raises(ZeroDivisionError), dard.record(network, mask_id=MASK_ID) as recording:
        network.generate(ids, fail=6)
    assert dict(vars(network)) == own and recording.trace.num_steps == 3


def test_called_plainly_and_through_forward_and_inside_it_is_one_pass_each() -> None:
    class Twice(Network):
        """Calls itself inside, as some do in pieces, and its parent past the hooks."""

        def forward(self, ids: Tensor, whole: bool = True) -> Any:  # type: ignore[override]
            return self.forward(ids, whole=False) if whole else super().forward(ids)

    network, x = Twice(0), canvas(prompts(0), 3)
    seen = counted(network)
    calls: list[Call] = [network, network.forward, lambda x: nn.Sequential(network)(x)]
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        calls[1] = network.forward
        for i, call in enumerate(calls, 4):
            x[0, i] = call(x).logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1], [2]] and len(seen) == 3
    kept = calls[1](x).logits  # whoever kept it has the network's own
    assert len(seen) == 3 and torch.equal(kept, network(x).logits)


def test_two_recordings_of_one_network_end_in_order() -> None:
    network, ids = blocks(), torch.tensor([[5, 6, 7]])
    with dard.record(network, mask_id=MASK_ID) as outer, dard.record(network, mask_id=MASK_ID, top=False) as inner:
        network.generate(ids)
    assert states_of(outer.trace) == states_of(inner.trace) and "forward" not in vars(network)


def wrapped(network: Network) -> Call:
    forward = network.forward
    network.forward = lambda *args, **more: forward(*args, **more)  # type: ignore[method-assign]
    return network.forward


def compiled_forward(network: Network) -> Call:
    network.forward = torch.compile(network.forward, backend="eager", fullgraph=True)  # type: ignore[method-assign]
    return lambda *args: network.forward(*args)


def compiled_in_place(network: Network) -> Call:
    network.compile(backend="eager", fullgraph=True)
    return network


@pytest.mark.parametrize("make", [wrapped, compiled_forward, compiled_in_place])
def test_a_forward_that_is_wrapped_or_compiled_is_seen_and_stays_so(make: Callable[[Network], Call]) -> None:
    network, x = Network(0), canvas(prompts(0), 3)
    call = make(network)
    own = dict(vars(network))
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 7):
            x[0, i] = (network.forward if make is wrapped else call)(x).logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1], [2]]
    now = vars(network)
    assert now.keys() == own.keys() and all(now[name] is value for name, value in own.items())


@pytest.mark.filterwarnings("ignore:Using `torch.compile")
@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_torch_compile_returned_is_recorded_and_the_network_inside_runs_uncompiled(fullgraph: bool) -> None:
    network = Network(0)
    compiled = torch.compile(network, backend="eager", fullgraph=fullgraph)
    for recorded in (compiled, network):
        x = canvas(prompts(0), 2)
        with torch.no_grad(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with dard.record(recorded, mask_id=MASK) as recording:
                for i in (4, 5):
                    x[0, i] = compiled(x).logits[0, i].argmax()
        assert [step.decided for step in recording.trace.steps] == [[0], [1]]
        ours = [str(each.message) for each in said if "dard" in str(each.message)]
        assert len(ours) == (recorded is network) and all("runs uncompiled here" in each for each in ours)


@pytest.mark.parametrize("name", ["input_ids", "decoder_input_ids", "x", "tokens", "noisy"])
def test_ids_are_found_by_any_usual_name(name: str) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Network(0)

        def forward(self, **given: Any) -> Any:
            return self.inner(given[name])

    network, x = Named(), canvas(prompts(0), 2)
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in (4, 5):
            more = {"attention_mask": torch.ones_like(x), name: x, "position_ids": torch.arange(6)[None]}
            x[0, i] = network(**more).logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1]]


def test_ids_by_place_are_told_from_masks_by_what_forward_calls_them() -> None:
    ids, mask = torch.tensor([[7, 8]]), torch.tensor([[1, 1]])
    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    assert token_ids((None, mask, ids), {}, names) is ids and token_ids((None, mask), {}, names) is None
    assert token_ids(({"attention_mask": mask, "input_ids": ids},), {}) is ids
    assert token_ids((ids, mask), {}) is ids and token_ids((), {"timestep": mask}) is None


# What cannot be read.


def test_no_error_of_a_recording_reaches_the_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, states in {"_begin": False, "_answer": True}.items():
        network, x = Network(0), canvas(prompts(0), 3)
        with monkeypatch.context() as patched, torch.no_grad():
            patched.setattr(dard.Recording, name, lambda *args: 1 // 0)
            told = pytest.warns(UserWarning, match=r"cannot be read \(ZeroDivisionError")
            with told as said, dard.record(network, mask_id=MASK) as recording:
                if name == "_answer":
                    patched.setattr(measuring, "text_rows", lambda *args: 1 // 0)
                for i in range(4, 7):
                    x[0, i] = network(x).logits[0, i].argmax()
        assert len(said) == 1 and MASK not in x
        if states:  # what was decided is known, with which probability is not
            assert [step.decided for step in recording.trace.steps] == [[0], [1], [2]]
            assert set(recording.trace.steps[-1].confidence) == {None}
        else:
            with pytest.raises(dard.InputError, match=r"a pass of Network cannot be read .* and 2 more; collect"):
                _ = recording.trace


@pytest.mark.filterwarnings("error:dard")
def test_where_warnings_are_errors_the_sampler_goes_on_and_it_is_said_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A test suite that runs with -W error, say."""
    network, x = nn.Identity(), torch.zeros(1, 2, 3)
    with dard.record(network, mask_id=MASK):
        assert network(x) is x
    assert "dard.record: Identity was called without token ids" in capsys.readouterr().err


def test_a_canvas_of_noise_is_told_of_and_generates_what_it_would() -> None:
    """DiffusionGemma's own class: its canvas begins as random tokens, and no mask is in it."""
    layers = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    small = {**layers, "num_key_value_heads": 1, "head_dim": 8, "global_head_dim": 8}
    text = {**small, "vocab_size": 64, "num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 8}
    torch.manual_seed(0)
    network = DiffusionGemmaForBlockDiffusion(
        DiffusionGemmaConfig(
            text_config={**text, "eos_token_id": None}, vision_config=small, canvas_length=4, image_token_id=63
        )
    ).eval()
    prompt, own = torch.tensor([[5, 6, 7]]), dict(vars(network))
    outs = []
    for record in (False, True):
        torch.manual_seed(1)
        recording = dard.record(network, mask_id=1000)
        with recording if record else torch.no_grad():
            outs.append(network.generate(prompt, max_new_tokens=8, max_denoising_steps=3).sequences)
    assert torch.equal(*outs) and dict(vars(network)) == own
    with pytest.raises(dard.InputError, match=r"none of the \d passes of DiffusionGemma.* begins as noise and not"):
        _ = recording.trace
