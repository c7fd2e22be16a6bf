"""From states of a token sequence to a trace: what changed is read off the states, what was measured is put beside it.

Promises: the trace's states are the given ones; a number that was not measured is None. Needs no torch and no model.
Does not know: who made the states, or how they were decided; the sentences say what the states alone tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dard.core.errors import InputError
from dard.core.state import MASKED, UNMASKED, changes
from dard.trace.about import About, Path, masked_states
from dard.trace.limits import MAX_LENGTH, MAX_STEPS, MAX_TEXT, MAX_TOKEN_TEXT
from dard.trace.records import Start, Step, StepContext, Top
from dard.trace.words import DONE, Words, plainly

NAME = "recorded"
MAX_TOKEN = 10_000_000
MAX_SEQUENCE = 200_000
PATHS = {
    "x": Path("x", "prediction", "what the recorded pass predicted at this position", "what this pass predicted"),
    "s": Path("s", "shadow", "what the shadow of this position predicted", "what the shadow predicted"),
}


@dataclass
class Frame:
    """A state of the whole sequence, and what is known of the pass that led to it. Places count from the sequence's
    beginning: a trace counts from the region's. `mask` is that of the block and its shadow, with what the outside saw
    of them, or that of the whole sequence. `seconds` are those of the pass and of everything else."""

    tokens: Sequence[int]
    confidence: Mapping[int, float] = field(default_factory=dict)
    paths: Mapping[str, Top] = field(default_factory=dict)
    block: tuple[int, int] | None = None
    mask: NDArray[np.bool_] | None = None
    outside: NDArray[np.bool_] | None = None
    seconds: tuple[float, float] = (0.0, 0.0)


def checked(frames: Any, confidence: Any = None) -> list[tuple[list[int], dict[int, float]]]:
    """States from anywhere as ids and measured numbers by place, or a sentence about what is wrong with them."""
    states = listed(frames)
    if not isinstance(states, list) or not 1 <= len(states) <= MAX_STEPS + 1:
        raise InputError(f"frames must be a list of 1 to {MAX_STEPS + 1} states, each a list of token ids")
    for number, state in enumerate(states):
        if not isinstance(state, list) or not 1 <= len(state) <= MAX_SEQUENCE:
            raise InputError(f"frame {number} is not a list of 1 to {MAX_SEQUENCE} token ids")
        if len(state) != len(states[0]):
            raise InputError(f"frame {number} has {len(state)} token ids, but frame 0 has {len(states[0])}")
        for token in state:
            if type(token) is not int or not 0 <= token <= MAX_TOKEN:
                raise InputError(f"frame {number} holds {str(token)[:20]!r}; a token id is from 0 to {MAX_TOKEN}")
    if confidence is None:
        return [(state, {}) for state in states]
    rows = listed(confidence)
    if not isinstance(rows, list) or len(rows) != len(states) - 1:
        raise InputError(f"confidence must hold a list for every frame but the first, {len(states) - 1} in all")
    return [(states[0], {})] + [
        (state, measured(row, len(state), number))
        for number, (state, row) in enumerate(zip(states[1:], rows, strict=True), 1)
    ]


def measured(row: Any, length: int, number: int) -> dict[int, float]:
    if not isinstance(row, list) or len(row) != length:
        raise InputError(f"confidence of frame {number} is not a list of {length} numbers")
    for value in row:
        if value is not None and (type(value) not in (int, float) or not 0 <= value <= 1):
            raise InputError(f"confidence of frame {number} holds {str(value)[:20]!r}; it is from 0 to 1, or None")
    return {place: float(value) for place, value in enumerate(row) if value is not None}


def listed(values: Any) -> Any:
    """Tensors, arrays and tuples as plain lists, two levels deep."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, list | tuple):
        return values
    return [
        each.tolist() if hasattr(each, "tolist") else list(each) if isinstance(each, tuple) else each for each in values
    ]


def check_mask_id(mask_id: Any) -> int:
    if type(mask_id) is not int or not 0 <= mask_id <= MAX_TOKEN:
        raise InputError(f"mask_id = {str(mask_id)[:20]!r} is not allowed; it must be a token id from 0 to {MAX_TOKEN}")
    return mask_id


