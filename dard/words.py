"""Sentences about a step: the words decoders share, and what is said where they say nothing.

A sentence names the rule, the numbers it used and the tokens that were or were not visible. It is made from a `Step`
alone, so it can be written while decoding or later from a trace file; the page, the command line and screen readers
all show the same words. This module needs neither torch nor a model, and knows no decoder's rule: `Decoder.say` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dard.about import QUIET, About
from dard.state import CANDIDATE, MASKED, STATE_NAMES, UNMASKED, InputError
from dard.trace import Cause, Step, Trace, Verdict

if TYPE_CHECKING:
    from dard.decoders.base import Decoder

NAMED_AT_MOST = 3
WORD_AT_MOST = 40
DONE = "all unmasked"


class Words:
    """How a trace's tokens are written in a sentence."""

    def __init__(self, text: Callable[[int], str]) -> None:
        self.text = text

    def quote(self, token: int) -> str:
        """A token in quotes, of bounded length; white space is made visible."""
        text = self.text(token)
        text = text.strip() or repr(text)
        return f"'{text if len(text) <= WORD_AT_MOST else text[: WORD_AT_MOST - 1] + '…'}'"

    def names(self, tokens: Sequence[int], positions: Sequence[int]) -> str:
        """A few tokens by name, the rest as a number."""
        shown = [self.quote(tokens[i]) for i in positions[:NAMED_AT_MOST]]
        more = len(positions) - len(shown)
        if more:
            return f"{', '.join(shown)} and {more} more"
        return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    def guess(self, step: Step, position: int, path: str, with_number: bool = False) -> str:
        """A path's most probable token at a position; nothing where none was recorded."""
        guesses = step.paths[path].at(position) if path in step.paths else []
        if not guesses:
            return ""
        token, probability = guesses[0]
        return self.quote(token) + (f" {number(probability)}" if with_number else "")

    def other_guess(self, step: Step, position: int, path: str) -> str:
        """A path's favourite in parentheses, if it is another token than the one held."""
        guesses = step.paths[path].at(position) if path in step.paths else []
        if not guesses or guesses[0][0] == step.tokens_before[position]:
            return ""
        return f" (its own best guess is {self.quote(guesses[0][0])}, {number(guesses[0][1])})"


def number(value: float) -> str:
    return f"{value:.2f}"


def against(value: float, threshold: float, symbol: str, relations: tuple[str, str] = ("above", "not above")) -> str:
    """A comparison with a threshold, written with as many decimals as it takes to be visibly true.

    >>> against(0.8004, 0.8, "τ_u")
    '0.8004, above τ_u = 0.8000'
    """
    digits = 2
    while digits < 6 and (round(value, digits) > round(threshold, digits)) != (value > threshold):
        digits += 1
    relation = relations[0] if value > threshold else relations[1]
    return f"{value:.{digits}f}, {relation} {symbol} = {threshold:.{digits}f}"


def rest(step: Step) -> str:
    """Whom a step passed over, surer though they may have been."""
    return " but for end tokens, which come last" if step.happened("waiting") else ""


def company(step: Step) -> str:
    """What a token committed together with others could not see."""
    others = len(step.decided) - 1
    if not others:
        return ""
    return f", without seeing {'the other token' if others == 1 else f'the {others} other tokens'} of the same pass"


def sentence(trace: Trace, step: Step, position: int) -> str:
    """One sentence about a position of a trace, whether or not the trace holds one.

    A file may come from a decoder that is not known here, or lack the settings that its sentences need. Whoever only
    shows a file has no decoders loaded, and does not wait for torch: what changed has its sentence in the trace.
    """
    words = Words(trace.word)
    try:
        if "dard.decoders" not in sys.modules:
            raise InputError("no decoder is loaded")
        from dard.decoders import get_decoder

        return explain(get_decoder(trace.decoder), step, position, words)
    except (InputError, KeyError, TypeError, ValueError):
        return common(step, position, words) or plainly(step, position, words)


def explain(decoder: Decoder, step: Step, position: int, words: Words) -> str:
    """The same from the decoder itself."""
    said = common(step, position, words)
    if said is None and not decoder.looks_at(step, position):
        where = "an earlier" if position < step.block[0] else "a later"
        said = f"Position {position} belongs to {where} block; this step did not look at it."
    if said is not None or step.hidden is None or step.hidden[1] not in (None, position):
        return said or decoder.say(step, position, words)
    return f"{decoder.say(step, position, words)[:-1]} ({kept_from(step, words)})."


def kept_from(step: Step, words: Words) -> str:
    """What a pass was kept from seeing by hand."""
    assert step.hidden is not None
    place, check = step.hidden
    what = f"a token of the prompt, {-place} from its end," if place < 0 else words.quote(step.tokens_before[place])
    whom = "everyone in this pass" if check is None else f"the prediction of position {check}"
    return f"{what} was hidden from {whom}, by hand"


def common(step: Step, position: int, words: Words) -> str | None:
    """What is true whatever the rule."""
    if position in step.edited:
        return f"{words.quote(step.tokens[position])} was put here by hand, as {STATE_NAMES[step.states[position]]}."
    if step.fixed[position]:
        return f"{words.quote(step.tokens[position])} is given by the template: always unmasked, never verified."
    if position in step.happened("waiting"):
        c = number(step.confidence[position])
        return f"Position {position} stays masked: its best guess, with {c}, ends the text, and end tokens come last."
    return None


