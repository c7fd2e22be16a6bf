"""The record of a decode, and its file format.

A `Trace` is the only thing that passes from the algorithms to whatever shows them, and it describes itself: `about`
says what its columns, paths, thresholds and events are. It needs numpy and pydantic, no torch and no model: a trace
recorded on a GPU replays anywhere. Records are plain dataclasses; checking happens where a file is read, which refuses
everything that is not a whole, consistent trace with one sentence. Nothing in a file is ever executed.

File format, version 2: one JSON object, optionally gzipped, with the fields of `Trace` and, in `steps`, those of
`Step` (`python -c "import dard.trace; print(dard.trace.json_schema())"` prints the JSON Schema). Three things are
packed: `masks` is base64 of zlib of the steps' block masks, each row-major bits (numpy packbits), exclusive-ored
with the previous step's mask when that has the same size; `graphs` is base64 of zlib of the cells of the steps' graphs,
a byte each; probabilities in `paths` are whole ten-thousandths.
Version 1, which knew DARD's columns only, is read too.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from dard.about import EVENTS, About, Letter, Name
from dard.state import InputError

VERSION = 2
TOP_K = 5
MAX_FILE_BYTES = 64 << 20
MAX_LENGTH = 8192  # positions of a region
MAX_STEPS = 20_000
MAX_VERDICTS = 10_000
MAX_MASK_BYTES = 256 << 20
MAX_GRAPH = 512  # positions of a graph whose cells are kept
MAX_GRAPH_BYTES = 64 << 20  # the cells of all graphs of a trace
MAX_TEXT = 200_000
MAX_TOKEN_TEXT = 1000
MAX_SENTENCE = 2000
MAX_NAMED_ERRORS = 1000

TokenId = Annotated[int, Field(ge=0, le=10_000_000)]
Position = Annotated[int, Field(ge=0, lt=MAX_LENGTH)]
Place = Annotated[int, Field(ge=-MAX_TEXT, lt=MAX_LENGTH)]  # a position, or a token of the prompt, counted from its end
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Positions = Annotated[list[Position], Field(max_length=MAX_LENGTH)]
Values = Annotated[list[Number | None], Field(max_length=MAX_LENGTH)]
Sentence = Annotated[str, Field(max_length=MAX_SENTENCE)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=1e7)]
SettingInt = Annotated[int, Field(ge=-(2**53), le=2**53)]  # what every JSON reader can hold

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TraceError(InputError):
    """A trace file that is broken, too large, or of another kind. One sentence."""


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
class Graph:
    """How strongly some positions depend on one another, as a rule went through them in a step.

    `positions` are in the rule's order. A cell above `limit` keeps the row's position waiting if the column's position
    was accepted before it: `blocked` has, by who had to wait, the strongest of those and its cell.
    """

    positions: Positions
    limit: Share
    blocked: Annotated[dict[Position, tuple[Position, Share]], Field(max_length=MAX_LENGTH)]

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        self._cells: bytes | None = None

    @classmethod
    def of(
        cls, positions: list[int], cells: NDArray[np.floating], limit: float, blocked: dict[int, tuple[int, float]]
    ) -> Graph:
        """A graph with its cells [n, n] from 0 to 1; those of a very large one are left out.

        >>> Graph.of([4, 2], np.array([[0, 0.301], [1, 0]]), 0.3, {}).cells
        array([[  0,  77],
               [255,   0]], dtype=uint8)
        """
        rounded = {i: (by, round(value, 6)) for i, (by, value) in blocked.items()}
        graph = cls(positions, round(limit, 6), rounded)
        if len(positions) <= MAX_GRAPH:
            below = math.floor(255 * graph.limit)  # a byte is on the same side of the limit as its number
            bytes_ = np.rint(255 * cells)
            bytes_ = np.where(cells > limit, np.maximum(bytes_, below + 1), np.minimum(bytes_, below))
            graph._cells = bytes_.astype(np.uint8).tobytes()
        return graph

    @property
    def cells(self) -> NDArray[np.uint8] | None:
        """How strongly the row's position depends on the column's, [n, n], 255 for 1; None where it was not kept."""
        size = len(self.positions)
        return None if self._cells is None else np.frombuffer(self._cells, np.uint8).reshape(size, size)


@dataclass
class Cause:
    """What a verdict would have been `without` one token: the probability it gives, the state it leads to, and the
    probability by each path. With `shown` it is one that the mask hid, and the numbers are those with it in view.
    A negative position is in the prompt, counted from its end."""

    position: Place
    without: Share
    state: Letter = ""
    shown: bool = False
    paths: Annotated[dict[Name, Share], Field(max_length=10)] = field(default_factory=dict)

    __pydantic_config__ = STRICT


@dataclass
class Verdict:
    """The verdict of a step on a position, and its causes: how sure it was of a `token`, by the path that decided and
    by every path, and what state followed. `left` was not tried, and had this `share` of its attention, if known."""

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

    __pydantic_config__ = STRICT

    @property
    def deciding(self) -> list[Cause]:
        """The tokens without which the state would have been another."""
        return [cause for cause in self.causes if not cause.shown and cause.state != self.state]


@dataclass
class Start:
    """The region before the first step. `edited` lists positions that were changed by hand."""

    tokens: Annotated[list[TokenId], Field(min_length=1, max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[MCU]+$", max_length=MAX_LENGTH)]
    confidence: Annotated[list[Annotated[float, Field(ge=0, le=1)] | None], Field(max_length=MAX_LENGTH)]
    edited: Positions = field(default_factory=list)

    __pydantic_config__ = STRICT


class Link(NamedTuple):
    """What a step shares with its neighbours and with the whole."""

    tokens: list[int]
    states: str
    confidence: Sequence[float | None]  # None where it was not measured
    fixed: list[bool]
    num_layers: int
    settings: dict[str, Any]


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
    | tokens, states | after the step; states is a string of M, C, U |
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
    """

    index: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    block: tuple[Annotated[int, Field(ge=0, lt=MAX_LENGTH)], Annotated[int, Field(ge=1, le=MAX_LENGTH)]]
    tokens: Annotated[list[TokenId], Field(max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[MCU]*$", max_length=MAX_LENGTH)]
    columns: Annotated[dict[Name, Values], Field(max_length=21)]
    paths: Annotated[dict[Name, Top], Field(max_length=10)] = field(default_factory=dict)
    events: Annotated[dict[Name, Positions], Field(max_length=40)] = field(default_factory=dict)
    facts: Annotated[dict[Annotated[str, Field(max_length=40)], Number], Field(max_length=20)] = field(
        default_factory=dict
    )
    notes: Annotated[dict[Name, Sentence], Field(max_length=20)] = field(default_factory=dict)
    why: Annotated[dict[Position, Sentence], Field(max_length=MAX_LENGTH)] = field(default_factory=dict)
    graph: Graph | None = None
    soft: Top | None = None
    hidden: tuple[Place, Position | None] | None = None
    ended_by: Annotated[str, Field(max_length=40)] | None = None
    goes_on: bool = False
    forward_seconds: Seconds = 0.0
    other_seconds: Seconds = 0.0
    peak_bytes: Annotated[int, Field(ge=0, le=1 << 50)] | None = None

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        self._mask: bytes | None = None
        self._outside: bytes | None = None
        self.plain = False  # whether the mask is of the block alone: a pass without a shadow, of a recording
        self._link: Link | None = None

    # What it is part of.

    @property
    def link(self) -> Link:
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
        if self._mask is None:
            return None
        size = self.mask_size
        return unpack(self._mask, size * size).reshape(size, size)

    @property
    def mask_size(self) -> int:
        return (1 if self.plain else 2) * (self.block[1] - self.block[0])

    @property
    def outside_keys(self) -> NDArray[np.bool_] | None:
        """What queries outside the block saw of it, [2B]; None if there is nothing outside, or no shadow."""
        return None if self._outside is None else unpack(self._outside, self.mask_size)

    def set_mask(self, mask: NDArray[np.bool_], outside: NDArray[np.bool_] | None = None) -> None:
        """Give the step the mask of its pass [2B, 2B], and what the outside saw of the block [2B]; without a shadow,
        the mask of the block [B, B] alone."""
        count = self.block[1] - self.block[0]
        self.plain = outside is None and mask.shape == (count, count)
        size = self.mask_size
        if mask.shape != (size, size) or (outside is not None and outside.shape != (size,)):
            shapes = f"{mask.shape}" + ("" if outside is None else f" and {outside.shape}")
            raise ValueError(f"a block of {count} has a mask of {(size, size)} and keys of {(size,)}, not {shapes}")
        self._mask = pack(mask)
        self._outside = None if outside is None else pack(outside)

    def visible(self, position: int, path: Literal["x", "s"] = "s") -> list[int]:
        """The positions of the block whose tokens (not their shadows) this query could see directly."""
        start, end = self.block
        mask = self.mask
        if not start <= position < end:
            return []
        if mask is None:
            return list(range(start, end))
        row = position - start + (end - start if path == "s" and not self.plain else 0)
        return [start + int(j) for j in np.flatnonzero(mask[row, : end - start])]

    def as_dict(self) -> dict[str, Any]:
        """The step as plain JSON, without what is empty."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        body = {name: value for name, value in kept.items() if value not in ({}, None, 0.0)}
        for name in ("graph", "soft"):
            if name in body:
                body[name] = asdict(body[name])
        if self.paths:
            body["paths"] = {name: asdict(top) for name, top in self.paths.items()}
        if self.why:
            body["why"] = {str(position): text for position, text in self.why.items()}
        return body


@dataclass
class Trace:
    """A whole decode: what was asked, what it is about, every step, and the result."""

    model: Annotated[str, Field(max_length=300)]
    num_layers: Annotated[int, Field(ge=1, le=255)]
    decoder: Annotated[str, Field(max_length=40)]
    settings: Annotated[
        dict[
            Annotated[str, Field(max_length=40)],
            Annotated[str, Field(max_length=100)] | bool | SettingInt | float | None,
        ],
        Field(max_length=60),
    ]
    prompt: Annotated[str, Field(max_length=MAX_TEXT)]
    prompt_tokens: Annotated[list[TokenId], Field(max_length=200_000)]
    mask_id: TokenId
    eos_id: TokenId | None
    fixed: Annotated[list[bool], Field(max_length=MAX_LENGTH)]
    start: Start
    steps: Annotated[list[Step], Field(max_length=MAX_STEPS)]
    token_text: Annotated[dict[TokenId, Annotated[str, Field(max_length=MAX_TOKEN_TEXT)]], Field(max_length=1_000_000)]
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    about: About = field(default_factory=About)
    block_size: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None  # of a model that sees no later block
    causes: Annotated[list[Verdict], Field(max_length=MAX_VERDICTS)] = field(default_factory=list)
    format: Literal["dard-trace"] = "dard-trace"
    version: Literal[2] = 2

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        previous: Start | Step = self.start
        for step in self.steps:
            step._link = Link(
                previous.tokens, previous.states, previous.confidence, self.fixed, self.num_layers, self.settings
            )
            previous = step

    @property
    def num_steps(self) -> int:
        """Forward passes made."""
        return len(self.steps)

    @property
    def tokens(self) -> list[int]:
        """The region's token ids after the last step."""
        return self.steps[-1].tokens if self.steps else self.start.tokens

    @property
    def states(self) -> str:
        return self.steps[-1].states if self.steps else self.start.states

    @property
    def finished(self) -> bool:
        return set(self.states) == {"U"} and not (self.steps and self.steps[-1].goes_on)

    @property
    def ended_by(self) -> str | None:
        """How the last block ended: "all unmasked" or why else; None while unfinished."""
        return self.steps[-1].ended_by if self.steps and self.finished else None

    def word(self, token: int) -> str:
        return self.token_text.get(token, f"<{token}>")

    def token_before(self, step: int, place: int) -> int:
        """The token that the pass of a step found at a position, or in the prompt where that is negative."""
        return self.prompt_tokens[place] if place < 0 else self.steps[step - 1].tokens_before[place]

    def verdict(self, step: int, position: int) -> Verdict | None:
        """The causes of a step's verdict on a position, if they were asked for."""
        return next((each for each in self.causes if (each.step, each.position) == (step, position)), None)

    def why(self, step: Step, position: int, causes: bool = True) -> str:
        """One sentence about a position at a step, whether it changed or not, and its cause if that is known.

        Those that changed have it in the trace. About the others the decoder is asked, if it is known here.
        """
        from dard.words import because, sentence

        said = step.why.get(position) or sentence(self, step, position)
        verdict = self.verdict(step.index, position) if causes else None
        cause = because(self, verdict) if verdict else ""
        return f"{said[:-1]}; {cause}." if cause else said

    def save(self, path: str | Path) -> None:
        """Write the trace; gzipped if the name ends in .gz."""
        data = self.to_bytes(compress=str(path).endswith(".gz"))
        Path(path).write_bytes(data)

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain JSON, as it stands in a file."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body |= {"start": asdict(self.start), "about": asdict(self.about)}
        body["token_text"] = {str(token): text for token, text in self.token_text.items()}
        body["steps"] = [step.as_dict() for step in self.steps]
        body["causes"] = [asdict(verdict) for verdict in self.causes]
        body["masks"] = pack_masks(self.steps)
        if any(step.graph for step in self.steps):
            body["graphs"] = pack_graphs(self.steps)
        return body

    def to_bytes(self, compress: bool = True) -> bytes:
        try:
            text = json.dumps(self.as_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except ValueError:
            raise TraceError(f"trace cannot be written: {not_a_number(self)} is not a number") from None
        return gzip.compress(text.encode(), compresslevel=9, mtime=0) if compress else text.encode()

    @classmethod
    def from_tokens(
        cls,
        frames: Sequence[Sequence[int]],
        mask_id: int,
        words: Any = None,
        confidence: Sequence[Sequence[float | None]] | None = None,
        **more: Any,
    ) -> Trace:
        """A trace of states that anything recorded, the first being the one before the first step.

        A frame holds the ids of the whole sequence; the region begins at the first mask of the first frame. `words`
        says how tokens are written: a tokenizer, a function, or texts by id. `confidence` holds a number or None for
        every place of every frame but the first; what is not given is marked as not measured. `more` can tell the name
        of the method, the model, settings, eos_id and num_layers.

        >>> trace = Trace.from_tokens([[7, 0, 0], [7, 8, 0], [7, 0, 9], [7, 8, 9]], 0, {7: "a", 8: "b", 9: "c"})
        >>> trace.prompt, trace.text, [step.states for step in trace.steps], trace.steps[1].demoted
        ('a', 'b c', ['UM', 'MU', 'UU'], [0])
        """
        from dard.frames import Frame, checked, trace_of

        return trace_of([Frame(*each) for each in checked(frames, confidence)], mask_id, words, **more)

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read and check a trace file. Raises `TraceError` for anything that is not a whole, consistent trace."""
        return cls.from_bytes(read_bytes(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Trace:
        """The trace in a file's bytes, gzipped or plain."""
        if len(data) > MAX_FILE_BYTES:
            raise TraceError(f"trace file is larger than {MAX_FILE_BYTES >> 20} MB")
        if data[:2] == b"\x1f\x8b":
            data = bounded_gunzip(data)
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise TraceError("trace file is not JSON") from None
        if not isinstance(body, dict) or body.get("format") != "dard-trace":
            raise TraceError('trace file is not a DARD trace: it has no "format": "dard-trace"')
        version = body.get("version")
        if type(version) is not int or version not in (1, VERSION):
            raise TraceError(f"trace file has version {json.dumps(version)[:20]}; this program reads 1 and {VERSION}")
        masks, graphs = body.pop("masks", ""), body.pop("graphs", None)
        refuse_crowds(body)
        if version == 1:
            from dard.version1 import upgrade

            body = upgrade(body)
        try:
            trace = file_reader().validate_json(json.dumps(body))
        except ValidationError as error:
            if error.error_count() > MAX_NAMED_ERRORS:  # listing them would take longer than reading the file
                raise TraceError(f"trace file is broken in {error.error_count()} places") from None
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])[:100]
            raise TraceError(f"trace file is broken at {where}: {first['msg'][:200]}") from None
        check(trace)
        unpack_masks(trace.steps, masks)
        if graphs is not None:
            unpack_graphs(trace.steps, graphs)
        return trace

    def _repr_html_(self) -> str:
        """In a notebook a trace shows itself as the viewer."""
        from visual.export import notebook_html

        return notebook_html(self)


@cache
def file_reader() -> TypeAdapter[Trace]:
    """Types, ranges and sizes, as the annotations of the records say."""
    return TypeAdapter(Trace)


def check(trace: Trace) -> None:
    """Consistency between the parts of a file; the reader has seen to types and ranges."""
    length = len(trace.start.tokens)
    ranges = {"confidence": (0.0, 1.0)} | {c.name: c.range or (0.0, math.inf) for c in trace.about.columns}
    declared = {
        "columns": ranges.keys(),
        "paths": {path.name for path in trace.about.paths},
        "events": {*EVENTS, *trace.about.events},
        "notes": ranges.keys(),
    }
    rows: list[tuple[str, Any]] = [
        ("start.states", trace.start.states),
        ("start.confidence", trace.start.confidence),
        ("fixed", trace.fixed),
    ]
    lists: list[tuple[str, Any]] = [("start.edited", trace.start.edited)]
    for number, step in enumerate(trace.steps, 1):
        name = f"steps.{number}"
        if step.index != number:
            raise TraceError(f"trace file is broken at {name}: index is {step.index}, not {number}")
        if step.hidden and not -len(trace.prompt_tokens) <= step.hidden[0] < length > (step.hidden[1] or 0):
            raise TraceError(f"trace file is broken at {name}.hidden: a position is outside")
        start, end = step.block
        if not start < end <= length:
            raise TraceError(f"trace file is broken at {name}: block {start}–{end} is outside the region of {length}")
        for part, known in declared.items():
            if unknown := sorted(getattr(step, part).keys() - known):
                raise TraceError(f"trace file is broken at {name}.{part}: {unknown[0]!r} is not declared in about")
        if "confidence" not in step.columns or (None in step.confidence and not trace.about.unmeasured):
            raise TraceError(f"trace file is broken at {name}.columns.confidence: a number is missing")
        for each, values in step.columns.items():
            low, high = ranges[each]
            if any(value is not None and not low <= value <= high for value in values):
                raise TraceError(
                    f"trace file is broken at {name}.columns.{each}: a number is outside {low:g} to {high:g}"
                )
        rows += [(f"{name}.tokens", step.tokens), (f"{name}.states", step.states)]
        rows += [(f"{name}.columns.{each}", values) for each, values in step.columns.items()]
        lists += [(f"{name}.{each}", positions) for each, positions in step.events.items()]
        lists += [(f"{name}.why", list(step.why))]
        tables = {f"paths.{path}": top for path, top in step.paths.items()} | ({"soft": step.soft} if step.soft else {})
        for part, top in tables.items():
            lists.append((f"{name}.{part}", top.positions))
            if not len(top.ids) == len(top.p) == top.k * len(top.positions):
                raise TraceError(f"trace file is broken at {name}.{part}: the lists differ in length")
        if step.soft and not trace.about.soft:
            raise TraceError(f"trace file is broken at {name}.soft: about declares no mixes")
        if step.graph:
            if trace.about.graph is None:
                raise TraceError(f"trace file is broken at {name}.graph: about declares no graph")
            lists.append((f"{name}.graph.positions", step.graph.positions))
            known_here = set(step.graph.positions)
            if not {*step.graph.blocked, *(by for by, _ in step.graph.blocked.values())} <= known_here:
                raise TraceError(f"trace file is broken at {name}.graph.blocked: a position is none of the graph")
    for number, verdict in enumerate(trace.causes, 1):
        if verdict.step > len(trace.steps):
            raise TraceError(f"trace file is broken at causes.{number}: there is no step {verdict.step}")
        before = [cause.position for cause in verdict.causes] + verdict.left
        if min(before, default=0) < -len(trace.prompt_tokens):
            raise TraceError(f"trace file is broken at causes.{number}: a position lies before the prompt")
        lists.append((f"causes.{number}", [verdict.position]))
        for shown in (False, True):
            lists.append((f"causes.{number}", [each.position for each in verdict.causes if each.shown == shown]))
        lists.append((f"causes.{number}.left", verdict.left))
    for name, positions in lists:
        if any(position >= length for position in positions) or len(set(positions)) != len(positions):
            raise TraceError(f"trace file is broken at {name}: a position is outside or twice")
    for name, row in rows:
        if len(row) != length:
            raise TraceError(f"trace file is broken at {name}: {len(row)} entries for a region of {length}")
    if None in trace.start.confidence and not trace.about.unmeasured:
        raise TraceError("trace file is broken at start.confidence: a number is missing")
    moments: list[Start | Step] = [trace.start, *trace.steps]
    for moment in moments:
        for token, state in zip(moment.tokens, moment.states, strict=True):
            if (token == trace.mask_id) != (state == "M"):
                raise TraceError("trace file is broken: a masked position holds a token, or a decided one holds none")


def not_a_number(trace: Trace) -> str:
    """Where the first infinite or undefined number of a trace stands."""
    for step in trace.steps:
        for name, value in step.facts.items():
            if not math.isfinite(value):
                return f"steps.{step.index}.facts.{name}"
        for name, values in step.columns.items():
            if any(value is not None and not math.isfinite(value) for value in values):
                return f"steps.{step.index}.columns.{name}"
    return "a value"


def refuse_crowds(body: dict[str, Any]) -> None:
    """Refuse records with more entries than any has, before pydantic reports each of them with all the others."""
    steps = body.get("steps")
    records: list[tuple[str, Any]] = [("the top", body), ("start", body.get("start")), ("about", body.get("about"))]
    for number, step in enumerate(steps if isinstance(steps, list) else []):
        records.append((f"steps.{number}", step))
        for part in ("top", "paths", "columns", "events", "facts", "notes"):
            tables = step.get(part) if isinstance(step, dict) else None
            records.append((f"steps.{number}.{part}", tables))
            if part in ("top", "paths") and isinstance(tables, dict):
                records += [(f"steps.{number}.{part}", table) for table in list(tables.values())[:10]]
    verdicts = body.get("causes")
    for number, verdict in enumerate(verdicts if isinstance(verdicts, list) else []):
        found = verdict.get("causes") if isinstance(verdict, dict) else None
        records += [(f"causes.{number}", each) for each in [verdict, *(found if isinstance(found, list) else [])]]
    for where, record in records:
        if isinstance(record, dict) and len(record) > 60:
            raise TraceError(f"trace file is broken at {where}: it has fields that are not known")


def json_schema() -> str:
    """The JSON Schema of a trace file."""
    schema = file_reader().json_schema()
    for part, what in {"masks": "masks", "graphs": "graphs' cells"}.items():
        schema["properties"][part] = {"type": "string", "description": f"base64 of zlib of the steps' {what}"}
    return json.dumps(schema, indent=2)


@lru_cache(maxsize=8)
def unpack(bits: bytes, count: int) -> NDArray[np.bool_]:
    """Bits as an array that nobody may write to: a step's many sentences ask for the same mask."""
    array = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=count).astype(bool)
    array.flags.writeable = False
    return array


