"""Turns a trace into what the browser needs to draw it, as small JSON.

A payload is a `header` and one `step_payload` per step; a live run sends the header once and then step after step.
Everything the page says or draws is decided here or in `dard`: masks, reach, weights, sentences. The browser only
unpacks and draws. This module knows nothing about Gradio; torch is touched only by `dard.attention`, for the reach.

Format, version 1. The header's keys have their plain names. A step has these:

| key | meaning |
| --- | --- |
| i, b | index of the step; block as [first position, one after the last] |
| d | new tokens as [position, id, position, id, …]; a position that became M holds the mask |
| s | positions by new state, {"M": […], "C": […], "U": […]}, only those that changed |
| ev | events by letter: p promoted, d demoted, w weakened, r replaced, a accepted, e edited, f forced |
| z | base64 of zlib of the sections below, in this order |
| n | [first position, count] of the confidences in `z`: whole thousandths as uint16, low bytes then high bytes |
| w | 0 if the weights are what the header's λ and p0 make of this step's promotions and demotions (checked here); |
|   | otherwise they are in `z` for the block: thousandths as uint16 (65535: none) in two planes, then P and D as |
|   | bytes relative to `w` itself, the largest of them; all three as differences from the entry before |
| k | 1 if `z` holds, per block position, through how many layers its verification is contaminated (0: it is not) |
| m | 1 if `z` holds the mask: rows of packed bits, each ^ the row above; rows and columns in packing order |
| r | base64 of zlib of the reach depth where the mask hides: bytes, otherwise like the mask; absent if all are 0 |
| say, wn | the step's sentence; key of the header's note about the weights |
| t | milliseconds of the forward pass and of everything else, megabytes at most in use so far (or null) |
| e, f | how the block ended; 1 if nothing is left to decide |
| words | texts of the tokens in `d` (only in a live run; otherwise the header has them) |
| life | base64 of zlib of JSON {"words", "at": {position: slice}}, for short regions |

A slice of a token's life: y sentence, d deciding path, x / s / m top tokens as [id, ten-thousandths, …], w [P, D, w],
k sentence about a contaminated verification.

The packing order of a block's positions is by the states before the step (M, C, U), then by falling confidence in
thousandths, then by position; it makes a mask nearly blockwise constant. Both ends know it; nothing is read into it.
"""

from __future__ import annotations

import base64
import json
import math
import unicodedata
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dard.explain import explain_in, summary
from dard.state import CANDIDATE, MASKED, UNMASKED, InputError
from dard.trace import Step, Trace
from dard.weights import mixing_weights

VERSION = 1
LIVES_COME_ALONG = 64  # region length up to which every token's life travels with the steps
MAX_CELLS = 4_000_000  # positions × steps a browser is asked to hold
MAX_MASK_BLOCK = 512  # positions of a block whose mask is still drawn
MAX_MASK_BYTES = 96 << 20  # all masks of a payload, unpacked
WORD_AT_MOST = 48
NAME_AT_MOST = 120
SENTENCE_AT_MOST = 700
PROMPT_AT_MOST = 4000
NONE = 65535
TRACE_DIGITS = 1e-6  # a trace keeps six decimals


@dataclass(frozen=True)
class Kind:
    """What the page must know about a decoder; a test keeps it equal to the decoder's own class."""

    title: str
    rule: str
    states: str = "MU"
    shadow: bool = False
    thresholds: tuple[tuple[str, str, str], ...] = ()  # setting, symbol, path it is compared with ("" for all)


KINDS = {
    "dard": Kind(
        "DARD", "checks candidates against surer ones only", "MCU", True, (("tau_c", "τ_c", ""), ("tau_u", "τ_u", ""))
    ),
    "wino": Kind(
        "WINO",
        "fills above τ1, takes back below τ2",
        "MU",
        True,
        (("threshold", "τ1", "x"), ("threshold_back", "τ2", "s")),
    ),
    "saber": Kind("Saber", "fills above the mean, takes back the largest drops"),
    "standard": Kind("Standard", "the surest first, nothing is taken back"),
    "threshold": Kind(
        "Threshold (Fast-dLLM)", "all above τ at once, nothing is taken back", thresholds=(("threshold", "τ", "x"),)
    ),
    "entropy_bound": Kind("Entropy bound (EB-Sampler)", "as many as an entropy budget allows"),
}

