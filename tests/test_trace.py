"""The trace file: exact round trip, a bounded size, and every kind of broken file refused with one sentence."""

from __future__ import annotations

import base64
import gzip
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from dard.trace import Trace, TraceError, json_schema
from dard.trace.limits import MAX_FILE_BYTES
from dard.trace.masks import BlockMask, bits
from dard.trace.records import Start
from tests.helpers import ALL_DECODERS, body_of
from tests.tiny import MASK_ID, long_trace, random_model

Body = dict[str, Any]


def assert_same(one: Trace, other: Trace) -> None:
    """Field by field, what the file holds and what a step knows from its neighbours."""
    for field in fields(Trace):
        if field.name != "steps":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert len(one.steps) == len(other.steps)
    for a, b in zip(one.steps, other.steps, strict=True):
        for field in fields(a):
            assert getattr(a, field.name) == getattr(b, field.name), field.name
        assert (a.tokens_before, a.states_before, a.confidence_before) == (
            b.tokens_before,
            b.states_before,
            b.confidence_before,
        )
        assert (a.fixed, a.num_layers) == (b.fixed, b.num_layers)
        for name in ("mask", "outside_keys"):
            ours, theirs = getattr(a, name), getattr(b, name)
            assert (ours is None) == (theirs is None)
            assert ours is None or np.array_equal(ours, theirs)
    assert one.to_bytes() == other.to_bytes()


# Round trip.


@settings(max_examples=30, deadline=None)
@given(
    decoder=st.sampled_from(ALL_DECODERS),
    prompt=st.lists(st.integers(0, 12).map(lambda t: 0 if t < 5 else t), min_size=1, max_size=8),
    block_length=st.one_of(st.none(), st.integers(1, 8)),
    temperature=st.sampled_from([0.0, 0.7]),
    seed=st.integers(0, 3),
    compress=st.booleans(),
    tau=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    ordering=st.sampled_from(["confidence", "entropy", "margin", "l2r", "bidirectional"]),
    mixing=st.one_of(st.just("adaptive"), st.floats(0, 1)),
    verify=st.sampled_from(["held", "argmax"]),
    outside=st.sampled_from(["reliable", "all"]),
)
def test_a_saved_trace_is_read_back_exactly(
    decoder: str,
    prompt: list[int],
    block_length: int | None,
    temperature: float,
    seed: int,
    compress: bool,
    tau: tuple[float, float],
    **own: Any,
) -> None:
    values: Body = {"gen_length": 5, "block_length": block_length, "temperature": temperature, "seed": seed}
    if decoder == "dard":
        values |= own | {"tau_c": min(tau), "tau_u": max(tau), "commit_after": 8}
    elif decoder in ("wino", "threshold"):
        values["threshold"] = tau[0]
    trace = dard.decode(random_model(seed), prompt, decoder, **values)
    assert_same(Trace.from_bytes(trace.to_bytes(compress)), trace)


