"""Turns a trace into what the browser needs to draw it, as plain JSON that travels gzipped.

A payload is a `header` and one `step_payload` per step; a live run sends the header once and then step after step.
Everything the page says or draws is decided here or in `dard`: masks, reach, columns, sentences. The browser only
unpacks and draws. This module knows nothing about Gradio or torch, and no decoder by name: a trace describes itself.

Format, version 2. The header's keys have their plain names; `about` is the trace's own. A step has these:

| key | meaning |
| --- | --- |
| i, block | index of the step; block as [first position, one after the last] |
| tokens, states | after the step: ids, and a string of M, C, U |
| columns | by name, a number per position or null; five decimals that round to the same two as the number itself |
| events | by name, the positions something happened to |
| mask | base64 of zlib of rows of packed bits, each ^ the row above; rows and columns in packing order |
| plain | true for a mask of the block alone, without a shadow |
| reach | base64 of zlib of the reach depth where the mask hides: bytes, otherwise like the mask; absent if all are 0 |
| contaminated | {position: layers} of the verifications that a hidden candidate reaches |
| say, notes | the step's sentence; by column a sentence about it in this step |
| took | milliseconds of the forward pass and of everything else, megabytes at most in use so far (or null) |
| ended, finished | how the block ended; true if nothing is left to decide |
| right | whether the answer is right, where no position is masked and the prompt belongs to a task that has one |
| board | {"marks", "say", "lines"}: what cannot be right on the board, how it stands, at most two lines on it |
| graph | how positions depend on one another: positions in the rule's order, limit, blocked {position: [by, cell]} |
| soft | {position: what it is made of in the next pass, as [id, ten-thousandths, …]; the rest is mask} |
| words | texts of new tokens (only in a live run; otherwise the header has them) |
| life | {"words", "at": {position: slice}}, for short regions |

The header's `board` ({"width", "box", "given"}) is there where the prompt's task lays its answer out in rows and every
token is a word: the first positions are its cells. A mark has places, the units they share (two that clash) or none,
and a sentence. Its `causes` are those that were asked for, each a `verdict_payload`.

A slice of a token's life: y sentence, d deciding path, paths {name: top tokens as [id, ten-thousandths, …]},
k sentence about a contaminated verification, g the cells of its row that the rule looked at, as [position, byte, …].
The cells of a graph are asked for step by step (`graph`), or come along in the header's `graphs`.

The packing order of a block's positions is by the states before the step (M, C, U), then by falling confidence as it
travels, then by position; it makes a mask nearly blockwise constant. Both ends know it; nothing is read into it.
"""

from __future__ import annotations

import base64
import gzip
import json
import unicodedata
import weakref
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dard.about import EVENTS
from dard.reach import block_depth
from dard.state import CANDIDATE, MASKED, UNMASKED, InputError
from dard.tasks.base import END, Board
from dard.tasks.judge import board, judge
from dard.trace import Start, Step, Trace, Verdict
from dard.words import Words, because, causes_note, summary

VERSION = 2
LIVES_COME_ALONG = 64  # region length up to which every token's life travels with the steps
MAX_CELLS = 4_000_000  # positions × steps a browser is asked to hold
MAX_MASK_BLOCK = 512  # positions of a block whose mask is still drawn
MAX_MASK_BYTES = 96 << 20  # all masks of a payload, unpacked
WORD_AT_MOST = 48
NAME_AT_MOST = 120
SENTENCE_AT_MOST = 700
PROMPT_AT_MOST = 4000