# Why a query sees a key, or does not. Keys: "self" and "own" for a shadow
# and its own token or mask; otherwise query path, query state, key path, key state, visible (1 or 0);
# "*" stands for any state. {q} and {k} are the two positions' tokens.
DARD_CELLS = {
    "self": "a shadow never sees its own token",
    "own": "its own token is hidden from it, so it sees its own mask",
    "xMx*1": "a masked query in x sees everything in x",
    "xMs*0": "a masked query in x sees the tokens themselves, so it needs no shadow",
    "**xU1": "unmasked tokens are visible to everyone",
    "**sU0": "it sees the unmasked token itself instead",
    "sMxC0": "the cautious path treats candidates as masks",
    "sMsC1": "the candidate itself is hidden from the cautious path",
    "*UxC0": "an unmasked query sees unmasked tokens only",
    "*UsC1": "the candidate itself is hidden from it",
    "**xM0": "nothing is decided there; it sees the shadow instead",
    "**sM1": "a masked position is seen through its shadow",
}
ORDER_WORDS = {
    "confidence": ("at least as confident", "less confident"),
    "entropy": ("of at most the same entropy", "of higher entropy"),
    "margin": ("of at least the same margin", "of smaller margin"),
    "l2r": ("not further right", "further right"),
    "bidirectional": ("a candidate too, and all candidates see each other", "hidden"),
}
WINO_CELLS = {
    "self": "a shadow never sees its own token",
    "own": "in WINO shadows see each other",
    "x*x*1": "in WINO every token in x sees all of x",
    "x*s*0": "in WINO tokens in x see no shadow",
    "s*x*1": "in WINO a shadow sees every other token, however unsure",
    "s*s*1": "in WINO shadows see each other",
}


def header(trace: Trace, name: str | None = None) -> dict[str, Any]:
    """Everything about a trace that is not in its steps."""
    length = len(trace.start.tokens)
    kind = KINDS.get(trace.decoder) or Kind(
        shown(trace.decoder), "", "MCU", any(s._mask is not None for s in trace.steps)
    )
    masked = trace.start.states.count(MASKED)
    given = sum(trace.fixed)
    return {
        "format": "dard-view",
        "version": VERSION,
        "name": sentence(name or kind.title, NAME_AT_MOST),
        "title": kind.title,
        "rule": kind.rule,
        "decoder": trace.decoder,
        "model": shown(trace.model, NAME_AT_MOST),
        "layers": trace.num_layers,
        "settings": {
            shown(key): value if not isinstance(value, str) else shown(value) for key, value in trace.settings.items()
        },
        "prompt": sentence(trace.prompt, PROMPT_AT_MOST),
        "length": length,
        "fixed": [i for i, given_here in enumerate(trace.fixed) if given_here],
        "block": block
        if isinstance(block := trace.settings.get("block_length"), int) and 0 < block < length
        else length,
        "mask": trace.mask_id,
        "eos": trace.eos_id,
        "states": kind.states,
        "shadow": kind.shadow,
        "no_shadow": no_shadow(kind),
        "thresholds": [
            {"at": at, "name": symbol, "path": path}
            for key, symbol, path in kind.thresholds
            if isinstance(at := trace.settings.get(key), (int, float)) and 0 <= at <= 1
        ],
        "cells": cells(trace),
        "weights": weight_words(trace) if trace.decoder == "dard" else None,
        "words": words(trace, trace.start.tokens),
        "start": {
            "tokens": trace.start.tokens,
            "states": trace.start.states,
            "confidence": [thousandths(c) for c in trace.start.confidence],
            "edited": trace.start.edited,
            "say": f"Start. {counted(masked, 'position is', 'positions are')} masked"
            + (f", {counted(given, 'is', 'are')} given by the template." if given else "."),
            "why": {
                "given": "Given by the template: always unmasked, never verified. Every other token may see it.",
                "free": "Masked, never decided. The first forward pass has not run yet.",
                "edited": "Put here by hand, before the first forward pass.",
            },
        },
        "finished": trace.finished,
        "lives_along": length <= LIVES_COME_ALONG,
    }


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
    used = {token for step in trace.steps for token in step.tokens}
    body["words"] = words(trace, used | set(trace.start.tokens))
    body["steps"] = [step_payload(trace, step, with_words=False, with_life=along) for step in trace.steps]
    if lives and not along:
        body["lives"] = [packed_json(life(trace, position)) for position in range(length)]
    return body


