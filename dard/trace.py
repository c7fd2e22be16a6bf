"""The record of a decode, and its file format.

A `Trace` is the only thing that passes from the algorithms to whatever shows them. It needs numpy and pydantic, no
torch and no model: a trace recorded on a GPU replays anywhere. Loading checks types, shapes, ranges and sizes, and
refuses everything else with one sentence; nothing in a file is ever executed.

File format, version 1: one JSON object, optionally gzipped, with the fields of `Trace` and, in `steps`, those of
`Step` (`python -c "import dard.trace; print(dard.trace.json_schema())"` prints the JSON Schema). Two things are
packed: `masks` is base64 of zlib of the steps' block masks, each row-major bits (numpy packbits), exclusive-ored
with the previous step's mask when that has the same size; probabilities in `top` are whole ten-thousandths, and its
`mix` is left out where it is the x path (every weight 1).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from dard.state import InputError

VERSION = 1
TOP_K = 5
MAX_FILE_BYTES = 64 << 20
MAX_LENGTH = 8192  # positions of a region
MAX_STEPS = 20_000
MAX_MASK_BYTES = 256 << 20
MAX_TEXT = 200_000
MAX_TOKEN_TEXT = 1000
MAX_SENTENCE = 2000
MAX_NAMED_ERRORS = 1000

TokenId = Annotated[int, Field(ge=0, le=10_000_000)]
Position = Annotated[int, Field(ge=0, lt=MAX_LENGTH)]
Probability = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=1e9)]
Positions = Annotated[list[Position], Field(max_length=MAX_LENGTH)]
Row = Annotated[list[Any], Field(max_length=MAX_LENGTH)]
Seconds = Annotated[float, Field(ge=0, le=1e7)]
SettingInt = Annotated[int, Field(ge=-(2**53), le=2**53)]  # what every JSON reader can hold


class TraceError(InputError):
    """A trace file that is broken, too large, or of another kind. One sentence."""


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Top(Record):
    """The most probable tokens at some positions: `ids` and `p` hold `k` entries per position, flattened.

    `p` is in ten-thousandths.
    """

    positions: Positions
    k: Annotated[int, Field(ge=0, le=64)]
    ids: Annotated[list[TokenId], Field(max_length=MAX_LENGTH * 64)]
    p: Annotated[list[Annotated[int, Field(ge=0, le=10_000)]], Field(max_length=MAX_LENGTH * 64)]

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


class Step(Record):
    """One forward pass and the state update after it. Lists run over the positions of the generation region.

    | field | meaning |
    | --- | --- |
    | index | 1 for the first step |
    | block | first position of the block and the one after its last |
    | tokens, states | after the step; states is a string of M, C, U |
    | confidence | c_t, 0 where none was computed yet, 1 for fixed positions |
    | weights, score_p, score_d | w_t, P_t, D_t; null where there is none (they exist for masked positions) |
    | decided | M → C or U |
    | promoted | C → U by verification (P_t) |
    | weakened | U → C |
    | demoted | back to M (D_t, and U → M) |
    | replaced | decided before and after, with another token |
    | accepted | taken as they stood because the block became periodic or reached its cap |
    | edited | changed by hand after this step |
    | forced | entered although below τ_c, because no masked position passed it |
    | top | the 5 most probable tokens of the `x` path, the `s` path and the `mix` |
    | facts | numbers a rule used, such as Saber's threshold |
    | why | one sentence per position that changed |
    | ended_by | how the block ended, if it ended here |
    | forward_seconds, other_seconds | wall time of the model call and of everything else |
    | peak_bytes | the most memory in use until then: of the GPU, or of the process on a CPU; null where unknown |
    """

    index: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    block: tuple[Annotated[int, Field(ge=0, lt=MAX_LENGTH)], Annotated[int, Field(ge=1, le=MAX_LENGTH)]]
    tokens: Annotated[list[TokenId], Field(max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[MCU]*$", max_length=MAX_LENGTH)]
    confidence: Annotated[list[Probability], Field(max_length=MAX_LENGTH)]
    weights: Annotated[list[Probability | None], Field(max_length=MAX_LENGTH)]
    score_p: Annotated[list[Amount | None], Field(max_length=MAX_LENGTH)]
    score_d: Annotated[list[Amount | None], Field(max_length=MAX_LENGTH)]
    decided: Positions = []
    promoted: Positions = []
    weakened: Positions = []
    demoted: Positions = []
    replaced: Positions = []
    accepted: Positions = []
    edited: Positions = []
    forced: Positions = []
    top: Annotated[dict[Literal["x", "s", "mix"], Top], Field(max_length=3)] = {}
    facts: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[float, Field(ge=-1e9, le=1e9)]], Field(max_length=20)
    ] = {}
    why: Annotated[dict[Position, Annotated[str, Field(max_length=MAX_SENTENCE)]], Field(max_length=MAX_LENGTH)] = {}
    ended_by: Annotated[str, Field(max_length=40)] | None = None
    forward_seconds: Seconds = 0.0
    other_seconds: Seconds = 0.0
    peak_bytes: Annotated[int, Field(ge=0, le=1 << 50)] | None = None

    _mask: bytes | None = PrivateAttr(default=None)
    _outside: bytes | None = PrivateAttr(default=None)
    _before: tuple[list[int], str, list[float]] = PrivateAttr(default=([], "", []))
    _fixed: list[bool] = PrivateAttr(default_factory=list)
    _num_layers: int = PrivateAttr(default=1)

    @property
    def tokens_before(self) -> list[int]:
        return self._before[0]

    @property
    def states_before(self) -> str:
        """The states the forward pass of this step worked with."""
        return self._before[1]

    @property
    def confidence_before(self) -> list[float]:
        return self._before[2]

    @property
    def fixed(self) -> list[bool]:
        """True where the template gave the token."""
        return self._fixed

    @property
    def num_layers(self) -> int:
        return self._num_layers

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The block's attention mask of this forward pass, [2B, 2B]; None for a decoder without a shadow."""
        if self._mask is None:
            return None
        size = 2 * (self.block[1] - self.block[0])
        return unpack(self._mask, size * size).reshape(size, size)

    @property
    def outside_keys(self) -> NDArray[np.bool_] | None:
        """What queries outside the block saw of it, [2B]; None if there is nothing outside, or no shadow."""
        if self._outside is None:
            return None
        return unpack(self._outside, 2 * (self.block[1] - self.block[0]))

    def visible(self, position: int, path: Literal["x", "s"] = "s") -> list[int]:
        """The positions of the block whose tokens (not their shadows) this query could see directly."""
        start, end = self.block
        mask = self.mask
        if not start <= position < end:
            return []
        if mask is None:
            return list(range(start, end))
        row = position - start + (end - start if path == "s" else 0)
        return [start + int(j) for j in np.flatnonzero(mask[row, : end - start])]