def pack(value: Any) -> str:
    """Any JSON on its way to the browser: base64 of gzip."""
    return packed_bytes(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def packed_bytes(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def header(trace: Trace, name: str | None = None) -> dict[str, Any]:
    """Everything about a trace that is not in its steps."""
    length = len(trace.start.tokens)
    about = described(trace)
    size = trace.block_size
    block = size or trace.settings.get("block_length")
    laid = board_of(trace)
    return {
        "format": "dard-view",
        "version": VERSION,
        "name": sentence(name or about["title"], NAME_AT_MOST),
        "decoder": sentence(trace.decoder),
        "about": about,
        "model": sentence(trace.model, NAME_AT_MOST),
        "layers": trace.num_layers,
        "settings": clean(trace.settings),
        "prompt": sentence(trace.prompt, PROMPT_AT_MOST),
        "length": length,
        "fixed": [i for i, given_here in enumerate(trace.fixed) if given_here],
        "block": block if isinstance(block, int) and 0 < block < length else length,
        "lead": len(trace.prompt_tokens) % size if size else 0,
        "sees": size,
        "mask": trace.mask_id,
        "eos": trace.eos_id,
        "words": words(trace, trace.start.tokens),
        **({"board": {"width": laid.width, "box": laid.box, "given": laid.given}} if laid else {}),
        "start": {
            **look(trace, trace.start),
            "tokens": trace.start.tokens,
            "states": trace.start.states,
            "confidence": row(trace.start.confidence),
            "edited": trace.start.edited,
        },
        "finished": trace.finished,
        "causes": [verdict_payload(trace, verdict) for verdict in trace.causes],
        "lives_along": length <= LIVES_COME_ALONG,
    }


def described(trace: Trace) -> dict[str, Any]:
    """What a trace says of itself, every text bounded and visible."""
    about = trace.about
    body = asdict(about)
    body["title"] = about.title or trace.decoder
    body["shadow"] = about.shadow or any(step._mask is not None for step in trace.steps)
    body["events"] = {name: asdict(about.event(name)) for name in {**EVENTS, **about.events}}
    return clean(body)


def clean(value: Any) -> Any:
    """Every text inside as running text that cannot disturb the page."""
    if isinstance(value, str):
        return sentence(value)
    if isinstance(value, dict):
        return {clean(key): clean(each) for key, each in value.items()}
    return [clean(each) for each in value] if isinstance(value, list | tuple) else value


def payload(trace: Trace, name: str | None = None, lives: bool | None = None) -> dict[str, Any]:
    """A whole trace. With `lives` every token's life comes along whatever the length; None: for short regions."""
    length = len(trace.start.tokens)
    if length * max(1, len(trace.steps)) > MAX_CELLS:
        raise InputError(
            f"this trace has {length} positions and {len(trace.steps)} steps; "
            f"the viewer shows at most {MAX_CELLS} together"
        )
    along = length <= LIVES_COME_ALONG
    body = header(trace, name)
    used = {token for step in trace.steps for token in (*step.tokens, *(step.soft.ids if step.soft else ()))}
    body["words"] = words(trace, used | set(trace.start.tokens))
    body["steps"] = [step_payload(trace, step, with_words=False, with_life=along) for step in trace.steps]
    if lives and not along:
        body["lives"] = [life(trace, position) for position in range(length)]
    if lives and trace.about.graph:
        body["graphs"] = {step.index: graph(trace, step.index)["cells"] for step in trace.steps if step.graph}
    return body


def step_payload(trace: Trace, step: Step, with_words: bool = True, with_life: bool | None = None) -> dict[str, Any]:
    """One step. With `with_life` it carries every position's slice; None: in short regions."""
    peak = step.peak_bytes
    body: dict[str, Any] = {
        "i": step.index,
        "block": list(step.block),
        "tokens": step.tokens,
        "states": step.states,
        "columns": {sentence(name): row(values) for name, values in step.columns.items()},
        "events": {sentence(name): positions for name, positions in step.events.items()},
        "say": sentence(summary(step, trace.about, Words(trace.word))),
        "notes": {sentence(name): sentence(text) for name, text in step.notes.items()},
        "took": [
            round(1000 * step.forward_seconds, 1),
            round(1000 * step.other_seconds, 1),
            None if peak is None else round(peak / 1e6),
        ],
        "finished": set(step.states) == {UNMASKED} and not step.goes_on,
        **look(trace, step),
        **mask_sections(step),
    }
    if step.graph:
        body["graph"] = asdict(step.graph)
    if step.soft:
        body["soft"] = {i: flat((token, p) for token, p in step.soft.at(i) if p) for i in step.soft.positions}
    if (right := verdict(trace, step)) is not None:
        body["right"] = right
    if step.ended_by:
        body["ended"] = sentence(step.ended_by)
    if with_words:
        body["words"] = words(trace, {*step.tokens, *(step.soft.ids if step.soft else ())} - {*step.tokens_before})
    length = len(step.tokens)
    if with_life if with_life is not None else length <= LIVES_COME_ALONG:
        at = {i: life_slice(trace, step, i) for i in range(length)}
        body["life"] = {"words": slice_words(trace, at.values()), "at": at}
    return body


def verdict(trace: Trace, step: Step) -> bool | None:
    """Whether the text after a step is right. A trace has only the text of its last step; another's is known where
    the model's tokens are words with a space between them."""
    if trace.mask_id in step.tokens:
        return None
    if step is trace.steps[-1]:
        return judge(trace.prompt, trace.text)
    return judge(trace.prompt, written(trace, step)) if written(trace, trace.steps[-1]) == trace.text else None


def written(trace: Trace, step: Step) -> str:
    tokens = list(step.tokens)
    return " ".join(trace.word(token) for token in tokens[: [*tokens, trace.eos_id].index(trace.eos_id)])


def board_of(trace: Trace) -> Board | None:
    """How the answer stands in rows: where the prompt's task says so, the region has a position for every cell, and the
    model's tokens are words, as those of the prompt show."""
    laid = board(trace.prompt)
    if laid is None or len(trace.start.tokens) < len(laid.given):
        return None
    return laid if [trace.word(token) for token in trace.prompt_tokens] == trace.prompt.split() else None


def look(trace: Trace, moment: Start | Step) -> dict[str, Any]:
    """What cannot be right on the board, and how it stands."""
    laid = board_of(trace)
    if laid is None:
        return {}
    known = {trace.mask_id: None, trace.eos_id: END}
    marks, say = laid.look(
        [known[token] if token in known else shown(trace.word(token)) for token in moment.tokens],
        set(moment.states) == {UNMASKED},
    )
    lines = [mark.say for mark in marks[: 2 if len(marks) < 3 else 1]]
    if len(marks) > 2:
        units = list(dict.fromkeys(unit for mark in marks[1:] for unit in mark.units))
        rest = f": {', '.join(units[:3])}{' …' if len(units) > 3 else ''}" if units else ""
        lines.append(f"and {len(marks) - 1} more{rest}")
    return {"board": {"marks": [clean(asdict(mark)) for mark in marks], "say": sentence(say), "lines": clean(lines)}}


def life(trace: Trace, position: int) -> dict[str, Any]:
    """What the inspector shows of one token, at every step."""
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(trace.start.tokens):
        last = len(trace.start.tokens) - 1
        raise InputError(
            f"position = {str(position)[:20]!r} is not allowed; position must be a whole number from 0 to {last}"
        )
    slices = [life_slice(trace, step, position) for step in trace.steps]
    return {"position": position, "words": slice_words(trace, slices), "steps": slices}


def life_slice(trace: Trace, step: Step, position: int) -> dict[str, Any]:
    """What the inspector shows of one token at one step."""
    body: dict[str, Any] = {"y": sentence(trace.why(step, position, causes=False))}
    found = {name: guesses for name, top in step.paths.items() if (guesses := top.at(position))}
    if found:
        body["paths"] = {sentence(name): flat(guesses) for name, guesses in found.items()}
        declared = [path.name for path in trace.about.paths if path.name in found]
        body["d"] = sentence((declared or list(found))[-1])  # of several the last one decided
    if looked := looked_at(step, position):
        body["g"] = looked
    if step._mask is not None and (reached := analysis(step)) and position in reached.sources:
        layers, candidates = reached.sources[position]
        names = ", ".join(f"'{shown(trace.word(step.tokens_before[j]))}'" for j in candidates[:2] if j != position)
        own = "its own token" if position in candidates else ""
        more = f" and {len(candidates) - 3} more" if len(candidates) > 3 else ""
        what = " and ".join(part for part in (own, names) if part)
        body["k"] = (
            f"Contaminated: {what}{more}, hidden from this verification, "
            f"can reach it through {counted(layers, 'layer', 'layers')}."
        )
    return body


def verdict_payload(trace: Trace, verdict: Verdict) -> dict[str, Any]:
    """A verdict and its causes, each [position, word, probability, state, whether the mask hid it]. `because` follows
    the position's own sentence."""

    def word(place: int) -> str:
        return shown(trace.word(trace.token_before(verdict.step, place)))

    return {
        "step": verdict.step,
        "position": verdict.position,
        "word": shown(trace.word(verdict.token)),
        "path": sentence(verdict.path),
        "actual": short_probability(verdict.actual),
        "state": verdict.state,
        "causes": [
            [each.position, word(each.position), short_probability(each.without), each.state, int(each.shown)]
            for each in verdict.causes
        ],
        "left": len(verdict.left),
        "share": verdict.share,
        "because": sentence(because(trace, verdict)),
        "note": sentence(causes_note(trace, verdict)),
    }


def short_probability(value: float) -> float:
    return round(value, 4)


def packed_weights(weights: NDArray[np.float32]) -> str:
    """Attention [layers, 2B, 2B] in whole ten-thousandths, two bytes each, the lower one first."""
    return packed(np.rint(weights * 10_000).clip(0, 10_000).astype("<u2").view(np.uint8))


def flat(guesses: Iterable[tuple[int, float]]) -> list[int]:
    """Tokens and their probabilities, as they travel."""
    return [value for token, p in guesses for value in (token, round(p * 10_000))]


# The graph.


def looked_at(step: Step, position: int) -> list[int]:
    """What a rule compared a position with: those accepted before it, the most strongly tied first, and the cells."""
    found = step.graph
    if found is None or found.cells is None or position not in found.positions:
        return []
    row = found.positions.index(position)
    before = [(int(found.cells[row, k]), i) for k, i in enumerate(found.positions[:row]) if i not in found.blocked]
    return [value for cell, i in sorted(before, key=lambda pair: -pair[0]) for value in (i, cell)]


def graph(trace: Trace, index: int) -> dict[str, Any]:
    """The cells of a step's graph, rows in the order of its positions; nothing where there are none."""
    found = trace.steps[index - 1].graph if 1 <= index <= len(trace.steps) else None
    return {"step": index, "cells": packed(found.cells) if found and found.cells is not None else ""}


# The mask.


@dataclass(frozen=True)
class Analysis:
    """Reach of one step. `depth` is 0 where the mask is open or nothing arrives; `contaminated` and `sources` speak of
    verifications: per block position the fewest layers, and by position those layers and the candidates heard of."""

    depth: NDArray[np.uint8] | None
    contaminated: NDArray[np.uint8]
    sources: dict[int, tuple[int, list[int]]]


_analyses: dict[int, tuple[weakref.ref[Step], Analysis | None]] = {}


def analysis(step: Step) -> Analysis | None:
    """Computed once per step; None without a mask."""
    known = _analyses.get(id(step))
    if known is not None and known[0]() is step:
        return known[1]
    found = analyse(step)
    key = id(step)
    _analyses[key] = (weakref.ref(step, lambda _: _analyses.pop(key, None)), found)
    return found


def analyse(step: Step) -> Analysis | None:
    mask, depth = step.mask, block_depth(step)
    if mask is None or depth is None:
        return None
    start, end = step.block
    length = end - start
    hidden = np.where(mask, 0, depth).astype(np.uint8)
    states = np.array(list(step.states_before[start:end]))
    verified = (states != MASKED) & ~np.array(step.fixed[start:end], dtype=bool)
    heard = np.where(verified[:, None] & (states == CANDIDATE)[None, :], hidden[length:, :length], 0)
    first = np.where(heard.any(1), np.where(heard == 0, 255, heard).min(1), 0).astype(np.uint8)
    sources = {}
    for i in np.flatnonzero(first):
        order = sorted(np.flatnonzero(heard[i]), key=lambda j: (heard[i, j], j))
        sources[start + int(i)] = (int(first[i]), [start + int(j) for j in order])
    return Analysis(hidden if hidden.any() else None, first, sources)


def mask_sections(step: Step) -> dict[str, Any]:
    """The mask of a step, what gets through it, and which verifications that concerns."""
    start, end = step.block
    mask = step.mask
    if mask is None or end - start > MAX_MASK_BLOCK or not masks_fit(step):
        return {}
    order = packing_order(step)
    body: dict[str, Any] = {"mask": packed(down(np.packbits(mask[np.ix_(order, order)], axis=1)))}
    if step.plain:
        body["plain"] = True
    reached = analysis(step)
    if reached is not None and reached.contaminated.any():
        body["contaminated"] = {
            start + int(i): int(reached.contaminated[i]) for i in np.flatnonzero(reached.contaminated)
        }
    if reached is not None and reached.depth is not None:
        body["reach"] = packed(down(reached.depth[np.ix_(order, order)]))
    return body


def packing_order(step: Step) -> NDArray[np.int64]:
    """The order in which the rows and columns of a mask travel, [2B]; [B] for a plain one."""
    start, end = step.block
    states, confidence = step.states_before, step.confidence_before
    order = sorted(range(start, end), key=lambda i: ("MCU".index(states[i]), -short(confidence[i] or 0), i))
    positions = np.array(order) - start
    return positions if step.plain else np.concatenate([positions, positions + end - start])


def masks_fit(step: Step) -> bool:
    """Whether the masks up to this step stay within what a browser is asked to hold."""
    size = 2 * (step.block[1] - step.block[0])
    return step.index * size * size // 8 <= MAX_MASK_BYTES


def down(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each row ^ the row above it: a column that changes as a whole becomes one byte."""
    out = rows.copy()
    out[1:] ^= rows[:-1]
    return out


def packed(data: NDArray[np.uint8]) -> str:
    return base64.b64encode(zlib.compress(data.tobytes(), 9)).decode()


# Numbers and text.


def short(value: float) -> float:
    """A number with five decimals that still rounds to the same two as the number itself.

    Fewer would make confidences equal that are not, and a mask is small only in the order of its candidates.

    >>> short(0.1147974), short(0.5), short(0.9999999), short(-0.0049999)
    (0.1148, 0.5, 1.0, -0.00499)
    """
    hundredths = round(100 * round(value, 2))  # as it is written in a sentence
    return min(max(round(100_000 * value), 1000 * hundredths - 499), 1000 * hundredths + 499) / 100_000


def row(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else short(value) for value in values]


def words(trace: Trace, tokens: Iterable[int]) -> dict[str, str]:
    return {str(token): shown(trace.word(token)) for token in sorted(set(tokens))}


def slice_words(trace: Trace, slices: Iterable[dict[str, Any]]) -> dict[str, str]:
    return words(trace, (token for part in slices for top in part.get("paths", {}).values() for token in top[::2]))


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


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