def step_payload(trace: Trace, step: Step, with_words: bool = True, with_life: bool | None = None) -> dict[str, Any]:
    """One step, against the one before it. With `with_life` it carries every position's slice."""
    start, end = step.block
    before = step.tokens_before
    new = [i for i, token in enumerate(step.tokens) if token != before[i] and step.states[i] != MASKED]
    body: dict[str, Any] = {"i": step.index, "b": [start, end], "say": sentence(summary(step, trace.word))}
    if new:
        body["d"] = [value for i in new for value in (i, step.tokens[i])]
        if with_words:
            body["words"] = words(trace, (step.tokens[i] for i in new))
    moved = {
        letter: [i for i, now in enumerate(step.states) if now == letter and step.states_before[i] != letter]
        for letter in (MASKED, CANDIDATE, UNMASKED)
    }
    if moved := {letter: positions for letter, positions in moved.items() if positions}:
        body["s"] = moved
    events = {
        "p": step.promoted, "d": step.demoted, "w": step.weakened, "r": step.replaced, "a": step.accepted,
        "e": step.edited, "f": step.forced,
    }  # fmt: skip
    if events := {letter: positions for letter, positions in events.items() if positions}:
        body["ev"] = events
    body |= sections(trace, step)
    if trace.decoder == "dard":
        body["wn"] = weight_note(trace, step)
    seconds, peak = (step.forward_seconds, step.other_seconds), step.peak_bytes
    body["t"] = [*(round(1000 * s, 1) for s in seconds), None if peak is None else round(peak / 1e6)]
    if step.ended_by:
        body["e"] = shown(step.ended_by)
    if set(step.states) == {UNMASKED}:
        body["f"] = 1
    length = len(step.tokens)
    if with_life if with_life is not None else length <= LIVES_COME_ALONG:
        at = {i: life_slice(trace, step, i) for i in range(length)}
        body["life"] = packed_json({"words": slice_words(trace, at.values()), "at": at})
    return body


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
    body: dict[str, Any] = {"y": why(trace, step, position)}
    for path, key in (("x", "x"), ("s", "s"), ("mix", "m")):
        if path in step.top and (guesses := step.top[path].at(position)):
            body[key] = [value for token, p in guesses for value in (token, round(p * 10_000))]
    if decides := deciding_path(step, position):
        body["d"] = decides
    numbers = (step.score_p[position], step.score_d[position], step.weights[position])
    if None not in numbers:
        body["w"] = [round(value, 4) for value in numbers if value is not None]
    if step._mask is not None and (found := analysis(step)) and position in found.sources:
        layers, candidates = found.sources[position]
        names = ", ".join(f"'{shown(trace.word(step.tokens_before[j]))}'" for j in candidates[:2] if j != position)
        own = "its own token" if position in candidates else ""
        more = f" and {len(candidates) - 3} more" if len(candidates) > 3 else ""
        what = " and ".join(part for part in (own, names) if part)
        body["k"] = (
            f"Contaminated: {what}{more}, hidden from this verification, "
            f"can reach it through {counted(layers, 'layer', 'layers')}."
        )
    return body


def why(trace: Trace, step: Step, position: int) -> str:
    """The sentence about a position. A trace from a file may lack the settings that a sentence needs."""
    try:
        return sentence(explain_in(trace, step, position))
    except (KeyError, TypeError, ValueError):
        return "This trace does not say with which settings it was made, so the step cannot be explained."


def deciding_path(step: Step, position: int) -> str | None:
    """The column of the inspector whose first token was decided on: "x", "s" or "m"."""
    start, end = step.block
    if step.fixed[position] or not start <= position < end:
        return None
    if step.states_before[position] != MASKED and "s" in step.top and position in step.top["s"].row_of:
        return "s"
    if "mix" in step.top and position in step.top["mix"].row_of:
        return "m"
    return "x" if "x" in step.top and position in step.top["x"].row_of else None


# What the mask says.


def cells(trace: Trace) -> dict[str, str]:
    """Why a cell of the mask is open or closed, in words."""
    if trace.decoder == "wino":
        return WINO_CELLS
    if trace.decoder != "dard":
        return {}
    surer, less_sure = ORDER_WORDS.get(str(trace.settings.get("ordering")), ("ranked higher", "ranked lower"))
    return DARD_CELLS | {
        "*CxC1": f"{{k}} is {surer}",
        "*CxC0": f"{{k}} is {less_sure}",
        "*CsC0": f"{{k}} is {surer}, so the token itself is seen",
        "*CsC1": f"{{k}} is {less_sure}, so only its mask is seen",
    }


