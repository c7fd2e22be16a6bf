"""What the documentation says of recorded results is what was recorded."""

from __future__ import annotations

import re
from collections import Counter

from dard.core.folders import assets
from dard.experiments import load
from dard.experiments.endings import OTHER, PERIODIC, part
from dard.experiments.failures import kind_of
from dard.experiments.points import Point, points
from dard.tasks import TASKS
from dard.trace.metrics import interval
from dard.trace.words import DONE
from tests.test_docs import ROOT

FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")


def told_under(heading: str) -> str:
    """A section of the findings, on one line."""
    return " ".join(FINDINGS.split(f"\n## {heading}\n")[1].split("\n## ")[0].split())


# Every share in the account of the experiments: a variant's accuracy with its interval and passes.
TOLD = {
    "pareto-sudoku-open": [
        "DARD τ_c=0.5 τ_u=0.8", "WINO τ1=0.6", "Saber n=4", "ReMix τ=0.7", "DAPD τ_max=0.05", "DARD τ_c=0.6 τ_u=0.8",
        "Entropy bound (EB-Sampler) γ=0.1", "Threshold (Fast-dLLM) τ=0.8", "Threshold (Fast-dLLM) τ=0.9",
    ],
    "mixing-ablation-sudoku-open": ["DARD w=1", "DARD w=0.5"],
    "mask-ablation-sudoku-open": ["DARD l2r"],
    "pareto-arithmetic": ["Entropy bound (EB-Sampler) γ=0.5", "DARD τ_c=0.5 τ_u=0.6"],
    "budgets-arithmetic": [
        "Standard, one token per pass, 96 tokens", "DARD τ_c=0.6 τ_u=0.6, 96 tokens", "DAPD τ_max=0.6, 96 tokens",
    ],
}  # fmt: skip


def share(point: Point) -> str:
    low, high = (f"{100 * bound:.0f}" for bound in point.interval)
    return f"{100 * point.accuracy:.0f} % ({low}–{high})"


def test_the_account_of_the_experiments_is_what_was_recorded() -> None:
    text = told_under("Where DARD wins on this model, and where it does not")
    for stem, names in TOLD.items():
        found = {p.variant.name: p for p in points(load(assets("results"), stem))}
        for name in names:
            told = f"{share(found[name])} in {found[name].passes:.1f}"
            assert told in text, f"{stem}: {name} has {told}"
            text = text.replace(told, "")
    assert not re.findall(r"\d+ % \(", text)  # nothing is told that was not looked up
    mixing = {p.variant.name: p for p in points(load(assets("results"), "mixing-ablation-sudoku-open"))}
    constant = [mixing[f"DARD w={w}"].accuracy for w in ("0", "0.5", "1")]
    assert (min(constant), max(constant)) == (mixing["DARD w=1"].accuracy, mixing["DARD w=0.5"].accuracy)
    assert mixing["DARD w=adaptive"].accuracy > max(constant)


def test_the_account_of_how_runs_end_is_what_was_recorded() -> None:
    text = told_under("How a decode ends")
    for stem in ("endings-sudoku-open", "endings-arithmetic"):
        found = {p.variant.name: p for p in points(load(assets("results"), stem))}
        accept, reopen = (found[f"DARD τ_c=0.6 τ_u=0.8, {cycle}"] for cycle in ("accept", "reopen"))
        other = {row["sample"]: row for row in found[OTHER.name].rows}
        rest, round_, anew = part(accept, DONE), part(accept, PERIODIC), part(reopen, PERIODIC)
        beside = Point(OTHER, [other[row["sample"]] for row in rest.rows])
        harder = Point(OTHER, [other[row["sample"]] for row in round_.rows])
        going = f"{100 * round_.samples / accept.samples:.0f} % run into a cycle"
        if stem == "endings-arithmetic":
            told = [
                going,
                f"{share(round_)} of them are right either way",
                f"{reopen.passes:.1f} instead of {accept.passes:.1f}",
            ]
            assert share(round_) == share(anew)
        else:
            told = [
                f"{accept.samples} open Sudokus",
                f"{100 * rest.samples / accept.samples:.0f} % come to rest",
                f"{share(rest)} are right in {rest.passes:.1f} passes",
                f"The other {going}",
                f"{100 * beside.accuracy:.0f} % in {beside.passes:.1f} on the same",
                f"{share(round_)} of them are right",
                f"solves {100 * harder.accuracy:.0f} % of them",
                f"{share(anew)} of them right",
                f"{share(reopen)} instead of {share(accept)} in all",
                f"in {reopen.passes:.1f} instead of {accept.passes:.1f}",
            ]
        for words in told:
            assert words in text, words


