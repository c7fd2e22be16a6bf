"""Sentences for whoever meets a decode for the first time: words and percentages, no symbols.

Promises: what is said follows from the step and from what the trace declares of itself, its thresholds above all; where
a comparison does not hold it is not made. A decoder may say it better (`Decoder.say_plainly`), and no decoder has to.
Does not know: any rule. The exact sentence is `dard.trace.words`'.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from dard.core.errors import InputError
from dard.core.state import BLANK, DECIDED, TENTATIVE
from dard.trace.about import About, Threshold
from dard.trace.records import Step, Whole
from dard.trace.words import DONE, NAMED_AT_MOST, SPEAKERS, Words, common, decimals, ending_words, plainly, words_of

SPOKEN_AT_MOST = 2  # positions of a step that are spoken of one by one
EVENTS = ("demoted", "replaced", "decided", "promoted", "weakened")  # the first of them that happened is spoken of


def percent(value: float, *limits: float) -> str:
    """A probability as one says it; beside limits, told apart from them.

    >>> percent(0.478), percent(0.5021, 0.5), percent(0.0012), percent(0.9991), percent(1), percent(0.5)
    ('48 %', '50.2 %', 'less than 1 %', 'over 99 %', '100 %', '50 %')
    """
    if 0 < value < 0.005:
        return "less than 1 %"
    if 0.995 < value < 1:
        return "over 99 %"
    digits = decimals(100 * value, *(100 * limit for limit in limits), least=0)
    return f"{100 * value:.{digits}f} %"


class Lines:
    """The thresholds that a position was held against, as lines on a ruler from 0 to 100 %."""

    def __init__(self, step: Step, position: int, about: About) -> None:
        tables = [path.name for path in about.paths if path.name in step.paths and step.paths[path.name].at(position)]
        on = ("", tables[-1] if tables else "")
        known = [each for each in about.thresholds if isinstance(each, Threshold) and each.at is not None]
        own = [each for each in known if each.on in on]
        told = len(own) < 2 or all(
            each.enters for each in own
        )  # several are lines of one ruler where they lead to states
        self.own = [float(each.at or 0) for each in own] if told else []
        self.path = on[1]

    @property
    def low(self) -> float | None:
        return self.own[0] if self.own else None

    @property
    def high(self) -> float | None:
        return self.own[-1] if self.own else None

    def name(self, at: float | None) -> str:
        which = "" if len({*self.own}) < 2 else "lower " if at == self.low else "upper "
        return f"the {which}line ({percent(at or 0)})"


def say_plainly(step: Step, position: int, words: Words, about: About) -> str:
    """What became of a position, for a newcomer."""
    before, after, c = step.kind_before(position), step.kind(position), step.confidence[position]
    if (said := common(step, position, words)) is not None:
        return said
    if c is None:
        return plainly(step, position, words)
    lines = Lines(step, position, about)
    low, high = lines.low, lines.high
    sure = percent(c, *lines.own)
    if before.role == BLANK:
        return filled(step, position, words, lines, c)
    old, again = words.quote(step.tokens_before[position]), f"Checked again{in_view(step, position, words)}"
    if after.role == BLANK:
        why = f". That is not above {lines.name(low)}" if low is not None and c <= low else ""
        favourite = prefers(step, position, words, lines.path)
        return f"{again}, {old} gets {sure}{why}{', so it' if why else '; it'} becomes a blank again.{favourite}"
    if position in step.replaced:
        return f"{again}, {words.quote(step.tokens[position])} is likelier here ({sure}) and takes the place of {old}."
    if (before.role, after.role) == (TENTATIVE, DECIDED):
        above = f", above {lines.name(high)}" if high is not None and c > high else ""
        return f"{again}, {old} gets {sure}{above}: it is trusted now."
    if (before.role, after.role) == (DECIDED, TENTATIVE):
        below = f", not above {lines.name(high)}" if high is not None and c <= high else ""
        return f"{again}, {old} gets {sure}{below}: it is on trial again."
    if after.role == TENTATIVE:
        return f"{again}, {old} gets {sure}: it stays on trial."
    return f"{old} stays, with {sure}."


def in_view(step: Step, position: int, words: Words) -> str:
    """What a shadow that judged a token had in view: the other words that had been written."""
    start, end = step.block
    if step.mask is None or len(step.mask) != 2 * (end - start):
        return ""
    row = step.mask[end - start + position - start]
    written = [
        j for j in range(start, end) if step.kind_before(j).role != BLANK and not step.fixed[j] and j != position
    ]
    seen = [j for j in written if row[j - start] and not step.hides(j, position)]
    if not seen:
        return ""
    names = [words.quote(step.tokens_before[j]) for j in seen]
    return f" with {' and '.join(names) if len(names) <= NAMED_AT_MOST else f'{len(names)} other words'} in view"


def filled(step: Step, position: int, words: Words, lines: Lines, c: float) -> str:
    """Of a blank: whether it was filled, and why."""
    after, low, high, sure = step.kind(position), lines.low, lines.high, percent(c, *lines.own)
    if after.role == BLANK:
        if low is not None and c <= low:
            return (
                f"{words.place(position)}: the model’s best guess has {sure}. That is not above {lines.name(low)}, so "
                "the place stays a blank."
            )
        return f"{words.place(position)} stays a blank for now; the best guess there has {sure}."
    token = words.quote(step.tokens[position])
    is_sure = f"The model is {sure} sure of {token}."
    if position in step.forced:
        return f"{is_sure} No blank was sure enough; this one, the surest, is written anyway, so that the pass gets on."
    if position in step.happened("accepted"):
        return f"{is_sure} Decoding does not get further here, so what is left is filled, the surest first."
    if after.role == TENTATIVE:
        if low is not None and high is not None and low < c <= high:
            return (
                f"{is_sure} That is above {lines.name(low)} but not above {lines.name(high)}: it is written, but on "
                "trial."
            )
        return f"{is_sure} It is written, but on trial."
    if high is not None and c > high:
        return f"{is_sure} That is above {lines.name(high)}, so it is kept."
    return f"{is_sure} It is written."


def prefers(step: Step, position: int, words: Words, path: str) -> str:
    guesses = step.paths[path].at(position) if path in step.paths else []
    if not guesses or guesses[0][0] == step.tokens_before[position]:
        return ""
    return f" The model now prefers {words.quote(guesses[0][0])}, with {percent(guesses[0][1])}."


def told_plainly(trace: Whole, step: Step, position: int, words: Words | None = None) -> str:
    """The decoder's own plain sentence; of one that is not known here, the common one."""
    words = words or words_of(trace)
    if (speaker := SPEAKERS.get(trace.decoder)) is not None:
        with suppress(InputError, KeyError, TypeError, ValueError):
            return speaker.say_plainly(step, position, words, trace.about)
    return say_plainly(step, position, words, trace.about)


