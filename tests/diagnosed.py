"""Runs of every kind of failure: a decoder that plays what it is told to, on models whose rules are a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dard
from dard.decoders import Decision, plain_question, predict_published
from dard.models.scripted import ScriptedModel
from tests.tiny import scripted

WORDS = "a b c bad"
Move = Mapping[int, str | None]  # what a step writes, by position; None takes back


def played(moves: Sequence[Move], accepted: Mapping[int, Sequence[int]] | None = None, ended: str = "") -> dard.Decoder:
    """A decoder that makes these moves, whatever the model says; "?word" writes a candidate. `accepted`: positions by
    the step that takes them as they stand, when the end is called, which is told as `ended`."""

    class Played(dard.Decoder):
        name, states = "played", "MCU"
        about = dard.About(paths=[dard.Path("guess", "guess", "the model's prediction")])

        def ask(self, model: Any, settings: Any, state: Any) -> Any:
            return plain_question(model, state, state.free())

        def decide(self, model: Any, settings: Any, state: Any, question: Any, answer: Any) -> Decision:
            guess = predict_published(model, settings, state, answer.logits)
            decision = Decision(paths={"guess": (state.free(), guess)})
            for position, word in moves[state.step].items():
                if word is None:
                    decision.remask([position], model.mask_id)
                else:
                    decision.tokens[position] = model.ids[word.strip("?")]
                    decision.states[position] = "C" if word.startswith("?") else "U"
                    decision.confidence[position] = 0.5
            decision.events["accepted"] = list((accepted or {}).get(state.step + 1, ()))
            decision.ended_by = ended or None
            return decision

    return Played()


@dataclass
class Case:
    """A run, what is expected of it, and what shall be said."""

    model: ScriptedModel
    decoder: dard.Decoder | str
    length: int
    expected: str | Callable[[str], bool]
    settings: Mapping[str, Any]

    def run(self) -> dard.Session:
        session = dard.Session(self.model, "go", self.decoder, gen_length=self.length, **self.settings)
        session.run()
        return session


def case(
    rule: Callable[[int, Mapping[int, str]], Mapping[str, float]],
    words: str,
    decoder: dard.Decoder | str,
    length: int,
    expected: str | Callable[[str], bool],
    **settings: Any,
) -> Case:
    """Positions of the rule count from the region's beginning; the prompt is one word."""

    def shifted(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
        seen = {place - 1: word for place, word in visible.items() if place >= 1}
        return rule(position - 1, seen) if position >= 1 else {}

    return Case(scripted(["go", *words.split()], shifted), decoder, length, expected, settings)


def fill(words: str, sure: float = 0.9) -> Callable[[int, Mapping[int, str]], dict[str, float]]:
    """The rule of a model that knows its words by heart, the first ones best."""
    known = words.split()
    return lambda i, _: {known[i]: sure - 0.01 * i} if i < len(known) else {"[EOS]": sure - 0.01 * i}


def late(words: str, weak: str) -> Callable[[int, Mapping[int, str]], dict[str, float]]:
    """The same, but the first word needs the second: alone it is a weak one."""
    rule = fill(words)
    return lambda i, seen: {weak: 0.6} if i == 0 and 1 not in seen else rule(i, seen)


def pair(words: str, others: str) -> Callable[[int, Mapping[int, str]], dict[str, float]]:
    """Either of two answers of two words: what the first one is decides, or the second."""
    good, other = words.split(), others.split()

    def rule(i: int, seen: Mapping[int, str]) -> dict[str, float]:
        if i > 1:
            return fill(words)(i, seen)
        partner = seen.get(1 - i)
        if partner is None:
            return {good[i]: 0.5, other[i]: 0.4} if i == 0 else {other[i]: 0.55, good[i]: 0.35}
        return {(good if partner == good[1 - i] else other)[i]: 0.9}

    return rule


def needs(words: str, bad: str, witness: int) -> Callable[[int, Mapping[int, str]], dict[str, float]]:
    """The first word is right unless a later one can be seen; that one is unsure, and so comes last."""
    rule = fill(words)

    def of(i: int, seen: Mapping[int, str]) -> dict[str, float]:
        if i == 0:
            return {bad: 0.9} if witness in seen else rule(0, seen)
        return {words.split()[i]: 0.3} if i == witness else rule(i, seen)

    return of


def kinds() -> dict[str, list[Case]]:
    """Three runs of each kind."""
    wrong = fill("bad b c")
    return {
        "right": [case(fill("a b c"), "a b c", "standard", n, "/^a/") for n in (1, 2, 3)],
        "model": [case(wrong, "a bad b c", name, 3, "a b c") for name in ("standard", "dard", "wino")],
        "cut off": [
            case(fill("a b c d"), "a b c d", "standard", 2, "a b c d", steps=1),
            case(fill("a b c d"), "a b c d", "standard", 3, "a b c d"),
            case(fill("a b c d"), "a b c d bad", played([{0: "bad", 1: "b"}]), 2, "a b c d"),
        ],
        "commit": [
            case(late("a b c", "bad"), "a b c bad", "standard", n, "a b", steps=1) for n in (2, 3)
        ] + [case(fill("a b c"), "a b c bad", played([{2: "c"}, {1: "bad"}, {0: "a"}]), 3, "a b c")],
        "conflict": [
            case(pair("a b", "x y"), "a b x y", "standard", 2, "/a b|x y/", steps=1),
            case(pair("a b c", "x y c"), "a b x y c", "standard", 3, "/a b|x y/", steps=1),
            case(
                needs("a b c", "bad", 2), WORDS, played([{0: "a"}, {0: None, 2: "c"}, {0: "bad", 1: "b"}]), 3, "a b c"
            ),
        ],
        "revocation": [
            case(fill("bad b c"), "a b c bad", played([{0: "a"}, {0: None, back: word}, last]), 3, "a b c")
            for back, word, last in ((1, "b", {0: "bad", 2: "c"}), (2, "c", {0: "bad", 1: "b"}))
        ] + [case(fill("bad b c"), "a b c bad", played([{0: "a", 1: "b"}, {0: None}, {0: "bad", 2: "c"}]), 3, "a b c")],
        "ending": [
            case(fill("a b c"), WORDS, played([{0: "?bad", 1: "b"}, {2: "c"}, {0: "bad"}], {3: [0]}, ended), 3, "a b c")
            for ended in ("cap", "fixed point", "period 2")
        ],
    }  # fmt: skip
