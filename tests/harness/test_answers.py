"""What a harness asks: answers as the library gives them, every decode kept, and problems told. lm-eval and lmms-eval
themselves: tests/contact."""

from __future__ import annotations

import json
import sys
import types
from concurrent.futures import ThreadPoolExecutor
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


def stories(count: int) -> list[Request]:
    """Items of a world as requests; the third asks what the first did."""
    model = dard.load_model("embedded")
    prompts = [model.encode(item.prompt) for item in TASKS["arithmetic"].test_items(count)]
    prompts[2] = prompts[0]
    options = {"max_gen_toks": 16, "temperature": 0.7}
    return [Request(lambda ids=ids: ids, "stories", n, options) for n, ids in enumerate(prompts)]  # type: ignore[misc]


def member(index: int, out: Path, monkeypatch: pytest.MonkeyPatch, count: int = 2) -> Answers:
    """One of several processes, as accelerate tells them."""
    for name, value in (("RANK", index), ("LOCAL_RANK", index), ("WORLD_SIZE", count)):
        monkeypatch.setenv(name, str(value))
    return Answers("test", out=out, batch_size=2, decoder="wino")


def plain(out: Path) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows_of(out)]


@pytest.fixture
def alone(tmp_path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """What one process answers and leaves behind."""
    texts = Answers("test", out=tmp_path / "alone", batch_size=2, decoder="wino").answer(stories(9))
    return texts, plain(tmp_path / "alone")


def test_processes_share_a_run_and_give_what_one_gives(
    alone: tuple[list[str], list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [member(index, tmp_path / "both", monkeypatch) for index in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda answers, asked: answers.answer(asked), both, [stories(9), stories(9)]))
    assert texts == [alone[0]] * 2 and plain(tmp_path / "both") == alone[1]
    parts = [json.loads(line) for line in (tmp_path / "both" / "samples.part1.jsonl").read_text().splitlines()]
    assert [row["sample"] for row in parts] == [2, 3, 6, 7]
    traces = sorted(file.name for file in (tmp_path / "both" / "traces").iterdir())
    assert traces == sorted(file.name for file in (tmp_path / "alone" / "traces").iterdir())
    both[0].run.judge({}, {"stories": {}})
    assert not list((tmp_path / "both").glob("*part*")) and plain(tmp_path / "both") == alone[1]


def test_the_share_of_a_process_that_is_gone_is_done_by_the_others(
    alone: tuple[list[str], list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (member(index, tmp_path / "both", monkeypatch) for index in (0, 1))
    calls, decode = list[int](), second._decode

    def killed(batch: Any) -> int:
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return decode(batch)

    monkeypatch.setattr(second, "_decode", killed)
    with pytest.raises(KeyboardInterrupt):
        second.answer(stories(9))
    second.run._own.write(b'{"task": "sto')  # in the middle of a line
    second.run._own.close()
    assert first.answer(stories(9)) == alone[0] and plain(tmp_path / "both") == alone[1]


def test_a_run_that_was_stopped_goes_on(
    alone: tuple[list[str], list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In as many processes as there are now; other prompts and judged runs are refused."""
    stopped = Answers("test", out=tmp_path / "run", batch_size=2, decoder="wino")
    stopped.answer(stories(4))
    stopped.run._own.write(b'{"task": "sto')
    stopped.run._own.close()
    again = Answers("test", out=tmp_path / "run", batch_size=2, decoder="wino")
    decoded: list[int] = []
    real = again._session
    monkeypatch.setattr(again, "_session", lambda asked: (decoded.append(asked.request.sample), real(asked))[1])
    assert again.answer(stories(9)) == alone[0] and plain(tmp_path / "run") == alone[1]
    assert decoded == [4, 5, 6, 7, 8]
    again.run._own.close()
    other = Answers("test", out=tmp_path / "run", batch_size=2, decoder="wino")
    with pytest.raises(dard.InputError, match="an answer to another prompt for sample 0"):
        other.answer(stories(9)[1:2] and [Request(lambda: [5, 6], "stories", 0)])
    other.run._own.close()
    with pytest.raises(dard.InputError, match="or hold the same run"):
        Answers("test", out=tmp_path / "run", batch_size=2, decoder="dard")
    again.run.judge({}, {})
    again.run._own.close()
    with pytest.raises(dard.InputError, match="or hold the same run"):
        Answers("test", out=tmp_path / "run", batch_size=2, decoder="wino")


def test_processes_need_a_folder_they_all_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(dard.InputError, match="out must be given"):
        Answers("test")


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
