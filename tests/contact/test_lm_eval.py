"""lm-eval itself: answers and scores are those of our own scorer, and every decode is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lm_eval
import pytest
import yaml
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

import dard
from dard.cli.main import main
from dard.harness.lm import DardLM
from dard.results.sweep import Job, Variant, sweep
from dard.tasks import TASKS
from dard.tasks.base import spell
from tests.models.families import write_llada_chat

COUNT = 16


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task of lm-eval over arithmetic items."""
    folder = tmp_path_factory.mktemp("task")
    items = TASKS["arithmetic"].test_items(COUNT, 0)
    records = [{"prompt": item.prompt, "target": spell(item.facts["result"])} for item in items]
    (folder / "items.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    answer = {"function": "regex", "regex_pattern": r"The answer is (\d(?: \d)*) \.$"}
    config = {
        "task": "stories",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "items.jsonl")}, "cache_dir": str(folder / "cache")},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "{{target}}",
        "generation_kwargs": {"until": ["[EOS]"], "max_gen_toks": 24},
        "filter_list": [{"name": "final", "filter": [answer, {"function": "take_first"}]}],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    (folder / "stories.yaml").write_text(yaml.safe_dump(config))
    return folder


def harness(task: Path, out: Path, *more: str, settings: str = "decoder=standard,per_pass=6") -> int:
    common = ["--tasks", "stories", "--include_path", str(task), "--model_args", f"out={out},{settings}"]
    return main(["lm-eval", *common, *more])


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


def test_lm_eval_gives_our_own_scores_in_any_batch(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", lambda results: None)  # it asks pip, for ten seconds
    only = TaskManager(include_path=str(task), include_defaults=False)  # the command reads thousands of files
    one = DardLM(out=tmp_path / "one", decoder="standard", per_pass=6, batch_size=1)
    one.judge(lm_eval.simple_evaluate(one, tasks=["stories"], task_manager=only))
    assert harness(task, tmp_path / "eight", "--batch_size", "8") == 0
    job = Job.of(dard.load_model("embedded"), TASKS["arithmetic"], COUNT)
    own = [row for rows in sweep(job, [Variant("v", "standard", {"per_pass": 6})], COUNT) for row in rows]
    names = ("sample", "text", "right", "score", "passes", "tokens", "revocations", "ended_by")
    expected = [[row[name] for name in names] for row in own]
    assert [[row[name] for name in names] for row in rows_of(tmp_path / "one")] == expected
    assert [[row[name] for name in names] for row in rows_of(tmp_path / "eight")] == expected
    assert {row["right"] for row in own} == {True, False}, "both must happen for equality to mean something"
    run = json.loads((tmp_path / "eight" / "run.json").read_text())
    assert run["results"]["stories"]["exact_match,final"] == sum(row["right"] for row in own) / COUNT
    assert (run["format"], run["decoder"], run["settings"]["per_pass"], run["tasks"]) == (
        "dard-run",
        "standard",
        6,
        ["stories"],
    )
    for row in rows_of(tmp_path / "eight"):
        trace = dard.Trace.load(tmp_path / "eight" / "traces" / row["trace"])
        assert row["trace"] == f"{row['prompt_hash']}.json.gz" and trace.num_steps == row["passes"]
        assert trace.text == row["text"] and row["target"] and row["problem"] is None


@pytest.mark.long
def test_two_processes_of_lm_eval_give_what_one_gives(task: Path, tmp_path: Path) -> None:
    """As accelerate starts them; one is killed on the way, and both are started again."""
    assert harness(task, tmp_path / "one", "--batch_size", "2") == 0
    words = ["--tasks", "stories", "--include_path", str(task), "--batch_size", "2", "--model_args"]
    command = [sys.executable, "-m", "dard", "lm-eval", *words, f"out={tmp_path / 'two'},decoder=standard,per_pass=6"]
    places = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"} for rank in ("0", "1")]
    processes = [subprocess.Popen(command, env=os.environ | place) for place in places]
    part = tmp_path / "two" / "samples.part1.jsonl"
    while not part.exists() or not part.read_bytes():
        assert processes[1].poll() is None
        time.sleep(0.05)
    for process in processes:
        process.kill()
        process.wait()
    processes = [subprocess.Popen(command, env=os.environ | place) for place in places]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    names = ("sample", "text", "right", "score", "passes", "prompt_hash", "trace", "target")
    one, two = ([[row[name] for name in names] for row in rows_of(tmp_path / each)] for each in ("one", "two"))
    assert one == two
    runs = [json.loads((tmp_path / each / "run.json").read_text())["results"] for each in ("one", "two")]
    assert runs[0]["stories"]["exact_match,final"] == runs[1]["stories"]["exact_match,final"]


def test_the_cache_of_answers_is_refused(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert harness(task, tmp_path / "out", "--use_cache", str(tmp_path / "cache")) == 2
    assert "use_cache is not allowed" in capsys.readouterr().err and not (tmp_path / "out").exists()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dard.InputError, match="use_cache is not allowed"):
        lm_eval.simple_evaluate("dard", {"out": "other"}, tasks=["stories"], use_cache="answers")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tau_q": 1}, "'tau_q' is neither a setting of dard nor an argument of load_model"),
        ({"tau_c": 7}, "tau_c = 7 is not allowed"),
        ({"batch_size": "auto"}, "batch_size = 'auto' is not allowed"),
        ({"decoder": "x"}, "unknown decoder 'x'"),
    ],
)
def test_bad_arguments_are_one_sentence(values: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(dard.InputError, match=words):
        DardLM(out=tmp_path / "out", **values)


def test_an_answer_begun_by_a_task_goes_on_in_the_models_template(tmp_path: Path) -> None:
    folder, _ = write_llada_chat(tmp_path / "m")
    lm = DardLM(pretrained=str(folder), out=tmp_path / "out", device="cuda:0")  # which is what nobody asked for
    turns = [{"role": "user", "content": "the city"}]
    asked = lm.apply_chat_template(turns)
    assert asked == dard.load_model(folder).decode(dard.load_model(folder).encode("the city"))
    begun = lm.apply_chat_template([*turns, {"role": "assistant", "content": "It is"}], add_generation_prompt=False)
    assert begun == asked + "It is"
    with pytest.raises(dard.InputError, match="model 'embedded' has no chat template"):
        DardLM(out=tmp_path / "plain").apply_chat_template(turns)


def test_likelihoods_are_refused(tmp_path: Path) -> None:
    lm = DardLM(out=tmp_path / "out")
    with pytest.raises(dard.InputError, match="task 'arc' compares likelihoods"):
        lm.loglikelihood([Instance("loglikelihood", {}, ("one", "two"), 0, metadata=("arc", 0, 1))])