def no_shadow(kind: Kind) -> str:
    """Why there is no mask and no weight to show."""
    if kind.shadow:
        return ""
    return (
        f"{kind.title} has no shadow sequence: in every pass each position sees the whole sequence, so there is "
        "no mask to draw, and it makes one prediction per position, so there is nothing to mix."
    )


@dataclass(frozen=True)
class Analysis:
    """Reach of one step. `depth` is 0 where the mask is open or nothing arrives; `contaminated` and `sources` speak of
    verifications: per block position the fewest layers, and by position those layers and the candidates heard of."""

    depth: NDArray[np.uint8] | None
    contaminated: NDArray[np.uint8]
    sources: dict[int, tuple[int, list[int]]]


_analyses: dict[int, tuple[weakref.ref[Step], Analysis | None]] = {}


def analysis(step: Step) -> Analysis | None:
    """Computed once per step; None without a mask, or where torch is not installed."""
    known = _analyses.get(id(step))
    if known is not None and known[0]() is step:
        return known[1]
    found = analyse(step)
    key = id(step)
    _analyses[key] = (weakref.ref(step, lambda _: _analyses.pop(key, None)), found)
    return found


def analyse(step: Step) -> Analysis | None:
    mask = step.mask
    if mask is None:
        return None
    try:
        import torch

        from dard.attention import reach_depth, with_outside
    except ImportError:  # a trace replays without torch; only the reach is missing then
        return None
    whole = torch.tensor(mask)
    if step.outside_keys is not None:
        whole = with_outside(whole, torch.tensor(step.outside_keys))
    size = len(mask)
    depth = reach_depth(whole, step.num_layers).numpy()[:size, :size]
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


# Weights.


def weight_words(trace: Trace) -> dict[str, Any] | None:
    """The sentences around w, and the prior that stands in its formula."""
    decay, prior, mixing = (trace.settings.get(name) for name in ("lambda_", "p0", "mixing"))
    if not isinstance(decay, float) or not 0 < decay < 1 or not isinstance(prior, (int, float)):
        return None
    half = math.log(0.5) / math.log(decay)
    fixed = isinstance(mixing, (int, float))
    trusting = "D = 0, so every w is 1 and masked positions trust the x path."
    return {
        "p0": prior,
        "lambda": decay,
        "fixed": mixing if fixed else None,
        "kernel": "Each ▲ ▼ pulls by λ to the power of its distance; "
        f"with λ = {decay:.3f} that halves every {half:.1f} positions.",
        "notes": {
            "start": "No forward pass has run yet, so there is no weight.",
            "commit": "This pass only commits what is left, with everything in view: there is no second path to mix.",
            "full": "No position was masked in this step, so no weight was needed.",
            "fixed": f"The weight is set to {mixing} for all positions." if fixed else "",
            "still": "No candidate was promoted or demoted in this step: " + trusting,
            "trust": "Candidates were promoted and none was demoted: " + trusting,
            "mixed": "w is the share of the x path, which sees the candidates; the s path does not.",
        },
    }


def weight_note(trace: Trace, step: Step) -> str:
    """The key of the sentence that is true of this step's weights."""
    found = [w for w in step.weights if w is not None]
    if step._mask is None and not found:
        return "commit"
    if not found:
        return "full"
    if trace.settings.get("mixing") != "adaptive":
        return "fixed"
    if any(w != 1 for w in found):
        return "mixed"
    return "trust" if step.promoted else "still"


# Packing.


