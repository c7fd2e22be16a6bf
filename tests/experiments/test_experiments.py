"""Every experiment: its grid, its tables and its figure, on small models and on results that are still coming in."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import plotly.graph_objects
import pytest

from dard import InputError
from dard.core.folders import assets
from dard.experiments import EXPERIMENTS, load, make_plan, markdown, run, write_report
from dard.experiments.endings import OTHER
from dard.experiments.points import Point, by_decoder, frontier, points
from dard.experiments.weight_statistics import counts, histogram
from dard.results.sweep import Scope
from dard.tasks import TASKS, Item
from tests.experiments.tiny_task import TinyTask, TinyTemplates, model
from tests.helpers import ALL_DECODERS


@pytest.mark.parametrize("task", [TinyTask(), TinyTemplates()], ids=["questions", "templates"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_and_figures_are_there_at_every_moment(name: str, task: TinyTask) -> None:
    plan = make_plan(name, model(), task, 1)
    names = {variant.name for variant in plan.results.variants}
    assert len(names) == len(plan.results.variants)
    looked = 0
    for progress in run(plan):
        if progress.done not in (0, 1, progress.total):
            continue
        looked += 1
        shown = plotly.graph_objects.Figure(plan.experiment.figure(plan.results))  # raises if Plotly knows better
        for trace in shown.data:
            for entry in [] if trace.customdata is None else list(trace.customdata):
                assert set([entry] if isinstance(entry, str) else entry) <= names | {None}
        for table in plan.experiment.tables(plan.results):
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert set(table.variants) <= names and len(table.variants) in (0, len(table.rows))
            assert all(isinstance(cell, str) for row in table.rows for cell in row)
    assert looked == (3 if len(names) > 1 else 2)
    assert plan.results.complete


def scope(length: int) -> Scope:
    return Scope([Item("p", length, None)], length, None)


def test_the_pareto_grid_is_the_papers_with_smaller_n_for_short_answers() -> None:
    long, short = (EXPERIMENTS["pareto"].grid(scope(length)) for length in (256, 24))

    def settings(variants: list, decoder: str, name: str) -> list:
        return [variant.settings[name] for variant in variants if variant.decoder == decoder]

    assert settings(long, "wino", "threshold") == [0.3, 0.4, 0.5, 0.6, 0.7]
    assert settings(long, "saber", "n") == [4, 5, 6, 7, 8]
    assert settings(short, "saber", "n") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len(settings(long, "dard", "tau_c")) == 9
    assert {variant.decoder for variant in long} == set(ALL_DECODERS)


def test_the_other_grids_are_the_papers() -> None:
    assert len(EXPERIMENTS["thresholds"].grid(scope(256))) == 24
    pairs = [tuple(variant.settings.values()) for variant in EXPERIMENTS["lengths"].grid(scope(256))]
    assert pairs == [(128, 128), (128, 64), (256, 256), (256, 128), (256, 64)]
    assert [v.settings["ordering"] for v in EXPERIMENTS["mask-ablation"].grid(scope(16))[1:]] == [
        "bidirectional", "l2r", "entropy", "margin", "confidence",
    ]  # fmt: skip


def test_a_pareto_figure_outlines_the_best_point_and_draws_the_frontier() -> None:
    plan = make_plan("pareto", model(), TinyTask(), 4)
    for _ in run(plan):
        pass
    data = plan.experiment.figure(plan.results)["data"]
    drawn = {"data": [trace for trace in data if trace["x"] != [None]]}
    groups = by_decoder(points(plan.results))
    keys = [trace["name"] for trace in data if trace["x"] == [None]]
    assert keys == ["most accurate setting", "no other is better", "one token per pass", "equal points: moved apart"]
    places = [
        place
        for trace in drawn["data"]
        if trace["mode"] == "markers"
        for place in zip(trace["x"], trace["y"], strict=True)
    ]
    assert len(set(places)) == len(places)  # none lies on another
    assert not any("tok/s" in trace.get("name", "") for trace in data)  # of 4 samples that would be noise
    lines = [trace for trace in drawn["data"] if trace["mode"] == "lines"]
    assert [line["x"] for line in lines] == [[p.passes for p in frontier(group)] for group in groups.values()]
    for trace in drawn["data"]:
        if trace["mode"] == "markers":
            widths = trace["marker"]["line"]["width"]
            assert sum(width > 0 for width in widths) == 1
            assert trace["y"][widths.index(max(widths))] > max(trace["y"]) - 3  # equal ones are moved apart


def test_standard_decoding_gets_a_share_of_an_items_own_masks() -> None:
    plan = make_plan("pareto", model(), TinyTemplates(), 2)
    for _ in run(plan):
        pass
    assert {row["passes"] for row in plan.results.of("Standard, one token per pass")} == {3}
    assert {row["passes"] for row in plan.results.of("Standard per pass=2")} == {2}


def test_weights_are_counted_once_each() -> None:
    plan = make_plan("weight-statistics", model(), TinyTask(), 3)
    for _ in run(plan):
        pass
    from dard.decoding.session import Session

    weights = []
    for item in plan.job.scope.items:
        trace = Session(model(), item.prompt, "dard", gen_length=6).run()
        weights += [w for step in trace.steps for w in step.weights if w is not None]
    found = counts(Point(plan.results.variants[0], plan.results.rows, label="all"))
    assert sum(found) == len(weights)
    assert sum(found[18:]) == sum(w >= 0.9 for w in weights)
    assert histogram([]) == [0] * 20


def test_a_report_is_written_and_says_where_it_comes_from(tmp_path: Path) -> None:
    plan = make_plan("mixing-ablation", model(), TinyTask(), 2, command="python -m dard experiment mixing-ablation")
    for _ in run(plan, tmp_path):
        pass
    paths = write_report(load(tmp_path, "mixing-ablation-tiny"), tmp_path)
    assert [path.name for path in paths] == [f"mixing-ablation-tiny.{end}" for end in ("md", "figure.json", "html")]
    text = paths[0].read_text()
    assert (
        "python -m dard experiment mixing-ablation" in text and "2 samples, seed 0" in text and "| Saber n=4 |" in text
    )
    assert json.loads(paths[1].read_text())["data"]
    assert "plotly.min.js" in paths[2].read_text() and (tmp_path / "plotly.min.js").exists()


@pytest.mark.parametrize("path", sorted(assets("results").glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_tables_and_figures_are_what_their_rows_give(path: Path) -> None:
    results = load(path.parent, path.stem)
    figure = json.dumps(EXPERIMENTS[results.header["experiment"]].figure(results), ensure_ascii=False, indent=1)
    assert results.complete and markdown(results) == path.with_suffix(".md").read_text(encoding="utf-8")
    assert figure + "\n" == path.with_suffix(".figure.json").read_text(encoding="utf-8")


def test_an_unfinished_report_says_so() -> None:
    plan = make_plan("mixing-ablation", model(), TinyTask(), 2, batch=1)
    for progress in run(plan):
        if progress.done == 3:
            break
    assert "Unfinished: 3 of 10 rows" in markdown(plan.results)


def test_default_tasks_exist() -> None:
    assert {experiment.default_task for experiment in EXPERIMENTS.values()} <= set(TASKS)


def test_a_template_has_no_generation_length() -> None:
    with pytest.raises(InputError, match="templates"):
        make_plan("pareto", model(), TinyTemplates(), 2, gen_length=9)


def test_endings_count_every_run_once_and_put_the_other_decoder_beside_it() -> None:
    plan = make_plan("endings", model(), TinyTask(), 6)
    for _ in run(plan):
        pass
    [table] = plan.experiment.tables(plan.results)
    runs = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    names = list(dict.fromkeys(row["Variant"] for row in runs))
    assert len(names) == 6 and sum(name.endswith("reopen") for name in names) == 3
    for name in names:
        *parts, whole = [row for row in runs if row["Variant"] == name]
        assert whole["Ended"] == "all runs" and whole["Runs"] == "6" == str(sum(int(row["Runs"]) for row in parts))
        rows = plan.results.of(name)
        assert whole["Acc. (%)"] == f"{100 * statistics.fmean(row['score'] for row in rows):.1f}"
        assert whole["EB passes"] == f"{statistics.fmean(row['passes'] for row in plan.results.of(OTHER)):.2f}"
    drawn = plan.experiment.figure(plan.results)["data"]
    assert [sum(heights) for heights in zip(*(bar["y"] for bar in drawn), strict=True)] == [6] * len(names)
