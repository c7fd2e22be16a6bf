"""Points, intervals and frontiers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dard.experiments.pareto import peaks
from dard.experiments.points import Point, frontier, most_tokens
from dard.results.sweep import ONE_BY_ONE, Variant
from dard.trace.metrics import area_under_parallelism, interval

coordinate = st.tuples(st.integers(0, 10), st.integers(1, 12))
clouds = st.lists(coordinate, min_size=1, max_size=25)


def made(accuracy: float, passes: float) -> Point:
    return Point(Variant("v", "dard"), [{"score": accuracy / 10, "passes": passes}])


def beats(one: Point, other: Point) -> bool:
    """At least as good in both, better in one."""
    no_worse = one.accuracy >= other.accuracy and one.passes <= other.passes
    return no_worse and (one.accuracy, one.passes) != (other.accuracy, other.passes)


@given(clouds)
def test_nothing_beats_a_point_of_the_frontier_and_everything_else_is_beaten_or_equal(cloud: list) -> None:
    points = [made(*each) for each in cloud]
    outer = frontier(points)
    places = {(p.accuracy, p.passes) for p in outer}
    for p in points:
        assert ((p.accuracy, p.passes) in places) == (not any(beats(other, p) for other in points))


@given(clouds)
def test_a_frontier_rises_with_passes_and_ends_at_the_best_point(cloud: list) -> None:
    points = [made(*each) for each in cloud]
    outer = frontier(points)
    assert [p.passes for p in outer] == sorted({p.passes for p in outer})
    assert [p.accuracy for p in outer] == sorted({p.accuracy for p in outer})
    best = max(points, key=lambda p: (p.accuracy, -p.passes))
    assert (outer[-1].accuracy, outer[-1].passes) == (best.accuracy, best.passes)


@given(clouds, st.randoms())
def test_a_frontier_does_not_depend_on_the_order(cloud: list, random: object) -> None:
    points = [made(*each) for each in cloud]
    shuffled = points[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert [(p.accuracy, p.passes) for p in frontier(points)] == [(p.accuracy, p.passes) for p in frontier(shuffled)]


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50))
def test_an_interval_holds_the_mean_and_stays_between_0_and_1(scores: list[float]) -> None:
    low, high = interval(scores)
    assert 0 <= low <= sum(scores) / len(scores) + 1e-12 and sum(scores) / len(scores) <= high + 1e-12 <= 1 + 1e-9


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_partial_credit_has_an_interval_too(scores: list[float]) -> None:
    low, high = interval(scores)
    assert 0 <= low <= high <= 1


def test_a_point_is_the_mean_of_its_rows() -> None:
    rows = [
        {"score": 1.0, "passes": 4, "tokens": 10, "seconds": 0.5, "revocations": 0},
        {"score": 0.0, "passes": 6, "tokens": 10, "seconds": 1.5, "revocations": 3},
    ]
    found = Point(Variant("v", "dard"), rows)
    assert (found.accuracy, found.passes, found.mean("revocations")) == (0.5, 5, 1.5)
    assert found.tokens_per_second == 20 / ((0.125 + 0.25) / 2 * 10)


def test_one_slow_moment_does_not_make_a_decoder_slow() -> None:
    rows = [{"score": 1.0, "passes": 2, "tokens": 8, "seconds": s, "revocations": 0} for s in (0.2, 0.2, 9.0, 0.2)]
    assert Point(Variant("v", "dard"), rows).tokens_per_second == 32 / 0.8


def told(tokens: int, ends: int, score: float, passes: int, decoder: str = "dard") -> Point:
    row = {"score": score, "passes": passes, "tokens": tokens, "without_end": tokens - ends, "seconds": 1.0}
    return Point(Variant("v", decoder), [row, row])


def test_tokens_per_pass_are_counted_with_the_ends_of_text_and_without() -> None:
    point = told(24, 6, 1.0, 4)
    assert (point.per_pass(), point.per_pass("without_end")) == (6.0, 4.5)
    del point.rows[0]["without_end"]  # a file of 0.1
    assert (point.per_pass(), point.per_pass("without_end")) == (6.0, None)


@given(st.lists(st.tuples(st.floats(1, 16), st.floats(0, 100)), min_size=1, max_size=8), st.floats(0, 20))
def test_the_area_under_parallelism_is_the_sum_that_is_written(pairs: list, more: float) -> None:
    """The formula, literally: ρ₁y₁ + ½ Σ (ρᵢ − ρᵢ₋₁)(yᵢW(yᵢ) + yᵢ₋₁W(yᵢ₋₁))."""
    best = max(y for _, y in pairs) + more
    kept = sorted(pairs)
    kept = [pair for pair in kept if pair[1] >= kept[0][1] - 5]

    def w(y: float) -> float:
        return min(math.exp(-3 * (1 - y / best)), 1)

    area = kept[0][0] * kept[0][1]
    for i in range(1, len(kept)):
        (before, y0), (rho, y) = kept[i - 1], kept[i]
        area += 0.5 * (rho - before) * (y * w(y) + y0 * w(y0)) if best else 0
    assert area_under_parallelism(pairs, best) == pytest.approx(area)


def test_the_area_grows_with_speed_that_costs_no_accuracy_and_not_with_speed_that_does() -> None:
    assert area_under_parallelism([(1, 80.0), (4, 80.0)], 80.0) == 320
    assert area_under_parallelism([(1, 80.0), (4, 74.9)], 80.0) == 80


def test_the_most_tokens_per_pass_with_an_accuracy() -> None:
    found = [told(16, 0, 1.0, 16), told(16, 0, 0.9, 4), told(16, 0, 0.5, 2)]
    assert [most_tokens(found, x) for x in (1.0, 0.9, 0.2)] == [1.0, 4.0, 8.0]
    assert most_tokens(found[1:], 0.95) is None


def test_each_decoder_stands_at_its_peak_beside_one_token_per_pass() -> None:
    one = Point(ONE_BY_ONE, told(16, 0, 0.8, 16).rows)
    best, fast = told(16, 4, 1.0, 4), told(16, 4, 0.7, 2)
    for point in (one, best, fast):
        point.beside = one
    table = peaks([one, best, fast])
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    shown = rows["v"]
    assert (shown["Gain (%)"], shown["Fewer"], shown["Tokens/pass, no worse"]) == ("+25.0", "×4.0", "4.00")
    assert (shown["Tokens/pass"], shown["without end"], shown["AUP"]) == ("4.00", "3.00", "400.0")
    assert len(rows) == 2 and rows[ONE_BY_ONE.name]["Gain (%)"] == "–"
