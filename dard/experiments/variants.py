"""What is run: variants (a decoder with its settings) on items of a task.

Promises: the settings a run was made with follow from its variant, its item and the scope alone, so that whoever has
a results file can make any run in it again.
Does not know: models, what is measured, or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dard.decoders import DECODERS, Decoder
from dard.tasks import MASK, Item


@dataclass(frozen=True)
class Variant:
    """One decoder with one choice of settings: a point of a chart, a line of a table."""

    name: str
    decoder: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(body: Mapping[str, Any]) -> Variant:
        """A variant as a results file has it; older files tell tokens per pass by a divisor."""
        settings, divisor = dict(body["settings"]), body.get("divisor")
        return Variant(body["name"], body["decoder"], settings | ({"per_pass": divisor} if divisor else {}))

    def includes(self, other: Variant) -> bool:
        """Whether the other is this one, perhaps with more settings."""
        return self.decoder == other.decoder and self.settings.items() <= other.settings.items()


# One token per pass: what every other way of decoding is compared with.
ONE_BY_ONE = Variant("Standard, one token per pass", "standard", {"per_pass": 1})


def variant_of(decoder: Decoder, settings: Mapping[str, Any]) -> Variant:
    """A point of a decoder's grid, named by its settings.

    >>> from dard.decoders import get_decoder
    >>> variant_of(get_decoder("wino"), {"threshold": 0.3}).name
    'WINO τ1=0.3'
    """
    if (decoder.name, dict(settings)) == (ONE_BY_ONE.decoder, ONE_BY_ONE.settings):
        return ONE_BY_ONE
    allowed = decoder.Settings.allowed()
    symbols = {name: allowed[name].symbol or name.replace("_", " ").strip() for name in settings}
    values = (f"{symbols[k]}={v:g}" if isinstance(v, float) else f"{symbols[k]}={v}" for k, v in settings.items())
    return Variant(" ".join([title_of(decoder.name), *values]), decoder.name, settings)


def title_of(decoder: str) -> str:
    """What a decoder is called in tables and legends; a name that is not known here stays a name."""
    known = DECODERS.get(decoder)
    return (known.title or known.name) if known else decoder


@dataclass(frozen=True)
class Scope:
    """The items of a run and how long their answers may be. `gen_length` is None for templates.

    `presets` are a benchmark's own settings: for every decoder ("all"), and for one by its name.

    >>> Scope([Item("The city of [MASK] [MASK] .", None, None)], None, None).masks
    2
    """

    items: Sequence[Item]
    gen_length: int | None
    block_length: int | None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def masks(self) -> int:
        """The most positions any item has to fill."""
        return max(
            item.prompt.count(MASK) if item.gen_length is None else self.gen_length or item.gen_length
            for item in self.items
        )

    def settings(self, variant: Variant, sample: int) -> dict[str, Any]:
        """The decoder's settings for one item: the scope's lengths and presets, then the variant's own values.

        The block length is always among them (nothing: the whole region), so that a model's own default plays no part.

        >>> Scope([Item("Q", 24, None)], 24, None).settings(Variant("half", "standard", {"per_pass": 2}), 0)
        {'block_length': None, 'gen_length': 24, 'per_pass': 2}
        """
        values: dict[str, Any] = {"block_length": self.block_length}
        own = self.items[sample].gen_length
        if own is not None:
            values["gen_length"] = self.gen_length or own
        presets = [self.presets.get(name, {}) for name in ("all", variant.decoder)]
        return {**values, **presets[0], **presets[1], **variant.settings}
