"""What a decode knows between two steps.

Every position of the generation region is Masked, Candidate or Unmasked. A `DecodeState` is immutable: a step
turns one state into the next, so stepping back, branching and what-if edits are only a matter of keeping states.
This module knows nothing about models' internals, decoders' rules or pictures.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dard.models import Model

MASKED, CANDIDATE, UNMASKED = "M", "C", "U"
STATE_NAMES = {MASKED: "masked", CANDIDATE: "candidate", UNMASKED: "unmasked"}

MASK_TEXT = "[MASK]"
PROMPT_LIMIT = 100_000  # characters; a bound on what we are willing to tokenise at all


class InputError(ValueError):
    """Bad input: one sentence that names the field, its value and what is allowed."""


class UnknownWords(InputError):
    """A prompt that a model cannot read; `words` are all that it does not know."""

    def __init__(self, sentence: str, words: Sequence[str]) -> None:
        super().__init__(sentence)
        self.words = tuple(words)


@dataclass(frozen=True)
class DecodeState:
    """Everything the next step depends on, besides the model and the settings.

    `tokens`, `states`, `fixed`, `confidence` and `reliability` have one entry per position of the region.
    `confidence` is c of the previous step (0 where none was computed yet, 1 for fixed positions);
    `reliability` is the value candidates are ordered by (equal to the confidence for the default ordering).
    `memory` belongs to the decoder: what it must remember inside a block (see each decoder's file).
    `lead`: how many tokens of the prompt belong to the first block, which is shorter by them (block-causal models).
    `opening` is the state the block began with; nothing: this one. `record`: whether anyone will look at the step; what
    is not needed to decide is left out otherwise. `watched`: tokens whose probability is wanted in every table, beside
    the most probable. `hidden`: what the next pass alone shall not see, by hand: the position of a token, and the one
    position whose rows do not see it, None for everyone's.
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    states: str
    fixed: tuple[bool, ...]
    confidence: tuple[float, ...]
    reliability: tuple[float, ...]
    block_length: int
    lead: int = 0
    block: int = 0
    step: int = 0
    memory: Any = None
    opening: DecodeState | None = None
    record: bool = True
    watched: tuple[int, ...] = ()
    hidden: tuple[int, int | None] | None = None

    @property
    def num_blocks(self) -> int:
        return self.block_of(len(self.tokens) - 1) + 1

    @property
    def finished(self) -> bool:
        return self.block >= self.num_blocks

    @property
    def block_range(self) -> range:
        """The region positions of the block being decoded."""
        start = self.block * self.block_length - self.lead
        return range(max(start, 0), min(start + self.block_length, len(self.tokens)))

    def block_of(self, position: int) -> int:
        """The number of the block a region position belongs to."""
        return (position + self.lead) // self.block_length

    def free(self, wanted: str = "MCU") -> list[int]:
        """Positions of the current block that are not given and are in one of the `wanted` states."""
        return [i for i in self.block_range if not self.fixed[i] and self.states[i] in wanted]

    def at_open_block(self) -> DecodeState:
        """The same state, at the beginning of the first block that still has something to decide."""
        open_positions = [i for i, s in enumerate(self.states) if s != UNMASKED]
        block = self.block_of(open_positions[0]) if open_positions else self.num_blocks
        return replace(self, block=block, opening=None)


def changes(
    states_before: str,
    states: str,
    tokens_before: Sequence[int],
    tokens: Sequence[int],
    accepted: Collection[int] = (),
) -> dict[str, list[int]]:
    """The events that can be read off the states before and after a step, positions by name.

    >>> changes("MUU", "UMU", [0, 5, 6], [4, 0, 7])
    {'decided': [0], 'replaced': [2], 'demoted': [1]}
    """
    found: dict[str, list[int]] = {"decided": [], "promoted": [], "replaced": [], "weakened": [], "demoted": []}
    for i, (old, new) in enumerate(zip(states_before, states, strict=True)):
        if old == MASKED and new != MASKED:
            found["decided"].append(i)
        elif old != MASKED and new == MASKED:
            found["demoted"].append(i)
        elif old == CANDIDATE and new == UNMASKED and i not in accepted:
            found["promoted"].append(i)
        elif old == UNMASKED and new == CANDIDATE:
            found["weakened"].append(i)
        if MASKED not in (old, new) and tokens_before[i] != tokens[i]:
            found["replaced"].append(i)
    return {name: positions for name, positions in found.items() if positions}


def split_template(prompt: str) -> list[str]:
    """The pieces of text between the `[MASK]`s; one space before a mask belongs to the mask.

    >>> split_template("The city of [MASK] [MASK] is big")
    ['The city of', '', ' is big']
    """
    return re.split(r" ?\[MASK\]", prompt)


def encode_prompt(model: Model, prompt: str | Sequence[int]) -> list[int]:
    """Token ids of a prompt or template, with the model's mask id where it says `[MASK]`."""
    if not isinstance(prompt, str):
        try:
            ids = [operator.index(token) for token in prompt]
        except TypeError:
            raise InputError(f"prompt = {repr(prompt)[:60]} is not allowed; it must be text or token ids") from None
        for token in ids:
            if not 0 <= token < model.vocab_size:
                raise InputError(f"prompt holds token id {token}; this model's ids go from 0 to {model.vocab_size - 1}")
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


def initial_state(model: Model, prompt: str | Sequence[int], gen_length: int, block_length: int | None) -> DecodeState:
    """The state before the first step.

    A prompt with masks is a template: it is the region itself, and the tokens it gives are fixed.
    A prompt without masks is continued by `gen_length` masks.
    """
    if isinstance(prompt, str) and not prompt.strip():
        raise InputError("prompt is empty; write some text, or a template with [MASK]s")
    ids = encode_prompt(model, prompt)
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
        lead=len(before) % size if size else 0,
    ).at_open_block()
