"""Where an answer stands, and its life: against a literal reference that reads the states one after another."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dard
from dard.trace import Trace
from dard.trace.answers import last_marked, last_told, usual
from tests.lengthy import lengthy

WORDS = {0: "[MASK]", 1: " so", 2: " 7", 3: " ####", 4: " 12", 5: "\n", 6: "[EOS]"}


def literal(frames: list[list[int]]) -> tuple[str, int, int, int, int] | None:
    """What follows the last " ####" of a line, of the last line that has any; steps by comparing states."""
    end = frames[-1]
    words = end[: end.index(6)] if 6 in end else end
    span, begin = None, None
    for place, token in enumerate([*words, 5]):
        if token == 3:
            begin = place + 1
        elif token == 5:
            if begin is not None and begin < place:
                span = (begin, place)
            begin = None
    if span is None:
        return None
    begin, stop = span
    same = [frame[begin:stop] == end[begin:stop] for frame in frames]
    first = next(step for step, yes in enumerate(same) if yes)
    settled = next(step for step in range(len(same)) if all(same[step:]))
    text = "".join(WORDS[token] for token in end[begin:stop]).strip()
    return text, first, settled, frames[first][:begin].count(0), begin


@given(st.data())
def test_the_life_of_an_answer_is_what_a_literal_reading_finds(data: st.DataObject) -> None:
    length = data.draw(st.integers(2, 7))
    row = st.lists(st.sampled_from([0, 0, 1, 2, 3, 4, 5]), min_size=length, max_size=length)
    end = st.lists(st.sampled_from([1, 2, 3, 3, 4, 4, 5, 6]), min_size=length, max_size=length)
    frames = [[0] * length, *data.draw(st.lists(row, max_size=6)), data.draw(end)]
    life = dard.answer_life(Trace.from_tokens(frames, 0, WORDS, eos_id=6))
    wanted = literal(frames)
    found = life and (life.text, life.first, life.settled, life.masked_at_first, life.before)
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "mark", "answer"),
    [
        ("a #### 4\nb #### 1,162\n", "####", "1,162"),
        (r"so \boxed{1} or \boxed{\frac{1}{2}}.", "\\boxed", r"\frac{1}{2}"),
        ("Here:\n```python\nx = 1\n```\nDone.", "code", "x = 1"),
        ("He has 3 . The answer is 2 6 .", "answer is", "2 6"),
        ("no mark at all", None, None),
        ("#### ", None, None),
    ],
)
def test_the_usual_marks_are_found(text: str, mark: str | None, answer: str | None) -> None:
    tokens = re.findall(r"\n|.[^ \n]*", " " + text)
    words = dict(enumerate(tokens, 1))
    life = dard.answer_life(Trace.from_tokens([[0] * len(tokens), list(words)], 0, words))
    assert (life and life.mark, life and life.text) == (mark, answer)


LITERALLY = {
    "####": r"####[ \t]*([^\s#](?:(?!####)[^\n])*?)[ \t]*(?:\n|$)",
    "answer is": r"\b[Tt]he (?:final )?answer is:?\s+([^\n]*?\w[^\n]*?)\s*\.?[ \t]*(?:\n|$)",
}
PARTS = ["####", "#", " ", "  ", "\t", "\n", "a", "1", ".", ":", "\r", "the answer is", "The final answer is ", "\0"]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_a_mark_leads_to_what_its_pattern_says(text: str) -> None:
    """Which would take the cube of what is blank."""
    for (mark, pattern), last in zip(LITERALLY.items(), (last_marked, last_told), strict=True):
        found = [match.span(1) for match in re.finditer(pattern, text)]
        assert last(text) == (found[-1] if found else None), mark


@pytest.mark.parametrize("text", ["the answer is", "the answer is a", "#### a", "####", "```", "####\n", "\\boxed{"])
def test_a_text_without_an_end_is_read_at_once(text: str) -> None:
    for long in (text + " " * 1_000_000 + "x", text * 100_000, f"{text} \n" * 100_000):
        began = time.perf_counter()
        usual(long)
        assert time.perf_counter() - began < 5


def test_an_answer_that_is_still_written_is_none() -> None:
    assert dard.answer_life(Trace.from_tokens([[0] * 4, [1, 3, 0, 0], [1, 3, 0, 4]], 0, WORDS)) is None
    assert dard.answer_life(lengthy(96, 40)) is not None


def test_a_pattern_that_cannot_be_used_is_refused_in_a_sentence() -> None:
    trace = Trace.from_tokens([[0] * 40, [2] * 40], 0, WORDS)
    with pytest.raises(dard.InputError, match=r"answer = /\(/ is no pattern"):
        dard.answer_life(trace, "(")
    with pytest.raises(dard.InputError, match=r"answer = /.*/ takes longer than 0.25 s"):
        dard.answer_life(trace, r"( |7| 7|7 )*( 7)*x$|(( |7)+)+x")
    with pytest.raises(dard.InputError, match="answer must be a pattern of 1 to 500 characters"):
        dard.answer_life(trace, "x" * 501)


def test_a_file_tells_where_its_answer_stands_and_refuses_one_that_it_has_not() -> None:
    body = lengthy(96, 40).as_dict()
    assert body["annotation"]["answer"]["say"].startswith("The answer '1162' first stood there after step")
    body["annotation"]["answer"]["positions"] = [96]
    with pytest.raises(dard.TraceError, match=r"annotation\.answer"):
        Trace.from_bytes(bytes(__import__("json").dumps(body), "utf-8"))
