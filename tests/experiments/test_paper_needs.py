"""What a paper needs of an experiment: chosen variants, more samples, seeds, paired tests, tables and rows as data."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import dard.results
from dard.cli import options
from dard.cli.main import main
from dard.core.folders import assets
from dard.experiments import EXPERIMENTS, catalogue, load, make_plan, run
from dard.experiments.choice import Choice
from dard.experiments.paired import bootstrap, compare, holm, mcnemar, paired
from dard.experiments.points import points
from dard.results.formats import FORMATS, as_csv, as_latex
from dard.results.frames import stems
from tests.experiments.tiny_task import TinyTask, model, without_times

BASE = ["experiment", "mixing-ablation", "--task", "tiny", "--batch", "2"]
NAME = "mixing-ablation-tiny"


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "open_model", lambda args: model())
    monkeypatch.setitem(catalogue.TASKS, "tiny", TinyTask())


def ran(out: Path, *words: str, samples: int = 3) -> Any:
    assert main([*BASE, "--samples", str(samples), "--out", str(out), *words]) == 0
    return load(out, NAME)


# Which variants.


def test_decoders_of_the_grid_and_variants_of_ones_own(tmp_path: Path) -> None:
    assert [v.decoder for v in ran(tmp_path / "a", "--decoders", "dard").variants] == ["dard"] * 4
    own = ran(tmp_path / "b", "--variants", "dard tau_u=0.7 tau_c=0.5", "--variants", "wino").variants
    assert [(v.name, dict(v.settings)) for v in own] == [
        ("DARD τ_u=0.7 τ_c=0.5", {"tau_u": 0.7, "tau_c": 0.5}),
        ("WINO", {}),
    ]
    both = ran(tmp_path / "c", "--decoders", "saber", "--variants", "wino threshold=0.3").variants
    assert [v.decoder for v in both] == ["saber", "wino"]


def test_what_is_set_goes_to_all_who_know_it(tmp_path: Path) -> None:
    results = ran(tmp_path, "--set", "tau_u=0.9", "--set", "eos=last", "--set", "gen_length=5")
    assert {v.decoder: v.settings.get("tau_u") for v in results.variants} == {"saber": None, "dard": 0.9}
    assert {v.settings["eos"] for v in results.variants} == {"last"}
    assert results.header["gen_length"] == 5 and {row["tokens"] for row in results.rows} == {5}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--decoders", "x"], "unknown decoder 'x'"),
        (["--decoders", "wino"], "leaves nothing; this experiment has saber, dard"),
        (["--variants", "dard tau_q=1"], "'tau_q' is not a setting of dard"),
        (["--variants", "dard tau_c=7"], "tau_c = '7' is not allowed"),
        (["--variants", "dard tau_c"], "write NAME=VALUE"),
        (["--variants", "dard", "--variants", "dard"], "variant 'DARD' is there twice"),
        (["--set", "tau_q=1"], "'tau_q' is a setting of none of the decoders"),
        (["--set", "gen_length=many"], "must be whole numbers"),
        (["--seeds", "0"], "seeds = 0 is not allowed"),
        (["--variants", "dard", "--paired"], "a paired test needs two variants"),
        (["--paired", "nobody"], "variant 'nobody' is not there"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_one_sentence(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BASE, "--samples", "2", "--out", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


# More of the same.


def test_more_samples_and_more_variants_extend_a_run(tmp_path: Path) -> None:
    """What was done stays as it was, and what is added is what a run of that size has."""
    few = ran(tmp_path / "grown", "--decoders", "saber", samples=4)
    kept = list(few.rows)
    more = ran(tmp_path / "grown", "--decoders", "saber", samples=6)
    assert more.rows[: len(kept)] == kept and more.complete and more.samples == 6
    full = ran(tmp_path / "grown", samples=6)
    assert full.rows[: len(more.rows)] == more.rows and full.complete and len(full.variants) == 5
    at_once = ran(tmp_path / "whole", samples=6)
    for variant in full.variants:
        assert without_times(full.of(variant)) == without_times(at_once.of(variant))
    assert main([*BASE, "--samples", "4", "--out", str(tmp_path / "grown")]) == 2  # fewer is another run
    assert not list((tmp_path / "grown").glob("*.before"))


def test_other_items_do_not_extend_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(tmp_path, samples=4)
    assert main([*BASE, "--samples", "6", "--out", str(tmp_path), "--seed", "1"]) == 2
    assert "it differs in" in capsys.readouterr().err


def test_parts_of_several_processes_are_extended_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for samples in ("4", "8"):
        for rank in ("0", "1"):
            monkeypatch.setenv("RANK", rank)
            monkeypatch.setenv("LOCAL_RANK", rank)
            assert main([*BASE, "--decoders", "saber", "--samples", samples, "--out", str(tmp_path)]) == 0
    results = load(tmp_path, NAME)
    assert results.complete and results.samples == 8


# Seeds, and what a difference is worth.


def test_decoding_seeds_give_a_mean_and_a_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--variants", "dard", "--set", "temperature=1.0", "--seeds", "3"]
    results = ran(tmp_path, *words)
    assert [v.settings["seed"] for v in results.variants] == [0, 1, 2]
    texts = [[row["text"] for row in results.of(variant)] for variant in results.variants]
    assert texts[0] != texts[1]
    assert "Over decoding seeds" in capsys.readouterr().out


def test_paired_tests_are_those_of_the_books() -> None:
    """McNemar's exact test by SciPy's binomial test, and a bootstrap whose bounds hold the mean."""
    from scipy.stats import binomtest

    for b, c in ((9, 1), (3, 3), (0, 5), (40, 21)):
        assert mcnemar(b, c) == pytest.approx(binomtest(b, b + c, 0.5).pvalue)
    differences = [1.0] * 30 + [-1.0] * 12 + [0.0] * 58
    low, high = bootstrap(differences)
    error = math.sqrt(0.42 - 0.18**2) / 10
    assert low == pytest.approx(0.18 - 1.96 * error, abs=0.02) and high == pytest.approx(0.18 + 1.96 * error, abs=0.02)
    assert bootstrap(differences) == (low, high)
    assert holm([0.04, 0.01]) == [0.04, 0.02]


def test_a_pair_counts_the_items_both_have() -> None:
    plan = make_plan("mixing-ablation", model(), TinyTask(), samples=6)
    for _ in run(plan):
        pass
    first, second, *_ = points(plan.results)
    found = compare(first, second)
    rights = [(a["right"], b["right"]) for a, b in zip(first.rows, second.rows, strict=True)]
    assert (found.items, found.both) == (6, rights.count((True, True)))
    assert (found.only_one, found.only_other) == (rights.count((True, False)), rights.count((False, True)))
    assert found.difference == pytest.approx(first.accuracy - second.accuracy)
    assert len(paired(plan.results).rows) == 4


# Tables and rows as data.


def test_every_table_is_also_csv_and_latex(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for how, ending in (("csv", "csv"), ("latex", "tex"), ("md", "tables.md")):
        ran(tmp_path, "--paired", "--format", how)
        assert (tmp_path / f"{NAME}.{ending}").read_text().strip() == capsys.readouterr().out.strip()
    read = list(csv.reader(io.StringIO((tmp_path / f"{NAME}.csv").read_text())))
    assert read[0][0] == "Method" and "DARD w=adaptive" in {line[0] for line in read if line}


def latex_is_sound(text: str) -> None:
    """As far as a parser can tell: ASCII, groups and environments close, and every line has as many cells."""
    assert text.isascii()
    depth = 0
    for each in re.sub(r"\\.", "", text.replace("\\\\", " ")):
        depth += {"{": 1, "}": -1}.get(each, 0)
        assert depth >= 0
    assert depth == 0 and re.sub(r"\\.", "", text.replace("\\\\", " ")).count("$") % 2 == 0
    assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text)[::-1]
    columns = len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1])  # type: ignore[index]
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert lines and all(len(re.findall(r"(?<!\\)&", line)) == columns - 1 for line in lines)
    assert not re.search(r"(?<!\\)[%#_](?!.*usepackage)", text.split("\n", 1)[1])


def test_latex_of_every_recorded_table_is_sound() -> None:
    count = 0
    for stem in stems(assets("results")):
        results = load(assets("results"), stem)
        for each in EXPERIMENTS[results.header["experiment"]].tables(results):
            latex_is_sound(as_latex(each.columns, each.rows, each.caption))
            assert len(as_csv(each.columns, each.rows, "").splitlines()) == len(each.rows) + 1
            count += 1
    assert count > 10
    latex_is_sound(as_latex(["a_b", "%"], [["50 % & more", '{x} $ # ~ ^ \\ | < > " é 日']], "τ_c ≤ 0.5 — “so”"))


def test_failures_come_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(tmp_path, samples=6)
    capsys.readouterr()
    told = {}
    for how in FORMATS:
        assert main(["failures", str(tmp_path), "--only", "all", "--format", how]) == 0
        told[how] = capsys.readouterr().out
    assert len(list(csv.reader(io.StringIO(told["csv"])))) == 31
    latex_is_sound(told["latex"])


def test_rows_and_tokens_come_as_frames(tmp_path: Path) -> None:
    results = ran(tmp_path, "--tokens")
    rows, tokens = dard.results.load(tmp_path), dard.results.load(tmp_path, tokens=True)
    assert len(rows) == len(results.rows) == 15 and {"right", "passes", "set.mixing", "decoder"} <= set(rows.columns)
    assert len(tokens) == sum(row["tokens"] for row in results.rows)
    for _, some in tokens.groupby(["variant", "sample"]):
        assert (some.step >= 1).all() and some.step.max() <= some.passes.max()
        for step, group in some.groupby("step"):
            assert (group.together == len(group)).all(), step
        assert (some.confidence.between(0, 1)).all()


def test_what_is_told_of_tokens_agrees_with_the_decode(tmp_path: Path) -> None:
    """The step a token was committed in is the first after which it never changes again."""
    from dard.decoding.session import Session
    from dard.results.tokens import each_token
    from dard.tasks import Item

    for seed in range(4):
        item = TinyTask().test_items(4)[seed]
        session = Session(model(), item.prompt, "wino", gen_length=12)
        trace, told = session.run(), each_token(session, Item(item.prompt, 12, None))
        for place, step in zip(told["position"], told["step"], strict=True):
            states = [each.states[place] for each in trace.steps]
            last = max((n for n, state in enumerate(states) if state != "U"), default=-1)
            assert step == last + 2 or (step == 1 and last == -1)
    assert json.dumps(told)


def test_without_a_terminal_the_time_left_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(options, "EVERY", -1)
    tell = options.estimates("it")
    for done in (2, 3, 4):
        tell(done, 10)
    assert "dard: it: 4 of 10, about 1 min left" in capsys.readouterr().err


def test_a_choice_without_anything_changes_nothing() -> None:
    plain = make_plan("mixing-ablation", model(), TinyTask(), samples=1)
    assert Choice().apply(plain.results.variants) == plain.results.variants
