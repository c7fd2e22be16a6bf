"""The command `experiment`, as a user types it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dard.cli import experiment as cli
from dard.cli import main as command_line
from dard.cli import options
from dard.experiments import catalogue, load
from dard.experiments.ablations import MixingAblation
from dard.results.file import read
from tests.experiments.tiny_task import TinyTask, model

ARGUMENTS = ["experiment", "mixing-ablation", "--task", "tiny", "--samples", "3", "--batch", "1"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "open_model", lambda args: model())
    monkeypatch.setitem(catalogue.TASKS, "tiny", TinyTask())


def test_list_names_experiments_and_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["experiment", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("pareto", "contamination", "places", "gsm8k"))


def test_a_run_writes_its_files_and_a_second_run_adds_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 0
    assert "DARD w=adaptive" in capsys.readouterr().out
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {"mixing-ablation-tiny.jsonl", "mixing-ablation-tiny.md"} <= set(before)
    header = json.loads(before["mixing-ablation-tiny.jsonl"].splitlines()[0])
    assert header["command"].startswith(
        "python -m dard experiment mixing-ablation --model embedded --task tiny --samples 3"
    )
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_ctrl_c_leaves_rows_says_so_and_the_same_command_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MixingAblation.measure

    def interrupted(*arguments: Any) -> Any:
        if len((tmp_path / "mixing-ablation-tiny.jsonl").read_text().splitlines()) > 4:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(MixingAblation, "measure", interrupted)
        assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert "interrupted after 4 of 15 rows" in said and "the same command goes on" in said
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "mixing-ablation-tiny.jsonl").read_text().splitlines()
    assert len(lines) == 16 and len({json.dumps(json.loads(line).get("variant")) for line in lines[1:]}) == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["experiment"], "needs a name"),
        (["experiment", "nothing"], "unknown experiment 'nothing'"),
        (["experiment", "pareto", "--task", "nothing"], "unknown task 'nothing'"),
        (["experiment", "pareto", "--samples", "0"], "samples = 0 is not allowed"),
        (["experiment", "pareto", "--samples", "-3"], "samples = -3 is not allowed"),
        (["experiment", "pareto", "--samples", "many"], "invalid int value"),
        (["experiment", "pareto", "--out", "/dev/null/x"], "cannot be written"),
        (["experiment", "pareto", "--task", "mbpp"], "--run-code"),
        (["experiment", "pareto", "--task", "gsm8k", "--data", "/nowhere.jsonl"], "does not exist"),
        (["experiment", "pareto", "--task", "places", "--data", "/nowhere.jsonl"], "makes its own items"),
        (["experiment", "pareto", "--task", "tiny", "--gen-length", "600"], "at most 512"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line.main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and said.startswith("dard: ")


def test_results_of_another_run_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 0
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path), "--seed", "4"]) == 2
    assert "results of another run: it differs in seed (0, not 4)" in capsys.readouterr().err


def test_processes_of_accelerate_each_do_their_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("LOCAL_RANK", rank)
        assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "other processes are still at work" in shown.err and "DARD w=adaptive" in shown.out
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        "mixing-ablation-tiny.part0.jsonl",
        "mixing-ablation-tiny.part1.jsonl",
    ]
    monkeypatch.setenv("RANK", "7")
    assert command_line.main([*ARGUMENTS, "--out", str(tmp_path)]) == 2


def test_two_processes_at_once_make_one_result(tmp_path: Path) -> None:
    """As torchrun starts them: side by side, each writing its own part; whoever is last writes the report."""
    words = ["experiment", "weight-statistics", "--task", "places", "--samples", "6", "--batch", "2"]
    places = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"} for rank in ("0", "1")]
    command = [sys.executable, "-m", "dard", *words, "--out", str(tmp_path)]
    processes = [subprocess.Popen(command, env=os.environ | place) for place in places]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    results = load(tmp_path, "weight-statistics-places")
    assert results.complete and (tmp_path / "weight-statistics-places.md").exists()
    parts = [read(tmp_path / f"weight-statistics-places.part{n}.jsonl").rows for n in (0, 1)]
    assert [[row["sample"] for row in rows] for rows in parts] == [[0, 1, 4, 5], [2, 3]]


def test_the_command_in_a_results_file_names_every_choice() -> None:
    words = ["experiment", "pareto", "--image", "a.png", "--image", "b.png", "--think", "--samples", "2"]
    args = command_line.build_parser().parse_args(words)
    again = shlex.split(cli.command_line(args))[3:]
    assert again.count("--image") == 2 and {"a.png", "b.png", "--think"} <= set(again)
    assert (
        vars(command_line.build_parser().parse_args(again)).items() >= {"samples": 2, "think": True, "seed": 0}.items()
    )
