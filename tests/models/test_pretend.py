"""Everything as on a GPU, without one: nothing mixes devices, tokens are the CPU's, and a step costs few transfers.

See tests/pretend.py for what the pretend GPU refuses and counts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dard
from dard.analysis import causes as cause
from dard.decoders import DECODERS
from dard.decoding import loop
from dard.decoding.session import Session
from dard.experiments import make_plan, run
from dard.models import Question, with_image
from dard.models.base import answer, answer_all
from dard.models.masked_lm import MaskedLanguageModel, whole_head
from dard.models.memory import NotEnoughMemory, memory_report
from dard.models.prefix import PrefixCache
from tests.experiments import tiny_task
from tests.models.families import SAID, SHIFTED, WRITERS, load_family
from tests.models.mixes import random_soft
from tests.models.test_families import alone, asked
from tests.models.test_magvit import write_magvit
from tests.models.test_mmada import picture
from tests.models.test_prefix_cache import OWN
from tests.pretend import OnDevice, Pretending, pretending, put
from tests.tiny import random_model

AT_MOST = 12  # transfers and synchronisations of one session's step
PROMPT = [5, 6, 7]
SIZES = {"gen_length": 8, "block_length": 4}
MORE: dict[str, list[dict[str, Any]]] = {
    "dard": [
        *({"ordering": name} for name in ("entropy", "margin", "l2r", "bidirectional")),
        {"verify": "argmax"},
        {"mixing": 0.5},
        {"outside": "all", "cycle": "reopen"},
    ],
    "threshold": [{"factor": 1.0}],
}
ALL = [{}, {"eos": "last"}, {"eos": "never"}, {"prefix_cache": "block"}, {"temperature": 0.7, "seed": 3}]
MASKED = [name for name, decoder in DECODERS.items() if "noise" not in decoder.needs]  # of those that fill masks
CASES = [(name, settings) for name in MASKED for settings in [*ALL, *MORE.get(name, [])]]


@pytest.fixture(autouse=True)
def no_inference_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows no tensors that are made in Python."""
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)
    monkeypatch.setattr(loop, "finish_step", loop.finish_step.__wrapped__)  # type: ignore[attr-defined]


@pytest.fixture
def gpu() -> Iterator[Pretending]:
    with pretending() as mode:
        yield mode


def moved(model: Any, **places: Any) -> Any:
    """The same model on the pretend GPU."""
    found = copy.copy(model)
    network = found.network = put(copy.deepcopy(model.network), **places)
    found.body = network.base_model
    encoder = isinstance(model, MaskedLanguageModel)
    found.head = whole_head(network) if encoder else network.get_output_embeddings()
    found.prefixes = PrefixCache()
    return found


def speaking(seed: int = 0, layers: int = 2) -> Any:
    """A random model that knows an end."""
    model = copy.copy(random_model(seed, layers))
    model.eos_id, model.end_ids = 1, (9,)
    return model


def same(here: dard.Trace, there: dard.Trace) -> None:
    assert there.tokens == here.tokens and there.num_steps == here.num_steps
    for one, other in zip(here.steps, there.steps, strict=True):
        np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-4)
        assert one.events == other.events


# The device itself.


def test_it_refuses_what_a_gpu_refuses(gpu: Pretending) -> None:
    there, here = torch.ones(3, device="pretend"), torch.ones(3)
    assert str(there.device) == "pretend:0" and isinstance(there, OnDevice)
    with pytest.raises(RuntimeError, match="same device"):
        there + here
    with pytest.raises(RuntimeError, match="same device"):
        there + torch.ones(3, device="pretend:1")
    with pytest.raises(RuntimeError, match="same device"):
        here[torch.tensor([0], device="pretend")]
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()
    assert (there + torch.tensor(2.0) + 1).tolist() == [4, 4, 4]
    assert there[torch.tensor([0, 2])].shape == (2,)
    there[torch.tensor([1])] = 5
    assert there.cpu().tolist() == [1, 5, 1]


