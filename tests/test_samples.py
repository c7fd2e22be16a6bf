"""The samples of a run: read from both kinds of files, filtered, sorted, opened; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli.main import main
from dard.core.errors import InputError
from dard.experiments import make_plan, run
from dard.results.samples import MAX_VARIANTS, SORTS, Sample, beside, choose, joined, open_folder, read, trace_file

QUESTIONS = {7: "The city of [MASK] [MASK] is on the Southern California coast .", 8: "[MASK] of the City"}


def evaluation(folder: Path, decoder: str = "dard", model: Any = None) -> Path:
    """A run of lm-eval as it is on disk: two samples that were decoded, and one that was not."""
    model = model or dard.load_model("embedded")
    (folder / "traces").mkdir(parents=True)
    rows = []
    for number, prompt in ((7, QUESTIONS[7]), (8, "The city of San [MASK] is on the Southern California coast .")):
        trace = dard.decode(model, prompt, decoder)
        trace.save(folder / "traces" / f"{number:016x}.json.gz")
        rows.append(
            {
                "task": "places", "sample": number, "prompt_hash": f"{number:016x}", "trace": f"{number:016x}.json.gz",
                "problem": None, "passes": trace.num_steps, "tokens": 2, "revocations": 10 - number,
                "ended_by": trace.ended_by, "text": trace.text, "seconds": 0.1, "score": float(number == 8),
                "right": number == 8, "details": {}, "target": "San Diego",
            }
        )  # fmt: skip
    rows.append(rows[0] | {"sample": 9, "trace": None, "problem": "too long", "right": None, "text": "", "passes": 0})
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "run.json").write_text(json.dumps({"format": "dard-run", "model": "embedded", "decoder": decoder}))
    return folder


def experiment(folder: Path) -> Path:
    plan = make_plan("mixing-ablation", dard.load_model("embedded"), "places", 3)
    for _ in run(plan, folder):
        pass
    return folder


def test_an_evaluation_and_an_experiment_are_read_alike(tmp_path: Path) -> None:
    found = open_folder(evaluation(tmp_path / "run"))
    assert [(s.number, s.item, s.right, s.decoder, s.model) for s in found] == [
        (0, "7", False, "dard", "embedded"),
        (1, "8", True, "dard", "embedded"),
        (2, "9", None, "dard", "embedded"),
    ]
    assert trace_file(found[0]) == tmp_path / "run" / "traces" / f"{7:016x}.json.gz"
    assert trace_file(found[2]) is None and found[2].ended_by == "not decoded: too long"
    own = open_folder(experiment(tmp_path / "own"))
    assert len(own) == 15 and {s.decoder for s in own} == {"saber", "dard"} and own[0].trace is None
    again = dard.decode(dard.load_model("embedded"), own[0].prompt or "", own[0].decoder, **own[0].settings)
    assert (again.text, again.num_steps, again.ended_by) == (own[0].text, own[0].passes, own[0].ended_by)


def test_filters_and_orders(tmp_path: Path) -> None:
    found = open_folder(experiment(tmp_path))
    for only, right in (("wrong", {False}), ("right", {True}), ("all", {False, True})):
        kept = choose(found, only)
        assert {s.right for s in kept} <= right and len(kept) == sum(s.right in right for s in found)
    revoked = [s.revocations or 0 for s in choose(found, sort="revocations")]
    assert revoked == sorted(revoked, reverse=True)
    endings = [s.ended_by or "" for s in choose(found, sort="ended")]
    assert endings == sorted(endings)
    assert {s.variant for s in choose(found, variant="Saber n=4")} == {"Saber n=4"}
    assert all("south" in f"{s.prompt} {s.text}".lower() for s in choose(found, text="SOUTH"))
    for bad in ({"only": "some"}, {"sort": "<img>"}):
        with pytest.raises(InputError, match="must be one of"):
            choose(found, **bad)


def test_beside_an_answer_stand_other_decoders_on_the_same_question_the_right_ones_first() -> None:
    every = [
        Sample(0, "t", "a", "DARD 1", "dard", "", right=False),
        Sample(1, "t", "a", "DARD 2", "dard", "", right=True),
        Sample(2, "t", "a", "WINO 1", "wino", "", right=False),
        Sample(3, "t", "a", "WINO 2", "wino", "", right=True),
        Sample(4, "t", "a", "Saber", "saber", "", right=False),
        Sample(5, "t", "b", "Saber", "saber", "", right=True),
    ]
    [others, alone] = beside(every, [every[0], every[5]])
    assert [s.number for s in others] == [3, 4] and alone == []


def test_runs_of_several_decoders_are_numbered_through_and_stand_beside_each_other(tmp_path: Path) -> None:
    for decoder in ("dard", "wino"):
        evaluation(tmp_path / decoder, decoder)
    found = open_folder(tmp_path)
    assert [s.number for s in found] == list(range(6)) and len({s.variant for s in found}) == 2
    [[other]] = beside(found, found[:1])
    assert (other.decoder, other.item) == ("wino", "7")


def test_the_command_lists_and_opens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(evaluation(tmp_path / "run"))
    assert main(["failures", folder]) == 0
    told = capsys.readouterr().out
    assert "3 samples: 1 wrong, 1 right, 1 not judged. 1 match." in told and "✗" in told and "✓" not in told
    assert main(["failures", folder, "--only", "all", "--sort", "revocations", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["item"] for row in rows] == ["7", "9", "8"]
    page = tmp_path / "page.html"
    assert main(["failures", folder, "--open", "0", "1", "--no-open", "--out", str(page)]) == 0
    assert "dard" in page.read_text(encoding="utf-8")
    own = str(experiment(tmp_path / "own"))
    assert main(["failures", own, "--open", "0", "--no-open", "--out", str(page)]) == 0
    capsys.readouterr()
    for words, said in (
        ([folder, "--open", "3"], "numbered from 0 to 2"),
        ([folder, "--open", "2"], "no decode of it (not decoded: too long)"),
        ([str(tmp_path / "nothing")], "holds no results"),
        ([folder, "--sort", "colour"], "--sort"),
    ):
        assert main(["failures", *words, "--no-open"]) == 2
        assert said in capsys.readouterr().err


ROW = {"task": "t", "sample": 1, "trace": "a.json.gz", "text": "x"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"not json",
        b"[1, 2]\n",
        b"7\n",
        b"[" * 100_000,
        b'{"format": "dard-experiment"}\n',
        b'{"format": {}}\n',
        *(
            json.dumps({**ROW, **change}).encode() + b"\n"
            for change in (
                {"trace": "../../etc/passwd"},
                {"trace": "/etc/passwd"},
                {"trace": "a/b.json.gz"},
                {"trace": 7},
                {"text": None},
                {"text": "x" * 30_000},
                {"task": "t" * 1000},
                {"passes": "many"},
                {"passes": True},
                {"right": "yes"},
                {"ended_by": []},
            )
        ),
    ],
)
def test_hostile_files_are_refused_with_one_sentence(content: bytes) -> None:
    with pytest.raises(InputError) as error:
        read(content, name="it")
    assert str(error.value).startswith("it is not a results file") and len(str(error.value)) < 400
    assert "\n" not in str(error.value)


def test_more_variants_than_can_be_shown_are_refused(tmp_path: Path) -> None:
    experiment(tmp_path)
    header, *_ = next(tmp_path.glob("*.jsonl")).read_text().splitlines()
    body = json.loads(header)
    body["variants"] = [{**body["variants"][0], "name": str(n)} for n in range(MAX_VARIANTS + 1)]
    with pytest.raises(InputError, match="variants"):
        read((json.dumps(body) + "\n").encode())


def test_joined_samples_keep_what_they_are() -> None:
    few = [Sample(0, "t", "a", "v", "dard", "")]
    assert joined({"one": few})[0].variant == "v"
    assert [s.variant for s in joined({"one": few, "two": few})] == ["v, one", "v, two"]
    assert set(SORTS) >= {"revocations", "ended"}
