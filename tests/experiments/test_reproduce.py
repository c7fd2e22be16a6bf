"""The paper's numbers as data, beside ours, and its tables run at full size or small."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli.main import main
from dard.experiments import EXPERIMENTS, load, make_plan, run
from dard.experiments.base import Table
from dard.experiments.beside import beside, beside_paper, includes, matching
from dard.experiments.paper import PAPER
from dard.experiments.points import points
from dard.experiments.published import LATENCY, PUBLISHED, published_for
from dard.experiments.reproduce import FULL, ITEMS, needs, passes_of, reproduce, works
from dard.results.sweep import Process, Scope
from dard.tasks import TASKS, Item
from dard.tasks.benchmarks import PRESETS
from tests.experiments.tiny_task import without_times

NO_NUMBERS = {  # figures of the paper that hold no number as text, and examples
    "candidate_transition_example", "experiment_llm", "experiment_lvlm", "experiment_llada1_15", "gen_length_ablation",
    "fine_grained_multimodal_benchmark",
}  # fmt: skip


def test_every_table_with_numbers_is_there_as_data() -> None:
    assert {each.label for each in PUBLISHED} == set(PAPER) - NO_NUMBERS
    for each in PUBLISHED:
        assert each.lines and (not each.experiment or each.experiment in EXPERIMENTS)
        assert not each.experiment or set(each.tasks) <= set(PRESETS)
    count = sum(len(line.values) for each in PUBLISHED for line in each.lines)
    assert count == 12 + 10 + 10 + 48 + 12 + 8 + 40 + 24 + 36


def test_every_line_of_a_full_run_has_a_variant_and_a_column() -> None:
    """On the grid of the paper's lengths, with the decoders' own defaults."""
    for each in (each for each in PUBLISHED if each.experiment):
        experiment = EXPERIMENTS[each.experiment]
        length = each.scope["gen_length"]
        scope = Scope([Item("Q", length, None)], length, each.scope.get("block_length"))
        grid = experiment.grid(scope)
        for line in each.lines:
            fit = [v for v in grid if v.decoder == line.decoder]
            wanted = {**line.settings}
            wide = [v if "gen_length" in v.settings else with_lengths(v, scope) for v in fit]
            assert any(includes(v, wanted) for v in wide), (each.label, line)
            assert not line.label or line.label in experiment.labels, (each.label, line.label)


def with_lengths(variant: Any, scope: Scope) -> Any:
    settings = {"gen_length": scope.gen_length, "block_length": scope.block_length, **variant.settings}
    return type(variant)(variant.name, variant.decoder, settings)


@pytest.mark.parametrize("name", sorted({each.experiment for each in PUBLISHED if each.experiment} - {"pareto"}))
def test_a_run_stands_beside_the_papers_numbers(name: str) -> None:
    """Forced, for the model is another: each difference is that of the two numbers beside it."""
    experiment = EXPERIMENTS[name]
    plan = make_plan(name, dard.load_model("embedded"), "sudoku-open" if name != "lengths" else "arithmetic", samples=1)
    for _ in run(plan):
        pass
    assert not beside_paper(experiment, plan.results)
    tables = beside_paper(experiment, plan.results, anyway=True)
    assert tables or name in ("lengths", "cost"), "lengths and blocks are others here"
    for table in tables:
        for _, _, ours, paper, difference in table.rows:
            if ours != "–":
                told = float(difference.replace("−", "-"))
                assert told == pytest.approx(float(ours) - float(paper), abs=0.11)


def test_the_same_model_and_benchmark_has_the_table_in_its_report() -> None:
    plan = make_plan("mixing-ablation", dard.load_model("embedded"), "sudoku-open", samples=1)
    for _ in run(plan):
        pass
    plan.results.header |= {"model": "llada-8b-instruct", "task": "math-500-wino"}
    (table,) = beside_paper(EXPERIMENTS["mixing-ablation"], plan.results)
    assert [row[3] for row in table.rows if row[1] == "Acc. (%)"] == ["33.2", "29.2", "31.1", "33.4", "34.6"]
    assert isinstance(table, Table) and "adaptive_logit_mixing" in table.caption


def test_the_best_of_a_decoder_stands_for_its_line_without_settings() -> None:
    plan = make_plan("pareto", dard.load_model("embedded"), "places", samples=2)
    for _ in run(plan):
        pass
    lined = points(plan.results)
    line = next(line for line in published_for("pareto")[0].lines if not line.settings)
    best = matching(line, lined)
    same = [p for p in lined if p.variant.decoder == line.decoder]
    assert best is not None and best.accuracy == max(p.accuracy for p in same)
    assert beside(EXPERIMENTS["pareto"], plan.results, published_for("pareto")[0]).rows


# Reproducing.


def test_the_list_names_every_table_and_figure_and_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(label in shown for label in PAPER) and "GPU" in shown and "hours" in shown
    told = {each.label: each for each in needs()}
    assert set(told) == set(PAPER) and all(each.words for each in told.values())
    for label in FULL:
        alone = needs([label])[0]
        assert alone.passes > 0 and alone.hours == pytest.approx(needs([label], 2 * 0.1377)[0].hours / 2)
    assert told["tps_performance_llada"].passes == 0 and "shared" in told["tps_performance_llada"].words
    assert re.search(r"at [\d.]+ ms", shown)


def test_hours_follow_from_passes() -> None:
    (each,) = FULL["tau_ablation"]
    variants = EXPERIMENTS["thresholds"].variants
    assert 20 * len(variants) * ITEMS["math-500-wino"] < passes_of(each) < 100 * len(variants) * ITEMS["math-500-wino"]
    assert min(line.values["Step (ms)"] for line in LATENCY.lines) == 137.7


def test_small_counterparts_run_stop_at_a_budget_and_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = ["adaptive_logit_mixing", "attention_mask_ablation"]
    words = ["reproduce", *labels, "--small", "--samples", "2", "--out", str(tmp_path)]
    assert main([*words, "--budget", "1e-9"]) == 0
    assert "not begun; the same command goes on" in capsys.readouterr().err
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "goes on" not in shown.err and "DARD w=adaptive" in shown.out and "DARD l2r" in shown.out
    folder = tmp_path / "embedded-sudoku-open"
    assert load(folder, "mixing-ablation-sudoku-open").complete and (folder / "mask-ablation-sudoku-open.md").exists()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert main(words) == 0
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_what_two_tables_share_is_run_once(tmp_path: Path) -> None:
    todo = works(["accuracy_steps_llada", "tps_performance_llada"], True, 1)
    assert len({each for of in todo.values() for each in of}) == 1
    model = dard.load_model("embedded")
    found = list(reproduce({"a": todo["accuracy_steps_llada"], "b": ()}, model, tmp_path, budget=0))
    assert found[0].label == "a" and found[0].total > 40


@pytest.mark.long
def test_two_processes_share_the_work_and_a_killed_one_loses_its_batch_only(tmp_path: Path) -> None:
    """As torchrun starts them: one is killed, the same command goes on, and the rows are those of one process."""
    words = ["reproduce", "adaptive_logit_mixing", "--small", "--samples", "16", "--out", str(tmp_path / "two")]
    command = [sys.executable, "-m", "dard", *words]
    places = [{"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"} for rank in ("0", "1")]
    processes = [subprocess.Popen(command, env=os.environ | place) for place in places]
    part = tmp_path / "two" / "embedded-sudoku-open" / "mixing-ablation-sudoku-open.part1.jsonl"
    while not (part.exists() and part.read_bytes().count(b"\n") > 1) and processes[1].poll() is None:
        time.sleep(0.02)
    processes[1].send_signal(signal.SIGKILL)
    assert processes[0].wait(timeout=120) == 0
    processes[1].wait()
    kept = part.read_bytes()
    (work,) = works(["adaptive_logit_mixing"], True, 16)["adaptive_logit_mixing"]
    model = dard.load_model("embedded")
    for _ in reproduce({"a": (work,)}, model, tmp_path / "two", process=Process(1, 2, 1)):
        pass
    assert part.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    for _ in reproduce({"a": (work,)}, model, tmp_path / "one"):
        pass
    one, two = (
        load(tmp_path / each / "embedded-sudoku-open", "mixing-ablation-sudoku-open") for each in ("one", "two")
    )
    assert two.complete
    for variant in one.variants:
        assert without_times(one.of(variant)) == without_times(two.of(variant))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "is no table or figure of the paper"),
        (["--budget", "0"], "budget = 0.0 is not allowed"),
        (["--samples", "0"], "samples = 0 is not allowed"),
        (["fine_grained_multimodal_benchmark"], "--list says what it needs"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *words]) == 2
    assert said in capsys.readouterr().err


def test_small_worlds_have_every_task_that_is_named() -> None:
    named = {each.task for of in works(None, True, None).values() for each in of}
    assert named <= set(TASKS)
