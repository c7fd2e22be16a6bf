"""What a decode cost and what it threw away, counted from its trace; and what many of them tell together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, stdev

from dard.tasks.judge import answers_left
from dard.trace.records import Start, Step
from dard.trace.trace import Trace

_Z = 1.96  # of a 95 % interval


@dataclass(frozen=True)
class Metrics:
    """Numbers about one trace. `changed` is None unless there is another trace to compare with."""

    passes: int
    tokens_per_pass: float
    revocations: int  # tokens taken back
    replacements: int  # another token in place of the one held
    flip_flops: int  # positions decided more than twice
    wasted_passes: int  # passes that decided a token which was later revoked or replaced
    seconds: float
    tokens_per_second: float
    changed: int | None = None  # positions whose final token differs


def measure(trace: Trace, reference: Trace | None = None) -> Metrics:
    """Count a trace; with a `reference` (one token per step, say) also where their results differ.

    >>> import dard
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> measured = measure(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4))
    >>> measured.passes, measured.revocations, measured.wasted_passes
    (5, 1, 1)
    """
    decided_at: dict[int, int] = {}  # position → the pass that decided the token it holds
    decisions: dict[int, int] = {}
    wasted: set[int] = set()
    for step in trace.steps:
        for i in {*step.demoted, *step.replaced}:
            if i in decided_at:
                wasted.add(decided_at.pop(i))
        for i in {*step.decided, *step.replaced}:
            decided_at[i] = step.index
            decisions[i] = decisions.get(i, 0) + 1
    blank, states = trace.about.blank, trace.states
    filled = sum(not given and state not in blank for given, state in zip(trace.fixed, states, strict=True))
    seconds = sum(step.forward_seconds + step.other_seconds for step in trace.steps)
    changed = None
    if reference is not None:
        changed = sum(a != b for a, b in zip(trace.tokens, reference.tokens, strict=True))
    return Metrics(
        passes=trace.num_steps,
        tokens_per_pass=filled / max(trace.num_steps, 1),
        revocations=sum(len(step.demoted) for step in trace.steps),
        replacements=sum(len(step.replaced) for step in trace.steps),
        flip_flops=sum(count > 2 for count in decisions.values()),
        wasted_passes=len(wasted),
        seconds=seconds,
        tokens_per_second=filled / seconds if seconds else 0.0,
        changed=changed,
    )


def solutions_left(trace: Trace) -> list[int | None]:
    """For the start and after each step, how many right answers agree with what is unmasked; None where the prompt's
    task cannot list its right answers, or the model's tokens are not its words.

    >>> import dard
    >>> model = dard.load_model("embedded")
    >>> prompt = "Sudoku : 4 0 0 0 2 0 0 0 0 0 4 1 0 0 0 0 Solution :"
    >>> solutions_left(dard.decode(model, prompt, "standard", gen_length=16, steps=4))
    [3, 3, 3, 0, 0]
    """
    words = [trace.word(token) for token in trace.prompt_tokens]
    if words != trace.prompt.split():
        return [None] * (len(trace.steps) + 1)
    moments: list[Start | Step] = [trace.start, *trace.steps]
    return [
        answers_left(
            trace.prompt,
            [
                trace.word(token) if state in trace.about.decided else None
                for token, state in zip(moment.tokens, moment.states, strict=True)
            ],
        )
        for moment in moments
    ]


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval of the mean: Wilson's for right and wrong, the normal one for shares in between.

    >>> low, high = interval([1, 1, 1, 0])
    >>> round(low, 2), round(high, 2)
    (0.3, 0.95)
    """
    n, mean = len(scores), fmean(scores)
    if set(scores) <= {0, 1}:
        scale = 1 + _Z**2 / n
        centre = (mean + _Z**2 / (2 * n)) / scale
        half = _Z / scale * math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n * n))
    elif n == 1:
        return 0.0, 1.0
    else:
        centre, half = mean, _Z * stdev(scores) / math.sqrt(n)
    return max(0.0, centre - half), min(1.0, centre + half)


def area_under_parallelism(found: Sequence[tuple[float, float]], best: float) -> float:
    """AUP of pairs (tokens per pass, accuracy in %); `best` is the highest accuracy of all methods.

    ρ₁y₁ + ½ Σ (ρᵢ − ρᵢ₋₁)(yᵢW(yᵢ) + yᵢ₋₁W(yᵢ₋₁)) with W(y) = min(exp(−3(1 − y / best)), 1), over the points with an
    accuracy of at least y₁ − 5, by tokens per pass.

    >>> area_under_parallelism([(2, 80.0), (1, 80.0), (4, 70.0)], best=80.0)
    160.0
    """
    (_, first), *_ = ordered = sorted(found)
    kept = [(rho, y) for rho, y in ordered if y >= first - 5]

    def weighted(y: float) -> float:
        return y * min(math.exp(-3 * (1 - y / best)), 1) if best else 0.0

    areas = [(b - a) * (weighted(y) + weighted(x)) / 2 for (a, x), (b, y) in pairwise(kept)]
    return kept[0][0] * first + sum(areas)
