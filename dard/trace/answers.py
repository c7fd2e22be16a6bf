"""Where the answer stands in a text that reasons first, and its life over the steps: when it was first written, when it
settled, and how much of the reasoning before it was still masked then.

Promises: made of the trace alone; the answer is what stands there at the end, and a step is named only if the trace
holds it. A pattern of one's own is looked for at most a quarter of a second.
Does not know: whether the answer is right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dard.core.errors import InputError
from dard.core.patterns import Pattern
from dard.trace.records import Start, Step, Whole

LONGEST = 500  # characters of a pattern
TEXT_AT_MOST = 200  # characters of an answer that are told
_MARK = "####"
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|$)", re.DOTALL)
_TELLING = re.compile(r"\b[Tt]he (?:final )?answer is:?\s+")
_BOX = "\\boxed{"


@dataclass(frozen=True)
class AnswerLife:
    """The answer at the end, the positions that hold it, and its life.

    | field | meaning |
    | --- | --- |
    | mark | how it was found: "####", "\\\\boxed", "code", "answer is", or "pattern" |
    | first | the step after which it stood there for the first time, word for word |
    | settled | the step after which none of its tokens changed any more |
    | before | how many positions before it were to be decided |
    | masked_at_first, masked_when_settled | how many of these were still masked after those steps |
    """

    text: str
    mark: str
    positions: list[int]
    first: int
    settled: int
    before: int
    masked_at_first: int
    masked_when_settled: int

    @property
    def say(self) -> str:
        """In one sentence."""
        told = " ".join(self.text.split())
        told = told if len(told) <= TEXT_AT_MOST else f"{told[: TEXT_AT_MOST - 1]}…"
        masked = f"{self.masked_at_first or 'none'} of the {self.before} positions before it were still masked"
        when = f"first stood there after step {self.first}, when {masked if self.before else 'nothing stood before it'}"
        if self.settled == self.first:
            return f"The answer {told!r} {when}, and never changed again."
        return f"The answer {told!r} {when}; it settled in step {self.settled}."


def answer_life(trace: Whole, pattern: str | None = None) -> AnswerLife | None:
    """The life of the answer in a trace; None where none is found, or positions are still masked there.

    Without a pattern it is what follows the last "####", what the last "\\boxed{}" holds, the last fenced code, or what
    follows "the answer is". A pattern is a regular expression; its first group is the answer, where it has one, and
    its last match counts.

    >>> from dard.trace import Trace
    >>> words = {0: "[MASK]", 1: " so", 2: " 7", 3: " ####", 4: " 12"}
    >>> trace = Trace.from_tokens([[0, 0, 0, 0], [0, 0, 3, 4], [1, 0, 3, 4], [1, 2, 3, 4]], 0, words)
    >>> life = answer_life(trace)
    >>> life.text, life.first, life.settled, life.masked_at_first, life.before
    ('12', 1, 1, 2, 3)
    >>> answer_life(trace, "[0-9]+").positions, answer_life(trace, "so ([0-9]+)").positions
    ([3], [1])
    """
    if pattern is not None and not 0 < len(pattern) <= LONGEST:
        raise InputError(f"answer must be a pattern of 1 to {LONGEST} characters, not of {len(pattern)}")
    if not trace.steps:
        return None
    end = trace.steps[-1]
    parts = written(trace, end)
    text = "".join(parts)
    mark, span = ("pattern", Pattern("answer", pattern).last(text)) if pattern is not None else usual(text)
    if span is None or not text[span[0] : span[1]].strip():
        return None
    positions, at = [], 0
    for position, part in enumerate(parts):
        if at < span[1] and at + len(part) > span[0] and part.strip():
            positions.append(position)
        at += len(part)
    blank = trace.about.blank
    if any(end.states[i] in blank for i in positions) or all(trace.fixed[i] for i in positions):
        return None
    moments: list[Start | Step] = [trace.start, *trace.steps]
    stands = [holds(moment, end, positions, blank) for moment in moments]
    settled = len(stands) - stands[::-1].index(False) if False in stands else 0
    first = stands.index(True)
    reasoning = [i for i in range(positions[0]) if not trace.fixed[i]]

    def masked(step: int) -> int:
        return sum(moments[step].states[i] in blank for i in reasoning)

    return AnswerLife(
        text[span[0] : span[1]].strip(), mark, positions, first, settled, len(reasoning), masked(first), masked(settled)
    )


def holds(moment: Start | Step, end: Step, positions: Sequence[int], blank: str) -> bool:
    return all(moment.states[i] not in blank and moment.tokens[i] == end.tokens[i] for i in positions)


def written(trace: Whole, step: Step) -> list[str]:
    """What stands at each position, up to the first end, with the spaces of its vocabulary, or with one before each
    word where its tokens have none. What is masked leaves a gap."""
    texts = []
    for token, state in zip(step.tokens, step.states, strict=True):
        if token == trace.eos_id and state not in trace.about.blank:
            break
        texts.append("\0" if state in trace.about.blank else trace.word(token))
    if any(text[:1].isspace() and text.strip() for text in texts):
        return texts
    return [text.removeprefix("##") if text.startswith("##") else f" {text}" for text in texts]


def usual(text: str) -> tuple[str, tuple[int, int] | None]:
    """How the usual marks lead to an answer: the last "####", else the last box, the last fenced code, or what
    "the answer is"."""
    if marked := last_marked(text):
        return _MARK, marked
    if (start := text.rfind(_BOX)) >= 0:
        depth, begin = 1, start + len(_BOX)
        for at in range(begin, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if not depth:
                return "\\boxed", (begin, at)
    if fenced := list(_FENCED.finditer(text)):
        return "code", fenced[-1].span(1)
    if told := last_told(text):
        return "answer is", told
    return "", None


def last_marked(text: str) -> tuple[int, int] | None:
    """What follows the last "####" of a line, of the last line where that is something. Read once from its end: a
    pattern would go over what is blank again and again."""
    stop = len(text)
    while (mark := text.rfind(_MARK, 0, stop)) >= 0:
        begin = text.rfind("\n", 0, mark) + 1
        line = text[mark + len(_MARK) : stop].partition("\n")[0]
        answer = line.strip(" \t")
        if answer and answer[0] != "#" and not answer[0].isspace():
            first = mark + len(_MARK) + line.index(answer)
            return first, first + len(answer)
        stop = max(begin - 1, 0)
    return None


def last_told(text: str) -> tuple[int, int] | None:
    """What follows the last "the answer is" that begins no answer itself, to the end of its line, without a full stop.
    Read once from its beginning."""
    found, at = None, 0
    while head := _TELLING.search(text, at):
        at = text.find("\n", head.end())
        at = len(text) if at < 0 else at
        rest = text[head.end() : at].rstrip(" \t").removesuffix(".").rstrip()
        if re.search(r"\w", rest):
            found = (head.end(), head.end() + len(rest))
    return found