def sections(trace: Trace, step: Step) -> dict[str, Any]:
    """The binary part of a step: `z` and the keys that say what is in it, and `r`."""
    start, end = step.block
    parts: list[bytes] = []
    body: dict[str, Any] = {}
    changed = [i for i, (a, b) in enumerate(zip(step.confidence, step.confidence_before, strict=True)) if a != b]
    if changed:
        first, last = changed[0], changed[-1] + 1
        values = np.array([thousandths(c) for c in step.confidence[first:last]], dtype=np.uint16)
        body["n"] = [first, last - first]
        parts += planes(values)
    found = [w for w in step.weights[start:end] if w is not None]
    if found and weights_follow(trace, step):
        body["w"] = 0
    elif found:
        p, d = (column(row[start:end]) for row in (step.score_p, step.score_d))
        largest = max(1.0, float(np.nanmax(np.nan_to_num(np.concatenate([p, d])))))
        body["w"] = round(largest, 3)
        weights = [NONE if w is None else thousandths(w) for w in step.weights[start:end]]
        parts += planes(along(np.array(weights, dtype=np.uint16)))
        parts += [along(np.rint(255 * np.nan_to_num(row) / largest).astype(np.uint8)).tobytes() for row in (p, d)]
    mask = step.mask
    if mask is not None and end - start <= MAX_MASK_BLOCK and masks_fit(step):
        reached = analysis(step)
        if reached is not None and reached.contaminated.any():
            body["k"] = 1
            parts.append(reached.contaminated.tobytes())
        order = packing_order(step)
        body["m"] = 1
        parts.append(down(np.packbits(mask[np.ix_(order, order)], axis=1)).tobytes())
        if reached is not None and reached.depth is not None:
            body["r"] = packed(down(reached.depth[np.ix_(order, order)]).tobytes())
    if parts:
        body["z"] = packed(b"".join(parts))
    return body


def weights_follow(trace: Trace, step: Step) -> bool:
    """Whether the browser can work the weights out by itself: all and only the masked positions of the block have one,
    and it is what the promotions and demotions give."""
    words = weight_words(trace)
    if words is None or trace.settings.get("mixing") != "adaptive":
        return False
    start, end = step.block
    masked = [i for i in range(start, end) if step.states_before[i] == MASKED]
    demoted = [i for i in step.demoted if step.states_before[i] == CANDIDATE]
    if [i for i, w in enumerate(step.weights) if w is not None] != masked:
        return False
    made = mixing_weights(masked, step.promoted, demoted, words["lambda"], words["p0"])
    told = [column([row[i] for i in masked]) for row in (step.score_p, step.score_d, step.weights)]
    if not np.allclose(told, made, rtol=0, atol=TRACE_DIGITS):
        return False
    # What is shown must not depend on who worked it out, so the browser too keeps six decimals before it rounds.
    return [thousandths(w) for w in told[2]] == [thousandths(round(w, 6)) for w in made[2]]


def packing_order(step: Step) -> NDArray[np.int64]:
    """The order in which the rows and columns of a mask travel, [2B]."""
    start, end = step.block
    states, confidence = step.states_before, step.confidence_before
    order = sorted(range(start, end), key=lambda i: ("MCU".index(states[i]), -thousandths(confidence[i]), i))
    positions = np.array(order) - start
    return np.concatenate([positions, positions + end - start])


def masks_fit(step: Step) -> bool:
    """Whether the masks up to this step stay within what a browser is asked to hold."""
    size = 2 * (step.block[1] - step.block[0])
    return step.index * size * size // 8 <= MAX_MASK_BYTES


def thousandths(value: float) -> int:
    """A share in whole thousandths that still rounds to the same two decimals as the share itself.

    >>> thousandths(0.114797), thousandths(0.5), thousandths(0.9999)
    (114, 500, 1000)
    """
    hundredths = round(100 * value)
    return min(max(round(1000 * value), 10 * hundredths - 4), 10 * hundredths + 4, 1000)


def planes(values: NDArray[np.uint16]) -> list[bytes]:
    """Low bytes, then high bytes: they compress better apart."""
    return [(values & 255).astype(np.uint8).tobytes(), (values >> 8).astype(np.uint8).tobytes()]


def along(values: NDArray[Any]) -> NDArray[Any]:
    """Each entry minus the one before, wrapping around: smooth rows become small numbers."""
    out = values.copy()
    out[1:] -= values[:-1]
    return out


def column(values: list[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if v is None else v for v in values], dtype=np.float64)


def down(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each row ^ the row above it: a column that changes as a whole becomes one byte."""
    out = rows.copy()
    out[1:] ^= rows[:-1]
    return out


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def packed_json(value: Any) -> str:
    return packed(json.dumps(value, separators=(",", ":")).encode())


# Text.


def words(trace: Trace, tokens: Iterable[int]) -> dict[str, str]:
    return {str(token): shown(trace.word(token)) for token in sorted(set(tokens))}


def slice_words(trace: Trace, slices: Iterable[dict[str, Any]]) -> dict[str, str]:
    return words(trace, (token for part in slices for key in "xsm" for token in part.get(key, [])[::2]))


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
