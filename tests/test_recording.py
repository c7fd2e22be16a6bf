"""What is recorded of samplers that know nothing of it: every state, the result, the numbers, and nothing invented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import dard
from dard.analysis.reach import contaminated
from dard.recording.arguments import repeated
from dard.recording.measuring import seen_by
from tests.helpers import nothing_said
from tests.samplers import MASK, Network, Run, canvas, dream, fast, llada, saber, wino

Loop = Callable[[Network, Tensor], Run]
LOOPS: dict[str, Loop] = {
    "LLaDA": llada,
    "LLaDA with guidance": lambda network, prompt: llada(network, prompt, guidance=1.0),
    "LLaDA with noise": lambda network, prompt: llada(network, prompt, noise=1.0),
    "Fast-dLLM without cache": fast,
    "Fast-dLLM with a prefix cache": lambda network, prompt: fast(network, prompt, "prefix"),
    "Fast-dLLM with a dual cache": lambda network, prompt: fast(network, prompt, "dual"),
    "Saber": saber,
    "WINO": lambda network, prompt: wino(network, prompt, back=0.97),
    "Dream": dream,
}
ONE_ROW = ("Saber", "WINO")


def prompts(seed: int, rows: int = 1) -> Tensor:
    return torch.randint(3, 40, (rows, 4), generator=torch.Generator().manual_seed(seed))


def recorded(
    name: str, seed: int, rows: int = 1, mode: Any = torch.no_grad, **options: Any
) -> tuple[dard.Recording, Run]:
    """A loop that runs inside a recording, which must have nothing to say about it."""
    network = Network(seed)
    with nothing_said(), mode(), dard.record(network, mask_id=MASK, shift=name == "Dream", **options) as recording:
        run = LOOPS[name](network, prompts(seed, rows))
        if "guidance" in name:
            recording.finish(run.out)
    return recording, run


def states_of(trace: dard.Trace) -> list[list[int]]:
    return [trace.prompt_tokens + moment.tokens for moment in (trace.start, *trace.steps)]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", LOOPS)
def test_the_states_are_those_of_the_run_and_the_last_is_its_result(name: str, mode: Any) -> None:
    for seed in range(4):
        for rows in (1,) if name in ONE_ROW else (1, 3):
            recording, run = recorded(name, seed, rows, mode)
            assert len(recording.traces) == rows
            for row, trace in enumerate(recording.traces):
                assert states_of(trace) == [state[row].tolist() for state in run.states]
                assert states_of(trace)[-1] == run.out[row].tolist()
                assert dard.Trace.from_bytes(trace.to_bytes()).steps == trace.steps


@pytest.mark.parametrize("name", LOOPS)
def test_a_recorded_run_is_the_run_itself(name: str) -> None:
    with torch.no_grad():
        alone = LOOPS[name](Network(2), prompts(2))
    recording, run = recorded(name, 2)
    assert torch.equal(alone.out, run.out)
    assert not recording.network._forward_hooks and not recording.network._forward_pre_hooks


def probabilities(network: Network, before: list[int], **more: Any) -> Tensor:
    with torch.no_grad():
        return network(torch.tensor([before]), **more).logits[0].double().softmax(-1)


@pytest.mark.parametrize("top", [True, False])
@pytest.mark.parametrize("name", ["LLaDA", "LLaDA with noise", "Saber", "Dream"])
def test_the_confidence_is_what_the_pass_gave_the_token_it_decided(name: str, top: bool) -> None:
    recording, run = recorded(name, 3, top=top)
    trace, shift = recording.trace, name == "Dream"
    begin = len(trace.prompt_tokens)
    for step, before in zip(trace.steps, run.states, strict=False):
        p = probabilities(Network(3), before[0].tolist())
        for i in step.decided:
            assert step.confidence[i] == pytest.approx(float(p[begin + i - shift, step.tokens[i]]), abs=2e-6)
        for i, state in enumerate(step.states):
            if state == "M":
                best = float(p[begin + i - shift].max())
                measured = top and step.states_before[i] == "M"
                assert step.confidence[i] == (pytest.approx(best, abs=2e-6) if measured else None)
        if not top:
            assert step.paths == {}
            continue
        for i in step.paths["x"].positions:
            want = p[begin + i - shift].topk(5)
            assert [token for token, _ in step.paths["x"].at(i)] == want.indices.tolist()
            assert [q for _, q in step.paths["x"].at(i)] == pytest.approx(want.values.tolist(), abs=1e-4)
        assert set(step.paths["x"].positions) == {i for i, state in enumerate(step.states_before) if state == "M"}


def test_a_token_keeps_the_confidence_it_was_decided_with() -> None:
    trace = recorded("LLaDA", 1, top=False)[0].trace
    when = {i: step for step in trace.steps for i in step.decided}
    assert trace.steps[-1].confidence == [when[i].confidence[i] for i in range(12)]


def test_a_cache_leaves_what_a_pass_did_not_look_at_unmeasured() -> None:
    trace = recorded("Fast-dLLM with a dual cache", 0)[0].trace
    sliced = [step for step in trace.steps if step.block != (0, 12)]
    assert sliced and all(step.block in ((0, 6), (6, 12)) for step in sliced)
    for step in sliced:
        outside = [i for i in range(12) if not step.block[0] <= i < step.block[1] and step.states[i] == "M"]
        assert all(step.confidence[i] is None for i in outside)
        assert set(step.paths["x"].positions) <= set(range(*step.block))


def test_positions_that_repeat_are_a_shadow_with_its_mask() -> None:
    recording, run = recorded("WINO", 0)
    trace = recording.trace
    assert len(trace.start.tokens) == 12 and trace.about.shadow and any(step.demoted for step in trace.steps)
    for step, before in zip(trace.steps, run.states, strict=False):
        assert step.block in ((0, 6), (6, 12)) and step.mask is not None and step.outside_keys is not None
        assert step.mask[:6, :6].all() and not step.mask[:6, 6:].any() and not step.mask[6:, :6].diagonal().any()
        begin, text = 4 + step.block[0], 16
        mask = torch.ones(1, 1, 22, 22, dtype=torch.bool)
        mask[..., text:] = False
        mask[..., text:, text:] = True
        mask[..., text:, begin : begin + 6] = ~torch.eye(6, dtype=torch.bool)
        positions = torch.cat([torch.arange(text), torch.arange(begin, begin + 6)])
        ids = before[0].tolist() + [MASK] * 6
        p = probabilities(Network(0), ids, attention_mask=mask, position_ids=positions)
        for i in step.demoted:  # what the shadow thought of the token it took back
            assert step.confidence[i] == pytest.approx(
                float(p[text + i - step.block[0], step.tokens_before[i]]), abs=2e-6
            )
    assert "s" in {path for step in trace.steps for path in step.paths}


def test_a_mask_without_a_shadow_is_that_of_the_region() -> None:
    network, x = Network(0), canvas(prompts(0), 3)
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 7):
            x[0, i] = network(x, attention_mask=mask[None, None]).logits[0, i].argmax()
    trace = recording.trace
    for step in (*trace.steps, *dard.Trace.from_bytes(trace.to_bytes()).steps):
        assert step.mask is not None and step.mask.tolist() == mask[4:, 4:].tolist() and step.plain
        assert step.visible(1) == step.visible(1, "x") == [0, 1] and contaminated(step) == []
    additive = torch.zeros(1, 1, 7, 7).masked_fill(~mask, -torch.inf)
    assert torch.equal(seen_by(additive), mask[None]) and seen_by(additive[..., :3]) is None  # a slice of a cache


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 11), st.integers(0, 12))
def test_a_repeated_tail_is_found_wherever_it_stood(size: int, place: int, count: int) -> None:
    row = [*range(size), *range(place, place + count)]
    inside = count > 0 and place + count <= size
    assert repeated(torch.tensor([row])) == ((place, count) if inside else (0, 0)) or place >= size


# At any time, and when things go wrong.


def test_the_trace_can_be_read_while_the_sampler_runs() -> None:
    network, seen = Network(0), []
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:

        def hook(step: int | None, x: Tensor, logits: Tensor | None) -> Tensor:
            if step is not None:
                seen.append((states_of(recording.trace)[-1], x[0].tolist(), recording.trace.num_steps))
            return x

        dream(network, prompts(0), hook=hook)
    assert [now == state and steps == n for n, (now, state, steps) in enumerate(seen, 1)] == [True] * 8


def test_a_sampler_that_fails_leaves_what_it_did() -> None:
    network = Network(0)
    prompt = prompts(0)

    def failing(step: int | None, x: Tensor, logits: Tensor | None) -> Tensor:
        if step == 2:
            raise ZeroDivisionError
        return x

    with pytest.raises(ZeroDivisionError), torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        dream(network, prompt, hook=failing)
    with torch.no_grad():
        whole = dream(Network(0), prompt)
    assert states_of(recording.trace) == [state[0].tolist() for state in whole.states[:4]]
    assert recording.trace.finished is False


def test_a_network_that_fails_leaves_the_passes_before() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    with pytest.raises(IndexError), torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        network(x)
        x[0, 4] = 9
        network(x, position_ids=torch.full((1, 8), 999))
    assert [step.decided for step in recording.trace.steps] == [[0]]


def test_a_sampler_that_passes_copies_is_asked_for_its_result() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    asked = pytest.warns(UserWarning, match=r"call recording\.finish\(out\)")
    with asked, torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 8):
            guess = network(x.clone()).logits.argmax(-1)
            x[0, i] = guess[0, i]
    assert recording.trace.num_steps == 3
    recording.finish((x, 4))
    assert recording.trace.num_steps == 4 and recording.trace.tokens == x[0, 4:].tolist()
    assert recording.trace.steps[-1].confidence[3] is not None  # from the top 5: the logits are gone


def test_logits_that_were_written_over_are_not_read() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    for top in (True, False):
        with torch.no_grad(), dard.record(network, mask_id=MASK, top=top) as recording:
            logits = network(x).logits
            p = float(logits[0, 4].softmax(-1).max())
            x[0, 4] = logits[0, 4].argmax()
            logits.fill_(0)
        assert recording.trace.steps[0].confidence[0] == (pytest.approx(p, abs=2e-6) if top else None)
        x[0, 4] = MASK


def test_a_network_without_logits_gives_states_without_numbers() -> None:
    class Silent(Network):
        def forward(self, *args: Any, **more: Any) -> Any:
            return ("nothing to read",)

    network, x = Silent(), canvas(prompts(0), 2)
    with dard.record(network, mask_id=MASK) as recording:
        network(x)
        x[0, 4:] = 7
    step = recording.trace.steps[0]
    assert step.confidence == [None, None] and step.paths == {}
    assert step.why[0] == "'<7>' at 0 was decided, as unmasked: its confidence was not measured."


def test_guidance_in_passes_of_its_own_is_left_out() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    with nothing_said(), torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 8):
            blank = x.clone()
            blank[:, :4] = MASK
            logits = 2 * network(x).logits - network(blank).logits
            x[0, i] = logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1], [2], [3]]


def test_passes_from_embeddings_go_on_with_a_known_canvas() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 8):
            out = network(x) if i < 6 else network(inputs_embeds=network.tokens(x))
            x[0, i] = out.logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1], [2], [3]]
    assert None not in recording.trace.steps[-1].confidence


def test_a_prompt_that_is_read_first_is_no_step_and_a_canvas_may_grow() -> None:
    network, x = Network(0), prompts(0)
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        network(x)
        for _ in range(2):
            x = canvas(x, 2)
            for i in (-2, -1):
                x[0, i] = network(x).logits[0, i].argmax()
    assert [step.decided for step in recording.trace.steps] == [[0], [1], [2], [3]]
    assert recording.trace.tokens == x[0, 4:].tolist()


def test_a_pass_over_the_prompt_alone_is_no_step_at_first_and_one_that_decides_nothing_later() -> None:
    """As samplers with a cache make it, with a slice of the canvas; the trace's file can be read."""
    network, x = Network(0), canvas(prompts(0), 2)
    with torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in (-2, -1):
            network(x[:, :4])
            x[0, i] = network(x[:, 4:]).logits[0, i].argmax()
    trace = dard.Trace.from_bytes(recording.trace.to_bytes())
    assert [step.decided for step in trace.steps] == [[0], [], [1]]
    assert [step.block for step in trace.steps] == [(0, 2)] * 3 and trace.steps[1].paths["x"].positions == []


