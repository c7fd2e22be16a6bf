"""The doctor: no alarm where nothing is wrong, and every kind of damage found by the check meant for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import dard
from dard.checkup import doctor as doctor_module
from dard.checkup import machine
from dard.checkup.report import Report
from dard.cli.main import main
from dard.core.folders import assets
from dard.decoders import DECODERS
from tests.helpers import ALL_DECODERS
from tests.models.families import SAID, WRITERS, write_dream, write_llada_chat, write_llada_moe

Damage = Callable[[Path], None]
Sabotage = Callable[[Any], None]


@pytest.fixture(scope="module", params=list(WRITERS))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, WRITERS[request.param](tmp_path_factory.mktemp("family") / request.param)[0]


HALVES = ("llada", "llada_moe", "dream", "bert")  # tried in half precision, too


# No false alarm.


def test_an_untouched_checkpoint_of_every_family_raises_no_alarm(
    folder: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MMaDA's decoders are LLaDA's, over as many tokens as the real one has. What is timed raises none anyway."""
    name, path = folder
    if name != "dream":
        for part in ("speed", "answers"):
            monkeypatch.setattr(doctor_module, part, lambda notes, model: None)
    said = SAID.get(name, {})
    reports = [dard.doctor(path, positions=4, brief=name == "mmada", **said)]
    if name in HALVES:
        reports.append(dard.doctor(path, positions=4, dtype="bfloat16", **said))
    for report in reports:
        assert report.ok, report
        assert {check.name for check in report.marked("note")} <= {"leftovers"}, report


def test_the_embedded_model_passes_everything() -> None:
    report = dard.doctor("embedded")
    assert report.ok and not report.marked("note"), report
    assert {check.name for check in report.checks if check.part == "decoders"} == {*ALL_DECODERS, "renoise"}
    assert {check.name for check in report.marked("skipped")} == {"template", "precision", "renoise"}
    assert report["language"].numbers["share"] > 0.8 > 0.2 > report["language"].numbers["control"]
    assert report.seconds < 60


# Damaged files. Each changes a copy of a folder.


