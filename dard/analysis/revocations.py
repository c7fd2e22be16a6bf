"""What each revocation of a finished decode was worth: right, wrong or in vain.

A token that a step took back to a mask is held against careful completion of what was unmasked before that step, with
the token and without it.
Does not know: any decoder's rule, or how it is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from dard.analysis.careful import Careful
from dard.analysis.expected import Bench, Expected
from dard.analysis.finished import Finished, finished
from dard.decoding.session import Session
from dard.models.base import Model
from dard.trace import Trace
from dard.trace.diagnosis import Revocation, Worth


def revocations(run: Session | Trace, model: Model | None = None, expected: Expected | None = None) -> list[Revocation]:
    """Every revocation of a run. In vain: the same token stands there in the end, or the answer can be had neither with
    it nor without it. Wrong: it can be had with it. Right: only without it.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> session = Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    >>> _ = session.run()
    >>> [(each.step, each.position, each.worth) for each in revocations(session, expected="San Diego")]
    [(2, 3, 'right')]
    """
    done = finished(run, model)
    bench = Bench(done.model, done.trace.prompt, expected, done.template)
    careful = Careful(done.model, done.settings, done.trace.about.later, len(done.states[0].tokens))
    if bench.by == "reference":
        start = careful.begin(done.states[0])
        for _ in careful.passes([start]):
            pass
        bench.reference = bench.answer(start.tokens)
    *_, told = judged(done, bench, careful)
    return told


def judged(done: Finished, bench: Bench, careful: Careful, most: int | None = None) -> Iterator[list[Revocation]]:
    """The same, or the first so many, after each shared pass as far as they are known; the last are all."""
    told: list[Revocation] = []
    taken = [(step, i, step.tokens_before[i]) for step in done.trace.steps for i in step.demoted][:most]
    trials = [
        [
            careful.begin(done.states[step.index - 1], masked=[i]),
            careful.begin(done.states[step.index - 1], also={i: token}),
        ]
        for step, i, token in taken
    ]
    for _ in careful.passes([trial for both in trials for trial in both]):
        yield told
    for (step, i, token), (without, held) in zip(taken, trials, strict=True):
        worth: Worth = "wrong" if bench.right(held.tokens) else "right" if bench.right(without.tokens) else "in vain"
        told.append(Revocation(step.index, i, token, "in vain" if done.states[-1].tokens[i] == token else worth))
    yield told
