"""Why a position is in the state it is in, in one plain sentence.

A sentence names the rule, the numbers it used and the tokens that were or were not visible. It is made from a `Step`
alone, so it can be written while decoding or later from a trace file; the page, the command line and screen readers
all show the same words. This module needs neither torch nor a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from dard.state import CANDIDATE, MASKED, STATE_NAMES, UNMASKED
from dard.trace import Step, Trace

Word = Callable[[int], str]
Path = Literal["x", "s", "mix"]
NAMED_AT_MOST = 3
WORD_AT_MOST = 40
REOPENED = "decoding repeats itself or reached its cap, and what was still moving is decided anew"


def explain(step: Step, position: int, decoder: str, settings: Mapping[str, Any], word: Word) -> str:
    """One sentence about a position at a step, whether it changed or not."""
    if position in step.edited:
        return f"{quote(step.tokens[position], word)} was put here by hand, as {STATE_NAMES[step.states[position]]}."
    if step.fixed[position]:
        return f"{quote(step.tokens[position], word)} is given by the template: always unmasked, never verified."
    start, end = step.block
    looked_at = start <= position < end or (decoder == "saber" and position < end)
    if not looked_at:
        where = "an earlier" if position < start else "a later"
        return f"Position {position} belongs to {where} block; this step did not look at it."
    return RULES.get(decoder, plain)(step, position, settings, word)


def explain_in(trace: Trace, step: Step, position: int) -> str:
    """The same for a step of a trace."""
    if position in step.why:
        return step.why[position]
    try:
        return explain(step, position, trace.decoder, trace.settings, trace.word)
    except (KeyError, TypeError, ValueError):  # a file may name a decoder without its settings
        return f"This trace lacks settings of {trace.decoder[:WORD_AT_MOST]!r} that would explain position {position}."


def summary(step: Step, word: Word) -> str:
    """One sentence about a whole step: what a screen reader hears."""
    parts = []
    for positions, verb in (
        (step.decided, "decided"),
        (step.promoted, "promoted"),
        (step.replaced, "replaced"),
        (step.weakened, "weakened to candidate"),
        ([i for i in step.accepted if i not in step.decided], "accepted as it stood"),
    ):
        if positions:
            parts.append(f"{names(step.tokens, positions, word)} {verb}")
    if step.demoted:
        parts.append(f"{names(step.tokens_before, step.demoted, word)} demoted to masked")
    if step.edited:
        parts.append(f"position {', '.join(map(str, step.edited))} edited by hand")
    text = "; ".join(parts) or "nothing changed"
    ending = {None: "", "all unmasked": " The block is complete."}.get(
        step.ended_by, f" The block is complete, ended by {step.ended_by}."
    )
    return f"Step {step.index}. {text[0].upper()}{text[1:]}.{ending}"


def number(value: float) -> str:
    """Two decimals, and more where two would say the opposite of the truth about a nearly certain thing."""
    return f"{value:.2f}"


def against(value: float, threshold: float, symbol: str) -> str:
    """A comparison with a threshold, written with as many decimals as it takes to be visibly true."""
    digits = 2
    while digits < 6 and (round(value, digits) > round(threshold, digits)) != (value > threshold):
        digits += 1
    relation = "above" if value > threshold else "not above"
    return f"{value:.{digits}f}, {relation} {symbol} = {threshold:.{digits}f}"


def quote(token: int, word: Word) -> str:
    text = word(token)
    text = text.strip() or repr(text)
    return f"'{text if len(text) <= WORD_AT_MOST else text[: WORD_AT_MOST - 1] + '…'}'"


def names(tokens: list[int], positions: list[int], word: Word) -> str:
    """A few tokens by name, the rest as a number."""
    shown = [quote(tokens[i], word) for i in positions[:NAMED_AT_MOST]]
    more = len(positions) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def dard_sentence(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    before, after = step.states_before[i], step.states[i]
    if i in step.accepted and before == MASKED and step.weights[i] is None:
        return filled_sentence(step, i, settings, word)
    if step.mask is None and i not in step.decided:  # the pass after the end was called looks at masks only
        what = f"Position {i} stays masked" if after == MASKED else f"{quote(step.tokens[i], word)} stays as it is"
        which = "surest masked positions" if settings.get("cycle") == "reopen" else "surest masked position"
        return f"{what}: the block had stopped moving, and this pass only fills the {which}."
    if before == MASKED:
        return masked_sentence(step, i, settings, word)
    token = quote(step.tokens_before[i], word)
    c = step.confidence[i]
    if settings["verify"] == "held":
        best = best_guess(step, i, word, held=step.tokens_before[i])
        judged = f"the shadow gives it {{}}{best}"
    else:
        best_token = quote(step.tokens[i], word) if after != MASKED else first_guess(step, i, word)
        judged = f"its best guess{' ' + best_token if best_token else ''} had confidence {{}}"
    seen = context(step, i, settings, word)
    if i in step.accepted:
        kept = against(c, settings["tau_u"], "τ_u")
        return f"{token} was accepted as it stood: {seen}, {judged.format(kept)}, but decoding began to repeat itself."
    if after == MASKED:
        verdict = judged.format(against(c, settings["tau_c"], "τ_c"))
        if c > settings["tau_c"]:
            return f"{token} went back to masked, although {seen}, {verdict}: {REOPENED}."
        return f"{token} went back to masked: {seen}, {verdict}."
    if i in step.replaced:
        threshold, symbol = limits(settings, after)
        new = quote(step.tokens[i], word)
        return f"{token} was replaced by {new}: {seen}, {judged.format(against(c, threshold, symbol))}."
    verdict = judged.format(against(c, settings["tau_u"], "τ_u"))
    if before == CANDIDATE and after == UNMASKED:
        return f"{token} was promoted: {seen}, {verdict}."
    if before == UNMASKED and after == CANDIDATE:
        return f"{token} was weakened to a candidate: {seen}, {verdict}."
    if after == CANDIDATE:
        return f"{token} stays a candidate: {seen}, {verdict}."
    return f"{token} stays unmasked: {seen}, {verdict}."


def filled_sentence(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    """A position that was filled after the end of its block was called."""
    token, c = quote(step.tokens[i], word), step.confidence[i]
    if settings.get("cycle") == "reopen" and c > settings["tau_u"]:
        sure = against(c, settings["tau_u"], "τ_u")
        return f"{token} was committed: {sure}; the block had stopped moving, and what is sure is filled at once."
    rest = "no other was above τ_u" if settings.get("cycle") == "reopen" else "what is left is filled one by one"
    return (
        f"{token} was committed as the surest masked position ({number(c)}): the block had stopped moving, and {rest}."
    )


def limits(settings: Mapping[str, Any], letter: str) -> tuple[float, str]:
    return (settings["tau_u"], "τ_u") if letter == UNMASKED else (settings["tau_c"], "τ_c")


def masked_sentence(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    """A masked position: two predictions, a weight, and where the mix stands between the thresholds."""
    after, c, w = step.states[i], step.confidence[i], step.weights[i]
    x, s = first_guess(step, i, word, "x", True), first_guess(step, i, word, "s", True)
    start, end = step.block
    mask = step.mask
    row = None if mask is None else mask[i - start]
    candidates = [j for j in candidates_of(step.states_before, start, end) if row is None or row[j - start]]
    if not candidates:
        paths = "no candidate was in view"
    elif x and s:
        paths = (
            f"seeing {names(step.tokens_before, candidates, word)} the x path said {x}, "
            f"without candidates the s path said {s}"
        )
    else:
        paths = f"the x path saw {names(step.tokens_before, candidates, word)}"
    mixed = f"{paths}; mixed with w = {number(w)}" if w is not None and candidates else paths
    if i in step.forced:
        return (
            f"{quote(step.tokens[i], word)} entered as a candidate although {against(c, settings['tau_c'], 'τ_c')}: "
            f"{mixed}, and no masked position passed, so the surest one did."
        )
    if after == MASKED:
        best = first_guess(step, i, word, "mix")
        said = f"the best guess {best} has " if best else "the best guess has "
        verdict = f"{mixed}, {said}{against(c, settings['tau_c'], 'τ_c')}"
        if c > settings["tau_c"]:
            return f"Position {i} stays masked, although {verdict}: {REOPENED}."
        return f"Position {i} stays masked: {verdict}."
    token = quote(step.tokens[i], word)
    if i in step.accepted:
        return f"{token} was decided ({number(c)}) and accepted as it stood: decoding began to repeat itself."
    if after == CANDIDATE:
        between = f"{against(c, settings['tau_c'], 'τ_c')} and not above τ_u = {settings['tau_u']:.2f}"
        return f"{token} became a candidate: {mixed}, it has {between}."
    return f"{token} was unmasked at once: {mixed}, it has {against(c, settings['tau_u'], 'τ_u')}."


@lru_cache(maxsize=8)
def candidates_of(states: str, start: int, end: int) -> list[int]:
    """The candidates of a block; a step's sentences all ask for the same."""
    return [j for j in range(start, end) if states[j] == CANDIDATE]


