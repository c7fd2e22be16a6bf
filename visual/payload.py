"""A trace on its way to the browser: what a file holds, as it stands there, and in a live run one step after the other.

A payload is the JSON of a trace file (`dard.trace.Trace.as_dict`), annotations included, with these differences: `name`
is what a lane is called, `about.events` has everybody's events, too, `token_text` only the words that are needed, and a
step that came alone has `words`, those that are new with it. In a long region `asks` is true: predictions (`paths`),
sentences (`why`) and the cells of graphs stay here until somebody looks, and `life` and `graph` give them. Otherwise
the annotation of a step has the sentences about positions that did not change, which no file holds.
Does not know: Gradio, torch, or any decoder by name; the browser makes its texts visible and bounds them.
"""

from __future__ import annotations

import base64
import gzip
import json
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dard.core.errors import InputError
from dard.trace import Layers, Step, Trace, Verdict
from dard.trace.about import EVENTS
from dard.trace.annotations import (
    annotated_diagnosis,
    annotated_head,
    annotated_layers,
    annotated_step,
    annotated_verdict,
)
from dard.trace.masks import pack_cells
from dard.trace.records import Top
from dard.trace.words import spoken_of

LIVES_COME_ALONG = 64  # region length up to which everything about every token travels with the steps
MAX_CELLS = 4_000_000  # positions × steps a browser is asked to hold
MAX_SENTENCES = 100_000  # about positions that did not change, in a page of one file
MAX_MASK_BLOCK = 512  # positions of a block whose mask is still drawn
MAX_MASK_BYTES = 96 << 20  # all masks of a payload, unpacked
WORD_AT_MOST = 48
SENTENCE_AT_MOST = 700


