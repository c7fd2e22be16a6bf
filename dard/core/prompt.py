"""From a prompt, or a template with [MASK]s, to the state before the first step.

Does not know: models beyond what they say of themselves, and how they encode a text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Protocol

from dard.core.errors import InputError
from dard.core.state import MASKED, NOISE, UNMASKED, DecodeState

MASK_TEXT = "[MASK]"
PROMPT_LIMIT = 100_000  # characters; a bound on what we are willing to tokenise at all


class Reader(Protocol):
    """What a prompt needs of a model."""

    @property
    def name(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def mask_id(self) -> int: ...
    @property
    def max_length(self) -> int: ...
    def encode(self, prompt: str, /) -> list[int]: ...


def split_template(prompt: str) -> list[str]:
    """The pieces of text between the `[MASK]`s; one space before a mask belongs to the mask.

    >>> split_template("The city of [MASK] [MASK] is big")
    ['The city of', '', ' is big']
    """
    return re.split(r" ?\[MASK\]", prompt)


def encode_prompt(model: Reader, prompt: str | Sequence[int]) -> list[int]:
    """Token ids of a prompt or template, with the model's mask id where it says `[MASK]`."""
    if not isinstance(prompt, str):
        try:
            ids = [operator.index(token) for token in prompt]
        except TypeError:
            raise InputError(f"prompt = {repr(prompt)[:60]} is not allowed; it must be text or token ids") from None
        return ids
    if len(prompt) > PROMPT_LIMIT:
        raise InputError(f"prompt is {len(prompt)} characters long; at most {PROMPT_LIMIT} are allowed")
    pieces = split_template(prompt)
    if len(pieces) == 1:
        return list(model.encode(prompt))
    # A chat model wraps what `encode` is given into a conversation; pieces of a template must stay bare.
    encode_piece = getattr(model, "encode_piece", model.encode)
    if given := " ".join(pieces).strip():
        encode_piece(given)  # words it does not know are counted over the whole template, not piece by piece
    ids = []
    for number, piece in enumerate(pieces):
        if number:
            ids.append(model.mask_id)
        if piece.strip():
            ids.extend(encode_piece(piece))
    return ids


def initial_state(model: Reader, prompt: str | Sequence[int], gen_length: int, block_length: int | None) -> DecodeState:
    """The state before the first step.

    A prompt with masks is a template: it is the region itself, and the tokens it gives are fixed.
    A prompt without masks is continued by `gen_length` masks.
    """
    if isinstance(prompt, str) and not prompt.strip():
        raise InputError("prompt is empty; write some text, or a template with [MASK]s")
    if (canvas := getattr(model, "canvas_length", None)) is not None:
        return canvas_state(model, prompt, gen_length, canvas)
    last = check_ids(model)
    ids = encode_prompt(model, prompt)
    if strange := [token for token in ids if not isinstance(token, int) or not 0 <= token <= last]:
        raise InputError(f"prompt holds token id {repr(strange[0])[:40]}; this model's ids go from 0 to {last}")
    if not ids:
        raise InputError("prompt is empty; write some text, or a template with [MASK]s")
    # A model may frame a text ([CLS] and [SEP], a picture's codes); token ids are taken as they are.
    prefix, suffix = (
        list(getattr(model, side, ())) if isinstance(prompt, str) else [] for side in ("prefix", "suffix")
    )
    if model.mask_id in ids:
        before, region = prefix, ids + suffix
    elif gen_length == 0:
        raise InputError(
            "prompt has no [MASK] left to fill and gen_length is 0; "
            "put at least one [MASK] into the template, or set gen_length to 1 or more"
        )
    else:
        before, region = prefix + ids, [model.mask_id] * gen_length + suffix
    size = getattr(model, "block_size", None)
    if size is not None and block_length not in (None, size):
        raise InputError(
            f"block_length = {block_length} is not allowed; model {model.name!r} was trained on blocks of {size} "
            f"tokens, of which none sees a later one: block_length must be {size} (or nothing)"
        )
    length, shadow = len(before) + len(region), size or min(block_length or len(region), len(region))
    if length > model.max_length:
        raise InputError(
            f"prompt of {len(before)} tokens and a generation region of {len(region)} make {length} tokens; "
            f"this model takes at most {model.max_length}"
        )
    fixed = tuple(token != model.mask_id for token in region)
    certain = tuple(1.0 if given else 0.0 for given in fixed)
    return DecodeState(
        prompt=tuple(before),
        tokens=tuple(region),
        states="".join(UNMASKED if given else MASKED for given in fixed),
        fixed=fixed,
        confidence=certain,
        reliability=certain,
        block_length=shadow,
        prompt_overlap=len(before) % size if size else 0,
    ).at_open_block()


def check_ids(model: Reader) -> int:
    """The last id of a model's vocabulary, to which its own ids must belong."""
    size = model.vocab_size
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"model {model.name!r} has vocab_size = {size!r}; it must be a whole number of at least 1")
    for name, optional in (("mask_id", False), ("eos_id", True)):
        token = getattr(model, name, None)
        if not (token is None and optional) and (not isinstance(token, int) or not 0 <= token < size):
            raise InputError(f"model {model.name!r} has {name} = {token!r}; its ids go from 0 to {size - 1}")
    return size - 1


def canvas_state(model: Reader, prompt: str | Sequence[int], gen_length: int, canvas: int) -> DecodeState:
    """The same for a model that begins with canvases of noise: as many as `gen_length` takes, each a block. Their
    noise is drawn when they begin."""
    if isinstance(prompt, str) and MASK_TEXT in prompt:
        raise InputError(f"prompt holds [MASK], which model {model.name!r} does not know: it begins as noise")
    if gen_length == 0:
        raise InputError("gen_length = 0 is not allowed for a model that begins as noise; it must be 1 or more")
    ids, last = encode_prompt(model, prompt), model.vocab_size - 1
    if not ids or any(not 0 <= token <= last for token in ids):
        raise InputError(f"prompt is not one to {model.max_length} token ids from 0 to {last}")
    length = -(-gen_length // canvas) * canvas
    if len(ids) + length > model.max_length:
        raise InputError(
            f"prompt of {len(ids)} tokens and canvases of {length} make {len(ids) + length} tokens; "
            f"this model takes at most {model.max_length}"
        )
    nothing = (0.0,) * length
    return DecodeState(tuple(ids), (0,) * length, NOISE * length, (False,) * length, nothing, nothing, canvas)