def context(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    """Which candidates the verification of i saw, and which it did not."""
    start, end = step.block
    states, mask = step.states_before, step.mask
    others = [j for j in candidates_of(states, start, end) if j != i]
    row = None if mask is None else mask[end - start + i - start]
    seen = [j for j in others if row is None or row[j - start]]
    hidden = [j for j in others if row is not None and not row[j - start]]
    reason = {
        "confidence": ("more confident", "less confident"),
        "entropy": ("of lower entropy", "of higher entropy"),
        "margin": ("of larger margin", "of smaller margin"),
        "l2r": ("to its left", "to its right"),
        "bidirectional": ("all candidates see each other", ""),
    }[settings["ordering"]]
    why_seen, why_hidden = reason
    if step.states_before[i] == UNMASKED:
        why_hidden = "only candidates" if len(hidden) > 1 else "only a candidate"
    parts = []
    if seen:
        parts.append(f"with {names(step.tokens_before, seen, word)} ({why_seen})")
    if hidden:
        parts.append(f"without {names(step.tokens_before, hidden, word)} ({why_hidden})")
    return "seen " + " and ".join(parts) if parts else "seen with unmasked tokens only"


def best_guess(step: Step, i: int, word: Word, held: int) -> str:
    """The shadow's own favourite, if it is another token than the one held."""
    guesses = step.top["s"].at(i) if "s" in step.top else []
    if not guesses or guesses[0][0] == held:
        return ""
    return f" (its own best guess is {quote(guesses[0][0], word)}, {number(guesses[0][1])})"


def first_guess(step: Step, i: int, word: Word, path: Path = "s", with_number: bool = False) -> str:
    guesses = step.top[path].at(i) if path in step.top else []
    if not guesses:
        return ""
    token, probability = guesses[0]
    return quote(token, word) + (f" {number(probability)}" if with_number else "")


def wino_sentence(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    before, after, c = step.states_before[i], step.states[i], step.confidence[i]
    tau1, tau2 = settings["threshold"], settings["threshold_back"]
    if before == MASKED:
        if after == MASKED:
            most = int(step.facts.get("accept_at_most", 0))
            if c > tau1:
                return f"Position {i} stays masked: {against(c, tau1, 'τ1')}, but a step accepts at most {most}."
            return f"Position {i} stays masked: its best guess has {against(c, tau1, 'τ1')}."
        token = quote(step.tokens[i], word)
        if i in step.forced:
            return f"{token} was accepted although {against(c, tau1, 'τ1')}: no position passed, so the surest one did."
        return f"{token} was accepted: {against(c, tau1, 'τ1')}."
    token = quote(step.tokens_before[i], word)
    best = best_guess(step, i, word, held=step.tokens_before[i])
    seen = "seen with every other decoded token"
    judged = f"the shadow gives it {number(c)}{best}, {'below' if c < tau2 else 'not below'} τ2 = {tau2:.2f}"
    if after == MASKED:
        return f"{token} was remasked: {seen}, {judged}."
    if c < tau2:
        why = (
            "a step that accepts a single token remasks none"
            if step.facts.get("accepted", 0) <= 1
            else "a step remasks fewer tokens than the one before accepted"
        )
        return f"{token} stays unmasked although {judged}: {why}."
    return f"{token} stays unmasked: {seen}, {judged}."


def saber_sentence(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    before, after, c = step.states_before[i], step.states[i], step.confidence[i]
    delta = c - step.confidence_before[i]
    threshold = step.facts.get("threshold", 1.0)
    mean = "the mean commit confidence" if UNMASKED in decided_before(step) else "the bar of a first commit"
    change = f"its confidence changed by {delta:+.2f} to {number(c)}"
    if after == MASKED and before == UNMASKED:
        return f"{quote(step.tokens_before[i], word)} was taken back: {change}, among the lowest changes."
    if after == MASKED:
        if i < step.block[1] and c > threshold:
            return f"Position {i} was committed and taken back in the same step: {change}, among the lowest changes."
        return f"Position {i} stays masked: its best guess has {against(c, threshold, mean)}."
    token = quote(step.tokens[i], word)
    if before == UNMASKED:
        return f"{token} stays unmasked: {change}."
    if c > threshold:
        return f"{token} was committed: {against(c, threshold, mean)}."
    return f"{token} was committed as one of the {settings['n']} surest: {against(c, threshold, mean)}."


def decided_before(step: Step) -> str:
    """The states before the step of the positions the template did not give."""
    return "".join(s for s, given in zip(step.states_before, step.fixed, strict=True) if not given)


def plain(step: Step, i: int, settings: Mapping[str, Any], word: Word) -> str:
    """Decoders without revocation: committed or not yet."""
    before, after, c = step.states_before[i], step.states[i], step.confidence[i]
    if before == UNMASKED:
        return f"{quote(step.tokens[i], word)} is committed; this decoder never takes a token back."
    if after == MASKED:
        best = first_guess(step, i, word, "x", True)
        said = f"its best guess {best}" if best else f"its best guess has {number(c)} and"
        return f"Position {i} stays masked: {said} was not among the surest of this pass."
    token = quote(step.tokens[i], word)
    others = len(step.decided) - 1
    company = "the other token" if others == 1 else f"the {others} other tokens"
    blind = f", without seeing {company} of the same pass" if others else ""
    if settings.get("factor") is None and "threshold" in settings:
        if i in step.forced:
            return f"{token} was committed although {against(c, settings['threshold'], 'τ')}: no position passed."
        return f"{token} was committed: {against(c, settings['threshold'], 'τ')}{blind}."
    if "gamma" in settings:
        total = number(step.facts.get("entropy_sum", 0.0))
        bound = f"entropies that sum to {total} and, without the largest, to at most γ = {settings['gamma']:g}"
        return f"{token} was committed with confidence {number(c)}, in a set with {bound}{blind}."
    count = int(step.facts.get("tokens_this_pass", len(step.decided)))
    rank = "the surest" if count == 1 else f"one of the {count} surest"
    rule = ""
    if settings.get("factor") is not None:
        passed = "no position passed" if i in step.forced else "it passed"
        rule = f" ({passed} the test 1 − c_k < f / (k + 1) with f = {settings['factor']:g})"
    return f"{token} was committed as {rank} of this pass, with confidence {number(c)}{rule}{blind}."


RULES = {"dard": dard_sentence, "wino": wino_sentence, "saber": saber_sentence}
