"""Running: progress, interruption, resuming, spreading, and the way back from a row to its run."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dard
from dard.core.files import open_alone
from dard.experiments import load, make_plan, run
from dard.experiments import plan as plan_module
from dard.experiments.ablations import MixingAblation
from dard.results.samples import of_results
from dard.results.sweep import Process
from tests.experiments.tiny_task import TinyTask, model, without_times

STEM = "mixing-ablation-tiny"


def plan(samples: int = 5, seed: int = 0, batch: int = 2, **options: Any) -> Any:
    return make_plan("mixing-ablation", model(), TinyTask(), samples, seed, batch=batch, **options)


def finish(a_plan: Any, out: Path | None = None, **options: Any) -> Any:
    for _ in run(a_plan, out, **options):
        pass
    return a_plan.results


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    finish(plan(), folder)
    return folder


def file_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{STEM}.jsonl").read_text().splitlines()[1:]]


def test_progress_grows_to_all_cells_and_every_variant_is_there_early() -> None:
    a_plan = plan()
    seen = list(run(a_plan))
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[0].done == 0 and seen[-1].done == seen[-1].total == 5 * 5
    assert len({row["variant"] for p in seen[:6] for row in p.rows}) == 5
    assert sum(len(p.rows) for p in seen) == 25


def test_the_header_says_what_rows_depend_on(whole: Path) -> None:
    header = json.loads((whole / f"{STEM}.jsonl").read_text().splitlines()[0])
    assert header["experiment"] == "mixing-ablation" and header["seed"] == 0 and header["samples"] == 5
    assert header["code"]["version"] == dard.__version__ and header["code"]["sources"]
    assert header["weights"] and len(header["items"]) == 5 and len(header["variants"]) == 5


def test_results_can_be_downloaded_as_their_file(whole: Path) -> None:
    assert load(whole, STEM).jsonl() == (whole / f"{STEM}.jsonl").read_text()


def test_an_item_too_long_for_the_model_is_refused_before_anything_runs() -> None:
    with pytest.raises(dard.InputError, match="at most 512"):
        plan(gen_length=600)


def test_a_second_run_adds_nothing_and_measures_nothing(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (whole / f"{STEM}.jsonl").read_bytes()

    def measure(*_: Any) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(MixingAblation, "measure", measure)
    results = finish(plan(), whole)
    assert results.complete and (whole / f"{STEM}.jsonl").read_bytes() == before


def test_stop_leaves_whole_rows_and_the_next_run_goes_on(whole: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    for progress in run(plan(), tmp_path, stop=stop):
        if progress.done >= 7:
            stop.set()
    done = file_rows(tmp_path)
    assert 7 <= len(done) < 25
    finish(plan(), tmp_path)
    assert file_rows(tmp_path)[: len(done)] == done
    assert without_times(file_rows(tmp_path)) == without_times(file_rows(whole))


def test_an_interruption_inside_a_measurement_loses_only_that_batch(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    real = MixingAblation.measure

    def measure(self: Any, job: Any, variant: Any, samples: Sequence[int]) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return real(self, job, variant, samples)

    with monkeypatch.context() as patch:
        patch.setattr(MixingAblation, "measure", measure)
        with pytest.raises(KeyboardInterrupt):
            finish(plan(), tmp_path)
    assert len(file_rows(tmp_path)) == 6
    finish(plan(), tmp_path)
    assert without_times(file_rows(tmp_path)) == without_times(file_rows(whole))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_is_completed_to_the_same_rows(whole: Path, tmp_path: Path, share: float) -> None:
    data = (whole / f"{STEM}.jsonl").read_bytes()
    (tmp_path / f"{STEM}.jsonl").write_bytes(data[: int(share * len(data))])
    finish(plan(), tmp_path)
    assert without_times(file_rows(tmp_path)) == without_times(file_rows(whole))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed"),
        ({"samples": 4}, "samples"),
        ({"batch": 3}, "batch"),
        ({"gen_length": 7}, "gen_length"),
    ],
)
def test_results_of_another_run_are_refused(whole: Path, change: dict[str, Any], words: str) -> None:
    before = (whole / f"{STEM}.jsonl").read_bytes()
    with pytest.raises(dard.InputError, match=f"results of another run: it differs in {words}.*--out"):
        finish(plan(**change), whole)
    assert (whole / f"{STEM}.jsonl").read_bytes() == before


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path) -> None:
    with open_alone(tmp_path / f"{STEM}.jsonl"), pytest.raises(dard.InputError, match=r"^another process is writing"):
        finish(plan(), tmp_path)
    assert finish(plan(), tmp_path).complete


def test_other_code_may_read_a_complete_file_but_not_add_to_an_unfinished_one(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (whole / f"{STEM}.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / f"{STEM}.jsonl").write_text("".join(lines[:-1]))
    monkeypatch.setattr(plan_module, "code_version", lambda: {"version": "9", "commit": None, "sources": "x"})
    assert finish(plan(), whole).complete
    with pytest.raises(dard.InputError, match="it differs in code"):
        finish(plan(), tmp_path)


def test_processes_share_the_batches_and_their_parts_join(whole: Path, tmp_path: Path) -> None:
    for index in (2, 0, 1):
        finish(plan(), tmp_path, process=Process(index, 3))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{STEM}.part{n}.jsonl" for n in range(3)]
    joined = load(tmp_path, STEM)
    assert joined.complete

    def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(without_times(rows), key=lambda row: (row["variant"], row["sample"]))

    assert ordered(joined.rows) == ordered(file_rows(whole))
    assert finish(plan(), tmp_path).complete  # one process finds nothing left to do
    assert not (tmp_path / f"{STEM}.jsonl").exists()


def test_a_row_leads_back_to_its_run(whole: Path) -> None:
    results = load(whole, STEM)
    for variant in ("Saber n=4", "DARD w=0.5"):
        for sample in [sample for sample in of_results(results) if sample.variant == variant]:
            trace = dard.decode(model(), sample.prompt, sample.decoder, **sample.settings)
            assert (trace.text, trace.num_steps) == (sample.text, sample.passes)


def test_batches_change_nothing_but_time() -> None:
    together, alone = finish(plan(batch=5)), finish(plan(batch=1))
    for variant in together.variants:
        assert without_times(together.of(variant)) == without_times(alone.of(variant))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"samples": 0}, "samples = 0 is not allowed"),
        ({"samples": True}, "samples"),
        ({"batch": -1}, "batch = -1"),
        ({"batch": 0}, "batch = 0"),
        ({"gen_length": 0}, "gen_length = 0"),
        ({"block_length": -2}, "block_length = -2"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_bad_numbers_are_refused_by_name(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(dard.InputError, match=words):
        plan(**arguments)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(dard.InputError, match="unknown experiment 'x'; there are pareto"):
        make_plan("x", model(), TinyTask())
    with pytest.raises(dard.InputError, match=r"unknown task 'x'; there are places.*gsm8k"):
        make_plan("pareto", model(), "x")
