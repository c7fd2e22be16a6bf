"""The experiment `failures`: a row's kind is what a diagnosis of that very run says, and the table counts them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dard
from dard import InputError
from dard.analysis.diagnosis import diagnose, diagnosing
from dard.core.folders import assets
from dard.experiments import make_plan
from dard.experiments.failures import RIGHT, Failures
from dard.results.file import Results, load
from dard.results.samples import LOSING, choose, of_results
from dard.results.sweep import Variant
from dard.tasks import TASKS
from tests.experiments.tiny_task import TinyTask, model

FEW = [
    Variant("Standard per pass=4", "standard", {"per_pass": 4}),
    Variant("WINO τ1=0.3", "wino", {"threshold": 0.3}),
    Variant("Editing (LLaDA2.1) τ=0.5", "edit", {"threshold": 0.5}),
]


@pytest.fixture(scope="module")
def results() -> Results:
    """Three variants on a few cities."""
    plan = make_plan("failures", dard.load_model("embedded"), "places", samples=8)
    plan.results.header["variants"] = [{"name": v.name, "decoder": v.decoder, "settings": v.settings} for v in FEW]
    kept = Results(plan.results.header)
    for variant in FEW:
        rows = plan.experiment.measure(plan.job, variant, range(8))
        kept.rows += [{"variant": variant.name, "sample": n, **row} for n, row in enumerate(rows)]
    return kept


def test_its_runs_are_those_of_pareto() -> None:
    embedded = dard.load_model("embedded")
    ours, theirs = (make_plan(name, embedded, "places", samples=2).results.header for name in ("failures", "pareto"))
    assert ours["variants"] == theirs["variants"] and ours["items"] == theirs["items"]


def test_a_wrong_row_tells_what_a_diagnosis_of_its_run_says(results: Results) -> None:
    seen = 0
    for sample in of_results(results):
        row = results.rows[sample.number]
        assert ("diagnosis" in row) == (not row["right"])
        if row["right"]:
            assert sample.kind is None and sample.lost_by == ""
            continue
        session = dard.Session(dard.load_model("embedded"), sample.prompt or "", sample.decoder, **sample.settings)
        session.run()
        found, told = diagnose(session), row["diagnosis"]
        assert (told["kind"], told["lost"]) == (found.kind, found.lost) == (sample.kind, sample.lost)
        assert told["guilty"] == (len(found.guilty[0]) if found.guilty else 0) and told["able"] == found.winnable[0]
        assert told["older"] == any(found.written[i] != found.lost for i in (found.guilty or [[]])[0])
        seen += 1
    assert seen >= 5


def wilson(count: int, n: int) -> str:
    """The interval, literally."""
    z, p = 1.96, count / n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return "–".join(f"{100 * (centre + sign * half) / (1 + z * z / n):.0f}" for sign in (-1, 1)).replace("-0", "0")


def test_the_tables_count_kinds_with_their_intervals(results: Results) -> None:
    each, whole = Failures().tables(results)
    for line in each.rows:
        told = dict(zip(each.columns, line, strict=True))
        rows = results.of(told["Variant"])
        kinds = [row["diagnosis"]["kind"] for row in rows if not row["right"]]
        assert told["Wrong"] == str(len(kinds)) and told["Samples"] == "8"
        for kind in LOSING:
            assert told[kind.capitalize()] == f"{kinds.count(kind)} ({wilson(kinds.count(kind), 8)})"
    assert [line[:2] for line in whole.rows] == [["WINO", "8"], ["Standard", "8"], ["Editing (LLaDA2.1)", "8"]]
    editing = dict(zip(whole.columns, whole.rows[-1], strict=True))
    kinds = [row["diagnosis"]["kind"] for row in results.of(FEW[-1]) if not row["right"]]
    share = kinds.count("conflict")
    assert editing["Conflict (%)"] == f"{100 * share / len(kinds):.1f} ({wilson(share, len(kinds))})"


def test_every_run_has_its_part_of_a_bar_and_a_part_leads_to_its_runs(results: Results) -> None:
    drawn = Failures().figure(results)
    bars: dict[str, dict[str, int]] = {}
    for trace in drawn["data"]:
        assert trace["orientation"] == "h" and trace["customdata"] == trace["y"] == [v.name for v in FEW]
        for name, count in zip(trace["y"], trace["x"], strict=True):
            bars.setdefault(name, {})[trace["meta"]["only"]] = count
    samples = of_results(results)
    for name, parts in bars.items():
        assert sum(parts.values()) == 8 and RIGHT in parts
        for only, count in parts.items():
            assert len(choose(samples, only, variant=name)) == count
    assert drawn["layout"]["height"] > 140 and len(set(drawn["layout"]["yaxis"]["ticktext"])) == len(FEW)


def test_a_task_that_knows_no_prompts_judges_by_its_scorer() -> None:
    plan = make_plan("failures", model(), TinyTask(), 2)
    rows = Failures().measure(plan.job, Variant("Standard per pass=4", "standard", {"per_pass": 4}), range(2))
    wrong = [row for row in rows if not row["right"]]
    assert wrong and all(row["diagnosis"]["kind"] in LOSING for row in wrong)


@pytest.mark.parametrize(
    "value", [{"kind": "mine"}, {"kind": "conflict", "lost": "2"}, {"kind": ["conflict"]}, ["conflict"], "conflict"]
)
def test_a_diagnosis_in_a_file_is_checked(results: Results, value: Any) -> None:
    wrong = next(row for row in results.rows if not row["right"])
    broken = Results(results.header, [{**wrong, "diagnosis": value}])
    with pytest.raises(InputError, match="row 1: diagnosis = "):
        of_results(broken)


@pytest.mark.parametrize("world", TASKS)
def test_what_was_recorded_is_made_again(world: str) -> None:
    """The runs are those of `pareto`, and of every kind the first run is lost in the same way again."""
    results, theirs = (load(assets("results"), f"{name}-{world}") for name in ("failures", "pareto"))
    texts = {(row["variant"], row["sample"]): row["text"] for row in theirs.rows}
    assert {(row["variant"], row["sample"]): row["text"] for row in results.rows} == texts
    samples = of_results(results)
    for kind in LOSING:
        for sample in choose(samples, kind)[:1]:
            session = dard.Session(dard.load_model("embedded"), sample.prompt or "", sample.decoder, **sample.settings)
            session.run()
            found = next(each for each in diagnosing(session) if each.kind is not None)
            assert (found.kind, found.lost) == (kind, sample.lost)
