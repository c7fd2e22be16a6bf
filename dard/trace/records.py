"""One forward pass and what it changed, as a trace holds it: plain dataclasses, checked where a file is read.

Does not know: files, sentences, or a whole trace; a step is told what it shares with its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dard.core.state import ROLES
from dard.trace.about import STATES, About, Letter, Name, StateKind
from dard.trace.annotation import Annotation
from dard.trace.graph import Graph
from dard.trace.limits import (
    MAX_LENGTH,
    MAX_STEPS,
    MAX_TEXT,
    STRICT,
    Number,
    Place,
    Position,
    Positions,
    Seconds,
    Sentence,
    Share,
    TokenId,
    Values,
)
from dard.trace.masks import BlockMask, Moment, bits, pack_cells


@dataclass
class Top:
    """The most probable tokens at some positions: `ids` and `p` hold `k` entries per position, flattened.

    `p` is in ten-thousandths.
    """

    positions: Positions
    k: Annotated[int, Field(ge=0, le=64)]
    ids: Annotated[list[TokenId], Field(max_length=MAX_LENGTH * 64)]
    p: Annotated[list[Annotated[int, Field(ge=0, le=10_000)]], Field(max_length=MAX_LENGTH * 64)]

    __pydantic_config__ = STRICT

    def at(self, position: int) -> list[tuple[int, float]]:
        """(token, probability) pairs at a position, most probable first; empty where there are none."""
        if position not in self.row_of:
            return []
        start = self.row_of[position] * self.k
        return [
            (token, p / 10_000)
            for token, p in zip(self.ids[start : start + self.k], self.p[start : start + self.k], strict=True)
        ]

    @cached_property
    def row_of(self) -> dict[int, int]:
        return {position: number for number, position in enumerate(self.positions)}


@dataclass
class Cause:
    """What a verdict would have been `without` one token: the probability it gives, the state it leads to, and the
    probability by each path; and the `token` that would have been there, if another. With `shown` it is one that the
    mask hid, and the numbers are those with it in view. A negative position is in the prompt, counted from its end."""

    position: Place
    without: Share
    state: Letter = ""
    shown: bool = False
    paths: Annotated[dict[Name, Share], Field(max_length=10)] = field(default_factory=dict)
    token: TokenId | None = None

    __pydantic_config__ = STRICT


@dataclass
class Verdict:
    """The verdict of a step on a position, and its causes: how sure it was of a `token`, by the path that decided and
    by every path, and what state followed. `left` was not tried, and had this `share` of its attention, if known.
    `siblings`: had it seen another token of the same pass in its place, one by one, and `together`, all of them."""

    step: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    position: Position
    token: TokenId
    path: Name
    actual: Share
    state: Letter
    paths: Annotated[dict[Name, Share], Field(max_length=10)] = field(default_factory=dict)
    causes: Annotated[list[Cause], Field(max_length=MAX_TEXT)] = field(default_factory=list)
    left: Annotated[list[Place], Field(max_length=MAX_TEXT)] = field(default_factory=list)
    share: Share | None = None
    siblings: Annotated[list[Cause], Field(max_length=MAX_LENGTH)] = field(default_factory=list)
    together: Cause | None = None
    annotation: Annotation | None = None

    __pydantic_config__ = STRICT

    def turned_by(self, cause: Cause) -> bool:
        """Whether the state would have been another, or the token."""
        return cause.state != self.state or cause.token is not None

    @property
    def deciding(self) -> list[Cause]:
        """The tokens without which the state would have been another, or the token."""
        return [cause for cause in self.causes if not cause.shown and self.turned_by(cause)]


@dataclass
class Start:
    """The region before the first step. `edited` lists positions that were changed by hand."""

    tokens: Annotated[list[TokenId], Field(min_length=1, max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[A-Z]+$", max_length=MAX_LENGTH)]
    confidence: Annotated[list[Annotated[float, Field(ge=0, le=1)] | None], Field(max_length=MAX_LENGTH)]
    edited: Positions = field(default_factory=list)
    annotation: Annotation | None = None

    __pydantic_config__ = STRICT


class StepContext(NamedTuple):
    """What a step shares with its neighbours and with the whole."""

    tokens: list[int]
    states: str
    confidence: Sequence[float | None]  # None where it was not measured
    fixed: list[bool]
    num_layers: int
    settings: dict[str, Any]
    kinds: Mapping[str, StateKind] = STATES  # by their letters
    drafts: Mapping[int, int] = {}


LOOKS = {role: letter for letter, role in ROLES.items()}  # as which of M, C and U a mask is packed


def drafted(tokens: list[int], drafts: Mapping[int, int]) -> list[int]:
    return [drafts.get(i, token) for i, token in enumerate(tokens)] if drafts else tokens


class Happened:
    """An event of a step as an attribute: the positions it happened to."""

    def __init__(self, event: str) -> None:
        self.event = event

    def __get__(self, step: Step, kind: type[Step]) -> list[int]:
        return step.happened(self.event)


@dataclass
class Step:
    """One forward pass and the state update after it. Lists run over the positions of the generation region.

    | field | meaning |
    | --- | --- |
    | index | 1 for the first step |
    | block | first position of the block and the one after its last |
    | tokens, states | after the step; states is a string of letters that `about.states` declares: M, C, U |
    | drafts | tokens by position where what stands there is noise, or not begun: what would be written there now |
    | columns | numbers per position by the column's name, null where there is none; `confidence` is always there: |
    |   | c_t, 0 where none was computed yet, 1 for fixed positions; null where it was not measured, which only a |
    |   | trace with `about.unmeasured` may say |
    | paths | the 5 most probable tokens by the path that predicted them |
    | events | positions by what happened to them: decided (M → C or U), promoted (C → U by verification, P_t), |
    |   | weakened (U → C), demoted (back to M), replaced (decided before and after, with another token), accepted |
    |   | (taken as it stood at the block's end), edited (by hand, after this step), forced (so that the step makes |
    |   | progress), and the decoder's own |
    | facts | numbers a rule used, such as Saber's threshold |
    | notes | a sentence about a column in this step, by the column's name |
    | why | one sentence per position that changed |
    | graph | how strongly positions depend on one another, for decoders that look |
    | soft | the words that masked positions are made of in the next pass, and their shares; the rest is mask |
    | hidden | a token that this pass was kept from seeing by hand: its position (negative: in the prompt), and the |
    |   | position whose prediction alone did not see it, null: nobody's did |
    | ended_by | how the block ended, if it ended here |
    | goes_on | true where nothing is masked and the block still goes on |
    | forward_seconds, other_seconds | wall time of the model call and of everything else |
    | peak_bytes | the most memory in use until then: of the GPU, or of the process on a CPU; null where unknown |
    | annotation | what is told beside it |

    In a file there is also `mask`, the block's, packed as `dard.trace.masks` says, and a graph has `cells`.
    """

    index: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    block: tuple[Annotated[int, Field(ge=0, lt=MAX_LENGTH)], Annotated[int, Field(ge=1, le=MAX_LENGTH)]]
    tokens: Annotated[list[TokenId], Field(max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[A-Z]*$", max_length=MAX_LENGTH)]
    columns: Annotated[dict[Name, Values], Field(max_length=21)]
    paths: Annotated[dict[Name, Top], Field(max_length=10)] = field(default_factory=dict)
    events: Annotated[dict[Name, Positions], Field(max_length=40)] = field(default_factory=dict)
    facts: Annotated[dict[Annotated[str, Field(max_length=40)], Number], Field(max_length=20)] = field(
        default_factory=dict
    )
    notes: Annotated[dict[Name, Sentence], Field(max_length=20)] = field(default_factory=dict)
    why: Annotated[dict[Position, Sentence], Field(max_length=MAX_LENGTH)] = field(default_factory=dict)
    drafts: Annotated[dict[Position, TokenId], Field(max_length=MAX_LENGTH)] = field(default_factory=dict)
    graph: Graph | None = None
    soft: Top | None = None
    hidden: tuple[Place, Position | None] | None = None
    ended_by: Annotated[str, Field(max_length=40)] | None = None
    goes_on: bool = False
    forward_seconds: Seconds = 0.0
    other_seconds: Seconds = 0.0
    peak_bytes: Annotated[int, Field(ge=0, le=1 << 50)] | None = None
    annotation: Annotation | None = None

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        self._mask: BlockMask | None = None
        self._link: StepContext | None = None

    # What it is part of.

    @property
    def link(self) -> StepContext:
        if self._link is None:
            raise ValueError("this step belongs to no trace yet; put it into one: Trace(…, steps=[…])")
        return self._link

    @property
    def tokens_before(self) -> list[int]:
        return self.link.tokens

    @property
    def states_before(self) -> str:
        """The states the forward pass of this step worked with."""
        return self.link.states

    @property
    def confidence_before(self) -> list[float]:
        return self.link.confidence  # type: ignore[return-value]

    @property
    def kinds(self) -> Mapping[str, StateKind]:
        return self.link.kinds

    def kind(self, position: int) -> StateKind:
        """The state a position is in after the step."""
        return self.link.kinds[self.states[position]]

    def kind_before(self, position: int) -> StateKind:
        return self.link.kinds[self.link.states[position]]

    @property
    def read(self) -> list[int]:
        """The tokens as they are read: in place of noise what would be written there now."""
        return drafted(self.tokens, self.drafts)

    @property
    def read_before(self) -> list[int]:
        return drafted(self.link.tokens, self.link.drafts)

    @property
    def fixed(self) -> list[bool]:
        """True where the template gave the token."""
        return self.link.fixed

    @property
    def num_layers(self) -> int:
        return self.link.num_layers

    @property
    def settings(self) -> dict[str, Any]:
        return self.link.settings

    # Its columns, paths and events by name.

    def column(self, name: str) -> list[float | None]:
        """A number per position, None where there is none."""
        return self.columns.get(name) or [None] * len(self.tokens)

    def happened(self, event: str) -> list[int]:
        """The positions something happened to."""
        return self.events.get(event, [])

    @property
    def confidence(self) -> list[float]:
        """c_t per position; None, in a recording, where it was not measured."""
        return self.columns.get("confidence", [])  # type: ignore[return-value]

    @property
    def weights(self) -> list[float | None]:
        """w_t, for masked positions."""
        return self.column("w")

    @property
    def score_p(self) -> list[float | None]:
        return self.column("P")

    @property
    def score_d(self) -> list[float | None]:
        return self.column("D")

    @property
    def top(self) -> dict[str, Top]:
        return self.paths

    decided = Happened("decided")
    promoted = Happened("promoted")
    weakened = Happened("weakened")
    demoted = Happened("demoted")
    replaced = Happened("replaced")
    accepted = Happened("accepted")
    edited = Happened("edited")
    forced = Happened("forced")

    def hides(self, place: int, position: int) -> bool:
        """Whether a token was hidden by hand from what was predicted at a position."""
        return self.hidden is not None and self.hidden[0] == place and self.hidden[1] in (None, position)

    # Its mask.

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The block's attention mask of this forward pass, [2B, 2B]; None if there is none to show.

        A `plain` one, of a recorded pass without a shadow, is [B, B].
        """
        return None if self._mask is None else bits(self._mask)[: self._mask.size]

    @property
    def plain(self) -> bool:
        """Whether the mask is of the block alone: a pass without a shadow, of a recording."""
        return self._mask is not None and self._mask.size == self.block[1] - self.block[0]

    @property
    def outside_keys(self) -> NDArray[np.bool_] | None:
        """What queries outside the block saw of it, [2B]; None if there is nothing outside, or no shadow."""
        return None if self._mask is None or self._mask.height == self._mask.size else bits(self._mask)[-1]

    def set_mask(self, mask: NDArray[np.bool_], outside: NDArray[np.bool_] | None = None) -> None:
        """Give the step the mask of its pass [2B, 2B], and what the outside saw of the block [2B]; without a shadow,
        the mask of the block [B, B] alone."""
        count = self.block[1] - self.block[0]
        size = count if outside is None and mask.shape == (count, count) else 2 * count
        if mask.shape != (size, size) or (outside is not None and outside.shape != (size,)):
            shapes = f"{mask.shape}" + ("" if outside is None else f" and {outside.shape}")
            raise ValueError(f"a block of {count} has a mask of {(size, size)} and keys of {(size,)}, not {shapes}")
        self._mask = BlockMask.of(mask, outside)

    @property
    def moment(self) -> Moment:
        """The block as its pass found it, which tells the order that a mask is packed in."""
        start, end = self.block
        letters = "".join(LOOKS[self.link.kinds[letter].role] for letter in self.states_before[start:end])
        return letters, self.confidence_before[start:end]

    def visible(self, position: int, path: Literal["x", "s"] = "s") -> list[int]:
        """The positions of the block whose tokens (not their shadows) this query could see directly."""
        start, end = self.block
        mask = self.mask
        if not start <= position < end:
            return []
        if mask is None:
            return [j for j in range(start, end) if not self.hides(j, position)]
        row = position - start + (end - start if path == "s" and not self.plain else 0)
        return [start + int(j) for j in np.flatnonzero(mask[row, : end - start])]

    def as_dict(self, packed: bool = True) -> dict[str, Any]:
        """The step as plain JSON, without what is empty. `packed`: with mask and cells, which only a program reads."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "annotation"}
        body = {name: value for name, value in kept.items() if value not in ({}, None, 0.0)}
        for name in ("graph", "soft"):
            if name in body:
                body[name] = asdict(body[name])
        if self.paths:
            body["paths"] = {name: asdict(top) for name, top in self.paths.items()}
        for name in ("why", "drafts"):
            if name in body:
                body[name] = {str(position): value for position, value in body[name].items()}
        if packed and self._mask is not None:
            body["mask"] = self._mask.pack(self.moment)
        if packed and self.graph and self.graph._cells is not None:
            body["graph"]["cells"] = pack_cells(self.graph._cells)
        return body


class Whole(Protocol):
    """What sentences, checks and numbers need of a whole trace."""

    prompt: str
    text: str
    prompt_tokens: list[int]
    mask_id: int | None
    fixed: list[bool]
    about: About
    settings: Any
    start: Start
    steps: list[Step]
    causes: list[Verdict]
    diagnosis: Any
    layers: Any
    eos_id: int | None
    annotation: Annotation | None

    @property
    def decoder(self) -> str: ...
    def word(self, token: int) -> str: ...
    def token_before(self, step: int, place: int) -> int: ...
