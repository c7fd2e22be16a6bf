"""The run again with one of its decoder's settings changed, all in shared passes: what would have saved it.

Does not know: any decoder's settings; each names its own neighbourhood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

from dard.core.errors import InputError
from dard.decoding import loop
from dard.decoding.session import Session
from dard.trace.diagnosis import Attempt

AT_MOST = 200  # settings
Run = tuple[str, Any, Session]


def attempts(session: Session, right: Callable[[Sequence[int]], bool]) -> Iterator[list[Attempt]]:
    """Every neighbour of a session's settings, decoded; yields after each pass what has ended so far."""
    runs = neighbours(session)
    for _ in loop.passes([run for *_, run in runs]):
        ended = [each for each in runs if each[2].finished]
        yield [Attempt(name, value, right(run.state.tokens), len(run.steps)) for name, value, run in ended]
    yield told_apart(session, runs, right)


def neighbours(session: Session) -> list[Run]:
    """What the decoder names, as far as it is allowed; the masks of a template are its gen_length."""
    masks = sum(not given for given in session.state.fixed)
    neighbours: list[Run] = []
    for change in session.decoder.neighbours(replace(session.settings, gen_length=masks))[:AT_MOST]:
        with suppress(InputError):
            name, value = next(iter(change.items()))
            neighbours.append((name, value, session.with_settings(**change)))
    return neighbours


def told_apart(session: Session, runs: Sequence[Run], right: Callable[[Sequence[int]], bool]) -> list[Attempt]:
    """All of them, with the nearest right value of each setting, and those that are right by luck."""
    attempts: list[Attempt] = []
    for name, group in groupby(runs, key=lambda run: run[0]):
        strip = [Attempt(name, value, right(run.state.tokens), len(run.steps)) for _, value, run in group]
        own = getattr(session.settings, name)
        near = sorted(strip, key=lambda each: distance(each.value, own))
        for each in [attempt for attempt in near if attempt.right][:1]:
            each.nearest = True
        numbers = [each for each in [*strip, Attempt(name, own, False, 0)] if is_number(each.value)]
        numbers.sort(key=lambda each: float(each.value))  # type: ignore[arg-type]
        for before, each, after in zip(numbers, numbers[1:], numbers[2:], strict=False):
            each.lucky = each.right and not before.right and not after.right
        attempts += strip
    return attempts


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def distance(value: Any, own: Any) -> float:
    """How far a value is from the run's; where that is no number, the smaller passes for nearer."""
    if not is_number(value):
        return 0.0
    return abs(value - own) if is_number(own) else abs(value)
