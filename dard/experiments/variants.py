"""What is run: variants (a decoder with its settings) on items of a task.

Promises: the settings a run was made with follow from its variant, its item and the scope alone, so that whoever has
a results file can make any run in it again.
Does not know: models, what is measured, or files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from dard.tasks import MASK, Item, Score


class ScoredTask(Protocol):
    """What an experiment needs of a task: items and a judge."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def test_items(self, count: int, seed: int = 0) -> list[Item]: ...

    def score(self, item: Item, text: str) -> Score: ...


@dataclass(frozen=True)
class Variant:
    """One decoder with one choice of settings: a point of a chart, a line of a table.

    With a `divisor` the number of steps is 1/divisor of the masks of a block, which depends on the item.
    """

    name: str
    decoder: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    divisor: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"settings": dict(self.settings)}


@dataclass(frozen=True)
class Scope:
    """The items of a run and how long their answers may be. `gen_length` is None for templates."""

    items: Sequence[Item]
    gen_length: int | None
    block_length: int | None

    @property
    def masks(self) -> int:
        """The most positions any item has to fill."""
        return max(masks_of(item, self.gen_length) for item in self.items)


def masks_of(item: Item, gen_length: int | None = None) -> int:
    """Positions to fill.

    >>> masks_of(Item("The city of [MASK] [MASK] .", None, None))
    2
    """
    if item.gen_length is None:
        return item.prompt.count(MASK)
    return gen_length or item.gen_length


def settings_of(variant: Variant, item: Item, scope: Scope) -> dict[str, Any]:
    """The decoder's settings for one item: the scope's lengths, then the variant's own values.

    The block length is always among them (nothing: the whole region), so that a model's own default plays no part.

    >>> scope = Scope([Item("Q", 24, None)], 24, None)
    >>> settings_of(Variant("half", "standard", divisor=2), scope.items[0], scope)
    {'block_length': None, 'gen_length': 24, 'steps': 12}
    """
    values: dict[str, Any] = {"block_length": scope.block_length}
    if item.gen_length is not None:
        values["gen_length"] = scope.gen_length or item.gen_length
    values |= variant.settings
    if variant.divisor is not None:
        masks = masks_of(item, values.get("gen_length"))
        values["steps"] = math.ceil(min(masks, values.get("block_length") or masks) / variant.divisor)
    return values


@dataclass(frozen=True)
class Run:
    """One decode behind a point: everything that is needed to make it again, and how it ended."""

    prompt: str
    decoder: str
    settings: Mapping[str, Any]
    sample: int
    row: Mapping[str, Any]
