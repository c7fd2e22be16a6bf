"""What is told beside the records of a trace, for whoever shows it: sentences, whether an answer is right, what a board
shows. The same in a file, on a live page and in a notebook, under `annotation` of each record.

Promises: made of the trace alone, in the words of `dard.trace.words`, and by the task that its prompt belongs to.
Does not know: who shows it, or how.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from dard.tasks.base import END, Board
from dard.tasks.judge import Judgement, answers_left, judge, laid_out
from dard.trace.answers import answer_life
from dard.trace.diagnosis import Diagnosis
from dard.trace.diagnosis_panel import panel
from dard.trace.layers import Layers, layers_note
from dard.trace.limits import MAX_SENTENCE
from dard.trace.plain_words import plain_summary
from dard.trace.records import Start, Step, Verdict, Whole
from dard.trace.words import because, causes_note, kept_from, summary, words_of

WORD_ON_BOARD = 48  # characters


def annotated(trace: Whole) -> dict[str, Any]:
    """A whole trace as plain JSON."""
    return {**annotated_head(trace), "steps": [annotated_step(trace, step) for step in trace.steps]}


def annotated_head(trace: Whole, answer: str | None = None) -> dict[str, Any]:
    """Everything but its steps. `answer` is a pattern of one's own for where the answer stands."""
    body = {each.name: getattr(trace, each.name) for each in fields(trace) if each.name not in ("steps", "annotation")}  # type: ignore[arg-type]
    body |= {"about": asdict(trace.about), "start": plain(trace.start)}
    body["token_text"] = {str(token): text for token, text in body["token_text"].items()}
    body["causes"] = [annotated_verdict(trace, verdict) for verdict in trace.causes]
    body["layers"] = [annotated_layers(trace, each) for each in trace.layers]
    if not trace.layers:
        del body["layers"]
    if trace.diagnosis is None:
        del body["diagnosis"]
    else:
        body["diagnosis"] = annotated_diagnosis(trace, trace.diagnosis)
    if laid := board_of(trace):
        body["start"]["annotation"] = {"look": look(trace, laid, trace.start)}
        body["annotation"] = {"board": {"width": laid.width, "box": laid.box, "given": list(laid.given)}}
    if told := annotated_answer(trace, answer):
        body["annotation"] = body.get("annotation", {}) | {"answer": told}
    return body


def annotated_answer(trace: Whole, pattern: str | None = None) -> dict[str, Any] | None:
    """Where the answer stands and how it came about; nothing where it is not found, or still being written."""
    life = answer_life(trace, pattern)
    if life is None:
        return None
    return {
        "positions": life.positions,
        "first": life.first,
        "settled": life.settled,
        "say": sentence(life.say),
    }


def annotated_diagnosis(trace: Whole, diagnosis: Diagnosis) -> dict[str, Any]:
    verdicts = [annotated_verdict(trace, verdict) for verdict in diagnosis.verdicts]
    return diagnosis.as_dict() | {"verdicts": verdicts, "annotation": asdict(panel(trace, diagnosis))}


def plain(record: Start | Verdict) -> dict[str, Any]:
    body = asdict(record)
    del body["annotation"]
    return body


def annotated_step(trace: Whole, step: Step) -> dict[str, Any]:
    laid, words = board_of(trace), words_of(trace)
    told = {
        "say": sentence(summary(step, trace.about, words)),
        "plainly": sentence(plain_summary(trace, step)),
        "hidden": sentence(kept_from(step, words)) if step.hidden else None,
        "right": verdict(trace, step),
        "look": look(trace, laid, step) if laid else None,
    }
    return {**step.as_dict(), "annotation": {name: value for name, value in told.items() if value is not None}}


def annotated_verdict(trace: Whole, verdict: Verdict) -> dict[str, Any]:
    told = {"say": sentence(causes_note(trace, verdict)), "because": sentence(because(trace, verdict))}
    return {**plain(verdict), "annotation": told}


def annotated_layers(trace: Whole, layers: Layers) -> dict[str, Any]:
    return {**layers.as_dict(), "annotation": {"say": sentence(layers_note(trace, layers))}}


def sentence(text: str) -> str:
    """As long as a reader takes it."""
    return text if len(text) <= MAX_SENTENCE else f"{text[: MAX_SENTENCE - 1]}…"


def verdict(trace: Whole, step: Step) -> Judgement:
    """Whether the text after a step is right, wrong or cut off. A trace has only the text of its last step; another's
    is known where the model's tokens are words with a space between them."""
    if set(step.states) & set(trace.about.blank):
        return None
    full = trace.eos_id not in step.tokens
    if step is trace.steps[-1]:
        return judge(trace.prompt, trace.text, full)
    return judge(trace.prompt, written(trace, step), full) if written(trace, trace.steps[-1]) == trace.text else None


def written(trace: Whole, step: Step) -> str:
    tokens: list[int | None] = [*step.tokens, trace.eos_id]
    return " ".join(trace.word(token) for token in step.tokens[: tokens.index(trace.eos_id)])


def board_of(trace: Whole) -> Board | None:
    """How the answer stands in rows."""
    return laid_out(trace.prompt, (trace.word(token) for token in trace.prompt_tokens), len(trace.start.tokens))


def look(trace: Whole, laid: Board, moment: Start | Step) -> dict[str, Any]:
    """What cannot be right on the board, and how it stands."""
    blank, decided = trace.about.blank, trace.about.decided
    words = [
        None if state in blank else END if token == trace.eos_id else short(trace.word(token))
        for token, state in zip(moment.tokens, moment.states, strict=True)
    ]
    ended = set(moment.states) <= set(decided)
    marks, say = laid.look(words, ended)
    standing = [word if state in decided else None for word, state in zip(words, moment.states, strict=True)]
    if not ended and not marks and answers_left(trace.prompt, standing) == 0:
        say = f"no clash, but no solution left, {words[: len(laid.given)].count(None)} open"
    lines = [mark.say for mark in marks[: 2 if len(marks) < 3 else 1]]
    if len(marks) > 2:
        units = list(dict.fromkeys(unit for mark in marks[1:] for unit in mark.units))
        rest = f": {', '.join(units[:3])}{' …' if len(units) > 3 else ''}" if units else ""
        lines.append(f"and {len(marks) - 1} more{rest}")
    told = [{"places": list(mark.places), "units": list(mark.units), "say": sentence(mark.say)} for mark in marks]
    return {"marks": told, "say": sentence(say), "lines": [sentence(line) for line in lines]}


def short(word: str) -> str:
    return word if len(word) <= WORD_ON_BOARD else f"{word[: WORD_ON_BOARD - 1]}…"
