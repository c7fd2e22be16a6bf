"""Sentences about a step: the words decoders share, and what is said where they say nothing.

A sentence names the rule, the numbers it used and the tokens that were or were not visible. It is made from a `Step`
alone, so it can be written while decoding or later from a trace file; the page, the command line and screen readers
all show the same words. This module needs neither torch nor a model, and knows no decoder's rule: `Decoder.say` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from dard.core.errors import InputError
from dard.core.state import BLANK, DECIDED, TENTATIVE
from dard.tasks.judge import laid_out
from dard.trace.about import QUIET, About, Threshold
from dard.trace.records import Cause, Step, Verdict, Whole

NAMED_AT_MOST = 3
WORD_AT_MOST = 40
CLOSE = 0.05  # to a threshold
DONE = "all unmasked"


class Speaker(Protocol):
    """A decoder, as far as sentences need one."""

    def looks_at(self, step: Step, position: int) -> bool: ...
    def say(self, step: Step, position: int, words: Words) -> str: ...
    def say_plainly(self, step: Step, position: int, words: Words, about: About) -> str: ...


SPEAKERS: dict[str, Speaker] = {}  # by their names; whoever registers a decoder enters it here


class Words:
    """How a trace's tokens are written in a sentence, and where they stand. `rows`: how many cells a row of the answer
    has, and how many there are; None for a line of text."""

    def __init__(self, text: Callable[[int], str], rows: tuple[int, int] | None = None) -> None:
        self.text = text
        self.rows = rows

    def quote(self, token: int) -> str:
        """A token in quotes, of bounded length; white space is made visible."""
        text = self.text(token)
        text = text.strip() or repr(text)
        return f"'{text if len(text) <= WORD_AT_MOST else text[: WORD_AT_MOST - 1] + '…'}'"

    def where(self, position: int) -> str:
        """
        >>> Words(str).where(5), Words(str, (4, 16)).where(5), Words(str, (4, 16)).where(16)
        ('at 5', 'in row 2, column 2', 'at 16')
        """
        return f"in {cell}" if (cell := self.cell(position)) else f"at {position}"

    def cell(self, position: int) -> str:
        if self.rows is None or position >= self.rows[1]:
            return ""
        return f"row {position // self.rows[0] + 1}, column {position % self.rows[0] + 1}"

    def place(self, position: int) -> str:
        """A position that holds no token, as a sentence begins with it."""
        return self.cell(position).capitalize() or f"Position {position}"

    def at(self, tokens: Sequence[int], position: int) -> str:
        """A token and where it stands."""
        return f"{self.quote(tokens[position])} {self.where(position)}"

    def names(self, tokens: Sequence[int], positions: Sequence[int]) -> str:
        """A few tokens by name and place, the rest as a number."""
        shown = [self.at(tokens, i) for i in positions[:NAMED_AT_MOST]]
        more = len(positions) - len(shown)
        if more:
            return f"{self.comma.join(shown)} and {more} more"
        return " and ".join([self.comma.join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    @property
    def comma(self) -> str:
        """What stands between them: a cell has a comma of its own."""
        return ", " if self.rows is None else "; "

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


def words_of(trace: Whole) -> Words:
    """The words of a trace; where its answer stands in rows, they say so."""
    prompt = (trace.word(token) for token in trace.prompt_tokens)
    laid = laid_out(trace.prompt, prompt, len(trace.start.tokens))
    return Words(trace.word, laid.cells if laid else None)


def decimals(value: float, *limits: float, least: int = 2) -> int:
    """How many decimals tell a number from every limit that it is not equal to: two, or as many as it takes."""
    digits = least
    while digits < 6 and any(limit != value and f"{limit:.{digits}f}" == f"{value:.{digits}f}" for limit in limits):
        digits += 1
    return digits


def number(value: float, *limits: float, least: int = 2) -> str:
    """A number as it is read; beside limits, told apart from them.

    >>> number(0.4962), number(0.4962, 0.4, 0.5), number(0.5, 0.5), number(0.49962, 0.5, least=3)
    ('0.50', '0.496', '0.50', '0.4996')
    """
    return f"{value:.{decimals(value, *limits, least=least)}f}"


def against(value: float, threshold: float, symbol: str, relations: tuple[str, str] = ("above", "not above")) -> str:
    """A comparison with a threshold, written with as many decimals as it takes to be visibly true.

    >>> against(0.8004, 0.8, "τ_u"), against(0.4962, 0.5, "τ_c")
    ('0.8004, above τ_u = 0.8000', '0.496, not above τ_c = 0.500')
    """
    digits = decimals(value, threshold)
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


def sentence(trace: Whole, step: Step, position: int) -> str:
    """One sentence about a position of a trace, whether or not the trace holds one.

    A file may come from a decoder that is not known here, or lack the settings that its sentences need. Whoever only
    shows a file has no decoders loaded, and does not wait for torch: what changed has its sentence in the trace.
    """
    words = words_of(trace)
    if (speaker := SPEAKERS.get(trace.decoder)) is not None:
        with suppress(InputError, KeyError, TypeError, ValueError):
            return explain(speaker, step, position, words)
    return common(step, position, words) or plainly(step, position, words)


def explain(decoder: Speaker, step: Step, position: int, words: Words) -> str:
    """The same from the decoder itself."""
    said = common(step, position, words)
    if said is None and not decoder.looks_at(step, position):
        where = "an earlier" if position < step.block[0] else "a later"
        said = f"{words.place(position)} belongs to {where} block; this step did not look at it."
    if said is not None or step.hidden is None or step.hidden[1] not in (None, position):
        return said or decoder.say(step, position, words)
    return f"{decoder.say(step, position, words)[:-1]} ({kept_from(step, words)})."


def kept_from(step: Step, words: Words) -> str:
    """What a pass was kept from seeing by hand."""
    assert step.hidden is not None
    place, check = step.hidden
    what = f"a token of the prompt, {-place} from its end," if place < 0 else words.at(step.tokens_before, place)
    whom = "everyone in this pass" if check is None else f"the prediction of {words.cell(check) or f'position {check}'}"
    return f"{what} was hidden from {whom}, by hand"


def common(step: Step, position: int, words: Words) -> str | None:
    """What is true whatever the rule."""
    if position in step.edited:
        return f"{words.at(step.tokens, position)} was put there by hand, as {step.kind(position).title}."
    if step.fixed[position]:
        return f"{words.at(step.tokens, position)} is given by the template: always unmasked, never verified."
    if position in step.happened("waiting"):
        c = number(step.confidence[position])
        stays = f"{words.place(position)} stays masked"
        return f"{stays}: its best guess, with {c}, ends the text, and end tokens come last."
    return None


MOVES = {  # of masked decoding, by the letters before and after
    "MM": "stayed masked", "MC": "become a candidate", "MU": "been unmasked",
    "CM": "been revoked", "CC": "stayed a candidate", "CU": "been promoted",
    "UM": "been revoked", "UC": "been weakened to a candidate", "UU": "stayed unmasked",
}  # fmt: skip


def because(trace: Whole, verdict: Verdict) -> str:
    """What a sentence gains where one token decides the matter; nothing where none does, or several do."""
    if len(verdict.deciding) != 1:
        return ""
    cause = verdict.deciding[0]
    before = trace.steps[verdict.step - 1].states_before[verdict.position]
    words = words_of(trace)
    blank = {before, verdict.state} <= set(trace.about.blank)
    subject = words.quote(verdict.token) if blank else "it"
    without = seen_at(trace, verdict.step, cause.position, words)
    had = number(cause.without, *limits(trace))
    return f"without {without} {subject} would have had {had}{outcome(cause, before, words)}"


def limits(trace: Whole) -> list[float]:
    """What confidences are compared with."""
    return [each.at for each in trace.about.thresholds if isinstance(each, Threshold) and each.at is not None]


def outcome(cause: Cause, before: str, words: Words) -> str:
    """What would have become of a position, after the probability of its token."""
    other = "" if cause.token is None else f"{words.quote(cause.token)} would have "
    other_state = "stayed as it was" if before == cause.state else f"become another state, {cause.state}"
    return f" and {other}{MOVES.get(before + cause.state, other_state)}"


def siblings_note(trace: Whole, verdict: Verdict) -> str:
    """What a verdict would have been had it seen the other tokens of the same pass: those that would have turned it, or
    else the one that would have moved it most; and all of them."""
    words, before = words_of(trace), trace.steps[verdict.step - 1].states_before[verdict.position]
    token, tokens = words.quote(verdict.token), trace.steps[verdict.step - 1].tokens

    def had(seen: str, cause: Cause) -> str:
        value = number(cause.without, *limits(trace), least=3)
        return f"Had it seen {seen}, {token} would have had {value}{outcome(cause, before, words)}."

    strongest = sorted(verdict.siblings, key=lambda each: -abs(each.without - verdict.actual))
    told = [each for each in strongest if verdict.turned_by(each)][:NAMED_AT_MOST] or strongest[:1]
    said = [had(f"{words.at(tokens, each.position)}, of the same pass", each) for each in told]
    if verdict.together is not None:
        said.append(had(f"all {len(step_siblings(trace, verdict))} other tokens of the same pass", verdict.together))
    return " ".join(said)


def step_siblings(trace: Whole, verdict: Verdict) -> list[int]:
    """The other positions that the step of a verdict decided."""
    return [i for i in trace.steps[verdict.step - 1].decided if i != verdict.position]


def spoken_of(verdict: Verdict) -> set[int]:
    """The tokens of a verdict that its pass need not have met: its own, and those that would have been in its place."""
    causes = [*verdict.causes, *verdict.siblings, *([verdict.together] if verdict.together else [])]
    return {verdict.token, *(cause.token for cause in causes if cause.token is not None)}


def seen_at(trace: Whole, step: int, place: int, words: Words) -> str:
    """A token that the pass of a step found, and where; a negative place is in the prompt."""
    token = words.quote(trace.token_before(step, place))
    return f"{token} of the prompt ({-place} from its end)" if place < 0 else f"{token} {words.where(place)}"


def causes_note(trace: Whole, verdict: Verdict) -> str:
    """What the causes of a verdict come to, in a few sentences."""
    step, words = trace.steps[verdict.step - 1], words_of(trace)
    before, token = step.states_before[verdict.position], words.quote(verdict.token)

    def name(cause: Cause) -> str:
        return seen_at(trace, verdict.step, cause.position, words)

    def became(cause: Cause) -> str:
        return f"{token} would have had {exact(cause.without)}{outcome(cause, before, words)}"

    def exact(value: float) -> str:
        return number(value, *limits(trace), least=3)

    def seen(cause: Cause) -> str:
        by_hand = step.hides(cause.position, verdict.position)
        return f"{name(cause)} not been hidden" if by_hand else f"the mask not hidden {name(cause)}"

    def another(causes: Sequence[Cause]) -> str:
        tokens = [cause.token is not None for cause in causes]
        return "another token" if all(tokens) else "another state or token" if any(tokens) else "another state"

    hidings, deciding = [cause for cause in verdict.causes if not cause.shown], verdict.deciding
    others = [cause.without for cause in hidings if cause not in deciding]
    leaves = f"leaves it at {exact(min(others))} to {exact(max(others))}" if others else ""
    parts = []
    if len(deciding) == 1:
        alone = "alone decides this" if not verdict.left else "decides this"
        parts.append(f"{name(deciding[0])} {alone}: without it {became(deciding[0])}.")
        if others:
            parts.append(f"Hiding any other token{' that was tried' if verdict.left else ''} {leaves}.")
    elif deciding:
        named = [name(cause) for cause in deciding[:NAMED_AT_MOST]]
        more = f" or {len(deciding) - len(named)} more" if len(deciding) > len(named) else ""
        own = [each for each in trace.about.thresholds if isinstance(each, Threshold) and each.on in ("", verdict.path)]
        close = any(each.at is not None and abs(verdict.actual - each.at) <= CLOSE for each in own)
        call = f"{'A close call:' if close else 'Several tokens decide this, at'} {exact(verdict.actual)}"
        parts.append(f"{call}. Without any one of {words.comma.join(named)}{more} it would have {another(deciding)}.")
    elif others:
        parts.append(f"No single token decides this: hiding any one {leaves}.")
    else:
        parts.append("It saw no token that could be hidden.")
    if step.hidden is not None and step.hidden[1] in (None, verdict.position):
        parts.append(f"{capital(kept_from(step, words))}.")
    parts += [
        f"Had {seen(cause)}, {became(cause)}." for cause in verdict.causes if cause.shown and verdict.turned_by(cause)
    ][:NAMED_AT_MOST]
    if verdict.siblings:
        parts.append(siblings_note(trace, verdict))
    if verdict.left:
        tokens = "token was" if len(verdict.left) == 1 else "tokens were"
        share = "" if verdict.share is None else f", with {verdict.share:.0%} of its attention together"
        parts.append(f"{len(verdict.left)} {tokens} not tried{share}.")
    return " ".join(parts)


def plainly(step: Step, position: int, words: Words) -> str:
    """What the states alone tell."""
    before, after = step.kind_before(position), step.kind(position)
    value = step.confidence[position]
    c = "its confidence was not measured" if value is None else f"confidence {number(value)}"
    if after.role == BLANK:
        if before.role == BLANK:
            return f"{words.place(position)} stays {after.title}: {c}."
        return f"{words.at(step.tokens_before, position)} was revoked: {c}."
    if position in step.replaced:
        old, new = words.at(step.tokens_before, position), words.quote(step.tokens[position])
        return f"{old} was replaced by {new}: {c}."
    token = words.at(step.tokens, position)
    if before == after:
        return f"{token} stays {after.title}: {c}."
    moves = {(TENTATIVE, DECIDED): "was promoted", (DECIDED, TENTATIVE): f"was weakened to a {after.title}"}
    return f"{token} {moves.get((before.role, after.role), f'was decided, as {after.title}')}: {c}."


def summary(step: Step, about: About, words: Words) -> str:
    """One sentence about a whole step: what a screen reader hears."""
    parts = [] if step.hidden is None else [kept_from(step, words)]
    told = {name: positions for name, positions in step.events.items() if positions and name not in QUIET}
    if "accepted" in told:
        told["accepted"] = [i for i in told["accepted"] if i not in step.decided]
    edited = told.pop("edited", [])
    for name, positions in told.items():
        title = about.event(name).title
        if positions and all(step.kind_before(i).role == step.kind(i).role == BLANK for i in positions):
            parts.append(f"{title}: {len(positions)} position{'s' if len(positions) > 1 else ''}")
        elif positions:
            tokens = step.read_before if name == "demoted" else step.read
            parts.append(f"{words.names(tokens, positions)} {title}")
    if edited:
        parts.append(f"{', '.join(words.place(i).lower() for i in edited)} edited by hand")
    text = "; ".join(parts) or "nothing changed"
    ending = "" if step.ended_by is None else " The block is complete."
    if step.ended_by not in (None, DONE):
        ending = f" The block is complete. Decoding stopped: {ending_words(step.ended_by)}."
    return f"Step {step.index}. {capital(text)}.{ending}"


def ending_words(reason: str | None) -> str:
    """How a block ended, in words.

    >>> ending_words("period 2"), ending_words("cap"), ending_words("fixed point"), ending_words("its own rule")
    ('it was repeating the same 2 states', 'step limit reached', 'nothing changed any more', 'ended by its own rule')
    """
    if reason and reason.startswith("period "):
        return f"it was repeating the same {reason[7:]} states"
    return {"cap": "step limit reached", "fixed point": "nothing changed any more"}.get(
        reason or "", f"ended by {reason}"
    )


def capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
