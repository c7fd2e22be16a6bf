"""Reading a trace file: bounded, checked part by part, refused with one sentence that names the place.

Nothing in a file is ever executed. Does not know: what a trace is for.
"""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

from dard.trace.about import EVENTS
from dard.trace.diagnosis import Diagnosis
from dard.trace.limits import MAX_FILE_BYTES, Room, TraceError
from dard.trace.records import Start, Step, Whole


def check(trace: Whole) -> None:
    """Consistency between the parts of a file; the reader has seen to types and ranges."""
    length = len(trace.start.tokens)
    check_states(trace)
    ranges = {"confidence": (0.0, 1.0)} | {c.name: c.range or (0.0, math.inf) for c in trace.about.columns}
    declared = {
        "columns": ranges.keys(),
        "paths": {path.name for path in trace.about.paths},
        "events": {*EVENTS, *trace.about.events},
        "notes": ranges.keys(),
    }
    for number, column in enumerate(trace.about.columns):
        others = {each.name for each in trace.about.columns} - {column.name}
        if column.mirror and column.mirror not in others:
            where = f"about.columns.{number}.mirror"
            raise TraceError(f"trace file is broken at {where}: {column.mirror!r} is none of the other columns")
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
        lists += [(f"{name}.why", list(step.why)), (f"{name}.drafts", list(step.drafts))]
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
        lists.append((f"{name}.annotation", list(step.annotation.why if step.annotation else ())))
    check_board(trace)
    if (answer := trace.annotation.answer if trace.annotation else None) is not None:
        lists.append(("annotation.answer", answer.positions))
        if max(answer.first, answer.settled) > len(trace.steps):
            raise TraceError("trace file is broken at annotation.answer: it speaks of a step that is not there")
    verdicts = [(f"causes.{number}", verdict) for number, verdict in enumerate(trace.causes, 1)]
    if diagnosis := trace.diagnosis:
        verdicts += [(f"diagnosis.verdicts.{number}", verdict) for number, verdict in enumerate(diagnosis.verdicts, 1)]
        lists += check_diagnosis(trace, diagnosis)
    for name, verdict in verdicts:
        if verdict.step > len(trace.steps):
            raise TraceError(f"trace file is broken at {name}: there is no step {verdict.step}")
        before = [cause.position for cause in verdict.causes] + verdict.left
        if min(before, default=0) < -len(trace.prompt_tokens):
            raise TraceError(f"trace file is broken at {name}: a position lies before the prompt")
        lists.append((name, [verdict.position]))
        for shown in (False, True):
            lists.append((name, [each.position for each in verdict.causes if each.shown == shown]))
        lists.append((f"{name}.left", verdict.left))
        lists.append((f"{name}.siblings", [each.position for each in verdict.siblings]))
    for number, layers in enumerate(trace.layers, 1):
        lists.append((f"layers.{number}", [layers.position]))
        depths = {len(numbers) for row in layers.rows for numbers in (row.tokens, row.confidence, row.held)}
        if layers.step > len(trace.steps) or len(depths) > 1:
            raise TraceError(f"trace file is broken at layers.{number}: no such step, or its lists differ in length")
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
            if trace.mask_id is not None and (token == trace.mask_id) != (state in trace.about.blank):
                raise TraceError("trace file is broken: a masked position holds a token, or a decided one holds none")
    for step in trace.steps:
        if any(step.states[i] in trace.about.decided for i in step.drafts):
            raise TraceError(f"trace file is broken at steps.{step.index}.drafts: one is of a decided position")


def check_states(trace: Whole) -> None:
    """That every letter is declared, once, and that there is something to decide, and a way to be decided."""
    about = trace.about
    if len(about.kinds) != len(about.states):
        raise TraceError("trace file is broken at about.states: a letter is declared twice")
    if not about.blank or not about.decided:
        raise TraceError("trace file is broken at about.states: none is blank, or none is decided")
    used = [("start.states", trace.start.states), *((f"steps.{s.index}.states", s.states) for s in trace.steps)]
    used += [(f"about.thresholds.{n}", getattr(each, "enters", "")) for n, each in enumerate(about.thresholds)]
    verdicts = [*trace.causes, *(trace.diagnosis.verdicts if trace.diagnosis else ())]
    for verdict in verdicts:
        more = [verdict.together] if verdict.together else []
        causes = (*verdict.causes, *verdict.siblings, *more)
        used.append(("causes", "".join([verdict.state, *(cause.state for cause in causes)])))
    for name, letters in used:
        if unknown := set(letters) - about.kinds.keys():
            raise TraceError(f"trace file is broken at {name}: {min(unknown)!r} is not declared in about.states")


def check_board(trace: Whole) -> None:
    """What is told of an answer in rows speaks of places that there are."""
    board = trace.annotation.board if trace.annotation else None
    if board and (len(board.given) % board.width or board.box > board.width or len(board.given) > len(trace.fixed)):
        raise TraceError("trace file is broken at annotation.board: its rows do not fit the region")
    moments: list[Start | Step] = [trace.start, *trace.steps]
    for moment in moments:
        for mark in moment.annotation.look.marks if moment.annotation and moment.annotation.look else ():
            clash = len(mark.places) == len(set(mark.places)) == 2 or not mark.units
            if not clash or any(place >= len(trace.fixed) for place in mark.places):
                raise TraceError("trace file is broken at annotation.look: a mark is at no place")


