"""The Lab without a browser: experiments as they come in, the runs behind a point, and what is refused."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.core.errors import InputError
from dard.experiments import Results
from dard.models.base import Model
from dard.results.samples import of_results
from tests.test_samples import evaluation
from visual.server import lab as module
from visual.server.lab import SAMPLES_AT_MOST, Lab


@pytest.fixture(scope="module")
def lab() -> Lab:
    loaded: dict[str, Model] = {}

    def model(name: str) -> Model:
        if name != "embedded":
            raise InputError(f"unknown model {name!r}")
        if name not in loaded:
            loaded[name] = dard.load_model(name)
        return loaded[name]

    return Lab(model)


def asked(**changes: Any) -> dict[str, Any]:
    return {"experiment": "mixing-ablation", "task": "places", "model": "embedded", "samples": 2, **changes}


def test_an_experiment_tells_how_far_it_is_and_ends_with_its_results(lab: Lab) -> None:
    replies = list(lab.experiment(asked()))
    last = replies[-1]
    assert [reply["done"] for reply in replies] == sorted(reply["done"] for reply in replies)
    assert last["kind"] == "results" and last["done"] == last["total"] == 10
    assert last["figure"]["data"] and last["tables"][0]["rows"]
    assert json.dumps(last)
    variant = last["tables"][0]["variants"][-1]
    runs = lab.runs({"lab": last["lab"], "variant": variant})["runs"]
    assert len(runs) == 2 and all([lane["decoder"] for lane in run["lanes"]] == ["dard", "saber"] for run in runs)
    lane = runs[0]["lanes"][0]
    again = dard.decode(dard.load_model("embedded"), runs[0]["asked"], lane["decoder"], **lane["settings"])
    assert again.num_steps == runs[0]["passes"]


def test_samples_are_read_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often one clicks on points: a long sweep has thousands."""
    read: list[Results] = []
    monkeypatch.setattr("visual.server.lab.of_results", lambda results: (read.append(results), of_results(results))[1])
    last = list(lab.experiment(asked()))[-1]
    for variant in last["variants"] * 2:
        assert lab.runs({"lab": last["lab"], "variant": variant})["all"] == 2
    assert len(read) == 1


def test_the_files_hold_the_rows_and_the_tables(lab: Lab) -> None:
    key = list(lab.experiment(asked()))[-1]["lab"]
    name, _, content = lab.file({"lab": key, "kind": "rows"})
    lines = content.decode().splitlines()
    assert name == "mixing-ablation-places.jsonl" and len(Results(json.loads(lines[0])).variants) * 2 == len(lines) - 1
    name, _, content = lab.file({"lab": key, "kind": "tables"})
    assert name.endswith(".md") and content.decode().startswith("# ")