# Bad input: one sentence each.


def test_what_cannot_be_recorded_is_refused_in_one_sentence() -> None:
    network, x = Network(0), canvas(prompts(0), 4)
    with pytest.raises(dard.InputError, match="no mask id is known: neither the tokenizer nor the config of Network"):
        dard.record(network)
    with pytest.raises(dard.InputError, match="network = 'x' is not a torch module"):
        dard.record("x")  # type: ignore[arg-type]
    with pytest.raises(dard.InputError, match="mask_id = '-1' is not allowed"):
        dard.record(network, mask_id=-1)
    with pytest.warns(UserWarning, match="without token ids") as said, dard.record(network, mask_id=MASK) as recording:
        for _ in range(3):
            network(inputs_embeds=network.tokens(x))
    assert len(said) == 1
    with pytest.raises(dard.InputError, match=r"without token ids .* and 2 more; .* dard\.Trace\.from_tokens"):
        _ = recording.trace
    with dard.record(network, mask_id=MASK) as recording:
        pass
    with pytest.raises(dard.InputError, match="no forward pass of Network was seen"):
        _ = recording.trace
    with dard.record(network, mask_id=1) as recording:
        network(x)
    with pytest.raises(dard.InputError, match=r"the one pass of Network held no mask \(token 1\)"):
        _ = recording.traces
    with pytest.warns(UserWarning, match="call recording.finish"), dard.record(network, mask_id=MASK) as recording:
        network(x)
    with pytest.raises(dard.InputError, match=r"finish was given \[1, 4\]; .* shape \[1, 8\]"):
        recording.finish(x[:, 4:])