def plain_summary(trace: Whole, step: Step) -> str:
    """A step for a newcomer: one or two positions one by one, more of them as a count."""
    words = words_of(trace)
    happened = next(((name, step.happened(name)) for name in EVENTS if step.happened(name)), ("", []))
    name, positions = happened
    if not positions:
        said = "Nothing changed in this pass."
    elif len(positions) <= SPOKEN_AT_MOST:
        said = " ".join(told_plainly(trace, step, i, words) for i in positions)
    else:
        said = many(step, name, positions)
    stopped = f" Decoding stopped: {ending_words(step.ended_by)}." if step.ended_by not in (None, DONE) else ""
    return f"{said}{stopped}"


def many(step: Step, name: str, positions: Iterable[int]) -> str:
    """What happened to several places at once."""
    places = list(positions)
    kinds: list[str] = [step.kind(i).role for i in places]
    trusted, tried = kinds.count(DECIDED), kinds.count(TENTATIVE)
    if name == "decided":
        if not tried:
            return f"{len(places)} blanks are filled at once, each without a look at the others."
        return f"{len(places)} blanks are filled at once: {trusted} trusted, {tried} on trial."
    what = {
        "demoted": "were checked again and become blanks again: the model is no longer sure enough of them",
        "replaced": "are replaced by likelier ones",
        "promoted": "were checked again and are trusted now",
        "weakened": "were checked again and are on trial again",
    }
    return f"{len(places)} written words {what[name]}."
