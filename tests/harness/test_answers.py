"""What a harness asks: answers as the library gives them, every decode kept, and problems told. lm-eval and lmms-eval
themselves: tests/contact."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import dard
from dard.harness.answers import Answers, Request, pictured_prompt
from dard.models import with_image
from dard.models.mmada import MMU
from dard.tasks import TASKS
from tests.models.families import write_mmada
from tests.models.test_magvit import write_magvit


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


def test_a_folder_that_holds_something_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("mine")
    with pytest.raises(dard.InputError, match="must be a folder that is new or empty"):
        Answers("test", out=tmp_path)
    assert (tmp_path / "run.json").read_text() == "mine"


def test_room_ends_noise_and_problems(tmp_path: Path) -> None:
    model = dard.load_model("embedded")
    ids = model.encode(TASKS["arithmetic"].test_items(1)[0].prompt)
    answers = Answers("test", out=tmp_path, until=["."], batch_size=3)
    text, longer, nothing = answers.answer(
        [
            Request(lambda: ids, "t", 0, {"max_gen_toks": 24}),
            Request(lambda: ids, "t", 1, {"max_new_tokens": 20, "until": [], "temperature": 0.5}),
            Request(lambda: ids * 1000, "t", 2),
        ]
    )
    assert "." not in text and longer.count(".") >= 1 and nothing == ""
    first, second, third = rows_of(tmp_path)
    assert (first["tokens"], second["tokens"], third["tokens"]) == (24, 20, 0)
    assert second["trace"] == f"{first['prompt_hash']}-2.json.gz" and second["prompt_hash"] == first["prompt_hash"]
    assert "this model takes at most" in third["problem"] and third["trace"] is None
    with pytest.raises(dard.InputError, match="none of the 1 samples could be decoded"):
        answers.answer([Request(list, "t", 3)])


def test_lmms_eval_finds_a_model_that_sees_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lmms-eval itself brings a torchvision that breaks torch here: what it has to offer is stood in for."""

    class Lmms:
        def __init__(self) -> None:
            self.task_dict: dict[str, Any] = {}

    for name, values in {
        "lmms_eval": {},
        "lmms_eval.api": {},
        "lmms_eval.api.model": {"lmms": Lmms},
        "lmms_eval.models": {},
        "lmms_eval.models.registry_v2": {"ModelManifest": types.SimpleNamespace},
    }.items():
        module = types.ModuleType(name)
        module.__dict__.update(values)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0")
    from dard.harness import manifest

    where, _, name = manifest().simple_class_path.rpartition(".")
    kind = getattr(__import__(where, fromlist=[name]), name)
    folder, _ = write_mmada(tmp_path / "m")
    encoder = write_magvit(tmp_path / "magvit", blocks=[1] * 5)
    lm = kind(str(folder), out=tmp_path / "out", image_encoder=str(encoder), gen_length=4, block_length=4)
    picture = Image.new("RGB", (64, 48), "red")
    lm.task_dict = {"t": {"test": [{"image": picture}]}}
    args = ("<image 1> w5 w7", {"max_new_tokens": 16}, lambda document: [document["image"]], 0, "t", "test")
    (answer,) = lm.generate_until([types.SimpleNamespace(args=args)])
    model = dard.load_model(folder, image_encoder=encoder)
    trace = dard.decode(with_image(model, picture), "w5 w7", gen_length=4, block_length=4)
    assert answer == trace.text and trace.prompt_tokens[0] == MMU
    (row,) = rows_of(tmp_path / "out")
    kept = dard.Trace.load(tmp_path / "out" / "traces" / row["trace"])
    assert kept.prompt_tokens == trace.prompt_tokens == pictured_prompt(model, "<image>w5 w7", [picture])
    sys.modules.pop(where)
