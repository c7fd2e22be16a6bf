"""What a picture needs to know about a trace at one step, read off the trace and nothing else.

Also the wording rules: token text comes from files and models, so it is cleaned and bounded before it is shown.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dard.explain import explain_in, summary
from dard.state import InputError
from dard.trace import Step, Trace

MOST_CELLS = 2_000_000  # positions × steps of a score that is still worth drawing
MOST_LENGTH = 2048
EVENTS = ("promoted", "weakened", "demoted", "replaced", "accepted", "edited")
SYMBOLS = {
    "tau_c": "τ_c", "tau_u": "τ_u", "lambda_": "λ", "p0": "p₀", "threshold": "τ", "threshold_back": "τ2",
    "gamma": "γ", "mu": "μ",
}  # fmt: skip
HIDDEN_SETTINGS = ("seed", "temperature")  # shown only when they matter
NAMES = {  # the decoders' titles; a trace is shown without importing them
    "dard": "DARD", "wino": "WINO", "saber": "Saber", "standard": "Standard", "threshold": "Threshold (Fast-dLLM)",
    "entropy_bound": "Entropy bound (EB-Sampler)",
}  # fmt: skip


@dataclass(frozen=True)
class Moment:
    """The region after a step. `ghosts` holds the word a masked position lost, `revoked` how often it lost one."""

    index: int
    step: Step | None
    tokens: list[int]
    states: str
    confidence: list[float]
    events: dict[int, list[str]]
    ghosts: dict[int, int]
    revoked: dict[int, int]
    end: int  # the first position of the end-of-text tail; the region's length if there is none


@lru_cache(maxsize=50_000)
def clean(text: str) -> str:
    """Text that can be drawn and put into XML: one line, every invisible or reordering character spelled out.

    >>> clean("a\\nb\\u202ec\\0")
    'a↵b\\\\u202ec\\\\x00'
    """
    shown: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character == "\n":
            shown.append("↵")
        elif category == "Zs":
            shown.append(" ")
        elif category[0] == "C" or category in ("Zl", "Zp"):
            code = ord(character)
            shown.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
        elif marks <= 2:
            shown.append(character)
    return "".join(shown)


def cut(text: str, most: int) -> str:
    """At most so many characters, with an ellipsis where something is missing."""
    return text if len(text) <= most else text[: most - 1] + "…"


def word(trace: Trace, token: int, most: int = 200) -> str:
    """A token as a label: blanks made visible, special characters spelled, bounded."""
    text = clean(trace.word(token)[:most])
    return cut(text.strip() or "␣" * max(1, len(text)), most)


def decoder_name(trace: Trace) -> str:
    return NAMES.get(trace.decoder, cut(clean(trace.decoder), 30))


def settings_words(trace: Trace) -> list[tuple[str, str]]:
    """The settings as (name, value), those that say nothing left out."""
    words = []
    for name, value in trace.settings.items():
        if value is None or (name in HIDDEN_SETTINGS and not trace.settings.get("temperature")):
            continue
        if name == "gen_length" and not trace.prompt_tokens:  # a template is its own region
            continue
        if (name, value) == ("prefix_cache", "off"):
            continue
        symbol = "τ1" if (trace.decoder, name) == ("wino", "threshold") else SYMBOLS.get(name, name.replace("_", " "))
        shown = f"{value:.3g}" if isinstance(value, float) else str(value)
        words.append((cut(clean(symbol), 20), cut(clean(shown), 20)))
    return words


def title(trace: Trace) -> str:
    """Decoder, model and settings in one line."""
    settings = ", ".join(f"{name} {value}" for name, value in settings_words(trace))
    return f"{decoder_name(trace)} on {cut(clean(trace.model), 80)} ({settings})"


def thresholds(trace: Trace) -> list[tuple[float, str]]:
    """The lines a probability is compared with, and their symbols."""
    names = {"dard": ("tau_c", "tau_u"), "wino": ("threshold", "threshold_back")}.get(trace.decoder, ("threshold",))
    lines = []
    for name in names:
        value = trace.settings.get(name)
        if isinstance(value, int | float) and 0 <= value <= 1:
            lines.append((float(value), "τ1" if (trace.decoder, name) == ("wino", "threshold") else SYMBOLS[name]))
    return lines


def status(trace: Trace, step: Step | None) -> str:
    """The sentence of a step."""
    if step is None:
        masked = trace.start.states.count("M")
        return f"Start. {masked} masked, {sum(trace.fixed)} given; no step has run yet."
    return cut(clean(summary(step, lambda token: trace.word(token)[:200])), 600)


def sentence(trace: Trace, step: Step | None, position: int) -> str:
    """Why a position is what it is."""
    if step is None:
        return "No step has run yet."
    return cut(clean(explain_in(trace, step, position)[:1500]), 700)


def check_size(trace: Trace) -> None:
    length, columns = len(trace.start.tokens), trace.num_steps + 1
    if length > MOST_LENGTH or length * columns > MOST_CELLS:
        raise InputError(
            f"a picture of {length} positions × {columns} columns would be too large; at most {MOST_LENGTH} positions "
            f"and {MOST_CELLS} cells are drawn"
        )


def check_step(trace: Trace, step: int) -> None:
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= trace.num_steps:
        raise InputError(
            f"step = {str(step)[:40]} is not allowed; step must be a whole number from 0 to {trace.num_steps}"
        )


def check_position(trace: Trace, position: int) -> None:
    last = len(trace.start.tokens) - 1
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= last:
        shown = str(position)[:40]
        raise InputError(f"selected = {shown} is not allowed; selected must be a whole number from 0 to {last}")


def moments(trace: Trace) -> list[Moment]:
    """The start and every step.

    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> import dard
    >>> [moment.revoked for moment in moments(dard.decode(los_diego(), LOS_DIEGO, tau_c=0.4))][1:3]
    [{}, {3: 1}]
    """
    start = trace.start
    found = [
        Moment(
            0,
            None,
            start.tokens,
            start.states,
            start.confidence,
            events_of(start.edited),
            {},
            {},
            text_end(trace, start.tokens),
        )
    ]
    ghosts: dict[int, int] = {}
    revoked: dict[int, int] = {}
    for step in trace.steps:
        if step.demoted:
            ghosts = {**ghosts, **{i: step.tokens_before[i] for i in step.demoted}}
            revoked = {**revoked, **{i: revoked.get(i, 0) + 1 for i in step.demoted}}
        events: dict[int, list[str]] = {}
        for name in EVENTS:
            for i in getattr(step, name):
                events.setdefault(i, []).append(name)
        end = text_end(trace, step.tokens)
        found.append(Moment(step.index, step, step.tokens, step.states, step.confidence, events, ghosts, revoked, end))
    return found


def events_of(edited: list[int]) -> dict[int, list[str]]:
    return {i: ["edited"] for i in edited}


def text_end(trace: Trace, tokens: list[int]) -> int:
    if trace.eos_id is None or trace.eos_id not in tokens:
        return len(tokens)
    return tokens.index(trace.eos_id)


def block_starts(trace: Trace) -> list[int]:
    """The positions at which a new block begins, without the first."""
    length = len(trace.start.tokens)
    starts = {step.block[0] for step in trace.steps}
    size = trace.settings.get("block_length")
    if isinstance(size, int) and size > 0:
        starts |= set(range(size, length, size))
    return sorted(i for i in starts if 0 < i < length)


def state_map(trace: Trace) -> NDArray[np.str_]:
    """States of the start and all steps, one letter per [step, position]."""
    rows = [trace.start.states, *(step.states for step in trace.steps)]
    return np.array([list(row) for row in rows], dtype="U1")


def token_map(trace: Trace) -> NDArray[np.int64]:
    return np.array([trace.start.tokens, *(step.tokens for step in trace.steps)], dtype=np.int64)
