"""Canvases of noise: text that begins as random tokens and is read off them pass by pass; its states and its words.

A pass predicts every position of a canvas. What stands nearest to certain is accepted and written, all else becomes
noise again; the most probable tokens are the draft. At the end the draft is committed, and the next canvas begins.
Does not know: who decodes, how acceptance is decided, torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dard.core.state import NOISE, UNMASKED
from dard.trace.about import About, Column, Event, Path, StateKind
from dard.trace.records import Step
from dard.trace.words import SPEAKERS, Words, number

DRAFT, ACCEPTED, COMMITTED = "D", "A", UNMASKED
NAME = "recorded noise"
BOUND, TEMPERATURE, MEAN = "entropy_bound", "temperature", "mean_entropy"  # facts of a step
STABLE, LAST_PASS = "a canvas that was stable and sure", "its last pass"  # how a canvas ends

STATES = (
    StateKind(NOISE, "noise", "blank", "A random token stands here; shown is the draft, which has just changed."),
    StateKind(DRAFT, "draft", "tentative", "A random token stands here, but the draft is that of the pass before."),
    StateKind(ACCEPTED, "accepted", "tentative", "Written by this pass: the next one sees it, and may take it back."),
    StateKind(COMMITTED, "committed", "decided", "Part of the text: its canvas is complete."),
)
EVENTS = {
    "decided": Event("accepted", "written into the canvas, so that the next pass sees it"),
    "demoted": Event("re-noised", "accepted before, and now a random token again"),
    "replaced": Event("exchanged", "accepted before and now, with another token"),
    "changed": Event("draft changed", "another token than in the pass before is the most probable one", mark="≠"),
    "settled": Event("settled", "the most probable token is that of the pass before"),
    "committed": Event("block committed", "its canvas is complete, and the draft became text"),
}
COLUMNS = (
    Column("entropy", "H", "entropy of the prediction, in nats; the surest are accepted first"),
    Column("sum", "ΣH", "what the entropies of all that are surer add up to: accepted while within the bound"),
)
PATH = Path("x", "prediction", "what this pass predicted here, at its temperature", "what this pass predicted")
ABOUT = About(columns=COLUMNS, paths=[PATH], events=EVENTS, states=STATES)


def state_of(accepted: bool, draft: int, before: int | None) -> str:
    """The state of a position of an open canvas; `before` is its draft of the pass before."""
    return ACCEPTED if accepted else DRAFT if draft == before else NOISE


def happened(
    states_before: str, states: str, tokens_before: Sequence[int], tokens: Sequence[int]
) -> dict[str, list[int]]:
    """What states and tokens tell of acceptance, by the names of `EVENTS`."""
    kinds: dict[str, list[int]] = {"decided": [], "demoted": [], "replaced": []}
    for i, (old, new) in enumerate(zip(states_before, states, strict=True)):
        if new == COMMITTED:
            continue
        if old == new == ACCEPTED:
            if tokens_before[i] != tokens[i]:
                kinds["replaced"].append(i)
        elif ACCEPTED in (old, new):
            kinds["decided" if new == ACCEPTED else "demoted"].append(i)
    return kinds


def drafts_moved(
    positions: Sequence[int], drafts: Sequence[int], before: Sequence[int] | None, earlier: Sequence[int] | None
) -> dict[str, list[int]]:
    """Where a draft is another than in the pass before, and where it has just stopped changing."""
    if before is None:
        return {}
    still = [
        (place, now == then, earlier is None or then != earlier[n])
        for n, (place, now, then) in enumerate(zip(positions, drafts, before, strict=True))
    ]
    return {
        "changed": [place for place, same, _ in still if not same],
        "settled": [place for place, same, moved in still if same and moved],
    }


def sums_before(entropy: Sequence[float]) -> list[float]:
    """What the entropies of all surer positions add up to, by position.

    >>> sums_before([0.5, 0.25, 1.0])
    [0.25, 0.0, 0.75]
    """
    sums, total = [0.0] * len(entropy), 0.0
    for place in sorted(range(len(entropy)), key=lambda i: entropy[i]):
        sums[place] = total
        total += entropy[place]
    return sums


def say(step: Step, position: int, words: Words) -> str:
    """Why a position of a canvas is as it is after a step."""
    before, after = step.states_before[position], step.states[position]
    token = words.quote(step.read[position])
    if after == COMMITTED:
        if before == COMMITTED:
            return f"{token} {words.where(position)} is text: its canvas was committed before."
        ended = f", ended by {step.ended_by}" if step.ended_by else ""
        return f"{token} {words.where(position)} was committed: its canvas is complete{ended}."
    if not step.block[0] <= position < step.block[1]:
        return f"{words.place(position)} belongs to a later canvas; this step did not look at it."
    measured = numbers(step, position)
    if after == ACCEPTED:
        verb = "was accepted" if before != ACCEPTED else "stays accepted"
        if position in step.replaced:
            return f"{words.at(step.tokens_before, position)} was exchanged for {token}, accepted{measured}."
        return f"{token} {words.where(position)} {verb}{measured}."
    if before == ACCEPTED:
        was = words.at(step.tokens_before, position)
        return f"{was} was re-noised{measured}; the draft here is {token}."
    if after == DRAFT:
        return f"Noise {words.where(position)}: the draft {token} is that of the pass before, not accepted{measured}."
    changed = position in step.happened("changed")
    was = f"changed from {words.quote(step.read_before[position])} to {token}" if changed else f"is {token}"
    return f"Noise {words.where(position)}: the draft {was}, not accepted{measured}."


def numbers(step: Step, position: int) -> str:
    """The numbers that acceptance goes by, as far as they are known."""
    entropy, total = step.column("entropy")[position], step.column("sum")[position]
    if entropy is None:
        return ""
    bound = step.facts.get(BOUND)
    if total is None or bound is None:
        return f", with entropy {number(entropy)}"
    side = "within" if total <= bound else "above"
    told = number(total, bound)
    return f": entropy {number(entropy)}, and all that are surer add up to {told}, {side} the bound of {bound:g}"


class Noise:
    """Who speaks for recordings of canvases."""

    def looks_at(self, step: Step, position: int) -> bool:
        return True

    def say(self, step: Step, position: int, words: Words) -> str:
        return say(step, position, words)

    def say_plainly(self, step: Step, position: int, words: Words, about: About) -> str:
        return say(step, position, words)


SPEAKERS[NAME] = Noise()


def note(facts: Mapping[str, float]) -> str:
    """A pass in a sentence: its temperature, and what stops a canvas."""
    parts = [f"temperature {facts[TEMPERATURE]:.3g}"] if TEMPERATURE in facts else []
    parts += [f"bound {facts[BOUND]:g}"] if BOUND in facts else []
    parts += [f"mean entropy {facts[MEAN]:.3g}"] if MEAN in facts else []
    return ", ".join(parts)