def values_of(
    frames: Sequence[Frame],
    mask_id: int,
    words: Any = None,
    *,
    name: str = "",
    rule: str = "",
    model: str = "",
    settings: Mapping[str, Any] | None = None,
    eos_id: int | None = None,
    num_layers: int = 1,
    shadow: bool = False,
) -> dict[str, Any]:
    """What a `Trace` of these states is made of, by its fields' names. The region begins at the first mask of the
    first; what stands before it is prompt.

    (Should something before that mask change later, the region begins there: a trace loses no state.)
    """
    first = frames[0].tokens
    if check_mask_id(mask_id) not in first:
        raise InputError(f"the first state holds no mask (token {mask_id}); there is nothing to decide in it")
    if type(num_layers) is not int or not 1 <= num_layers <= 255:
        raise InputError(f"num_layers = {str(num_layers)[:20]!r} is not allowed; it must be from 1 to 255")
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not (value is None or isinstance(value, str | bool | int | float)):
            raise InputError(f"settings holds {str(key)[:40]!r}, which is no text, number, flag or nothing by a name")
    moves = {i for frame in frames for i, (a, b) in enumerate(zip(first, frame.tokens, strict=True)) if a != b}
    begin = min([list(first).index(mask_id), *moves])
    length = len(first) - begin
    if length > MAX_LENGTH or len(frames) - 1 > MAX_STEPS:
        raise InputError(
            f"a region of {length} positions in {len(frames) - 1} steps is too large; "
            f"a trace holds {MAX_LENGTH} positions and {MAX_STEPS} steps"
        )
    fixed = [token != mask_id and begin + i not in moves for i, token in enumerate(first[begin:])]
    word, write = writing(words)
    quoting = Words(lambda token: (word or "<{}>".format)(token))
    tokens, states = list(first[begin:]), letters(first[begin:], mask_id)
    held: list[float | None] = [
        1.0 if given else 0.0 if state == MASKED else None for given, state in zip(fixed, states, strict=True)
    ]
    start = Start(tokens=tokens, states=states, confidence=held)
    steps: list[Step] = []
    for index, frame in enumerate(frames[1:], 1):
        before, was, last_held = tokens, states, held
        tokens = list(frame.tokens[begin:])
        states = letters(tokens, mask_id)
        held = [
            1.0 if fixed[i] else round(now, 6) if (now := frame.confidence.get(begin + i)) is not None
            else held[i] if token == before[i] != mask_id else None
            for i, token in enumerate(tokens)
        ]  # fmt: skip
        low, high = frame.block or (0, 0)
        if high <= begin:  # a pass over the prompt alone, say: it reads it into a cache
            low, high = begin, len(first)
        step = Step(
            index=index,
            block=(max(0, low - begin), high - begin),
            tokens=tokens,
            states=states,
            columns={"confidence": list(held)},
            paths={path: moved(top, begin) for path, top in frame.paths.items()},
            events=changes(was, states, before, tokens),
            forward_seconds=round(frame.seconds[0], 6),
            other_seconds=round(frame.seconds[1], 6),
        )
        step._link = StepContext(before, was, last_held, fixed, num_layers, dict(settings or {}))
        step.why = {i: plainly(step, i, quoting) for positions in step.events.values() for i in positions}
        if frame.mask is not None:
            whole = frame.mask.shape == (len(first), len(first)) and step.block == (0, length)
            step.set_mask(frame.mask[begin:, begin:] if whole else frame.mask, frame.outside)
        steps.append(step)
    if steps and set(steps[-1].states) == {UNMASKED}:
        steps[-1].ended_by = DONE
    seen = {
        mask_id,
        *first,
        *(t for s in steps for t in s.tokens),
        *(t for s in steps for p in s.paths.values() for t in p.ids),
    }
    used = [path for path in PATHS if any(path in step.paths for step in steps)]
    end = tokens.index(eos_id) if eos_id in tokens else len(tokens)
    return dict(  # noqa: C408
        model=model[:300],
        num_layers=num_layers,
        decoder=NAME,
        settings=dict(settings or {}),
        prompt=write(list(first[:begin]) or start.tokens)[:MAX_TEXT],
        prompt_tokens=list(first[:begin]),
        mask_id=mask_id,
        eos_id=eos_id,
        fixed=fixed,
        start=start,
        steps=steps,
        token_text={} if word is None else {token: word(token)[:MAX_TOKEN_TEXT] for token in sorted(seen)},
        text=write(tokens[:end])[:MAX_TEXT],
        about=About(
            paths=[PATHS[path] for path in used],
            title=(name or "Recording")[:100],
            rule=rule[:100],
            shadow=shadow,
            unmeasured=True,
            states=masked_states(),
        ),
    )


def letters(tokens: Iterable[int], mask_id: int) -> str:
    return "".join(MASKED if token == mask_id else UNMASKED for token in tokens)


def moved(top: Top, begin: int) -> Top:
    return Top([place - begin for place in top.positions], top.k, top.ids, top.p)


def writing(words: Any) -> tuple[Callable[[int], str] | None, Callable[[list[int]], str]]:
    """How one token and how several are written. `words`: a tokenizer, a function, texts by id, a list of texts."""
    if words is None:
        return None, lambda ids: " ".join(f"<{token}>" for token in ids)
    if hasattr(words, "decode"):
        return lambda token: words.decode([token]), words.decode
    if isinstance(words, Mapping):
        table = words
        word = lambda token: str(table.get(token, f"<{token}>"))  # noqa: E731
    elif isinstance(words, Sequence) and not isinstance(words, str):
        known = words
        word = lambda token: str(known[token]) if token < len(known) else f"<{token}>"  # noqa: E731
    elif callable(words):
        word = words
    else:
        raise InputError(f"words = {str(words)[:40]!r} is not allowed; give a tokenizer, a function, or texts by id")

    def write(ids: list[int]) -> str:
        texts = [word(token) for token in ids]
        return ("" if any(text[:1].isspace() for text in texts) else " ").join(texts)  # pieces bring their own spaces

    return word, write