def pack(value: Any) -> str:
    """Any JSON on its way to the browser: base64 of gzip."""
    return packed_bytes(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def packed_bytes(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def header(trace: Trace, name: str | None = None, answer: str | None = None) -> dict[str, Any]:
    """A trace as a live run begins: everything but its steps."""
    body = annotated_head(trace, answer)
    events = {each: asdict(trace.about.event(each)) for each in {**EVENTS, **trace.about.events}}
    judged = {token for verdict in trace.causes for token in tokens_of(trace, verdict)}
    judged = judged.union(*(each.used for each in trace.layers))
    return body | {
        "name": name or trace.about.title or trace.decoder,
        "about": body["about"] | {"events": events},
        "token_text": words(trace, {*trace.start.tokens, *judged}),
        "asks": len(trace.start.tokens) > LIVES_COME_ALONG,
        "steps": [],
    }


def payload(trace: Trace, name: str | None = None, lives: bool = False, answer: str | None = None) -> dict[str, Any]:
    """A whole trace. With `lives` nothing has to be asked for, whatever the length; only what is known of positions
    that did not change is left out of a very long one. `answer` is a pattern for where the answer stands."""
    length = len(trace.start.tokens)
    if length * max(1, len(trace.steps)) > MAX_CELLS:
        raise InputError(
            f"this trace has {length} positions and {len(trace.steps)} steps; "
            f"the viewer shows at most {MAX_CELLS} together"
        )
    body = header(trace, name, answer)
    body["asks"] &= not lives
    still = length <= LIVES_COME_ALONG or length * len(trace.steps) <= MAX_SENTENCES
    body["steps"] = [sent(trace, step, not body["asks"], still) for step in trace.steps]
    used = {token for step in trace.steps for token in used_by(step, not body["asks"])}
    body["token_text"] |= words(trace, used)
    return body


def step_payload(trace: Trace, step: Step) -> dict[str, Any]:
    """One step of a live run."""
    whole = len(step.tokens) <= LIVES_COME_ALONG
    return {**sent(trace, step, whole), "words": words(trace, used_by(step, whole) - {*step.tokens_before})}


def sent(trace: Trace, step: Step, whole: bool, still: bool = True) -> dict[str, Any]:
    """A step with everything, or without what is asked for; `still`: with a sentence about whatever stayed."""
    body = annotated_step(trace, step)
    if not masks_fit(step):
        body.pop("mask", None)
    if not whole:
        for part in ("paths", "why"):
            body.pop(part, None)
        body.get("graph", {}).pop("cells", None)
    elif still:
        unchanged = [i for i in range(len(step.tokens)) if i not in step.why]
        body["annotation"]["why"] = {str(i): trace.why(step, i, causes=False) for i in unchanged}
    return body


def used_by(step: Step, whole: bool) -> set[int]:
    """The tokens that a step speaks of."""
    tables = [*([step.soft] if step.soft else []), *(step.paths.values() if whole else [])]
    return {*step.read, *(token for table in tables for token in table.ids)}


def masks_fit(step: Step) -> bool:
    """Whether the masks up to this step stay within what a browser is asked to hold."""
    count = step.block[1] - step.block[0]
    return count <= MAX_MASK_BLOCK and step.index * count * count // 2 <= MAX_MASK_BYTES


def words(trace: Trace, tokens: Iterable[int]) -> dict[str, str]:
    return {str(token): trace.word(token) for token in sorted(set(tokens))}


def life(trace: Trace, position: int) -> dict[str, Any]:
    """What a step tells of one position, for every step."""
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(trace.start.tokens):
        last = len(trace.start.tokens) - 1
        raise InputError(
            f"position = {str(position)[:20]!r} is not allowed; position must be a whole number from 0 to {last}"
        )
    tokens = {token for step in trace.steps for top in step.paths.values() for token, _ in top.at(position)}
    return {
        "position": position,
        "words": words(trace, tokens),
        "steps": [part_about(trace, step, position) for step in trace.steps],
    }


def part_about(trace: Trace, step: Step, position: int) -> dict[str, Any]:
    """The part of a step that is about a position. `cells`: the row of its graph."""
    body: dict[str, Any] = {"why": {str(position): trace.why(step, position, causes=False)}}
    if tops := {name: only(top, position) for name, top in step.paths.items() if position in top.row_of}:
        body["paths"] = tops
    if step.graph and step.graph.cells is not None and position in step.graph.positions:
        body["cells"] = step.graph.cells[step.graph.positions.index(position)].tolist()
    return body


def only(top: Top, position: int) -> dict[str, Any]:
    row = slice(top.row_of[position] * top.k, (top.row_of[position] + 1) * top.k)
    return asdict(Top([position], top.k, top.ids[row], top.p[row]))


def graph(trace: Trace, index: int) -> dict[str, Any]:
    """The cells of a step's graph, rows in the order of its positions; nothing where there are none."""
    graph = trace.steps[index - 1].graph if 1 <= index <= len(trace.steps) else None
    return {"step": index, "cells": pack_cells(graph._cells) if graph and graph._cells is not None else ""}


def verdict_payload(trace: Trace, verdict: Verdict) -> dict[str, Any]:
    """A verdict and its causes, and the words in it."""
    return {"verdict": annotated_verdict(trace, verdict), "words": words(trace, tokens_of(trace, verdict))}


def diagnosis_payload(trace: Trace) -> dict[str, Any] | None:
    """What is known of where the answer was lost."""
    return annotated_diagnosis(trace, trace.diagnosis) if trace.diagnosis else None


def tokens_of(trace: Trace, verdict: Verdict) -> set[int]:
    others = {trace.steps[verdict.step - 1].tokens[cause.position] for cause in verdict.siblings}
    seen = {trace.token_before(verdict.step, cause.position) for cause in verdict.causes}
    return seen | others | spoken_of(verdict)


def layers_payload(trace: Trace, layers: Layers) -> dict[str, Any]:
    """What the layers said of a position, and the words in it."""
    return {"layers": annotated_layers(trace, layers), "words": words(trace, layers.used)}


def packed_weights(weights: NDArray[np.float32]) -> str:
    """Attention [layers, 2B, 2B] in whole ten-thousandths, two bytes each, the lower one first."""
    data = np.rint(weights * 10_000).clip(0, 10_000).astype("<u2").tobytes()
    return base64.b64encode(zlib.compress(data, 9)).decode()


# Text that the server itself shows.


def shown(text: str, at_most: int = WORD_AT_MOST) -> str:
    """A token's text with everything invisible made visible, and of bounded length.

    >>> shown(" the"), shown("\\n"), shown("a\\u202eb"), shown("")
    ('␣the', '↵', 'a⟨202E⟩b', '∅')
    """
    cut = text[: at_most + 1]
    out = (cut if cut.isprintable() else "".join(map(visible, cut))).replace(" ", "␣") or "∅"
    return out if len(text) <= at_most and len(out) <= 2 * at_most else out[: at_most - 1] + "…"


def sentence(text: str, at_most: int = SENTENCE_AT_MOST) -> str:
    """Running text: spaces stay, control and direction characters are made visible."""
    cut = text if len(text) <= at_most else text[: at_most - 1] + "…"
    return cut if cut.isprintable() else "".join(visible(character) for character in cut)


NAMED = {"\n": "↵", "\t": "⇥", "\u2028": "↵", "\u2029": "↵"}


def visible(character: str) -> str:
    if character in NAMED:
        return NAMED[character]
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cs", "Cn", "Co") or (kind == "Cf" and character != "\u200d"):
        return f"⟨{ord(character):04X}⟩"
    return "␣" if kind == "Zs" and character != " " else character