def config(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return damage


def tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Damage:
    """The weights of every file of a folder, each file by itself."""

    def damage(folder: Path) -> None:
        for file in folder.glob("*.safetensors"):
            weights = load_file(file)
            change(weights)
            save_file(weights, file, metadata={"format": "pt"})

    return damage


def swap_queries_and_keys(weights: dict[str, torch.Tensor]) -> None:
    for name in [name for name in weights if ".q_proj." in name]:
        other = name.replace(".q_proj.", ".k_proj.")
        weights[name], weights[other] = weights[other], weights[name]


def half_an_expert(weights: dict[str, torch.Tensor]) -> None:
    for name, weight in weights.items():
        if "experts.3." in name:
            weight[: len(weight) // 2] = 0


def drop(part: str) -> Damage:
    return tensors(lambda weights: [weights.pop(name) for name in list(weights) if part in name] and None)


def set_to(part: str, value: float, dtype: torch.dtype | None = None) -> Damage:
    def change(weights: dict[str, torch.Tensor]) -> None:
        for name, weight in weights.items():
            if part in name:
                weights[name] = torch.full_like(weight, value, dtype=dtype or weight.dtype)

    return tensors(change)


def forget_in_index(folder: Path) -> None:
    """The expert's tensor is gone from index and file alike, as where a conversion lost it."""
    drop("experts.4.up_proj")(folder)
    file = folder / "model.safetensors.index.json"
    index = json.loads(file.read_text())
    index["weight_map"] = {k: v for k, v in index["weight_map"].items() if "experts.4.up_proj" not in k}
    file.write_text(json.dumps(index))


def in_tokenizer(change: Callable[[dict[str, Any]], None]) -> Damage:
    def damage(folder: Path) -> None:
        template = folder / "chat_template.jinja"
        file = folder / "tokenizer_config.json"
        values = json.loads(file.read_text())
        if template.exists():
            values["chat_template"] = template.read_text()
            template.unlink()
        change(values)
        file.write_text(json.dumps(values))

    return damage


def template(before: str, after: str) -> Damage:
    def change(values: dict[str, Any]) -> None:
        assert before in values["chat_template"]
        values["chat_template"] = values["chat_template"].replace(before, after)

    return in_tokenizer(change)


def cut_off(folder: Path) -> None:
    file = next(folder.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-1000])


def embedded(folder: Path) -> None:
    shutil.copytree(assets("model"), folder)


DAMAGE: dict[str, tuple[Callable[[Path], Any], Damage, str, str]] = {
    "rotary base": (embedded, config(rope_theta=10000.0), "language", "rotary base of 100 in place of 10,000"),
    "swapped q and k": (embedded, tensors(swap_queries_and_keys), "language", "with queries and keys swapped"),
    "positions lost": (embedded, config(rope_theta=1e30), "language", "rotary base"),
    "missing expert": (write_llada_moe, forget_in_index, "siblings", "mlp.experts.4.up_proj.weight is missing"),
    "missing layer norm": (write_dream, drop("input_layernorm"), "tensors", "The index promises"),
    "missing matrix": (embedded, drop("blocks.3.q_proj"), "siblings", "blocks.3.q_proj.weight is missing"),
    "expert half loaded": (write_llada_moe, tensors(half_an_expert), "weights", "loaded in part"),
    "cut off": (embedded, cut_off, "tensors", "cannot be read"),
    "template too short": (
        write_dream, template("assistant\n{% endif %}", "assistant{% endif %}"), "template", "'\\n' too little",
    ),
    "template too long": (
        write_llada_chat,
        template(
            "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}",
            "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n ' }}{% endif %}",
        ),
        "template", "' ' too much",
    ),
    "beginning twice": (
        write_llada_chat, template("{{ bos_token if loop.first }}", "{{ bos_token + bos_token }}"), "template", "twice",
    ),
    "wrong mask id": (embedded, config(mask_token_id=2), "mask", "'[MASK]', 1, for it"),
    "mask id of a word": (embedded, config(mask_token_id=90), "mask", "[MASK]"),
    "mask id one off": (write_dream, config(mask_token_id=259), "mask", "mask"),
    "mask id outside": (embedded, config(mask_token_id=256), "loading", "outside its vocabulary of 256"),
    "end that is text": (embedded, config(eos_token_id=100), "end", "ordinary text"),
    "bfloat16 overflow": (embedded, set_to("ff_norm", 3e38, torch.bfloat16), "finite", "bfloat16 overflows"),
    "float16 overflow": (embedded, set_to("ff_norm", 3e4), "precision", "say dtype = 'float32', not float16"),
    "attention lost": (embedded, set_to("attn_out", 1e-12, torch.float32), "hidden key", "nothing attends"),
    "NaN in a weight": (embedded, set_to("blocks.2.attn_norm", float("nan")), "weights", "layers.2.input_layernorm"),
    "too many rows": (write_dream, config(vocab_size=400), "loading", "another shape"),
}  # fmt: skip


def only_where_it_matters(monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    """The longest check of all is left out where another one must find the damage, and comes after it."""
    if check != "language":
        monkeypatch.setattr(doctor_module, "language", lambda notes, model: None)


FOLLOW = {"loading", "language", "precision", "positions", "finite"}  # what may fail because of what else is wrong


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_of_the_files_is_found_by_the_check_meant_for_it(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, damage, check, words = DAMAGE[what]
    only_where_it_matters(monkeypatch, check)
    write(folder := tmp_path / "model")
    damage(folder)
    dtype = what.partition(" ")[0] if "float16" in what else None
    report = dard.doctor(folder, brief=True, dtype=dtype)
    assert not report.ok
    found = report[check]
    assert found.mark == "fail" and words in found.sentence, report
    assert not [each for each in report.failed if each.name not in (check, *FOLLOW)], report


# A network that is driven wrongly. Each changes a model that was loaded.


class Changed(nn.Module):
    """A body whose inputs or outputs are changed."""

    def __init__(self, body: Any, inputs: Callable[..., dict[str, Any]] | None = None, outputs: Any = None) -> None:
        super().__init__()
        self.body, self.inputs, self.outputs = body, inputs, outputs
        self.device, self.dtype, self.config = body.device, body.dtype, body.config
        self.get_input_embeddings = body.get_input_embeddings

    def forward(self, **given: Any) -> Any:
        out = self.body(**(self.inputs(**given) if self.inputs else given))
        if self.outputs:
            out.last_hidden_state = self.outputs(out.last_hidden_state, given)
        return out


def of_body(inputs: Any = None, outputs: Any = None) -> Sabotage:
    def sabotage(model: Any) -> None:
        model.body = Changed(model.body, inputs, outputs)

    return sabotage


def without_mask(**given: Any) -> dict[str, Any]:
    return given | {"attention_mask": torch.ones_like(given["attention_mask"])}


def one_way(**given: Any) -> dict[str, Any]:
    return given | {"attention_mask": given["attention_mask"].tril()}


def alone(**given: Any) -> dict[str, Any]:
    mask = given["attention_mask"]
    return given | {"attention_mask": mask & torch.eye(mask.shape[-1], dtype=torch.bool)}


def in_one_place(**given: Any) -> dict[str, Any]:
    return given | {"position_ids": torch.zeros_like(given["position_ids"])}


def padding_seen(**given: Any) -> dict[str, Any]:
    mask = given["attention_mask"].clone()
    if len(mask) > 1:
        mask[..., -1] = True
    return given | {"attention_mask": mask}


def shift_forgotten(model: Any) -> None:
    """The embedded model as one that predicts one position ahead, driven as one that does not."""
    model.body = Changed(model.body, outputs=lambda hidden, _: torch.roll(hidden, -1, dims=1))


SABOTAGE: dict[str, tuple[Sabotage, str, str]] = {
    "the mask is ignored": (of_body(without_mask), "hidden key", "masked out moves logits"),
    "it looks one way": (of_body(one_way), "no mask", "built to look one way"),
    "positions are ignored": (of_body(in_one_place), "positions", "positions are not used"),
    "padding is seen": (of_body(padding_seen), "company", "padding is seen"),
    "everybody is alone": (of_body(alone), "no mask", "hide something where everything is visible"),
    "shift forgotten": (shift_forgotten, "language", "read one position ahead it would find"),
    "shift invented": (lambda model: setattr(model, "shifted", True), "language", "read in place it would find"),
    "blocks invented": (lambda model: setattr(model, "block_size", 4), "language", "seeing beyond its blocks of 4"),
}  # fmt: skip


@pytest.mark.parametrize("what", SABOTAGE)
def test_a_network_that_is_driven_wrongly_is_found_by_the_check_meant_for_it(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage, check, words = SABOTAGE[what]
    only_where_it_matters(monkeypatch, check)
    model = dard.load_model("embedded")
    sabotage(model)
    report = dard.doctor(model, brief=True)
    assert report[check].mark == "fail" and words in report[check].sentence, report


def test_a_type_that_loses_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights whose small part is lost in bfloat16: here the head rounds its logits coarsely."""
    only_where_it_matters(monkeypatch, "precision")
    model: Any = dard.load_model("embedded", dtype="bfloat16")
    model.body = Changed(model.body, outputs=lambda hidden, _: hidden if hidden.dtype == torch.float32
                         else (hidden / 4).round() * 4)  # fmt: skip
    report = dard.doctor(model, brief=True)
    assert report["precision"].mark == "fail" and "too many for rounding" in report["precision"].sentence


@pytest.mark.parametrize("name", ALL_DECODERS)
def test_a_decoder_that_decides_otherwise_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its first pass it is half as sure as the model is."""
    decoder = type(DECODERS[name])
    decide, calls = decoder.decide, list[int]()

    def wrong(self: Any, model: Any, settings: Any, state: Any, question: Any, answer: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            answer.logits.mul_(0.5)
        return decide(self, model, settings, state, question, answer)

    monkeypatch.setattr(decoder, "decide", wrong)
    from dard.checkup import literal
    from dard.checkup.decoders import against
    from dard.checkup.report import Notes

    notes = Notes()
    against(notes, dard.load_model("embedded"), DECODERS[name], getattr(literal, name), 16)
    assert notes.checks[0].mark == "fail" and "literal version" in notes.checks[0].sentence


# The machine.


def test_without_room_nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_of", lambda device: (2_000_000, 2_000_000))
    report = dard.doctor("embedded")
    assert report["memory"].mark == "fail" and "In 8 bits it fits" in report["memory"].sentence
    assert report.stopped and not any(check.name == "loading" for check in report.checks)


def test_other_versions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    only_where_it_matters(monkeypatch, "versions")
    monkeypatch.setattr(machine, "pins", lambda: {"torch": "1.0"})
    found = dard.doctor("embedded", brief=True)["versions"]
    assert found.mark == "note" and "instead of 1.0" in found.sentence


def test_a_download_that_does_not_fit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "sizes", lambda hub: (10**18, 8_000_000_000))
    monkeypatch.setattr(doctor_module, "load_model", lambda *_, **__: pytest.fail("it was loaded"))
    report = dard.doctor("llada-8b-instruct", brief=True)
    assert report["disk"].mark == "fail" and report.stopped and "8,000.0 million weights" in report["memory"].sentence


def test_a_hub_that_cannot_be_reached_is_one_sentence() -> None:
    report = dard.doctor("nobody/nothing", brief=True)
    assert not report.ok and report.stopped and {"hub", "loading"} <= {check.name for check in report.checks}


# The command.


def test_the_command_prints_a_table_or_json_and_exits_with_its_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--brief", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] and {each["mark"] for each in told["checks"]} <= {"ok", "skipped"}
    embedded(folder := tmp_path / "model")
    config(mask_token_id=2)(folder)
    assert main(["doctor", "--brief", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "✗ tokens, mask: The mask is token 2, '[EOS]'" in out and "Stopped there" in out


def test_a_model_without_a_network_is_looked_at_as_far_as_it_goes() -> None:
    from dard.models.scripted import los_diego

    report: Report = dard.doctor(los_diego(), brief=True)
    assert report.ok, report