def test_another_model_inside_is_told_of_once_and_left_out() -> None:
    network, other, x = Network(0), Network(1), canvas(prompts(0), 4)
    told = pytest.warns(UserWarning, match="Network was called inside the recording of Network")
    with told as said, torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        for i in range(4, 8):
            x[0, i] = (network(x).logits + other(input_ids=x).logits)[0, i].argmax()
    assert len(said) == 1 and recording.trace.num_steps == 4


def test_a_wrapper_around_the_network_is_no_other_model() -> None:
    network = Network(0)
    wrapped = torch.nn.Sequential(network)
    x = canvas(prompts(0), 1)
    with nothing_said(), torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        x[0, 4] = wrapped(x).logits[0, 4].argmax()
    assert recording.trace.num_steps == 1


def test_another_run_inside_is_told_of_and_left_out() -> None:
    network = Network(0)
    told = pytest.warns(UserWarning, match=r"a pass over \[1, 16\] tokens, .* record each run by itself")
    with told, torch.no_grad(), dard.record(network, mask_id=MASK) as recording:
        run = llada(network, prompts(0))
        llada(network, prompts(1))
    assert states_of(recording.trace) == [state[0].tolist() for state in run.states]


def test_mask_end_and_layers_come_from_tokenizer_and_config() -> None:
    from tests.tiny import random_network, word_tokenizer

    network, tokenizer = random_network(0), word_tokenizer()
    x = torch.tensor([[5, 6, 0, 0]])
    with torch.no_grad(), dard.record(network, tokenizer, name="mine", settings={"steps": 1}) as recording:
        x[0, 2:] = network(input_ids=x).logits[0, 2:].argmax(-1)
    trace = recording.trace
    assert (trace.mask_id, trace.eos_id, trace.num_layers, trace.prompt) == (0, 1, 2, "w5 w6")
    assert (trace.about.title, trace.settings, trace.model) == ("mine", {"steps": 1}, "LlamaForCausalLM")
    for name, shown in {"/home/someone/mine": "mine", "org/mine": "org/mine", "a/b/mine": "mine"}.items():
        recording.config = type("Config", (), {"_name_or_path": name})()
        assert recording.trace.model == shown  # no folders of a machine in what may be handed on