def check_diagnosis(trace: Whole, diagnosis: Diagnosis) -> list[tuple[str, Any]]:
    """That a diagnosis speaks of this trace's states and steps; gives its lists of positions."""
    states = len(trace.steps) + 1
    for part, marks in {"winnable": diagnosis.winnable, "solutions": diagnosis.solutions or diagnosis.winnable}.items():
        if len(marks) != states:
            raise TraceError(f"trace file is broken at diagnosis.{part}: {len(marks)} entries for {states} states")
    if diagnosis.lost is not None and not (diagnosis.lost < states and diagnosis.winnable[diagnosis.lost - 1]):
        lost = f"step {diagnosis.lost} does not follow a winnable state"
        raise TraceError(f"trace file is broken at diagnosis.lost: {lost}")
    if diagnosis.lost is not None and any(diagnosis.winnable[diagnosis.lost :]):
        raise TraceError(f"trace file is broken at diagnosis.lost: a later state than {diagnosis.lost - 1} is winnable")
    named_kind = diagnosis.kind in ("ending", "commit", "conflict", "revocation")
    if diagnosis.lost is None and (diagnosis.guilty or named_kind):
        raise TraceError("trace file is broken at diagnosis.lost: no step is named")
    if len(diagnosis.guilty) != len(diagnosis.rescued) or not all(diagnosis.guilty):
        raise TraceError("trace file is broken at diagnosis.guilty: a set is empty, or rescued is of another length")
    named = {i for positions in diagnosis.guilty for i in positions}
    if named != diagnosis.written.keys() or not named >= set(diagnosis.accepted):
        raise TraceError("trace file is broken at diagnosis.written: its positions are not those of guilty")
    if max(diagnosis.written.values(), default=0) > (diagnosis.lost or 0):
        raise TraceError("trace file is broken at diagnosis.written: a step comes after the lost one")
    lists = [(f"diagnosis.guilty.{number}", positions) for number, positions in enumerate(diagnosis.guilty, 1)]
    lists += [(f"diagnosis.revocations.{number}", [each.position]) for number, each in enumerate(diagnosis.revocations)]
    parts = {"accepted": diagnosis.accepted, "alone": diagnosis.alone, "together": diagnosis.together}
    if shown := diagnosis.annotation:
        parts |= {"marked": [each.position for each in shown.marked], "held": shown.held, "tied": shown.tied}
    told = [*(each.step for each in diagnosis.revocations), *(each.since for each in (shown.marked if shown else ()))]
    if max(told, default=0) >= states or 0 in (each.step for each in diagnosis.revocations):
        raise TraceError("trace file is broken at diagnosis: it speaks of a step that is not there")
    return lists + [(f"diagnosis.{part}", positions) for part, positions in parts.items()]


def not_a_number(trace: Whole) -> str:
    """Where the first infinite or undefined number of a trace stands."""
    for step in trace.steps:
        for name, value in step.facts.items():
            if not math.isfinite(value):
                return f"steps.{step.index}.facts.{name}"
        for name, values in step.columns.items():
            if any(value is not None and not math.isfinite(value) for value in values):
                return f"steps.{step.index}.columns.{name}"
    return "a value"


def set_aside(body: dict[str, Any]) -> tuple[dict[int, Any], dict[int, Any]]:
    """What is packed in the steps, by their numbers, taken out of them: masks, and cells of graphs."""
    steps = body.get("steps")
    records = {n: step for n, step in enumerate(steps if isinstance(steps, list) else []) if isinstance(step, dict)}
    graphs = {n: step["graph"] for n, step in records.items() if isinstance(step.get("graph"), dict)}
    return tuple(  # type: ignore[return-value]
        {n: record.pop(part) for n, record in parts.items() if part in record}
        for part, parts in (("mask", records), ("cells", graphs))
    )


def read_bytes(path: str | Path) -> bytes:
    """A file of bounded size."""
    try:
        if Path(path).stat().st_size > MAX_FILE_BYTES:
            raise TraceError(f"trace file is larger than {MAX_FILE_BYTES >> 20} MB")
        return Path(path).read_bytes()
    except OSError as error:
        raise TraceError(f"trace file cannot be read: {error.strerror}") from None


def unpacked(data: bytes, room: Room) -> bytes:
    """A file's bytes without their gzip, if there is one: no more than there is room for, nor more parts.

    What JSON becomes in memory is told by its brackets, commas and colons; they are counted sooner than parsed.
    """
    plain = bounded_gunzip(data, room.unpacked) if data[:2] == b"\x1f\x8b" else data
    if len(plain) > room.unpacked:
        raise TraceError(f"trace file is larger than {room.unpacked >> 20} MB")
    if plain[:4] != b"PK\x03\x04":
        refuse_many(plain, room)
    return plain


def refuse_many(text: bytes, room: Room) -> None:
    """Refuse JSON that would become more lists, objects and entries than there is room for."""
    for what, signs, most in (
        ("lists and objects", (b"[", b"{"), room.records),
        ("entries", (b",",), room.entries),
        ("named entries", (b":",), room.named),
    ):
        if (count := sum(text.count(sign) for sign in signs)) > most:
            raise TraceError(f"the file holds {count} {what}; at most {most} are read")


def bounded_gunzip(data: bytes, most: int = MAX_FILE_BYTES) -> bytes:
    inflate = zlib.decompressobj(wbits=31)
    try:
        plain = inflate.decompress(data, most)
    except zlib.error:
        raise TraceError("trace file is not valid gzip") from None
    if not inflate.eof:
        raise TraceError(f"trace file is cut short, or unpacks to more than {most >> 20} MB")
    if inflate.unused_data:
        raise TraceError("trace file goes on after its gzip data")
    return plain
