"""What may stand beside a record of a trace: `dard.trace.annotations` makes it, and a file may bring it along.

Does not know: the records, or how it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from dard.tasks.judge import Judgement
from dard.trace.limits import MAX_LENGTH, MAX_STEPS, STRICT, Position, Positions, Sentence


@dataclass
class Layout:
    """How an answer stands in rows of `width` words, in boxes of `box` × `box`; `given` has an entry per cell."""

    width: Annotated[int, Field(ge=1, le=MAX_LENGTH)]
    box: Annotated[int, Field(ge=0, le=MAX_LENGTH)]
    given: Annotated[list[Sentence | None], Field(min_length=1, max_length=MAX_LENGTH)]

    __pydantic_config__ = STRICT


@dataclass
class Clash:
    """Places of such an answer that cannot all be right: two, with the units they share, or others, with none."""

    places: Positions
    units: Annotated[list[Sentence], Field(max_length=10)]
    say: Sentence

    __pydantic_config__ = STRICT


@dataclass
class Look:
    """What cannot be right in such rows, how they stand, and at most two lines on it."""

    marks: Annotated[list[Clash], Field(max_length=MAX_LENGTH)]
    say: Sentence
    lines: Annotated[list[Sentence], Field(max_length=2)]

    __pydantic_config__ = STRICT


@dataclass
class Answer:
    """The positions of the answer, the steps after which it first stood there and settled, and that in a sentence."""

    positions: Positions
    first: Annotated[int, Field(ge=0, le=MAX_STEPS)]
    settled: Annotated[int, Field(ge=0, le=MAX_STEPS)]
    say: Sentence

    __pydantic_config__ = STRICT


@dataclass
class Annotation:
    """What is told beside a record, made of the trace by `dard.trace.annotations`. A reader may show it; nothing here
    reads it back.

    `say` is a step's sentence, or what the causes of a verdict come to; `plainly`, the same step for a newcomer, in
    words and percentages; `because`, what a verdict adds to its
    position's own sentence; `hidden`, which token was hidden by hand. `right`: whether the answer after a step is,
    where nothing is masked and the prompt has one. `board` and `answer` are of the trace, `look` of the start or
    a step. `why` has
    sentences about positions that did not change.
    """

    say: Sentence = ""
    plainly: Sentence = ""
    because: Sentence = ""
    hidden: Sentence = ""
    right: Judgement = None
    board: Layout | None = None
    look: Look | None = None
    answer: Answer | None = None
    why: Annotated[dict[Position, Sentence], Field(max_length=MAX_LENGTH)] = field(default_factory=dict)

    __pydantic_config__ = STRICT