MOVES = {
    "MM": "stayed masked", "MC": "become a candidate", "MU": "been unmasked",
    "CM": "been revoked", "CC": "stayed a candidate", "CU": "been promoted",
    "UM": "been revoked", "UC": "been weakened to a candidate", "UU": "stayed unmasked",
}  # fmt: skip


def because(trace: Trace, verdict: Verdict) -> str:
    """What a sentence gains where one token decides the matter; nothing where none does, or several do."""
    if len(verdict.deciding) != 1:
        return ""
    cause = verdict.deciding[0]
    before = trace.steps[verdict.step - 1].states_before[verdict.position]
    words = Words(trace.word)
    subject = words.quote(verdict.token) if before == verdict.state == MASKED else "it"
    without = words.quote(trace.token_before(verdict.step, cause.position))
    return f"without {without} {subject} would have had {number(cause.without)} and {MOVES[before + cause.state]}"


def causes_note(trace: Trace, verdict: Verdict) -> str:
    """What the causes of a verdict come to, in a few sentences."""
    step, words = trace.steps[verdict.step - 1], Words(trace.word)
    before, token = step.states_before[verdict.position], words.quote(verdict.token)

    def name(cause: Cause) -> str:
        return words.quote(trace.token_before(verdict.step, cause.position))

    def outcome(cause: Cause) -> str:
        return f"{token} would have had {cause.without:.3f} and {MOVES[before + cause.state]}"

    hidings, deciding = [cause for cause in verdict.causes if not cause.shown], verdict.deciding
    others = [cause.without for cause in hidings if cause not in deciding]
    leaves = f"leaves it at {min(others):.3f} to {max(others):.3f}" if others else ""
    parts = []
    if len(deciding) == 1:
        alone = "alone decides this" if not verdict.left else "decides this"
        parts.append(f"{name(deciding[0])} {alone}: without it {outcome(deciding[0])}.")
        if others:
            parts.append(f"Hiding any other token{' that was tried' if verdict.left else ''} {leaves}.")
    elif deciding:
        named = [name(cause) for cause in deciding[:NAMED_AT_MOST]]
        more = f" or {len(deciding) - len(named)} more" if len(deciding) > len(named) else ""
        parts.append(
            f"A close call: {verdict.actual:.3f}. "
            f"Without any one of {', '.join(named)}{more} it would have another state."
        )
    elif others:
        parts.append(f"No single token decides this: hiding any one {leaves}.")
    else:
        parts.append("It saw no token that could be hidden.")
    parts += [
        f"Had the mask not hidden {name(cause)}, {outcome(cause)}."
        for cause in verdict.causes
        if cause.shown and cause.state != verdict.state
    ][:NAMED_AT_MOST]
    if verdict.left:
        tokens = "token was" if len(verdict.left) == 1 else "tokens were"
        share = "" if verdict.share is None else f", with {verdict.share:.0%} of its attention together"
        parts.append(f"{len(verdict.left)} {tokens} not tried{share}.")
    return " ".join(parts)


def plainly(step: Step, position: int, words: Words) -> str:
    """What the states alone tell."""
    before, after = step.states_before[position], step.states[position]
    value = step.confidence[position]
    c = "its confidence was not measured" if value is None else f"confidence {number(value)}"
    if after == MASKED:
        if before == MASKED:
            return f"Position {position} stays masked: {c}."
        return f"{words.quote(step.tokens_before[position])} was revoked: {c}."
    token = words.quote(step.tokens[position])
    if position in step.replaced:
        return f"{words.quote(step.tokens_before[position])} was replaced by {token}: {c}."
    if before == after:
        return f"{token} stays {STATE_NAMES[after]}: {c}."
    moves = {CANDIDATE + UNMASKED: "was promoted", UNMASKED + CANDIDATE: "was weakened to a candidate"}
    return f"{token} {moves.get(before + after, f'was decided, as {STATE_NAMES[after]}')}: {c}."


def summary(step: Step, about: About, words: Words) -> str:
    """One sentence about a whole step: what a screen reader hears."""
    parts = [] if step.hidden is None else [kept_from(step, words)]
    told = {name: positions for name, positions in step.events.items() if positions and name not in QUIET}
    if "accepted" in told:
        told["accepted"] = [i for i in told["accepted"] if i not in step.decided]
    edited = told.pop("edited", [])
    for name, positions in told.items():
        title = about.event(name).title
        if positions and all(step.states_before[i] == step.states[i] == MASKED for i in positions):
            parts.append(f"{title}: {len(positions)} position{'s' if len(positions) > 1 else ''}")
        elif positions:
            tokens = step.tokens_before if name == "demoted" else step.tokens
            parts.append(f"{words.names(tokens, positions)} {title}")
    if edited:
        parts.append(f"position {', '.join(map(str, edited))} edited by hand")
    text = "; ".join(parts) or "nothing changed"
    ending = "" if step.ended_by is None else " The block is complete."
    if step.ended_by not in (None, DONE):
        ending = f" The block is complete, ended by {step.ended_by}."
    return f"Step {step.index}. {text[0].upper()}{text[1:]}.{ending}"
