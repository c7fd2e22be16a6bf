"""Whose tokens lost an answer, and how: what is tried on the two states on either side of the lost step.

Every trial is a careful completion of one of them with tokens masked or written; `right` says what came of it.
Does not know: how the lost step was found, or how any of it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from dard.analysis.careful import Careful, Completion
from dard.core.state import UNMASKED, DecodeState
from dard.trace.diagnosis import Kind

AT_MOST = 200  # completions to narrow a set down
PAIRS = 300  # of tokens written in one pass; where there are more, the search goes on without them
PARTNERS = 64  # tokens of a pass among which two that lose it together are looked for

Right = Callable[[Sequence[int]], bool]
Positions = tuple[int, ...]


@dataclass
class Step:
    """What a step changed of what careful completion keeps. Written: unmasked after it and not before. Taken back:
    unmasked before it and not after. A replaced token is both."""

    before: DecodeState
    after: DecodeState
    written: dict[int, int] = field(init=False)
    taken: list[int] = field(init=False)
    decided: list[int] = field(init=False)

    def __post_init__(self) -> None:
        old, new = self.before, self.after
        self.decided = [i for i, letter in enumerate(new.states) if letter == UNMASKED and not new.fixed[i]]
        self.written = {
            i: new.tokens[i] for i in self.decided if old.states[i] != UNMASKED or old.tokens[i] != new.tokens[i]
        }
        self.taken = [
            i
            for i, letter in enumerate(old.states)
            if letter == UNMASKED and (new.states[i] != UNMASKED or old.tokens[i] != new.tokens[i])
        ]


@dataclass
class SearchResult:
    """What a search has come to; see `dard.trace.diagnosis.Diagnosis` for what the fields mean."""

    guilty: list[Positions] = field(default_factory=list)
    rescued: list[int] = field(default_factory=list)
    minimal: bool = True
    alone: list[int] = field(default_factory=list)
    together: list[int] = field(default_factory=list)
    with_taken: bool = False
    restored: int | None = None
    kind: Kind | None = None


class Search:
    """One search at a lost step. Its generators yield after every shared pass, and fill `result`."""

    def __init__(self, careful: Careful, right: Right, before: DecodeState, after: DecodeState) -> None:
        self.careful, self.right = careful, right
        self.step, self.result = Step(before, after), SearchResult()

    def masked(self, positions: Collection[int]) -> Completion:
        """The state after the step with some positions masked."""
        return self.careful.begin(self.step.after, masked=positions)

    def written(self, positions: Collection[int]) -> Completion:
        """The state before the step with some of what it wrote."""
        return self.careful.begin(self.step.before, also={i: self.step.written[i] for i in positions})

    def guilty(self) -> Iterator[None]:
        """Minimal sets of positions whose masking gives the answer back: all single ones; if there is none, pairs among
        the tokens of this pass; then one set by delta debugging."""
        step, result = self.step, self.result
        yield from self._rescuing([(i,) for i in step.decided])
        pairs = list(combinations(sorted(step.written), 2))
        if not result.guilty and len(pairs) <= PAIRS:
            yield from self._rescuing(pairs)
        if not result.guilty:
            smallest = yield from self._narrowed(tuple(step.decided))
            yield from self._rescuing([smallest] if smallest else [])

    def _rescuing(self, sets: Sequence[Positions]) -> Iterator[None]:
        trials = {positions: self.masked(positions) for positions in sets}
        yield from self._finished(trials.values())
        for positions, trial in trials.items():
            if self.right(trial.tokens):
                self.result.guilty.append(positions)
                self.result.rescued.append(trial.length)

    def _finished(self, trials: Collection[Completion]) -> Iterator[None]:
        for _ in self.careful.passes(list(trials)):
            yield

    def _narrowed(self, whole: Positions) -> Generator[None, None, Positions | None]:
        """Delta debugging: a set of which no position can be left out; nothing if not even masking all helps."""
        used, parts, current = 1, 2, whole
        trial = self.masked(whole)
        yield from self._finished([trial])
        if not self.right(trial.tokens):
            return None
        while len(current) > 1:
            size = -(-len(current) // parts)
            subsets = [current[at : at + size] for at in range(0, len(current), size)]
            rests = [tuple(i for i in current if i not in subset) for subset in subsets] if len(subsets) > 2 else []
            smaller: Positions | None = None
            for tried in (subsets, rests):
                allowed = tried[: AT_MOST - used]
                used += len(allowed)
                trials = [self.masked(positions) for positions in allowed]
                yield from self._finished(trials)
                smaller = next((p for p, each in zip(allowed, trials, strict=True) if self.right(each.tokens)), None)
                if smaller is not None:
                    parts = 2 if tried is subsets else max(2, parts - 1)
                    break
                if len(allowed) < len(tried):
                    self.result.minimal = False
                    return current
            if smaller is not None:
                current = smaller
            elif parts >= len(current):
                break
            else:
                parts = min(2 * parts, len(current))
        return current

    def kind(self, accepted: Collection[int]) -> Iterator[None]:
        """What lost it, in this order:

        - ending: every token of the smallest guilty set was `accepted` when the end of its block was called;
        - commit: a token written in the step loses it alone: added to the state before, all else left masked;
        - conflict: none does, all of them together do, with nothing taken back;
        - revocation: they do not, but what the step took back does, with nothing written;
        - conflict: neither does, only both together do (`with_taken`).
        """
        step, result = self.step, self.result
        each = {i: self.written([i]) for i in step.written}
        every = self.written(step.written)
        taken = self.careful.begin(step.before, masked=step.taken)
        yield from self._finished([*each.values(), every, taken])
        result.alone = [i for i, trial in each.items() if not self.right(trial.tokens)]
        if result.guilty and set(result.guilty[0]) <= set(accepted):
            result.kind = "ending"
        elif result.alone:
            result.kind = "commit"
        elif not self.right(every.tokens):
            result.kind = "conflict"
            yield from self._pair()
        elif not self.right(taken.tokens):
            result.kind, result.restored = "revocation", every.length
        else:
            result.kind, result.with_taken = "conflict", True

    def _pair(self) -> Iterator[None]:
        """Two tokens of the step that lose it together, guilty ones first."""
        step = self.step
        blamed = [i for positions in self.result.guilty for i in positions if i in step.written]
        if len(step.written) > PARTNERS or not blamed:
            return
        order = sorted(step.written, key=lambda i: (i not in blamed, i))
        trials = {pair: self.written(pair) for pair in combinations(order, 2) if pair[0] in blamed[:PARTNERS]}
        yield from self._finished(list(trials.values())[:PAIRS])
        losing = [pair for pair, trial in trials.items() if trial.done and not self.right(trial.tokens)]
        self.result.together = sorted(losing[0]) if losing else []