def test_the_account_of_who_makes_a_revocation_is_what_was_recorded() -> None:
    """The tables beside the rows are re-derived from them by another test."""
    text = told_under("Who makes a revocation")
    lines = (assets("results") / "causes-sudoku-open.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    order, everyone = (dict(zip(rows[0], row, strict=True)) for row in rows if row[0].startswith("DARD, "))

    def percent(row: dict[str, str], name: str) -> str:
        return f"{float(row[f'{name} (%)']) + 1e-9:.0f} %"

    for told in (
        f"there are {order['Revocations']} revocations: an unmasked token moves the verdict most in "
        f"{percent(order, 'By unmasked')} of them, a candidate in {percent(order, 'By candidate')}, a given one in "
        f"{percent(order, 'By given')}, and {percent(order, 'In vain')} are in vain",
        f"there are {everyone['Revocations']}: candidates make {percent(everyone, 'By candidate')}, and "
        f"{percent(everyone, 'In vain')} are in vain",
        f"In {percent(order, 'Alone')} one token alone decides",
        f"attention (rank correlation {order['ρ attention'][1:]}) and nearness ({order['ρ nearness'][1:]})",
        f"more effect ({order['ρ confidence']})",
    ):
        assert told in text, told


def test_the_account_of_what_loses_answers_is_what_was_recorded() -> None:
    """The two tables are made of the rows by `dard.cli.tables`; here is what is said around them."""
    text = told_under("What loses a wrong answer")
    text = re.sub(r"<!-- (\w+) -->.*?<!-- end \1 -->", "", text)
    worlds = {world: load(assets("results"), f"failures-{world}") for world in TASKS}
    wrong = {world: [row for row in results.rows if not row["right"]] for world, results in worlds.items()}
    kinds = {world: Counter(kind_of(row) for row in rows) for world, rows in wrong.items()}

    def of_all(world: str, kind: str) -> str:
        return f"{100 * kinds[world][kind] / len(wrong[world]):.0f} %"

    found = {p.variant.name: p for p in points(worlds["sudoku-open"])}
    ours = {name: [row for row in wrong["sudoku-open"] if row["variant"].startswith(name)] for name in ("DARD", "WINO")}

    def lost(name: str, kind: str = "conflict") -> tuple[str, str]:
        p = found[name]
        low, high = interval([float(kind_of(row) == kind) for row in p.rows])
        of = sum(kind_of(row) == kind for row in p.rows)
        return f"{100 * of / p.samples:.0f} % ({100 * low:.0f}–{100 * high:.0f})", f"{p.passes:.1f}"

    def back(name: str) -> str:
        marks = [float(row["diagnosis"]["back"]) for row in ours[name]]
        low, high = interval(marks)
        return f"{100 * sum(marks) / len(marks):.1f} % ({100 * low:.0f}–{100 * high:.0f}) of {name}'s"

    (dard, passes), (wino, fast), (saber, slow) = map(lost, ("DARD τ_c=0.5 τ_u=0.8", "WINO τ1=0.6", "Saber n=4"))
    (remix, each), (plain, four) = map(lost, ("ReMix τ=0.7", "Standard per pass=4"))
    eager = "Entropy bound (EB-Sampler) γ=0.1"
    sizes = Counter(row["diagnosis"]["guilty"] for row in wrong["sudoku-open"])
    count, early = len(wrong["sudoku-open"]), sum(row["diagnosis"]["lost"] <= 2 for row in wrong["sudoku-open"])
    going = sum(str(row["ended_by"]).startswith("period") for row in ours["DARD"])
    ended = sum(kind_of(row) == "ending" for row in ours["DARD"])
    revoked = {world: each["revocation"] for world, each in kinds.items() if each["revocation"]}
    assert set(revoked) == {"arithmetic"} and lost(eager)[0] == "0 % (0–4)"
    assert {world for world, each in kinds.items() if each["model"]} == {"countdown", "arithmetic"}
    assert all(row["diagnosis"]["able"] for row in wrong["sudoku-open"])
    returned = {row["variant"].split()[0] for row in wrong["sudoku-open"] if row["diagnosis"]["back"]}
    assert returned == {"DARD", "WINO"} and ended == kinds["sudoku-open"]["ending"]
    for told in (
        f"by conflict, {of_all('sudoku-open', 'conflict')} and {of_all('captions', 'conflict')} of them",
        f"loses it alone, in {of_all('sudoku-unique', 'commit')}",
        f"{dard} of DARD's runs are lost so in {passes} passes (τ_c 0.5, τ_u 0.8), {wino} of WINO's in {fast}",
        f"{saber} of Saber's in {slow}, {remix} of ReMix's in {each}, {plain} of standard decoding's in {four}",
        f"has none in {lost(eager)[1]} passes (0–4), and {lost(eager, 'commit')[0]} commits",
        f"in {back('DARD')} wrong runs and {back('WINO')}, in no other",
        f"was seen in {revoked['arithmetic']} runs of all, on arithmetic",
        f"{going} of DARD's {len(ours['DARD'])} wrong runs ended in a cycle, and {ended} were lost by",
        f"{early} of the {count} wrong runs were lost in the first two steps",
        f"in {100 * sizes[1] / count:.0f} % of all masking a single token",
        f"in {100 * sizes[2] / count:.0f} % it takes two",
    ):
        assert told in text, told
        text = text.replace(told, "")
    assert not re.findall(r"\d", text)  # nothing is told that was not looked up