class Start(Record):
    """The region before the first step. `edited` lists positions that were changed by hand."""

    tokens: Annotated[list[TokenId], Field(min_length=1, max_length=MAX_LENGTH)]
    states: Annotated[str, Field(pattern=r"^[MCU]+$", max_length=MAX_LENGTH)]
    confidence: Annotated[list[Probability], Field(max_length=MAX_LENGTH)]
    edited: Positions = []


class Trace(Record):
    """A whole decode: what was asked, every step, and the result."""

    format: Literal["dard-trace"] = "dard-trace"
    version: Literal[1] = 1
    model: Annotated[str, Field(max_length=300)]
    num_layers: Annotated[int, Field(ge=1, le=255)]
    decoder: Annotated[str, Field(max_length=40)]
    settings: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=100)] | SettingInt | float | None],
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
        return set(self.states) == {"U"}

    @property
    def ended_by(self) -> str | None:
        """How the last block ended: "all unmasked", "fixed point", "period N" or "cap"; None while unfinished."""
        return self.steps[-1].ended_by if self.steps and self.finished else None

    def word(self, token: int) -> str:
        return self.token_text.get(token, f"<{token}>")

    def save(self, path: str | Path) -> None:
        """Write the trace; gzipped if the name ends in .gz."""
        data = self.to_bytes(compress=str(path).endswith(".gz"))
        Path(path).write_bytes(data)

    def to_bytes(self, compress: bool = True) -> bytes:
        body = self.model_dump(mode="json", exclude_defaults=False)
        body["steps"] = [step.model_dump(mode="json", exclude_defaults=True) for step in self.steps]
        for step in body["steps"]:
            if "mix" in step.get("top", {}) and step["top"]["mix"] == step["top"].get("x"):
                del step["top"]["mix"]
        body["masks"] = pack_masks(self.steps)
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        return gzip.compress(data, compresslevel=9, mtime=0) if compress else data

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read and check a trace file. Raises `TraceError` for anything that is not a whole, consistent trace."""
        try:
            if Path(path).stat().st_size > MAX_FILE_BYTES:
                raise TraceError(f"trace file is larger than {MAX_FILE_BYTES >> 20} MB")
            data = Path(path).read_bytes()
        except OSError as error:
            raise TraceError(f"trace file cannot be read: {error.strerror}") from None
        return cls.from_bytes(data)

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
        if type(version) is not int or version != VERSION:
            raise TraceError(f"trace file has version {json.dumps(version)[:20]}; this program reads {VERSION}")
        masks = body.pop("masks", "")
        refuse_crowds(body)
        try:
            trace = cls.model_validate_json(json.dumps(body))
        except ValidationError as error:
            if error.error_count() > MAX_NAMED_ERRORS:  # listing them would take longer than reading the file
                raise TraceError(f"trace file is broken in {error.error_count()} places") from None
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])[:100]
            raise TraceError(f"trace file is broken at {where}: {first['msg'][:200]}") from None
        trace.check()
        trace.link()
        unpack_masks(trace.steps, masks)
        return trace

    def check(self) -> None:
        """Consistency between the parts; pydantic has seen to types and ranges."""
        length = len(self.start.tokens)
        rows: list[tuple[str, Any]] = [
            ("start.states", self.start.states),
            ("start.confidence", self.start.confidence),
            ("fixed", self.fixed),
        ]
        for number, step in enumerate(self.steps, 1):
            name = f"steps.{number}"
            if step.index != number:
                raise TraceError(f"trace file is broken at {name}: index is {step.index}, not {number}")
            start, end = step.block
            if not start < end <= length:
                raise TraceError(
                    f"trace file is broken at {name}: block {start}–{end} is outside the region of {length}"
                )
            for field in ("tokens", "states", "confidence", "weights", "score_p", "score_d"):
                rows.append((f"{name}.{field}", getattr(step, field)))
            lists = ("decided", "promoted", "weakened", "demoted", "replaced", "accepted", "edited", "forced", "why")
            for field in lists:
                positions = getattr(step, field)
                if any(position >= length for position in positions) or len(set(positions)) != len(positions):
                    raise TraceError(f"trace file is broken at {name}.{field}: a position is outside or twice")
            for path, top in step.top.items():
                if any(position >= length for position in top.positions) or len(set(top.positions)) != len(
                    top.positions
                ):
                    raise TraceError(f"trace file is broken at {name}.top.{path}: positions are wrong")
                if not len(top.ids) == len(top.p) == top.k * len(top.positions):
                    raise TraceError(f"trace file is broken at {name}.top.{path}: the lists differ in length")
        for name, row in rows:
            if len(row) != length:
                raise TraceError(f"trace file is broken at {name}: {len(row)} entries for a region of {length}")
        moments: list[Start | Step] = [self.start, *self.steps]
        for moment in moments:
            for token, state in zip(moment.tokens, moment.states, strict=True):
                if (token == self.mask_id) != (state == "M"):
                    raise TraceError(
                        "trace file is broken: a masked position holds a token, or a decided one holds none"
                    )

    def link(self) -> None:
        """Give every step the things it shares with its neighbours and with the whole."""
        previous: Start | Step = self.start
        for step in self.steps:
            if "x" in step.top and any(w is not None for w in step.weights):
                step.top.setdefault("mix", step.top["x"])
            step._before = (previous.tokens, previous.states, previous.confidence)
            step._fixed = self.fixed
            step._num_layers = self.num_layers
            previous = step

    def _repr_html_(self) -> str:
        """In a notebook a trace shows itself as the viewer."""
        from visual.export import notebook_html

        return notebook_html(self)


def refuse_crowds(body: dict[str, Any]) -> None:
    """Refuse records with more fields than theirs before pydantic reports them one by one, each with all the others."""
    steps = body.get("steps")
    records: list[tuple[str, Any, type[Record]]] = [("the top", body, Trace), ("start", body.get("start"), Start)]
    for number, step in enumerate(steps if isinstance(steps, list) else []):
        records.append((f"steps.{number}", step, Step))
        tables = step.get("top") if isinstance(step, dict) else None
        if isinstance(tables, dict) and len(tables) <= 3:
            records += [(f"steps.{number}.top", table, Top) for table in tables.values()]
    for where, record, kind in records:
        if isinstance(record, dict) and len(record) > len(kind.model_fields):
            raise TraceError(f"trace file is broken at {where}: it has fields that are not known")


def json_schema() -> str:
    """The JSON Schema of a trace file."""
    schema = Trace.model_json_schema()
    schema["properties"]["masks"] = {"type": "string", "description": "base64 of zlib of the steps' masks"}
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
    """All masks of a trace as one compressed string. Each step is a flag byte (bit 0: mask, bit 1: outside), then
    the mask exclusive-ored with the previous one if that has the same size, then what the outside sees."""
    parts: list[bytes] = []
    previous = b""
    for step in steps:
        flags = (step._mask is not None) + 2 * (step._outside is not None)
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
    sizes = [2 * (step.block[1] - step.block[0]) for step in steps]
    most = sum(1 + size * size // 8 + size // 8 + 2 for size in sizes)
    if most > MAX_MASK_BYTES:
        most = MAX_MASK_BYTES
    try:
        if not isinstance(packed, str):
            raise ValueError
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), most)
        if not inflate.eof or inflate.unused_data:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error):
        raise TraceError("trace file is broken at masks: not the packed masks of these steps") from None
    cursor, previous = 0, b""
    for step, size in zip(steps, sizes, strict=True):
        flags = data[cursor] if cursor < len(data) else 255
        cursor += 1
        mask_bytes, outside_bytes = -(-size * size // 8), -(-size // 8)
        if flags > 3 or cursor + mask_bytes * (flags & 1) + outside_bytes * (flags >> 1) > len(data):
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