@pytest.mark.parametrize("decoder", ALL_DECODERS)
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_files_plain_and_gzipped(decoder: str, name: str, tmp_path: Path) -> None:
    trace = dard.decode(random_model(1), [5, 6, 7], decoder, gen_length=7, block_length=3)
    trace.save(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert (data[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert_same(Trace.load(tmp_path / name), trace)
    assert_same(Trace.load(str(tmp_path / name)), trace)


def test_unfinished_edited_and_empty_traces_are_read_back_too() -> None:
    session = dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4, tau_u=0.8)
    branch = session.at(0).edit(3, token="Los", state="C")
    traces = [session.trace, branch.trace]
    branch.step()
    traces += [branch.trace, branch.edit(4, token="Diego", state="U").trace, branch.edit(3, state="M").trace]
    traces.append(branch.edit(4, token="San", state="C").run())
    for trace in traces:
        assert_same(Trace.from_bytes(trace.to_bytes()), trace)


def test_saving_twice_gives_the_same_bytes() -> None:
    trace = good()
    assert trace.to_bytes() == trace.to_bytes()


def test_loading_needs_no_torch() -> None:
    import subprocess
    import sys

    code = "import dard.trace, dard.trace.words, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_the_schema_names_every_field() -> None:
    schema = json.loads(json_schema())
    body, defined = body_of(good("dapd")), schema["$defs"]
    assert set(schema["properties"]) == {*body, "annotation", "diagnosis", "layers"}
    assert set(body["steps"][0]) <= set(defined["Step"]["properties"])
    assert set(body["steps"][0]["graph"]) == set(defined["Graph"]["properties"])


# Size.


def test_a_trace_of_256_tokens_and_60_steps_stays_below_350_kilobytes(figure: Callable[[str], None]) -> None:
    trace = long_trace()
    changes = sum(len(s.decided) + len(s.demoted) + len(s.promoted) for s in trace.steps)
    assert trace.num_steps == 60 and changes > 600
    size = len(trace.to_bytes())
    figure(f"256 tokens, 60 steps, {changes} changes: {size:,} bytes gzipped")
    assert size < 350_000


# Broken files.


@cache
def good(decoder: str = "dard") -> Trace:
    own = {"tau_c": 0.3, "tau_u": 0.6} if decoder == "dard" else {}
    trace = dard.decode(random_model(1), [5, 6, 7], decoder, gen_length=6, block_length=4, **own)
    assert trace.num_steps > 3
    return trace


def change(path: str, value: Any) -> Callable[[Body], None]:
    """Set a field named by its path, such as "steps.0.tokens"."""

    def apply(body: Body) -> None:
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = body
        for part in parents:
            place = place[part]
        if value is ...:
            del place[last]
        else:
            place[last] = value(place[last]) if callable(value) else value

    return apply


def packed(make: Callable[[bytes], bytes]) -> Callable[[str], str]:
    """A change of the masks before they are compressed."""
    return lambda text: base64.b64encode(zlib.compress(make(zlib.decompress(base64.b64decode(text))))).decode()


def look(marks: list[Any]) -> Callable[[Body], None]:
    return change("steps.0.annotation.look", {"marks": marks, "say": "", "lines": []})


BROKEN: dict[str, Callable[[Body], None]] = {
    "another format": change("format", "something"),
    "no format": change("format", ...),
    "a newer version": change("version", 4),
    "the version as text": change("version", "1"),
    "the version as true": change("version", True),
    "no version": change("version", ...),
    "an unknown field": lambda body: body.update(surprise=1),
    "an unknown field in a step": lambda body: body["steps"][0].update(surprise=1),
    "an unknown field in the start": lambda body: body["start"].update(surprise=1),
    "an unknown column": lambda body: body["steps"][0]["columns"].update(z=[None] * 6),
    "an unknown event": lambda body: body["steps"][0]["events"].update(vanished=[0]),
    "a note about no column": lambda body: body["steps"][0].update(notes={"z": "no"}),
    "no columns": change("steps.0.columns", ...),
    "no confidence": change("steps.0.columns.confidence", ...),
    "a mirror of no column": change("about.columns.0.mirror", "nope"),
    "a column that mirrors itself": lambda body: body["about"]["columns"][0].update(
        mirror=body["about"]["columns"][0]["name"]
    ),
    "a column declared as text": change("about.columns.0", "w"),
    "a column with a strange name": change("about.columns.0.name", "<b>"),
    "a threshold above one": change("about.thresholds.0.at", 7),
    "an endless rule": change("about.rule", "x" * 10_000),
    "columns without end": change("about.columns", lambda row: row * 50),
    "an unknown path of predictions": lambda body: body["steps"][0]["paths"].update(y=body["steps"][0]["paths"]["x"]),
    "a missing field": change("prompt", ...),
    "a missing field in a step": change("steps.0.tokens", ...),
    "no steps": change("steps", ...),
    "steps that are no list": change("steps", {"0": 1}),
    "a step that is no object": change("steps.0", 5),
    "confidence not a number": change("steps.0.columns.confidence.0", float("nan")),
    "infinite confidence": change("steps.0.columns.confidence.0", float("inf")),
    "negative confidence": change("steps.0.columns.confidence.0", -0.1),
    "confidence above 1": change("steps.0.columns.confidence.0", 1.01),
    "confidence as text": change("steps.0.columns.confidence.0", "0.5"),
    "confidence missing": change("steps.0.columns.confidence.0", None),
    "weight above 1": change("steps.0.columns.w.0", 2),
    "negative score": change("steps.0.columns.D.0", -1),
    "negative time": change("steps.0.forward_seconds", -1),
    "time not a number": change("steps.0.other_seconds", float("nan")),
    "fact not a number": change("steps.0.facts", {"threshold": float("nan")}),
    "negative token": change("steps.0.tokens.0", -5),
    "huge token": change("steps.0.tokens.0", 10**30),
    "token as a fraction": change("steps.0.tokens.0", 1.5),
    "token as true": change("steps.0.tokens.0", True),
    "too few tokens": change("steps.0.tokens", lambda row: row[:-1]),
    "too many tokens": change("steps.0.tokens", lambda row: [*row, 3]),
    "too few states": change("steps.0.states", lambda row: row[:-1]),
    "too few confidences": change("steps.1.columns.confidence", lambda row: row[:-1]),
    "too many weights": change("steps.1.columns.w", lambda row: [*row, None]),
    "too few scores": change("steps.1.columns.P", []),
    "too few given flags": change("fixed", lambda row: row[:-1]),
    "given flags as numbers": change("fixed", lambda row: [0 for _ in row]),
    "an empty region": change("start.tokens", []),
    "a state letter that does not exist": change("steps.0.states", lambda row: "X" + row[1:]),
    "a state that is declared twice": change("about.states", lambda kinds: [*kinds, kinds[0]]),
    "a state of two letters": change("about.states.0.letter", "MM"),
    "a state of no role": change("about.states.0.role", "open"),
    "a state without a title": change("about.states.0.title", ""),
    "states of which none is blank": change("about.states", lambda kinds: [k for k in kinds if k["role"] != "blank"]),
    "states of which none is decided": change("about.states", lambda kinds: [{**k, "role": "blank"} for k in kinds]),
    "states without end": change("about.states", lambda kinds: [{**kinds[0], "letter": c} for c in "ABDEFGHIJKLN"] * 2),
    "a state that is used and not declared": change(
        "about.states", lambda kinds: [k for k in kinds if k["letter"] != "C"]
    ),
    "a threshold of a state that is not declared": change("about.thresholds.0.enters", "Q"),
    "states as version 2 had them": change("about.states", "MCU"),
    "a draft at a position outside": change("steps.0.drafts", {"77": 3}),
    "a draft that is no token": change("steps.0.drafts", {"0": -1}),
    "a draft at a decided position": lambda body: body["steps"][-1].update(drafts={"0": 3}),
    "a state letter in lower case": change("start.states", lambda row: row.lower()),
    "states with a line break at the end": change("steps.0.states", lambda row: row[:-1] + "\n"),
    "a masked position that holds a token": change("steps.0.states", lambda row: "M" * len(row)),
    "a decided position that holds none": change("steps.0.tokens", lambda row: [MASK_ID] * len(row)),
    "a position outside the region": change("steps.0.events.decided", [6]),
    "a negative position": change("steps.0.events.promoted", [-1]),
    "a huge position": change("steps.0.events.demoted", [10**18]),
    "the same position twice": change("steps.0.events.decided", [1, 1]),
    "a sentence about a position outside": change("steps.0.why", {"77": "no"}),
    "a sentence about no position": change("steps.0.why", {"a": "no"}),
    "an endless sentence": change("steps.0.why", {"0": "x" * 100_000}),
    "predictions at a position outside": change("steps.0.paths.x.positions.0", 99),
    "predictions at the same position twice": change("steps.0.paths.x.positions", lambda row: [row[0]] * len(row)),
    "predictions of another number": change("steps.0.paths.x.ids", lambda row: row[:-1]),
    "probabilities of another number": change("steps.0.paths.x.p", lambda row: [*row, 1]),
    "probability above one": change("steps.0.paths.x.p.0", 10_001),
    "negative probability": change("steps.0.paths.x.p.0", -1),
    "a huge k": change("steps.0.paths.x.k", 10**9),
    "steps out of order": change("steps", lambda steps: steps[::-1]),
    "a step missing in the middle": change("steps", lambda steps: steps[:1] + steps[2:]),
    "a block outside the region": change("steps.0.block", [0, 60]),
    "an empty block": change("steps.0.block", [2, 2]),
    "a block the wrong way round": change("steps.0.block", [4, 1]),
    "a block of three numbers": change("steps.0.block", [0, 1, 2]),
    "no layers": change("num_layers", 0),
    "a million layers": change("num_layers", 10**6),
    "a prompt that is no text": change("prompt", 5),
    "an endless prompt": change("prompt", "x" * 300_000),
    "settings that nest": change("settings", {"a": {"b": 1}}),
    "a setting that is not a number": change("settings", {"tau_c": float("nan")}),
    "a setting of six hundred digits": change("settings", {"seed": 10**600}),
    "words by no id": change("token_text", {"a": "b"}),
    "a mask that is no text": change("steps.0.mask", 7),
    "a mask that is null": change("steps.0.mask", None),
    "a mask that is not base64": change("steps.0.mask", "@@@@"),
    "a mask that is not compressed": change("steps.0.mask", base64.b64encode(b"hello").decode()),
    "a mask cut short": change("steps.0.mask", lambda text: text[: len(text) // 8 * 4]),
    "a mask of too few rows": change("steps.0.mask", packed(lambda data: data[:-2])),
    "a mask of too many rows": change("steps.0.mask", packed(lambda data: data + b"\0")),
    "a mask with something after it": change(
        "steps.0.mask", lambda text: base64.b64encode(base64.b64decode(text) + b"more").decode()
    ),
    "a mask that unpacks to 100 MB": change(
        "steps.0.mask", lambda text: base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()
    ),
    "masks as version 2 had them": change("masks", ""),
    "an annotation that is a text": change("steps.0.annotation", "x"),
    "an endless annotation": change("steps.0.annotation.say", "x" * 100_000),
    "an unknown field in an annotation": lambda body: body["steps"][0]["annotation"].update(surprise=1),
    "an annotation about a position outside": change("steps.0.annotation.why", {"77": "no"}),
    "an answer that is right by a number": change("steps.0.annotation.right", 1),
    "a board of no width": change("annotation", {"board": {"width": 0, "box": 0, "given": [None]}}),
    "a board of half a row": change("annotation", {"board": {"width": 4, "box": 2, "given": [None] * 6}}),
    "a board larger than the region": change("annotation", {"board": {"width": 4, "box": 2, "given": [None] * 16}}),
    "a mark of one place": look([{"places": [0], "units": ["row 1"], "say": ""}]),
    "a mark at a place outside": look([{"places": [0, 6], "units": ["row 1"], "say": ""}]),
    "a negative place": look([{"places": [-1], "units": [], "say": ""}]),
}

GRAPHS: dict[str, Callable[[Body], None]] = {
    "a graph that nobody declared": change("about.graph", None),
    "a graph at a position outside": change("steps.0.graph.positions.0", 99),
    "a graph with a position twice": change("steps.0.graph.positions", lambda row: [row[0]] * len(row)),
    "a graph's limit above one": change("steps.0.graph.limit", 1.5),
    "a wait for a position that is not in the graph": change("steps.0.graph.blocked", {"0": [5, 0.5]}),
    "a wait with a dependence above one": change("steps.0.graph.blocked", {"0": [1, 2.0]}),
    "a wait for nobody": change("steps.0.graph.blocked", {"0": []}),
    "an unknown field in a graph": lambda body: body["steps"][0]["graph"].update(surprise=1),
    "cells that are no text": change("steps.0.graph.cells", 7),
    "cells that are not compressed": change("steps.0.graph.cells", base64.b64encode(b"hello").decode()),
    "too few cells": change("steps.0.graph.cells", packed(lambda data: data[:-1])),
    "too many cells": change("steps.0.graph.cells", packed(lambda data: data + b"\0")),
    "cells that unpack to 100 MB": change(
        "steps.0.graph.cells", lambda text: base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()
    ),
    "a mix at a position outside": change("steps.1.soft", {"positions": [9], "k": 1, "ids": [3], "p": [5]}),
    "a mix of another number": change("steps.1.soft", {"positions": [1], "k": 2, "ids": [3], "p": [5]}),
    "a mix that nobody declared": change("steps.1.soft", {"positions": [1], "k": 1, "ids": [3], "p": [5]}),
    "a block that goes on by a number": change("steps.1.goes_on", 1),
}


def refused(data: bytes) -> str:
    """The sentence a file is refused with."""
    began = time.process_time()
    with pytest.raises(TraceError) as caught:
        Trace.from_bytes(data)
    assert time.process_time() - began < 4.0  # on a busy machine too
    sentence = str(caught.value)
    assert "trace file" in sentence and "\n" not in sentence and 10 < len(sentence) < 400, sentence
    assert "Traceback" not in sentence and "pydantic" not in sentence
    return sentence


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_refused(kind: str) -> None:
    body = body_of(good())
    BROKEN[kind](body)
    data = json.dumps(body).encode()
    refused(data)
    refused(gzip.compress(data))


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_broken_graph_is_refused(kind: str) -> None:
    body = body_of(good("dapd"))
    GRAPHS[kind](body)
    refused(json.dumps(body).encode())


def test_the_unbroken_file_is_not_refused() -> None:
    for decoder in ("dard", "dapd", "remix", "edit"):
        assert_same(Trace.from_bytes(json.dumps(body_of(good(decoder))).encode()), good(decoder))
    body = body_of(good("dapd"))
    for step in body["steps"]:
        del step["graph"]["cells"]  # a graph without its cells is whole
    assert all(step.graph and step.graph.cells is None for step in Trace.from_bytes(json.dumps(body).encode()).steps)


# Files of version 2.


def old(decoder: str) -> bytes:
    """What 0.2 saved."""
    return gzip.decompress((Path(__file__).parent / "files" / f"{decoder}-of-0.2.trace.json.gz").read_bytes())


@pytest.mark.parametrize("decoder", ["dard", "dapd"])
def test_a_file_of_version_2_is_read_and_written_as_one_of_today(decoder: str) -> None:
    trace = Trace.from_bytes(old(decoder))
    assert json.loads(old(decoder))["version"] == 2 and body_of(trace)["version"] == 3
    assert_same(Trace.from_bytes(trace.to_bytes()), trace)
    again = dard.decode(dard.load_model("embedded"), trace.prompt, decoder, **trace.settings)
    for ours, theirs in zip(trace.steps, again.steps, strict=True):
        assert np.array_equal(ours.mask, theirs.mask) if ours.mask is not None else theirs.mask is None
        assert np.array_equal(ours.outside_keys, theirs.outside_keys) if ours.mask is not None else True
        if ours.graph and theirs.graph:
            assert np.array_equal(ours.graph.cells, theirs.graph.cells)


OLD: dict[str, tuple[str, Callable[[Body], None]]] = {
    "masks that are no text": ("dard", change("masks", 7)),
    "masks that are not compressed": ("dard", change("masks", base64.b64encode(b"hello").decode())),
    "no masks": ("dard", change("masks", ...)),
    "masks of too few steps": ("dard", change("masks", packed(lambda data: data[:-5]))),
    "masks of too many steps": ("dard", change("masks", packed(lambda data: data + b"\0"))),
    "masks with a flag that does not exist": ("dard", change("masks", packed(lambda data: b"\x09" + data[1:]))),
    "masks that unpack to 100 MB": (
        "dard",
        change("masks", lambda text: base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()),
    ),
    "a mask as version 3 has it": ("dard", change("steps.0.mask", "")),
    "graphs of too few steps": ("dapd", change("graphs", packed(lambda data: data[:-1]))),
    "graphs of too many steps": ("dapd", change("graphs", packed(lambda data: data + b"\0"))),
    "graphs with a flag that does not exist": ("dapd", change("graphs", packed(lambda data: b"\x02" + data[1:]))),
}


@pytest.mark.parametrize("kind", OLD)
def test_a_broken_file_of_version_2_is_refused(kind: str) -> None:
    decoder, breaking = OLD[kind]
    body = json.loads(old(decoder))
    breaking(body)
    refused(json.dumps(body).encode())


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_mask_is_packed_and_read_back(data: st.DataObject) -> None:
    """Whatever states and numbers its block was found with, and however often it is packed."""
    count = data.draw(st.integers(1, 21))
    letters, numbers = st.text("MCU", min_size=count, max_size=count), st.none() | st.floats(0, 1)
    moments = [(data.draw(letters), data.draw(st.lists(numbers, min_size=count, max_size=count))) for _ in range(2)]
    size = count * data.draw(st.sampled_from([1, 2]))
    bit = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = bit.random((size, size)) < 0.5
    outside = bit.random(size) < 0.5 if size > count and data.draw(st.booleans()) else None
    whole = mask if outside is None else np.vstack([mask, outside])
    made = BlockMask.of(mask, outside)
    text = made.pack(moments[0])
    read, length = BlockMask.read(text, moments[0], 10_000)
    assert (read.size, read.height, length) == (size, len(whole), read.unpacked_bytes)
    assert np.array_equal(bits(read), whole) and np.array_equal(bits(made), whole)
    assert read.pack(moments[0]) == text == made.pack(moments[0])
    again, _ = BlockMask.read(read.pack(moments[1]), moments[1], 10_000)
    assert np.array_equal(bits(again), whole)


BYTES: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "not JSON": lambda: b"hello",
    "JSON cut short": lambda: good().to_bytes(compress=False)[:-10],
    "JSON and more": lambda: good().to_bytes(compress=False) + b"{}",
    "a list": lambda: b"[1, 2]",
    "a number": lambda: b"5",
    "null": lambda: b"null",
    "not UTF-8": lambda: b'{"format": "\xff\xfe"}',
    "gzip cut short": lambda: good().to_bytes()[:-20],
    "gzip's first two bytes alone": lambda: b"\x1f\x8b",
    "gzip with a flipped byte": lambda: (lambda d: d[:200] + bytes([d[200] ^ 255]) + d[201:])(good().to_bytes()),
    "gzip with a wrong checksum": lambda: good().to_bytes()[:-8] + bytes(8),
    "gzip with something after it": lambda: good().to_bytes() + b"more",
    "gzip in gzip": lambda: gzip.compress(good().to_bytes()),
    "deep nesting": lambda: b"[" * 200_000,
    "deep nesting in an object": lambda: b'{"format":"dard-trace","version":1,"prompt":' + b"[" * 200_000,
    "deep but closed nesting": lambda: b'{"format":"dard-trace","version":1,"prompt":' + b"[" * 900 + b"]" * 900 + b"}",
    "a number of ten thousand digits": lambda: b'{"format":"dard-trace","version":' + b"1" * 10_000 + b"}",
    "a version of four thousand digits": lambda: b'{"format":"dard-trace","version":' + b"1" * 4_000 + b"}",
    "a float too large": lambda: good().to_bytes(False).replace(b'"confidence":[', b'"confidence":[1e999,', 1),
    "a version that is an object": lambda: b'{"format":"dard-trace","version":{"a":[1,2,3]}}',
    "a lone surrogate": lambda: good().to_bytes(False).replace(b'"prompt":"', b'"prompt":"\\ud800', 1),
    "unknown fields without end": lambda: json.dumps(
        {"format": "dard-trace", "version": 1} | {f"f{i}": 0 for i in range(300_000)}
    ).encode(),
}


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_that_are_no_trace_are_refused(kind: str) -> None:
    refused(BYTES[kind]())


def test_a_gzip_bomb_is_refused_before_it_unfolds() -> None:
    refused(gzip.compress(bytes(MAX_FILE_BYTES + (8 << 20)), 9))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(TraceError, match="larger than 64 MB"):
        Trace.load(tmp_path / "large.json")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(TraceError, match="cannot be read"):
            Trace.load(path)


def test_a_trace_that_no_file_could_hold_is_not_written() -> None:
    """It would save and not load."""
    trace = dard.decode(random_model(1), [5, 6, 7], "saber", gen_length=6)
    trace.steps[0].facts["threshold"] = float("nan")
    with pytest.raises(TraceError, match=r"steps\.1\.facts\.threshold is not a number"):
        trace.to_bytes()


def test_a_mask_of_another_size_is_refused_where_it_is_set() -> None:
    step = good().steps[0]
    with pytest.raises(ValueError, match="a block of 4 has a mask of"):
        step.set_mask(np.ones((6, 6), dtype=bool))


def test_a_trace_made_by_hand_replays_and_round_trips() -> None:
    from visual.export import replay_html

    step = dard.Step(
        index=1, block=(0, 2), tokens=[3, 4], states="UU", columns={"confidence": [0.5, 0.6], "drop": [None, -0.5]}
    )
    about = dard.About(columns=[dard.Column("drop", range=(-1, 1))])
    start = Start(tokens=[0, 0], states="MM", confidence=[0.0, 0.0])
    words = {0: "[MASK]", 3: "a", 4: "b"}
    trace = Trace("m", 1, "mine", {}, "p", [], 0, None, [False, False], start, [step], words, "a b", about)
    assert step.states_before == "MM" and "'b' at 1 was decided" in trace.why(step, 1)
    assert "dard" in replay_html(trace)
    assert_same(Trace.from_bytes(trace.to_bytes()), trace)


def test_a_trace_error_is_bad_input() -> None:
    assert issubclass(TraceError, dard.InputError) and issubclass(TraceError, ValueError)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(data: bytes) -> None:
    for bytes_ in (data, b"\x1f\x8b" + data):
        with pytest.raises(TraceError):
            Trace.from_bytes(bytes_)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_is_either_read_or_refused(data: st.DataObject) -> None:
    body = body_of(good())
    place: Any = body
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(JSON)
    try:
        trace = Trace.from_bytes(json.dumps(body).encode())
    except TraceError as error:
        assert "\n" not in str(error)
    else:
        assert_same(Trace.from_bytes(trace.to_bytes()), trace)
