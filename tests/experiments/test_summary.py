"""Points, intervals and frontiers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dard.experiments.points import Point, frontier, interval
from dard.experiments.variants import Variant

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