def test_it_counts(gpu: Pretending) -> None:
    there = torch.tensor([1.0, 2.0], device="pretend")
    assert (gpu.transfers, gpu.waits) == (1, 0)
    there.tolist()
    there.to("pretend:0")
    assert (gpu.transfers, gpu.waits) == (2, 0)
    assert there.max().item() == 2 and bool((there > 0).all())
    assert (gpu.transfers, gpu.waits) == (2, 2)
    there[there > 1]
    assert gpu.waits == 3


# Decoders.


@pytest.mark.parametrize(("decoder", "settings"), CASES, ids=[f"{name} {values}" for name, values in CASES])
def test_a_decoder_runs_there_as_here(decoder: str, settings: dict[str, Any]) -> None:
    model = speaking()
    values = OWN.get(decoder, {}) | SIZES | settings
    here = dard.decode(model, PROMPT, decoder, **values)
    with pretending() as gpu:
        session = Session(moved(model), PROMPT, decoder, **values)
        same(here, session.run())
    check_cost(gpu, f"{decoder} {settings}", len(session.steps))
    assert here.num_steps > 1


@pytest.mark.parametrize("decoder", [name for name in MASKED if DECODERS[name].needs])
def test_it_makes_no_difference_how_sure_a_model_is(decoder: str) -> None:
    """What a decoder keeps of sharp predictions, it may keep in another form."""
    model = random_model(0, 2, 40, 6.0)
    values = {"gen_length": 12} | OWN.get(decoder, {})
    here = dard.decode(model, PROMPT, decoder, **values)
    with pretending() as gpu:
        there = dard.decode(moved(model), PROMPT, decoder, **values)
    same(here, there)
    check_cost(gpu, f"{decoder}, sharp", there.num_steps)


def check_cost(gpu: Pretending, what: str, steps: int) -> None:
    print(f"\n{what}: {gpu.transfers / steps:.1f} transfers, {gpu.waits / steps:.1f} waits a step", end="")
    assert gpu.transfers + gpu.waits <= AT_MOST * steps


def test_sessions_that_share_passes() -> None:
    model = speaking(1)
    here = [Session(model, PROMPT, name, **SIZES) for name in MASKED]
    loop.finish(here)
    with pretending() as gpu:
        network = moved(model)
        there = [Session(network, PROMPT, name, **SIZES) for name in MASKED]
        loop.finish(there)
    for one, other in zip(here, there, strict=True):
        same(one.trace, other.trace)
    check_cost(gpu, "shared", sum(len(session.steps) for session in there))


# Models.


FEW = ("llada", "fast_dllm", "modernbert")
MIXTURES = ("llada_moe", "llada2", "sdar_moe")


@pytest.mark.parametrize(
    "family",
    [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in WRITERS if name != "mmada"],
)
def test_every_family_runs_there(family: str, tmp_path: Path) -> None:
    model = load_family(family, tmp_path, layers=2)[1]
    for cache in ("off", "block"):
        values = {"gen_length": 7, "prefix_cache": cache}
        here = dard.decode(model, [5, 6, 7, 8, 9, 10], **values)
        with pretending() as gpu:
            there = dard.decode(moved(model), [5, 6, 7, 8, 9, 10], **values)
        same(here, there)
        if family not in MIXTURES:  # whose networks wait for every expert
            check_cost(gpu, f"{family}, cache {cache}", there.num_steps)


