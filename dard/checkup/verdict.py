"""The verdict on a model's language: its share of hidden tokens against a control, and against itself changed.

Promises: says what was found with and without; the bounds are wide.
Does not know: how hidden tokens are asked for.
"""

from __future__ import annotations

from typing import Any

from dard.checkup.language import FEWEST, Probe, at_once, inner_weights, mean, one_by_one, probes
from dard.checkup.report import Mark, Notes
from dard.checkup.suspects import suspects
from dard.models.base import Model

ABOVE_CONTROL = 0.10  # of the hidden tokens: nearer than that, the order of the words tells the model nothing
BETTER = 0.10  # a model that finds so many more when something is changed was read wrongly
# Shares a family should reach in one pass, by the type in its config. Only the embedded model's (its texts are those it
# was trained for) was ever measured.
EXPECTED = {"bert": 0.35, "roberta": 0.35, "modernbert": 0.35, "distilbert": 0.3}
OTHERS = 0.25
SMALL_WORLDS, CALIBRATED = "small worlds", 0.6
NEVER = "a bound never calibrated on real weights: please report what you see"


def language(notes: Notes, model: Model) -> None:
    """A line for every text that the model can spell, the control, and what would do better."""
    inner = inner_weights(model)
    if inner < FEWEST:
        told = f"{inner:,} weights between embedding and head are too few to know a language: it is not judged."
        notes.add("skipped", "language", told, weights=inner)
        return
    these = probes(model)
    if not these:
        notes.add("note", "language", "There is no text of ours that this model can spell.")
        return
    once, control, surest = at_once(model, these), at_once(model, these, shuffled=True), one_by_one(model, these)
    for name in dict.fromkeys(probe.text for probe in these):
        of = [mean(values, these, name) for values in (once, surest, control)]
        words = f"{of[0]:.0%} of the hidden tokens found at once, {of[1]:.0%} one by one, {of[2]:.0%} by the control"
        notes.add("ok", f"language: {name}", f"{words}.", at_once=of[0], one_by_one=of[1], control=of[2])
    share, chance = mean(once, these), mean(control, these)
    better = improvements(model, these, share)
    judge(notes, model, these, share, chance, better)


def improvements(model: Model, these: list[Probe], share: float) -> list[tuple[float, str]]:
    """What makes the model find many more of the hidden tokens, the best first."""
    found = []
    for what, change in suspects(model):
        with change:
            now = mean(at_once(model, these), these)
        if now >= share + BETTER:
            found.append((now, what))
    return sorted(found, reverse=True)


def expected(model: Any, these: list[Probe]) -> tuple[float, bool]:
    """The share a model should reach, and whether anybody ever measured it."""
    if {probe.text for probe in these} == {SMALL_WORLDS}:
        return CALIBRATED, True
    kind = str(getattr(model.network.config, "model_type", ""))
    return EXPECTED.get(kind, OTHERS), False


def judge(
    notes: Notes, model: Model, these: list[Probe], share: float, chance: float, better: list[tuple[float, str]]
) -> None:
    """The line that counts."""
    bound, calibrated = expected(model, these)
    told = f"It finds {share:.0%} of the hidden tokens, the control with shuffled positions {chance:.0%}"
    numbers = {"share": share, "control": chance, "expected": bound, "better": better}
    mark: Mark
    if better:
        mark, words = "fail", f"{told}; {better[0][1]} it would find {better[0][0]:.0%}: that is what is wrong."
    elif share < chance + ABOVE_CONTROL:
        mark, words = "fail", f"{told}: it knows no order of words, so weights, mask or positions are read wrongly."
    elif share < bound:
        mark, words = (
            "fail" if calibrated else "note",
            f"{told}; {bound:.0%} were expected" + ("." if calibrated else f" ({NEVER})."),
        )
    else:
        mark, words = "ok", f"{told}; at least {bound:.0%} were expected" + ("." if calibrated else f" ({NEVER}).")
    notes.add(mark, "language", words, **numbers)
