"""What a decode cost and what it threw away, counted from its trace."""

from __future__ import annotations

from dataclasses import dataclass

from dard.state import MASKED
from dard.trace import Trace


@dataclass(frozen=True)
class Metrics:
    """Numbers about one trace. `changed` is None unless there is another trace to compare with."""

    passes: int
    tokens_per_pass: float
    revocations: int  # returns to masked
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
    >>> found = measure(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4))
    >>> found.passes, found.revocations, found.wasted_passes
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
    filled = sum(not given and state != MASKED for given, state in zip(trace.fixed, trace.states, strict=True))
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