@pytest.mark.parametrize("family", ["llada", "llada2", "dream", "sdar", "modernbert"])
def test_attention_and_mixes_there(family: str, tmp_path: Path) -> None:
    model = load_family(family, tmp_path, layers=3)[1]
    questions: list[Question] = []
    for seed, size in ((0, 9), (1, 14)):
        soft = random_soft(model.vocab_size, [1, 4, 6], seed)
        questions.append(replace(asked(model, seed, size), attention=(2, 0), soft=soft))
    here = answer_all(model, questions)
    with pretending() as gpu:
        there = answer_all(moved(model), questions)
        found = [(each.logits.cpu(), each.attention.cpu()) for each in there if each.attention is not None]
    if family not in MIXTURES:
        check_cost(gpu, f"{family}, attention and mixes", len(questions))
    for one, (logits, attention) in zip(here, found, strict=True):
        torch.testing.assert_close(logits, one.logits, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(attention, one.attention, atol=1e-4, rtol=1e-4)


def test_pictures_there(mmada_folder: Path, tmp_path: Path) -> None:
    encoder = write_magvit(tmp_path / "magvit", blocks=[1] * 5)
    model: Any = dard.load_model(mmada_folder, image_encoder=encoder)
    here, values = with_image(model, picture()), {"tau_c": 0.0, "tau_u": 0.1}
    expected = dard.decode(here, "w5 [MASK] w7", **values)
    with pretending():
        there = moved(model)
        there._encoders = [put(copy.deepcopy(model.encoder()))]
        shown = with_image(there, picture())
        found = dard.decode(shown, "w5 [MASK] w7", **values)
    assert shown.prefix == here.prefix  # type: ignore[attr-defined]
    same(expected, found)


def test_an_experiment_there() -> None:
    model = tiny_task.model()

    def rows(model: Any) -> list[tuple[Any, ...]]:
        plan = make_plan("mixing-ablation", model, tiny_task.TinyTask(), samples=1, seed=1)
        found = [row for progress in run(plan) for row in progress.rows]
        return [(row["variant"], row["sample"], row["text"], row["passes"]) for row in found]

    here = rows(model)
    with pretending():
        assert rows(moved(model)) == here
    assert here


def test_causes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """In several passes, of which the first tells who is looked at."""
    monkeypatch.setattr(cause, "TOKENS_AT_MOST", 60)
    model = speaking(1)

    def found(model: Any) -> tuple[dard.Verdict, Any]:
        session = Session(model, PROMPT, "dard", **SIZES)
        session.step()
        return list(cause.before(session, 1))[-1], cause.attention(session)

    here, looked = found(model)
    with pretending():
        there, looks = found(moved(model))
    np.testing.assert_allclose(looks, looked, atol=1e-5)
    assert (here.token, here.state) == (there.token, there.state)
    effects = [{(each.position, each.shown): each.without for each in verdict.causes} for verdict in (here, there)]
    assert effects[0] and effects[0] == pytest.approx(effects[1], abs=1e-5)


@pytest.mark.parametrize("top", [True, False])
def test_recording_there(top: bool) -> None:
    """A loop as people write it, on the network itself."""
    model = speaking(1)

    def recorded(model: Any) -> dard.Trace:
        ids = torch.tensor([[*PROMPT, *[model.mask_id] * 5]], device=model.device)
        with dard.record(model.network, mask_id=model.mask_id, top=top) as recording, torch.no_grad():
            for place in range(3, 8):
                guess = model.network(input_ids=ids, attention_mask=None).logits.argmax(-1)
                ids[0, place] = guess[0, place]
        return recording.trace

    here = recorded(model)
    with pretending() as gpu:
        there = recorded(moved(model))
    assert there.tokens == here.tokens and [step.decided for step in there.steps] == [[i] for i in range(5)]
    print(
        f"\nrecording: {(gpu.transfers + gpu.waits) / 5:.1f} transfers and waits a pass, the sampler's own included",
        end="",
    )


# Two devices.


def spread(model: Any) -> Any:
    """As a device map spreads a model: the second half of the layers, norm and head elsewhere; what goes into a part is
    sent to its device, as accelerate does it."""

    def device_of(name: str) -> str:
        late = name.startswith(("model.layers.2", "model.layers.3", "model.norm", "lm_head"))
        return f"pretend:{int(late)}"

    def send(module: Any, args: Any, kwargs: Any) -> Any:
        device = next(module.parameters()).device
        both = torch.utils._pytree.tree_map_only(torch.Tensor, lambda each: each.to(device), (args, kwargs))
        return both

    found = moved(model, device_of=device_of)
    for name, module in found.network.named_modules():
        if (name.count(".") == 2 and "layers" in name) or name in ("model.norm", "lm_head"):
            module.register_forward_pre_hook(send, with_kwargs=True)
    return found


@pytest.mark.parametrize("cache", ["off", "block"])
def test_a_model_on_two_devices(cache: str) -> None:
    model = speaking(2, layers=4)
    values = SIZES | {"prefix_cache": cache}
    here = {name: dard.decode(model, PROMPT, name, **values) for name in ("dard", "wino")}
    q = replace(asked(model, 1), attention=(0, 3), soft=random_soft(40, [2, 5], 1))
    expected = answer(model, q).attention
    with pretending():
        there = spread(model)
        for name, trace in here.items():
            same(trace, dard.decode(there, PROMPT, name, **values))
        found = answer(there, q).attention
        assert found is not None
        attention = found.cpu()
    assert {str(weight.device) for weight in there.network.parameters()} == {"pretend:0", "pretend:1"}
    torch.testing.assert_close(attention, expected, atol=1e-4, rtol=1e-4)


def test_a_mixture_on_two_devices(tmp_path: Path) -> None:
    model = load_family("llada2", tmp_path, layers=4)[1]
    here = dard.decode(model, [5, 6, 7, 8, 9, 10], "edit", gen_length=7)
    with pretending():
        there = spread(model)
        same(here, dard.decode(there, [5, 6, 7, 8, 9, 10], "edit", gen_length=7))
    assert {str(weight.device) for weight in there.network.parameters()} == {"pretend:0", "pretend:1"}


# Memory.


def test_a_step_that_finds_no_room_changes_nothing(gpu: Pretending) -> None:
    there = moved(speaking())
    session = Session(there, PROMPT, "dard", **SIZES)
    session.step()
    state = session.state
    gpu.room = 100
    with pytest.raises(NotEnoughMemory) as caught:
        session.step()
    assert str(caught.value) == (
        "a step of model 'random-0' over 15 tokens does not fit into the memory of pretend:0; "
        "try a shorter generation (gen_length, block_length), quantise=4 or 8, or a smaller model"
    )
    assert session.state is state and len(session.steps) == 1
    gpu.room = None
    assert session.run().finished
    assert memory_report(there).device == "pretend:0"


# Half precision.


def close_to_the_network(name: str, folder: Path, decoders: tuple[str, ...], seeds: int) -> None:
    """In bfloat16 logits stay within a few roundings of the float32 network, and every decode comes to its end. In a
    mixture a rounding may send a token to another expert, now and then."""
    written, network = WRITERS[name](folder / name)
    model: Any = dard.load_model(written, dtype="bfloat16", **SAID.get(name, {}))
    elsewhere = 0
    for seed in range(seeds):
        q = asked(model, seed)
        found = model.logits(q.ids, q.positions, q.mask, q.rows)
        assert found.dtype == torch.float32
        for number, row in enumerate(q.rows.tolist()):
            expected = alone(network, q, row, int(name in SHIFTED), model.block_size)
            close = bool((found[number] - expected).abs().max() < 0.05 * expected.abs().max())
            assert close or name in MIXTURES, (name, seed, row)
            elsewhere += not close
    assert elsewhere <= seeds * 4 // 8
    for decoder in decoders:
        for cache in ("off", "block"):
            assert dard.decode(model, [5, 6, 7, 8, 9], decoder, gen_length=8, prefix_cache=cache).finished


@pytest.mark.parametrize("family", ["llada", "dream", "sdar", "bert"])
def test_half_precision_on_a_cpu(family: str, tmp_path: Path) -> None:
    close_to_the_network(family, tmp_path, ("dard", "standard"), 2)


@pytest.mark.long
@pytest.mark.parametrize("family", list(WRITERS))
def test_half_precision_everywhere(family: str, tmp_path: Path) -> None:
    close_to_the_network(family, tmp_path, tuple(MASKED), 12)