def pack(mask: NDArray[np.bool_]) -> bytes:
    return np.packbits(mask).tobytes()


def pack_masks(steps: list[Step]) -> str:
    """All masks of a trace as one compressed string. Each step is a flag byte (bit 0: mask, bit 1: outside, bit 2: the
    mask is of the block alone), then the mask exclusive-ored with the previous one if that has the same size, then
    what the outside sees."""
    parts: list[bytes] = []
    previous = b""
    for step in steps:
        flags = (step._mask is not None) + 2 * (step._outside is not None) + 4 * step.plain
        parts.append(bytes([flags]))
        if step._mask is not None:
            parts.append(exclusive_or(step._mask, previous))
            previous = step._mask
        if step._outside is not None:
            parts.append(step._outside)
    return base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()


def exclusive_or(bits: bytes, other: bytes) -> bytes:
    if len(bits) != len(other):
        return bits
    return (np.frombuffer(bits, np.uint8) ^ np.frombuffer(other, np.uint8)).tobytes()


def unpack_masks(steps: list[Step], packed: Any) -> None:
    """Give each step its mask back, never unpacking more than the steps' sizes allow."""
    sizes = [step.mask_size for step in steps]
    most = sum(1 + -(-size * size // 8) + -(-size // 8) for size in sizes)
    data = inflated(packed, "masks", min(most, MAX_MASK_BYTES))
    cursor, previous = 0, b""
    for step in steps:
        flags = data[cursor] if cursor < len(data) else 255
        cursor += 1
        step.plain = flags == 5
        size = step.mask_size
        mask_bytes, outside_bytes = -(-size * size // 8), -(-size // 8)
        if flags not in (0, 1, 2, 3, 5) or cursor + mask_bytes * (flags & 1) + outside_bytes * (flags >> 1 & 1) > len(
            data
        ):
            raise TraceError("trace file is broken at masks: it ends before the last step")
        if flags & 1:
            previous = exclusive_or(data[cursor : cursor + mask_bytes], previous)
            step._mask = previous
            cursor += mask_bytes
        if flags & 2:
            step._outside = data[cursor : cursor + outside_bytes]
            cursor += outside_bytes
    if cursor != len(data):
        raise TraceError("trace file is broken at masks: it goes on after the last step")


def pack_graphs(steps: list[Step]) -> str:
    """The cells of all graphs as one compressed string, each after a byte: 1, or 0 where there are none. Those that a
    reader would have no room for are left out."""
    parts: list[bytes] = []
    room = MAX_GRAPH_BYTES
    for step in steps:
        cells = step.graph._cells if step.graph else None
        kept = cells if cells is not None and len(cells) <= room else None
        room -= len(kept or b"")
        parts.append(b"\0" if kept is None else b"\1" + kept)
    return base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()


def unpack_graphs(steps: list[Step], packed: Any) -> None:
    """Give each graph its cells back, never unpacking more than the graphs' sizes allow."""
    sizes = [len(step.graph.positions) if step.graph else 0 for step in steps]
    most = sum(size * size for size in sizes if size <= MAX_GRAPH)
    data = inflated(packed, "graphs", len(steps) + min(most, MAX_GRAPH_BYTES))
    cursor = 0
    for step, size in zip(steps, sizes, strict=True):
        kept = data[cursor : cursor + 1]
        cursor += 1
        if kept == b"\1" and step.graph and size <= MAX_GRAPH and cursor + size * size <= len(data):
            step.graph._cells = data[cursor : cursor + size * size]
            cursor += size * size
        elif kept != b"\0":
            raise TraceError("trace file is broken at graphs: not the packed graphs of these steps")
    if cursor != len(data):
        raise TraceError("trace file is broken at graphs: it goes on after the last step")


def inflated(packed: Any, part: str, most: int) -> bytes:
    """What a packed part of a file holds, at most so many bytes."""
    try:
        if not isinstance(packed, str):
            raise ValueError
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), most + 1)
        if not inflate.eof or inflate.unused_data:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error):
        raise TraceError(f"trace file is broken at {part}: not the packed {part} of these steps") from None
    return data


def read_bytes(path: str | Path) -> bytes:
    """A file of bounded size."""
    try:
        if Path(path).stat().st_size > MAX_FILE_BYTES:
            raise TraceError(f"trace file is larger than {MAX_FILE_BYTES >> 20} MB")
        return Path(path).read_bytes()
    except OSError as error:
        raise TraceError(f"trace file cannot be read: {error.strerror}") from None


def bounded_gunzip(data: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        plain = inflate.decompress(data, MAX_FILE_BYTES)
    except zlib.error:
        raise TraceError("trace file is not valid gzip") from None
    if not inflate.eof:
        raise TraceError(f"trace file is cut short, or unpacks to more than {MAX_FILE_BYTES >> 20} MB")
    if inflate.unused_data:
        raise TraceError("trace file goes on after its gzip data")
    return plain
