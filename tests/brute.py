"""Diagnosis by brute force: every state completed, every token masked and every piece of the lost step tried, each in a
decode of its own. Slow and literal; it imports Session and nothing else of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dard import Session

Kept = dict[int, int]  # position → token
Right = Callable[[str], bool]


@dataclass
class Verdict:
    winnable: list[bool]
    lost: int | None
    singles: list[int]
    pairs: list[tuple[int, int]]
    kind: str


def careful(session: Session, kept: Kept, longer: int = 1) -> Session:
    """One token per pass from these tokens on; `longer` times the room."""
    settings = session.settings
    room = {"gen_length": longer * settings.gen_length, "block_length": settings.block_length, "eos": settings.eos}
    other = Session(session.model, session.prompt, "standard", record=False, **room)
    for position, token in kept.items():
        other = other.edit(position, token=token, state="U")
    other.run()
    return other


def text(session: Session) -> str:
    return session.trace.text


def kept_by(session: Session, step: int) -> Kept:
    state = session.at(step).state
    return {i: token for i, token in enumerate(state.tokens) if state.states[i] == "U" and not state.fixed[i]}


def diagnosed(session: Session, right: Right) -> Verdict:
    known: dict[tuple[Any, ...], bool] = {}

    def wins(kept: Kept) -> bool:
        key = tuple(sorted(kept.items()))
        if key not in known:
            known[key] = right(text(careful(session, kept)))
        return known[key]

    states = [kept_by(session, number) for number in range(len(session.steps) + 1)]
    winnable = [wins(kept) for kept in states]
    if not any(winnable):
        return Verdict(winnable, None, [], [], "model")
    lost = max(number for number, mark in enumerate(winnable) if mark) + 1
    before, after = states[lost - 1], states[lost]
    singles = [i for i in after if wins({j: t for j, t in after.items() if j != i})]
    written = {i: t for i, t in after.items() if before.get(i) != t}
    taken = [i for i, t in before.items() if after.get(i) != t]
    pairs = [
        (a, b)
        for a, b in combinations(sorted(written), 2)
        if not singles and wins({j: t for j, t in after.items() if j not in (a, b)})
    ]
    if any(not wins({**before, i: token}) for i, token in written.items()):
        kind = "commit"
    elif not wins({**before, **written}):
        kind = "conflict"
    elif not wins({i: t for i, t in before.items() if i not in taken}):
        kind = "revocation"
    else:
        kind = "conflict"
    smallest = [singles[:1]] if singles else [list(pairs[0])] if pairs else []
    if smallest and all(accepted_at(session, i, lost) for i in smallest[0]):
        kind = "ending"
    return Verdict(winnable, lost, singles, pairs, kind)


def accepted_at(session: Session, position: int, until: int) -> bool:
    """Whether the step that wrote this token accepted it as it stood."""
    for number in range(until, 0, -1):
        step = session.steps[number - 1]
        kept = kept_by(session, number - 1).get(position)
        if step.states[position] == "U" and kept != step.tokens[position]:
            return position in step.accepted
    return False
