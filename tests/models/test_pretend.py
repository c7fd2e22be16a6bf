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
from dard import driver
from dard.decoders import DECODERS
from dard.experiments import make_plan
from dard.experiments.runner import run
from dard.models import Question, with_image
from dard.models.base import answer, answer_all
from dard.models.masked_lm import MaskedLanguageModel, whole_head
from dard.models.memory import NotEnoughMemory, memory_report
from dard.models.prefix import PrefixCache
from dard.session import Session
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
SIZES = {"gen_length": 12, "block_length": 6}
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
CASES = [(name, settings) for name in DECODERS for settings in [*ALL, *MORE.get(name, [])]]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretending]:
    """Inference mode knows no tensors that are made in Python."""
    monkeypatch.setattr(driver, "finish_step", driver.finish_step.__wrapped__)  # type: ignore[attr-defined]
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
def test_a_decoder_runs_there_as_here(decoder: str, settings: dict[str, Any], gpu: Pretending) -> None:
    model = speaking()
    values = OWN.get(decoder, {}) | SIZES | settings
    here = dard.decode(model, PROMPT, decoder, **values)
    session = Session(moved(model), PROMPT, decoder, **values)
    gpu.transfers = gpu.waits = 0
    same(here, session.run())
    steps = len(session.steps)
    print(
        f"\n{decoder} {settings}: {gpu.transfers / steps:.1f} transfers, {gpu.waits / steps:.1f} waits a step", end=""
    )
    assert gpu.transfers + gpu.waits <= AT_MOST * steps
    assert here.num_steps > 1


def test_sessions_that_share_passes(gpu: Pretending) -> None:
    model = speaking(1)
    there = moved(model)
    runs = [[Session(each, PROMPT, name, **SIZES) for name in DECODERS] for each in (model, there)]
    driver.finish(runs[0])
    gpu.transfers = gpu.waits = 0
    driver.finish(runs[1])
    for here, other in zip(*runs, strict=True):
        same(here.trace, other.trace)
    steps = sum(len(session.steps) for session in runs[1])
    print(f"\nshared: {gpu.transfers / steps:.1f} transfers, {gpu.waits / steps:.1f} waits a session's step", end="")
    assert gpu.transfers + gpu.waits <= AT_MOST * steps


# Models.


@pytest.mark.parametrize("family", [name for name in WRITERS if name != "mmada"])
def test_every_family_runs_there(family: str, gpu: Pretending, tmp_path: Path) -> None:
    model = load_family(family, tmp_path, layers=2)[1]
    there = moved(model)
    for cache in ("off", "block"):
        for decoder in ("dard", "wino"):
            values = {"gen_length": 8, "prefix_cache": cache}
            prompt = [5, 6, 7, 8, 9, 10]
            here = dard.decode(model, prompt, decoder, **values)
            gpu.transfers = gpu.waits = 0
            trace = dard.decode(there, prompt, decoder, **values)
            same(here, trace)
            if family != "llada_moe":  # its network waits for every expert
                assert gpu.transfers + gpu.waits <= AT_MOST * trace.num_steps + 8 * cache.count("block")


