"""What the layers of a model would have said at a position in a step, as a trace holds it, and in a sentence.

Does not know: models, or how any of it was measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Annotated, Any

from pydantic import Field

from dard.trace.limits import MAX_STEPS, STRICT, Position, Share, TokenId
from dard.trace.records import Annotation, Whole
from dard.trace.words import NAMED_AT_MOST, words_of

MAX_LAYERS = 255
Shares = Annotated[list[Share], Field(min_length=1, max_length=MAX_LAYERS)]


@dataclass
class LayerRow:
    """One query, layer by layer from the first to the last: the likeliest `tokens`, how likely they were, and how
    likely the token was that the whole is about. `shadow`: the query in the shadow of a block, which does not see the
    token that stands there."""

    tokens: Annotated[list[TokenId], Field(min_length=1, max_length=MAX_LAYERS)]
    confidence: Shares
    held: Shares
    shadow: bool = False

    __pydantic_config__ = STRICT


@dataclass
class Layers:
    """What each layer would have said of a `position` in the pass of a `step`, were it the last one: its hidden state
    through the final norm and the head. `token` is what stood there after the step, or what the step took back, or the
    best guess where nothing did."""

    step: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    position: Position
    token: TokenId
    rows: Annotated[list[LayerRow], Field(min_length=1, max_length=4)]
    annotation: Annotation | None = None

    __pydantic_config__ = STRICT

    def as_dict(self) -> dict[str, Any]:
        """The record as plain JSON."""
        body = asdict(self)
        del body["annotation"]
        return body

    @property
    def used(self) -> set[int]:
        """The tokens it speaks of."""
        return {self.token, *(token for row in self.rows for token in row.tokens)}


def layers_note(trace: Whole, layers: Layers) -> str:
    """From which layer on each query says what it ended with, and what the layers before said."""
    if len({tuple(row.tokens) for row in layers.rows}) == 1:
        return sentence_of(trace, layers.rows[-1], "")
    whose = {False: "The token's own query: ", True: "The shadow's query: "}
    return " ".join(sentence_of(trace, row, whose[row.shadow]) for row in layers.rows)


def sentence_of(trace: Whole, row: LayerRow, whose: str) -> str:
    words = words_of(trace)
    spans = [(words.quote(token), len(list(group))) for token, group in groupby(row.tokens)]
    said, count = spans.pop()
    first = len(row.tokens) - count
    sure = [f"{row.confidence[at]:.2f}" for at in dict.fromkeys((first, -1 if count > 1 else first))]
    how = f"{said} ({', in the last '.join(sure)})"
    if not spans:
        note = f"every layer says {how}"
    elif count == 1:
        note = f"layer {first + 1} alone says {how}"
    else:
        note = f"from layer {first + 1} on it says {how}"
    before = list(dict.fromkeys(token for token, _ in reversed(spans)))
    if before:
        rest = len(before) - NAMED_AT_MOST
        others = [f"{rest} other{'s' if rest > 1 else ''}"] if rest > 0 else []
        note += f"; before that {', then '.join([*others, *reversed(before[:NAMED_AT_MOST])])}"
    return f"{whose or note[0].upper()}{note if whose else note[1:]}."
