"""Everything that can go wrong with loading and running a model ends in one sentence that says what to do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import huggingface_hub.errors as hub_errors
import pytest
import torch

import dard
from dard.models import memory, placement
from dard.models.memory import NotEnoughMemory, is_out_of_memory, memory_report
from dard.models.placement import read_placement
from dard.models.registry import READABLE
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.models.families import write_bert, write_llada_chat, write_roberta
from tests.models.folders import change_config


def refused(*arguments: Any, **options: Any) -> str:
    with pytest.raises(dard.InputError) as caught:
        dard.load_model(*arguments, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 400, sentence
    return sentence


# The hub.


def hub_error(name: str) -> Exception:
    """An error as the library raises it; those with an answer of the server want one."""
    kind = getattr(hub_errors, name)
    if not issubclass(kind, hub_errors.HfHubHTTPError):
        return kind("no\nmatter")
    error = kind.__new__(kind)
    Exception.__init__(error, "403 Client Error.\nCannot access.")
    return error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            hub_error("LocalEntryNotFoundError"),
            "the hub cannot be reached and model 'owner/name' is not on this machine yet; "
            "check the network, or give a folder with the checkpoint",
        ),
        (hub_error("OfflineModeIsEnabled"), "the hub cannot be reached"),
        (hub_errors.HTTPError("name resolution failed"), "the hub cannot be reached"),
        (ConnectionError("refused"), "the hub cannot be reached"),
        (TimeoutError(), "the hub cannot be reached"),
        (
            hub_error("GatedRepoError"),
            "model 'owner/name' is gated; accept its terms at https://huggingface.co/owner/name "
            "and log in with `hf auth login`, or choose a model that is open",
        ),
        (
            hub_error("RepositoryNotFoundError"),
            "there is no repository 'owner/name' on the hub, or it is private; allowed are names from "
            "`python -m dard models`, a folder, or a hub id of the form owner/name",
        ),
        (hub_error("HfHubHTTPError"), "model 'owner/name' could not be fetched from the hub: 403 Client Error."),
        (OSError("No space left on device"), "could not be fetched from the hub: No space left on device"),
    ],
)
def test_the_hub_says_no(error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    assert sentence in refused("owner/name")


def test_a_name_fetches_its_repository_without_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = write_llada_chat(tmp_path / "snapshot")
    asked: list[tuple[str, list[str]]] = []

    def fetch(hub: str, allow_patterns: list[str], **_: Any) -> str:
        asked.append((hub, allow_patterns))
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    for name in ("llada-8b-base", "GSAI-ML/LLaDA-8B-Base", "llada-8b-instruct", "owner/name"):
        model = dard.load_model(name)
        assert model.name == name and model.chat == (name != "llada-8b-base" and "Base" not in name)
        wanted = {"gen_length": 256, "block_length": 128, "tau_c": 0.6, "tau_u": 0.8}
        assert model.defaults == (wanted if name != "owner/name" else {})
    assert [hub for hub, _ in asked][:2] == ["GSAI-ML/LLaDA-8B-Base"] * 2
    assert not any("py" in pattern for _, patterns in asked for pattern in patterns)


def test_pickles_are_fetched_only_where_there_is_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {"new/one": write_bert(tmp_path / "new")[0], "old/one": write_roberta(tmp_path / "old")[0]}
    asked: list[tuple[str, list[str]]] = []

    def fetch(hub: str, allow_patterns: list[str], **_: Any) -> str:
        asked.append((hub, allow_patterns))
        return str(folders[hub])

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    for hub in folders:
        dard.load_model(hub)
    assert [hub for hub, patterns in asked if any(".bin" in pattern for pattern in patterns)] == ["old/one"]


def test_the_image_encoder_is_fetched_when_a_picture_is_shown(
    mmada_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    def fail(hub: str, **_: Any) -> str:
        raise hub_error("LocalEntryNotFoundError")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    model = dard.load_model(mmada_folder)
    with pytest.raises(dard.InputError, match="model 'showlab/magvitv2' is not on this machine"):
        dard.models.with_image(model, Image.new("RGB", (8, 8)))


# The checkpoint.


@pytest.mark.parametrize("kind", ["gpt2", "t5", "no-such-kind", None, 5])
def test_a_wrong_architecture(kind: Any, tmp_path: Path) -> None:
    folder, _ = write_bert(tmp_path / "m")
    change_config(folder, model_type=kind)
    assert refused(folder) == (
        f"model folder 'm' holds a model of type {str(kind)!r}, which has no adapter here; there are adapters for "
        f"{READABLE}"
    )


@pytest.mark.parametrize("text", ["{", "[]"])
def test_broken_settings_beside_a_checkpoint(text: str, tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    (folder / "generation_config.json").write_text(text)
    assert "generation_config.json" in refused(folder)


# Options.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": "cuda:99"}, "device = 'cuda:99' is not allowed; this machine offers cpu"),
        ({"device": "meta"}, "device = 'meta' is not allowed; this machine offers cpu"),
        ({"dtype": "int8"}, "dtype = 'int8' is not allowed; write float32, bfloat16 or float16"),
        ({"quantise": 3}, "quantise = 3 is not allowed; write 4 or 8 (bits), or nothing"),
        ({"quantise": True}, "quantise = True is not allowed"),
        ({"device": "cpu", "device_map": "auto"}, "exclude each other; give one of them"),
        ({"device_map": 7}, "device_map = 7 is not allowed; write 'auto', 'balanced' or a dictionary"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], sentence: str) -> None:
    assert sentence in refused("embedded", **options)


def test_packages_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    there: set[str] = set()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in there else None)
    assert refused("embedded", quantise=4) == (
        "quantise = 4 needs bitsandbytes and accelerate, which are not installed; "
        "install the extra 'large' of dard-studio"
    )
    assert "device_map = 'auto' needs accelerate, which is not installed" in refused("embedded", device_map="auto")
    there.add("accelerate")
    assert "quantise = 8 needs bitsandbytes, which is not installed" in refused("embedded", quantise=8)


def test_what_transformers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "need", lambda *_: None)
    four = read_placement(quantise=4, dtype="bfloat16")
    told = four.arguments()
    assert told["device_map"] == {"": "cpu"} and not four.moves
    quantised = told["quantization_config"]
    assert quantised.load_in_4bit and not quantised.load_in_8bit
    assert quantised.bnb_4bit_quant_type == "nf4" and quantised.bnb_4bit_compute_dtype == torch.bfloat16
    spread = read_placement(device_map="auto")
    assert spread.arguments() == {"dtype": torch.float32, "device_map": "auto"} and not spread.moves
    assert four.bytes_for(1000) == 500 and read_placement(dtype="float16").bytes_for(1000) == 2000
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert read_placement().dtype == torch.bfloat16 and str(read_placement(device="cuda:1").device) == "cuda:1"


# Memory.


def test_weights_that_do_not_fit_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, network = write_llada_chat(tmp_path / "m")
    weights = 4 * sum(weight.numel() for weight in network.parameters())
    monkeypatch.setattr(memory, "free_memory", lambda device: weights)
    with pytest.raises(
        NotEnoughMemory, match=r"model 'm' needs about 0.0 GB and cpu has 0.0 GB free; try quantise=4 or"
    ):
        dard.load_model(folder)
    assert dard.load_model(folder, dtype="bfloat16").num_layers == 1
    monkeypatch.setattr(memory, "free_memory", lambda device: None)
    assert dard.load_model(folder).num_layers == 1


def test_loading_that_runs_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import LlamaForCausalLM

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(LlamaForCausalLM, "from_pretrained", full)
    sentence = refused(write_llada_chat(tmp_path / "m")[0])
    assert sentence.startswith("model 'm' does not fit into the memory of cpu; try a shorter generation")


def test_a_step_that_runs_out_of_memory_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = los_diego()
    session = dard.Session(model, LOS_DIEGO)
    session.step()
    state = session.state
    real = model.logits

    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(model, "logits", full)
    with pytest.raises(dard.InputError) as caught:
        session.step()
    assert str(caught.value) == (
        "a step of model 'los-diego' over 24 tokens does not fit into the memory of cpu; "
        "try a shorter generation (gen_length, block_length), quantise=4 or 8, or a smaller model"
    )
    assert session.state is state and len(session.steps) == 1
    monkeypatch.setattr(model, "logits", real)
    assert session.run().finished


def test_other_errors_are_not_taken_for_it() -> None:
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes")
    )
    assert is_out_of_memory(RuntimeError("MPS backend out of memory"))
    assert not is_out_of_memory(RuntimeError("shape mismatch")) and not is_out_of_memory(OSError("out of memory"))
    with pytest.raises(RuntimeError, match="shape"), memory.memory_guard("x", torch.device("cpu")):
        raise RuntimeError("shape mismatch")


def test_memory_is_reported(tmp_path: Path) -> None:
    folder, network = write_llada_chat(tmp_path / "m")
    report = memory_report(dard.load_model(folder))
    assert report.device == "cpu" and report.weights == 4 * sum(w.numel() for w in network.parameters())
    assert (report.peak is None or report.peak > report.weights) and (
        report.free is None or 0 < report.free <= (report.total or 0)
    )
    assert memory_report(los_diego()).weights == 0
