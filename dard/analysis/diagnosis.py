"""Diagnosis of a wrong answer: the step at which it was lost, by whom, and what would have saved it.

Careful completion from a state (`careful.py`) says whether the answer could still be had there. It may come back after
it was lost, so the last state from which it can be had is looked for: the start first, then from the last step
backwards. What the next step wrote and took back is then tried piece by piece (`guilty.py`), its causes are asked for,
and the decoder's neighbouring settings are run (`attempts.py`).

Promises: every mark is of a completion that was really made; a search that is stopped keeps what is known; the same run
gives the same diagnosis. A session that is asked stays as it is.
Does not know: any decoder's rule, how it is told (`dard.trace.diagnosis_words`), or who is looking.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from dard.analysis.attempts import attempts
from dard.analysis.careful import Careful, Completion
from dard.analysis.causes import examine
from dard.analysis.expected import Bench, Expected
from dard.analysis.finished import Finished, finished
from dard.analysis.guilty import Search
from dard.analysis.revocations import judged
from dard.core.errors import InputError
from dard.core.state import MASKED, DecodeState
from dard.decoding.session import Session
from dard.models.base import Model, check_needs
from dard.trace import Trace
from dard.trace.diagnosis import Diagnosis
from dard.trace.diagnosis_words import diagnosis_sentences, written_in
from dard.trace.limits import MAX_TEXT
from dard.trace.metrics import solutions_left
from dard.trace.words import spoken_of

SHORT = 32  # steps of a run all of whose states are tried
AT_ONCE = 8  # states of a longer run that are tried together, from the last one back
NAMED = 2  # guilty tokens whose verdicts are examined
CAUSES_SECONDS = 5.0
REVOCATIONS = 40  # that are judged

Progress = Callable[[Diagnosis], bool | None]


def diagnose(
    run: Session | Trace,
    model: Model | None = None,
    expected: Expected | None = None,
    *,
    every: bool = False,
    on_progress: Progress | None = None,
) -> Diagnosis:
    """Where a finished decode lost its answer, by whom, and what would have saved it.

    A trace needs its `model`; a session has one. `expected` is a text that a right answer contains, a "/pattern/" or a
    function of the answer; without it the prompt's own task judges, and where there is none, careful completion of the
    start. `every` state is tried, of a long run too. `on_progress` is told what is known so far, and stops the search
    by returning True.

    >>> import dard
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> session = dard.Session(los_diego(), LOS_DIEGO, decoder="standard", steps=1)
    >>> _ = session.run()
    >>> diagnosis = diagnose(session, expected="/San Diego|Los Angeles/")
    >>> diagnosis.kind, diagnosis.lost, diagnosis.guilty, diagnosis.winnable
    ('conflict', 1, [[3], [4]], [True, False])
    """
    diagnosis, search = None, Diagnosing(finished(run, model), expected, every)
    for diagnosis in search.run():
        if on_progress and on_progress(diagnosis):
            break
    assert diagnosis is not None
    diagnosis.sentences = diagnosis_sentences(search.done.trace, diagnosis)
    return diagnosis


def diagnosing(
    run: Session | Trace, model: Model | None = None, expected: Expected | None = None, *, every: bool = False
) -> Iterator[Diagnosis]:
    """The same as a record that grows, after every shared pass: whoever stops asking keeps what is known."""
    yield from Diagnosing(finished(run, model), expected, every).run()


class Diagnosing:
    """One diagnosis on its way."""

    def __init__(self, done: Finished, expected: Expected | None, every: bool) -> None:
        check_needs(done.model, frozenset(), "a diagnosis, by masking tokens,")
        self.done, self.every = done, every
        self.states = done.states
        self.last = len(done.states) - 1
        self.bench = Bench(done.model, done.trace.prompt, expected, done.template)
        self.careful = Careful(done.model, done.settings, done.trace.about.later, len(self.states[0].tokens))
        self.trials: dict[int, Completion] = {}
        self.began = time.perf_counter()
        self.diagnosis = Diagnosis(
            right=False,
            judged_by=self.bench.by,
            careful=self.careful.how,
            winnable=[None] * len(self.states),
            solutions=solutions_left(done.trace),
            recording=done.session is None,
        )
        if all(count is None for count in self.diagnosis.solutions):
            self.diagnosis.solutions = []

    def run(self) -> Iterator[Diagnosis]:
        diagnosis, answer = self.diagnosis, self.states[-1].tokens
        if self.bench.by == "reference":
            yield from self._try([0])
            self.bench.reference = self.bench.answer(self.trials[0].tokens)
        diagnosis.right = diagnosis.winnable[-1] = self.bench.right(answer)
        if diagnosis.right:
            diagnosis.kind = "right"
            yield from self._revocations()
            yield self._told("done")
            return
        yield from self._states()
        yield from self._room(answer)
        if diagnosis.kind is None and diagnosis.lost is None:
            diagnosis.kind = "model"
        if self.trials[0].done:
            diagnosis.reference = self.bench.text(self.trials[0].tokens)[:MAX_TEXT]
        if diagnosis.lost is not None and diagnosis.kind is None:
            yield self._told("tokens")
            yield from self._tokens(diagnosis.lost)
            yield self._told("causes")
            yield from self._causes(diagnosis.lost)
        yield self._told("settings")
        if self.done.session is not None:
            for diagnosis.tried in attempts(self.done.session, self.bench.right):
                yield self._now()
        yield from self._revocations()
        yield self._told("done")

    # The states.

    def _states(self) -> Iterator[Diagnosis]:
        """The start, and from the last step backwards until the first state that can still be won."""
        at_once = self.last if self.every or self.last <= SHORT else AT_ONCE
        rest = list(range(self.last - 1, 0, -1))
        groups = [rest[at : at + at_once] for at in range(0, len(rest), at_once)] or [[]]
        groups[0].insert(0, 0)
        for numbers in groups:
            yield from self._try(numbers)
            if any(self.diagnosis.winnable[number] for number in numbers if number):
                break
        winnable = [number for number, mark in enumerate(self.diagnosis.winnable) if mark]
        self.diagnosis.lost = max(winnable) + 1 if winnable else None

    def _try(self, numbers: Sequence[int]) -> Iterator[Diagnosis]:
        """Whether the answer can be had from some states."""
        trials = {number: self.careful.begin(self.states[number]) for number in numbers}
        self.trials |= trials
        for _ in self.careful.passes(list(trials.values())):
            self._mark()
            yield self._now()
        self._mark()

    def _mark(self) -> None:
        if self.bench.by == "reference" and self.bench.reference is None:
            return
        for number, trial in self.trials.items():
            if self.diagnosis.winnable[number] is None and trial.done:
                self.diagnosis.winnable[number] = self.bench.right(trial.tokens)

    # Room.

    def _room(self, answer: tuple[int, ...]) -> Iterator[Diagnosis]:
        """Cut off: the task says that a right answer begins like this one; or, where the region can be twice as long,
        the answer, which no end closes, goes on to a right one; or nothing in this room is right, and with twice the
        room careful completion from the start is."""
        diagnosis, start = self.diagnosis, self.states[0]
        length = len(start.tokens)
        fits = len(start.prompt) + 2 * length <= self.done.model.max_length
        if self.done.template or not fits or self.bench.by == "reference":
            return
        if self.bench.cut_off(answer):
            diagnosis.kind, diagnosis.cut = "cut off", "task"
            return
        trials = {}
        if self.bench.by == "expected" and not self.bench.ended(answer):
            trials["end"] = self.careful.begin(roomier(self.states[-1], self.done.model.mask_id))
        if diagnosis.lost is None:
            trials["room"] = self.careful.begin(roomier(start, self.done.model.mask_id))
        for _ in self.careful.passes(list(trials.values())):
            yield self._now()
        for how, trial in trials.items():
            if diagnosis.kind is None and self.bench.right(trial.tokens):
                diagnosis.kind, diagnosis.cut = "cut off", "end" if how == "end" else "room"

    # The tokens.

    def _tokens(self, lost: int) -> Iterator[Diagnosis]:
        diagnosis, trace = self.diagnosis, self.done.trace
        search = Search(self.careful, self.bench.right, self.states[lost - 1], self.states[lost])
        result = search.result
        for _ in search.guilty():
            yield self._now()
        order = sorted(
            range(len(result.guilty)),
            key=lambda n: (sum(i not in search.step.written for i in result.guilty[n]), result.guilty[n]),
        )
        result.guilty = [result.guilty[n] for n in order]
        diagnosis.guilty, diagnosis.rescued = [list(each) for each in result.guilty], [result.rescued[n] for n in order]
        diagnosis.minimal = result.minimal
        diagnosis.written = {i: written_in(trace, i, lost) for i in sorted({i for each in result.guilty for i in each})}
        diagnosis.accepted = [
            i for i, step in diagnosis.written.items() if step and i in trace.steps[step - 1].accepted
        ]
        for _ in search.kind(diagnosis.accepted):
            yield self._now()
        diagnosis.alone, diagnosis.together, diagnosis.with_taken = result.alone, result.together, result.with_taken
        diagnosis.restored, diagnosis.kind = result.restored, result.kind

    def _causes(self, lost: int) -> Iterator[Diagnosis]:
        """What made the guilty tokens' own verdicts."""
        session, diagnosis = self.done.session, self.diagnosis
        blamed = dict.fromkeys([*diagnosis.together, *(i for positions in diagnosis.guilty[:1] for i in positions)])
        if session is None:
            return
        for position in list(blamed)[:NAMED]:
            step = diagnosis.written.get(position) or lost
            with suppress(InputError):  # put there by hand, or by a decoder that does not tell
                *_, verdict = examine(session, step, position, seconds=CAUSES_SECONDS)
                diagnosis.verdicts.append(verdict)
                told = {token: session.model.token_text(token) for token in sorted(spoken_of(verdict))}
                self.done.trace.token_text |= told
            yield self._now()

    def _revocations(self) -> Iterator[Diagnosis]:
        """What the first of them were worth."""
        if any(step.demoted for step in self.done.trace.steps):
            yield self._told("revocations")
            for told in judged(self.done, self.bench, self.careful, REVOCATIONS):
                self.diagnosis.revocations = told
                yield self._now()

    # The record.

    def _now(self) -> Diagnosis:
        """What is known by now."""
        diagnosis, careful = self.diagnosis, self.careful
        diagnosis.completions, diagnosis.passes, diagnosis.rows = careful.ended, careful.made, careful.rows
        diagnosis.seconds = round(time.perf_counter() - self.began, 3)
        return replace(diagnosis, winnable=list(diagnosis.winnable), verdicts=list(diagnosis.verdicts))

    def _told(self, stage: str) -> Diagnosis:
        """The same at the beginning of a stage, with what can be said."""
        self.diagnosis.stage = stage  # type: ignore[assignment]
        self.diagnosis.sentences = diagnosis_sentences(self.done.trace, self.diagnosis)
        return self._now()


def roomier(state: DecodeState, mask_id: int) -> DecodeState:
    """A state with as much room again behind its region."""
    length = len(state.tokens)
    whole = state.block_length >= length
    return replace(
        state,
        tokens=(*state.tokens, *[mask_id] * length),
        states=state.states + MASKED * length,
        fixed=(*state.fixed, *[False] * length),
        confidence=(*state.confidence, *[0.0] * length),
        reliability=(*state.reliability, *[0.0] * length),
        block_length=2 * length if whole else state.block_length,
    ).at_open_block()
