"""What a decode knows between two steps.

Every position of the generation region is Masked, Candidate or Unmasked. A `DecodeState` is immutable: a step
turns one state into the next, so stepping back, branching and what-if edits are only a matter of keeping states.
This module knows nothing about models' internals, decoders' rules or pictures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MASKED, CANDIDATE, UNMASKED = "M", "C", "U"
STATE_NAMES = {MASKED: "masked", CANDIDATE: "candidate", UNMASKED: "unmasked"}
NOISE = "N"  # what a canvas begins as, where a model knows no mask
BLANK, TENTATIVE, DECIDED = "blank", "tentative", "decided"  # what a state is, whatever it is called
ROLES = {MASKED: BLANK, CANDIDATE: TENTATIVE, UNMASKED: DECIDED}


@dataclass(frozen=True)
class DecodeState:
    """Everything the next step depends on, besides the model and the settings.

    `tokens`, `states`, `fixed`, `confidence` and `reliability` have one entry per position of the region.
    `confidence` is c of the previous step (0 where none was computed yet, 1 for fixed positions);
    `reliability` is the value candidates are ordered by (equal to the confidence for the default ordering).
    `memory` belongs to the decoder: what it must remember inside a block (see each decoder's file).
    `prompt_overlap`: how many tokens of the prompt belong to the first block, shorter by them (block-causal models).
    `opening` is the state the block began with; nothing: this one. `record`: whether anyone will look at the step; what
    is not needed to decide is left out otherwise. `watched`: tokens whose probability is wanted in every table, beside
    the most probable. `hidden`: what the next pass alone shall not see, by hand: the position of a token, and the one
    position whose rows do not see it, None for everyone's. `rows`: cells of a row, and of all, where the answer stands
    in rows. `idle`: passes up to now that changed no token and no state. `drafts`: what would be written now where a
    token is noise.
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    states: str
    fixed: tuple[bool, ...]
    confidence: tuple[float, ...]
    reliability: tuple[float, ...]
    block_length: int
    prompt_overlap: int = 0
    block: int = 0
    step: int = 0
    memory: Any = None
    opening: DecodeState | None = None
    record: bool = True
    watched: tuple[int, ...] = ()
    hidden: tuple[int, int | None] | None = None
    rows: tuple[int, int] | None = None
    idle: int = 0
    drafts: Mapping[int, int] = field(default_factory=dict)

    @property
    def num_blocks(self) -> int:
        return self.block_of(len(self.tokens) - 1) + 1

    @property
    def finished(self) -> bool:
        return self.block >= self.num_blocks

    @property
    def block_range(self) -> range:
        """The region positions of the block being decoded."""
        start = self.block * self.block_length - self.prompt_overlap
        return range(max(start, 0), min(start + self.block_length, len(self.tokens)))

    def block_of(self, position: int) -> int:
        """The number of the block a region position belongs to."""
        return (position + self.prompt_overlap) // self.block_length

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
    roles: Mapping[str, str] = ROLES,
) -> dict[str, list[int]]:
    """The events that can be read off the states before and after a step, positions by name. `roles` are the states'.

    >>> changes("MUU", "UMU", [0, 5, 6], [4, 0, 7])
    {'decided': [0], 'replaced': [2], 'demoted': [1]}
    """
    kinds: dict[str, list[int]] = {"decided": [], "promoted": [], "replaced": [], "weakened": [], "demoted": []}
    for i, letters in enumerate(zip(states_before, states, strict=True)):
        old, new = (roles[letter] for letter in letters)
        if old == BLANK and new != BLANK:
            kinds["decided"].append(i)
        elif old != BLANK and new == BLANK:
            kinds["demoted"].append(i)
        elif old == TENTATIVE and new == DECIDED and i not in accepted:
            kinds["promoted"].append(i)
        elif old == DECIDED and new == TENTATIVE:
            kinds["weakened"].append(i)
        if BLANK not in (old, new) and tokens_before[i] != tokens[i]:
            kinds["replaced"].append(i)
    return {name: positions for name, positions in kinds.items() if positions}
