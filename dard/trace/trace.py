"""The record of a decode, and its file format.

A `Trace` is the only thing that passes from the algorithms to whatever shows them, and it describes itself: `about`
says what its columns, paths, thresholds and events are. It needs numpy and pydantic, no torch and no model: a trace
recorded on a GPU replays anywhere. Records are plain dataclasses; checking happens where a file is read, which refuses
everything that is not a whole, consistent trace with one sentence. Nothing in a file is ever executed.

File format, version 3: one JSON object, optionally gzipped, with the fields of `Trace` and, in `steps`, those of
`Step` (`python -c "import dard.trace; print(dard.trace.json_schema())"` prints the JSON Schema). It is also what
travels to a browser, step by step. Masks of steps and cells of graphs are packed as `dard.trace.masks` says;
probabilities in `paths` are whole ten-thousandths. What is told of a record stands beside it, under `annotation`, for
whoever shows the file; it is made anew whenever one is written. Files of version 2 are read, too (`version2.py`).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from dard.core.files import write_whole
from dard.trace.about import About
from dard.trace.annotation import Annotation
from dard.trace.annotations import annotated
from dard.trace.crowds import Shape, refuse_crowds
from dard.trace.diagnosis import Diagnosis
from dard.trace.format import check, not_a_number, read_bytes, set_aside, unpacked
from dard.trace.frames import Frame, checked, values_of
from dard.trace.layers import Layers
from dard.trace.limits import (
    LIBRARY,
    MAX_GRAPH_BYTES,
    MAX_LENGTH,
    MAX_MASK_BYTES,
    MAX_NAMED_ERRORS,
    MAX_STEPS,
    MAX_TEXT,
    MAX_TOKEN_TEXT,
    MAX_VERDICTS,
    REPR_AT_MOST,
    STRICT,
    VERSION,
    Room,
    SettingInt,
    TokenId,
    TraceError,
)
from dard.trace.masks import BlockMask, read_cells
from dard.trace.records import Start, Step, StepContext, Verdict
from dard.trace.version2 import declare_states, give_cells, give_masks
from dard.trace.words import because, sentence, spoken_of


@dataclass(repr=False)
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
    mask_id: TokenId | None  # None: nothing is masked, a canvas begins as noise
    eos_id: TokenId | None
    fixed: Annotated[list[bool], Field(max_length=MAX_LENGTH)]
    start: Start
    steps: Annotated[list[Step], Field(max_length=MAX_STEPS)]
    token_text: Annotated[dict[TokenId, Annotated[str, Field(max_length=MAX_TOKEN_TEXT)]], Field(max_length=1_000_000)]
    text: Annotated[str, Field(max_length=MAX_TEXT)]
    about: About = field(default_factory=About)
    block_size: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None  # of a model that sees no later block
    causes: Annotated[list[Verdict], Field(max_length=MAX_VERDICTS)] = field(default_factory=list)
    diagnosis: Diagnosis | None = None  # where the answer was lost, if that was asked for
    layers: Annotated[list[Layers], Field(max_length=MAX_VERDICTS)] = field(default_factory=list)  # the same
    annotation: Annotation | None = None
    format: Literal["dard-trace"] = "dard-trace"
    version: Literal[3] = 3

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        previous: Start | Step = self.start
        for step in self.steps:
            step._link = StepContext(
                previous.tokens,
                previous.states,
                previous.confidence,
                self.fixed,
                self.num_layers,
                self.settings,
                self.about.kinds,
                getattr(previous, "drafts", {}),
            )
            previous = step

    def __repr__(self) -> str:
        """One line; everything is in `as_dict`."""
        end = f"ended by {self.ended_by}" if self.ended_by else "unfinished"
        text = self.text if len(self.text) <= REPR_AT_MOST else self.text[: REPR_AT_MOST - 1] + "…"
        made = f"{self.num_steps} pass{'' if self.num_steps == 1 else 'es'}"
        return f"<Trace of {self.decoder!r} on {self.model!r}: {made}, {end}, text {text!r}>"

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
        return set(self.states) <= set(self.about.decided) and not (self.steps and self.steps[-1].goes_on)

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

    def layers_at(self, step: int, position: int) -> Layers | None:
        """What the layers would have said of a position in a step, if that was asked for."""
        return next((each for each in self.layers if (each.step, each.position) == (step, position)), None)

    def learn(self, text: Callable[[int], str]) -> None:
        """How those tokens are written that its causes and layers speak of, and no step of it."""
        verdicts = [*self.causes, *(self.diagnosis.verdicts if self.diagnosis else [])]
        told = {token for verdict in verdicts for token in spoken_of(verdict)}.union(
            *(each.used for each in self.layers)
        )
        self.token_text |= {token: text(token) for token in sorted(told - self.token_text.keys())}

    def why(self, step: Step, position: int, causes: bool = True) -> str:
        """One sentence about a position at a step, whether it changed or not, and its cause if that is known.

        Those that changed have it in the trace. About the others the decoder is asked, if it is known here.
        """
        said = step.why.get(position) or sentence(self, step, position)
        verdict = self.verdict(step.index, position) if causes else None
        cause = because(self, verdict) if verdict else ""
        return f"{said[:-1]}; {cause}." if cause else said

    def save(self, path: str | Path) -> None:
        """Write the trace; gzipped if the name ends in .gz."""
        write_whole(path, self.to_bytes(compress=str(path).endswith(".gz")))

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain JSON, as it stands in a file, without masks and cells that a reader has no room for."""
        body = annotated(self)
        masks, cells = MAX_MASK_BYTES, MAX_GRAPH_BYTES
        for step, record in zip(self.steps, body["steps"], strict=True):
            masks -= step._mask.unpacked_bytes if step._mask else 0
            cells -= len(step.graph._cells or b"") if step.graph else 0
            if masks < 0:
                record.pop("mask", None)
            if cells < 0:
                record.get("graph", {}).pop("cells", None)
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
        return cls.of_frames([Frame(*each) for each in checked(frames, confidence)], mask_id, words, **more)

    @classmethod
    def of_frames(cls, frames: Sequence[Frame], mask_id: int, words: Any = None, **more: Any) -> Trace:
        """The same of states that say what is known of their passes."""
        return cls(**values_of(frames, mask_id, words, **more))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read and check a trace file. Raises `TraceError` for anything that is not a whole, consistent trace."""
        return cls.from_bytes(read_bytes(path))

    @classmethod
    def from_bytes(cls, data: bytes, room: Room = LIBRARY) -> Trace:
        """The trace in a file's bytes, gzipped or plain."""
        text = unpacked(data, room)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise TraceError("trace file is not JSON") from None
        if not isinstance(body, dict) or body.get("format") != "dard-trace":
            raise TraceError('trace file is not a DARD trace: it has no "format": "dard-trace"')
        version = body.get("version")
        if type(version) is not int or version not in (2, VERSION):
            raise TraceError(f"trace file has version {json.dumps(version)[:20]}; this program reads 2 and {VERSION}")
        body["version"] = VERSION
        old = (body.pop("masks", ""), body.pop("graphs", None)) if version == 2 else None
        masks, cells = ({}, {}) if old else set_aside(body)
        if old:
            declare_states(body)
        refuse_crowds(Shape(record=Trace), body)
        try:
            trace = file_reader().validate_json(json.dumps(body))
        except ValidationError as error:
            if error.error_count() > MAX_NAMED_ERRORS:  # listing them would take longer than reading the file
                raise TraceError(f"trace file is broken in {error.error_count()} places") from None
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])[:100]
            raise TraceError(f"trace file is broken at {where}: {first['msg'][:200]}") from None
        if len(trace.fixed) > room.positions:
            raise TraceError(f"trace file has a region of {len(trace.fixed)}; at most {room.positions} are shown here")
        check(trace)
        records: list[Any] = [trace, trace.start, *trace.steps, *trace.causes, *trace.layers]
        records += [trace.diagnosis, *trace.diagnosis.verdicts] if trace.diagnosis else []
        for record in records:
            record.annotation = None
        if old:
            give_masks(trace.steps, old[0])
            if old[1] is not None:
                give_cells(trace.steps, old[1])
        left = MAX_MASK_BYTES
        for number, text in masks.items():
            step = trace.steps[number]
            step._mask, length = BlockMask.read(text, step.moment, left)
            left -= length
        left = MAX_GRAPH_BYTES
        for number, text in cells.items():
            if (graph := trace.steps[number].graph) is not None:
                graph._cells = read_cells(text, len(graph.positions), left)
                left -= len(graph._cells)
        return trace


@cache
def file_reader() -> TypeAdapter[Trace]:
    """Types, ranges and sizes, as the annotations of the records say."""
    return TypeAdapter(Trace)


def json_schema() -> str:
    """The JSON Schema of a trace file."""
    schema = file_reader().json_schema()
    for record, part, what in (("Step", "mask", "the block's mask"), ("Graph", "cells", "its cells")):
        described = {"type": "string", "description": f"base64 of zlib of {what}: see dard/trace/masks.py"}
        schema["$defs"][record]["properties"][part] = described
    return json.dumps(schema, indent=2)