@pytest.mark.parametrize("family", ["llada", "dream", "sdar", "bert", "modernbert"])
def test_attention_and_mixes_there(family: str, gpu: Pretending, tmp_path: Path) -> None:
    model = load_family(family, tmp_path, layers=3)[1]
    there = moved(model)
    questions: list[Question] = []
    for seed, size in ((0, 9), (1, 14)):
        soft = random_soft(model.vocab_size, [1, 4, 6], seed)
        questions.append(replace(asked(model, seed, size), attention=(2, 0), soft=soft))
    here = answer_all(model, questions)
    gpu.transfers = gpu.waits = 0
    found = answer_all(there, questions)
    assert gpu.transfers + gpu.waits <= AT_MOST * len(questions)
    for one, other in zip(here, found, strict=True):
        assert one.attention is not None and other.attention is not None
        torch.testing.assert_close(other.logits.cpu(), one.logits, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(other.attention.cpu(), one.attention, atol=1e-4, rtol=1e-4)


def test_pictures_there(gpu: Pretending, mmada_folder: Path, tmp_path: Path) -> None:
    encoder = write_magvit(tmp_path / "magvit", blocks=[1] * 5)
    model: Any = dard.load_model(mmada_folder, image_encoder=encoder)
    there = moved(model)
    there._encoders = [put(copy.deepcopy(model.encoder()))]
    here, shown = with_image(model, picture()), with_image(there, picture())
    assert shown.prefix == here.prefix  # type: ignore[attr-defined]
    values = {"tau_c": 0.0, "tau_u": 0.1}
    same(dard.decode(here, "w5 [MASK] w7 [MASK]", **values), dard.decode(shown, "w5 [MASK] w7 [MASK]", **values))


def test_an_experiment_there(gpu: Pretending) -> None:
    model = tiny_task.model()
    rows = []
    for each in (model, moved(model)):
        plan = make_plan("mixing-ablation", each, tiny_task.TinyTask(), samples=2, seed=1)
        found = [row for progress in run(plan) for row in progress.rows]
        rows.append([(row["variant"], row["sample"], row["text"], row["passes"]) for row in found])
    assert rows[0] == rows[1] and rows[0]


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


@pytest.mark.parametrize("decoder", list(DECODERS))
def test_a_model_on_two_devices(decoder: str, gpu: Pretending) -> None:
    model = speaking(2, layers=4)
    there = spread(model)
    places = {str(weight.device) for weight in there.network.parameters()}
    assert places == {"pretend:0", "pretend:1"}
    for cache in ("off", "block"):
        values = OWN.get(decoder, {}) | SIZES | {"prefix_cache": cache}
        same(dard.decode(model, PROMPT, decoder, **values), dard.decode(there, PROMPT, decoder, **values))
    q = replace(asked(model, 1), attention=(0, 3), soft=random_soft(40, [2, 5], 1))
    torch.testing.assert_close(answer(there, q).attention.cpu(), answer(model, q).attention, atol=1e-4, rtol=1e-4)


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
        "a step of model 'random-0' over 21 tokens does not fit into the memory of pretend:0; "
        "try a shorter generation (gen_length, block_length), quantise=4 or 8, or a smaller model"
    )
    assert session.state is state and len(session.steps) == 1
    gpu.room = None
    assert session.run().finished
    assert memory_report(there).device == "pretend:0"


# Half precision.


def close_to_the_network(name: str, folder: Path, decoders: tuple[str, ...], seeds: int) -> None:
    """In bfloat16 logits stay within a few roundings of the float32 network, and every decode comes to its end."""
    written, network = WRITERS[name](folder / name)
    model: Any = dard.load_model(written, dtype="bfloat16", **SAID.get(name, {}))
    for seed in range(seeds):
        q = asked(model, seed)
        found = model.logits(q.ids, q.positions, q.mask, q.rows)
        assert found.dtype == torch.float32
        for number, row in enumerate(q.rows.tolist()):
            expected = alone(network, q, row, int(name in SHIFTED), model.block_size)
            assert (found[number] - expected).abs().max() < 0.05 * expected.abs().max(), (name, seed, row)
    for decoder in decoders:
        for cache in ("off", "block"):
            assert dard.decode(model, [5, 6, 7, 8, 9], decoder, gen_length=8, prefix_cache=cache).finished


@pytest.mark.parametrize("family", ["llada", "dream", "sdar", "bert"])
def test_half_precision_on_a_cpu(family: str, tmp_path: Path) -> None:
    close_to_the_network(family, tmp_path, ("dard", "standard"), 2)


@pytest.mark.long
@pytest.mark.parametrize("family", list(WRITERS))
def test_half_precision_everywhere(family: str, tmp_path: Path) -> None:
    close_to_the_network(family, tmp_path, tuple(DECODERS), 12)