def test_an_experiment_yields_to_people(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its decodes job in the background of the model's passes, and its times are those of its own steps."""
    asked_for: list[tuple[str, bool]] = []
    real = module.passes

    def passes(name: str, sessions: Any, background: bool = False) -> Any:
        asked_for.append((name, background))
        for moved in real(name, sessions, background=background):
            time.sleep(0.1)  # somebody else's turn
            yield moved

    monkeypatch.setattr(module, "passes", passes)
    rows = lab._kept[list(lab.experiment(asked()))[-1]["lab"]].results.rows  # type: ignore[union-attr]
    assert {*asked_for} == {("embedded", True)} and len(asked_for) == 5
    assert all(0 < row["seconds"] < 0.1 * row["passes"] for row in rows)


def test_it_stops_when_it_is_told_to(lab: Lab) -> None:
    replies = lab.experiment(asked(samples=40))
    first = next(replies)
    next(replies)
    lab.stop({"lab": first["lab"]})
    rest = list(replies)
    assert rest[-1]["kind"] == "results" and rest[-1]["done"] < rest[-1]["total"]
    assert "so far" in rest[-1]["about"]
    lab.stop({"lab": first["lab"]})  # an experiment that has ended can be stopped again


def upload(name: str, content: bytes, run: bytes = b"", folder: str = "") -> dict[str, str]:
    rows, about = (base64.b64encode(each).decode() for each in (content, run))
    return {"name": name, "folder": folder, "rows": rows, "run": about}


def test_results_that_a_visitor_opens(lab: Lab) -> None:
    key = list(lab.experiment(asked()))[-1]["lab"]
    _, _, content = lab.file({"lab": key, "kind": "rows"})
    view = lab.open({"files": [upload("mine.jsonl", content)]})
    assert view["done"] == 10 and view["figure"]["data"] and len(view["variants"]) == 5
    assert view["of"] == [asked()["experiment"], asked()["task"]]
    told = lab.runs({"lab": view["lab"], "variant": "", "only": "right", "sort": "revocations"})
    assert told["all"] == 10 and told["count"] == len(told["runs"]) == 10 - told["wrong"]
    assert all(run["right"] and len(run["lanes"]) == 2 for run in told["runs"])
    two = lab.open({"files": [upload("a.jsonl", content, folder="a"), upload("b.jsonl", content, folder="b")]})
    assert two["done"] == 20 and two["figure"] is two["of"] is None and len(two["variants"]) == 10
    with pytest.raises(InputError, match="no table"):
        lab.file({"lab": two["lab"], "kind": "rows"})


def test_an_evaluation_is_opened_with_the_names_of_its_traces(lab: Lab, tmp_path: Path) -> None:
    files = [evaluation(tmp_path / name, name) for name in ("dard", "wino")]
    sent = [
        upload("samples.jsonl", (f / "samples.jsonl").read_bytes(), (f / "run.json").read_bytes(), f.name)
        for f in files
    ]
    told = lab.runs({"lab": lab.open({"files": sent})["lab"], "variant": "", "only": "wrong"})
    first = told["runs"][0]
    assert first["traces"] == [["dard", f"{7:016x}.json.gz"], ["wino", f"{7:016x}.json.gz"]]
    assert first["target"] == "San Diego" and told["all"] == 6 and told["wrong"] == 2


def test_hostile_results_are_refused_with_a_sentence(lab: Lab) -> None:
    key = list(lab.experiment(asked()))[-1]["lab"]
    _, _, content = lab.file({"lab": key, "kind": "rows"})
    header, *rows = map(json.loads, content.decode().splitlines())

    def lines(*entries: Any) -> bytes:
        return "".join(json.dumps(entry) + "\n" for entry in entries).encode()

    name = header["variants"][0]["name"]
    evil = "<a href='javascript:alert(1)'>x</a>"
    renamed = [{**row, "variant": evil if row["variant"] == name else row["variant"]} for row in rows]
    variants = [header["variants"][0] | {"name": evil}, *header["variants"][1:]]
    bad: list[Any] = [
        None,
        [],
        ["x"],
        [{"name": "x", "folder": "", "rows": "?"}],
        [upload("x", b"nothing")],
        [upload("x", lines(header | {"task_title": evil}, *rows))],
        [upload("x", lines(header | {"task_title": 7}, *rows))],
        [upload("x", lines(header | {"samples": "twelve"}, *rows))],
        [upload("x", lines(header | {"seed": None}, *rows))],
        [upload("x", lines(header | {"experiment": "unknown"}, *rows))],
        [upload("x", lines(header | {"variants": variants}, *renamed))],
        [upload("x", lines(header, *({**row, "passes": 0} for row in rows)))],
        [upload("x", lines(header, *({**row, "score": "much"} for row in rows)))],
        [upload("x", lines(header, *({k: v for k, v in row.items() if k != "score"} for row in rows)))],
        [upload("x", lines(header, *rows).replace(b'"score": 1.0', b'"score": 1e999'))],
        [upload("x", lines(header, *rows).replace(b'"score": 1.0', b'"score": NaN'))],
        [upload("x", content)] * 21,
    ]  # fmt: skip
    for files in bad:
        with pytest.raises(InputError) as error:
            lab.open({"files": files})
        assert "\n" not in str(error.value) and "<a" not in str(error.value)[:20]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"experiment": "<img>"}, "unknown experiment"),
        ({"task": "gsm8k"}, "unknown task"),
        ({"model": "other"}, "unknown model"),
        ({"samples": 0}, "samples"),
        ({"samples": SAMPLES_AT_MOST + 1}, "too many"),
        ({"samples": "3"}, "samples"),
        ({"samples": True}, "samples"),
        ({"seed": -1}, "seed"),
        ({"experiment": None}, "experiment must be text"),
        ({"task": "x" * 1000}, "task must be text"),
    ],
)
def test_bad_input_gets_a_sentence(lab: Lab, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        list(lab.experiment(asked(**changes)))


def test_what_is_not_there_gets_a_sentence(lab: Lab) -> None:
    with pytest.raises(InputError, match="no recorded results"):
        lab.recorded({"stem": "../../etc/passwd"})
    with pytest.raises(InputError, match="forgotten"):
        lab.runs({"lab": "nothing", "variant": "x"})
    key = list(lab.experiment(asked()))[-1]["lab"]
    with pytest.raises(InputError, match="no variant"):
        lab.runs({"lab": key, "variant": "<script>"})


def test_without_their_rows_recorded_results_show_the_same_chart_and_tables(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a Space, which holds the files that are made of the rows."""
    for path in module.RESULTS.iterdir():
        if path.suffix != ".jsonl":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    whole = {stem: lab.recorded({"stem": stem}) for stem in lab.offer()["recorded"]}
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    assert lab.offer()["recorded"] == [*whole]
    for stem, wanted in whole.items():
        found = lab.recorded({"stem": stem})
        assert found["figure"] == json.loads((tmp_path / f"{stem}.figure.json").read_text())
        assert found["command"] == wanted["command"] and "samples, seed" in found["about"]
        assert [table | {"variants": []} for table in wanted["tables"]] == found["tables"]
        with pytest.raises(InputError, match="did not come with this page"):
            lab.runs({"lab": found["lab"], "variant": "x"})
        name, _, content = lab.file({"lab": found["lab"], "kind": "tables"})
        assert content == (tmp_path / name).read_bytes() and found["files"] == ["tables"]


def test_recorded_results_are_complete_and_say_how_they_were_made(lab: Lab) -> None:
    for stem in lab.offer()["recorded"]:
        view = lab.recorded({"stem": stem})
        assert view["done"] == view["total"] > 0
        assert view["command"].startswith("python -m dard experiment")
        assert view["figure"]["data"]
